// How values come from PostgreSQL, where the driver's own way is wrong or slow: 64-bit integers as bigint, because a number cannot
// hold them all, and times in UTC without the driver's regular expressions, which take half as long again. A list has a hundred of them.

import pg from 'pg';

type Parse = (text: string) => Date | number;

/** `YYYY-MM-DD`, before the time of day. */
const DATE_LENGTH = 10;
/** `YYYY-MM-DD HH:MM:SS.`: where the parts of a second begin, if there are any. */
const FRACTION = 20;
const UTC = '+00';
const ZERO = 0x30;
/** `Date.UTC` takes an earlier year for one of the twentieth century. */
const FIRST_YEAR = 100;

export function useOwnTypes(): void {
  pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);
  const parseByDriver = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text') as Parse;
  pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => parseUtc(text) ?? parseByDriver(text));
}

/** Null for a time in another zone, in a year of five digits or before Christ, and for infinity. */
export function parseUtc(text: string): Date | null {
  if (text[DATE_LENGTH] !== ' ' || !text.endsWith(UTC)) return null;
  const two = (at: number) => (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;
  const year = two(0) * 100 + two(2);
  if (year < FIRST_YEAR) return new Date(`${text.slice(0, DATE_LENGTH)}T${text.slice(DATE_LENGTH + 1, -UTC.length)}Z`);
  // Digit by digit, because the reader of the engine takes more than twice as long.
  let millis = 0;
  const end = Math.min(text.length - UTC.length, FRACTION + 3);
  for (let at = FRACTION, unit = 100; at < end; at++, unit /= 10) millis += (text.charCodeAt(at) - ZERO) * unit;
  return new Date(Date.UTC(year, two(5) - 1, two(8), two(11), two(14), two(17), millis));
}
