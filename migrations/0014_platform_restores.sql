-- What a restore leaves behind: when it was, what operators must be asked first, and where each feed stood.

create table restores (
  id bigint generated always as identity primary key,
  restored_at timestamptz not null,
  backup_taken_at timestamptz
);
comment on table restores is
  'When this database was restored from a backup. Signatures from before are refused: which of them were used is not known.';
comment on column restores.backup_taken_at is 'Null: not known.';
create trigger restores_counted after insert on restores for each statement execute function count_change();

alter table payment_jobs
  add column resume text,
  add constraint payment_job_resume_known check (resume in ('submit', 'send_token', 'expire', 'approval')),
  add constraint payment_job_asks_first check (resume is null or kind = 'query');
comment on column payment_jobs.resume is
  'Not null: restored from a backup. The operator is asked first; only when it does not know the transaction, this is what was to be done.';

alter table event_feeds
  add column restored_at timestamptz[] not null default '{}',
  add column restored_positions bigint[] not null default '{}',
  add constraint feed_restores_paired check (cardinality(restored_at) = cardinality(restored_positions));
comment on column event_feeds.restored_positions is
  'The last position that each restore kept. A reader whose place is from before that restore goes on after it.';
