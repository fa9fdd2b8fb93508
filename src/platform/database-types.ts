// How values come from PostgreSQL, where the driver's own way is wrong or slow: 64-bit integers as bigint, because a number cannot
// hold them all, and times in UTC without the driver's regular expressions, which take half as long again. A list has a hundred of them.

import pg from 'pg';

type Parse = (text: string) => Date | number;

/** `YYYY-MM-DD`, before the time of day. */
const DATE_LENGTH = 10;
const UTC = '+00';

export function useOwnTypes(): void {
  pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);
  const parseByDriver = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text') as Parse;
  pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => parseUtc(text) ?? parseByDriver(text));
}

/** Null for a time in another zone, in a year of five digits or before Christ, and for infinity. */
export function parseUtc(text: string): Date | null {
  if (text[DATE_LENGTH] !== ' ' || !text.endsWith(UTC)) return null;
  return new Date(`${text.slice(0, DATE_LENGTH)}T${text.slice(DATE_LENGTH + 1, -UTC.length)}Z`);
}
