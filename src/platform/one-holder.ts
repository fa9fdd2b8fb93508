// Statements about many holders that one server must answer as a whole, because they lock rows, or read rows beside a list. On one
// server that is one statement. Where the rows of holders are on several servers (`simbi distribute`), the same statement is sent
// once for each holder, and names the holder, so that it goes to the server that has the rows.

import type { Columns } from './columns.ts';
import type { Statement, Tx } from './db.ts';

export type StatementByHolder = { readonly all: Statement; readonly one: Statement };

/**
 * The statement in both forms. `text` gets the condition that a table is of the one holder, by the name that the table has in the
 * statement; `parameter` is the number of the parameter after all others, which is that holder.
 */
export function byHolder(
  name: string,
  parameter: number,
  text: (ofOne: (table: string) => string) => string,
): StatementByHolder {
  return {
    all: { name, text: text(() => 'true') },
    one: { name: `${name}_of_one`, text: text((table) => `${table}.holder_id = $${parameter}::bigint`) },
  };
}

/** Sent together, in the order of the holders: two transactions over the same holders wait for each other and cannot deadlock. */
export async function queryByHolder<R extends object, Row = unknown>(
  tx: Tx,
  { all, one }: StatementByHolder,
  columns: Columns<Row>,
  rows: readonly Row[],
  holderOf: (row: Row) => bigint,
): Promise<R[]> {
  if (!tx.isDistributed) return tx.query<R>(all, columns.arrays(rows));
  const groups = [...Map.groupBy(rows, holderOf)].sort(([left], [right]) => (left < right ? -1 : 1));
  const answers = groups.map(([holderId, own]) => tx.query<R>(one, [...columns.arrays(own), holderId]));
  return (await Promise.all(answers)).flat();
}
