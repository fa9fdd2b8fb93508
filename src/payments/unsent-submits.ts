// Submits that wait because their operator does not take them. Nothing was sent, so they are tried again without end; after a
// day people are told, as they are about what an operator does not answer.

import { openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { UNANSWERED_MS } from './states.ts';
import type { Transaction } from './transactions.ts';

/** Opens a case when the submit has waited for a day. What waited for an approval before counts from there. */
export async function reportUnsent(
  ctx: PaymentsContext,
  { holder_id: holderId, id, created_at: createdAt }: Transaction,
  reason: string,
): Promise<void> {
  const latest = ctx.clock.millis() - UNANSWERED_MS;
  if (createdAt.getTime() > latest) return;
  const [job] = await ctx.db.query<{ since: Date }>(
    `select since from payment_jobs where holder_id = $1 and transaction_id = $2 and kind = 'submit'`,
    [holderId, id],
  );
  if (!job || job.since.getTime() > latest) return;
  const detail = { state: 'unknown', reason: `Nothing was sent yet: ${reason}` };
  await ctx.db.transaction((tx) => openCases(tx, ctx, [{ holderId, transactionId: id, kind: 'no_answer', detail }]));
}
