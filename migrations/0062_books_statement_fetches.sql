-- Statements that are fetched from the operator every day.

create table statement_fetches (
  connection text not null,
  next_day date not null,
  tried_at timestamptz,
  problem text constraint statement_fetch_problem_length check (char_length(problem) <= 500),
  set_by text not null,
  set_at timestamptz not null,
  constraint statement_fetch_once primary key (connection)
);
comment on table statement_fetches is 'Connections whose statement is fetched every day. No row: it is imported by people.';
comment on column statement_fetches.next_day is 'The first day that was not fetched yet, in the calendar of the connection.';
comment on column statement_fetches.tried_at is 'When it was last tried. One process tries it for all.';
comment on column statement_fetches.problem is 'Why the last try, or a day that was given up, was not fetched; null: it was.';
