// What members of a holder decide about a payout or a refund that was ordered: approve it, or cancel it before it is sent.
// What happens to one that the operator does not know is decided by two people (decisions.ts).

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { isRefundId } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { OrderRefusal } from './order-refusals.ts';
import { applyOutcomes } from './outcomes.ts';
import { queueApproved, removeSubmit } from './payment-jobs.ts';
import { findRefundById, refuseContradicted, refuseOvertaken } from './refund-orders.ts';
import { refuseBeforeAsked } from './requery-after-restore.ts';
import { idFromRef, type Transaction } from './transactions.ts';
import { wasPaidByAnotherTry } from './tries.ts';

/** Where payouts and refunds differ. */
type Ordered = {
  readonly name: 'payout' | 'refund';
  readonly table: 'payout_orders' | 'refund_orders';
  requireId(ref: string): string;
  /** Refuses what cannot be decided about this one alone. */
  refuseAlone(tx: Tx, holderId: bigint, id: string): Promise<void>;
  /** Refuses what was approved and must not be sent now. */
  refuseApproved(tx: Tx, holderId: bigint, id: string): Promise<void>;
};

const nothing = () => Promise.resolve();

const PAYOUT: Ordered = {
  name: 'payout',
  table: 'payout_orders',
  requireId(ref) {
    const id = idFromRef(ref);
    if (id === null) throw new Problem('transaction_not_found');
    return id;
  },
  refuseAlone: refusePartOfWaitingFile,
  async refuseApproved(tx, holderId, id) {
    if (!(await wasPaidByAnotherTry(tx, { holder_id: holderId, id }))) return;
    const message = 'The payout that this one repeats was paid after all. Cancel this one.';
    throw new OrderRefusal('overtaken', 'forbidden', { message });
  },
};

const REFUND: Ordered = {
  name: 'refund',
  table: 'refund_orders',
  requireId(ref) {
    const id = idFromRef(ref);
    if (id === null || !isRefundId(id))
      throw new Problem('transaction_not_found', { message: 'There is no such refund.' });
    return id;
  },
  refuseAlone: nothing,
  async refuseApproved(tx, holderId, id) {
    const refund = await findRefundById(tx, holderId, id);
    if (!refund) return;
    await refuseContradicted(tx, holderId, refund.collection_id);
    await refuseOvertaken(tx, holderId, refund.collection_id);
  },
};

type Waker = Pick<PaymentEngine, 'wake'>;
type Approve = (ctx: PaymentsContext, engine: Waker, actor: Actor, holderId: bigint, ref: string) => Promise<void>;
type Cancel = (ctx: PaymentsContext, actor: Actor, holderId: bigint, ref: string) => Promise<Transaction>;

/** Approves a payout. The database refuses the member who ordered it. */
export const approvePayout: Approve = (ctx, engine, actor, holderId, ref) =>
  approve(PAYOUT, ctx, engine, actor, holderId, ref);
/** Approves a refund. The database refuses the member who asked for it. */
export const approveRefund: Approve = (ctx, engine, actor, holderId, ref) =>
  approve(REFUND, ctx, engine, actor, holderId, ref);
/** Cancels a payout before it is sent and releases its money. */
export const cancelPayout: Cancel = (ctx, actor, holderId, ref) => cancel(PAYOUT, ctx, actor, holderId, ref);
/** Cancels a refund before it is sent and releases its money. */
export const cancelRefund: Cancel = (ctx, actor, holderId, ref) => cancel(REFUND, ctx, actor, holderId, ref);

async function approve(ordered: Ordered, ...[ctx, engine, actor, holderId, ref]: Parameters<Approve>): Promise<void> {
  const { name } = ordered;
  const id = ordered.requireId(ref);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await requireActiveHolder(tx, holderId);
    await ordered.refuseAlone(tx, holderId, id);
    await refuseBeforeAsked(tx, holderId, id);
    const approved = await approveOnce(tx, ordered, actor, holderId, id, at);
    if (approved) await ordered.refuseApproved(tx, holderId, id);
    // After a restore the operator may know one that waits for approval. It is not sent again.
    if (!approved || !(await queueApproved(tx, holderId, id, at)))
      throw new OrderRefusal('notWaiting', 'not_found', {
        message: `No ${name} waits for approval under this reference. It may have been approved or cancelled already.`,
      });
    await recordAudit(tx, { holderId, actor, action: `${name}.approved`, subject: ref }, at);
    failpoint(`${name}-approving`);
  });
  failpoint(`${name}-approved`);
  engine.wake();
}

async function approveOnce(
  tx: Tx,
  { name, table }: Ordered,
  actor: Actor,
  holderId: bigint,
  id: string,
  at: Date,
): Promise<boolean> {
  try {
    const rows = await tx.query(
      `update ${table} set approval = 'approved', approved_by = $3, approved_by_member = $4, approved_at = $5
       where holder_id = $1 and transaction_id = $2 and approval = 'waiting' and cancelled_at is null
       returning transaction_id`,
      [holderId, id, actor.name, actor.memberId, at],
    );
    return rows.length > 0;
  } catch (error) {
    if (violatedConstraint(error) === `${name}_approved_by_another`)
      throw new OrderRefusal('ownOrder', 'forbidden', {
        message: `A ${name} must be approved by somebody other than the person who created it.`,
      });
    throw error;
  }
}

async function cancel(ordered: Ordered, ...[ctx, actor, holderId, ref]: Parameters<Cancel>): Promise<Transaction> {
  const { name } = ordered;
  const id = ordered.requireId(ref);
  const at = ctx.clock.now();
  const { transaction, events } = await ctx.db.transaction(async (tx) => {
    await ordered.refuseAlone(tx, holderId, id);
    await refuseBeforeAsked(tx, holderId, id);
    if (!(await cancelUnsent(tx, ordered, actor, holderId, id, at)))
      throw new OrderRefusal('sentAlready', 'not_found', {
        message: `This ${name} is unknown, or it was sent already and cannot be taken back.`,
      });
    const observation = {
      state: 'failed',
      failureCode: 'PAYER_CANCELLED',
      rawCode: '',
      message: `The ${name} was cancelled before it was sent.`,
    } as const;
    const raw = `cancelled by ${actor.name} before it was sent`;
    const result = await applyOutcomes(tx, ctx, [{ transactionId: id, source: 'person', observation, raw }]);
    await recordAudit(tx, { holderId, actor, action: `${name}.cancelled`, subject: ref }, at);
    failpoint(`${name}-cancelling`);
    return { transaction: result.applied[0]?.transaction ?? null, events: result.events };
  });
  failpoint(`${name}-cancelled`);
  ctx.sendCallbacksNow(events);
  if (!transaction) throw new Error(`the cancelled ${name} vanished`);
  return transaction;
}

/**
 * It can be cancelled while it waits for approval or its submit job exists: claiming the job makes it a query. The row of the
 * order is locked first, as in an approval; the second statement sees the job of an approval that the first one waited for.
 */
async function cancelUnsent(
  tx: Tx,
  { table }: Ordered,
  actor: Actor,
  holderId: bigint,
  id: string,
  at: Date,
): Promise<boolean> {
  const [cancelled] = await tx.query<{ approval: string }>(
    `update ${table} set cancelled_by = $3, cancelled_at = $4
     where holder_id = $1 and transaction_id = $2 and cancelled_at is null returning approval`,
    [holderId, id, actor.name, at],
  );
  const isRemoved = await removeSubmit(tx, holderId, id);
  // What was sent before, and is to be sent again, is no longer pending: it may still be on its way.
  const pending = await tx.query(
    `select from transactions where holder_id = $1 and id = $2 and status = 'pending' for no key update`,
    [holderId, id],
  );
  return pending.length > 0 && (cancelled?.approval === 'waiting' || (cancelled !== undefined && isRemoved));
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
    throw new OrderRefusal('partOfList', 'forbidden', {
      message: 'This payout is part of a file that waits for approval. Approve or cancel the file as a whole.',
    });
}
