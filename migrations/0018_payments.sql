-- Runs of `ledger verify`: how far each one is, so that a run that broke off goes on where it stopped, and what it found.

create table verify_runs (
  id bigint generated always as identity constraint verify_run_id primary key,
  status text not null constraint verify_run_status_known check (status in ('waiting', 'running', 'done', 'stopped')),
  in_background boolean not null,
  asked_by text not null,
  asked_at timestamptz not null,
  seen_at timestamptz not null,
  ended_at timestamptz,
  since timestamptz,
  stage text,
  position jsonb,
  checked jsonb not null default '{}',
  differences bigint not null default 0 constraint verify_differences_sane check (differences >= 0),
  findings jsonb not null default '[]',
  constraint verify_run_ended check ((ended_at is not null) = (status in ('done', 'stopped')))
);
create unique index verify_run_in_background_once on verify_runs (in_background)
  where in_background and status in ('waiting', 'running');
comment on table verify_runs is 'Runs of ledger verify, from the command line and from the console. The newest hundred are kept.';
comment on column verify_runs.in_background is 'Asked for in the console: the background job of any process does it, one at a time.';
comment on column verify_runs.seen_at is
  'The last sign of life. A run in the background whose process died is taken over after two minutes.';
comment on column verify_runs.since is 'Null: a whole run. Otherwise only what was posted or changed since then is compared.';
comment on column verify_runs.stage is 'What is being compared; null: nothing yet.';
comment on column verify_runs.position is 'The last key of that stage that was compared. A run goes on after it.';
comment on column verify_runs.checked is 'How many rows each stage has compared.';
comment on column verify_runs.findings is 'The first differences of each check.';

-- The metrics add these up every minute. None of the columns ever changes, so a new balance still touches no index.
create index ledger_accounts_by_kind on ledger_accounts (kind, currency)
  where kind in ('operator_clearing', 'suspense', 'holder_receivable');
