-- Receipts by SMS: which holders want them, how far in their feeds they were sent, and what became of each.

create table receipt_text_settings (
  holder_id bigint not null references holders (id),
  is_on boolean not null,
  position bigint not null,
  updated_at timestamptz not null,
  constraint receipt_text_setting_once primary key (holder_id)
);
comment on table receipt_text_settings is 'Holders who chose whether payers get a receipt by SMS. Without a row they do not.';
comment on column receipt_text_settings.position is
  'The last event of the feed that was looked at. Payments from before the switch was turned on get no SMS.';

create table receipt_texts (
  holder_id bigint not null,
  transaction_id uuid not null,
  state text not null,
  started_at timestamptz not null,
  constraint receipt_text_once primary key (holder_id, transaction_id),
  constraint receipt_text_state_known check (state in ('sending', 'sent', 'refused', 'unknown'))
);
comment on table receipt_texts is
  'An SMS with a receipt, written before the operator is called. After a crash it stays "sending": nobody is texted twice.';
