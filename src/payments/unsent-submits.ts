// Submits that wait because their operator does not take them. Nothing was sent, so they are tried again without end; after a
// day people are told, as they are about what an operator does not answer.

import { openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { NOT_SENT } from './float-waits.ts';
import { applyOutcomes } from './outcomes.ts';
import { postponeSubmit, removeSubmit } from './payment-jobs.ts';
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

/**
 * Ends a collection that waited so long that its payer has paid by another try. Nothing of it was sent, and nobody can send it now: the
 * submit is taken away first.
 */
export async function endOvertaken(
  ctx: PaymentsContext,
  transaction: Transaction,
  submittedAt: Date | null,
): Promise<void> {
  await postponeSubmit(ctx, transaction, submittedAt, 0);
  const { holder_id: holderId, id: transactionId } = transaction;
  const observation = {
    state: 'failed',
    // No code says what is meant, and this one tells payers to look at their messages before they pay again.
    failureCode: 'DUPLICATE_AT_OPERATOR',
    rawCode: NOT_SENT,
    message: 'Another try of the same payment succeeded while this one waited. It was not sent.',
  } as const;
  const events = await ctx.db.transaction(async (tx) => {
    if (!(await removeSubmit(tx, holderId, transactionId))) return null;
    const outcome = { transactionId, source: 'submit', observation, raw: observation.message } as const;
    return (await applyOutcomes(tx, ctx, [outcome])).events;
  });
  if (events !== null) ctx.sendCallbacksNow(events);
}
