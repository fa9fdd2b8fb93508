// Money in the simulators: hundredths as bigint, decimal text outside. The simulators share no code with the gateway, so that
// a mistake of one is not repeated by the other.

/** Hundredths of "15", "15.5" or "15.50"; null when it is not an amount. */
export function readMoney(text: string): bigint | null {
  const match = /^(\d{1,16})(?:\.(\d{1,4}))?$/.exec(text);
  if (match === null) return null;
  const decimals = (match[2] ?? '').padEnd(2, '0');
  if (!/^\d\d0*$/.test(decimals)) return null;
  return BigInt(match[1] ?? '0') * 100n + BigInt(decimals.slice(0, 2));
}

/** "15.50": always two decimals. */
export function writeMoney(hundredths: bigint): string {
  const digits = (hundredths < 0n ? -hundredths : hundredths).toString().padStart(3, '0');
  return `${hundredths < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
