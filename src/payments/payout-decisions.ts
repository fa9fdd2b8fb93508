// What members of a holder decide about a payout that was ordered: approve it, or cancel it before it is sent. What
// happens to a payout that the operator does not know is decided by two people (decisions.ts).

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { applyOutcomes } from './outcomes.ts';
import { queueApproved, removeSubmit } from './payment-jobs.ts';
import { refuseBeforeAsked } from './requery-after-restore.ts';
import { idFromRef, type Transaction } from './transactions.ts';

/** Approves a payout. The database refuses the member who ordered it. */
export async function approvePayout(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<void> {
  const id = requireId(ref);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await requireActiveHolder(tx, holderId);
    await refusePartOfWaitingFile(tx, holderId, id);
    await refuseBeforeAsked(tx, holderId, id);
    const approved = await approveOnce(tx, actor, holderId, id, at);
    // After a restore the operator may know a payout that waits for approval. Such a payout is not sent again.
    if (!approved || !(await queueApproved(tx, holderId, id, at)))
      throw new Problem('not_found', {
        message: 'No payout waits for approval under this reference. It may have been approved or cancelled already.',
      });
    await recordAudit(tx, { holderId, actor, action: 'payout.approved', subject: ref }, at);
  });
  engine.wake();
}

async function approveOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<boolean> {
  try {
    const rows = await tx.query(
      `update payout_orders set approval = 'approved', approved_by = $3, approved_by_member = $4, approved_at = $5
       where holder_id = $1 and transaction_id = $2 and approval = 'waiting' and cancelled_at is null
       returning transaction_id`,
      [holderId, id, actor.name, actor.memberId, at],
    );
    return rows.length > 0;
  } catch (error) {
    if (violatedConstraint(error) === 'payout_approved_by_another')
      throw new Problem('forbidden', {
        message: 'A payout must be approved by somebody other than the person who created it.',
      });
    throw error;
  }
}

/** Cancels a payout before it is sent and releases its money. */
export async function cancelPayout(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<Transaction> {
  const id = requireId(ref);
  const at = ctx.clock.now();
  const { transaction, events } = await ctx.db.transaction(async (tx) => {
    await refusePartOfWaitingFile(tx, holderId, id);
    await refuseBeforeAsked(tx, holderId, id);
    // A payout can be cancelled while it waits for approval or its submit job exists: claiming the job makes it a query.
    // The row of the order is locked first, as in an approval; the second statement sees the job of an approval that the
    // first one waited for.
    const [cancelled] = await tx.query<{ approval: string }>(
      `update payout_orders set cancelled_by = $3, cancelled_at = $4
       where holder_id = $1 and transaction_id = $2 and cancelled_at is null returning approval`,
      [holderId, id, actor.name, at],
    );
    const isRemoved = await removeSubmit(tx, holderId, id);
    // What was sent before, and is to be sent again, is no longer pending: it may still be on its way.
    const pending = await tx.query(
      `select from transactions where holder_id = $1 and id = $2 and status = 'pending' for no key update`,
      [holderId, id],
    );
    const isUnsent = cancelled?.approval === 'waiting' || isRemoved;
    if (!cancelled || pending.length === 0 || !isUnsent)
      throw new Problem('not_found', {
        message: 'This payout is unknown, or it was sent already and cannot be taken back.',
      });
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: id,
        source: 'person',
        observation: {
          state: 'failed',
          failureCode: 'PAYER_CANCELLED',
          rawCode: '',
          message: 'The payout was cancelled before it was sent.',
        },
        raw: `cancelled by ${actor.name} before it was sent`,
      },
    ]);
    await recordAudit(tx, { holderId, actor, action: 'payout.cancelled', subject: ref }, at);
    return { transaction: result.applied[0]?.transaction ?? null, events: result.events };
  });
  ctx.sendCallbacksNow(events);
  if (!transaction) throw new Error('the cancelled payout vanished');
  return transaction;
}

/** A file that waits is decided as a whole. Its row is locked, so the decision about the file waits for this one. */
async function refusePartOfWaitingFile(tx: Tx, holderId: bigint, id: string): Promise<void> {
  const rows = await tx.query(
    `select from payout_orders o join payout_batches b on b.holder_id = o.holder_id and b.id = o.batch_id
     where o.holder_id = $1 and o.transaction_id = $2 and b.approval = 'waiting' and b.cancelled_at is null
     for share of b`,
    [holderId, id],
  );
  if (rows.length > 0)
    throw new Problem('forbidden', {
      message: 'This payout is part of a file that waits for approval. Approve or cancel the file as a whole.',
    });
}

function requireId(ref: string): string {
  const id = idFromRef(ref);
  if (id === null) throw new Problem('transaction_not_found');
  return id;
}
