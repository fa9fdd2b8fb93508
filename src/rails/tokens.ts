// The access tokens of a connection. One process fetches a token, all use it: it is kept sealed in the database, where a lease
// makes the others wait for the one that fetches. No transaction is open during the call to the operator.

import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../platform/context.ts';
import type { FetchToken, TokenStore } from './connection.ts';
import type { Exchange } from './exchange.ts';

/** A token is renewed this long before its end, or when nine tenths of its life are over, whichever is later. */
const RENEW_BEFORE_MS = 60_000;
const RENEW_SHARE = 0.1;
/** Longer than the call that fetches a token may take. Afterwards another process tries. */
const LEASE_MS = 20_000;
const LEASE_POLL_MS = 50;
/** Where a new token ends the old one: how long it is not fetched while calls with the old one are in flight. */
const DRAIN_MS = 5_000;
const DRAIN_POLL_MS = 10;
/**
 * A call begins before this share of its time-out is over, or not at all: work on a payment belongs to a process for twice the
 * time-out, and a submit that begins after that could follow the query of another process.
 */
const LATEST_CALL_SHARE = 0.8;
/** What an operator says about the life of a token is not believed beyond this. */
const LONGEST_LIFE_MS = 90 * 86_400_000;

export type TokenStoreOptions = {
  connection: string;
  /** Of the settings: a token that was fetched with others is not used. */
  connectionVersion: number;
  /** A new token ends the one before. */
  oneLiveToken: boolean;
  /** Of one call to the operator. */
  timeoutMs: number;
};

type LiveToken = { token: string; version: bigint; renewAt: number; endsAt: number; calls: number };
type TokenRow = { version: bigint; sealed: Buffer | null; valid_from: Date | null; valid_until: Date | null };
type Renewal = LiveToken | { error: Exchange };
/** What this process knows about one kind of token. */
type Held = { live: LiveToken | null; renewing: Promise<Renewal> | null };

type TokenContext = Pick<Context, 'db' | 'vault' | 'clock'>;

export function createTokenStore(ctx: TokenContext, options: TokenStoreOptions): TokenStore {
  const kinds = new Map<string, Held>();

  function heldOf(kind: string): Held {
    const known = kinds.get(kind);
    if (known) return known;
    const held: Held = { live: null, renewing: null };
    kinds.set(kind, held);
    return held;
  }

  /** The token for a call; `refused` is one that the operator does not take any more. */
  async function acquire(kind: string, fetch: FetchToken, refused: LiveToken | null): Promise<Renewal> {
    const held = heldOf(kind);
    const now = ctx.clock.millis();
    const { live } = held;
    const isUsable = live !== null && live !== refused && now < live.endsAt;
    if (isUsable && now < live.renewAt && !held.renewing) return live;
    // Somebody renews it already. The old one still works, unless the new one is about to end it.
    if (isUsable && held.renewing && !options.oneLiveToken) return live;
    held.renewing ??= renew(kind, fetch, held, refused).finally(() => {
      held.renewing = null;
    });
    const renewed = await held.renewing;
    // Before its end, a token that could not be renewed is still good.
    return 'error' in renewed && isUsable && ctx.clock.millis() < live.endsAt ? live : renewed;
  }

  async function renew(kind: string, fetch: FetchToken, held: Held, refused: LiveToken | null): Promise<Renewal> {
    const old = held.live;
    const stored = await claim(ctx, options, kind, refused?.version ?? null);
    if (stored !== null) {
      held.live = stored;
      return stored;
    }
    if (options.oneLiveToken && old && old !== refused) await drain(old);
    const fetched = withoutToken(await fetch().catch((): { error: Exchange } => ({ error: NO_TOKEN })));
    if ('error' in fetched) {
      await release(ctx, options, kind);
      return fetched;
    }
    held.live = await store(ctx, options, kind, fetched.token, fetched.validForMs);
    return held.live;
  }

  return {
    async withToken(kind, fetch, call, isRefused) {
      const latest = performance.now() + options.timeoutMs * LATEST_CALL_SHARE;
      let refused: LiveToken | null = null;
      for (;;) {
        const live: Renewal = await inTime(acquire(kind, fetch, refused), latest);
        if ('error' in live) return live.error;
        live.calls++;
        let answer: Exchange;
        try {
          answer = await call(live.token);
        } finally {
          live.calls--;
        }
        if (refused !== null || !isRefused(answer)) return answer;
        refused = live;
      }
    },
  };
}

/** Nothing was sent: the caller's answer says so. */
const NO_TOKEN: Exchange = { answered: false, reason: 'no access token could be got' };

/** The renewal itself goes on: others may still have the time for it. */
async function inTime(token: Promise<Renewal>, latest: number): Promise<Renewal> {
  const tooLate: Renewal = { error: NO_TOKEN };
  const timer = new AbortController();
  const left = Math.max(0, latest - performance.now());
  try {
    return await Promise.race([
      token.catch(() => tooLate),
      pause(left, tooLate, { signal: timer.signal }).catch(() => tooLate),
    ]);
  } finally {
    timer.abort();
  }
}

/** Waits until no call of this process uses the token, for a while. Calls of other processes are made again after a refusal. */
async function drain(token: LiveToken): Promise<void> {
  const until = performance.now() + DRAIN_MS;
  while (token.calls > 0 && performance.now() < until) await pause(DRAIN_POLL_MS);
}

/** The token that another process fetched meanwhile, or null when this process shall fetch one. */
async function claim(
  ctx: TokenContext,
  { connection, connectionVersion }: TokenStoreOptions,
  kind: string,
  refusedVersion: bigint | null,
): Promise<LiveToken | null> {
  const until = performance.now() + 2 * LEASE_MS;
  for (;;) {
    const [stored] = await ctx.db.query<TokenRow>(
      `select version, sealed, valid_from, valid_until from connection_tokens
       where connection = $1 and kind = $2 and connection_version = $3`,
      [connection, kind, connectionVersion],
    );
    const live = stored ? await openToken(ctx, connection, kind, stored) : null;
    if (live && live.version !== refusedVersion && ctx.clock.millis() < live.renewAt) return live;
    const mine = await ctx.db.query(
      `insert into connection_tokens (connection, kind, connection_version, fetching_until)
       values ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
       on conflict (connection, kind) do update
         set fetching_until = excluded.fetching_until, connection_version = excluded.connection_version,
           sealed = case when connection_tokens.connection_version = $3 then connection_tokens.sealed end
         where (connection_tokens.fetching_until is null or connection_tokens.fetching_until < clock_timestamp())
           and (connection_tokens.version = $5 or connection_tokens.connection_version <> $3)
       returning 1`,
      [connection, kind, connectionVersion, LEASE_MS, stored?.version ?? 0n],
    );
    if (mine.length > 0) return null;
    // Another process fetches it now, or has just done so.
    if (performance.now() > until) throw new Error('another process did not get a token');
    await pause(LEASE_POLL_MS);
  }
}

async function openToken(
  ctx: TokenContext,
  connection: string,
  kind: string,
  row: TokenRow,
): Promise<LiveToken | null> {
  if (!row.sealed || !row.valid_from || !row.valid_until) return null;
  try {
    const token = await ctx.vault.open(row.sealed, tokenPurpose(connection, kind));
    return liveToken(token, row.version, row.valid_from.getTime(), row.valid_until.getTime());
  } catch {
    // Sealed with a key that is gone: a new token costs one call.
    return null;
  }
}

function liveToken(token: string, version: bigint, from: number, endsAt: number): LiveToken {
  const margin = Math.min(RENEW_BEFORE_MS, (endsAt - from) * RENEW_SHARE);
  return { token, version, renewAt: endsAt - margin, endsAt, calls: 0 };
}

async function store(
  ctx: TokenContext,
  { connection, connectionVersion }: TokenStoreOptions,
  kind: string,
  token: string,
  validForMs: number,
): Promise<LiveToken> {
  const from = ctx.clock.millis();
  const endsAt = from + Math.min(Math.max(validForMs, 0) || 0, LONGEST_LIFE_MS);
  const [row] = await ctx.db.query<{ version: bigint }>(
    `insert into connection_tokens (connection, kind, connection_version, version, sealed, valid_from, valid_until)
     values ($1, $2, $3, 1, $4, $5, $6)
     on conflict (connection, kind) do update
       set connection_version = $3, version = connection_tokens.version + 1, sealed = $4, valid_from = $5, valid_until = $6,
         fetching_until = null
     returning version`,
    [
      connection,
      kind,
      connectionVersion,
      ctx.vault.seal(token, tokenPurpose(connection, kind)),
      new Date(from),
      new Date(endsAt),
    ],
  );
  return liveToken(token, row?.version ?? 0n, from, endsAt);
}

async function release(ctx: TokenContext, { connection }: TokenStoreOptions, kind: string): Promise<void> {
  await ctx.db.query('update connection_tokens set fetching_until = null where connection = $1 and kind = $2', [
    connection,
    kind,
  ]);
}

const tokenPurpose = (connection: string, kind: string) => `connection token ${connection} ${kind}`;

type Fetched = Awaited<ReturnType<FetchToken>>;

/** An answer of success in which the rail finds no token may hold one under another name: it is not kept as evidence. */
function withoutToken(fetched: Fetched): Fetched {
  if (!('error' in fetched) || !fetched.error.answered || fetched.error.status >= 300) return fetched;
  return { error: { ...fetched.error, body: '' } };
}
