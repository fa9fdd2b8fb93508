-- Money of a holder that the gateway holds back: the rolling reserve, and the amounts of open disputes.

-- Ledger. wallet_held is the rolling reserve and wallet_disputed what disputes hold. What the wallet lacked when a dispute was
-- opened is lent by dispute_shortfall, never above zero, and comes back from the next credits.

alter table ledger_accounts
  drop constraint account_kind_known,
  drop constraint account_floor_fixed,
  drop constraint account_wallet_named,
  drop constraint account_debt_not_positive,
  add constraint account_kind_known check (kind in (
    'wallet_available', 'wallet_reserved', 'wallet_held', 'wallet_disputed', 'operator_clearing', 'fee_income', 'suspense',
    'sandbox_funding', 'holder_receivable', 'dispute_shortfall', 'write_offs', 'operator_fees')),
  add constraint account_floor_fixed check (
    may_go_negative = (kind in ('operator_clearing', 'sandbox_funding', 'holder_receivable', 'dispute_shortfall', 'write_offs',
      'operator_fees'))),
  add constraint account_wallet_named check (
    (wallet_account is not null) = (kind in ('wallet_available', 'wallet_reserved', 'wallet_held', 'wallet_disputed'))),
  add constraint account_debt_not_positive check (kind not in ('holder_receivable', 'dispute_shortfall') or balance <= 0);

alter type transfer_kind add value 'reserve_hold';
alter type transfer_kind add value 'reserve_release';
alter type transfer_kind add value 'reserve_use';
alter type transfer_kind add value 'reserve_cover';
alter type transfer_kind add value 'debt_recovery_release';
alter type transfer_kind add value 'dispute_hold';
alter type transfer_kind add value 'dispute_shortfall';
alter type transfer_kind add value 'dispute_cover';
alter type transfer_kind add value 'dispute_cover_reversal';
alter type transfer_kind add value 'dispute_cover_release';
alter type transfer_kind add value 'dispute_shortfall_end';
alter type transfer_kind add value 'dispute_release';
alter type transfer_kind add value 'dispute_loss';
alter type transfer_kind add value 'dispute_loss_short';
alter type transfer_kind add value 'dispute_loss_fee';

-- Rolling reserve.

create table reserve_rules (
  holder_id bigint not null constraint reserve_rule_once primary key references holders,
  basis_points integer not null constraint reserve_rule_share check (basis_points between 1 and 10000),
  days integer not null constraint reserve_rule_days check (days between 1 and 365),
  updated_by text not null,
  updated_at timestamptz not null
);
comment on table reserve_rules is 'Of each collection of the holder, this share is held back for some days. No row: nothing is held.';

create table held_parts (
  holder_id bigint not null,
  source_id uuid not null,
  currency text not null,
  amount bigint not null constraint held_part_positive check (amount > 0),
  used bigint not null default 0 constraint held_part_used_bounded check (used between 0 and amount),
  held_at timestamptz not null,
  release_at timestamptz not null,
  released_at timestamptz,
  constraint held_part_once primary key (holder_id, source_id)
);
create index held_parts_due on held_parts (release_at) where released_at is null;
create index held_parts_of_holder on held_parts (holder_id, currency, release_at) where released_at is null;
comment on table held_parts is
  'What of each collection is in the rolling reserve. A row changes only under the lock of the wallet it belongs to.';
comment on column held_parts.source_id is
  'The collection; or the refund that had used held money, failed, and gave it back.';
comment on column held_parts.used is 'Taken for refunds and for facts that the wallet had too little for. The rest is released.';

alter table refund_orders
  add column from_held bigint not null default 0 constraint refund_from_held_sane check (from_held >= 0),
  add column held_until timestamptz,
  add constraint refund_held_until_named check ((from_held > 0) = (held_until is not null));
comment on column refund_orders.from_held is
  'How much of its money came out of the rolling reserve. It goes back there when the refund fails.';
comment on column refund_orders.held_until is 'When the last of that money would have been released.';

-- Disputes.

alter table refund_totals
  add column disputed bigint not null default 0 constraint refund_disputed_sane check (disputed >= 0),
  add column dispute_lost bigint not null default 0 constraint refund_dispute_lost_sane check (dispute_lost >= 0),
  drop constraint refunds_within_collection,
  add constraint refunds_within_collection check (under_way + refunded + disputed + dispute_lost <= collected);
comment on column refund_totals.disputed is 'In open disputes. It can be neither refunded nor disputed a second time.';
comment on column refund_totals.dispute_lost is 'Given back to the payer by disputes that were lost.';

alter table cases
  drop constraint case_kind_known,
  add constraint case_kind_known check (kind in (
    'late_success', 'contradiction', 'different_receipt', 'amount_mismatch', 'no_answer', 'payout_not_found', 'refund_not_found',
    'debt', 'wrong_amount', 'unknown_reference', 'second_payment', 'receipt_used', 'unreadable_report', 'link_paid_twice',
    'payer_report', 'dispute'));
drop index case_open_once;
create unique index case_open_once on cases (holder_id, transaction_id, kind)
  where status = 'open' and kind not in ('wrong_amount', 'second_payment', 'debt', 'unreadable_report', 'unknown_reference', 'dispute');

alter table decisions
  drop constraint decision_action_known,
  add constraint decision_action_known check (action in (
    'settle_success', 'settle_failed', 'settle_amount', 'settle_reversed', 'send_again', 'keep',
    'credit_holder', 'return_to_payer', 'take_to_income', 'write_off', 'dispute_won', 'dispute_lost'));

create table disputes (
  holder_id bigint not null,
  case_id uuid not null,
  transaction_id uuid not null,
  amount bigint not null constraint dispute_amount_positive check (amount > 0),
  fee_returned bigint not null constraint dispute_fee_bounded check (fee_returned between 0 and amount),
  short bigint not null constraint dispute_short_bounded check (short between 0 and amount - fee_returned),
  currency text not null,
  source text not null constraint dispute_source_known check (source in ('operator', 'person')),
  reason text not null constraint dispute_reason_length check (char_length(reason) between 3 and 500),
  reference text constraint dispute_reference_length check (char_length(reference) between 1 and 120),
  answer_by timestamptz not null,
  status text not null default 'open' constraint dispute_status_known check (status in ('open', 'won', 'lost')),
  opened_by text not null,
  opened_at timestamptz not null,
  ended_at timestamptz,
  constraint dispute_once primary key (holder_id, case_id),
  constraint dispute_case_exists foreign key (holder_id, case_id) references cases (holder_id, id),
  constraint dispute_end_dated check ((status = 'open') = (ended_at is null))
);
create unique index dispute_notice_once on disputes (holder_id, transaction_id, reference) where reference is not null;
create index disputes_open on disputes (holder_id, currency, opened_at) where status = 'open';
create trigger disputes_keep_final_states before update on disputes for each row
  when (old.status <> 'open') execute function refuse_reopening();
comment on table disputes is
  'A payer, or the operator, asks for the money of a collection back. The amount is held until two people have decided.';
comment on column disputes.fee_returned is 'What the gateway gives back out of its fee if the dispute is lost.';
comment on column disputes.short is 'What the wallet did not hold when the dispute was opened, and no credit has brought since.';
comment on column disputes.reference is 'The number of the operator''s notice.';
comment on column disputes.answer_by is 'Until when evidence can be sent to the operator.';

create table dispute_evidence (
  holder_id bigint not null,
  id uuid not null,
  case_id uuid not null,
  note text not null constraint dispute_note_length check (char_length(note) between 1 and 4000),
  document bytea constraint dispute_document_size check (octet_length(document) between 1 and 1048576),
  document_type text constraint dispute_document_type_known check (
    document_type in ('text/plain', 'image/png', 'image/jpeg', 'image/webp')),
  added_by text not null,
  added_at timestamptz not null,
  constraint dispute_evidence_id primary key (holder_id, id),
  constraint dispute_evidence_of_dispute foreign key (holder_id, case_id) references disputes (holder_id, case_id),
  constraint dispute_document_typed check ((document is null) = (document_type is null))
);
create index dispute_evidence_by_case on dispute_evidence (holder_id, case_id);
create trigger dispute_evidence_append_only before update or delete or truncate on dispute_evidence
  for each statement execute function refuse_change();
comment on table dispute_evidence is 'What was said and shown in a dispute. Never changed.';
