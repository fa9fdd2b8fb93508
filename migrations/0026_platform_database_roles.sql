-- The mode of a database for ever, and what the service may do that needs rights which it does not have itself: creating and
-- dropping partitions. Which role may do what with which table is in privileges.sql.

create table gateway_mode (
  single boolean primary key default true constraint gateway_mode_single check (single),
  mode text not null constraint gateway_mode_known check (mode in ('sandbox', 'live')),
  marked_at timestamptz not null
);
comment on table gateway_mode is
  'Whether the money in this database is real. Written at the first start and never changed: pretend money must not become real.';
create trigger gateway_mode_append_only before update or delete or truncate on gateway_mode
  for each statement execute function refuse_change();

create table applied_privileges (
  single boolean primary key default true constraint applied_privileges_single check (single),
  checksum text not null
);
comment on table applied_privileges is 'Which version of privileges.sql the grants and policies of this database come from.';

create table partition_rules (
  parent text constraint partition_rule_once primary key,
  span text not null constraint partition_span_known check (span in ('hour', 'day', 'month')),
  keep interval not null,
  key_column text,
  age_column text,
  constraint partition_rule_of_default check ((key_column is null) = (age_column is null))
);
comment on table partition_rules is 'The tables whose partitions the service creates and drops, and how long their rows are kept at least.';
comment on column partition_rules.keep is 'Nobody but the owner of the database can drop a younger partition, whatever a clock says.';
comment on column partition_rules.key_column is 'For a table with a default partition, whose rows are moved: the partition key.';
comment on column partition_rules.age_column is 'The age of a row. A partition with a younger row is kept.';
insert into partition_rules (parent, span, keep, key_column, age_column) values
  ('spent_signatures', 'hour', '2 hours', null, null),
  ('request_log', 'day', '30 days', null, null),
  ('events', 'month', '90 days', 'transaction_id', 'created_at'),
  ('callback_attempts', 'month', '90 days', 'at', 'at');

-- One process at a time changes the partitions of a table.
create function lock_partitions(parent text) returns void language sql set search_path = public, pg_temp
  as $$ select pg_advisory_xact_lock(731058300, hashtext(parent)) $$;

-- events_2026_03 for a month, request_log_2026030200 for a day or an hour.
create function partition_name(rule partition_rules, start timestamptz) returns text
  language sql stable set search_path = public, pg_temp set timezone = 'UTC'
  as $$ select rule.parent || '_' || to_char(start, case when rule.span = 'month' then 'YYYY_MM' else 'YYYYMMDDHH24' end) $$;

-- The value of the partition key at a moment: itself, or the first UUIDv7 of it.
create function partition_bound(rule partition_rules, moment timestamptz) returns text
  language plpgsql stable set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  milliseconds text;
begin
  if (select k.atttypid <> 'uuid'::regtype from pg_partitioned_table p
      join pg_attribute k on k.attrelid = p.partrelid and k.attnum = p.partattrs[0]
      where p.partrelid = rule.parent::regclass) then
    return moment::text;
  end if;
  milliseconds := lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0');
  return left(milliseconds, 8) || '-' || right(milliseconds, 4) || '-0000-0000-000000000000';
end
$$;

-- Creating a table and attaching it takes a lighter lock on the parent than creating a partition: inserts go on. True: it was
-- created; false: it was there.
create function create_partition(parent_table text, moment timestamptz) returns boolean
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
  if to_regclass(name) is not null then
    return false;
  end if;
  low := partition_bound(rule, start);
  high := partition_bound(rule, start + ('1 ' || rule.span)::interval);
  -- Locked before rows are moved, so that none is inserted between the move and the attachment.
  if rule.key_column is not null then
    execute format('lock table %I in access exclusive mode', rule.parent || '_default');
  end if;
  execute format('create table %I (like %I including defaults including constraints including storage)', name, rule.parent);
  if rule.key_column is not null then
    execute format(
      'with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
      rule.parent || '_default', rule.key_column, low, rule.key_column, high, name);
  end if;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', rule.parent, name, low, high);
  return true;
end
$$;

-- Looks and drops under one lock: a row inserted in between would be lost.
create function drop_partition(parent_table text, start timestamptz, cutoff timestamptz) returns boolean
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rules;
  name text;
  young boolean;
begin
  select * into strict rule from partition_rules where parent = parent_table;
  name := partition_name(rule, start);
  if cutoff > clock_timestamp() - rule.keep or start + ('1 ' || rule.span)::interval > cutoff or date_trunc(rule.span, start) <> start
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

-- Old rows of a default partition.
create function trim_default_partition(parent_table text, cutoff timestamptz) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  rule partition_rules;
begin
  select * into strict rule from partition_rules where parent = parent_table and age_column is not null;
  if cutoff > clock_timestamp() - rule.keep then
    raise exception 'rows of % are too young to be deleted', rule.parent using errcode = 'P0001', constraint = 'partition_kept';
  end if;
  execute format('delete from %I where %I < $1', rule.parent || '_default', rule.age_column) using cutoff;
end
$$;
