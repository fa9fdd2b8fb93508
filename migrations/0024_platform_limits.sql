-- Limits that hold over several processes, and who is held back by a limit. None of these rows is in the write-ahead log: they
-- are worth nothing after a crash.

create unlogged table limit_buckets (
  key text constraint limit_bucket_once primary key,
  tokens double precision not null,
  at timestamptz not null
) with (fillfactor = 50);
comment on table limit_buckets is
  'What is left of a rate limit in all processes together. Only busy keys; each process subtracts what it let through.';

create unlogged table limit_sharers (
  key text not null,
  process text not null,
  at timestamptz not null,
  constraint limit_sharer_once primary key (key, process)
) with (fillfactor = 50);
comment on table limit_sharers is 'Which processes used a limit lately: they share what is left of it.';

create unlogged table limit_refusals (
  kind text not null,
  key text not null,
  subject text not null,
  refused bigint not null,
  since timestamptz not null,
  until timestamptz not null,
  last_at timestamptz not null,
  constraint limit_refusal_once primary key (kind, key)
);
comment on table limit_refusals is
  'Who was held back by which limit in the last hour, for the page of admins. Written by each process about once a second.';
comment on column limit_refusals.subject is 'Whom it is about, as the page shows it. Phone numbers are without their middle digits.';
comment on column limit_refusals.until is 'When the limit allows something again, if nothing more is asked.';

-- A receiver is one holder's: the health, delays and places of one holder at a host say nothing about another holder there.
drop index callback_deliveries_waiting;
create index callback_deliveries_waiting on callback_deliveries (holder_id, origin, due_at) where not leased;

alter table callback_receivers drop constraint callback_receivers_pkey;
alter table callback_receivers add column holder_id bigint;
insert into callback_receivers (holder_id, origin, failing_since, last_error, probe_at, recovered_at)
select d.holder_id, r.origin, r.failing_since, r.last_error, r.probe_at, r.recovered_at
from callback_receivers r join (select distinct holder_id, origin from callback_deliveries) d using (origin);
delete from callback_receivers where holder_id is null;
alter table callback_receivers alter column holder_id set not null;
alter table callback_receivers add constraint callback_receiver_once primary key (holder_id, origin);
comment on table callback_receivers is
  'Receivers (a holder''s scheme, host and port) that fail, or that recovered and get their backlog. A healthy receiver has no row.';
