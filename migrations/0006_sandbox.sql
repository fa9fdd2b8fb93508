-- The memory of the simulated operator and of the test phones. Unlogged on purpose: it is a toy's memory,
-- it must not add to the write-ahead log of a payment, and it need not outlive a crash of PostgreSQL. It does
-- outlive a crash of the gateway, and several gateway processes share it.

create unlogged table sandbox_payments (
  -- The gateway's reference: the same one always names the same payment, however often it is submitted.
  reference text not null,
  direction text not null constraint sandbox_payment_direction_known check (direction in ('collection', 'payout')),
  method text not null,
  -- The method's name, as people know it: it signs the SMS.
  operator text not null default '',
  msisdn text not null,
  amount bigint not null constraint sandbox_payment_amount_positive check (amount > 0),
  currency text not null,
  -- Who asks for the money, as the prompt names it.
  label text not null default '',
  -- Which line of the table of scenarios decides it: three digits, or a word for the rest.
  scenario text not null,
  status text not null constraint sandbox_payment_status_known
    check (status in ('pending', 'succeeded', 'failed', 'reversed')),
  receipt text,
  failure_code text,
  -- What the test phone shows of it; null for numbers that never ring.
  handset text constraint sandbox_payment_handset_known check (handset in
    ('dial', 'prompt', 'undelivered', 'ignored', 'instructions', 'approved', 'wrong_pin', 'cancelled', 'expired')),
  dial_code text,
  account_reference text,
  -- Till, pay bill or bank account that the payer is told to pay to.
  pay_to jsonb,
  expires_at timestamptz,
  -- The status query says the opposite of the truth (scenario 010 and scripts).
  query_contradicts boolean not null default false,
  -- What happens to it of its own accord, and when.
  next_step text constraint sandbox_payment_step_known check (next_step in ('succeed', 'fail', 'reverse', 'expire')),
  due_at timestamptz,
  created_at timestamptz not null,
  constraint sandbox_payment_once primary key (reference)
);
create index sandbox_payments_due on sandbox_payments (due_at) where due_at is not null;
create index sandbox_payments_by_phone on sandbox_payments (msisdn, created_at desc) where handset is not null;
create index sandbox_payments_by_account on sandbox_payments (account_reference) where account_reference is not null;
create index sandbox_payments_by_age on sandbox_payments using brin (created_at);

-- SMS that the test phones received.
create unlogged table sandbox_messages (
  id bigint generated always as identity constraint sandbox_message_id primary key,
  msisdn text not null,
  sender text not null,
  text text not null,
  created_at timestamptz not null
);
create index sandbox_messages_by_phone on sandbox_messages (msisdn, id desc);

-- A phone that has no row is on and has no news.
create unlogged table sandbox_phones (
  msisdn text not null constraint sandbox_phone_once primary key,
  is_on boolean not null default true,
  -- Grows with everything that happens to this phone, so that a page can wait for the next change.
  version bigint not null default 0
);

-- Operator callbacks that still have to be sent. due_at doubles as the lease.
create unlogged table sandbox_announcements (
  id bigint generated always as identity constraint sandbox_announcement_id primary key,
  -- Announcements about one subject (a payment, an incoming payment) are sent in order.
  subject text not null,
  event jsonb not null,
  attempts integer not null default 0,
  due_at timestamptz not null
);
create index sandbox_announcements_due on sandbox_announcements (due_at, id);
