// Calls to a rail for tests, with the catalogue's methods and new references.

import { loadCatalog, type Method } from '../src/catalog/catalog.ts';
import { createUuid, publicId } from '../src/platform/ids.ts';
import type { CollectCall, MoneyDirection, PayoutCall, QueryCall, RailMethod, RefundCall } from '../src/rails/rail.ts';

const CATALOG = loadCatalog();

export function methodOf(code: string): Method {
  const method = CATALOG.methods.get(code);
  if (!method) throw new Error(`no method ${code}`);
  return method;
}

export const newReference = (): string => publicId('TX', createUuid(Date.now()));

export function newRefundReference(): string {
  const uuid = createUuid(Date.now());
  return publicId('RF', `${uuid.slice(0, 14)}8${uuid.slice(15)}`);
}

export function collectCall(code: string, changes: Partial<CollectCall> = {}): CollectCall {
  const method = methodOf(code);
  return {
    reference: newReference(),
    method,
    msisdn: method.example ?? method.country.example,
    amount: 150_000n,
    currency: method.currency,
    merchantName: 'Shop',
    verified: false,
    prepared: null,
    returnUrl: 'https://pay.example.com/back',
    ...changes,
  };
}

export function payoutCall(code: string, changes: Partial<PayoutCall> = {}): PayoutCall {
  const { verified: _verified, returnUrl: _returnUrl, ...call } = collectCall(code);
  return { ...call, recipientName: 'Ama Owusu', ...changes };
}

export function queryCall(
  call: Pick<CollectCall, 'reference' | 'method' | 'amount' | 'currency'>,
  changes: Partial<QueryCall> = {},
): QueryCall {
  return {
    reference: call.reference,
    direction: 'collection',
    method: call.method,
    railReference: null,
    receipt: null,
    prepared: null,
    amount: call.amount,
    currency: call.currency,
    submittedAt: new Date(),
    ...changes,
  };
}

export function refundCall(
  call: Pick<CollectCall, 'reference' | 'method' | 'amount' | 'currency' | 'msisdn'>,
  changes: Partial<RefundCall> = {},
): RefundCall {
  return {
    reference: newRefundReference(),
    collection: { reference: call.reference, railReference: null, receipt: null, amount: call.amount },
    method: call.method,
    msisdn: call.msisdn,
    amount: call.amount,
    currency: call.currency,
    merchantName: 'Shop',
    ...changes,
  };
}

/** What calls have in common, for tests that do not mean it. */
export const NO_STEPS = { prepared: null, recipientName: null, returnUrl: 'https://pay.example.com/' } as const;

/** A question about a reference that was sent just now, of which the operator told nothing yet. */
export function queryOf(reference: string, method: RailMethod, direction: MoneyDirection = 'collection'): QueryCall {
  return {
    reference,
    direction,
    method,
    railReference: null,
    receipt: null,
    prepared: null,
    amount: 150_000n,
    currency: method.currency,
    submittedAt: new Date(),
  };
}
