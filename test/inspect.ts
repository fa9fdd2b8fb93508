// What tests read back about a transaction, straight from the database, and the observations that they feed in.

import type { Reader } from '../src/platform/db.ts';
import type { Observation } from '../src/rails/rail.ts';

export const SUCCEEDED: Observation = { state: 'succeeded', receipt: null };
export const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };
export const NOT_FOUND: Observation = { state: 'unknown', reason: 'not found', definitelyNotFound: true };

export async function statusOf(reader: Reader, transaction: { id: string }): Promise<string | undefined> {
  const [row] = await reader.query<{ status: string }>('select status from transactions where id = $1', [
    transaction.id,
  ]);
  return row?.status;
}

/** The kinds of the open cases about a transaction, sorted. */
export async function openCasesOf(reader: Reader, transaction: { id: string }): Promise<string[]> {
  const rows = await reader.query<{ kind: string }>(
    `select kind from cases where transaction_id = $1 and status = 'open' order by kind`,
    [transaction.id],
  );
  return rows.map((row) => row.kind);
}
