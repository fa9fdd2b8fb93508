-- Refunds of the simulated operator, and money that a test phone sent without a payment that awaits it. Both are needed for
-- the operator's own book. Unlogged, as its other tables.

create unlogged table sandbox_refunds (
  -- The gateway's reference: the same one always names the same refund.
  reference text not null,
  -- No foreign key: a refund of an unknown payment is kept too, as refused, so that its reference keeps its answer.
  payment_reference text not null,
  -- The method's name: it signs the SMS.
  operator text not null,
  msisdn text not null,
  amount bigint not null constraint sandbox_refund_amount_positive check (amount > 0),
  currency text not null,
  label text not null,
  -- Which line of the table of scenarios decides it.
  scenario text not null,
  status text not null constraint sandbox_refund_status_known check (status in ('pending', 'succeeded', 'failed')),
  -- Its own, never that of the payment.
  receipt text,
  failure_code text,
  query_contradicts boolean not null default false,
  next_step text constraint sandbox_refund_step_known check (next_step in ('succeed', 'fail')),
  due_at timestamptz,
  created_at timestamptz not null,
  constraint sandbox_refund_once primary key (reference)
);
create index sandbox_refunds_due on sandbox_refunds (due_at) where due_at is not null;
create index sandbox_refunds_by_payment on sandbox_refunds (payment_reference);
create index sandbox_refunds_by_age on sandbox_refunds using brin (created_at);

-- Money that was sent to a till, pay bill or bank account and fits no payment.
create unlogged table sandbox_unmatched_money (
  receipt text not null constraint sandbox_unmatched_money_once primary key,
  msisdn text not null,
  amount bigint not null constraint sandbox_unmatched_amount_positive check (amount > 0),
  currency text not null,
  created_at timestamptz not null
);
create index sandbox_unmatched_money_by_age on sandbox_unmatched_money using brin (created_at);
