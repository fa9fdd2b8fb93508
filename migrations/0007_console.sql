-- The console: people's second factor and invitations, the log of API requests, the figures of each day, and the
-- indexes by which a person finds one transaction among millions.

alter table members
  -- A second factor that its owner has not proved yet, sealed like the one in use.
  add column totp_pending bytea,
  -- The newest time step whose code was accepted: a code works once.
  add column totp_last_step bigint;

-- Which of their holders a person is looking at.
alter table sessions add column holder_id bigint references holders;

create table invitations (
  id bigint generated always as identity primary key,
  token_hash bytea not null constraint invitation_token_unique unique,
  holder_id bigint not null references holders,
  email text not null constraint invitation_email_plain check (email = lower(email) and char_length(email) between 3 and 254),
  role text not null constraint invitation_role_known check (role in ('owner', 'developer', 'finance', 'viewer')),
  invited_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  withdrawn_at timestamptz
);
create index invitations_by_holder on invitations (holder_id, id desc);

-- One small row for each API request of a known integration, without bodies. Written in batches, off the hot path, and
-- dropped day by day after thirty days.
create table request_log (
  at timestamptz not null,
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  -- The transaction that was made or asked for, where there was one.
  transaction_id uuid,
  ms real not null,
  status smallint not null,
  route text not null,
  address text not null,
  -- Why it was refused.
  code text
) partition by range (at);
create index request_log_by_holder on request_log (holder_id, at);

-- Forms that moved money: however often one is sent, it counts once.
create table used_forms (
  id uuid primary key,
  used_at timestamptz not null
);

-- What one holder did on one day (UTC), counted from the transactions. Days change as long as transactions of them are
-- open, so a row says when it was counted.
create table daily_figures (
  holder_id bigint not null references holders,
  day date not null,
  counted_at timestamptz not null,
  -- [{ direction, currency, status, transactions, amount, fee }], sums as text.
  figures jsonb not null,
  constraint daily_figures_once primary key (holder_id, day)
);

-- People ask for the payer's number and for their own references; everything else is found by time. None of these columns
-- ever changes, so a change of state still touches no index.
create index transactions_by_number on transactions (holder_id, msisdn, id desc);
create index transactions_by_reference_1 on transactions (holder_id, reference_1, id desc) where reference_1 is not null;
create index transactions_by_reference_2 on transactions (holder_id, reference_2, id desc) where reference_2 is not null;
