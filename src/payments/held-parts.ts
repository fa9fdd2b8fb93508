// The parts of the rolling reserve: put in by collections, and taken out, the next to be released first, by refunds and by facts
// that the wallet had too little for. Every change is made under the lock of the wallet, in the transaction of its posting.

import type { PostedTransfer } from '../ledger/ledger.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';

export type NewHeldPart = {
  holderId: bigint;
  /** The collection; or the refund that gives held money back because it failed. */
  sourceId: string;
  currency: string;
  amount: bigint;
  releaseAt: Date;
};

const PARTS = columns<NewHeldPart>(2, {
  holder_id: ['bigint', (part) => part.holderId],
  source_id: ['uuid', (part) => part.sourceId],
  currency: 'text',
  amount: 'bigint',
  release_at: ['timestamptz', (part) => part.releaseAt],
});

export async function insertHeldParts(tx: Tx, parts: NewHeldPart[], at: Date): Promise<void> {
  if (parts.length === 0) return;
  await tx.query(`insert into held_parts (${PARTS.names}, held_at) select ${PARTS.names}, $1 from ${PARTS.rows}`, [
    at,
    ...PARTS.arrays(parts),
  ]);
}

/** Takes what posted transfers used out of the parts. Returns when the last of it would have been released; null: none was used. */
export async function takeHeldParts(tx: Tx, posted: readonly PostedTransfer[]): Promise<Date | null> {
  const used = new Map<string, { holderId: bigint; currency: string; amount: bigint }>();
  for (const { kind, holderId, currency, amount } of posted) {
    if (kind !== 'reserve_use' && kind !== 'reserve_cover') continue;
    const key = `${holderId} ${currency}`;
    used.set(key, { holderId, currency, amount: amount + (used.get(key)?.amount ?? 0n) });
  }
  let latest: Date | null = null;
  for (const { holderId, currency, amount } of used.values()) {
    const taken = await takeFromWallet(tx, holderId, currency, amount);
    for (const { release_at: releaseAt } of taken) if (!latest || releaseAt > latest) latest = releaseAt;
  }
  return latest;
}

async function takeFromWallet(tx: Tx, holderId: bigint, currency: string, amount: bigint) {
  const taken = await tx.query<{ amount: bigint; release_at: Date }>(
    `with part as (
       select source_id, amount - used as rest, sum(amount - used) over (order by release_at, source_id) as up_to
       from held_parts where holder_id = $1 and currency = $2 and released_at is null and used < amount
     ), taken as (
       select source_id, least(rest, $3 - (up_to - rest))::bigint as amount from part where up_to - rest < $3
     )
     update held_parts p set used = p.used + taken.amount
     from taken where p.holder_id = $1 and p.source_id = taken.source_id
     returning taken.amount, p.release_at`,
    [holderId, currency, amount],
  );
  const sum = taken.reduce((total, part) => total + part.amount, 0n);
  if (sum !== amount)
    throw new Error(`holder ${holderId} used ${amount} ${currency} of its reserve, its parts held ${sum}`);
  return taken;
}
