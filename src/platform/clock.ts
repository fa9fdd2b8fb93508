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

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const TIME_LENGTH = 'HH:MM:SS.mmmZ'.length;

/** `toISOString`, in a fifth of its time where moments are near each other: in the rows of a batch or of a list. */
export const isoMillis = createPrinter();

function createPrinter(): (moment: Date) => string {
  let printed = '';
  let printedMillis = Number.NaN;
  let date = '';
  let day = Number.NaN;
  return (moment) => {
    const millis = moment.getTime();
    if (millis === printedMillis) return printed;
    // The date, with the T behind it, is the same for a day. An invalid moment is on none, and refused here.
    if (Math.floor(millis / DAY_MS) !== day) date = moment.toISOString().slice(0, -TIME_LENGTH);
    day = Math.floor(millis / DAY_MS);
    printedMillis = millis;
    printed = `${date}${timeOfDay(millis - day * DAY_MS)}Z`;
    return printed;
  };
}

/** `HH:MM:SS.mmm` */
function timeOfDay(sinceMidnight: number): string {
  const seconds = Math.floor(sinceMidnight / 1000);
  const minutes = Math.floor(seconds / 60);
  const millis = String(sinceMidnight % 1000).padStart(3, '0');
  return `${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}.${millis}`;
}

/** ISO 8601 in UTC with microseconds and a trailing Z, as the specification's records show times. */
export function isoMicroseconds(moment: Date): string {
  return isoMillis(moment).replace('Z', '000Z');
}

/** `YYYY-MM-DD HH:MM:SS` in UTC: the specification's `transaction_date`. */
export function dateTimeSeconds(moment: Date): string {
  return moment.toISOString().slice(0, 19).replace('T', ' ');
}
