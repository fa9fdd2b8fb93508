-- What became of each line of a statement, what does not agree, and the days that people have closed.

create table close_rules (
  connection text not null,
  zone text not null,
  cut_off_minutes integer not null constraint close_rule_cut_off_in_day check (cut_off_minutes between 0 and 1439),
  changed_by text not null,
  changed_at timestamptz not null,
  constraint close_rule_once primary key (connection)
);
comment on table close_rules is 'When a day of a connection begins. Without a row: at midnight in UTC.';
comment on column close_rules.cut_off_minutes is 'After midnight in the zone.';

create table statement_matches (
  connection text not null,
  line_key bytea not null,
  day date not null,
  late boolean not null,
  currency text not null,
  moved bigint not null,
  fee bigint not null,
  line_seal bytea not null,
  seen_at timestamptz not null,
  leg text constraint statement_match_leg_known check (leg in ('payment', 'reversal', 'fee')),
  holder_id bigint,
  transaction_id uuid,
  case_id uuid,
  method text,
  rule text constraint statement_match_rule_known
    check (rule in ('reference', 'account_reference', 'receipt', 'operator_reference', 'refund_of', 'number')),
  matched_at timestamptz,
  match_seal bytea,
  constraint statement_match_once primary key (connection, line_key),
  constraint statement_match_line_exists foreign key (connection, line_key) references statement_lines (connection, line_key),
  constraint statement_match_whole check (
    num_nulls(rule, leg, holder_id, matched_at, match_seal) in (0, 5)
    and num_nonnulls(transaction_id, case_id) = case when rule is null then 0 else 1 end)
);
create index statement_matches_by_day on statement_matches (connection, day, line_key);
create index statement_matches_open on statement_matches (connection, day) where rule is null;
create index statement_matches_of_transaction on statement_matches (transaction_id) where transaction_id is not null;
create index statement_matches_of_case on statement_matches (case_id) where case_id is not null;
comment on table statement_matches is
  'Each line that was looked at: the day it counts on, what it moved, and what it was matched with, once.';
comment on column statement_matches.late is 'Its own day was closed before the line came: it counts on the first day that was open.';
comment on column statement_matches.moved is
  'What the line added to our account with the operator, without its fee. Zero unless it succeeded.';
comment on column statement_matches.fee is 'What the operator took beside it; below zero: gave back. Zero where the line does not say.';
comment on column statement_matches.line_seal is 'The hash of the line as it was when it was looked at.';
comment on column statement_matches.case_id is 'The case that holds the money of the line in suspense.';
comment on column statement_matches.rule is 'Why it was matched. Null: it was not.';
create trigger statement_matches_stay before delete or truncate on statement_matches
  for each statement execute function refuse_change();
create trigger statement_matches_once before update on statement_matches
  for each row when (old.rule is not null or (old.day, old.late, old.currency, old.moved, old.fee, old.line_seal, old.seen_at)
    is distinct from (new.day, new.late, new.currency, new.moved, new.fee, new.line_seal, new.seen_at))
  execute function refuse_change();

create table fee_bookings (
  id uuid not null,
  connection text not null,
  currency text not null,
  method text not null,
  day date not null,
  amount bigint not null constraint fee_booking_not_empty check (amount <> 0),
  lines integer not null constraint fee_booking_has_lines check (lines > 0),
  booked_by text not null,
  posted_at timestamptz not null,
  constraint fee_booking_id primary key (id)
);
create index fee_bookings_by_day on fee_bookings (connection, day);
create index fee_bookings_by_time on fee_bookings (connection, posted_at);
comment on table fee_bookings is
  'Fees of an operator as they were posted to the cost account: one transfer, under this id, for many lines of a day.';
comment on column fee_bookings.method is 'Of the payments that cost the fees. Empty: no payment explains them.';
comment on column fee_bookings.amount is 'Below zero: the operator gave it back.';
create trigger fee_bookings_append_only before update or delete or truncate on fee_bookings
  for each statement execute function refuse_change();

create table statement_effects (
  connection text not null,
  line_key bytea not null,
  effect text not null constraint statement_effect_known check (effect in ('evidence', 'suspense', 'fee')),
  fee_booking uuid,
  applied_by text not null,
  applied_at timestamptz not null,
  constraint statement_effect_once primary key (connection, line_key, effect),
  constraint statement_effect_match_exists foreign key (connection, line_key) references statement_matches (connection, line_key),
  constraint statement_effect_booking_named check ((fee_booking is not null) = (effect = 'fee'))
);
create index statement_effects_of_booking on statement_effects (fee_booking) where fee_booking is not null;
comment on table statement_effects is 'What a line did beyond being matched. Each once, however often a statement is applied.';
create trigger statement_effects_append_only before update or delete or truncate on statement_effects
  for each statement execute function refuse_change();

create table breaks (
  id uuid not null,
  connection text not null,
  currency text not null,
  kind text not null constraint break_kind_known
    check (kind in ('missing_with_us', 'missing_with_them', 'amount', 'fee', 'state', 'twice', 'other_day')),
  leg text not null constraint break_leg_known check (leg in ('payment', 'reversal', 'fee')),
  line_key bytea,
  holder_id bigint,
  transaction_id uuid,
  expected bigint,
  found bigint,
  difference bigint not null,
  day date not null,
  counter_day date,
  opened_at timestamptz not null,
  status text not null default 'open' constraint break_status_known check (status in ('open', 'resolved')),
  resolved_at timestamptz,
  resolved_by text,
  resolution text constraint break_resolution_length check (char_length(resolution) <= 500),
  holds boolean not null default true,
  constraint break_id primary key (id),
  constraint break_about_something check (line_key is not null or transaction_id is not null),
  constraint break_resolution_whole check (
    (status = 'resolved') = (resolved_at is not null) and num_nulls(resolved_at, resolved_by, resolution) in (0, 3)),
  constraint break_open_holds check (holds or status = 'resolved'),
  constraint break_two_days check ((counter_day is not null) = (kind = 'other_day') and counter_day <> day)
);
create unique index break_open_once on breaks
  (connection, kind, leg, coalesce(line_key, ''), coalesce(transaction_id, '00000000-0000-0000-0000-000000000000'))
  where status = 'open';
create index breaks_by_day on breaks (connection, currency, day);
create index breaks_by_counter_day on breaks (connection, currency, counter_day) where counter_day is not null;
create index breaks_open on breaks (connection, opened_at, id) where status = 'open';
create index breaks_of_transaction on breaks (transaction_id) where transaction_id is not null;
create index breaks_of_line on breaks (connection, line_key) where line_key is not null;
comment on table breaks is 'Where a statement and our books do not agree.';
comment on column breaks.transaction_id is 'The transaction, or the case whose money it is.';
comment on column breaks.expected is 'What our ledger moved at the operator; what a fee usually is. Null: nothing is known.';
comment on column breaks.found is 'What the statement says that it moved.';
comment on column breaks.difference is 'By how much the account with the operator moved more, on `day`, than our ledger did.';
comment on column breaks.counter_day is 'The day on which the same difference counts the other way: each side has it on a day of its own.';
comment on column breaks.holds is 'False: the difference is gone, or became another one. What people resolved can still hold.';
comment on column breaks.resolved_by is 'A person, or "reconciliation": a later line or posting explained it.';

create table closes (
  connection text not null,
  currency text not null,
  number bigint not null constraint close_number_positive check (number > 0),
  kind text not null constraint close_kind_known check (kind in ('close', 'reopening')),
  day date not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  opening_theirs bigint not null,
  lines_in bigint not null,
  lines_out bigint not null,
  fees bigint not null,
  closing_theirs bigint not null,
  balance_source text not null constraint close_balance_source_known check (
    balance_source in ('line', 'file', 'read', 'typed', 'unchanged')),
  opening_ours bigint not null,
  closing_ours bigint not null,
  lines integer not null,
  late_lines integer not null,
  reason text not null default '' constraint close_reason_length check (char_length(reason) <= 500),
  content_hash bytea not null,
  previous_hash bytea not null,
  hash bytea not null,
  signed_by text not null,
  signed_at timestamptz not null,
  constraint close_number_once primary key (connection, currency, number),
  constraint close_adds_up check (opening_theirs + lines_in - lines_out - fees = closing_theirs),
  constraint close_reopening_reasoned check (kind = 'close' or char_length(reason) >= 3)
);
comment on table closes is
  'Days that people signed, and reopenings, one chain for each connection and currency: each row has the hash of the row before.';
comment on column closes.closing_ours is 'What the operator holds for us by our ledger: the clearing accounts of all holders.';
comment on column closes.content_hash is 'Over the lines of the day and what they were matched with when it was signed.';
create trigger closes_append_only before update or delete or truncate on closes
  for each statement execute function refuse_change();

create table close_items (
  connection text not null,
  currency text not null,
  number bigint not null,
  place integer not null,
  kind text not null,
  break_id uuid,
  lines integer not null default 1,
  difference bigint not null,
  constraint close_item_once primary key (connection, currency, number, place),
  constraint close_item_close_exists foreign key (connection, currency, number) references closes (connection, currency, number)
);
comment on table close_items is 'What explained the difference between the two movements of a closed day, to the cent.';
comment on column close_items.break_id is 'Null: fees of the day that were posted on another one.';
create trigger close_items_append_only before update or delete or truncate on close_items
  for each statement execute function refuse_change();
