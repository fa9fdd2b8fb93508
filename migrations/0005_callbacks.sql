-- Callbacks: events (facts told to holders), the deliveries that are still due, and every attempt made.
-- Events and attempts are history: partitioned by month, made ahead and dropped whole by housekeeping; the default
-- partitions take whatever comes before its month was made. Due deliveries are one small table.

-- The feed's order is (position, id): position is the number of the writing transaction, plus an offset that a restore
-- into a new cluster raises, because that cluster counts its transactions from the beginning again.
create table event_feed (
  single boolean primary key default true constraint event_feed_single check (single),
  position_offset bigint not null default 0
);
insert into event_feed default values;

-- Partitioned by the transaction's id, whose first bits are its time: so the key below can hold over all partitions,
-- and a transition gives one event however often it is reported.
create table events (
  transaction_id uuid not null,
  type text not null,
  sequence smallint not null,
  id uuid not null,
  position bigint not null,
  holder_id bigint not null,
  -- Null: made by a person of a holder that has no integration.
  integration_id bigint,
  -- Null: nobody asked for a callback; the event is in the feed all the same.
  url text,
  -- The bytes that are sent and signed, fixed for ever.
  body bytea not null,
  created_at timestamptz not null,
  constraint event_once_per_transition primary key (transaction_id, type, sequence)
) partition by range (transaction_id);
create table events_default partition of events default;
create index events_by_id on events (id);
create index events_by_holder on events (holder_id, position, id);

-- One row for each event that has not been delivered. A leased row is in some process' hands until due_at; an
-- infinite due_at waits for a person (the receiver answered 410 Gone).
create table callback_deliveries (
  event_id uuid not null constraint delivery_once primary key,
  transaction_id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  origin text not null,
  url text not null,
  attempts integer not null default 0,
  leased boolean not null,
  due_at timestamptz not null,
  tried_at timestamptz,
  -- Thirty days from here it is given up. A resend begins anew.
  started_at timestamptz not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
-- Fresh rows are born leased and usually die so: the hot path never touches this index.
create index callback_deliveries_waiting on callback_deliveries (origin, due_at) where not leased;

create table callback_attempts (
  at timestamptz not null,
  event_id uuid not null,
  -- Which attempt of the schedule it was; 0 was a probe out of turn.
  number integer not null,
  delivered boolean not null,
  -- What varies of the request's headers; the others follow from the event.
  signature text not null,
  status smallint,
  answer_headers jsonb,
  answer_start bytea,
  latency_ms integer not null,
  error text
) partition by range (at);
create table callback_attempts_default partition of callback_attempts default;
create index callback_attempts_by_event on callback_attempts (event_id);

-- Receivers (scheme, host and port) that are failing, or that came back and get their backlog. A healthy one has no row.
create table callback_receivers (
  origin text primary key,
  failing_since timestamptz not null,
  last_error text not null,
  probe_at timestamptz not null,
  -- When it answered again: everything that was last tried before then is due at once.
  recovered_at timestamptz
);

-- Addresses that answered 410 Gone: nothing is sent there until a person says so.
create table callback_pauses (
  holder_id bigint not null,
  integration_id bigint not null,
  url text not null,
  paused_at timestamptz not null,
  constraint callback_pause_once primary key (integration_id, url)
);
