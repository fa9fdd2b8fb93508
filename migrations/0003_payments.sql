-- Transactions (collections and payouts), what operators said about them, and the work that is due.

create table transactions (
  holder_id bigint not null,
  id uuid not null,
  integration_id bigint,
  direction text not null constraint transaction_direction_known check (direction in ('collection', 'payout')),
  status text not null constraint transaction_status_known
    check (status in ('pending', 'processing', 'success', 'failed', 'expired', 'reversed')),
  amount bigint not null constraint transaction_amount_positive check (amount > 0),
  fee bigint not null constraint transaction_fee_sane check (fee >= 0 and (direction = 'payout' or fee <= amount)),
  currency text not null,
  country_id smallint not null,
  method text not null,
  rail text not null,
  msisdn text,
  payee text,
  invoice_no text,
  account_number text,
  detail text not null default '',
  reference_1 text,
  reference_2 text,
  callback_url text,
  link_id uuid,
  verification text not null constraint transaction_verification_known
    check (verification in ('prompt', 'shortcode', 'otp', 'instructions', 'none')),
  rail_reference text,
  receipt text,
  failure_code text constraint transaction_failure_code_known check (failure_code in (
    'INSUFFICIENT_FUNDS', 'WRONG_PIN', 'PAYER_CANCELLED', 'PAYER_NOT_FOUND', 'PAYER_LIMIT_REACHED', 'PAYER_BLOCKED',
    'PROMPT_EXPIRED', 'VERIFICATION_FAILED', 'AMOUNT_OUT_OF_RANGE', 'OPERATOR_UNAVAILABLE', 'DUPLICATE_AT_OPERATOR',
    'RECIPIENT_NOT_FOUND', 'FLOAT_INSUFFICIENT', 'REJECTED_BY_OPERATOR', 'UNSPECIFIED')),
  failure_message text,
  balance_after bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  settled_at timestamptz,
  constraint transaction_id primary key (holder_id, id),
  constraint transaction_success_settled check (status not in ('success', 'reversed') or settled_at is not null)
) with (fillfactor = 70);
comment on table transactions is
  'Collections and payouts. No column that changes is indexed, so that a change of state stays on its page.';
comment on column transactions.id is 'UUIDv7 that carries the holder. Its public form is the ref of the specification.';
comment on column transactions.integration_id is 'Null: made by a person, in the console or on the command line.';
comment on column transactions.method is 'Code of the method in the catalogue.';
comment on column transactions.rail_reference is 'The id that the operator gave the request.';
comment on column transactions.receipt is 'The receipt of the operator, which proves that money moved.';
comment on column transactions.balance_after is 'What the wallet of the holder held right after this transaction was posted.';
create index transactions_by_link on transactions (holder_id, link_id, id desc) where link_id is not null;
-- People search by number and by their own references; everything else is found by time. None of these columns ever
-- changes, so a change of state still touches no index.
create index transactions_by_number on transactions (holder_id, msisdn, id desc);
create index transactions_by_reference_1 on transactions (holder_id, reference_1, id desc) where reference_1 is not null;
create index transactions_by_reference_2 on transactions (holder_id, reference_2, id desc) where reference_2 is not null;

create table payment_jobs (
  holder_id bigint not null,
  transaction_id uuid not null,
  kind text not null constraint payment_job_kind_known check (kind in ('send_token', 'submit', 'query', 'expire')),
  due_at timestamptz not null,
  attempts integer not null default 0,
  since timestamptz not null,
  submitted_at timestamptz,
  constraint payment_job_once primary key (holder_id, transaction_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index payment_jobs_due on payment_jobs (due_at);
comment on table payment_jobs is
  'What to do next about a transaction that is not final, and when. due_at is also the lease of the process that works on it. '
  'Claiming a submit turns it into a query before the operator is called: after a crash the operator is asked, never called twice.';
comment on column payment_jobs.submitted_at is
  'When the transaction was last sent, or was about to be. Before the operator''s own delay its "not found" proves nothing.';

create table evidence (
  holder_id bigint not null,
  transaction_id uuid not null,
  id bigint generated always as identity,
  at timestamptz not null,
  source text not null constraint evidence_source_known
    check (source in ('submit', 'callback', 'poll', 'verification', 'statement', 'person')),
  state text not null constraint evidence_state_known
    check (state in ('pending', 'succeeded', 'failed', 'reversed', 'unknown')),
  receipt text,
  failure_code text,
  effect text not null constraint evidence_effect_known check (effect in ('applied', 'confirmed', 'ignored', 'case')),
  raw text not null default '',
  constraint evidence_id primary key (holder_id, transaction_id, id)
);
comment on table evidence is 'Every observation of every transaction, as it was said. id is the order in which it came.';
comment on column evidence.effect is 'What the observation led to.';
create trigger evidence_append_only before update or delete or truncate on evidence
  for each statement execute function refuse_change();

create table cases (
  holder_id bigint not null,
  id uuid not null,
  transaction_id uuid,
  kind text not null constraint case_kind_known check (kind in (
    'late_success', 'contradiction', 'different_receipt', 'amount_mismatch', 'no_answer', 'payout_not_found',
    'wallet_short', 'wrong_amount', 'unknown_reference', 'second_payment')),
  detail jsonb not null default '{}',
  status text not null default 'open' constraint case_status_known check (status in ('open', 'resolved')),
  opened_at timestamptz not null,
  resolved_at timestamptz,
  resolved_by text,
  resolution text,
  constraint case_id primary key (holder_id, id)
);
-- Money that fits nothing is a case each time it arrives: each case holds its own sum in suspense.
create unique index case_open_once on cases (holder_id, transaction_id, kind)
  where status = 'open' and kind not in ('wrong_amount', 'second_payment');
create index cases_open_by_holder on cases (holder_id, opened_at desc) where status = 'open';
create index cases_by_transaction on cases (holder_id, transaction_id);
comment on table cases is 'What only a person can decide.';
comment on column cases.holder_id is '0: it concerns no holder that we know.';

create table verification_tokens (
  holder_id bigint not null,
  transaction_id uuid not null,
  token_hash bytea not null,
  wrong_tries smallint not null default 0 constraint verification_tries_bounded check (wrong_tries between 0 and 5),
  sent_at timestamptz not null,
  expires_at timestamptz not null,
  constraint verification_token_once primary key (holder_id, transaction_id)
);
comment on table verification_tokens is 'Six-digit tokens for methods that verify by SMS. Only a keyed hash is stored.';

create table payment_instructions (
  account_reference text primary key,
  holder_id bigint not null,
  transaction_id uuid not null,
  rail text not null,
  pay_to jsonb not null,
  expires_at timestamptz not null
);
create index payment_instructions_by_transaction on payment_instructions (holder_id, transaction_id);
comment on table payment_instructions is
  'Where a payer was told to pay, for methods in which the payer pays to us. '
  'Incoming money names the reference and no holder, so the reference is the key.';
comment on column payment_instructions.pay_to is 'Till, pay bill or bank account, as the payer is shown it.';

create table incoming_payments (
  rail text not null,
  receipt text not null,
  account_reference text,
  amount bigint not null constraint incoming_amount_positive check (amount > 0),
  currency text not null,
  payer text,
  holder_id bigint not null,
  transaction_id uuid,
  outcome text not null constraint incoming_outcome_known check (outcome in ('matched', 'suspense')),
  case_id uuid,
  received_at timestamptz not null,
  constraint incoming_payment_once primary key (rail, receipt)
);
comment on table incoming_payments is
  'Money that reached a till, pay bill or bank account, matched to a transaction or held in suspense. '
  'An operator names its receipt and no holder, so the receipt is the key.';
comment on column incoming_payments.holder_id is 'Whose ledger accounts it was posted to. 0: the owner is unknown.';
comment on column incoming_payments.case_id is 'The case that holds it in suspense, or held it.';

create table operator_inbox (
  id bigint generated always as identity primary key,
  rail text not null,
  path text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamptz not null,
  due_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index operator_inbox_due on operator_inbox (due_at);
comment on table operator_inbox is 'Operator callbacks that were not read yet. A row is deleted in the transaction that applies it.';

create table rejected_callbacks (
  id bigint generated always as identity primary key,
  rail text not null,
  reason text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamptz not null
);
comment on table rejected_callbacks is
  'Operator callbacks that proved nothing: forged, unreadable, or about no transaction of this gateway. Deleted after ninety days.';

create table payout_batches (
  holder_id bigint not null,
  id uuid not null,
  name text not null,
  created_by text not null,
  created_at timestamptz not null,
  constraint payout_batch_id primary key (holder_id, id)
);
comment on table payout_batches is 'A file of payouts.';

create table payout_orders (
  holder_id bigint not null,
  transaction_id uuid not null,
  batch_id uuid,
  approval text not null constraint payout_approval_known check (approval in ('not_needed', 'waiting', 'approved')),
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamptz,
  cancelled_by text,
  cancelled_at timestamptz,
  constraint payout_order_once primary key (holder_id, transaction_id),
  constraint payout_batch_exists foreign key (holder_id, batch_id) references payout_batches (holder_id, id),
  constraint payout_approved_by_another check (
    created_by_member is null or approved_by_member is null or approved_by_member <> created_by_member)
);
create index payout_orders_by_batch on payout_orders (holder_id, batch_id) where batch_id is not null;
create index payout_orders_waiting on payout_orders (holder_id) where approval = 'waiting' and cancelled_at is null;
comment on table payout_orders is 'Who ordered a payout and who approved it.';
comment on column payout_orders.approval is 'waiting: a second person must approve it before there is a job to send it.';

create table fee_overrides (
  holder_id bigint not null references holders,
  method text not null,
  direction text not null constraint fee_override_direction_known check (direction in ('collection', 'payout')),
  basis_points bigint not null constraint fee_override_share_sane check (basis_points between 0 and 10000),
  fixed bigint not null constraint fee_override_fixed_sane check (fixed >= 0),
  min bigint not null constraint fee_override_min_sane check (min >= 0),
  max bigint constraint fee_override_max_sane check (max >= 0),
  updated_at timestamptz not null,
  primary key (holder_id, method, direction)
);
comment on table fee_overrides is 'Fees that differ from the catalogue for one holder.';
create trigger fee_overrides_counted after insert or delete or update on fee_overrides
  for each statement execute function count_change();
