// Time that passes at once in a sandbox, for callbacks: those that wait for their next attempt wait less.

import type { Tx } from '../platform/db.ts';

/** Returns how many deliveries wait. One that waits for a person goes on waiting. */
export async function forwardDeliveries(tx: Tx, ms: number): Promise<number> {
  const [row] = await tx.query<{ count: bigint }>(
    `with moved as (
       update callback_deliveries
       set due_at = due_at - $1 * interval '1 millisecond', started_at = started_at - $1 * interval '1 millisecond'
       where not leased and due_at < 'infinity' returning 1)
     select count(*) from moved`,
    [ms],
  );
  await tx.query(`update callback_receivers set probe_at = probe_at - $1 * interval '1 millisecond'`, [ms]);
  return Number(row?.count ?? 0);
}
