// Time that passes at once at the simulated operator: prompts expire, and delayed answers arrive.

import type { Tx } from '../platform/db.ts';

export async function forwardOperator(tx: Tx, ms: number): Promise<void> {
  await tx.query(
    `update sandbox_payments set due_at = due_at - $1 * interval '1 millisecond',
       expires_at = expires_at - $1 * interval '1 millisecond'
     where due_at is not null or (failure_code = 'FLOAT_INSUFFICIENT' and expires_at is not null)`,
    [ms],
  );
  await tx.query(
    `update sandbox_refunds set due_at = due_at - $1 * interval '1 millisecond' where due_at is not null`,
    [ms],
  );
  await tx.query(`update sandbox_announcements set due_at = due_at - $1 * interval '1 millisecond'`, [ms]);
}
