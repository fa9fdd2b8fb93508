// Where callbacks go: receivers that fail, and addresses that answered 410 Gone and are paused until a member resumes them.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { RECEIVER_HEADS } from './claim.ts';

const MAX_LISTED = 200;
/** An address is judged by what became of its newest events. */
export const SUMMARISED_EVENTS = 500;
/** A backlog is counted up to here: beyond it the exact number is of no use. */
const MAX_COUNTED = 100_000;

export type FailingReceiver = { origin: string; failingSince: Date; lastError: string; waiting: number };
export type PausedAddress = { url: string; integrationId: bigint; pausedAt: Date };

/** Receivers of this holder that fail and have deliveries waiting. */
export async function listFailingReceivers(reader: Reader, holderId: bigint): Promise<FailingReceiver[]> {
  const rows = await reader.query<{ origin: string; failing_since: Date; last_error: string; waiting: bigint }>(
    `select r.origin, r.failing_since, r.last_error, count(*) as waiting
     from callback_receivers r
     join callback_deliveries d on d.holder_id = r.holder_id and d.origin = r.origin
     where r.holder_id = $1 and r.recovered_at is null
     group by r.origin, r.failing_since, r.last_error order by r.failing_since limit $2`,
    [holderId, MAX_LISTED],
  );
  return rows.map((row) => ({
    origin: row.origin,
    failingSince: row.failing_since,
    lastError: row.last_error,
    waiting: Number(row.waiting),
  }));
}

export type HeldBackReceiver = { holderId: bigint; origin: string; since: Date; probeAt: Date; waiting: number };

/** Receivers of all holders that fail: their callbacks wait, and a probe is sent from time to time. */
export async function listHeldBackReceivers(reader: Reader): Promise<HeldBackReceiver[]> {
  const rows = await reader.query<{ holder_id: bigint; origin: string; since: Date; probe_at: Date; waiting: bigint }>(
    `select r.holder_id, r.origin, r.failing_since as since, r.probe_at, (
       select count(*) from callback_deliveries d where d.holder_id = r.holder_id and d.origin = r.origin) as waiting
     from callback_receivers r where r.recovered_at is null order by r.failing_since desc limit $1`,
    [MAX_LISTED],
  );
  return rows.map(({ holder_id: holderId, origin, since, probe_at: probeAt, waiting }) => ({
    holderId,
    origin,
    since,
    probeAt,
    waiting: Number(waiting),
  }));
}

export async function listPausedAddresses(reader: Reader, holderId: bigint): Promise<PausedAddress[]> {
  const rows = await reader.query<{ url: string; integration_id: bigint; paused_at: Date }>(
    'select url, integration_id, paused_at from callback_pauses where holder_id = $1 order by paused_at desc limit $2',
    [holderId, MAX_LISTED],
  );
  return rows.map((row) => ({ url: row.url, integrationId: row.integration_id, pausedAt: row.paused_at }));
}

export type EndpointSummary = {
  url: string;
  events: number;
  delivered: number;
  /** Not delivered yet, or no longer tried. */
  waiting: number;
  givenUp: number;
  lastEventAt: Date;
};

/** Every address among the newest events of a holder, and what became of them. */
export async function summariseEndpoints(reader: Reader, holderId: bigint): Promise<EndpointSummary[]> {
  const rows = await reader.query<Record<'events' | 'delivered' | 'waiting', bigint> & { url: string; last: Date }>(
    `select url, count(*) as events, count(*) filter (where waits) as waiting,
            count(*) filter (where not waits and delivered) as delivered, max(created_at) as last
     from (
       select e.url, e.created_at, d.event_id is not null as waits,
              exists (select from callback_attempts a
                      where a.holder_id = $1 and a.event_id = e.id and a.delivered) as delivered
       from (select id, transaction_id, url, created_at from events
             where holder_id = $1 and url is not null order by position desc limit ${SUMMARISED_EVENTS}) e
       left join callback_deliveries d
         on d.holder_id = $1 and d.event_id = e.id and d.transaction_id = e.transaction_id
     ) newest
     group by url order by last desc limit $2`,
    [holderId, MAX_LISTED],
  );
  return rows.map(({ url, events, delivered, waiting, last }) => ({
    url,
    events: Number(events),
    delivered: Number(delivered),
    waiting: Number(waiting),
    givenUp: Number(events - delivered - waiting),
    lastEventAt: last,
  }));
}

/** Deliveries that are due and not yet sent, of all holders: the backlog that readiness and metrics show. */
export async function countDueDeliveries(reader: Reader, now: Date): Promise<number> {
  const [row] = await reader.query<{ due: bigint }>(
    `select count(*) as due
     from (select from callback_deliveries where not leased and due_at <= $1 limit ${MAX_COUNTED}) as waiting`,
    [now],
  );
  return Number(row?.due ?? 0n);
}

const OLDEST_DUE = `
  with recursive heads as (${RECEIVER_HEADS}) select min(due_at) as due_at from heads where due_at <= $1`;
const OLDEST_DUE_ON_SERVERS = 'select min(due_at) as due_at from callback_deliveries where not leased and due_at <= $1';

/** Since when the oldest of them is due. Reads one row of each receiver, as claiming does, however many wait for it. */
export async function oldestDueDelivery(reader: Reader, now: Date): Promise<Date | null> {
  const [row] = await reader.query<{ due_at: Date | null }>(
    reader.isDistributed?.() ? OLDEST_DUE_ON_SERVERS : OLDEST_DUE,
    [now],
  );
  return row?.due_at ?? null;
}

/** Resumes a paused address: its deliveries are due at once. Returns how many. */
export function resumeAddress(ctx: Context, actor: Actor, holderId: bigint, url: string): Promise<number> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await recordAudit(tx, { holderId, actor, action: 'callback.resumed', subject: url }, at);
    return resumeAddresses(tx, holderId, [url], at);
  });
}

/** The same within the caller's transaction; without a list, all paused addresses of the holder. */
export async function resumeAddresses(tx: Tx, holderId: bigint, urls: string[] | null, at: Date): Promise<number> {
  const rows = await tx.query(
    `with resumed as (
       delete from callback_pauses where holder_id = $1 and ($2::text[] is null or url = any ($2)) returning integration_id, url
     )
     update callback_deliveries d set due_at = $3, started_at = $3
     from resumed r
     where d.holder_id = $1 and d.integration_id = r.integration_id and d.url = r.url and d.due_at = 'infinity'
     returning 1`,
    [holderId, urls, at],
  );
  return rows.length;
}
