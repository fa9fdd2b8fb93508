// What the confirmation of one payout and that of a file have in common: the fingerprint of what was shown, and the warning
// of a repetition. And ordering the payout of a form, at most once.

import type { PayoutOrder } from '../payments/payout-requests.ts';
import { orderPayouts, type PayoutResult } from '../payments/payouts.ts';
import { RetryRefusedError, recordRetry } from '../payments/retries.ts';
import { findSimilarPayouts, repeatsKey, type SimilarPayout } from '../payments/similar-payouts.ts';
import { idFromRef, type Transaction } from '../payments/transactions.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { sha256 } from '../platform/secrets.ts';
import { fieldOf, type HolderRequest } from './console-request.ts';
import { FormUsedError, isFormUsed, useForm } from './form-idempotency.ts';
import { linkStates } from './retry-links.ts';

/** Of everything that is decided. The wallet is not part of it: other payments change it all the time. */
export function fingerprintOf({ holder }: HolderRequest, orders: readonly PayoutOrder[]): string {
  const decided = orders.map(({ amount, fee, method, rail, msisdn, payee, invoiceNo, detail }) => {
    const money = [String(amount), String(fee), method.currency];
    return [...money, method.code, rail, msisdn, payee, invoiceNo, detail];
  });
  return sha256(JSON.stringify([holder.payouts_need_approval, ...decided])).toString('base64url');
}

/** The repetitions that the person was shown and has confirmed. */
export function confirmedRepeats(request: HolderRequest): string {
  return fieldOf(request, 'confirm_repeats') === 'yes' ? fieldOf(request, 'repeats') : '';
}

/** Orders the payout of a form; null when the form was sent before. The form is spent in the transaction of its payout. */
export async function orderOnce(
  request: HolderRequest,
  order: PayoutOrder,
  similar: readonly SimilarPayout[],
): Promise<PayoutResult | null> {
  const { ctx, holder, actor, services } = request;
  const formId = fieldOf(request, 'once', 40);
  try {
    const [result] = await orderPayouts(ctx, services.payments.engine, actor, holder.id, [order], {
      confirmedRepeats: repeatsKey(similar),
      within: (tx) => useForm(tx, ctx, holder.id, formId),
      written: (tx, [payout]) => linkRetry(request, tx, payout),
    });
    return result ?? null;
  } catch (error) {
    if (error instanceof FormUsedError) return null;
    if (error instanceof RetryRefusedError)
      throw new Problem('invalid_params', { message: request.t.transaction.retry.refusals[error.refusal] });
    throw error;
  }
}

/** A payout that repeats one which failed is linked to it. */
async function linkRetry(request: HolderRequest, tx: Tx, payout: Transaction | undefined): Promise<void> {
  const { ctx, holder, actor } = request;
  const failed = idFromRef(fieldOf(request, 'retry_of', 40));
  if (failed === null || !payout) return;
  const repeated = { id: failed, holder_id: holder.id };
  await recordRetry(tx, ctx, actor, repeated, { transactionId: payout.id }, linkStates(request));
}

/** What looks like a repetition of an earlier payout. A form that was sent before is its own repetition, and is no warning. */
export async function findRepeats(request: HolderRequest, order: PayoutOrder): Promise<SimilarPayout[]> {
  const { ctx, holder } = request;
  const similar = await findSimilarPayouts(ctx, ctx.db, holder.id, [order]);
  if (similar.length === 0 || (await isFormUsed(ctx.db, holder.id, fieldOf(request, 'once', 40)))) return [];
  return similar;
}
