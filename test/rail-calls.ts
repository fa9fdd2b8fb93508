// What calls to a rail have in common, for tests that do not mean it.

import type { MoneyDirection, QueryCall, RailMethod } from '../src/rails/rail.ts';

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
