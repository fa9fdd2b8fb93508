// Suspending, resuming and closing a holder. Nothing leaves a suspended holder by any path; closing needs every wallet,
// reserve, held money, debt, settlement under way, open dispute and open transaction at zero.

import type { Actor } from '../holders/audit.ts';
import { type Holder, type HolderStatus, lockHolder, writeHolderStatus } from '../holders/holders.ts';
import { balancesOf, debtsOf, payablesOf } from '../ledger/ledger.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { listDisputes } from './disputes.ts';

export function setHolderStatus(ctx: Context, actor: Actor, id: bigint, status: HolderStatus): Promise<Holder> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    // Orders hold the row of their holder too: what was ordered before is seen below, what comes after is refused.
    const holder = await lockHolder(tx, id);
    if (status === 'closed') await refuseUnlessEmpty(tx, id);
    // Payouts that waited because of the suspension go on at once.
    if (status === 'active')
      await tx.query(`update payment_jobs set due_at = least(due_at, $2) where holder_id = $1 and kind = 'submit'`, [
        id,
        at,
      ]);
    return writeHolderStatus(tx, actor, holder, status, at);
  });
}

async function refuseUnlessEmpty(tx: Tx, id: bigint): Promise<void> {
  const wallets = await balancesOf(tx, id);
  const debts = await debtsOf(tx, id);
  const payables = await payablesOf(tx, id);
  // What a wallet lacks for its disputes makes the held money look like nothing.
  const [dispute] = await listDisputes(tx, id, 'open');
  const open = await countOpenTransactions(tx, id);
  const left = [
    ...wallets.flatMap(({ available, currency }) =>
      available === 0n ? [] : [`the wallet holds ${formatAmount(available)} ${currency}`],
    ),
    ...wallets.flatMap(({ reserved, currency }) =>
      reserved === 0n ? [] : [`${formatAmount(reserved)} ${currency} is reserved`],
    ),
    ...wallets.flatMap(({ held, currency }) => (held === 0n ? [] : [`${formatAmount(held)} ${currency} is held`])),
    ...debts.map(({ amount, currency }) => `it owes ${formatAmount(amount)} ${currency}`),
    ...payables.map(({ amount, currency }) => `${formatAmount(amount)} ${currency} is on its way to its bank`),
    ...(dispute ? ['a dispute is open'] : []),
    ...(open === 0n ? [] : [open === 1n ? '1 transaction is open' : `${open} transactions are open`]),
  ];
  if (left.length > 0)
    throw new Problem('holder_not_empty', { message: `The holder cannot be closed: ${left.join(', ')}.` });
}

/** Transactions with a job, and orders that wait for approval. */
async function countOpenTransactions(tx: Tx, id: bigint): Promise<bigint> {
  const [row] = await tx.query<{ count: bigint }>(
    `select count(*) from (
       select transaction_id from payment_jobs where holder_id = $1
       union
       select transaction_id from payout_orders where holder_id = $1 and approval = 'waiting' and cancelled_at is null
       union
       select transaction_id from refund_orders where holder_id = $1 and approval = 'waiting' and cancelled_at is null
     ) as open`,
    [id],
  );
  return row?.count ?? 0n;
}
