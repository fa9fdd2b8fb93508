-- Files of payouts are one order: known by their rows, approved and cancelled as a whole. Loosening the rule of two people
-- needs two people and a day; the same rule holds for refunds above a limit.

alter table payout_batches
  add column rows_hash bytea constraint payout_file_hash_length check (octet_length(rows_hash) = 32),
  add column payouts integer not null default 0 constraint payout_file_count_sane check (payouts >= 0),
  add column totals jsonb not null default '{}',
  add column approval text not null default 'not_needed'
    constraint payout_file_approval_known check (approval in ('not_needed', 'waiting', 'approved')),
  add column created_by_member bigint,
  add column approved_by text,
  add column approved_by_member bigint,
  add column approved_at timestamptz,
  add column cancelled_by text,
  add column cancelled_at timestamptz;

-- Files of before have no hash. What they ordered is counted from their payouts.
update payout_batches b
set payouts = f.payouts, totals = f.totals, created_by_member = f.created_by_member, approval = f.approval,
    approved_by = f.approved_by, approved_at = f.approved_at
from (
  select holder_id, batch_id, sum(payouts) as payouts, max(created_by_member) as created_by_member,
    jsonb_object_agg(currency, jsonb_build_object('payouts', payouts, 'amount', amount::text, 'fee', fee::text)) as totals,
    case when bool_or(waits) then 'waiting' when bool_or(approved_at is not null) then 'approved' else 'not_needed' end as approval,
    case when not bool_or(waits) then max(approved_by) end as approved_by,
    case when not bool_or(waits) then max(approved_at) end as approved_at
  from (
    select o.holder_id, o.batch_id, t.currency, count(*) as payouts, sum(t.amount) as amount, sum(t.fee) as fee,
      max(o.created_by_member) as created_by_member, max(o.approved_by) as approved_by, max(o.approved_at) as approved_at,
      bool_or(o.approval = 'waiting' and o.cancelled_at is null) as waits
    from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
    where o.batch_id is not null group by o.holder_id, o.batch_id, t.currency) c
  group by holder_id, batch_id) f
where b.holder_id = f.holder_id and b.id = f.batch_id;

alter table payout_batches
  alter column payouts drop default,
  alter column totals drop default,
  alter column approval drop default,
  add constraint payout_file_approved_by_another check (
    created_by_member is null or approved_by_member is null or approved_by_member <> created_by_member),
  add constraint payout_file_approval_named check (
    (approval = 'approved') = (approved_by is not null) and (approved_by is null) = (approved_at is null)),
  add constraint payout_file_cancel_named check ((cancelled_by is null) = (cancelled_at is null));
create unique index payout_file_once on payout_batches (holder_id, rows_hash) where cancelled_at is null and rows_hash is not null;
create index payout_batches_waiting on payout_batches (holder_id) where approval = 'waiting' and cancelled_at is null;
comment on table payout_batches is 'A file of payouts. It is ordered, approved and cancelled as a whole.';
comment on column payout_batches.rows_hash is
  'SHA-256 of what the rows pay; neither their order, nor the name of the file, nor its formatting. The same rows are ordered once. '
  'Null: ordered before files were compared.';
comment on column payout_batches.payouts is 'How many rows the file has.';
comment on column payout_batches.totals is 'By currency: payouts, amount and fee, in hundredths.';
comment on column payout_batches.approval is 'waiting: a second person must approve the file before any of its payouts has a job.';

alter table payout_orders add column line integer constraint payout_line_sane check (line > 0);
update payout_orders o set line = n.line
from (
  select holder_id, transaction_id, row_number() over (partition by holder_id, batch_id order by transaction_id) as line
  from payout_orders where batch_id is not null) n
where o.holder_id = n.holder_id and o.transaction_id = n.transaction_id;
alter table payout_orders add constraint payout_line_in_file check ((line is null) = (batch_id is null));
drop index payout_orders_by_batch;
create unique index payout_line_once on payout_orders (holder_id, batch_id, line) where batch_id is not null;
comment on column payout_orders.line is 'Its row in the file.';

create table approval_rule_changes (
  holder_id bigint not null references holders,
  id uuid not null,
  kind text not null constraint rule_change_kind_known check (kind in ('payout_approval_off', 'refund_limit')),
  currency text,
  without_approval bigint constraint rule_change_limit_sane check (without_approval > 0),
  requested_by text not null,
  requested_by_member bigint not null,
  requested_at timestamptz not null,
  confirmed_by text,
  confirmed_by_member bigint,
  confirmed_at timestamptz,
  effective_at timestamptz,
  applied_at timestamptz,
  withdrawn_by text,
  withdrawn_at timestamptz,
  constraint rule_change_id primary key (holder_id, id),
  constraint rule_change_limit_named check (
    (kind = 'refund_limit') = (currency is not null) and (kind = 'refund_limit') = (without_approval is not null)),
  constraint rule_change_by_two_people check (confirmed_by_member is null or confirmed_by_member <> requested_by_member),
  constraint rule_change_confirmed_whole check (
    (confirmed_by_member is null) = (confirmed_at is null) and (confirmed_at is null) = (effective_at is null)
    and (confirmed_at is null) = (confirmed_by is null)),
  constraint rule_change_effective_later check (effective_at >= confirmed_at + interval '24 hours'),
  constraint rule_change_applied_late check (applied_at is null or (effective_at is not null and applied_at >= effective_at)),
  constraint rule_change_withdrawn_or_applied check (withdrawn_at is null or applied_at is null)
);
create unique index rule_change_open_once on approval_rule_changes (holder_id, kind, coalesce(currency, ''))
  where applied_at is null and withdrawn_at is null;
create index rule_changes_due on approval_rule_changes (effective_at) where applied_at is null and withdrawn_at is null;
comment on table approval_rule_changes is
  'Loosening of the rule of two people: asked for by one owner, confirmed by another person, in force a day later.';
comment on column approval_rule_changes.without_approval is 'The new limit of a refund that one person may make, in hundredths.';

create table refund_limits (
  holder_id bigint not null references holders,
  currency text not null,
  without_approval bigint not null constraint refund_limit_sane check (without_approval >= 0),
  updated_at timestamptz not null,
  constraint refund_limit_once primary key (holder_id, currency)
);
comment on table refund_limits is
  'Up to which amount one person may refund alone while the holder requires two people. No row: every refund needs the second person.';
