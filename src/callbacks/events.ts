// The outbox. An event and its delivery are written in the transaction of the fact they report, so neither exists without
// the other. Id and body bytes never change after that. The id derives from the fact, so the same fact has the same id
// again when a restore makes the gateway repeat it; the order of events is their position, never their id.

import { isoMicroseconds } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { deriveHolderUuid, publicId } from '../platform/ids.ts';
import { packBody } from './packed-body.ts';

/** The name of the background job that sends callbacks. */
export const DELIVERY_JOB = 'deliver_callbacks';
/** How long fresh deliveries belong to the process that wrote them. After a crash they are claimed when the lease ends. */
export const LEASE_MS = 30_000;

export type EventType =
  | 'collection.success'
  | 'collection.failed'
  | 'collection.expired'
  | 'collection.reversed'
  | 'payout.success'
  | 'payout.failed'
  | 'payout.reversed'
  | 'payment_link.paid'
  | 'refund.success'
  | 'refund.failed';

/** A transaction enters each state at most once, so each type happens once. */
const SEQUENCE = 1;

export type NewEvent = {
  holderId: bigint;
  /** The integration whose secret signs the callback; null (a holder without one): the event is only in the feed. */
  integrationId: bigint | null;
  transactionId: string;
  type: EventType;
  /** The v3 record and what the event adds to it. */
  data: object;
  /** Where the callback goes; null: the event is only in the feed. */
  url: string | null;
};

/** An event as it was written: what the deliverer needs to send it without reading it back. */
export type RecordedEvent = {
  id: string;
  publicId: string;
  transactionId: string;
  holderId: bigint;
  integrationId: bigint | null;
  type: EventType;
  body: Buffer;
  url: string | null;
  createdAt: Date;
  leasedUntil: Date;
};

type EventRow = RecordedEvent & {
  /** How many events of the same holder come after this one in the statement. */
  after: number;
  /** The body as it is stored, and where it begins in all of them together. */
  packed: Buffer;
  packedFrom: number;
};

const EVENTS = columns<EventRow>(8, {
  holder_id: ['bigint', (event) => event.holderId],
  transaction_id: ['uuid', (event) => event.transactionId],
  type: 'text',
  id: 'uuid',
  integration_id: ['bigint', (event) => event.integrationId],
  url: 'text',
  origin: ['text', (event) => (event.url === null ? null : originOf(event.url))],
  after: 'int',
  body_from: ['int', (event) => event.packedFrom],
  body_length: ['int', (event) => event.packed.length],
});

/** The feed of one holder: how many events are added, and where its row was seen last. */
type RaisedFeed = { holderId: bigint; events: number; place: string | null };

const FEEDS = columns<RaisedFeed>(5, {
  holder_id: ['bigint', (feed) => feed.holderId],
  events: 'bigint',
  place: ['tid', (feed) => feed.place],
});

const RAISE_FEEDS = `
      select raised_holder as holder_id, raised_position as last_position, raised_place as place
      from raise_event_feeds(${FEEDS.parameters})`;

// On several servers a row has no place that the coordinator could name.
const RAISE_FEEDS_ON_SERVERS = `
      insert into event_feeds as feed (holder_id, last_position)
      select holder_id, events from ${FEEDS.rows} order by holder_id
      on conflict (holder_id) do update set last_position = feed.last_position + excluded.last_position
      returning holder_id, last_position, null as place`;

// One statement for any number of events. The number of each holder's feed is raised first, in the order of the holders,
// and stays locked until the commit: so positions have no gaps and become visible in order. Bodies travel as one value
// cut by offsets: an array of them would be escaped here and unescaped there. A paused address gets its row, but no
// date. The answer has what the caller cannot know: which deliveries wait for their address, and where the feeds are.
const recordText = (raiseFeeds: string) => `
    with input as materialized (
      select * from ${EVENTS.rows}
    ), feeds as materialized (${raiseFeeds}
    ), written as (
      insert into events (holder_id, transaction_id, type, sequence, id, position, integration_id, url, body, created_at)
      select i.holder_id, i.transaction_id, i.type, ${SEQUENCE}, i.id, f.last_position - i.after, i.integration_id, i.url,
             substring($4::bytea from i.body_from for i.body_length), $1
      from input i join feeds f using (holder_id)
    ), paused as (
      select p.holder_id, p.integration_id, p.url from callback_pauses p
      where (p.holder_id, p.integration_id, p.url) in (select holder_id, integration_id, url from input where url is not null)
    ), queued as (
      insert into callback_deliveries
        (holder_id, event_id, transaction_id, integration_id, origin, url, leased, due_at, started_at)
      select i.holder_id, i.id, i.transaction_id, i.integration_id, i.origin, i.url, $3::boolean and p.url is null,
             case when p.url is null then $2::timestamptz else 'infinity' end, $1
      from input i left join paused p using (holder_id, integration_id, url)
      where i.url is not null
      returning event_id, due_at = 'infinity' as paused
    )
    select event_id as paused_event, null::bigint as feed, null as place from queued where paused
    union all
    select null, holder_id, place from feeds where place is not null`;

const RECORD_EVENTS = { name: 'record_events', text: recordText(RAISE_FEEDS) };
const RECORD_EVENTS_ON_SERVERS = { name: 'record_events_on_servers', text: recordText(RAISE_FEEDS_ON_SERVERS) };

type RecordAnswer =
  | { paused_event: string; feed: null; place: null }
  | { paused_event: null; feed: bigint; place: string };

const feedKey = (holderId: bigint) => `feed:${holderId}`;

/**
 * Writes events and their deliveries. Events of one transaction are in the feed in the order given. With `handOver` the
 * caller gives what is returned to the deliverer of this process after the commit; without it the next pass of any
 * process finds them.
 */
export async function recordEvents(
  tx: Tx,
  events: readonly NewEvent[],
  at: Date,
  handOver = true,
): Promise<RecordedEvent[]> {
  if (events.length === 0) return [];
  const leasedUntil = new Date(at.getTime() + LEASE_MS);
  const recorded = events.map((event) => fixEvent(event, at, leasedUntil));
  const given = rowsOf(recorded);
  const statement = tx.isDistributed?.() ? RECORD_EVENTS_ON_SERVERS : RECORD_EVENTS;
  const answers = await tx.query<RecordAnswer>(statement, [
    at,
    handOver ? leasedUntil : at,
    handOver,
    Buffer.concat(given.map((row) => row.packed)),
    ...FEEDS.arrays(feedsOf(tx, events)),
    ...EVENTS.arrays(given),
  ]);
  const paused = new Set<string>();
  for (const answer of answers) {
    if (answer.feed === null) paused.add(answer.paused_event);
    else tx.places?.note(feedKey(answer.feed), { id: answer.feed, place: answer.place });
  }
  // A paused delivery waits until its address is resumed, so the deliverer must not get it.
  return paused.size === 0
    ? recorded
    : recorded.map((event) => (paused.has(event.id) ? { ...event, url: null } : event));
}

/** In the order of the holders. */
function feedsOf(tx: Tx, events: readonly NewEvent[]): RaisedFeed[] {
  return [...Map.groupBy(events, ({ holderId }) => holderId)]
    .map(([holderId, own]) => ({
      holderId,
      events: own.length,
      place: tx.places?.find(feedKey(holderId))?.place ?? null,
    }))
    .sort((left, right) => (left.holderId < right.holderId ? -1 : 1));
}

function rowsOf(events: RecordedEvent[]): EventRow[] {
  const left = new Map<bigint, number>();
  for (const { holderId } of events) left.set(holderId, (left.get(holderId) ?? 0) + 1);
  let offset = 1;
  return events.map((event) => {
    const after = (left.get(event.holderId) ?? 1) - 1;
    left.set(event.holderId, after);
    const [packed, packedFrom] = [packBody(event.body), offset];
    offset += packed.length;
    return { ...event, after, packed, packedFrom };
  });
}

function fixEvent(event: NewEvent, at: Date, leasedUntil: Date): RecordedEvent {
  const id = deriveHolderUuid(event.transactionId, `${event.type}|${SEQUENCE}`, event.holderId);
  const shown = publicId('evt', id);
  const body = JSON.stringify({ id: shown, type: event.type, created_at: isoMicroseconds(at), data: event.data });
  return {
    id,
    publicId: shown,
    transactionId: event.transactionId,
    holderId: event.holderId,
    integrationId: event.integrationId,
    type: event.type,
    body: Buffer.from(body),
    // Written as it is sent, so that its beginning is its origin.
    url: event.url === null ? null : (URL.parse(event.url)?.href ?? event.url),
    createdAt: at,
    leasedUntil,
  };
}

/**
 * The first and the last id that the transaction of an event can have: both ids begin with the moment of the transaction. So events
 * are found by the key of their transactions, and no index is kept for their own ids.
 */
export function transactionIdsOf(eventId: string): [first: string, last: string] {
  const moment = eventId.slice(0, 14);
  return [`${moment}0000-0000-000000000000`, `${moment}ffff-ffff-ffffffffffff`];
}

/** The receiver of a URL: scheme, host and port. Fairness and health are kept by receiver. */
export function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'invalid:';
}

/** For statements that compare events with transactions: `from ${EVENT_TYPES} as told`. */
export const EVENT_TYPES = '(select holder_id, transaction_id, type, sequence from events)';

/** A page of the transactions that have events, in order of holder and transaction, at or after `from`. */
export function listEventOwners(
  reader: Reader,
  after: { holderId: bigint; id: string },
  from: string,
  limit: number,
): Promise<{ holder_id: bigint; id: string }[]> {
  return reader.query(
    `select e.holder_id, e.transaction_id as id
     from (select holder_id from event_feeds where holder_id >= $1 order by holder_id) as feed
     cross join lateral (
       select e.holder_id, e.transaction_id from events e
       where e.holder_id = feed.holder_id and e.transaction_id >= $3
         and (e.holder_id, e.transaction_id) > ($1, $2::uuid)
       group by e.holder_id, e.transaction_id order by e.transaction_id limit $4) as e
     limit $4`,
    [after.holderId, after.id, from, limit],
  );
}

/** Where a reader of a holder's feed stands: after the event at this position. */
export type FeedPlace = { holderId: bigint; position: bigint };

type PlacedEvent = { holder_id: bigint; position: bigint; transaction_id: string; type: EventType };

/** The next events after each place, at most `limit` of each holder, in order. */
export function listEventsAfter(reader: Reader, places: readonly FeedPlace[], limit: number): Promise<PlacedEvent[]> {
  return reader.query<PlacedEvent>(
    `select e.holder_id, e.position, e.transaction_id, e.type
     from unnest($1::bigint[], $2::bigint[]) as place (holder_id, position)
     join event_feeds f on f.holder_id = place.holder_id and f.last_position > place.position
     cross join lateral (
       select e.holder_id, e.position, e.transaction_id, e.type from events e
       where e.holder_id = place.holder_id and e.position > place.position order by e.position limit $3) as e
     order by e.holder_id, e.position`,
    [places.map(({ holderId }) => holderId), places.map(({ position }) => position), limit],
  );
}

/** The position of the newest event of a holder; 0 before the first. */
export async function lastFeedPosition(reader: Reader, holderId: bigint): Promise<bigint> {
  const [row] = await reader.query<{ last_position: bigint }>(
    'select last_position from event_feeds where holder_id = $1',
    [holderId],
  );
  return row?.last_position ?? 0n;
}
