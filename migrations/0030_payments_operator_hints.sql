-- A hint proves nothing, and it may come after the transaction has ended: a success after `failed`, a reversal. It is kept
-- until the operator was asked after it came.

create table operator_hints (
  holder_id bigint not null,
  transaction_id uuid not null,
  hints integer not null default 1,
  attempts integer not null default 0,
  first_at timestamptz not null,
  due_at timestamptz not null,
  constraint operator_hint_once primary key (holder_id, transaction_id)
) with (
  autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, fillfactor = 50
);
comment on table operator_hints is
  'Transactions, open or final, whose operator has sent a message that proves nothing. Deleted after it was asked. due_at is a lease.';
comment on column operator_hints.hints is
  'How many came. More than there were when the operator was asked: it is asked again.';
create index operator_hints_due on operator_hints (due_at);
