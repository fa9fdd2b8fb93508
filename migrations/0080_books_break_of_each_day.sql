-- A payment whose money moved on several days without a line has a break for each of them. Without the other day in the index, two of
-- these breaks were one, and the last of these days could not be closed.

create unique index concurrently if not exists break_open_once_for_each_day on breaks
  (connection, kind, leg, line_key, transaction_id, counter_day) nulls not distinct where status = 'open';
drop index concurrently if exists break_open_once;
