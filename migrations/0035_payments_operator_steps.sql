-- What operators with more than one step need: what they told us before money moves, what the payer has to do next, what an
-- unsigned message is worth that came to an address of its own, and what they say of their own balance.

alter table evidence drop constraint evidence_source_known;
alter table evidence add constraint evidence_source_known
  check (source in ('submit', 'callback', 'matched', 'poll', 'verification', 'statement', 'person'));

create table prepared_calls (
  holder_id bigint not null,
  transaction_id uuid not null,
  connection text not null,
  sealed bytea not null,
  at timestamptz not null,
  constraint prepared_once primary key (holder_id, transaction_id)
);
comment on table prepared_calls is
  'What an operator gave us for a transaction before it was sent, such as a token. Committed before money moves.';
comment on column prepared_calls.sealed is 'JSON, sealed by the vault: it may contain tokens of the operator.';

create table payer_steps (
  holder_id bigint not null,
  transaction_id uuid not null,
  step jsonb not null,
  wrong_codes integer not null default 0,
  at timestamptz not null,
  constraint payer_step_once primary key (holder_id, transaction_id)
);
comment on table payer_steps is
  'What a payer has to do next, as the operator said it last. Where to send money to is in payment_instructions.';
comment on column payer_steps.wrong_codes is 'Codes of the operator that the payer gave us and the operator refused.';

create table operator_balances (
  connection text not null,
  account text not null,
  currency text not null,
  available bigint not null,
  told_at timestamptz not null,
  constraint operator_balance_once primary key (connection, account, currency)
);
comment on table operator_balances is 'What operators say that our accounts with them hold, in hundredths. The last word of each.';

create table balance_reads (
  connection text not null,
  due_at timestamptz not null,
  constraint balance_read_once primary key (connection)
);
comment on table balance_reads is 'When the balance of a connection is read next. One process reads it for all.';
