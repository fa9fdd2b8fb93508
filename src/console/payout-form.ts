// Ordering the payouts of a form, at most once.

import type { PayoutOrder } from '../payments/payout-requests.ts';
import { orderPayouts, type PayoutResult } from '../payments/payouts.ts';
import { findSimilarPayouts } from '../payments/similar-payouts.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { FormUsedError, isFormUsed, useForm } from './form-idempotency.ts';

/** Orders the payouts of a form; null when the form was sent before. The form is spent in the transaction of its payouts. */
export async function orderOnce(request: HolderRequest, orders: PayoutOrder[]): Promise<PayoutResult[] | null> {
  const { ctx, holder, actor, services } = request;
  const formId = fieldOf(request, 'once', 40);
  try {
    return await orderPayouts(ctx, services.payments.engine, actor, holder.id, orders, {
      within: (tx) => useForm(tx, ctx, holder.id, formId),
    });
  } catch (error) {
    if (error instanceof FormUsedError) return null;
    throw error;
  }
}

/** What looks like a repetition of an earlier payout. A form that was sent before is its own repetition, and is no warning. */
export async function repeatWarnings(request: HolderRequest, order: PayoutOrder): Promise<string[]> {
  const { ctx, holder, t } = request;
  const [similar] = await findSimilarPayouts(ctx, ctx.db, holder.id, [order]);
  if (!similar?.earlier || (await isFormUsed(ctx.db, holder.id, fieldOf(request, 'once', 40)))) return [];
  const { createdAt, createdBy, fileName } = similar.earlier;
  const at = `${createdAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return [t.payouts.repeatOf(at, fileName ?? createdBy)];
}
