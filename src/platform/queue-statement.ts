// A statement that joins a queue with given rows by the key of the queue.
//
// A queue that was empty at its last vacuum seems to have one row, so a plan that reads all of it, or of its index, seems the cheapest, and
// is kept while the queue grows. While a snapshot is held open the index still has an entry for every row that was deleted since. A
// comparison with "any" fits an index only for one given row at a time, so nothing else is left to the planner. Citus joins only by the
// plain comparison.

import type { Reader, Statement } from './db.ts';

export type QueueStatement = { readonly here: Statement; readonly onServers: Statement };

/** `text` gets the comparison of a column of the queue with a value of a given row. */
export function queueStatement(
  name: string,
  text: (is: (column: string, given: string) => string) => string,
): QueueStatement {
  return {
    here: { name, text: text(isOneOf), byIndex: true },
    onServers: { name: `${name}_on_servers`, text: text((column, given) => `${column} = ${given}`) },
  };
}

/** The comparison as it is on one server. */
export function isOneOf(column: string, given: string): string {
  return `${column} = any (array[${given}])`;
}

export function statementFor(reader: Pick<Reader, 'isDistributed'>, { here, onServers }: QueueStatement): Statement {
  return reader.isDistributed?.() ? onServers : here;
}
