// Before a person decides about what an operator did not know, the operator is asked once more: a case may be hours old.

import { Problem } from '../platform/errors.ts';
import { NOT_FOUND_KINDS } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordEvidence } from './evidence.ts';
import { isNotFound } from './next-job.ts';
import { queryOperator } from './operator-calls.ts';
import { applyOutcomes } from './outcomes.ts';
import type { Outcome } from './states.ts';
import { findTransaction } from './transactions.ts';

/**
 * Refuses unless the operator says again, for certain, that it does not know the transaction. What it says instead is
 * applied. Without an open case nothing is asked: then there is nothing to decide.
 */
export async function requireStillNotFound(ctx: PaymentsContext, holderId: bigint, id: string): Promise<void> {
  const transaction = await findTransaction(ctx.db, holderId, id);
  const [lost] = await ctx.db.query<{ submitted_at: Date | null }>(
    `select j.submitted_at from cases c
     left join payment_jobs j on j.holder_id = c.holder_id and j.transaction_id = c.transaction_id
     where c.holder_id = $1 and c.transaction_id = $2 and c.kind = any($3) and c.status = 'open'`,
    [holderId, id, NOT_FOUND_KINDS],
  );
  const capabilities = ctx.rails.byName(transaction?.rail ?? '')?.capabilities;
  if (!transaction || !lost) return;
  const askedAt = ctx.clock.now();
  const { observation, raw } = await queryOperator(ctx, transaction);
  const outcome: Outcome = { transactionId: id, source: 'poll', observation, raw, askedAt, onRead: true };
  if (observation.state !== 'unknown') {
    const { events } = await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, [outcome]));
    ctx.sendCallbacksNow(events);
    throw new Problem('not_found', { message: 'No decision is needed: the operator knows this payment.' });
  }
  await ctx.db.transaction((tx) => recordEvidence(tx, [{ ...outcome, effect: 'ignored' }], askedAt));
  const job = { submittedAt: lost.submitted_at };
  if (!capabilities || !isNotFound(capabilities, transaction, job, outcome, askedAt))
    throw new Problem('operator_unavailable', {
      message: 'The operator does not say for certain that it does not know this payment. Try again later.',
    });
}
