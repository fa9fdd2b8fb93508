-- Attempts to pay a link on the hosted page, and the receipts of what was paid.

create table checkout_attempts (
  -- The collection that was made for it, in the same database transaction.
  transaction_id uuid primary key,
  link_id uuid not null references payment_links,
  -- Which form made it: however often one form is sent, it is one attempt.
  form_id bytea not null constraint attempt_form_id_length check (octet_length(form_id) = 15),
  single_use boolean not null,
  -- It may still take money, or has taken it. Only the operator's own no ends it; a success keeps its place for ever.
  live boolean not null default true,
  -- Digits with the dial code: a number may only be asked so often.
  msisdn text not null,
  first_name text constraint attempt_first_name_length check (char_length(first_name) <= 120),
  last_name text constraint attempt_last_name_length check (char_length(last_name) <= 120),
  email text constraint attempt_email_length check (char_length(email) <= 254),
  created_at timestamptz not null,
  constraint attempt_once_per_form unique (link_id, form_id)
);
-- Two tabs, two phones, two people: one of them pays.
create unique index attempt_one_live on checkout_attempts (link_id) where live and single_use;
create index checkout_attempts_by_number on checkout_attempts (msisdn, created_at desc);

-- The short code by which anyone can check a receipt. What it says is read from the transaction.
create table receipts (
  code text primary key constraint receipt_code_form check (code ~ '^[0-9A-HJKMNP-TV-Z]{10}$'),
  transaction_id uuid not null constraint receipt_once unique,
  created_at timestamptz not null
);
