// Time as a dependency. Every moment that is stored or compared comes from here, so a test can stop the clock or move it by
// thirty days without sleeping.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface Clock {
  now(): Date;
  /** Milliseconds since the epoch: `now()` without the object. */
  millis(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  millis: () => Date.now(),
};

export interface VirtualClock extends Clock {
  advance(milliseconds: number): void;
  set(moment: Date): void;
}

export function createVirtualClock(start: Date | string): VirtualClock {
  let current = new Date(start).getTime();
  return {
    now: () => new Date(current),
    millis: () => current,
    advance: (milliseconds) => {
      current += milliseconds;
    },
    set: (moment) => {
      current = moment.getTime();
    },
  };
}

/** `toISOString`, made once for equal moments that follow each other: those of the rows of a batch. */
export const isoMillis = createPrinter();

function createPrinter(): (moment: Date) => string {
  let printed = '';
  let printedMillis = Number.NaN;
  return (moment) => {
    const millis = moment.getTime();
    if (millis !== printedMillis) printed = moment.toISOString();
    printedMillis = millis;
    return printed;
  };
}

/** ISO 8601 in UTC with microseconds and a trailing Z, as the specification's records show times. */
export function isoMicroseconds(moment: Date): string {
  return isoMillis(moment).replace('Z', '000Z');
}

/** `YYYY-MM-DD HH:MM:SS` in UTC: the specification's `transaction_date`. */
export function dateTimeSeconds(moment: Date): string {
  return moment.toISOString().slice(0, 19).replace('T', ' ');
}
