// Rate limits that hold over all processes, without a write for each request. Each process takes from its own bucket. A key that
// is busy is also in the database: about once a second, one statement subtracts what this process let through from the bucket
// of all processes, and returns what is left and how many processes share it. Until the next exchange each takes its part.
//
// What may pass beyond the limit: a process first tells the others when a key has used a tenth of its limit in a second, or half
// of its burst. So a further process adds at most half a burst, once, and a tenth of the limit while it stays below that.
// Without the database each process goes on with its own bucket.

import { randomUUID } from 'node:crypto';
import type { Context } from './context.ts';
import { type LimitKind, noteRefusal } from './held-back.ts';
import { perProcess } from './memory.ts';
import type { RateLimiter, RateLimitResult } from './rate-limit.ts';

const EXCHANGE_EVERY_MS = 1_000;
/** A key that has just become busy is exchanged sooner. */
const SOONEST_EXCHANGE_MS = 100;
/** A process that did not use a key for this long has no part of it. */
const SHARED_FOR_MS = 3_000;
const WINDOW_MS = 1_000;
const BUSY_SHARE = 0.1;
const MAX_KEYS = 50_000;
/** Those that nobody used for longest are dropped when there are too many; to know them this precisely is enough. */
const MOVED_EVERY_MS = 10_000;
const MAX_EXCHANGED = 500;
const PURGED_AFTER_MS = 60_000;

type Limit = { kind: LimitKind; perSecond: number; burst: number };

type Bucket = Limit & {
  key: string;
  tokens: number;
  at: number;
  /** Let through and not reported to the others yet: in this second, or since the last exchange. */
  used: number;
  usedSince: number;
  /** Let through since the last exchange, however long ago that was. */
  unreported: number;
  /** How many processes share the key, as of the last exchange. */
  sharers: number;
  exchangedAt: number;
  /** When it was moved behind all others. */
  movedAt: number;
};

type Exchange = {
  process: string;
  buckets: Map<string, Bucket>;
  busy: Set<Bucket>;
  timer: NodeJS.Timeout | null;
  /** When the timer fires, and when the last exchange began; by the time since the start of the process. */
  dueAt: number;
  lastAt: number;
  underWay: Promise<void> | null;
};

const exchangeOf = perProcess(
  (_ctx: Context): Exchange => ({
    process: randomUUID(),
    buckets: new Map(),
    busy: new Set(),
    timer: null,
    dueAt: Number.POSITIVE_INFINITY,
    lastAt: Number.NEGATIVE_INFINITY,
    underWay: null,
  }),
);

export type SharedLimiter = RateLimiter & {
  /** Whether `take` would allow it. Takes nothing: for what counts only when it fails. */
  hasRoom(key: string): boolean;
};

/** `perSecond` requests a second of each key in all processes together, `burst` at once. A refusal is noted for admins. */
export function createSharedLimiter(ctx: Context, kind: LimitKind, perSecond: number, burst: number): SharedLimiter {
  const limit = { kind, perSecond, burst };
  return {
    hasRoom(key) {
      const bucket = exchangeOf(ctx).buckets.get(nameOf(kind, key));
      if (!bucket) return true;
      refill(bucket, ctx.clock.millis());
      return bucket.tokens >= 1;
    },
    take(key, subject = key) {
      if (perSecond === 0) return { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };
      const result = takeToken(ctx, limit, key);
      if (!result.allowed) {
        const until = new Date(ctx.clock.millis() + result.resetSeconds * 1_000);
        noteRefusal(ctx, { kind, key, subject, until });
      }
      return result;
    },
  };
}

function takeToken(ctx: Context, limit: Limit, key: string): RateLimitResult {
  const exchange = exchangeOf(ctx);
  const now = ctx.clock.millis();
  const bucket = findBucket(exchange, limit, key, now);
  refill(bucket, now);
  const allowed = bucket.tokens >= 1;
  if (allowed) {
    bucket.tokens--;
    bucket.used++;
    bucket.unreported++;
  }
  const { perSecond, burst, tokens } = bucket;
  const isNew = !isShared(bucket, now);
  if (!isNew || bucket.used >= perSecond * BUSY_SHARE || tokens < burst / 2) {
    exchange.busy.add(bucket);
    schedule(ctx, exchange, isNew ? SOONEST_EXCHANGE_MS : EXCHANGE_EVERY_MS);
  }
  const resetSeconds = Math.ceil((allowed ? burst - tokens : 1 - tokens) / perSecond);
  return { allowed, limit: burst, remaining: Math.max(0, Math.floor(tokens)), resetSeconds };
}

const nameOf = (kind: LimitKind, key: string) => `${kind} ${key}`;

function findBucket({ buckets, busy }: Exchange, limit: Limit, key: string, now: number): Bucket {
  const name = nameOf(limit.kind, key);
  const known = buckets.get(name);
  if (known) {
    if (now - known.movedAt >= MOVED_EVERY_MS) {
      // Deleting first moves the key to the end of the map's order.
      buckets.delete(name);
      buckets.set(name, known);
      known.movedAt = now;
    }
    return known;
  }
  const fresh = {
    tokens: limit.burst,
    at: now,
    used: 0,
    usedSince: now,
    unreported: 0,
    sharers: 1,
    exchangedAt: Number.NEGATIVE_INFINITY,
    movedAt: now,
  };
  const bucket: Bucket = { ...limit, key: name, ...fresh };
  buckets.set(name, bucket);
  if (buckets.size > MAX_KEYS) {
    const [oldest] = buckets.values();
    if (oldest) {
      buckets.delete(oldest.key);
      busy.delete(oldest);
    }
  }
  return bucket;
}

function isShared(bucket: Bucket, now: number): boolean {
  return now - bucket.exchangedAt < SHARED_FOR_MS;
}

function refill(bucket: Bucket, now: number): void {
  const shared = isShared(bucket, now);
  const elapsedSeconds = Math.max(0, now - bucket.at) / 1000;
  const perSecond = bucket.perSecond / (shared ? bucket.sharers : 1);
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + elapsedSeconds * perSecond);
  bucket.at = now;
  if (shared || now - bucket.usedSince < WINDOW_MS) return;
  bucket.used = 0;
  bucket.usedSince = now;
}

function schedule(ctx: Context, exchange: Exchange, afterMs: number): void {
  const dueAt = Math.max(exchange.lastAt + afterMs, performance.now());
  if (exchange.timer && exchange.dueAt <= dueAt) return;
  if (exchange.timer) clearTimeout(exchange.timer);
  exchange.dueAt = dueAt;
  exchange.timer = setTimeout(() => void exchangeLimits(ctx), Math.max(0, dueAt - performance.now())).unref();
}

// Buckets are changed in the order of their keys, so that two processes cannot deadlock. What the clock of one process adds is
// not added again by another: time only counts from the latest moment that any of them wrote.
const EXCHANGE = {
  name: 'exchange_limits',
  text: `
    with input as materialized (
      select * from unnest($3::text[], $4::float8[], $5::float8[], $6::float8[]) as input (key, used, per_second, burst)
    ), shared as (
      insert into limit_sharers (key, process, at) select key, $2, $1 from input order by key
      on conflict (key, process) do update set at = excluded.at
    )
    insert into limit_buckets as known (key, tokens, at) select key, burst - used, $1 from input order by key
    on conflict (key) do update set
      tokens = (
        select least(i.burst, known.tokens + greatest(extract(epoch from excluded.at - known.at), 0) * i.per_second) - i.used
        from input i where i.key = known.key),
      at = greatest(known.at, excluded.at)
    returning key, tokens,
      (select count(*) from limit_sharers s where s.key = known.key and s.process <> $2 and s.at > $7)::int as others`,
};

/** Tells the other processes what this one let through, and learns what is left. Never throws. */
export async function exchangeLimits(ctx: Context): Promise<void> {
  const exchange = exchangeOf(ctx);
  if (exchange.timer) clearTimeout(exchange.timer);
  exchange.timer = null;
  await exchange.underWay;
  exchange.lastAt = performance.now();
  exchange.underWay = exchangeBusy(ctx, exchange).catch((error: unknown) => {
    ctx.log.debug({ err: error }, 'limits were not exchanged; each process goes on with its own');
  });
  await exchange.underWay;
}

async function exchangeBusy(ctx: Context, exchange: Exchange): Promise<void> {
  const busy = [...exchange.busy].slice(0, MAX_EXCHANGED);
  if (busy.length === 0) return;
  const at = ctx.clock.now();
  const reported = busy.map((bucket) => {
    exchange.busy.delete(bucket);
    refill(bucket, at.getTime());
    // A key that was not shared for a while: what is missing from its bucket, but nothing that was reported before.
    const missing = Math.min(bucket.burst - bucket.tokens, bucket.unreported);
    const used = isShared(bucket, at.getTime()) ? bucket.used : missing;
    bucket.used = 0;
    bucket.unreported = 0;
    return { bucket, used };
  });
  const rows = await ctx.db.query<{ key: string; tokens: number; others: number }>(EXCHANGE, [
    at,
    exchange.process,
    busy.map((bucket) => bucket.key),
    reported.map(({ used }) => used),
    busy.map((bucket) => bucket.perSecond),
    busy.map((bucket) => bucket.burst),
    new Date(at.getTime() - SHARED_FOR_MS),
  ]);
  const byKey = new Map(rows.map((row) => [row.key, row]));
  for (const { bucket } of reported) {
    const row = byKey.get(bucket.key);
    if (!row) continue;
    bucket.sharers = row.others + 1;
    // What was let through during the exchange is already gone. A debt is each process's whole debt.
    const left = row.tokens > 0 ? row.tokens / bucket.sharers : row.tokens;
    bucket.tokens = left - bucket.used;
    bucket.at = at.getTime();
    bucket.exchangedAt = ctx.clock.millis();
  }
}

/** Deletes the rows of keys that nobody uses any more. Returns how many. */
export async function purgeSharedLimits(ctx: Context): Promise<number> {
  const before = new Date((await ctx.databaseTime.now()).getTime() - PURGED_AFTER_MS);
  const buckets = await ctx.db.query('delete from limit_buckets where at < $1 returning 1', [before]);
  const sharers = await ctx.db.query('delete from limit_sharers where at < $1 returning 1', [before]);
  return buckets.length + sharers.length;
}
