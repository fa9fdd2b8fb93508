-- Callbacks: events, the deliveries that are still due, and every attempt made.
-- Events and attempts are history: partitioned by month, created ahead and dropped whole after ninety days. The default
-- partitions take rows whose month does not exist yet. Due deliveries are one small table.

create table event_feeds (
  holder_id bigint primary key,
  last_position bigint not null
) with (fillfactor = 25);
comment on table event_feeds is
  'How many events each holder has. The transaction that writes events raises the number first and keeps the row locked, so the '
  'positions of one holder have no gaps and become visible in order: the feed waits for nothing.';

create table events (
  holder_id bigint not null,
  transaction_id uuid not null,
  type text not null constraint event_type_known check (type in (
    'collection.success', 'collection.failed', 'collection.expired', 'collection.reversed',
    'payout.success', 'payout.failed', 'payout.reversed', 'payment_link.paid')),
  sequence smallint not null,
  id uuid not null,
  position bigint not null,
  integration_id bigint,
  url text,
  body bytea not null,
  created_at timestamptz not null,
  constraint event_once_per_transition primary key (holder_id, transaction_id, type, sequence)
) partition by range (transaction_id);
create table events_default partition of events default;
create index events_by_id on events (holder_id, id);
create index events_by_position on events (holder_id, position);
comment on table events is
  'Facts that holders are told about. Partitioned by the id of the transaction, whose first bits are its time: so the key holds over '
  'all partitions, and a transition gives one event however often it is reported.';
comment on column events.position is 'The place of the event in the feed of its holder: 1, 2, 3, ...';
comment on column events.integration_id is 'Null: made by a person of a holder that has no integration.';
comment on column events.url is 'Null: no callback was asked for. The event is in the feed all the same.';
comment on column events.body is 'The bytes that are sent and signed. They never change.';

create table callback_deliveries (
  holder_id bigint not null,
  event_id uuid not null,
  transaction_id uuid not null,
  integration_id bigint not null,
  origin text not null,
  url text not null,
  attempts integer not null default 0,
  leased boolean not null,
  due_at timestamptz not null,
  tried_at timestamptz,
  started_at timestamptz not null,
  constraint delivery_once primary key (holder_id, event_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
-- New rows are created leased and usually deleted leased: the hot path never touches this index.
create index callback_deliveries_waiting on callback_deliveries (origin, due_at) where not leased;
comment on table callback_deliveries is
  'One row for each event that was not delivered yet. A leased row belongs to one process until due_at. An infinite due_at waits '
  'for a person: the receiver answered 410 Gone.';
comment on column callback_deliveries.started_at is 'Thirty days later the delivery is given up. A resend starts the time again.';

create table callback_attempts (
  holder_id bigint not null,
  event_id uuid not null,
  at timestamptz not null,
  number integer not null,
  delivered boolean not null,
  signature text not null,
  status smallint,
  answer_headers jsonb,
  answer_start bytea,
  latency_ms integer not null,
  error text
) partition by range (at);
create table callback_attempts_default partition of callback_attempts default;
create index callback_attempts_by_event on callback_attempts (holder_id, event_id);
comment on table callback_attempts is 'Every request that was sent to a receiver, and the start of its answer.';
comment on column callback_attempts.number is 'Its place in the retry schedule. 0: a probe out of turn.';
comment on column callback_attempts.signature is 'The only request header that cannot be derived from the event.';

create table callback_receivers (
  origin text primary key,
  failing_since timestamptz not null,
  last_error text not null,
  probe_at timestamptz not null,
  recovered_at timestamptz
);
comment on table callback_receivers is
  'Receivers (scheme, host and port) that fail, or that recovered and get their backlog. A healthy receiver has no row.';
comment on column callback_receivers.recovered_at is 'When it answered again: everything last tried before then is due at once.';

create table callback_pauses (
  holder_id bigint not null,
  integration_id bigint not null,
  url text not null,
  paused_at timestamptz not null,
  constraint callback_pause_once primary key (holder_id, integration_id, url)
);
comment on table callback_pauses is 'Addresses that answered 410 Gone. Nothing is sent there until a person resumes it.';
