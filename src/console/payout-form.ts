// Ordering the payouts of a form, at most once.

import type { PayoutOrder } from '../payments/payout-requests.ts';
import { orderPayouts, type PayoutResult } from '../payments/payouts.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { FormUsedError, useForm } from './form-idempotency.ts';

/** Orders the payouts of a form; null when the form was sent before. The form is spent in the transaction of its payouts. */
export async function orderOnce(
  request: HolderRequest,
  orders: PayoutOrder[],
  batchName?: string,
): Promise<PayoutResult[] | null> {
  const { ctx, holder, actor, services } = request;
  const formId = fieldOf(request, 'once', 40);
  try {
    return await orderPayouts(ctx, services.payments.engine, actor, holder.id, orders, {
      ...(batchName === undefined ? {} : { batchName }),
      within: (tx) => useForm(tx, ctx, holder.id, formId),
    });
  } catch (error) {
    if (error instanceof FormUsedError) return null;
    throw error;
  }
}
