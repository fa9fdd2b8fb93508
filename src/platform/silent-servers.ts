// A server that is frozen or cut off does not refuse a statement: it says nothing, and who asked would wait for ever. The driver has
// a limit for that (`query_timeout`), which gives each statement a timer and puts a function in place of another one. Until V8 has
// compiled that code, it keeps every such statement with the rows of its answer: a seventh of what lists allocated.

import type { Socket } from 'node:net';
import type pg from 'pg';

/** `readyForQuery` is false from a statement until all of its answer has come. */
type Driver = { readonly connection: { readonly stream: Socket }; readonly readyForQuery: boolean };

/** Ends a connection that waits for an answer in which nothing has come for so long. What it was asked fails. */
export function endWhenSilent(client: pg.ClientBase, milliseconds: number): void {
  const driver = client as unknown as Driver;
  const { stream } = driver.connection;
  stream.on('timeout', () => {
    // Of a connection that nobody uses nothing comes either.
    if (driver.readyForQuery) return;
    stream.destroy(new Error(`Connection terminated: the database has not answered for ${milliseconds} ms`));
  });
  stream.setTimeout(milliseconds);
}
