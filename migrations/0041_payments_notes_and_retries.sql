-- What people write about a transaction, and which transaction or payment link repeats one that failed.

create table transaction_notes (
  holder_id bigint not null,
  transaction_id uuid not null,
  number integer not null,
  body text not null,
  created_by text not null,
  created_by_member bigint,
  created_at timestamptz not null,
  constraint transaction_note_once primary key (holder_id, transaction_id, number),
  constraint transaction_note_length check (char_length(body) between 1 and 1000),
  constraint transaction_note_number check (number between 1 and 100)
);
comment on table transaction_notes is
  'Notes of the team on a transaction. They are not changed or deleted; operators never see them.';
comment on column transaction_notes.number is 'Counts from 1 within the transaction, which bounds how many there are.';

create table transaction_retries (
  holder_id bigint not null,
  retry_of uuid not null,
  number integer not null,
  transaction_id uuid,
  link_id uuid,
  created_by text not null,
  created_at timestamptz not null,
  constraint transaction_retry_once primary key (holder_id, retry_of, number),
  constraint transaction_retry_kind check ((transaction_id is null) <> (link_id is null)),
  constraint transaction_retry_number check (number between 1 and 100)
);
create unique index transaction_retry_by_transaction on transaction_retries (holder_id, transaction_id)
  where transaction_id is not null;
comment on table transaction_retries is
  'A collection or payout that failed, and the new transaction or payment link that asks for the same again.';
