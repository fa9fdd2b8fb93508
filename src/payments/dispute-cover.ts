// What open disputes lack is brought by the next credits of their wallet, for the oldest dispute first. The posting holds the lock
// of the wallet, so nobody else changes these rows now.

import type { PostedTransfer } from '../ledger/ledger.ts';
import type { Tx } from '../platform/db.ts';

/** Counts what posted transfers brought for open disputes. */
export async function coverDisputes(tx: Tx, posted: readonly PostedTransfer[]): Promise<void> {
  for (const { kind, holderId, currency, amount } of posted)
    if (kind.startsWith('dispute_cover')) await coverOldest(tx, holderId, currency, amount);
}

async function coverOldest(tx: Tx, holderId: bigint, currency: string, amount: bigint): Promise<void> {
  const covered = await tx.query<{ amount: bigint }>(
    `with dispute as (
       select case_id, short, sum(short) over (order by opened_at, case_id) as up_to
       from disputes where holder_id = $1 and currency = $2 and status = 'open' and short > 0
     ), covered as (
       select case_id, least(short, $3 - (up_to - short))::bigint as amount from dispute where up_to - short < $3
     )
     update disputes d set short = d.short - covered.amount
     from covered where d.holder_id = $1 and d.case_id = covered.case_id
     returning covered.amount`,
    [holderId, currency, amount],
  );
  const sum = covered.reduce((total, part) => total + part.amount, 0n);
  if (sum !== amount) throw new Error(`holder ${holderId} paid ${amount} ${currency} for disputes that lacked ${sum}`);
}
