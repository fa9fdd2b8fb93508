// Statements about many holders that one server must answer as a whole, because they lock rows, or read rows beside a list. On one
// server that is one statement. Where the rows of holders are on several servers (`simbi distribute`), the same statement is sent
// once for each holder, and names the holder, so that it goes to the server that has the rows.

import type { Columns } from './columns.ts';
import type { Reader, Statement } from './db.ts';

export type StatementByHolder = { readonly all: Statement; readonly one: Statement };

/**
 * The statement in both forms. `text` gets two functions of the name that a table has in the statement: the condition that the table is
 * of the one holder, and the place of its row (platform/row-places.ts), null where the coordinator cannot name one. `parameter` is
 * the number of the parameter after all others, which is the one holder.
 */
export function byHolder(
  name: string,
  parameter: number,
  text: (ofOne: (table: string) => string, placeIn: (table: string) => string) => string,
  manner: { byIndex?: true } = {},
): StatementByHolder {
  const all = text(
    () => 'true',
    (table) => `${table}.ctid::text`,
  );
  const one = text(
    (table) => `${table}.holder_id = $${parameter}::bigint`,
    () => 'null',
  );
  return { all: { name, text: all, ...manner }, one: { name: `${name}_of_one`, text: one } };
}

/** Sent together, in the order of the holders: two transactions over the same holders wait for each other and cannot deadlock. */
export async function queryByHolder<R extends object, Row = unknown>(
  reader: Reader,
  { all, one }: StatementByHolder,
  columns: Columns<Row>,
  rows: readonly Row[],
  holderOf: (row: Row) => bigint,
): Promise<R[]> {
  if (!reader.isDistributed?.()) return reader.query<R>(all, columns.arrays(rows));
  const answers = groupByHolder(rows, holderOf).map(([holderId, own]) =>
    reader.query<R>(one, [...columns.arrays(own), holderId]),
  );
  return (await Promise.all(answers)).flat();
}

/** The rows that one statement may add, where it waits for a transaction that adds the same: all, or those of one holder after another. */
export function inTurns<Row>(reader: Reader, rows: readonly Row[], holderOf: (row: Row) => bigint): (readonly Row[])[] {
  return reader.isDistributed?.() ? groupByHolder(rows, holderOf).map(([, own]) => own) : [rows];
}

function groupByHolder<Row>(rows: readonly Row[], holderOf: (row: Row) => bigint): [bigint, Row[]][] {
  return [...Map.groupBy(rows, holderOf)].sort(([left], [right]) => (left < right ? -1 : 1));
}
