// After a restore. What the backup remembers as not yet sent may have been sent since by the gateway it was made from.

import type { Tx } from '../platform/db.ts';

/** Nobody sends again, somebody asks: the operator alone knows. Answers how many payments are asked about. */
export async function requeryAfterRestore(tx: Tx, at: Date): Promise<number> {
  const rows = await tx.query(
    `update payment_jobs set kind = 'query', submitted_at = coalesce(submitted_at, $1), due_at = $1
     where kind = 'submit' returning transaction_id`,
    [at],
  );
  return rows.length;
}
