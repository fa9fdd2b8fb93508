// Before people decide about a transaction, its operator is asked once more: a case may be hours old. What the operator
// answers is applied, and counts more than what people think.

import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { capabilitiesFor } from './capabilities.ts';
import { type Case, findCase, NOT_FOUND_KINDS } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import type { Decision, DecisionAction } from './decision-rows.ts';
import type { PaymentEngine } from './engine.ts';
import { isNotFound } from './next-job.ts';
import { isSentAsPayout, queryOperator } from './operator-calls.ts';
import { isFinal, type Outcome, UNANSWERED_MS } from './states.ts';
import { findTransaction, type Transaction } from './transactions.ts';

/** As long as a call to an operator may take, and its lease, with time to spare. */
const SENDING_MS = 45_000;
/** What is right only while the operator does not know the transaction. */
const NEEDS_NOT_FOUND: readonly DecisionAction[] = ['send_again', 'settle_failed'];

export type OperatorAnswer = {
  /** The operator's answer settled what the decision is about. */
  isAnswered: boolean;
  /** The operator says that it was reversed, which could not be applied yet. */
  reversal: Outcome | null;
};

/**
 * Asks the operator about an open transaction. Answers whether that settled what the decision is about. What was not found
 * is only sent again or given up when the operator says again, for certain, that it does not know it.
 */
export async function answeredByOperator(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'apply'>,
  { case_id: caseId, holder_id: holderId, action }: Decision,
): Promise<OperatorAnswer> {
  const each = await findCase(ctx.db, caseId);
  const id = each?.transaction_id ?? null;
  const transaction = id === null ? null : await findTransaction(ctx.db, holderId, id);
  if (!each || !transaction || isFinal(transaction.status)) return { isAnswered: false, reversal: null };
  const askedAt = ctx.clock.now();
  const { observation, raw } = await queryOperator(ctx, transaction);
  const outcome: Outcome = { transactionId: transaction.id, source: 'poll', observation, raw, askedAt, onRead: true };
  const { transaction: after } = await engine.apply(outcome);
  const now = await findCase(ctx.db, caseId);
  const isAnswered = (after !== null && isFinal(after.status)) || now?.status !== 'open';
  if (isAnswered) return { isAnswered, reversal: null };
  if (NOT_FOUND_KINDS.includes(each.kind) && NEEDS_NOT_FOUND.includes(action))
    await requireNotFound(ctx, each, transaction, outcome);
  if (observation.state === 'pending' && action === 'settle_failed') await requireOldSubmit(ctx, transaction);
  return { isAnswered, reversal: observation.state === 'reversed' ? outcome : null };
}

/**
 * What was sent a moment ago is on its way: its operator's silence, or "not found", says nothing about it yet. The job is
 * locked, so that nobody sends it until the decision is written.
 */
export async function refuseWhileSending(tx: Tx, transaction: Transaction, now: Date): Promise<void> {
  const [job] = await tx.query<{ submitted_at: Date | null }>(
    'select submitted_at from payment_jobs where holder_id = $1 and transaction_id = $2 for update',
    [transaction.holder_id, transaction.id],
  );
  const sentAt = job?.submitted_at?.getTime();
  if (sentAt !== undefined && now.getTime() - sentAt < SENDING_MS)
    throw new Problem('operator_unavailable', {
      message: 'It was sent to the operator a moment ago. Wait a minute, then approve again.',
    });
}

/** The operator is working on it. Only what it has had for a day may be given up. */
async function requireOldSubmit(ctx: PaymentsContext, { holder_id: holderId, id }: Transaction): Promise<void> {
  const [job] = await ctx.db.query<{ submitted_at: Date | null }>(
    'select submitted_at from payment_jobs where holder_id = $1 and transaction_id = $2',
    [holderId, id],
  );
  const sentAt = job?.submitted_at?.getTime() ?? 0;
  if (ctx.clock.millis() - sentAt < UNANSWERED_MS)
    throw new Problem('operator_unavailable', {
      message: 'The operator says that it is working on this payment. Wait for its result.',
    });
}

async function requireNotFound(
  ctx: PaymentsContext,
  { holder_id: holderId }: Case,
  transaction: Transaction,
  outcome: Outcome,
): Promise<void> {
  const asPayout = await isSentAsPayout(ctx, transaction);
  const capabilities = capabilitiesFor(ctx, transaction, asPayout);
  const [job] = await ctx.db.query<{ submitted_at: Date | null }>(
    'select submitted_at from payment_jobs where holder_id = $1 and transaction_id = $2',
    [holderId, transaction.id],
  );
  const sent = { submittedAt: job?.submitted_at ?? null };
  if (!capabilities || !isNotFound(capabilities, transaction, sent, outcome, ctx.clock.now()))
    throw new Problem('operator_unavailable', {
      message: 'The operator does not say for certain that it does not know this payment. Try again later.',
    });
}
