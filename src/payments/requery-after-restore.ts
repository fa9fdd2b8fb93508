// After a restore: what the backup knows about an open transaction may be long past. It may have been sent, verified,
// approved, paid or cancelled since. So its operator is asked before anything about it is decided, sent or expired.

import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';

/**
 * Gives every open transaction a query that is due now. What its job was about to do is kept in `resume` and goes on when
 * the operator does not know it. Times count from the restore. Returns how many transactions are asked about.
 */
export async function requeryAfterRestore(tx: Tx, at: Date): Promise<number> {
  const asked = await tx.query(
    `update payment_jobs
     set kind = 'query', resume = coalesce(resume, nullif(kind, 'query')), due_at = $1, attempts = 0, since = $1, submitted_at = $1
     returning 1`,
    [at],
  );
  // What waits for approval has no job.
  const waiting = await tx.query(
    `insert into payment_jobs (holder_id, transaction_id, kind, resume, due_at, since, submitted_at)
     select t.holder_id, t.id, 'query', case when t.status = 'pending' then 'approval' end, $1, $1, $1
     from transactions t where t.status in ('pending', 'processing')
     on conflict (holder_id, transaction_id) do nothing returning 1`,
    [at],
  );
  return asked.length + waiting.length;
}

/** Refuses what a person or a program decides about restored transactions before their operators were asked. */
export async function refuseBeforeAsked(tx: Tx, holderId: bigint, ...transactionIds: (string | null)[]): Promise<void> {
  const rows = await tx.query(
    `select from payment_jobs where holder_id = $1 and transaction_id = any($2) and resume is not null limit 1`,
    [holderId, transactionIds],
  );
  if (rows.length > 0) throw new Problem('operator_asked_first');
}

/** The same for every payout of a file, which is decided as a whole. */
export async function refuseFileBeforeAsked(tx: Tx, holderId: bigint, batchId: string): Promise<void> {
  const orders = await tx.query<{ transaction_id: string }>(
    'select transaction_id from payout_orders where holder_id = $1 and batch_id = $2',
    [holderId, batchId],
  );
  await refuseBeforeAsked(tx, holderId, ...orders.map((order) => order.transaction_id));
}
