-- Float: what our account with an operator holds for payouts. Thresholds, what is known about it, its history, and the payouts
-- that wait for it.

create table float_settings (
  connection text not null,
  currency text not null constraint float_currency_form check (currency ~ '^[A-Z]{3}$'),
  account text constraint float_account_length check (char_length(account) between 1 and 128),
  low bigint not null constraint float_low_sane check (low >= 0),
  stop bigint not null constraint float_stop_sane check (stop >= 0 and stop <= low),
  is_shared boolean not null,
  set_by text not null,
  set_at timestamptz not null,
  constraint float_setting_once primary key (connection, currency)
);
comment on table float_settings is
  'The float that people watch. With a row, payouts wait before they are sent when the float does not cover them, and in their order.';
comment on column float_settings.account is 'The operator''s name of the account that pays out; null: the one that the rail names.';
comment on column float_settings.low is 'Below it the administrators get a mail.';
comment on column float_settings.stop is 'No payout takes the float below it.';
comment on column float_settings.is_shared is 'Collections arrive on the account that pays out.';

create table float_states (
  connection text not null,
  currency text not null,
  refused_at timestamptz,
  low_since timestamptz,
  mailed_at timestamptz,
  constraint float_state_once primary key (connection, currency)
);
comment on table float_states is 'What goes on with the float of a connection now.';
comment on column float_states.refused_at is 'When its operator last refused a payout for lack of float; null: it has taken one since.';
comment on column float_states.low_since is 'Since when the float is low, or ends soon; null: it is not.';
comment on column float_states.mailed_at is 'When the administrators got the mail about it: once while it is low.';

create table float_hours (
  connection text not null,
  currency text not null,
  hour timestamptz not null,
  paid_out bigint not null constraint float_hour_out_sane check (paid_out >= 0),
  paid_in bigint not null constraint float_hour_in_sane check (paid_in >= 0),
  level bigint,
  constraint float_hour_once primary key (connection, currency, hour)
);
comment on table float_hours is 'What moved at a watched connection in each hour that is over. The forecast is made of it.';
comment on column float_hours.level is 'The float when the hour was written; null: it was written later, or nobody knew.';

create table float_waits (
  holder_id bigint not null,
  transaction_id uuid not null,
  connection text not null,
  currency text not null,
  amount bigint not null constraint float_wait_amount_sane check (amount > 0),
  reason text not null constraint float_wait_reason_known check (reason in ('refused', 'not_covered', 'in_order')),
  since timestamptz not null,
  tries integer not null constraint float_wait_tries_sane check (tries >= 0),
  released_at timestamptz,
  constraint float_wait_once primary key (holder_id, transaction_id)
);
create index float_waits_in_order on float_waits (connection, currency, transaction_id);
comment on table float_waits is
  'Payouts that wait for float. Nothing of them is with the operator: their job is a submit, and their money is reserved.';
comment on column float_waits.reason is
  'refused: the operator did not take it. not_covered: it was not sent. in_order: others wait before it.';
comment on column float_waits.tries is 'How often the operator refused it.';
comment on column float_waits.released_at is 'It is its turn, and it is sent again.';
