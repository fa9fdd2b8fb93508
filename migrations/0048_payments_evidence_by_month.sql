-- Evidence in a partition a month, by the time in the id of its transaction, as events are: a month that was archived can be removed
-- as a whole, an old month is vacuumed and frozen once, and the index that new rows go to stays as small as a month.
--
-- Cheap on a database that has evidence already: the table is not copied and no index is built. It becomes the first partition,
-- evidence_before, which ends with the present month; attaching it reads it once. From the month after that the service creates one
-- partition a month.

alter table partition_rules alter column keep drop not null;
alter table partition_rules add column since timestamptz;
alter table partition_rules add column options text not null default '';
comment on column partition_rules.keep is
  'Nobody but the owner of the database can drop a younger partition, whatever a clock says. Null: only the owner drops any.';
comment on column partition_rules.since is 'When the first partition of a span begins. What is older is in the partition <parent>_before.';
comment on column partition_rules.options is 'Storage parameters of new partitions: a partitioned table itself cannot have any.';

-- Rows that are only added: vacuumed after so many of them, not after a share of all there ever were, and frozen then for good.
-- A day of requests and an hour of signatures are dropped before a second vacuum would come.
update partition_rules set options = 'autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 200000, '
  'autovacuum_freeze_min_age = 0' where parent in ('events', 'callback_attempts');
update partition_rules set options = 'autovacuum_vacuum_insert_threshold = -1' where parent in ('request_log', 'spent_signatures');

alter table evidence rename to evidence_before;
alter table evidence_before rename constraint evidence_id to evidence_before_id;
-- Partitions have no triggers: the service has no right on them, and reaches them through their parent, which has.
drop trigger evidence_append_only on evidence_before;

create table evidence (
  holder_id bigint not null,
  transaction_id uuid not null,
  id bigint not null generated always as identity,
  at timestamptz not null,
  source text not null constraint evidence_source_known
    check (source in ('submit', 'callback', 'matched', 'poll', 'verification', 'statement', 'person')),
  state text not null constraint evidence_state_known check (state in ('pending', 'succeeded', 'failed', 'reversed', 'unknown')),
  receipt text,
  failure_code text,
  effect text not null constraint evidence_effect_known check (effect in ('applied', 'confirmed', 'ignored', 'case')),
  raw text not null default '',
  constraint evidence_id primary key (holder_id, transaction_id, id)
) partition by range (transaction_id);
comment on table evidence is
  'Every observation of every transaction, as it was said. Partitioned by the id of the transaction, whose first bits are its time. '
  'id is the order in which it came.';
comment on column evidence.effect is 'What the observation led to.';
create table evidence_default partition of evidence default;
create trigger evidence_append_only before update or delete or truncate on evidence
  for each statement execute function refuse_change();
insert into partition_rules (parent, span, keep, key_column, age_column, options) values
  ('evidence', 'month', null, 'transaction_id', 'at', 'autovacuum_vacuum_insert_scale_factor = 0, '
    'autovacuum_vacuum_insert_threshold = 200000, autovacuum_freeze_min_age = 0');

-- A row of another clock may be ahead of this one: the first partition ends after it. One look at the index for each holder.
do $$
declare
  newest timestamptz;
  policy record;
begin
  select to_timestamp(max(('x' || left(replace(last.transaction_id::text, '-', ''), 12))::bit(48)::bigint) / 1000.0) into newest
  from (select id from holders union all select 0) holder
  cross join lateral (
    select transaction_id from evidence_before where holder_id = holder.id order by transaction_id desc limit 1) last;
  if newest is null then
    drop table evidence_before;
    return;
  end if;
  update partition_rules set since =
    (date_trunc('month', greatest(newest, clock_timestamp()) at time zone 'UTC') + interval '1 month') at time zone 'UTC'
  where parent = 'evidence';
  perform setval(pg_get_serial_sequence('evidence', 'id'), nextval(pg_get_serial_sequence('evidence_before', 'id')));
  alter table evidence_before alter column id drop identity;
  for policy in select polname from pg_policy where polrelid = 'evidence_before'::regclass loop
    execute format('drop policy %I on evidence_before', policy.polname);
  end loop;
  alter table evidence_before disable row level security;
  for policy in select rolname from pg_roles where rolname in ('simbi_service', 'simbi_tenant') loop
    execute format('revoke all on evidence_before from %I', policy.rolname);
  end loop;
  execute (select format('alter table evidence attach partition evidence_before for values from (minvalue) to (%L)',
    partition_bound(rule, rule.since)) from partition_rules rule where parent = 'evidence');
  execute (select format('alter table evidence_before set (%s)', options) from partition_rules where parent = 'evidence');
end
$$;

-- As before, with a first partition that is older than all spans, and with storage parameters.
create or replace function create_partition(parent_table text, moment timestamptz) returns boolean
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rules;
  start timestamptz;
  name text;
  low text;
  high text;
begin
  select * into strict rule from partition_rules where parent = parent_table;
  perform lock_partitions(rule.parent);
  start := date_trunc(rule.span, moment);
  name := partition_name(rule, start);
  if to_regclass(name) is not null or start < rule.since then
    return false;
  end if;
  low := partition_bound(rule, start);
  high := partition_bound(rule, start + ('1 ' || rule.span)::interval);
  -- Locked before rows are moved, so that none is inserted between the move and the attachment.
  if rule.key_column is not null then
    execute format('lock table %I in access exclusive mode', rule.parent || '_default');
  end if;
  execute format('create table %I (like %I including defaults including constraints including storage) %s', name, rule.parent,
    case when rule.options = '' then '' else format('with (%s)', rule.options) end);
  if rule.key_column is not null then
    execute format(
      'with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
      rule.parent || '_default', rule.key_column, low, rule.key_column, high, name);
  end if;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', rule.parent, name, low, high);
  return true;
end
$$;

-- As before, and nothing of a table that only the owner removes.
create or replace function drop_partition(parent_table text, start timestamptz, cutoff timestamptz) returns boolean
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rules;
  name text;
  young boolean;
begin
  select * into strict rule from partition_rules where parent = parent_table;
  name := partition_name(rule, start);
  if rule.keep is null or cutoff > clock_timestamp() - rule.keep or start + ('1 ' || rule.span)::interval > cutoff
    or date_trunc(rule.span, start) <> start
  then
    raise exception 'the partition % is too young to be dropped', name using errcode = 'P0001', constraint = 'partition_kept';
  end if;
  if to_regclass(name) is null then
    return false;
  end if;
  if rule.age_column is not null then
    -- Asked without the lock first: most partitions that are kept are kept for a young row.
    execute format('select exists (select from %I where %I >= $1)', name, rule.age_column) into young using cutoff;
    if young then
      return false;
    end if;
  end if;
  perform lock_partitions(rule.parent);
  if not exists (select from pg_inherits where inhrelid = to_regclass(name) and inhparent = rule.parent::regclass) then
    return false;
  end if;
  if rule.age_column is not null then
    -- Waits for the inserts under way; later ones wait for us and then find the default partition.
    execute format('lock table %I in share row exclusive mode', name);
    execute format('select exists (select from %I where %I >= $1)', name, rule.age_column) into young using cutoff;
    if young then
      return false;
    end if;
  end if;
  execute format('drop table %I', name);
  return true;
end
$$;

create or replace function trim_default_partition(parent_table text, cutoff timestamptz) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rules;
begin
  select * into strict rule from partition_rules where parent = parent_table and age_column is not null;
  if rule.keep is null or cutoff > clock_timestamp() - rule.keep then
    raise exception 'rows of % are too young to be deleted', rule.parent using errcode = 'P0001', constraint = 'partition_kept';
  end if;
  execute format('delete from %I where %I < $1', rule.parent || '_default', rule.age_column) using cutoff;
end
$$;

-- Partitions that exist already get the same parameters. Only the catalogue changes.
do $$
declare
  partition record;
begin
  for partition in
    select i.inhrelid::regclass as name, rule.options from partition_rules rule
    join pg_inherits i on i.inhparent = rule.parent::regclass where rule.options <> ''
  loop
    execute format('alter table %s set (%s)', partition.name, partition.options);
  end loop;
end
$$;
