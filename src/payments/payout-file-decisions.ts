// What people decide about a file of payouts: approve it as a whole, or cancel what was not sent of it. One decision is
// one transaction.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { BEFORE_RESTORE } from './next-job.ts';
import { OrderRefusal } from './order-refusals.ts';
import { applyOutcomes } from './outcomes.ts';
import { payoutFileIdOf } from './payout-files.ts';
import { refuseFileBeforeAsked } from './requery-after-restore.ts';

/** Approves every payout of a file. The database refuses the person who ordered it. Returns how many will be sent. */
export async function approvePayoutFile(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<number> {
  const id = requireFileId(ref);
  const at = ctx.clock.now();
  const count = await ctx.db.transaction(async (tx) => {
    await requireActiveHolder(tx, holderId);
    await refuseFileBeforeAsked(tx, holderId, id);
    if (!(await approveOnce(tx, actor, holderId, id, at)))
      throw new OrderRefusal('notWaiting', 'not_found', {
        message: 'No file waits for approval under this reference. It may have been approved or cancelled already.',
      });
    await tx.query(
      `update payout_orders set approval = 'approved', approved_by = $3, approved_by_member = $4, approved_at = $5
       where holder_id = $1 and batch_id = $2 and approval = 'waiting' and cancelled_at is null`,
      [holderId, id, actor.name, actor.memberId, at],
    );
    // After a restore the operator may know a payout that waits for approval. Such a payout is not sent again.
    const queued = await tx.query(
      `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
       select t.holder_id, t.id, 'submit', $3, $3
       from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
       where o.holder_id = $1 and o.batch_id = $2 and o.approved_at = $3 and o.cancelled_at is null and t.status = 'pending'
       order by t.id for no key update of t
       on conflict do nothing returning 1`,
      [holderId, id, at],
    );
    const details = { payouts: queued.length };
    await recordAudit(tx, { holderId, actor, action: 'payout_file.approved', subject: ref, details }, at);
    failpoint('file-approving');
    return queued.length;
  });
  failpoint('file-approved');
  engine.wake();
  return count;
}

async function approveOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<boolean> {
  try {
    const rows = await tx.query(
      `update payout_batches set approval = 'approved', approved_by = $3, approved_by_member = $4, approved_at = $5
       where holder_id = $1 and id = $2 and approval = 'waiting' and cancelled_at is null returning 1`,
      [holderId, id, actor.name, actor.memberId, at],
    );
    return rows.length > 0;
  } catch (error) {
    if (violatedConstraint(error) === 'payout_file_approved_by_another')
      throw new OrderRefusal('ownOrder', 'forbidden', {
        message: 'A file must be approved by somebody other than the person who ordered it.',
      });
    throw error;
  }
}

export type CancelledFile = { cancelled: number; sent: number };

/**
 * Cancels what was not sent of a file and releases its money. If nothing was sent, the file itself is cancelled and the
 * same rows can be ordered again.
 */
export async function cancelPayoutFile(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<CancelledFile> {
  const id = requireFileId(ref);
  const at = ctx.clock.now();
  const { result, events } = await ctx.db.transaction(async (tx) => {
    await refuseFileBeforeAsked(tx, holderId, id);
    const { unsent, sent } = await cancelOrders(tx, actor, holderId, id, at);
    const applied = await applyOutcomes(
      tx,
      ctx,
      unsent.map((transactionId) => ({
        transactionId,
        source: 'person',
        observation: {
          state: 'failed',
          failureCode: 'PAYER_CANCELLED',
          rawCode: '',
          message: 'The file of this payout was cancelled before it was sent.',
        },
        raw: `${ref} cancelled by ${actor.name} before it was sent`,
      })),
    );
    const details = { payouts: unsent.length, sent };
    await recordAudit(tx, { holderId, actor, action: 'payout_file.cancelled', subject: ref, details }, at);
    return { result: { cancelled: unsent.length, sent }, events: applied.events };
  });
  ctx.sendCallbacksNow(events);
  return result;
}

/** Marks what was not sent as cancelled and takes its jobs away. Locks the file, its orders, transactions and jobs. */
async function cancelOrders(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  id: string,
  at: Date,
): Promise<{ unsent: string[]; sent: number }> {
  const [file] = await tx.query<{ approval: string }>(
    `select approval from payout_batches where holder_id = $1 and id = $2 and cancelled_at is null for no key update`,
    [holderId, id],
  );
  if (!file)
    throw new OrderRefusal('sentAlready', 'not_found', {
      message: 'This file is unknown, or it was cancelled already.',
    });
  const orders = await tx.query<{ transaction_id: string }>(
    `select transaction_id from payout_orders where holder_id = $1 and batch_id = $2 and cancelled_at is null
     order by transaction_id for no key update`,
    [holderId, id],
  );
  const ids = orders.map((order) => order.transaction_id);
  const isWaiting = file.approval === 'waiting';
  const pending = await lockPending(tx, holderId, ids);
  const unsent = isWaiting ? pending : await removeSubmits(tx, holderId, pending);
  if (unsent.length === 0)
    throw new OrderRefusal('sentAlready', 'forbidden', {
      message: 'Every payout of this file was sent already. None can be cancelled.',
    });
  await tx.query(
    `update payout_orders set cancelled_by = $3, cancelled_at = $4 where holder_id = $1 and transaction_id = any ($2)`,
    [holderId, unsent, actor.name, at],
  );
  // A file of which something was sent keeps its rows taken: ordered again, they would pay that twice.
  const sent = ids.length - unsent.length;
  if (sent === 0)
    await tx.query('update payout_batches set cancelled_by = $3, cancelled_at = $4 where holder_id = $1 and id = $2', [
      holderId,
      id,
      actor.name,
      at,
    ]);
  // After a restore: somebody approved it after the backup, so it does not wait any more.
  else if (isWaiting)
    await tx.query(
      `update payout_batches set approval = 'approved', approved_by = $4, approved_at = $3
       where holder_id = $1 and id = $2`,
      [holderId, id, at, BEFORE_RESTORE],
    );
  return { unsent, sent };
}

/** After a restore the operator may know a payout that waits for approval. Such a payout was sent. */
async function lockPending(tx: Tx, holderId: bigint, ids: string[]): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `select id from transactions where holder_id = $1 and id = any ($2) and status = 'pending' order by id for no key update`,
    [holderId, ids],
  );
  return rows.map((row) => row.id);
}

/** A claimed job has become a query: what a process is about to send is not found here. */
async function removeSubmits(tx: Tx, holderId: bigint, ids: string[]): Promise<string[]> {
  const rows = await tx.query<{ transaction_id: string }>(
    `delete from payment_jobs where holder_id = $1 and transaction_id = any ($2) and kind = 'submit' returning transaction_id`,
    [holderId, ids],
  );
  return rows.map((row) => row.transaction_id);
}

function requireFileId(ref: string): string {
  const id = payoutFileIdOf(ref);
  if (id === null) throw new Problem('not_found', { message: 'This is not the reference of a file.' });
  return id;
}
