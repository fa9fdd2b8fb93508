-- Statements of merchants: the file of every wallet and past month, kept as it was made.

create table monthly_statements (
  holder_id bigint not null references holders (id),
  currency text not null,
  month date not null,
  time_zone text not null,
  wallet_account integer not null,
  opening bigint not null,
  gross bigint not null,
  fee bigint not null,
  net bigint not null,
  closing bigint not null,
  lines integer not null check (lines >= 0),
  bytes bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  made_at timestamptz not null,
  constraint monthly_statement_once primary key (holder_id, currency, month),
  constraint monthly_statement_adds_up check (opening + net = closing and gross + fee = net),
  constraint monthly_statement_first_day check (extract(day from month) = 1)
);
comment on table monthly_statements is
  'The statement of a wallet over a month of its holder, made by a job when the month is over. Never changed.';
comment on column monthly_statements.month is 'Its first day.';
comment on column monthly_statements.time_zone is 'In which the days of the month were counted.';
comment on column monthly_statements.sha256 is 'Of the CSV file, which is stored in monthly_statement_parts.';

create table monthly_statement_parts (
  holder_id bigint not null,
  currency text not null,
  month date not null,
  number integer not null,
  content bytea not null,
  constraint monthly_statement_part_once primary key (holder_id, currency, month, number),
  constraint monthly_statement_part_size check (octet_length(content) <= 1048576),
  constraint monthly_statement_part_of foreign key (holder_id, currency, month)
    references monthly_statements (holder_id, currency, month) deferrable initially deferred
);
comment on table monthly_statement_parts is
  'The CSV file of a monthly statement, in order. Written before the row that has its hash, in the same transaction.';

create trigger monthly_statements_append_only before update or delete or truncate on monthly_statements
  for each statement execute function refuse_change();
create trigger monthly_statement_parts_append_only before update or delete or truncate on monthly_statement_parts
  for each statement execute function refuse_change();

alter table notification_choices drop constraint notification_kinds_known;
alter table notification_choices add constraint notification_kinds_known check (
  kinds <@ array['daily_summary', 'payout_failed', 'receiver_down', 'case_opened', 'low_float', 'statement_ready']::text[]);

-- The payment nobody can find: a payer reports it, and operators' messages are found by their receipt.

alter table cases drop constraint case_kind_known;
alter table cases add constraint case_kind_known check (kind in (
  'late_success', 'contradiction', 'different_receipt', 'amount_mismatch', 'no_answer', 'payout_not_found', 'refund_not_found',
  'debt', 'wrong_amount', 'unknown_reference', 'second_payment', 'receipt_used', 'unreadable_report', 'link_paid_twice',
  'payer_report'));

create index unmatched_reports_by_receipt on unmatched_reports (receipt) where receipt is not null;
