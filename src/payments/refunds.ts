// Refunds of collections, where the rail supports them. A member requests the refund, the operator decides, and its answer is
// an outcome (success → reversed).

import { type Actor, recordAudit } from '../holders/audit.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { Problem } from '../platform/errors.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from './transactions.ts';

type RefundResult = 'reversed' | 'under_way' | 'refused';

/** Whether this transaction can be refunded through its rail. */
export function canRefund(ctx: PaymentsContext, transaction: Transaction): boolean {
  const rail = ctx.rails.byName(transaction.rail);
  return (
    transaction.direction === 'collection' &&
    transaction.status === 'success' &&
    rail?.capabilities.refunds === true &&
    rail.refund !== undefined
  );
}

/** Requests the refund of a whole collection. The rail ensures that it happens at most once. */
export async function refundCollection(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<RefundResult> {
  const id = idFromRef(ref);
  const transaction = id === null ? null : await findTransaction(ctx.db, holderId, id);
  if (!transaction) throw new Problem('transaction_not_found', { message: 'There is no such transaction.' });
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!canRefund(ctx, transaction) || !rail?.refund || !method)
    throw new Problem('invalid_params', { message: 'This payment cannot be given back.' });
  const [wallet] = await balancesOf(ctx.db, holderId, { currency: transaction.currency });
  if ((wallet?.available ?? 0n) < transaction.amount - transaction.fee) throw new Problem('overdraft');
  await ctx.db.transaction((tx) =>
    recordAudit(tx, { holderId, actor, action: 'payment.refund_asked', subject: refOf(transaction) }, ctx.clock.now()),
  );
  const { observation, raw } = await rail.refund({
    reference: refOf(transaction),
    method,
    railReference: transaction.rail_reference,
    amount: transaction.amount,
    currency: transaction.currency,
  });
  // A refused refund does not change the collection, so it is not an outcome.
  if (observation.state === 'failed') return 'refused';
  if (observation.state !== 'reversed') return 'under_way';
  const applied = await engine.apply({ transactionId: transaction.id, source: 'person', observation, raw });
  return applied.transaction?.status === 'reversed' ? 'reversed' : 'under_way';
}
