-- Operators that do not answer, as the processes that call them found out: a process that makes no calls refuses new work for them
-- as well. Unlogged: after a crash of the database each process finds out again.

create unlogged table open_breakers (
  connection text not null,
  method text not null,
  opened_at timestamptz not null,
  asked_at timestamptz not null,
  primary key (connection, method)
);
comment on table open_breakers is
  'One row for each operator that does not answer. Written when a breaker opens and at each of its probes, deleted by the first answer.';
comment on column open_breakers.method is 'The code of the method, which names the operator.';
comment on column open_breakers.asked_at is 'The last probe. New work is taken again some seconds after it, as the next probe.';
