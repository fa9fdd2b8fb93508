-- Attempts to pay a link on the hosted page, and the receipts of what was paid.

create table checkout_attempts (
  holder_id bigint not null,
  transaction_id uuid not null,
  link_id uuid not null,
  form_id bytea not null constraint attempt_form_id_length check (octet_length(form_id) = 15),
  single_use boolean not null,
  live boolean not null default true,
  msisdn text not null,
  first_name text constraint attempt_first_name_length check (char_length(first_name) <= 120),
  last_name text constraint attempt_last_name_length check (char_length(last_name) <= 120),
  email text constraint attempt_email_length check (char_length(email) <= 254),
  created_at timestamptz not null,
  constraint attempt_id primary key (holder_id, transaction_id),
  constraint attempt_link_exists foreign key (holder_id, link_id) references payment_links (holder_id, id),
  constraint attempt_once_per_form unique (holder_id, link_id, form_id)
);
-- Two tabs, two phones, two people: one of them pays.
create unique index attempt_one_live on checkout_attempts (holder_id, link_id) where live and single_use;
create index checkout_attempts_by_number on checkout_attempts (msisdn, created_at desc);
comment on table checkout_attempts is 'An attempt to pay a link, written in the transaction that makes its collection.';
comment on column checkout_attempts.form_id is 'Which form made it: however often one form is sent, it is one attempt.';
comment on column checkout_attempts.live is
  'It may still take money, or has taken it. Only the refusal of the operator ends it; a success stays live for ever.';
comment on column checkout_attempts.msisdn is 'Digits with the dial code: a number may only be prompted so often, over all holders.';

create table receipts (
  holder_id bigint not null,
  transaction_id uuid not null,
  code text not null constraint receipt_code_form check (code ~ '^[0-9A-HJKMNP-TV-Z]{10}$')
    constraint receipt_code_unique unique,
  created_at timestamptz not null,
  constraint receipt_once primary key (holder_id, transaction_id)
);
comment on table receipts is 'The short code by which anyone can check a receipt. It is too short to carry the holder, so it is unique over all holders.';
