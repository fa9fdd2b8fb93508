-- Notifications by mail: what each member of a holder wants to hear about, and what was said already.

create table notification_choices (
  holder_id bigint not null references holders (id),
  member_id bigint not null references members (id) on delete cascade,
  kinds text[] not null,
  language text not null,
  updated_at timestamptz not null,
  primary key (holder_id, member_id),
  constraint notification_kinds_known check (
    kinds <@ array['daily_summary', 'payout_failed', 'receiver_down', 'case_opened', 'low_float']::text[])
);

comment on table notification_choices is
  'What a member chose. Without a row the role decides.';

create table notifications_sent (
  holder_id bigint not null references holders (id),
  kind text not null,
  subject text not null,
  sent_at timestamptz not null,
  primary key (holder_id, kind, subject)
);

comment on table notifications_sent is
  'What was said about: a payout, a receiver since a moment, a case, a wallet on a day. Nothing is said twice.';

create index notifications_sent_at on notifications_sent (sent_at);
