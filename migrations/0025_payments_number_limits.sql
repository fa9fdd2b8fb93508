-- What one phone number was asked for lately, over all holders and processes.

-- Not in the write-ahead log: the row is written with every collection, and when PostgreSQL crashes a day of counting begins
-- again, which is no loss. One row a number is also its lock: requests for one number are counted one after the other.
create unlogged table number_limits (
  msisdn text constraint number_limit_once primary key,
  prompt_ids uuid[] not null default '{}',
  prompt_holders bigint[] not null default '{}',
  prompted_at timestamptz[] not null default '{}',
  wrong_tokens integer not null default 0,
  wrong_since timestamptz,
  limited_until timestamptz,
  seen_at timestamptz not null,
  constraint number_limit_prompts_whole check (
    cardinality(prompt_ids) = cardinality(prompted_at) and cardinality(prompt_ids) = cardinality(prompt_holders))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
comment on table number_limits is
  'Prompts and wrong tokens of each phone number in the last day. Deleted when nothing was asked for a day.';
comment on column number_limits.prompt_ids is
  'Collections of the last day that may still count, with their holders and dates in the next two columns.';
comment on column number_limits.wrong_since is 'The day of the wrong tokens begins here.';
comment on column number_limits.limited_until is 'When another prompt is allowed, as the last refusal said.';

-- The hosted page counted its own attempts by number; the one rule above replaces that.
drop index checkout_attempts_by_number;
comment on column checkout_attempts.msisdn is 'Digits with the dial code.';
