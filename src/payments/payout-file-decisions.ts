// What people decide about a file of payouts, as a whole: approve it, or cancel it before any of it is sent. One decision
// is one transaction.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
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
      throw new Problem('not_found', { message: 'No file of yours waits for approval under this reference.' });
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
      throw new Problem('forbidden', {
        message: 'A file must be approved by somebody other than the person who ordered it.',
      });
    throw error;
  }
}

/** Cancels a file of which nothing was sent and releases its money. The same rows can then be ordered again. */
export async function cancelPayoutFile(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<number> {
  const id = requireFileId(ref);
  const at = ctx.clock.now();
  const { count, events } = await ctx.db.transaction(async (tx) => {
    await refuseFileBeforeAsked(tx, holderId, id);
    const ids = await cancelOrders(tx, actor, holderId, id, at);
    const result = await applyOutcomes(
      tx,
      ctx,
      ids.map((transactionId) => ({
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
    const details = { payouts: ids.length };
    await recordAudit(tx, { holderId, actor, action: 'payout_file.cancelled', subject: ref, details }, at);
    return { count: ids.length, events: result.events };
  });
  ctx.sendCallbacksNow(events);
  return count;
}

/** Marks the file and its payouts as cancelled and takes their jobs away; refused when one of them was sent. */
async function cancelOrders(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<string[]> {
  const [file] = await tx.query<{ approval: string }>(
    `update payout_batches set cancelled_by = $3, cancelled_at = $4
     where holder_id = $1 and id = $2 and cancelled_at is null returning approval`,
    [holderId, id, actor.name, at],
  );
  if (!file) throw new Problem('not_found', { message: 'This file is unknown, or it was cancelled already.' });
  const orders = await tx.query<{ transaction_id: string }>(
    `update payout_orders set cancelled_by = $3, cancelled_at = $4
     where holder_id = $1 and batch_id = $2 and cancelled_at is null returning transaction_id`,
    [holderId, id, actor.name, at],
  );
  const ids = orders.map((order) => order.transaction_id);
  // A claimed job has become a query: what a process is about to send is not found here.
  const removed = await tx.query(
    `delete from payment_jobs where holder_id = $1 and transaction_id = any ($2) and kind = 'submit' returning 1`,
    [holderId, ids],
  );
  const pending = await tx.query(
    `select from transactions where holder_id = $1 and id = any ($2) and status = 'pending' order by id for no key update`,
    [holderId, ids],
  );
  const unsent = file.approval === 'waiting' ? pending.length : removed.length;
  if (unsent < ids.length || pending.length < ids.length)
    throw new Problem('forbidden', {
      message: `${ids.length - Math.min(unsent, pending.length)} payouts of this file were sent already. Cancel the others one by one.`,
    });
  return ids;
}

function requireFileId(ref: string): string {
  const id = payoutFileIdOf(ref);
  if (id === null) throw new Problem('not_found', { message: 'This is not the reference of a file.' });
  return id;
}
