-- A receiver is one holder's: the health, delays and places of one holder at a host say nothing about another holder there.

drop index callback_deliveries_waiting;
create index callback_deliveries_waiting on callback_deliveries (holder_id, origin, due_at) where not leased;

create table callback_receivers_by_holder (
  holder_id bigint not null,
  origin text not null,
  failing_since timestamptz not null,
  last_error text not null,
  probe_at timestamptz not null,
  recovered_at timestamptz,
  constraint callback_receiver_once primary key (holder_id, origin)
);

insert into callback_receivers_by_holder (holder_id, origin, failing_since, last_error, probe_at, recovered_at)
select d.holder_id, r.origin, r.failing_since, r.last_error, r.probe_at, r.recovered_at
from callback_receivers r join (select distinct holder_id, origin from callback_deliveries) d using (origin);

drop table callback_receivers;
alter table callback_receivers_by_holder rename to callback_receivers;

comment on table callback_receivers is
  'Receivers (a holder''s scheme, host and port) that fail, or that recovered and get their backlog. A healthy receiver has no row.';
comment on column callback_receivers.recovered_at is
  'When it answered again: everything last tried before then is due at once.';
