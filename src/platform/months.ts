// Calendar months in UTC: what tables are partitioned by and archives are written by.

import { lowestUuid } from './ids.ts';

export type Month = {
  /** 2024-01 */
  readonly name: string;
  readonly from: Date;
  /** The start of the next month. */
  readonly to: Date;
};

export function monthOf(moment: Date): Month {
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()];
  const from = new Date(Date.UTC(year, month));
  return { name: from.toISOString().slice(0, 7), from, to: new Date(Date.UTC(year, month + 1)) };
}

/** The month of a name such as 2024-01, or null. */
export function monthNamed(name: string): Month | null {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(name)) return null;
  return monthOf(new Date(`${name}-01T00:00:00Z`));
}

/** Every month from that of `first` on that has ended by `before`. */
export function monthsUntil(first: Date, before: Date): Month[] {
  const months: Month[] = [];
  for (let month = monthOf(first); month.to <= before; month = monthOf(month.to)) months.push(month);
  return months;
}

/** What an owner of a table gives to an archive: the rows of a month. */
export type ArchivedRows = {
  /** The name of the file. */
  readonly name: string;
  /** A query without parameters, in an order that is always the same: COPY takes none. */
  readonly query: (month: Month) => string;
  /** For columns that only we can read: the text for what the query gives. */
  readonly readable?: Readonly<Record<string, (value: string) => string>>;
};

/** A condition for COPY: a column with a time is in the month. */
export function inMonth(column: string, { from, to }: Month): string {
  return `${column} >= '${from.toISOString()}' and ${column} < '${to.toISOString()}'`;
}

/** A condition for COPY: the time in an id is in the month. */
export function idInMonth(column: string, { from, to }: Month): string {
  return `${column} >= '${lowestUuid(from)}' and ${column} < '${lowestUuid(to)}'`;
}
