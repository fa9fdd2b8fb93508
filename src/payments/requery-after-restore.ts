// After a restore: what is not yet sent according to the backup may have been sent after the backup was made.

import type { Tx } from '../platform/db.ts';

/** Turns every submit into a query, because only the operator knows what was sent. Returns how many. */
export async function requeryAfterRestore(tx: Tx, at: Date): Promise<number> {
  const rows = await tx.query(
    `update payment_jobs set kind = 'query', submitted_at = coalesce(submitted_at, $1), due_at = $1
     where kind = 'submit' returning transaction_id`,
    [at],
  );
  return rows.length;
}
