// What a person sees before a payout is ordered: the name that the number is registered under, where the operator tells
// it, and what the wallet holds afterwards. Nothing is written.

import { balancesOf } from '../ledger/ledger.ts';
import type { PaymentsContext } from './context.ts';
import type { PayoutOrder } from './payout-requests.ts';

/** The page waits this long for the name and is then shown without it. */
const NAME_PATIENCE_MS = 3_000;
const MAX_NAME_CHARACTERS = 120;

export type PayoutPreview = {
  /** Null: the operator does not tell it. */
  registeredName: string | null;
  /** What is available after the payout and its fee; negative when the wallet does not cover them. */
  remaining: bigint;
};

export async function previewPayout(
  ctx: PaymentsContext,
  holderId: bigint,
  order: PayoutOrder,
): Promise<PayoutPreview> {
  const [registeredName, [wallet]] = await Promise.all([
    findRegisteredName(ctx, order),
    balancesOf(ctx.db, holderId, { currency: order.method.currency }),
  ]);
  return { registeredName, remaining: (wallet?.available ?? 0n) - order.amount - order.fee };
}

async function findRegisteredName(ctx: PaymentsContext, order: PayoutOrder): Promise<string | null> {
  const rail = ctx.rails.byName(order.rail);
  if (!rail?.lookUpName || !ctx.rails.health.wouldCall(rail.name, order.method.code)) return null;
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), NAME_PATIENCE_MS).unref());
  const name = await Promise.race([rail.lookUpName({ msisdn: order.msisdn, method: order.method }), late]);
  // The operator's text: control characters could change what a terminal shows.
  return (
    name
      ?.replace(/[\s\p{C}]+/gu, ' ')
      .trim()
      .slice(0, MAX_NAME_CHARACTERS) || null
  );
}
