// The health of operators over all processes. A process measures it by its own calls (breakers.ts). One that calls nobody, such as
// ROLE=api, or has not called an operator for a minute, goes by what others found out: a row for each operator that does not
// answer. Rows are written when a breaker opens, at each of its probes and when it closes, never for other calls.

import type { Context } from '../platform/context.ts';
import {
  type BreakerEvents,
  type Breakers,
  createBreakers,
  FORGOTTEN_AFTER_MS,
  isUnanswered,
  type OperatorHealth,
  PROBE_INTERVAL_MS,
} from './breakers.ts';

/** A row that was not written for so long was left by a process that ended. */
const OLD_AFTER_MS = 10 * 60_000;

export type SharedHealth = Breakers & {
  /** Writes what this process found out, and reads what all did. */
  exchange(): Promise<void>;
};

type OpenBreaker = { connection: string; method: string; openedAt: Date; askedAt: Date };
type Change = OpenBreaker & { isOpen: boolean };

const keyOf = (connection: string, method: string) => `${connection}\n${method}`;

export function createSharedHealth(ctx: Pick<Context, 'db' | 'clock'>, events: BreakerEvents = {}): SharedHealth {
  const { clock } = ctx;
  /** What is not written yet, and when each breaker of this process opened. */
  let changes = new Map<string, Change>();
  const openedAt = new Map<string, Date>();
  /** As read last: what all processes wrote. */
  let open = new Map<string, OpenBreaker>();

  function note(connection: string, method: string, isOpen: boolean): void {
    const key = keyOf(connection, method);
    const now = clock.now();
    if (isOpen && !openedAt.has(key)) openedAt.set(key, now);
    changes.set(key, { connection, method, isOpen, openedAt: openedAt.get(key) ?? now, askedAt: now });
    if (!isOpen) openedAt.delete(key);
  }

  /**
   * Another process had an answer, or nobody has asked for minutes: new work goes there again, so who watches is told. The breaker of
   * this process closes with its own next call.
   */
  function forget(key: string, connection: string, method: string): void {
    if (!changes.has(key) && openedAt.delete(key)) events.onState?.(connection, method, 'closed');
  }

  const own = createBreakers(clock, {
    ...events,
    onState(connection, method, state) {
      events.onState?.(connection, method, state);
      // From half open to open: the probe was noted when it was made.
      if (state !== 'open' || !openedAt.has(keyOf(connection, method))) note(connection, method, state !== 'closed');
    },
  });

  /** Since the last probe of any process; null: it answers, or this process knows by itself. */
  function askedMsAgo(connection: string, method: string): number | null {
    const known = open.get(keyOf(connection, method));
    if (!known || own.hasRecentCall(connection, method)) return null;
    return clock.millis() - known.askedAt.getTime();
  }

  return {
    ...own,
    record(connection, method, result, ms) {
      own.record(connection, method, result, ms);
      // An answer to any process closes the breakers of all.
      if (!isUnanswered(result) && open.delete(keyOf(connection, method))) note(connection, method, false);
    },
    wouldCall(connection, method) {
      const ago = askedMsAgo(connection, method);
      return own.wouldCall(connection, method) && (ago === null || ago >= PROBE_INTERVAL_MS);
    },
    isPreferred(connection, method) {
      const ago = askedMsAgo(connection, method);
      return own.isPreferred(connection, method) && (ago === null || ago >= FORGOTTEN_AFTER_MS);
    },
    snapshot: () => withOthers(own, [...open.values()]),
    async exchange() {
      const taken = changes;
      changes = new Map();
      try {
        await writeChanges(ctx, [...taken.values()]);
      } catch (error) {
        changes = new Map([...taken, ...changes]);
        throw error;
      }
      const rows = await readOpen(ctx, new Date(clock.millis() - OLD_AFTER_MS));
      const before = open;
      open = new Map(rows.map((row) => [keyOf(row.connection, row.method), row]));
      for (const [key, { connection, method }] of before) if (!open.has(key)) forget(key, connection, method);
      // What changed meanwhile is newer than what was read.
      for (const [key, { isOpen }] of changes) if (!isOpen) open.delete(key);
    },
  };
}

/** What this process measured, and the operators that only others found silent. */
function withOthers(own: Breakers, open: readonly OpenBreaker[]): OperatorHealth[] {
  const others = open.filter(({ connection, method }) => !own.hasRecentCall(connection, method));
  const isOther = ({ rail, operator }: OperatorHealth) =>
    others.some(({ connection, method }) => connection === rail && method === operator);
  return [
    ...own.snapshot().filter((health) => !isOther(health)),
    ...others.map(({ connection, method, openedAt }) => ({
      rail: connection,
      operator: method,
      state: 'open' as const,
      calls: 0,
      successRate: null,
      silentRate: 1,
      medianMs: null,
      openedAt,
    })),
  ];
}

async function writeChanges({ db }: Pick<Context, 'db'>, changes: readonly Change[]): Promise<void> {
  const opened = changes.filter(({ isOpen }) => isOpen);
  const closed = changes.filter(({ isOpen }) => !isOpen);
  // In the order of the keys, so that two processes cannot deadlock. What is lost in a crash is found out again.
  if (opened.length > 0)
    await db.unflushed(
      `insert into open_breakers as known (connection, method, opened_at, asked_at)
       select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as new (connection, method, opened_at, asked_at)
       order by connection, method
       on conflict (connection, method) do update set
         opened_at = least(known.opened_at, excluded.opened_at), asked_at = greatest(known.asked_at, excluded.asked_at)`,
      [...keysOf(opened), opened.map(({ openedAt }) => openedAt), opened.map(({ askedAt }) => askedAt)],
    );
  if (closed.length > 0)
    await db.unflushed(
      `delete from open_breakers b using unnest($1::text[], $2::text[], $3::timestamptz[]) as answered (connection, method, at)
       where b.connection = answered.connection and b.method = answered.method and b.asked_at <= answered.at`,
      [...keysOf(closed), closed.map(({ askedAt }) => askedAt)],
    );
}

const keysOf = (changes: readonly OpenBreaker[]) => [
  changes.map(({ connection }) => connection),
  changes.map(({ method }) => method),
];

async function readOpen({ db }: Pick<Context, 'db'>, since: Date): Promise<OpenBreaker[]> {
  return await db.query<OpenBreaker>(
    {
      name: 'read_open_breakers',
      text: `select connection, method, opened_at as "openedAt", asked_at as "askedAt" from open_breakers where asked_at > $1`,
    },
    [since],
  );
}
