// Lists deliveries with their attempts, sends one event again, and replays everything that failed since a moment.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { isRefundId, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { resumeAddresses } from './endpoints.ts';
import { type EventType, originOf, transactionIdsOf } from './events.ts';
import { unpackBody } from './packed-body.ts';
import { callbackHeaders } from './signature.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_ATTEMPTS_SHOWN = 200;
const REPLAY_PAGE = 1_000;
const MAX_REPLAY_PAGES = 1_000;
const CLOCK_MARGIN_MS = 5 * 60_000;

/** waiting: first attempt to come; retrying: failed so far; paused: 410; given_up: thirty days over; feed_only: no address. */
export type DeliveryStatus = 'waiting' | 'retrying' | 'paused' | 'delivered' | 'given_up' | 'feed_only';

type DeliveryAttempt = {
  at: Date;
  /** 0: a probe, outside the schedule. */
  number: number;
  delivered: boolean;
  requestHeaders: Record<string, string>;
  status: number | null;
  answerHeaders: Record<string, string> | null;
  answerStart: string | null;
  latencyMs: number;
  error: string | null;
};

export type Delivery = {
  eventId: string;
  type: EventType;
  transactionRef: string;
  url: string | null;
  status: DeliveryStatus;
  createdAt: Date;
  nextAttemptAt: Date | null;
  body: string;
  attempts: DeliveryAttempt[];
};

type DeliveryFilter = {
  status?: DeliveryStatus | undefined;
  eventId?: string | undefined;
  transactionId?: string | undefined;
  since?: Date | undefined;
  /** Public id of the last event of the page before: the list goes from new to old. */
  before?: string | undefined;
  limit?: number | undefined;
};

type DeliveryRow = {
  id: string;
  type: EventType;
  transaction_id: string;
  url: string | null;
  body: Buffer;
  created_at: Date;
  due_at: Date | number | null;
  status: DeliveryStatus;
};

export async function listDeliveries(
  reader: Reader,
  holderId: bigint,
  filter: DeliveryFilter = {},
): Promise<Delivery[]> {
  // Undelivered events are in the small table. Starting there makes a long history cheap.
  const waits = filter.status === 'waiting' || filter.status === 'retrying' || filter.status === 'paused';
  const [eventId, before] = [uuidOrNull(filter.eventId), uuidOrNull(filter.before)];
  const rows = await reader.query<DeliveryRow>(
    `select * from (
       select e.id, e.type, e.transaction_id, e.url, e.body, e.created_at, e.position, d.due_at,
              case when e.url is null then 'feed_only'
                   when d.due_at = 'infinity' then 'paused'
                   when d.attempts = 0 then 'waiting'
                   when d.attempts > 0 then 'retrying'
                   when exists (select from callback_attempts a
                                where a.holder_id = e.holder_id and a.event_id = e.id and a.delivered) then 'delivered'
                   else 'given_up' end as status
       from events e ${waits ? 'join' : 'left join'} callback_deliveries d
         on d.holder_id = e.holder_id and d.event_id = e.id and d.transaction_id = e.transaction_id
       where e.holder_id = $1
         and ($2::uuid is null or e.transaction_id = $2)
         and ($3::uuid is null or (e.id = $3 and e.transaction_id between $9 and $10))
         and ($4::timestamptz is null or (e.position >= $8 and e.created_at >= $4))
         and ($5::uuid is null or e.position < (select b.position from events b
           where b.holder_id = $1 and b.id = $5 and b.transaction_id between $11 and $12))
     ) listed
     where ($6::text is null or status = $6)
     order by position desc limit $7`,
    [
      holderId,
      filter.transactionId ?? null,
      eventId,
      filter.since ?? null,
      before,
      filter.status ?? null,
      Math.min(Math.max(filter.limit ?? DEFAULT_LIMIT, 1), MAX_LIMIT),
      filter.since ? await firstPositionSince(reader, holderId, filter.since) : 0n,
      ...(eventId ? transactionIdsOf(eventId) : NO_IDS),
      ...(before ? transactionIdsOf(before) : NO_IDS),
    ],
  );
  const attempts = await listAttempts(
    reader,
    holderId,
    rows.map((row) => row.id),
  );
  return rows.map((row) => ({
    eventId: publicId('evt', row.id),
    type: row.type,
    transactionRef: publicId(isRefundId(row.transaction_id) ? 'RF' : 'TX', row.transaction_id),
    url: row.url,
    status: row.status,
    createdAt: row.created_at,
    nextAttemptAt: row.due_at instanceof Date ? row.due_at : null,
    body: unpackBody(row.body).toString('utf8'),
    attempts: attempts.get(row.id) ?? [],
  }));
}

const NO_IDS = [null, null] as const;

function uuidOrNull(eventId: string | undefined): string | null {
  return eventId === undefined ? null : eventUuid(eventId);
}

function eventUuid(eventId: string): string {
  const uuid = uuidFromPublicId('evt', eventId);
  if (uuid === null) throw new Problem('event_not_found');
  return uuid;
}

/** The newest attempts of each event, oldest first. */
async function listAttempts(
  reader: Reader,
  holderId: bigint,
  eventIds: string[],
): Promise<Map<string, DeliveryAttempt[]>> {
  const rows = await reader.query<{
    event_id: string;
    at: Date;
    number: number;
    delivered: boolean;
    signature: string;
    status: number | null;
    answer_headers: Record<string, string> | null;
    answer_start: Buffer | null;
    latency_ms: number;
    error: string | null;
  }>(
    `select a.* from unnest($1::uuid[]) as wanted (id) cross join lateral (
       select event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms, error
       from callback_attempts where holder_id = $3 and event_id = wanted.id order by at desc limit $2
     ) a order by a.at`,
    [eventIds, MAX_ATTEMPTS_SHOWN, holderId],
  );
  const byEvent = new Map<string, DeliveryAttempt[]>();
  for (const row of rows) {
    const attempt: DeliveryAttempt = {
      at: row.at,
      number: row.number,
      delivered: row.delivered,
      requestHeaders: callbackHeaders(
        publicId('evt', row.event_id),
        Math.floor(row.at.getTime() / 1_000),
        row.signature,
      ),
      status: row.status,
      answerHeaders: row.answer_headers,
      answerStart: row.answer_start?.toString('utf8') ?? null,
      latencyMs: row.latency_ms,
      error: row.error,
    };
    const list = byEvent.get(row.event_id);
    if (list) list.push(attempt);
    else byEvent.set(row.event_id, [attempt]);
  }
  return byEvent;
}

/**
 * Sends one event again, delivered or not: the same id, the same bytes. A paused address is resumed by it. `actor` is the
 * member who asked, for the audit log; requests of the API are in the request log.
 */
export async function resendEvent(ctx: Context, holderId: bigint, eventId: string, actor?: Actor): Promise<void> {
  const id = eventUuid(eventId);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const [event] = await tx.query<{ transaction_id: string; integration_id: bigint; url: string | null }>(
      `select transaction_id, integration_id, url from events
       where holder_id = $1 and id = $2 and transaction_id between $3 and $4`,
      [holderId, id, ...transactionIdsOf(id)],
    );
    if (!event) throw new Problem('event_not_found');
    if (event.url === null)
      throw new Problem('invalid_params', {
        message: 'This event has no callback address, so there is nowhere to send it. It is in the feed.',
      });
    await resumeAddresses(tx, holderId, [event.url], at);
    await tx.query(
      `insert into callback_deliveries
         (event_id, transaction_id, holder_id, integration_id, origin, url, leased, due_at, started_at)
       values ($1, $2, $3, $4, $5, $6, false, $7, $7)
       on conflict on constraint delivery_once do update set leased = false, due_at = $7, started_at = $7`,
      [id, event.transaction_id, holderId, event.integration_id, originOf(event.url), event.url, at],
    );
    if (actor) await recordAudit(tx, { holderId, actor, action: 'callback.resent', subject: eventId }, at);
  });
}

// Positions grow with time, so halving the feed finds where a moment begins, without an index on the time. A position
// may have no row any more, or none yet after a restore; then the next one counts.
const FIRST_POSITION = `
  with recursive search (low, high) as (
    select 0::bigint, last_position + 1 from event_feeds where holder_id = $1
    union all
    select case when next.created_at < $2 then next.position + 1 else search.low end,
           case when next.created_at < $2 then search.high else (search.low + search.high) / 2 end
    from search left join lateral (
      select e.position, e.created_at from events e
      where e.holder_id = $1 and e.position >= (search.low + search.high) / 2 order by e.position limit 1
    ) next on true
    where search.low < search.high
  )
  select max(low) as first from search`;

/** No event at or after the moment has a smaller position. The clocks of two processes may differ by the margin. */
async function firstPositionSince(reader: Reader, holderId: bigint, since: Date): Promise<bigint> {
  const [row] = await reader.query<{ first: bigint | null }>(FIRST_POSITION, [
    holderId,
    new Date(since.getTime() - CLOCK_MARGIN_MS),
  ]);
  return row?.first ?? 0n;
}

// One page of a holder's events, from new to old. What was never delivered is made due, but of a transaction only its
// latest state: after an outage a receiver must not get the success, or that its link was paid, after the reversal.
// A paid link is told beside the success, so it does not replace it.
const REPLAY = `
  with page as materialized (
    select e.* from events e
    where e.holder_id = $1 and e.position >= $6 and e.position < $4 and e.created_at >= $2
    order by e.position desc limit $5
  ), replayed as (
    insert into callback_deliveries
      (holder_id, event_id, transaction_id, integration_id, origin, url, leased, due_at, started_at)
    select $1, p.id, p.transaction_id, p.integration_id,
           coalesce(substring(p.url from '^[a-z]+://[^/?#]+'), 'invalid:'), p.url, false, $3, $3
    from page p
    where p.url is not null
      and not exists (
        select from callback_attempts a where a.holder_id = $1 and a.event_id = p.id and a.delivered)
      and not exists (
        select from events n
        where n.holder_id = $1 and n.transaction_id = p.transaction_id
          and n.type <> 'payment_link.paid' and n.position > p.position)
    on conflict on constraint delivery_once do update set due_at = $3, started_at = $3 where not callback_deliveries.leased
    returning event_id
  )
  select (select count(*) from replayed) as replayed, count(*) as seen, min(position) as last from page`;

/** Makes every undelivered event since a moment due at once. Returns how many. */
export async function replayFailed(ctx: Context, holderId: bigint, since: Date, actor?: Actor): Promise<number> {
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await resumeAddresses(tx, holderId, null, at);
    if (actor)
      await recordAudit(tx, { holderId, actor, action: 'callback.replayed', subject: since.toISOString() }, at);
  });
  const first = await firstPositionSince(ctx.db, holderId, since);
  let before = 2n ** 63n - 1n;
  let replayed = 0;
  for (let page = 0; page < MAX_REPLAY_PAGES; page++) {
    const [row] = await ctx.db.query<{ replayed: bigint; seen: bigint; last: bigint | null }>(REPLAY, [
      holderId,
      since,
      at,
      before,
      REPLAY_PAGE,
      first,
    ]);
    replayed += Number(row?.replayed ?? 0n);
    if (!row || row.last === null || row.seen < REPLAY_PAGE) break;
    before = row.last;
  }
  return replayed;
}
