// The last calls of each connection, for the page that people read. Calls are kept in memory and written in the background, so
// that no payment waits for it: every call that failed, and a few of the others each second.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import type { OperatorCall } from './exchange.ts';

const KEPT_A_CONNECTION = 200;
/** Calls that went well, kept of each connection between two writes. */
const SAMPLED_A_PASS = 5;
const MAX_WAITING = 2_000;

export type StoredCall = OperatorCall & { connection: string };

export interface OperatorCallLog {
  /** Never waits, never throws. */
  add(connection: string, call: OperatorCall): void;
  /** Writes what waits; returns how many calls that were. A pass of a background job. */
  store(): Promise<number>;
}

const CALLS = columns<StoredCall>(1, {
  connection: 'text',
  at: 'timestamptz',
  method: 'text',
  path: 'text',
  status: 'smallint',
  ms: 'real',
  request: 'text',
  answer: 'text',
});

export function createOperatorCallLog(ctx: Pick<Context, 'db'>): OperatorCallLog {
  let waiting: StoredCall[] = [];
  let sampled = new Map<string, number>();

  return {
    add(connection, call) {
      if (waiting.length >= MAX_WAITING) return;
      if (call.status !== null && call.status < 400) {
        const kept = sampled.get(connection) ?? 0;
        if (kept >= SAMPLED_A_PASS) return;
        sampled.set(connection, kept + 1);
      }
      waiting.push({ ...call, connection });
    },
    async store() {
      const calls = newestOfEach(waiting);
      waiting = [];
      sampled = new Map();
      if (calls.length === 0) return 0;
      await ctx.db.transaction(async (tx) => {
        await tx.query(
          `insert into operator_calls (${CALLS.names}) select ${CALLS.names} from ${CALLS.rows}`,
          CALLS.arrays(calls),
        );
        await tx.query(
          `delete from operator_calls c using unnest($1::text[]) as changed (connection)
           where c.connection = changed.connection and c.id <= (
             select o.id from operator_calls o where o.connection = changed.connection
             order by o.id desc offset ${KEPT_A_CONNECTION} limit 1)`,
          [[...new Set(calls.map(({ connection }) => connection))]],
        );
      });
      return calls.length;
    },
  };
}

/** What would be deleted by the same pass is not written. */
function newestOfEach(calls: readonly StoredCall[]): StoredCall[] {
  const counts = new Map<string, number>();
  return calls
    .toReversed()
    .filter(({ connection }) => {
      const count = (counts.get(connection) ?? 0) + 1;
      counts.set(connection, count);
      return count <= KEPT_A_CONNECTION;
    })
    .toReversed();
}

/** Newest first. */
export function listOperatorCalls(
  reader: Reader,
  connection: string,
  limit = KEPT_A_CONNECTION,
): Promise<StoredCall[]> {
  return reader.query<StoredCall>(
    `select connection, at, method, path, status, ms, request, answer from operator_calls
     where connection = $1 order by id desc limit $2`,
    [connection, limit],
  );
}
