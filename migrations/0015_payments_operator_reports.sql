-- What operators report: every receipt counts once, nothing authenticated is thrown away, and a value that cannot be applied
-- is set aside alone.

create table operator_receipts (
  rail text not null,
  receipt text not null,
  holder_id bigint not null,
  transaction_id uuid,
  case_id uuid,
  at timestamptz not null,
  constraint receipt_used_once primary key (rail, receipt),
  constraint receipt_has_use check (transaction_id is not null or case_id is not null)
);
comment on table operator_receipts is
  'Every receipt of an operator that moved money here, and what it was used for. '
  'An operator names its receipt and no holder, so the receipt is the key.';
comment on column operator_receipts.holder_id is 'Whose ledger accounts the money was posted to. 0: the owner is unknown.';
comment on column operator_receipts.transaction_id is 'The transaction that it settled. Null: the money went to suspense.';
comment on column operator_receipts.case_id is 'The case that holds its money in suspense, or held it.';

insert into operator_receipts (rail, receipt, holder_id, transaction_id, case_id, at)
select rail, receipt, holder_id, case when outcome = 'matched' then transaction_id end, case_id, received_at
from incoming_payments where (outcome = 'matched' and transaction_id is not null) or case_id is not null;

-- Before this migration one receipt could settle several transactions: the first keeps it.
insert into operator_receipts (rail, receipt, holder_id, transaction_id, at)
select distinct on (rail, receipt) rail, receipt, holder_id, id, coalesce(settled_at, updated_at)
from transactions where receipt is not null and status in ('success', 'reversed')
order by rail, receipt, settled_at, id
on conflict do nothing;

-- An account reference may be given out again, after its order has ended or by another rail.
alter table payment_instructions
  drop constraint payment_instructions_pkey,
  add constraint payment_instruction_once primary key (rail, account_reference, transaction_id);

create table unmatched_reports (
  holder_id bigint not null,
  id uuid not null,
  rail text not null,
  reference text not null,
  state text not null constraint unmatched_state_known check (state in ('pending', 'succeeded', 'failed', 'reversed', 'unknown')),
  amount bigint constraint unmatched_amount_positive check (amount > 0),
  currency text,
  receipt text,
  raw text not null,
  received_at timestamptz not null,
  last_received_at timestamptz not null,
  times integer not null default 1,
  case_id uuid not null,
  booked boolean not null default false,
  constraint unmatched_report_id primary key (holder_id, id),
  constraint unmatched_report_once unique nulls not distinct (rail, reference, state, receipt, amount, currency)
);
create index unmatched_reports_by_time on unmatched_reports (received_at desc, id desc);
comment on table unmatched_reports is
  'Authenticated messages of operators about references that this gateway does not know on that rail. Kept for good.';
comment on column unmatched_reports.holder_id is 'Always 0: that an id names a holder does not prove that the money is that holder''s.';
comment on column unmatched_reports.times is 'How often the operator said the same.';
comment on column unmatched_reports.booked is 'Its money was posted to suspense under the id of the case.';

create table quarantined_reports (
  holder_id bigint not null,
  id uuid not null,
  rail text not null,
  source text not null constraint quarantine_source_known
    check (source in ('submit', 'callback', 'poll', 'verification', 'statement', 'person')),
  reference text not null,
  error text not null,
  raw text not null,
  received_at timestamptz not null,
  last_received_at timestamptz not null,
  times integer not null default 1,
  case_id uuid not null,
  constraint quarantined_report_id primary key (holder_id, id)
);
create unique index quarantined_report_once on quarantined_reports (rail, reference, source, md5(error), md5(raw));
create index quarantined_reports_by_time on quarantined_reports (received_at desc, id desc);
comment on table quarantined_reports is
  'What an operator said that could not be applied: a value that cannot be read, or that the database refused. Kept for good.';
comment on column quarantined_reports.holder_id is 'The holder of the transaction that it is about. 0: no transaction of ours.';
comment on column quarantined_reports.reference is 'Our reference, or the account reference of an incoming payment.';
comment on column quarantined_reports.raw is 'As it arrived, with control characters made visible.';

create index incoming_payments_by_time on incoming_payments (received_at desc, rail desc, receipt desc);
