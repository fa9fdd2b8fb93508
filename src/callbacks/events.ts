// The outbox. An event and its due delivery are written in the transaction of the fact they tell, so there is no
// event without its fact and no fact without its event. Id and body bytes are fixed here for ever.

import { isoMicroseconds } from '../platform/clock.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { createUuid, publicId } from '../platform/ids.ts';

/** How long fresh deliveries belong to the process that wrote them. After a crash they are found when it ends. */
export const LEASE_MS = 30_000;

export type EventType =
  | 'collection.success'
  | 'collection.failed'
  | 'collection.expired'
  | 'collection.reversed'
  | 'payout.success'
  | 'payout.failed'
  | 'payout.reversed'
  | 'payment_link.paid';

export type NewEvent = {
  holderId: bigint;
  /** Whose secret signs the callback; null (a holder without an integration): the event is only in the feed. */
  integrationId: bigint | null;
  transactionId: string;
  type: EventType;
  /** The v3 record and whatever the event adds to it. */
  data: object;
  /** Where the callback goes; null: the event is only in the feed. */
  url: string | null;
  paymentLinkId?: string;
  /** Only for a type that one transaction can reach more than once. */
  sequence?: number;
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

// One statement for any number of events. Bodies travel as one value cut by offsets: an array of JSON texts would be
// escaped here and unescaped there. A paused address gets its row, but without a date.
const RECORD_EVENTS = {
  name: 'record_events',
  text: `
    with fresh as materialized (
      select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::int[], $10::int[])
        as fresh (id, transaction_id, type, sequence, holder_id, integration_id, url, origin, body_from, body_length)
    ), written as (
      insert into events (transaction_id, type, sequence, id, position, holder_id, integration_id, url, body, created_at)
      select transaction_id, type, sequence, id,
             (select position_offset from event_feed) + pg_current_xact_id()::text::bigint,
             holder_id, integration_id, url, substring($11::bytea from body_from for body_length), $12
      from fresh
    ), paused as (
      select p.integration_id, p.url from callback_pauses p
      where (p.integration_id, p.url) in (select integration_id, url from fresh where url is not null)
    )
    insert into callback_deliveries (event_id, transaction_id, holder_id, integration_id, origin, url, leased, due_at, started_at)
    select f.id, f.transaction_id, f.holder_id, f.integration_id, f.origin, f.url, $14::boolean and p.url is null,
           case when p.url is null then $13::timestamptz else 'infinity' end, $12
    from fresh f left join paused p on p.integration_id = f.integration_id and p.url = f.url
    where f.url is not null
    returning event_id, due_at = 'infinity' as paused`,
};

/**
 * Writes events and their deliveries. With `handOver` (the default) the caller gives what is returned to the deliverer of
 * this process after the commit; without it the next pass of any process finds them.
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
  let offset = 1;
  const starts = recorded.map(({ body }) => {
    const start = offset;
    offset += body.length;
    return start;
  });
  const rows = await tx.query<{ event_id: string; paused: boolean }>(RECORD_EVENTS, [
    recorded.map((event) => event.id),
    recorded.map((event) => event.transactionId),
    recorded.map((event) => event.type),
    events.map((event) => event.sequence ?? 1),
    recorded.map((event) => event.holderId),
    recorded.map((event) => event.integrationId),
    recorded.map((event) => event.url),
    recorded.map((event) => (event.url === null ? null : originOf(event.url))),
    starts,
    recorded.map((event) => event.body.length),
    Buffer.concat(recorded.map((event) => event.body)),
    at,
    handOver ? leasedUntil : at,
    handOver,
  ]);
  const paused = new Set(rows.filter((row) => row.paused).map((row) => row.event_id));
  // A paused delivery waits for a person; the deliverer must not see it.
  return paused.size === 0
    ? recorded
    : recorded.map((event) => (paused.has(event.id) ? { ...event, url: null } : event));
}

function fixEvent(event: NewEvent, at: Date, leasedUntil: Date): RecordedEvent {
  const id = createUuid(at.getTime());
  const shown = publicId('evt', id);
  const data = event.paymentLinkId === undefined ? event.data : { ...event.data, payment_link_id: event.paymentLinkId };
  const body = JSON.stringify({ id: shown, type: event.type, created_at: isoMicroseconds(at), data });
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

/** True when a transition was already told. PostgreSQL names the key after the partition that refused. */
export function isRepeatedEvent(error: unknown): boolean {
  return /^(event_once_per_transition|events_\w+_pkey)$/.test(violatedConstraint(error) ?? '');
}

/** The receiver of a URL: scheme, host and port. Fairness and health are kept by receiver. */
export function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'invalid:';
}

/** The events of a transaction, oldest first, for the pages that show it. */
export async function eventsOfTransaction(
  reader: Reader,
  holderId: bigint,
  transactionId: string,
): Promise<{ publicId: string; type: EventType; createdAt: Date }[]> {
  const rows = await reader.query<{ id: string; type: EventType; created_at: Date }>(
    'select id, type, created_at from events where transaction_id = $1 and holder_id = $2 order by created_at, id',
    [transactionId, holderId],
  );
  return rows.map((row) => ({ publicId: publicId('evt', row.id), type: row.type, createdAt: row.created_at }));
}
