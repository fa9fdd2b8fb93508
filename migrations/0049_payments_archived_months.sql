-- Evidence of old payments may be removed after it was written to an archive. The ledger, transactions and everything that
-- explains a balance stay for good. Only the owner of the database removes: the service has neither the right nor a function that
-- has it.

create table archived_months (
  month date constraint archived_month_once primary key constraint archived_month_begins check (month = date_trunc('month', month)),
  archived_at timestamptz not null,
  removed_at timestamptz not null,
  rows_removed bigint not null constraint archived_rows_sane check (rows_removed >= 0),
  rows_kept bigint not null constraint archived_kept_sane check (rows_kept >= 0),
  manifest_sha256 text not null constraint archived_manifest_form check (manifest_sha256 ~ '^[0-9a-f]{64}$')
);
comment on table archived_months is
  'Months (of the creation of payments, in UTC) whose evidence was removed after it had been written to an archive.';
comment on column archived_months.archived_at is 'When the archive was written. Reports that came later were not removed.';
comment on column archived_months.rows_kept is
  'What stayed: evidence of payments that are open, have or had a case, changed lately, or succeeded after they had failed.';
comment on column archived_months.manifest_sha256 is 'Which archive has the rows: the SHA-256 of the manifest of the month.';
create trigger archived_months_append_only before update or delete or truncate on archived_months
  for each statement execute function refuse_change();

-- Removes the evidence of one month that an archive has: rows up to the newest that was archived, of payments that have ended for
-- good. Refuses when the database has another number of such rows than the archive. Not "security definer": it needs the rights of
-- the owner, who gives them by calling it.
create function remove_archived_evidence(
  start timestamptz, archived_rows bigint, archived_last_id bigint, written_at timestamptz, manifest text)
  returns archived_months language plpgsql set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rules;
  low uuid;
  high uuid;
  name text;
  cutoff timestamptz := clock_timestamp() - interval '180 days';
  known bigint;
  removed bigint := 0;
  done archived_months;
begin
  if date_trunc('month', start) <> start or start + interval '1 month' > cutoff then
    raise exception 'evidence is kept for 180 days after the end of its month' using errcode = 'P0001', constraint = 'evidence_kept';
  end if;
  select * into strict rule from partition_rules where parent = 'evidence';
  perform lock_partitions(rule.parent);
  low := partition_bound(rule, start)::uuid;
  high := partition_bound(rule, start + interval '1 month')::uuid;
  name := partition_name(rule, start);
  if to_regclass(name) is not null then
    -- Late reports about this month wait here; they are then kept in the default partition.
    execute format('lock table %I in share row exclusive mode', name);
  end if;
  select count(*) into known from evidence where transaction_id >= low and transaction_id < high and id <= archived_last_id;
  if known <> archived_rows then
    raise exception 'the archive has % rows of evidence of this month, the database %', archived_rows, known
      using errcode = 'P0001', constraint = 'evidence_archived';
  end if;
  -- What people had to look at stays, and what verifying the books still asks for: an earlier failure of a payment that succeeded.
  create temporary table ended_for_good on commit drop as
    select t.holder_id, t.id
    from (select h.id from holders h union all select 0) holder
    join transactions t on t.holder_id = holder.id and t.id >= low and t.id < high
    where t.status in ('success', 'failed', 'expired', 'reversed') and t.updated_at < cutoff
      and not exists (select from payment_jobs j where j.holder_id = t.holder_id and j.transaction_id = t.id)
      and not exists (select from cases c where c.holder_id = t.holder_id and c.transaction_id = t.id)
      and not (t.status in ('success', 'reversed') and exists (
        select from evidence v
        where v.holder_id = t.holder_id and v.transaction_id = t.id and v.state = 'failed' and v.effect = 'applied'));
  alter table ended_for_good add primary key (holder_id, id);
  analyze ended_for_good;
  if to_regclass(name) is not null then
    -- Chosen before the partition is dropped, which locks the whole table until the commit.
    execute format('create temporary table evidence_kept on commit drop as select * from %I e where e.id > $1
      or not exists (select from ended_for_good t where t.holder_id = e.holder_id and t.id = e.transaction_id)', name)
      using archived_last_id;
    execute format('select count(*) from %I', name) into removed;
    removed := removed - (select count(*) from evidence_kept);
    execute format('drop table %I', name);
    insert into evidence overriding system value select * from evidence_kept;
  else
    -- The month shares a partition with others: the one from before there were months, or the default one.
    for name in select i.inhrelid::regclass from pg_inherits i
      where i.inhparent = 'evidence'::regclass and i.inhrelid::regclass::text in ('evidence_before', 'evidence_default')
    loop
      execute format('with gone as (delete from %s e using ended_for_good t
        where t.holder_id = e.holder_id and t.id = e.transaction_id and e.id <= $1 returning 1)
        select $2 + count(*) from gone', name) into removed using archived_last_id, removed;
    end loop;
  end if;
  insert into archived_months (month, archived_at, removed_at, rows_removed, rows_kept, manifest_sha256)
  values (start::date, written_at, clock_timestamp(), removed, archived_rows - removed, manifest)
  returning * into done;
  return done;
end
$$;

-- Settings of vacuum, by how a table is used. Only the catalogue changes: no row is read, and reads and writes go on.
--
-- Rows that are only added: vacuumed after so many new ones, not after a fifth of all there ever were, and frozen at once, so that no page
-- of history is written a second time and no vacuum against wraparound finds years of work.
alter table ledger_transfers set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000,
  autovacuum_freeze_min_age = 0, autovacuum_analyze_scale_factor = 0.02);
alter table operator_receipts set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000,
  autovacuum_analyze_scale_factor = 0.02);
alter table audit_log set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_freeze_min_age = 0);
alter table audit_chain set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_freeze_min_age = 0);
-- Changed for minutes and then never again: the dead versions of a fiftieth are cleaned away before they fill pages that others need.
alter table transactions set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02);
-- Few rows that change with every payment. A vacuum takes milliseconds, and is most wanted when a long report has just ended.
alter table ledger_accounts set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
alter table event_feeds set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table callback_deliveries set (autovacuum_vacuum_cost_delay = 0);

-- Leases that have ended are looked for every few seconds. A block range index costs almost nothing to write. It helps when it is needed:
-- while old rows cannot be cleaned away, new ones are at the end of the table.
create index callback_deliveries_leased on callback_deliveries using brin (due_at) with (pages_per_range = 16) where leased;
