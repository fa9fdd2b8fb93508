// A database that went back in time: a head that is known outside is not in it. An older copy was started, or a standby took
// over that had not received everything. What the gateway did since then it does not know, so no money leaves it until a person
// has looked and recorded a restore; then every operator is asked first about what is open (decision 17).

import { createCache } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { readLastRestore } from '../platform/restores.ts';
import { findMissing, type OutsideHead } from './outside-heads.ts';

export type LostHead = {
  readonly number: bigint;
  readonly hash: Buffer;
  readonly sealed_at: Date;
  /** Where it was found. */
  readonly source: string;
  readonly noticed_at: Date;
};

/** The newest head that is lost and that no restore explains. Null: the history is whole. */
export async function readLostHead(reader: Reader): Promise<LostHead | null> {
  const restoredAt = await readLastRestore(reader);
  const [lost] = await reader.query<LostHead>(
    `select number, hash, sealed_at, source, noticed_at from ledger_lost_heads
     where $1::timestamptz is null or sealed_at >= $1 order by number desc limit 1`,
    [restoredAt],
  );
  return lost ?? null;
}

const lostHead = createCache((ctx: Context, _key: 'newest') => readLostHead(ctx.db));

/** The same from the cache of this process, at most half a second old. */
export function findLostHead(ctx: Context): LostHead | null | Promise<LostHead | null> {
  return lostHead.get(ctx, 'newest');
}

/** Refuses to order what would take money out of the gateway. What was ordered before waits. */
export async function requireHistory(ctx: Context): Promise<void> {
  if (await findLostHead(ctx)) throw new Problem('payouts_stopped', { retryAfterSeconds: 600 });
}

/** In English, for terminals, logs and programs. */
export function lostSentence({ number, sealed_at, source }: LostHead): string {
  return (
    `The database went back in time: ledger head ${number} of ${sealed_at.toISOString()}, known from ${source}, is not in it. ` +
    'Payouts, refunds and settlements are stopped. Find out which copy this is; then run: npx simbi after-restore.'
  );
}

/** Keeps the heads that are not in the database. Returns those that nobody had noticed before. */
export async function noticeLostHeads(
  tx: Tx,
  source: string,
  heads: readonly OutsideHead[],
  at: Date,
): Promise<LostHead[]> {
  const restoredAt = await readLastRestore(tx);
  const missing = (await findMissing(tx, heads)).filter(({ sealedAt }) => !restoredAt || sealedAt >= restoredAt);
  if (missing.length === 0) return [];
  return await tx.query<LostHead>(
    `insert into ledger_lost_heads (number, hash, sealed_at, source, noticed_at)
     select number, decode(hash, 'hex'), sealed_at, $4, $5
     from unnest($1::bigint[], $2::text[], $3::timestamptz[]) as lost (number, hash, sealed_at)
     on conflict do nothing returning number, hash, sealed_at, source, noticed_at`,
    [
      missing.map(({ number }) => number),
      missing.map(({ hash }) => hash),
      missing.map(({ sealedAt }) => sealedAt),
      source,
      at,
    ],
  );
}
