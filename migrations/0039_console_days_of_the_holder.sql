-- The days of the home page are the holder's own: they begin at midnight of its time zone. Attempts are counted by method and
-- reason of failure too. What was counted before is counted again.

delete from daily_figures;
alter table daily_figures add column time_zone text not null;

comment on table daily_figures is
  'What one holder did on one of its days: money by the day it was posted, attempts by the day they were made. '
  'Counted from the ledger and the transactions, and kept to show a page at once.';
comment on column daily_figures.time_zone is
  'The zone in which the day was counted. After the holder changed its zone the row is counted again.';
comment on column daily_figures.figures is
  '{ money: [{ fact, currency, transactions, amount, fee }], attempts: [{ direction, currency, '
  'method, status, failure_code, transactions, amount, fee }] }, sums as text.';
