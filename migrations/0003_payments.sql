-- Transactions (collections and payouts), what operators said about them, and the work that is due.

create table transactions (
  -- UUIDv7; its public form is the specification's `ref`.
  id uuid primary key,
  holder_id bigint not null,
  -- Null when a person made it, in the console or on the command line.
  integration_id bigint,
  direction text not null constraint transaction_direction_known check (direction in ('payin', 'payout')),
  status text not null constraint transaction_status_known
    check (status in ('pending', 'processing', 'success', 'failed', 'expired', 'reversed')),
  amount bigint not null constraint transaction_amount_positive check (amount > 0),
  fee bigint not null constraint transaction_fee_sane check (fee >= 0 and (direction = 'payout' or fee <= amount)),
  currency text not null,
  country_id smallint not null,
  -- Code of the method in the catalogue, and the rail that carries it.
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
  -- The operator's own id of the request, and the receipt that proves that money moved.
  rail_reference text,
  receipt text,
  failure_code text,
  failure_message text,
  -- The holder's wallet right after this transaction was booked.
  balance_after bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  settled_at timestamptz,
  constraint transaction_success_settled check (status not in ('success', 'reversed') or settled_at is not null)
) with (fillfactor = 70);
-- No column that changes is indexed, so that a change of state stays on its page.
create index transactions_by_holder on transactions (holder_id, id desc);
create index transactions_by_link on transactions (link_id, id desc) where link_id is not null;

-- One row for each transaction that is not over: what to do next, and when. `due_at` is also the lease of
-- whoever works on it. Claiming a 'submit' turns it into a 'query' before the operator is called: after a crash
-- nobody submits again, somebody asks.
create table payment_jobs (
  transaction_id uuid primary key,
  kind text not null constraint payment_job_kind_known
    check (kind in ('send_token', 'submit', 'query', 'expire', 'approval')),
  due_at timestamptz not null,
  attempts integer not null default 0,
  since timestamptz not null,
  -- When it was last sent, or was about to be: before an operator's own delay its "not found" proves nothing.
  submitted_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index payment_jobs_due on payment_jobs (due_at);

-- Every observation of every transaction, as it was said.
create table evidence (
  transaction_id uuid not null,
  at timestamptz not null,
  source text not null constraint evidence_source_known
    check (source in ('submit', 'callback', 'poll', 'verification', 'statement', 'person')),
  state text not null,
  receipt text,
  failure_code text,
  -- What it led to, in a word: applied, confirmed, ignored, case.
  effect text not null,
  raw text not null default ''
);
create index evidence_by_transaction on evidence (transaction_id);
create trigger evidence_append_only before update or delete or truncate on evidence
  for each statement execute function refuse_change();

-- What only a person can decide.
create table cases (
  id uuid primary key,
  holder_id bigint,
  transaction_id uuid,
  kind text not null,
  detail jsonb not null default '{}',
  status text not null default 'open' constraint case_status_known check (status in ('open', 'resolved')),
  opened_at timestamptz not null,
  resolved_at timestamptz,
  resolved_by text,
  resolution text
);
-- Money that fits nothing is a case each time it comes: each holds its own sum in suspense.
create unique index case_open_once on cases (transaction_id, kind)
  where status = 'open' and kind not in ('wrong_amount', 'second_payment');
create index cases_open_by_holder on cases (holder_id, opened_at desc) where status = 'open';

-- Six-digit tokens for methods that verify by SMS. Only a keyed hash is stored.
create table verification_tokens (
  transaction_id uuid primary key,
  token_hash bytea not null,
  wrong_tries smallint not null default 0 constraint verification_tries_bounded check (wrong_tries between 0 and 5),
  sent_at timestamptz not null,
  expires_at timestamptz not null
);

-- Where a payer was told to pay, for methods in which the payer pays to us: till, pay bill, bank account.
create table payment_instructions (
  account_reference text primary key,
  transaction_id uuid not null,
  rail text not null,
  -- Till, pay bill or bank account, as the payer is shown it.
  pay_to jsonb not null,
  expires_at timestamptz not null
);
create index payment_instructions_by_transaction on payment_instructions (transaction_id);

-- Money that reached a till, pay bill or bank account, matched to a transaction or held in suspense. Once each.
create table incoming_payments (
  rail text not null,
  receipt text not null,
  account_reference text,
  amount bigint not null constraint incoming_amount_positive check (amount > 0),
  currency text not null,
  payer text,
  transaction_id uuid,
  outcome text not null constraint incoming_outcome_known check (outcome in ('matched', 'suspense')),
  -- The case that holds it in suspense, or held it.
  case_id uuid,
  received_at timestamptz not null,
  constraint incoming_payment_once primary key (rail, receipt)
);

-- What operators sent us and nobody has read yet. A row leaves in the transaction that applies it.
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

-- Operator callbacks that proved nothing: forged, unreadable, about nothing of ours. Kept to be looked at.
create table rejected_callbacks (
  id bigint generated always as identity primary key,
  rail text not null,
  reason text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamptz not null
);

create table payout_batches (
  id uuid primary key,
  holder_id bigint not null,
  name text not null,
  created_by text not null,
  created_at timestamptz not null
);

-- Who asked for a payout and who allowed it. A second person is needed when the holder wants that.
create table payout_orders (
  transaction_id uuid primary key,
  holder_id bigint not null,
  batch_id uuid references payout_batches,
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamptz,
  cancelled_by text,
  cancelled_at timestamptz,
  constraint payout_approved_by_another check (
    created_by_member is null or approved_by_member is null or approved_by_member <> created_by_member)
);
create index payout_orders_by_holder on payout_orders (holder_id, transaction_id desc);
create index payout_orders_by_batch on payout_orders (batch_id) where batch_id is not null;

-- Fees that differ from the catalogue's for one holder.
create table fee_overrides (
  holder_id bigint not null references holders,
  method text not null,
  direction text not null constraint fee_override_direction_known check (direction in ('collection', 'payout')),
  basis_points bigint not null constraint fee_override_share_sane check (basis_points between 0 and 10000),
  fixed bigint not null constraint fee_override_fixed_sane check (fixed >= 0),
  least bigint not null constraint fee_override_least_sane check (least >= 0),
  most bigint constraint fee_override_most_sane check (most >= 0),
  updated_at timestamptz not null,
  primary key (holder_id, method, direction)
);
create trigger fee_overrides_counted after insert or delete or update on fee_overrides
  for each statement execute function count_change();
