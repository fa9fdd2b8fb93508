-- Refunds as transactions of their own, debts as accounts of their holder, money on cases, and decisions of two people.

-- Ledger. A holder's debt is an account of that holder; suspense holds only money whose owner is unknown, so it is never
-- negative. A debt that the old schema kept as negative suspense becomes one of the new accounts below.

alter table ledger_accounts
  drop constraint account_kind_known,
  drop constraint account_floor_fixed,
  add constraint account_kind_known check (kind in (
    'wallet_available', 'wallet_reserved', 'operator_clearing', 'fee_income', 'suspense', 'sandbox_funding',
    'holder_receivable', 'write_offs')),
  add constraint account_debt_not_positive check (kind <> 'holder_receivable' or balance <= 0);

insert into ledger_accounts (holder_id, key, kind, currency, may_go_negative, updated_at)
select holder_id, 'receivable:' || holder_id || ':' || currency, 'holder_receivable', currency, true, updated_at
from ledger_accounts where kind = 'suspense' and balance < 0;

select post_transfers(
    array_agg(s.holder_id), array_agg(r.id), array_agg(s.id), array_agg(-s.balance), array_agg(s.balance), array_agg(0::bigint),
    array_agg((left(gen_random_uuid()::text, 29) || lpad(to_hex(s.holder_id), 7, '0'))::uuid),
    array_agg('debt'::transfer_kind), array_agg(s.currency), max(s.updated_at))
from ledger_accounts s
join ledger_accounts r on r.holder_id = s.holder_id and r.currency = s.currency and r.kind = 'holder_receivable'
where s.kind = 'suspense' and s.balance < 0
having count(*) > 0;

alter table ledger_accounts disable trigger ledger_accounts_follow_transfers;
update ledger_accounts set may_go_negative = false where kind = 'suspense';
alter table ledger_accounts enable trigger ledger_accounts_follow_transfers;
alter table ledger_accounts add constraint account_floor_fixed check (
  may_go_negative = (kind in ('operator_clearing', 'sandbox_funding', 'holder_receivable', 'write_offs')));

-- What was reserved is either paid or released, never both, for payouts and refunds.
drop index reserve_concluded_once;
create unique index reserve_concluded_once on ledger_transfers (holder_id, transaction_id, debit_account)
  where kind in ('payout', 'payout_release', 'refund', 'refund_release');

-- Refunds.

alter table transactions
  drop constraint transaction_direction_known,
  add constraint transaction_direction_known check (direction in ('collection', 'payout', 'refund'));

create table refund_orders (
  holder_id bigint not null,
  transaction_id uuid not null,
  collection_id uuid not null,
  fee_returned bigint not null constraint refund_fee_sane check (fee_returned >= 0),
  as_payout boolean not null,
  reason text constraint refund_reason_length check (char_length(reason) <= 500),
  approval text not null constraint refund_approval_known check (approval in ('not_needed', 'waiting', 'approved')),
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamptz,
  cancelled_by text,
  cancelled_at timestamptz,
  constraint refund_order_once primary key (holder_id, transaction_id),
  constraint refund_approved_by_another check (
    created_by_member is null or approved_by_member is null or approved_by_member <> created_by_member)
);
create index refund_orders_by_collection on refund_orders (holder_id, collection_id);
create index refund_orders_waiting on refund_orders (holder_id) where approval = 'waiting' and cancelled_at is null;
comment on table refund_orders is 'Which collection a refund gives back, who asked for it and who approved it.';
comment on column refund_orders.fee_returned is 'The part of the amount that the gateway pays out of its fee.';
comment on column refund_orders.as_payout is 'The rail cannot refund: the money is sent to the payer as a payout.';
comment on column refund_orders.created_by_member is 'Null: asked for by an integration, or on the command line.';

create table refund_totals (
  holder_id bigint not null,
  collection_id uuid not null,
  collected bigint not null,
  fee bigint not null,
  under_way bigint not null default 0 constraint refund_under_way_sane check (under_way >= 0),
  refunded bigint not null default 0 constraint refund_refunded_sane check (refunded >= 0),
  refunded_late bigint not null default 0 constraint refund_late_sane check (refunded_late >= 0),
  fee_under_way bigint not null default 0 constraint refund_fee_under_way_sane check (fee_under_way >= 0),
  fee_refunded bigint not null default 0 constraint refund_fee_refunded_sane check (fee_refunded >= 0),
  constraint refund_totals_once primary key (holder_id, collection_id),
  constraint refunds_within_collection check (under_way + refunded <= collected),
  constraint refunds_within_fee check (fee_under_way + fee_refunded <= fee)
);
comment on table refund_totals is
  'What was given back of each collection, and what is under way. Refunds made at once wait for this row; the database refuses more '
  'than was collected.';
comment on column refund_totals.refunded_late is
  'Given back by refunds that had failed before. It is a fact however much it is, so it is outside the limit.';

-- Cases. A case about money names it, and closes only when that money is even.

alter table cases drop constraint case_kind_known;
alter table cases
  add column amount bigint,
  add column currency text,
  add column settled bigint not null default 0,
  add column rail text;
update cases set kind = 'debt' where kind = 'wallet_short';
update cases c set amount = i.amount, currency = i.currency, rail = i.rail
from incoming_payments i where i.holder_id = c.holder_id and i.case_id = c.id and c.status = 'open';
insert into cases (holder_id, id, kind, status, opened_at, amount, currency)
select t.holder_id, t.transaction_id, 'debt', 'open', t.posted_at, t.amount, t.currency from ledger_transfers t where t.kind = 'debt';
alter table cases
  add constraint case_kind_known check (kind in (
    'late_success', 'contradiction', 'different_receipt', 'amount_mismatch', 'no_answer', 'payout_not_found', 'refund_not_found',
    'debt', 'wrong_amount', 'unknown_reference', 'second_payment', 'receipt_used', 'unreadable_report', 'link_paid_twice')),
  add constraint case_money_named check ((amount is null) = (currency is null)),
  add constraint case_settled_bounded check (settled between 0 and coalesce(amount, 0)),
  add constraint case_closes_when_even check (status = 'open' or amount is null or settled = amount);
drop index case_open_once;
create unique index case_open_once on cases (holder_id, transaction_id, kind)
  where status = 'open' and kind not in ('wrong_amount', 'second_payment', 'debt', 'unreadable_report', 'unknown_reference');
create index cases_open on cases (opened_at desc, id) where status = 'open';
comment on column cases.amount is 'The money that the case holds: in suspense, or owed by the holder. Null: it holds none.';
comment on column cases.settled is 'How much of it was moved on. The case closes when that is all of it.';
comment on column cases.rail is 'Where money in suspense came from.';

create table decisions (
  holder_id bigint not null,
  id uuid not null,
  case_id uuid not null,
  action text not null constraint decision_action_known check (action in (
    'settle_success', 'settle_failed', 'settle_amount', 'settle_reversed', 'send_again', 'keep',
    'credit_holder', 'return_to_payer', 'take_to_income', 'write_off')),
  amount bigint constraint decision_amount_positive check (amount > 0),
  to_holder bigint,
  reason text not null constraint decision_reason_length check (char_length(reason) between 3 and 500),
  reference text not null constraint decision_reference_length check (char_length(reference) between 1 and 120),
  document bytea constraint decision_document_size check (octet_length(document) between 1 and 1048576),
  document_type text constraint decision_document_type_known check (
    document_type in ('text/plain', 'image/png', 'image/jpeg', 'image/webp')),
  status text not null default 'proposed' constraint decision_status_known check (
    status in ('proposed', 'approved', 'rejected', 'overtaken')),
  proposed_by text not null,
  proposed_by_member bigint not null,
  proposed_at timestamptz not null,
  decided_by text,
  decided_by_member bigint,
  decided_at timestamptz,
  constraint decision_id primary key (holder_id, id),
  constraint decision_case_exists foreign key (holder_id, case_id) references cases (holder_id, id),
  constraint decision_amount_named check ((amount is not null) = (action = 'settle_amount')),
  constraint decision_holder_named check ((to_holder is not null) = (action = 'credit_holder')),
  constraint decision_document_typed check ((document is null) = (document_type is null)),
  constraint decision_by_two_people check (
    status <> 'approved'
    or (decided_by_member is not null and decided_at is not null and decided_by_member <> proposed_by_member))
);
create unique index decision_open_once on decisions (holder_id, case_id) where status = 'proposed';
comment on table decisions is
  'What a person proposed about a case, on which evidence, and who approved it. Two people, always.';
comment on column decisions.reference is 'What it rests on: a receipt, a line of a statement, a document.';
comment on column decisions.status is 'overtaken: the operator answered before the second person did.';

-- Events.

alter table events
  drop constraint event_type_known,
  add constraint event_type_known check (type in (
    'collection.success', 'collection.failed', 'collection.expired', 'collection.reversed',
    'payout.success', 'payout.failed', 'payout.reversed', 'payment_link.paid', 'refund.success', 'refund.failed'));
