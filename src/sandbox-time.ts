// Lets time pass at once in a sandbox, so that nobody waits ten minutes for an expiry. No clock is changed: signatures,
// second factors and the ledger go by the real one. What waits has waited longer instead. See decision 37.

import { forwardDeliveries } from './callbacks/forward-time.ts';
import { forwardPayments } from './payments/forward-time.ts';
import type { Context } from './platform/context.ts';
import { Problem } from './platform/errors.ts';
import type { Forwarded } from './sandbox/clock-routes.ts';
import { forwardOperator } from './sandbox/forward-time.ts';

/** The workers of every process look for what is due within a second. */
export function forwardTime(ctx: Context, ms: number): Promise<Forwarded> {
  if (ctx.config.mode !== 'sandbox')
    throw new Problem('forbidden', { message: 'Time can be moved in a sandbox only.' });
  return ctx.db.transaction(async (tx) => {
    await forwardOperator(tx, ms);
    const payments = await forwardPayments(tx, ms, ctx.clock.now());
    return { payments, callbacks: await forwardDeliveries(tx, ms) };
  });
}
