// Which days of a connection are closed. A close is in force until a reopening follows it in its chain.

import type { Reader, Tx } from '../platform/db.ts';

/** The last day that is closed, by currency. */
export type ClosedDays = ReadonlyMap<string, string>;

/** For statements about closes `c`: those that nobody has reopened. */
export const IN_FORCE = `c.kind = 'close' and not exists (select from closes r
  where r.connection = c.connection and r.currency = c.currency and r.kind = 'reopening' and r.day <= c.day and r.number > c.number)`;

/** `since`: lines that came before it were looked at when the newest days were signed. Null: no day is closed. */
export async function readClosedDays(
  reader: Reader,
  connection: string,
): Promise<{ days: ClosedDays; since: Date | null }> {
  const rows = await reader.query<{ currency: string; day: string; signed_at: Date }>(
    `select distinct on (c.currency) c.currency, c.day::text as day, c.signed_at from closes c
     where c.connection = $1 and ${IN_FORCE} order by c.currency, c.day desc, c.number desc`,
    [connection],
  );
  const since = rows.length === 0 ? null : new Date(Math.min(...rows.map((row) => row.signed_at.getTime())));
  return { days: new Map(rows.map((row) => [row.currency, row.day])), since };
}

/** Signing a day waits for lines that are being given their days, and they wait for it. */
export async function lockDays(tx: Tx, connection: string, by: 'lines' | 'signing'): Promise<void> {
  const lock = by === 'signing' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
  await tx.query(`select ${lock}(hashtextextended('days of ' || $1, 0))`, [connection]);
}
