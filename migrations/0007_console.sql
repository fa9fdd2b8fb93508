-- The console: forms that were sent, and the figures of each day.

create table used_forms (
  holder_id bigint not null references holders,
  id uuid not null,
  used_at timestamptz not null,
  constraint form_used_once primary key (holder_id, id)
);
comment on table used_forms is 'Forms that moved money: however often one is sent, it counts once.';

create table daily_figures (
  holder_id bigint not null references holders,
  day date not null,
  counted_at timestamptz not null,
  figures jsonb not null,
  constraint daily_figures_once primary key (holder_id, day)
);
comment on table daily_figures is
  'What one holder did on one day (UTC), counted from the transactions. A day changes as long as transactions of it are open.';
comment on column daily_figures.figures is '[{ direction, currency, status, transactions, amount, fee }], sums as text.';
