// The rolling reserve: a share of each collection of a holder is held back for some days. It is moved by the posting of the
// collection itself, and released once. What a wallet lacks for a refund, or for a fact that has happened, may come out of it
// before that. Each part is a row that changes only under the lock of its wallet.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { lockAccounts } from '../ledger/accounts.ts';
import { walletAvailable } from '../ledger/chart.ts';
import { type PostedTransfer, postEach } from '../ledger/ledger.ts';
import { reserveReleased } from '../ledger/postings.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { tryEach } from '../platform/jobs.ts';
import { lesserOf, share } from '../platform/money.ts';
import { recordDebts } from './debts.ts';

const WALLETS_PER_PASS = 50;
const PARTS_PER_POSTING = 500;
const MAX_BASIS_POINTS = 10_000n;
export const MAX_RESERVE_DAYS = 365;

export type ReserveRule = { basisPoints: bigint; days: number };

/** What a collection puts into the reserve: never more than reaches the wallet. */
export function reserveShare(
  rule: ReserveRule,
  { amount, fee }: { amount: bigint; fee: bigint },
  decimals: number,
): bigint {
  return lesserOf(share(amount, rule.basisPoints, decimals), amount - fee);
}

export function reserveUntil({ days }: ReserveRule, at: Date): Date {
  return new Date(at.getTime() + days * DAY_MS);
}

/** The rule of a holder; null: nothing is held. */
export async function findReserveRule(reader: Reader, holderId: bigint): Promise<ReserveRule | null> {
  const [row] = await reader.query<{ basis_points: number; days: number }>(
    'select basis_points, days from reserve_rules where holder_id = $1',
    [holderId],
  );
  return row ? { basisPoints: BigInt(row.basis_points), days: row.days } : null;
}

/** Sets the rule for collections that succeed from now on; null: nothing more is held, and what is held stays until its day. */
export async function setReserveRule(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  rule: ReserveRule | null,
): Promise<void> {
  const at = ctx.clock.now();
  if (rule) checkRule(rule);
  await ctx.db.transaction(async (tx) => {
    if (rule)
      await tx.query(
        `insert into reserve_rules (holder_id, basis_points, days, updated_by, updated_at) values ($1, $2, $3, $4, $5)
         on conflict (holder_id) do update set basis_points = excluded.basis_points, days = excluded.days,
           updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
        [holderId, rule.basisPoints, rule.days, actor.name, at],
      );
    else await tx.query('delete from reserve_rules where holder_id = $1', [holderId]);
    const details = rule ? { basisPoints: String(rule.basisPoints), days: rule.days } : { removed: true };
    await recordAudit(tx, { holderId, actor, action: 'reserve.changed', subject: String(holderId), details }, at);
  });
}

function checkRule({ basisPoints, days }: ReserveRule): void {
  const errors: Record<string, string[]> = {};
  if (basisPoints < 1n || basisPoints > MAX_BASIS_POINTS) errors.percent = ['Enter a share from 0.01 to 100 percent.'];
  if (!Number.isInteger(days) || days < 1 || days > MAX_RESERVE_DAYS)
    errors.days = [`Enter a number of days from 1 to ${MAX_RESERVE_DAYS}.`];
  if (Object.keys(errors).length > 0) throw new Problem('invalid_params', { errors });
}

/** Releases what is due, wallet by wallet. Returns how many parts were released. */
export async function releaseHeldParts(ctx: Context): Promise<number> {
  const now = ctx.clock.now();
  const wallets = await ctx.db.query<{ holder_id: bigint; currency: string }>(
    `select holder_id, currency from held_parts where released_at is null and release_at <= $1
     group by holder_id, currency order by min(release_at) limit ${WALLETS_PER_PASS}`,
    [now],
  );
  let released = 0;
  await tryEach(wallets, async ({ holder_id: holderId, currency }) => {
    released += await ctx.db.transaction((tx) => releaseOfWallet(tx, ctx, holderId, currency, now));
    failpoint('reserve-released');
  });
  return released;
}

async function releaseOfWallet(tx: Tx, ctx: Context, holderId: bigint, currency: string, now: Date): Promise<number> {
  // A refund that takes from the reserve has the lock of the wallet too: what is read below is what is left.
  await lockAccounts(tx, [walletAvailable(holderId, currency)], now);
  const due = await tx.query<{ source_id: string; rest: bigint }>(
    `select source_id, amount - used as rest from held_parts
     where holder_id = $1 and currency = $2 and released_at is null and release_at <= $3
     order by release_at, source_id limit ${PARTS_PER_POSTING}`,
    [holderId, currency, now],
  );
  const groups = due.map(({ source_id: transactionId, rest: amount }) =>
    reserveReleased({ holderId, transactionId, currency, amount }),
  );
  const results = await postEach(tx, groups, now);
  if (results.some((result) => !result.ok))
    throw new Error(`holder ${holderId} holds less ${currency} than its parts say`);
  await tx.query('update held_parts set released_at = $3 where holder_id = $1 and source_id = any($2)', [
    holderId,
    due.map((part) => part.source_id),
    now,
  ]);
  const posted = results.flatMap((result): PostedTransfer[] => (result.ok ? result.transfers : []));
  await recordDebts(tx, ctx, posted, now);
  failpoint('reserve-releasing');
  return due.length;
}

/** When the next of a holder's held money is released, and how much waits in all, by currency. */
export type HeldMoney = { currency: string; amount: bigint; next_at: Date; last_at: Date };

export function listHeldMoney(reader: Reader, holderId: bigint): Promise<HeldMoney[]> {
  return reader.query<HeldMoney>(
    `select currency, sum(amount - used)::bigint as amount, min(release_at) as next_at, max(release_at) as last_at
     from held_parts where holder_id = $1 and released_at is null and used < amount group by currency order by currency`,
    [holderId],
  );
}
