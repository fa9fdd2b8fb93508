-- Limits of what a holder may collect, pay out and refund in a day, and numbers that get and pay nothing.

create table payment_limits (
  holder_id bigint not null references holders,
  direction text not null constraint limit_direction_known check (direction in ('collection', 'payout', 'refund')),
  subject text not null constraint limit_subject_known check (subject in ('holder', 'member', 'number')),
  currency text not null,
  set_by text not null constraint limit_set_by_known check (set_by in ('gateway', 'holder')),
  day_amount bigint constraint limit_amount_sane check (day_amount >= 0),
  day_count integer constraint limit_count_sane check (day_count >= 0),
  updated_by text not null,
  updated_at timestamptz not null,
  constraint limit_once primary key (holder_id, direction, subject, currency, set_by),
  constraint limit_says_something check (day_amount is not null or day_count is not null),
  constraint limit_of_members check (subject <> 'member' or direction <> 'collection')
);
create trigger payment_limits_counted after insert or delete or update on payment_limits
  for each statement execute function count_change();
comment on table payment_limits is 'What may be ordered in one day of the holder. No row: no limit.';
comment on column payment_limits.subject is
  'Whose orders count together: all of the holder, those of one member, or those with one phone number.';
comment on column payment_limits.set_by is 'By admins of the gateway, or by the holder itself. The lower of both holds.';

create table limit_uses (
  holder_id bigint not null,
  direction text not null,
  subject text not null,
  subject_key text not null,
  currency text not null,
  day date not null,
  amount bigint not null constraint limit_use_amount_sane check (amount >= 0),
  count integer not null constraint limit_use_count_sane check (count >= 0),
  constraint limit_use_once primary key (holder_id, direction, subject, subject_key, currency, day)
);
create index limit_uses_by_day on limit_uses (day);
comment on table limit_uses is
  'What was ordered in a day under each limit. The row is also the lock: orders at the same moment count each other.';
comment on column limit_uses.subject_key is 'The number of the member or of the phone; empty for the holder.';
comment on column limit_uses.day is 'The day in the time zone of the holder.';

create table limit_parts (
  holder_id bigint not null,
  transaction_id uuid not null,
  subject text not null,
  subject_key text not null,
  day date not null,
  constraint limit_part_once primary key (holder_id, transaction_id, subject)
);
create index limit_parts_by_day on limit_parts (day);
comment on table limit_parts is 'Under which limits a transaction counts. What fails no longer counts.';

create table blocked_numbers (
  holder_id bigint not null,
  msisdn text not null constraint blocked_number_form check (msisdn ~ '^[0-9]{6,15}$'),
  reason text not null constraint blocked_reason_length check (char_length(reason) between 1 and 200),
  added_by text not null,
  added_at timestamptz not null,
  constraint blocked_number_once primary key (holder_id, msisdn)
);
create trigger blocked_numbers_counted after insert or delete or update on blocked_numbers
  for each statement execute function count_change();
comment on table blocked_numbers is
  'Numbers that are asked for nothing and paid nothing. Not hashed: people must be able to read the list and to take a number off it.';
comment on column blocked_numbers.holder_id is '0: blocked for every holder, by the admins of the gateway.';
