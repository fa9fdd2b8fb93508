// Receipts of the form "MP210603.1234.L06941": two letters, day, time, and a counter. Airtel and Orange have the same.

export interface OperatorReceipts {
  next(prefix: string): string;
}

export function createOperatorReceipts(now: () => number): OperatorReceipts {
  // Begins with the milliseconds of the minute, so that a simulator that starts again gives no receipt twice.
  let count = now() % 60_000;
  return {
    next(prefix) {
      count++;
      const [date = '', time = ''] = new Date(now()).toISOString().split('T');
      const letter = String.fromCharCode(65 + (Math.floor(count / 100_000) % 26));
      const number = String(count % 100_000).padStart(5, '0');
      return `${prefix}${date.slice(2).replaceAll('-', '')}.${time.slice(0, 5).replace(':', '')}.${letter}${number}`;
    },
  };
}
