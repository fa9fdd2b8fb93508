// Time that passes at once in a sandbox, for open payments: what is due later becomes due sooner.

import type { Tx } from '../platform/db.ts';
import { LEASE_MS } from './payment-jobs.ts';

/** Returns how many payments are open. */
export async function forwardPayments(tx: Tx, ms: number, now: Date): Promise<number> {
  // A job that is due within the length of a lease may belong to a process at this moment. It runs soon enough. Nothing becomes due
  // before now: workers look for what has become due since their last pass.
  const [row] = await tx.query<{ count: bigint }>(
    `with moved as (
       update payment_jobs
       set due_at = case when due_at > $2 then greatest(due_at - $1 * interval '1 millisecond', $3) else due_at end,
           since = since - $1 * interval '1 millisecond'
       returning 1)
     select count(*) from moved`,
    [ms, new Date(now.getTime() + LEASE_MS), now],
  );
  await tx.query(
    `update verification_tokens set sent_at = sent_at - $1 * interval '1 millisecond',
       expires_at = expires_at - $1 * interval '1 millisecond'`,
    [ms],
  );
  await tx.query(
    `update held_parts set release_at = release_at - $1 * interval '1 millisecond' where released_at is null`,
    [ms],
  );
  await tx.query(`update disputes set answer_by = answer_by - $1 * interval '1 millisecond' where status = 'open'`, [
    ms,
  ]);
  await tx.query(`update float_waits set since = since - $1 * interval '1 millisecond'`, [ms]);
  return Number(row?.count ?? 0);
}
