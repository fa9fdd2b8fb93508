// Test money for the wallets of a sandbox.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { post } from '../ledger/ledger.ts';
import { sandboxTopUp } from '../ledger/postings.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';

/** Adds test money to a wallet. Refused outside sandbox mode. */
export function topUpSandbox(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  currency: string,
  amount: bigint,
): Promise<void> {
  if (ctx.config.mode !== 'sandbox')
    throw new Problem('forbidden', { message: 'Only sandbox wallets can be topped up with test money.' });
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const id = createHolderUuid(at.getTime(), holderId);
    const posted = await post(tx, sandboxTopUp({ transactionId: id, currency, amount, holderId }), at);
    await recordDebts(tx, ctx, posted, at);
    await recordAudit(
      tx,
      { holderId, actor, action: 'wallet.topped_up', details: { amount: String(amount), currency } },
      at,
    );
  });
}
