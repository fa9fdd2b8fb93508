-- What the migrations make together, for reading and for review. Written by: npm run schema
-- Partitions are left out: the service makes and drops them while it runs.

create type transfer_kind as enum ('collection', 'collection_fee', 'collection_reversal', 'collection_fee_reversal', 'payout_reserve', 'payout', 'payout_fee', 'payout_release', 'payout_reversal', 'payout_fee_reversal', 'suspense', 'suspense_credit', 'suspense_income', 'suspense_return', 'sandbox_top_up', 'refund_reserve', 'refund', 'refund_fee', 'refund_release', 'debt', 'debt_recovery', 'debt_recovery_reversal', 'debt_write_off', 'suspense_credit_reversal', 'suspense_income_reversal', 'operator_fee', 'operator_fee_return', 'reserve_hold', 'reserve_release', 'reserve_use', 'reserve_cover', 'debt_recovery_release', 'dispute_hold', 'dispute_shortfall', 'dispute_cover', 'dispute_cover_reversal', 'dispute_cover_release', 'dispute_shortfall_end', 'dispute_release', 'dispute_loss', 'dispute_loss_short', 'dispute_loss_fee', 'bank_fee', 'bank_fee_return', 'operator_settlement', 'operator_settlement_fee', 'operator_settlement_short', 'operator_funding', 'settlement', 'settlement_paid', 'settlement_release');

CREATE OR REPLACE FUNCTION public.audit_hash(previous bytea, line text)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$ select sha256(convert_to(encode(previous, 'hex') || E'\n' || line, 'UTF8')) $function$;

CREATE OR REPLACE FUNCTION public.audit_line(entry audit_log, in_stream bigint, at_position bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  select jsonb_build_object(
    'stream', in_stream, 'position', at_position, 'id', entry.id,
    'at', to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'holder_id', entry.holder_id, 'member_id', entry.member_id, 'actor', entry.actor, 'action', entry.action,
    'subject', entry.subject, 'details', entry.details)::text
$function$;

CREATE OR REPLACE FUNCTION public.count_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update change_count set version = version + 1;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.create_partition(parent_table text, moment timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.drop_partition(parent_table text, start timestamp with time zone, cutoff timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
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
    execute format('select exists (select 1 from %I where %I >= $1)', name, rule.age_column) into young using cutoff;
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
    execute format('select exists (select 1 from %I where %I >= $1)', name, rule.age_column) into young using cutoff;
    if young then
      return false;
    end if;
  end if;
  execute format('drop table %I', name);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION public.keep_past_chain()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.link_audit_row(entry audit_log)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  own_stream bigint := coalesce(entry.holder_id, 0);
  previous audit_streams;
  own_hash bytea;
begin
  select * into previous from audit_streams where stream = own_stream for update;
  if not found then
    -- Two first rows of a stream at the same moment: the second waits here, then reads what the first wrote.
    insert into audit_streams (stream, position, hash)
    values (own_stream, 1, audit_hash(decode(repeat('00', 32), 'hex'), audit_line(entry, own_stream, 1)))
    on conflict do nothing returning * into previous;
    if found then
      insert into audit_chain (stream, position, audit_id, hash) values (own_stream, 1, entry.id, previous.hash);
      return;
    end if;
    select * into strict previous from audit_streams where stream = own_stream for update;
  end if;
  own_hash := audit_hash(previous.hash, audit_line(entry, own_stream, previous.position + 1));
  insert into audit_chain (stream, position, audit_id, hash) values (own_stream, previous.position + 1, entry.id, own_hash);
  update audit_streams set position = previous.position + 1, hash = own_hash where stream = own_stream;
end
$function$;

CREATE OR REPLACE FUNCTION public.link_new_audit_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  own_stream bigint := coalesce(new.holder_id, 0);
  entry audit_log;
  head audit_streams;
begin
  -- By the first row of this transaction.
  if exists (select from audit_chain where audit_id = new.id) then
    return null;
  end if;
  perform link_audit_row(new);
  select * into strict head from audit_streams where stream = own_stream;
  -- A row of a savepoint has another xmin; it is linked by its own trigger.
  for entry in
    select * from audit_log l
    where id > new.id and xmin = pg_current_xact_id()::xid and coalesce(holder_id, 0) = own_stream
      and not exists (select from audit_chain where audit_id = l.id)
    order by id
  loop
    head.position := head.position + 1;
    head.hash := audit_hash(head.hash, audit_line(entry, own_stream, head.position));
    insert into audit_chain (stream, position, audit_id, hash) values (own_stream, head.position, entry.id, head.hash);
  end loop;
  if entry.id is not null then
    update audit_streams set position = head.position, hash = head.hash where stream = own_stream;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.lock_accounts(holder_ids bigint[], keys text[], places tid[])
 RETURNS TABLE(locked_id bigint, locked_key text, locked_balance bigint, locked_updated_at timestamp with time zone, locked_place text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query
    select coalesce(placed.id, keyed.id), wanted.key, coalesce(placed.balance, keyed.balance),
           coalesce(placed.updated_at, keyed.updated_at), coalesce(placed.place, keyed.place)::text
    from unnest(holder_ids, keys, places) as wanted (holder_id, key, place)
    left join lateral (
      select a.id, a.balance, a.updated_at, a.ctid as place from ledger_accounts a
      where a.ctid = wanted.place and a.holder_id = wanted.holder_id and a.key = wanted.key
      for no key update
    ) as placed on true
    left join lateral (
      select a.id, a.balance, a.updated_at, a.ctid as place from ledger_accounts a
      where placed.id is null and a.holder_id = wanted.holder_id and a.key = wanted.key
      for no key update
    ) as keyed on true
    where coalesce(placed.id, keyed.id) is not null;
end
$function$;

CREATE OR REPLACE FUNCTION public.lock_partitions(parent text)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'public', 'pg_temp'
AS $function$ select pg_advisory_xact_lock(731058300, hashtext(parent)) $function$;

CREATE OR REPLACE FUNCTION public.new_link_code()
 RETURNS text
 LANGUAGE sql
AS $function$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (get_byte(bytes, place) & 31), 1), '')
  from (select uuid_send(gen_random_uuid()) as bytes) random, unnest(array[0, 1, 2, 3, 4, 5, 7, 9, 10, 11]) as place
$function$;

CREATE OR REPLACE FUNCTION public.partition_bound(rule partition_rules, moment timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.partition_name(rule partition_rules, start timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$ select rule.parent || '_' || to_char(start, case when rule.span = 'month' then 'YYYY_MM' else 'YYYYMMDDHH24' end) $function$;

CREATE OR REPLACE FUNCTION public.post_transfers(holder_ids bigint[], debit_accounts bigint[], credit_accounts bigint[], amounts bigint[], debit_balances bigint[], credit_balances bigint[], transaction_ids uuid[], kinds transfer_kind[], currencies text[], debit_places tid[], credit_places tid[], position_places tid[], moment timestamp with time zone)
 RETURNS TABLE(moved_holder bigint, moved_account bigint, moved_to text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  counted_holders bigint[];
  counted_transfers bigint[];
  counted_places tid[];
  raised_holders bigint[];
  raised_positions bigint[];
  raised_places tid[];
  positions bigint[];
  net_holders bigint[];
  net_accounts bigint[];
  net_currencies text[];
  net_changes bigint[];
  net_balances bigint[];
  net_places tid[];
  moved bigint;
begin
  if moment > clock_timestamp() + interval '30 seconds' then
    if not exists (
      select 1 from ledger_transfers t
      where t.holder_id = any (holder_ids) and t.posted_at >= moment
        and (t.debit_account = any (debit_accounts || credit_accounts) or t.credit_account = any (debit_accounts || credit_accounts)))
    then
      raise exception 'a posting may not be more than 30 seconds ahead of the clock of the database'
        using errcode = '23514', constraint = 'posting_not_in_future', table = 'ledger_transfers';
    end if;
  end if;
  set local simbi.posting = 'on';
  select array_agg(holder_id order by holder_id), array_agg(transfers order by holder_id), array_agg(place order by holder_id)
  into counted_holders, counted_transfers, counted_places
  from (
    select holder_id, count(*) as transfers, min(place) as place
    from unnest(holder_ids, position_places) as posted (holder_id, place) group by holder_id
  ) as counted;
  if position_places is null then
    insert into ledger_positions (holder_id)
    select holder_id from unnest(counted_holders) as counted (holder_id)
    on conflict do nothing;
    with raised as (
      update ledger_positions p set position = p.position + counted.transfers
      from unnest(counted_holders, counted_transfers) as counted (holder_id, transfers)
      where p.holder_id = counted.holder_id
      returning p.holder_id, p.position
    )
    select array_agg(position order by holder_id) into raised_positions from raised;
  else
    with found as materialized (
      select counted.holder_id, counted.transfers, coalesce(
          (select p.ctid from ledger_positions p where p.ctid = counted.place and p.holder_id = counted.holder_id),
          (select p.ctid from ledger_positions p where p.holder_id = counted.holder_id)
        ) as place
      from unnest(counted_holders, counted_transfers, counted_places) as counted (holder_id, transfers, place)
    ), raised as (
      update ledger_positions p set position = p.position + found.transfers
      from (select * from found order by holder_id) as found where p.ctid = found.place
      returning p.holder_id, p.position, p.ctid as place
    )
    select array_agg(holder_id order by holder_id), array_agg(position order by holder_id), array_agg(place order by holder_id)
    into raised_holders, raised_positions, raised_places from raised;
    if raised_holders is distinct from counted_holders then
      -- Those that another posting moved while this one waited for the lock, and those that have no position yet.
      with raised as (
        insert into ledger_positions as p (holder_id, position)
        select holder_id, transfers from unnest(counted_holders, counted_transfers) as counted (holder_id, transfers)
        where holder_id <> all (coalesce(raised_holders, '{}'))
        on conflict (holder_id) do update set position = p.position + excluded.position
        returning p.holder_id, p.position, p.ctid as place
      ), every as (
        select holder_id, position, place from raised
        union all
        select * from unnest(raised_holders, raised_positions, raised_places) as before (holder_id, position, place)
      )
      select array_agg(holder_id order by holder_id), array_agg(position order by holder_id), array_agg(place order by holder_id)
      into raised_holders, raised_positions, raised_places from every;
    end if;
  end if;
  -- By rank and not by a join: without hash joins every transfer would be compared with every holder.
  select array_agg(raised_positions[rank] - counted_transfers[rank] + ordinal order by turn) into positions
  from (
    select turn, dense_rank() over (order by holder_id) as rank, row_number() over (partition by holder_id order by turn) as ordinal
    from unnest(holder_ids) with ordinality as posted (holder_id, turn)
  ) as posted;
  insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance,
                                posted_at, transaction_id, kind, currency, position)
  select holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, moment, transaction_id, kind, currency, position
  from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds, currencies,
              positions)
    as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, transaction_id, kind, currency, position);
  with posted as (
    select * from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, currencies,
                         debit_places, credit_places)
      with ordinality as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, currency,
                                 debit_place, credit_place, turn)
  ), side as (
    select holder_id, debit_account as account, currency, -amount as change, debit_balance as balance, debit_place as place, turn
    from posted
    union all
    select holder_id, credit_account, currency, amount, credit_balance, credit_place, turn from posted
  ), net as (
    select holder_id, account, currency, sum(change)::bigint as change, (array_agg(balance order by turn desc))[1] as balance,
           min(place) as place
    from side group by holder_id, account, currency
  )
  select array_agg(holder_id), array_agg(account), array_agg(currency), array_agg(change), array_agg(balance), array_agg(place)
  into net_holders, net_accounts, net_currencies, net_changes, net_balances, net_places from net;
  if position_places is not null then
    -- "+ 0", for which there is no index: the planner would take an index of a small table for cheaper than the place.
    return query
      update ledger_accounts a set balance = net.balance, updated_at = moment
      from unnest(net_holders, net_accounts, net_currencies, net_changes, net_balances, net_places)
        as net (holder_id, account, currency, change, balance, place)
      where a.ctid = net.place and a.holder_id + 0 = net.holder_id and a.id + 0 = net.account and a.currency = net.currency
        and a.balance + net.change = net.balance and a.updated_at <= moment
      returning a.holder_id, a.id, a.ctid::text;
  else
    update ledger_accounts a set balance = net.balance, updated_at = moment
    from unnest(net_holders, net_accounts, net_currencies, net_changes, net_balances) as net (holder_id, account, currency, change, balance)
    where a.holder_id = net.holder_id and a.id = net.account and a.currency = net.currency
      and a.balance + net.change = net.balance and a.updated_at <= moment;
  end if;
  get diagnostics moved = row_count;
  if moved <> cardinality(net_accounts) then
    raise exception 'a transfer does not fit its accounts: unknown account, other holder or currency, or stale balance'
      using errcode = '23514', constraint = 'transfer_fits_accounts', table = 'ledger_transfers';
  end if;
  set local simbi.posting = 'off';
  return query
    select holder_id, null::bigint, place::text from unnest(raised_holders, raised_places) as raised (holder_id, place);
end
$function$;

CREATE OR REPLACE FUNCTION public.post_transfers(holder_ids bigint[], debit_accounts bigint[], credit_accounts bigint[], amounts bigint[], debit_balances bigint[], credit_balances bigint[], transaction_ids uuid[], kinds transfer_kind[], currencies text[], moment timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform post_transfers(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds,
                         currencies, null, null, null, moment);
end
$function$;

CREATE OR REPLACE FUNCTION public.raise_event_feeds(holder_ids bigint[], events bigint[], places tid[])
 RETURNS TABLE(raised_holder bigint, raised_position bigint, raised_place text)
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  raised_holders bigint[];
  raised_positions bigint[];
  raised_places text[];
begin
  with found as materialized (
    select counted.holder_id, counted.events, coalesce(
        (select f.ctid from event_feeds f where f.ctid = counted.place and f.holder_id = counted.holder_id),
        (select f.ctid from event_feeds f where f.holder_id = counted.holder_id)
      ) as place
    from unnest(holder_ids, events, places) as counted (holder_id, events, place)
  ), raised as (
    update event_feeds f set last_position = f.last_position + found.events
    from (select * from found order by holder_id) as found where f.ctid = found.place
    returning f.holder_id, f.last_position, f.ctid::text as place
  )
  select array_agg(holder_id), array_agg(last_position), array_agg(place)
  into raised_holders, raised_positions, raised_places from raised;
  return query select * from unnest(raised_holders, raised_positions, raised_places);
  if cardinality(raised_holders) is distinct from cardinality(holder_ids) then
    -- Those that another transaction moved while this one waited for the lock, and those that have no event yet.
    return query
      insert into event_feeds as f (holder_id, last_position)
      select counted.holder_id, counted.events from unnest(holder_ids, events) as counted (holder_id, events)
      where counted.holder_id <> all (coalesce(raised_holders, '{}'))
      order by counted.holder_id
      on conflict (holder_id) do update set last_position = f.last_position + excluded.last_position
      returning f.holder_id, f.last_position, f.ctid::text;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.record_sign_in()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into audit_log (at, holder_id, member_id, actor, action, details)
  select new.created_at, null, new.member_id, m.email, 'member.signed_in', jsonb_build_object('address', new.address)
  from members m where m.id = new.member_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_account_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'ledger accounts change only by transfers' using errcode = 'P0001', constraint = 'account_follows_transfers';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'P0001', constraint = tg_table_name || '_append_only';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_new_terms()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the amount of transaction % was paid and cannot change', old.id
    using errcode = 'P0001', constraint = 'transaction_paid_amount', table = 'transactions';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_reopening()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% % was decided and cannot change', tg_table_name, old.id
    using errcode = 'P0001', constraint = tg_table_name || '_final_state', table = tg_table_name;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_transfer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'transfers are added only by post_transfers' using errcode = 'P0001', constraint = 'transfer_moves_balances';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_transition()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'transaction % is % and cannot become %', old.id, old.status, new.status
    using errcode = 'P0001', constraint = 'transaction_final_state', table = 'transactions';
end
$function$;

CREATE OR REPLACE FUNCTION public.remove_archived_evidence(start timestamp with time zone, archived_rows bigint, archived_last_id bigint, written_at timestamp with time zone, manifest text)
 RETURNS archived_months
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.require_withdrawal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from gone g where not exists (
      select from statement_withdrawals w where w.file_id = g.file_id and w.written_in = pg_current_xact_id())) then
    raise exception 'lines of a statement go only when it is withdrawn'
      using errcode = 'P0001', constraint = 'statement_lines_append_only';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.require_withdrawn_match()
 RETURNS trigger
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  withdrawals bigint[] := array(select id from statement_withdrawals where written_in = pg_current_xact_id());
begin
  -- A question for each line, by whole keys only. The planner knows nothing of these rows and would take any other index, or a join.
  if exists (select from gone g where not coalesce((
      select bool_or((w.connection, w.day, w.currency, w.moved, w.fee, w.line_seal, w.seen_at, w.matched_at, w.match_seal)
          is not distinct from (g.connection, g.day, g.currency, g.moved, g.fee, g.line_seal, g.seen_at, g.matched_at, g.match_seal)
        and (select s.file_id from statement_withdrawals s where s.id = w.withdrawal_id)
          = (select l.file_id from statement_lines l where l.connection = g.connection and l.line_key = g.line_key))
      from withdrawn_matches w where w.withdrawal_id = any (withdrawals) and w.line_key = g.line_key), false)) then
    raise exception 'what a line counted as goes only when its statement is withdrawn'
      using errcode = 'P0001', constraint = 'statement_matches_append_only';
  end if;
  if exists (select from (select distinct connection, currency, day from gone) g
      join closes c on c.connection = g.connection and c.currency = g.currency and c.day = g.day and c.kind = 'close'
      where not exists (select from closes r where r.connection = c.connection and r.currency = c.currency
        and r.kind = 'reopening' and r.day <= c.day and r.number > c.number)) then
    raise exception 'a line of a signed day stays' using errcode = 'P0001', constraint = 'withdrawal_not_of_signed_day';
  end if;
  if exists (select from gone g join breaks b on b.connection = g.connection and b.line_key = g.line_key
      join break_proposal_items i on i.break_id = b.id and i.result is null) then
    raise exception 'a line waits for a decision' using errcode = 'P0001', constraint = 'withdrawal_not_of_proposed_break';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.simbi_holder()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ select nullif(current_setting('simbi.holder_id', true), '')::bigint $function$;

CREATE OR REPLACE FUNCTION public.trim_default_partition(parent_table text, cutoff timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
declare
  rule partition_rules;
begin
  select * into strict rule from partition_rules where parent = parent_table and age_column is not null;
  if rule.keep is null or cutoff > clock_timestamp() - rule.keep then
    raise exception 'rows of % are too young to be deleted', rule.parent using errcode = 'P0001', constraint = 'partition_kept';
  end if;
  execute format('delete from %I where %I < $1', rule.parent || '_default', rule.age_column) using cutoff;
end
$function$;

-- 0001_holders.sql

create table holders (
  id bigint not null generated always as identity,
  name text not null,
  status text not null default 'active'::text,
  payouts_need_approval boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  time_zone text not null default 'UTC'::text,
  constraint holders_pkey PRIMARY KEY (id),
  constraint holder_id_fits_ids CHECK (((id >= 1) AND (id <= 268435455))),
  constraint holder_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
  constraint holder_status_known CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'closed'::text]))),
  constraint holder_time_zone_length CHECK (((char_length(time_zone) >= 1) AND (char_length(time_zone) <= 64)))
);
comment on table holders is
  'A business that uses the gateway.';
comment on column holders.payouts_need_approval is
  'A payout ordered by one person waits until another approves it.';
comment on column holders.time_zone is
  'A name of the IANA database, such as Africa/Nairobi. Days of reports begin at its midnight.';
CREATE TRIGGER holders_counted AFTER INSERT OR DELETE OR UPDATE OF status, name ON holders FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table members (
  id bigint not null generated always as identity,
  email text not null,
  name text not null,
  password_hash text,
  totp_sealed bytea,
  totp_pending bytea,
  totp_last_step bigint,
  is_admin boolean not null default false,
  created_at timestamp with time zone not null,
  email_proven_at timestamp with time zone,
  credentials_version bigint not null default 0,
  passkey_user_id bytea,
  constraint members_pkey PRIMARY KEY (id),
  constraint member_email_unique UNIQUE (email),
  constraint member_email_plain CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  constraint member_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
  constraint member_passkey_user_id_length CHECK ((octet_length(passkey_user_id) = 32))
);
comment on table members is
  'A person who signs in to the console.';
comment on column members.totp_sealed is
  'The secret of the second factor, sealed under the master key.';
comment on column members.totp_pending is
  'A second factor that its owner has not proved yet, sealed in the same way.';
comment on column members.totp_last_step is
  'The newest time step whose code was accepted: a code works once.';
comment on column members.is_admin is
  'Admins run the gateway and see every holder.';
comment on column members.email_proven_at is
  'When somebody used a link that only the reader of this mailbox, or the host, could have given them. Null: the person may be anybody, and gets no rights from another holder or from the host.';
comment on column members.credentials_version is
  'Grows when password, second factor and sessions are forgotten: a sign-in that was on its way then opens no session.';
comment on column members.passkey_user_id is
  'The name of this person in their passkeys: random, so that a passkey tells nobody who its owner is.';

create table memberships (
  member_id bigint not null,
  holder_id bigint not null,
  role text not null,
  created_at timestamp with time zone not null,
  constraint memberships_pkey PRIMARY KEY (member_id, holder_id),
  constraint membership_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text]))),
  constraint memberships_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint memberships_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table memberships is
  'Which person acts for which holder, and in which role.';
CREATE INDEX memberships_by_holder ON public.memberships USING btree (holder_id);

create table sessions (
  id bigint not null generated always as identity,
  member_id bigint not null,
  token_hash bytea not null,
  user_agent text not null default ''::text,
  address text not null default ''::text,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  confirmed_until timestamp with time zone,
  revoked_at timestamp with time zone,
  holder_id bigint,
  credentials_version bigint not null default 0,
  enrol_until timestamp with time zone,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint session_token_unique UNIQUE (token_hash),
  constraint sessions_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint sessions_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table sessions is
  'A browser that is signed in to the console.';
comment on column sessions.confirmed_until is
  'Until then the person has proved the second factor or the password for dangerous actions.';
comment on column sessions.holder_id is
  'The holder that the person is looking at.';
comment on column sessions.credentials_version is
  'That of the member when the sign-in began. A session with an older one is over.';
comment on column sessions.enrol_until is
  'Until then the first second factor may be set up: the person has just typed the password, or used a login link.';
CREATE INDEX sessions_by_member ON public.sessions USING btree (member_id);
CREATE TRIGGER sessions_recorded AFTER INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION record_sign_in();

create table login_links (
  token_hash bytea not null,
  member_id bigint not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint login_links_pkey PRIMARY KEY (token_hash),
  constraint login_links_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table login_links is
  'Links that sign a person in once, without a password.';

create table invitations (
  id bigint not null generated always as identity,
  token_hash bytea not null,
  holder_id bigint,
  email text not null,
  role text,
  invited_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  withdrawn_at timestamp with time zone,
  proves_email boolean not null default false,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitation_token_unique UNIQUE (token_hash),
  constraint invitation_email_plain CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  constraint invitation_holder_has_role CHECK (((holder_id IS NULL) = (role IS NULL))),
  constraint invitation_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text]))),
  constraint invitations_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table invitations is
  'An offer to join a holder. Without a holder: the offer to be an admin of the gateway.';
comment on column invitations.proves_email is
  'The link was sent by mail, or made on the host: who uses it has the address. A link that an inviter saw proves nothing.';
CREATE INDEX invitations_by_holder ON public.invitations USING btree (holder_id, id DESC);

create table integrations (
  id bigint not null generated always as identity,
  holder_id bigint not null,
  client_id text not null,
  title text not null,
  status text not null default 'active'::text,
  allowed_addresses text[] not null default '{}'::text[],
  default_callback_url text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  redirect_hosts text[] not null default '{}'::text[],
  constraint integrations_pkey PRIMARY KEY (id),
  constraint integration_client_id_unique UNIQUE (client_id),
  constraint integration_redirect_hosts_few CHECK ((cardinality(redirect_hosts) <= 50)),
  constraint integration_status_known CHECK ((status = ANY (ARRAY['active'::text, 'revoked'::text]))),
  constraint integration_title_length CHECK (((char_length(title) >= 1) AND (char_length(title) <= 120))),
  constraint integrations_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table integrations is
  'A program of a holder that calls the API.';
comment on column integrations.title is
  'The sender of the specification, compared exactly.';
comment on column integrations.allowed_addresses is
  'Empty: any address may call.';
comment on column integrations.redirect_hosts is
  'Hosts that a payment link may send the payer to; *.example.org stands for every host below it. Empty: any.';
CREATE INDEX integrations_by_holder ON public.integrations USING btree (holder_id);
CREATE TRIGGER integrations_counted AFTER INSERT OR DELETE OR UPDATE OF title, status, allowed_addresses, default_callback_url, redirect_hosts ON integrations FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table integration_secrets (
  integration_id bigint not null,
  kind text not null,
  slot integer not null,
  sealed bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  id bigint not null generated always as identity,
  name text not null default 'default'::text,
  scopes text[] not null default '{collect,read,refund,links}'::text[],
  allowed_addresses text[] not null default '{}'::text[],
  last_used_at timestamp with time zone,
  constraint integration_secrets_pkey PRIMARY KEY (integration_id, kind, slot),
  constraint secret_id_unique UNIQUE (id),
  constraint secret_kind_known CHECK ((kind = ANY (ARRAY['api'::text, 'callback'::text]))),
  constraint secret_name_form CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,39}$'::text)),
  constraint secret_scopes_known CHECK (((scopes <@ '{collect,read,refund,links}'::text[]) AND (cardinality(scopes) > 0))),
  constraint secret_slot_sane CHECK ((slot > 0)),
  constraint integration_secrets_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id)
);
comment on table integration_secrets is
  'Secrets of an integration. An API key is a name: a rotation adds a secret with the same name and sets the end of the one before it.';
comment on column integration_secrets.slot is
  'Numbers the secrets of a kind.';
comment on column integration_secrets.expires_at is
  'When it stops working: the end of the overlap after a rotation, or the moment it was revoked.';
comment on column integration_secrets.id is
  'Tokens name the secret that made them by it. A secret that replaces another has its own.';
comment on column integration_secrets.name is
  'The key that the secret belongs to. Callback secrets have one name.';
comment on column integration_secrets.scopes is
  'What an API key may do. Callback secrets do not use it.';
comment on column integration_secrets.allowed_addresses is
  'Empty: any address that the integration allows. Otherwise a request must come from an address that both lists allow.';
comment on column integration_secrets.last_used_at is
  'Written at most once a minute.';
CREATE UNIQUE INDEX secret_current_once ON public.integration_secrets USING btree (integration_id, kind, name) WHERE (expires_at IS NULL);
CREATE TRIGGER integration_secrets_counted AFTER INSERT OR DELETE OR UPDATE OF integration_id, kind, slot, sealed, expires_at, name, scopes, allowed_addresses ON integration_secrets FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table tokens (
  id bigint not null generated always as identity,
  integration_id bigint not null,
  secret_hash bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  secret_id bigint not null,
  address text not null default ''::text,
  last_used_at timestamp with time zone,
  last_address text,
  constraint tokens_pkey PRIMARY KEY (id),
  constraint token_secret FOREIGN KEY (secret_id) REFERENCES integration_secrets(id),
  constraint tokens_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id)
);
comment on table tokens is
  'Bearer tokens of the API. Only a hash is stored.';
comment on column tokens.secret_id is
  'The secret that it was bought with. It ends with it, has its scopes and signs with it.';
comment on column tokens.address is
  'Where it was asked for from.';
comment on column tokens.last_used_at is
  'Written at most once a minute.';
CREATE INDEX tokens_by_integration ON public.tokens USING btree (integration_id);
CREATE INDEX tokens_by_secret ON public.tokens USING btree (secret_id, id);

create table spent_signatures (
  signed_at timestamp with time zone not null,
  signature bytea not null,
  constraint signature_spent_once PRIMARY KEY (signed_at, signature)
) partition by RANGE (signed_at);
comment on table spent_signatures is
  'A signature works once. The signed timestamp is part of what is signed, so the same signature always falls into the same partition and the key holds over all of them. Partitions older than the tolerance are dropped whole. One space for all holders.';

create table idempotency_keys (
  holder_id bigint not null,
  integration_id bigint not null,
  key text not null,
  operation text not null,
  params_hash bytea not null,
  answer json not null,
  created_at timestamp with time zone not null,
  constraint idempotency_key_once PRIMARY KEY (holder_id, integration_id, key),
  constraint idempotency_key_length CHECK (((char_length(key) >= 1) AND (char_length(key) <= 128)))
);
comment on table idempotency_keys is
  'What the first request with a key answered. A key is free again after 24 hours.';
comment on column idempotency_keys.answer is
  'Repeated as it was: json, unlike jsonb, keeps the order of members.';
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING brin (created_at);

create table audit_log (
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  holder_id bigint,
  member_id bigint,
  actor text not null,
  action text not null,
  subject text not null default ''::text,
  details jsonb not null default '{}'::jsonb,
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint audit_log_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
) with (autovacuum_freeze_min_age=0, autovacuum_vacuum_insert_scale_factor=0.05);
comment on table audit_log is
  'What people did. Rows are only added.';
comment on column audit_log.actor is
  'The e-mail address of the person, or "command line".';
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (holder_id, actor, id DESC);
CREATE INDEX audit_log_by_holder ON public.audit_log USING btree (holder_id, id DESC);
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE CONSTRAINT TRIGGER audit_log_linked AFTER INSERT ON audit_log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION link_new_audit_row();

create table change_count (
  single boolean not null default true,
  version bigint not null default 0,
  constraint change_count_pkey PRIMARY KEY (single),
  constraint change_count_single CHECK (single)
);
comment on table change_count is
  'Every process caches integrations and fees. This number grows with each change, so that each process knows when to clear its cache.';

create table request_log (
  at timestamp with time zone not null,
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  transaction_id uuid,
  ms real not null,
  status smallint not null,
  route text not null,
  address text not null,
  code text
) partition by RANGE (at);
comment on table request_log is
  'One small row for each API request of a known integration, without bodies. Written in batches and dropped day by day after thirty days.';
comment on column request_log.transaction_id is
  'The transaction that was made or asked for, where there was one.';
comment on column request_log.code is
  'Why the request was refused.';
CREATE INDEX request_log_by_holder ON ONLY public.request_log USING btree (holder_id, at);

-- 0002_ledger.sql

create table wallets (
  wallet_account integer not null generated always as identity (start with 1001),
  holder_id bigint not null,
  currency text not null,
  created_at timestamp with time zone not null,
  constraint wallet_once_per_currency PRIMARY KEY (holder_id, currency),
  constraint wallet_number_once UNIQUE (holder_id, wallet_account),
  constraint wallet_currency_form CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint wallets_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table wallets is
  'The wallet of a holder in one currency.';
comment on column wallets.wallet_account is
  'The integer that the API shows. Drawn from one sequence, so it is unique over all holders.';

create table ledger_accounts (
  holder_id bigint not null,
  id bigint not null generated always as identity,
  balance bigint not null default 0,
  updated_at timestamp with time zone not null,
  may_go_negative boolean not null,
  wallet_account integer,
  currency text not null,
  kind text not null,
  rail text,
  key text collate "C" not null,
  constraint account_id PRIMARY KEY (holder_id, id),
  constraint account_key_unique UNIQUE (holder_id, key),
  constraint account_debt_not_positive CHECK (((kind <> ALL (ARRAY['holder_receivable'::text, 'dispute_shortfall'::text])) OR (balance <= 0))),
  constraint account_floor_fixed CHECK ((may_go_negative = (kind = ANY (ARRAY['operator_clearing'::text, 'bank'::text, 'sandbox_funding'::text, 'holder_receivable'::text, 'dispute_shortfall'::text, 'write_offs'::text, 'operator_fees'::text])))),
  constraint account_kind_known CHECK ((kind = ANY (ARRAY['wallet_available'::text, 'wallet_reserved'::text, 'wallet_held'::text, 'wallet_disputed'::text, 'settlement_payable'::text, 'operator_clearing'::text, 'bank'::text, 'fee_income'::text, 'suspense'::text, 'sandbox_funding'::text, 'holder_receivable'::text, 'dispute_shortfall'::text, 'write_offs'::text, 'operator_fees'::text]))),
  constraint account_not_overdrawn CHECK (((balance >= 0) OR may_go_negative)),
  constraint account_rail_named CHECK (((rail IS NOT NULL) = (kind = ANY (ARRAY['operator_clearing'::text, 'bank'::text])))),
  constraint account_wallet_named CHECK (((wallet_account IS NOT NULL) = (kind = ANY (ARRAY['wallet_available'::text, 'wallet_reserved'::text, 'wallet_held'::text, 'wallet_disputed'::text])))),
  constraint account_wallet_exists FOREIGN KEY (holder_id, wallet_account) REFERENCES wallets(holder_id, wallet_account)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=10);
comment on table ledger_accounts is
  'Accounts with their balances. Nine tenths of each page stay free, so that a new balance is written beside the old ones and no index is touched, also while a long report keeps old balances from being cleaned away.';
comment on column ledger_accounts.holder_id is
  'The holder whose money it is about. 0: the gateway itself (money whose owner is unknown).';
comment on column ledger_accounts.updated_at is
  'When the newest transfer of the account was posted. It never goes back.';
comment on column ledger_accounts.rail is
  'The rail whose operator holds the money of a clearing account; or the name of our account at a bank.';
comment on column ledger_accounts.key is
  'The name of the account in reports, for instance wallet:7:XOF:available.';
CREATE INDEX ledger_accounts_at_banks ON public.ledger_accounts USING btree (rail, currency) WHERE (kind = 'bank'::text);
CREATE INDEX ledger_accounts_by_kind ON public.ledger_accounts USING btree (kind, currency) WHERE (kind = ANY (ARRAY['operator_clearing'::text, 'suspense'::text, 'holder_receivable'::text]));
CREATE TRIGGER ledger_accounts_follow_transfers BEFORE UPDATE ON ledger_accounts FOR EACH STATEMENT WHEN (current_setting('simbi.posting'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_account_change();
CREATE TRIGGER ledger_accounts_stay BEFORE DELETE OR TRUNCATE ON ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_account_change();

create table ledger_transfers (
  batch xid8 not null default pg_current_xact_id(),
  id bigint not null generated always as identity,
  holder_id bigint not null,
  debit_account bigint not null,
  credit_account bigint not null,
  amount bigint not null,
  debit_balance bigint not null,
  credit_balance bigint not null,
  posted_at timestamp with time zone not null,
  transaction_id uuid not null,
  kind transfer_kind not null,
  currency text not null,
  position bigint,
  constraint transfer_posted_once PRIMARY KEY (holder_id, transaction_id, kind),
  constraint transfer_amount_positive CHECK ((amount > 0)),
  constraint transfer_between_two CHECK ((debit_account <> credit_account)),
  constraint transfer_position_counts CHECK (("position" > 0)) NOT VALID
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_freeze_min_age=0, autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000);
comment on table ledger_transfers is
  'Every movement of money: amount from the debit account to the credit account of one holder.';
comment on column ledger_transfers.batch is
  'The database transaction that posted the row.';
comment on column ledger_transfers.id is
  'Unique over all holders. It grows with time on one server; nothing that is sealed relies on that.';
comment on column ledger_transfers.debit_balance is
  'What the account holds after this transfer, as credit_balance does for the other side: a statement and a past balance are read, not added up.';
comment on column ledger_transfers.transaction_id is
  'The transaction, or the case, that the movement belongs to.';
comment on column ledger_transfers.position is
  'Counts the transfers of the holder from 1, without a gap, in the order of their commits. Null: posted before positions existed; those are in ledger_blocks.';
CREATE INDEX ledger_transfers_by_id ON public.ledger_transfers USING brin (id) WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX ledger_transfers_of_credit ON public.ledger_transfers USING btree (holder_id, credit_account, posted_at);
CREATE INDEX ledger_transfers_of_debit ON public.ledger_transfers USING btree (holder_id, debit_account, posted_at);
CREATE UNIQUE INDEX reserve_concluded_once ON public.ledger_transfers USING btree (holder_id, transaction_id, debit_account) WHERE (kind = ANY (ARRAY['payout'::transfer_kind, 'payout_release'::transfer_kind, 'refund'::transfer_kind, 'refund_release'::transfer_kind]));
CREATE UNIQUE INDEX settlement_concluded_once ON public.ledger_transfers USING btree (holder_id, transaction_id) WHERE (kind = ANY (ARRAY['settlement_paid'::transfer_kind, 'settlement_release'::transfer_kind]));
CREATE UNIQUE INDEX transfer_position_once ON public.ledger_transfers USING btree (holder_id, "position") WHERE ("position" IS NOT NULL);
CREATE TRIGGER ledger_transfers_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transfers_move_balances BEFORE INSERT ON ledger_transfers FOR EACH STATEMENT WHEN (current_setting('simbi.posting'::text, true) IS DISTINCT FROM 'on'::text) EXECUTE FUNCTION refuse_transfer();

create table ledger_blocks (
  number bigint not null,
  after_id bigint not null,
  last_id bigint not null,
  transfers integer not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamp with time zone not null,
  constraint block_number_once PRIMARY KEY (number),
  constraint block_follows_once UNIQUE (after_id),
  constraint block_goes_forward CHECK ((last_id > after_id)),
  constraint block_not_empty CHECK ((transfers > 0))
);
comment on table ledger_blocks is
  'The hash chain from before there were partitions: each block covers the transfers with after_id < id <= last_id, of all holders. It is complete. Its last hash is the beginning of every partition and of the heads.';
CREATE TRIGGER ledger_blocks_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_blocks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_blocks_closed BEFORE INSERT ON ledger_blocks FOR EACH ROW EXECUTE FUNCTION keep_past_chain();

-- 0003_payments.sql

create table transactions (
  holder_id bigint not null,
  id uuid not null,
  integration_id bigint,
  direction text not null,
  status text not null,
  amount bigint not null,
  fee bigint not null,
  currency text not null,
  country_id smallint not null,
  method text not null,
  rail text not null,
  msisdn text,
  payee text,
  invoice_no text,
  account_number text,
  detail text not null default ''::text,
  reference_1 text,
  reference_2 text,
  callback_url text,
  link_id uuid,
  verification text not null,
  rail_reference text,
  receipt text,
  failure_code text,
  failure_message text,
  balance_after bigint,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  settled_at timestamp with time zone,
  constraint transaction_id PRIMARY KEY (holder_id, id),
  constraint transaction_amount_positive CHECK ((amount > 0)),
  constraint transaction_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text, 'refund'::text]))),
  constraint transaction_failure_code_known CHECK ((failure_code = ANY (ARRAY['INSUFFICIENT_FUNDS'::text, 'WRONG_PIN'::text, 'PAYER_CANCELLED'::text, 'PAYER_NOT_FOUND'::text, 'PAYER_LIMIT_REACHED'::text, 'PAYER_BLOCKED'::text, 'PROMPT_EXPIRED'::text, 'VERIFICATION_FAILED'::text, 'AMOUNT_OUT_OF_RANGE'::text, 'OPERATOR_UNAVAILABLE'::text, 'DUPLICATE_AT_OPERATOR'::text, 'RECIPIENT_NOT_FOUND'::text, 'FLOAT_INSUFFICIENT'::text, 'REJECTED_BY_OPERATOR'::text, 'UNSPECIFIED'::text]))),
  constraint transaction_fee_sane CHECK (((fee >= 0) AND ((direction = 'payout'::text) OR (fee <= amount)))),
  constraint transaction_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'success'::text, 'failed'::text, 'expired'::text, 'reversed'::text]))),
  constraint transaction_success_settled CHECK (((status <> ALL (ARRAY['success'::text, 'reversed'::text])) OR (settled_at IS NOT NULL))),
  constraint transaction_verification_known CHECK ((verification = ANY (ARRAY['prompt'::text, 'shortcode'::text, 'otp'::text, 'instructions'::text, 'none'::text])))
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.02, autovacuum_vacuum_scale_factor=0.02, fillfactor=45);
comment on table transactions is
  'Collections and payouts. No column that changes is indexed, so that a change of state stays on its page.';
comment on column transactions.id is
  'UUIDv7 that carries the holder. Its public form is the ref of the specification.';
comment on column transactions.integration_id is
  'Null: made by a person, in the console or on the command line.';
comment on column transactions.method is
  'Code of the method in the catalogue.';
comment on column transactions.rail_reference is
  'The id that the operator gave the request.';
comment on column transactions.receipt is
  'The receipt of the operator, which proves that money moved.';
comment on column transactions.balance_after is
  'What the wallet of the holder held right after this transaction was posted.';
CREATE INDEX transactions_by_link ON public.transactions USING btree (holder_id, link_id, id DESC) WHERE (link_id IS NOT NULL);
CREATE INDEX transactions_by_number ON public.transactions USING btree (holder_id, msisdn, id DESC);
CREATE INDEX transactions_by_reference_1 ON public.transactions USING btree (holder_id, reference_1, id DESC) WHERE (reference_1 IS NOT NULL);
CREATE INDEX transactions_by_reference_2 ON public.transactions USING btree (holder_id, reference_2, id DESC) WHERE (reference_2 IS NOT NULL);
CREATE TRIGGER transactions_keep_final_states BEFORE UPDATE OF status ON transactions FOR EACH ROW WHEN (old.status <> new.status AND NOT (old.status = 'pending'::text OR old.status = 'processing'::text AND new.status <> 'pending'::text OR (old.status = ANY (ARRAY['failed'::text, 'expired'::text])) AND (new.status = ANY (ARRAY['success'::text, 'reversed'::text])) OR old.status = 'success'::text AND new.status = 'reversed'::text)) EXECUTE FUNCTION refuse_transition();
CREATE TRIGGER transactions_keep_paid_amounts BEFORE UPDATE OF amount, fee, currency, direction ON transactions FOR EACH ROW WHEN ((old.status = ANY (ARRAY['success'::text, 'reversed'::text])) AND (old.amount <> new.amount OR old.fee <> new.fee) OR old.currency <> new.currency OR old.direction <> new.direction) EXECUTE FUNCTION refuse_new_terms();
CREATE TRIGGER transactions_stay BEFORE DELETE OR TRUNCATE ON transactions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table payment_jobs (
  holder_id bigint not null,
  transaction_id uuid not null,
  kind text not null,
  due_at timestamp with time zone not null,
  attempts integer not null default 0,
  since timestamp with time zone not null,
  submitted_at timestamp with time zone,
  resume text,
  constraint payment_job_once PRIMARY KEY (holder_id, transaction_id),
  constraint payment_job_asks_first CHECK (((resume IS NULL) OR (kind = 'query'::text))),
  constraint payment_job_kind_known CHECK ((kind = ANY (ARRAY['send_token'::text, 'submit'::text, 'query'::text, 'expire'::text]))),
  constraint payment_job_resume_known CHECK ((resume = ANY (ARRAY['submit'::text, 'send_token'::text, 'expire'::text, 'approval'::text])))
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);
comment on table payment_jobs is
  'What to do next about a transaction that is not final, and when. due_at is also the lease of the process that works on it. Claiming a submit turns it into a query before the operator is called: after a crash the operator is asked, never called twice.';
comment on column payment_jobs.submitted_at is
  'When the transaction was last sent, or was about to be. Before the operator''s own delay its "not found" proves nothing.';
comment on column payment_jobs.resume is
  'Not null: restored from a backup. The operator is asked first; only when it does not know the transaction, this is what was to be done.';
CREATE INDEX payment_jobs_due ON public.payment_jobs USING btree (due_at);

create table cases (
  holder_id bigint not null,
  id uuid not null,
  transaction_id uuid,
  kind text not null,
  detail jsonb not null default '{}'::jsonb,
  status text not null default 'open'::text,
  opened_at timestamp with time zone not null,
  resolved_at timestamp with time zone,
  resolved_by text,
  resolution text,
  amount bigint,
  currency text,
  settled bigint not null default 0,
  rail text,
  constraint case_id PRIMARY KEY (holder_id, id),
  constraint case_closes_when_even CHECK (((status = 'open'::text) OR (amount IS NULL) OR (settled = amount))),
  constraint case_kind_known CHECK ((kind = ANY (ARRAY['late_success'::text, 'contradiction'::text, 'different_receipt'::text, 'amount_mismatch'::text, 'no_answer'::text, 'payout_not_found'::text, 'refund_not_found'::text, 'debt'::text, 'wrong_amount'::text, 'unknown_reference'::text, 'second_payment'::text, 'receipt_used'::text, 'unreadable_report'::text, 'link_paid_twice'::text, 'payer_report'::text, 'dispute'::text]))),
  constraint case_money_named CHECK (((amount IS NULL) = (currency IS NULL))),
  constraint case_settled_bounded CHECK (((settled >= 0) AND (settled <= COALESCE(amount, (0)::bigint)))),
  constraint case_status_known CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text])))
);
comment on table cases is
  'What only a person can decide.';
comment on column cases.holder_id is
  '0: it concerns no holder that we know.';
comment on column cases.amount is
  'The money that the case holds: in suspense, or owed by the holder. Null: it holds none.';
comment on column cases.settled is
  'How much of it was moved on. The case closes when that is all of it.';
comment on column cases.rail is
  'Where money in suspense came from.';
CREATE UNIQUE INDEX case_open_once ON public.cases USING btree (holder_id, transaction_id, kind) WHERE ((status = 'open'::text) AND (kind <> ALL (ARRAY['wrong_amount'::text, 'second_payment'::text, 'debt'::text, 'unreadable_report'::text, 'unknown_reference'::text, 'dispute'::text])));
CREATE INDEX cases_by_transaction ON public.cases USING btree (holder_id, transaction_id);
CREATE INDEX cases_open ON public.cases USING btree (opened_at DESC, id) WHERE (status = 'open'::text);
CREATE INDEX cases_open_by_holder ON public.cases USING btree (holder_id, opened_at DESC) WHERE (status = 'open'::text);
CREATE TRIGGER cases_keep_final_states BEFORE UPDATE ON cases FOR EACH ROW WHEN (old.status = 'resolved'::text AND (new.status <> 'resolved'::text OR new.resolved_at <> old.resolved_at OR new.amount IS DISTINCT FROM old.amount OR new.settled <> old.settled)) EXECUTE FUNCTION refuse_reopening();

create table verification_tokens (
  holder_id bigint not null,
  transaction_id uuid not null,
  token_hash bytea not null,
  wrong_tries smallint not null default 0,
  sent_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint verification_token_once PRIMARY KEY (holder_id, transaction_id),
  constraint verification_tries_bounded CHECK (((wrong_tries >= 0) AND (wrong_tries <= 5)))
);
comment on table verification_tokens is
  'Six-digit tokens for methods that verify by SMS. Only a keyed hash is stored.';

create table payment_instructions (
  account_reference text not null,
  holder_id bigint not null,
  transaction_id uuid not null,
  rail text not null,
  pay_to jsonb not null,
  expires_at timestamp with time zone not null,
  constraint payment_instruction_once PRIMARY KEY (rail, account_reference, transaction_id)
);
comment on table payment_instructions is
  'Where a payer was told to pay, for methods in which the payer pays to us. Incoming money names the reference and no holder, so the reference is the key.';
comment on column payment_instructions.pay_to is
  'Till, pay bill or bank account, as the payer is shown it.';
CREATE INDEX payment_instructions_by_transaction ON public.payment_instructions USING btree (holder_id, transaction_id);

create table incoming_payments (
  rail text not null,
  receipt text not null,
  account_reference text,
  amount bigint not null,
  currency text not null,
  payer text,
  holder_id bigint not null,
  transaction_id uuid,
  outcome text not null,
  case_id uuid,
  received_at timestamp with time zone not null,
  constraint incoming_payment_once PRIMARY KEY (rail, receipt),
  constraint incoming_amount_positive CHECK ((amount > 0)),
  constraint incoming_outcome_known CHECK ((outcome = ANY (ARRAY['matched'::text, 'suspense'::text])))
);
comment on table incoming_payments is
  'Money that reached a till, pay bill or bank account, matched to a transaction or held in suspense. An operator names its receipt and no holder, so the receipt is the key.';
comment on column incoming_payments.holder_id is
  'Whose ledger accounts it was posted to. 0: the owner is unknown.';
comment on column incoming_payments.case_id is
  'The case that holds it in suspense, or held it.';
CREATE INDEX incoming_payments_by_time ON public.incoming_payments USING btree (received_at DESC, rail DESC, receipt DESC);
CREATE INDEX incoming_payments_in_suspense ON public.incoming_payments USING btree (rail, account_reference) WHERE (outcome = 'suspense'::text);

create table operator_inbox (
  id bigint not null generated always as identity,
  rail text not null,
  path text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  method text not null default 'POST'::text,
  host text not null default ''::text,
  remote_address text,
  constraint operator_inbox_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);
comment on table operator_inbox is
  'Operator callbacks that were not read yet. A row is deleted in the transaction that applies it.';
comment on column operator_inbox.remote_address is
  'Behind our own proxies; null where it is not known.';
CREATE INDEX operator_inbox_due ON public.operator_inbox USING btree (due_at);

create table rejected_callbacks (
  id bigint not null generated always as identity,
  rail text not null,
  reason text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamp with time zone not null,
  authenticated boolean not null default false,
  constraint rejected_callbacks_pkey PRIMARY KEY (id)
);
comment on table rejected_callbacks is
  'Operator callbacks that proved nothing: forged, unreadable, or about no transaction. Kept: ninety days, and the newest 1,000 unsigned.';
CREATE INDEX rejected_callbacks_of_strangers ON public.rejected_callbacks USING btree (id) WHERE (NOT authenticated);

create table payout_batches (
  holder_id bigint not null,
  id uuid not null,
  name text not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  rows_hash bytea,
  payouts integer not null,
  totals jsonb not null,
  approval text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamp with time zone,
  cancelled_by text,
  cancelled_at timestamp with time zone,
  constraint payout_batch_id PRIMARY KEY (holder_id, id),
  constraint payout_file_approval_known CHECK ((approval = ANY (ARRAY['not_needed'::text, 'waiting'::text, 'approved'::text]))),
  constraint payout_file_approval_named CHECK ((((approval = 'approved'::text) = (approved_by IS NOT NULL)) AND ((approved_by IS NULL) = (approved_at IS NULL)))),
  constraint payout_file_approved_by_another CHECK (((created_by_member IS NULL) OR (approved_by_member IS NULL) OR (approved_by_member <> created_by_member))),
  constraint payout_file_cancel_named CHECK (((cancelled_by IS NULL) = (cancelled_at IS NULL))),
  constraint payout_file_count_sane CHECK ((payouts >= 0)),
  constraint payout_file_hash_length CHECK ((octet_length(rows_hash) = 32))
);
comment on table payout_batches is
  'A file of payouts. It is ordered, approved and cancelled as a whole.';
comment on column payout_batches.rows_hash is
  'SHA-256 of what the rows pay; neither their order, nor the name of the file, nor its formatting. The same rows are ordered once. Null: ordered before files were compared.';
comment on column payout_batches.payouts is
  'How many rows the file has.';
comment on column payout_batches.totals is
  'By currency: payouts, amount and fee, in hundredths.';
comment on column payout_batches.approval is
  'waiting: a second person must approve the file before any of its payouts has a job.';
CREATE INDEX payout_batches_waiting ON public.payout_batches USING btree (holder_id) WHERE ((approval = 'waiting'::text) AND (cancelled_at IS NULL));
CREATE UNIQUE INDEX payout_file_once ON public.payout_batches USING btree (holder_id, rows_hash) WHERE ((cancelled_at IS NULL) AND (rows_hash IS NOT NULL));

create table payout_orders (
  holder_id bigint not null,
  transaction_id uuid not null,
  batch_id uuid,
  approval text not null,
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamp with time zone,
  cancelled_by text,
  cancelled_at timestamp with time zone,
  line integer,
  constraint payout_order_once PRIMARY KEY (holder_id, transaction_id),
  constraint payout_approval_known CHECK ((approval = ANY (ARRAY['not_needed'::text, 'waiting'::text, 'approved'::text]))),
  constraint payout_approved_by_another CHECK (((created_by_member IS NULL) OR (approved_by_member IS NULL) OR (approved_by_member <> created_by_member))),
  constraint payout_line_in_file CHECK (((line IS NULL) = (batch_id IS NULL))),
  constraint payout_line_sane CHECK ((line > 0)),
  constraint payout_batch_exists FOREIGN KEY (holder_id, batch_id) REFERENCES payout_batches(holder_id, id)
);
comment on table payout_orders is
  'Who ordered a payout and who approved it.';
comment on column payout_orders.approval is
  'waiting: a second person must approve it before there is a job to send it.';
comment on column payout_orders.line is
  'Its row in the file.';
CREATE UNIQUE INDEX payout_line_once ON public.payout_orders USING btree (holder_id, batch_id, line) WHERE (batch_id IS NOT NULL);
CREATE INDEX payout_orders_waiting ON public.payout_orders USING btree (holder_id) WHERE ((approval = 'waiting'::text) AND (cancelled_at IS NULL));

create table fee_overrides (
  holder_id bigint not null,
  method text not null,
  direction text not null,
  basis_points bigint not null,
  fixed bigint not null,
  min bigint not null,
  max bigint,
  updated_at timestamp with time zone not null,
  constraint fee_overrides_pkey PRIMARY KEY (holder_id, method, direction),
  constraint fee_override_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text]))),
  constraint fee_override_fixed_sane CHECK ((fixed >= 0)),
  constraint fee_override_max_sane CHECK ((max >= 0)),
  constraint fee_override_min_sane CHECK ((min >= 0)),
  constraint fee_override_share_sane CHECK (((basis_points >= 0) AND (basis_points <= 10000))),
  constraint fee_overrides_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table fee_overrides is
  'Fees that differ from the catalogue for one holder.';
CREATE TRIGGER fee_overrides_counted AFTER INSERT OR DELETE OR UPDATE ON fee_overrides FOR EACH STATEMENT EXECUTE FUNCTION count_change();

-- 0004_links.sql

create table logos (
  hash bytea not null,
  webp bytea not null,
  created_at timestamp with time zone not null,
  constraint logos_pkey PRIMARY KEY (hash),
  constraint logo_hash_length CHECK ((octet_length(hash) = 32)),
  constraint logo_size_bounded CHECK (((octet_length(webp) >= 1) AND (octet_length(webp) <= 65536)))
);
comment on table logos is
  'Logos of payment links, under the SHA-256 of their bytes: the same picture is stored once and never changes.';

create table payment_links (
  holder_id bigint not null,
  id uuid not null,
  integration_id bigint,
  business_name text,
  item_name text,
  callback_url text,
  redirection_url text,
  currency text not null,
  amount bigint,
  logo_hash bytea,
  country_id smallint not null,
  currency_country_id smallint,
  first_name text,
  last_name text,
  email text,
  phone text,
  accent_colour text,
  expires_at timestamp with time zone,
  reusable boolean not null default false,
  status text not null default 'active'::text,
  payments_count bigint not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  code text not null default new_link_code(),
  paid_amount bigint not null default 0,
  constraint payment_link_id PRIMARY KEY (holder_id, id),
  constraint link_accent_colour_form CHECK ((accent_colour ~ '^#[0-9a-f]{6}$'::text)),
  constraint link_amount_positive CHECK ((amount > 0)),
  constraint link_business_name_length CHECK (((char_length(business_name) >= 1) AND (char_length(business_name) <= 120))),
  constraint link_callback_url_http CHECK (((callback_url ~* '^https?://'::text) AND (char_length(callback_url) <= 2048))),
  constraint link_code_form CHECK ((code ~ '^[0-9A-HJKMNP-TV-Z]{10}$'::text)),
  constraint link_currency_form CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint link_email_length CHECK (((char_length(email) >= 3) AND (char_length(email) <= 254))),
  constraint link_first_name_length CHECK (((char_length(first_name) >= 1) AND (char_length(first_name) <= 120))),
  constraint link_item_name_length CHECK (((char_length(item_name) >= 1) AND (char_length(item_name) <= 120))),
  constraint link_last_name_length CHECK (((char_length(last_name) >= 1) AND (char_length(last_name) <= 120))),
  constraint link_paid_amount_sane CHECK ((paid_amount >= 0)),
  constraint link_payments_counted CHECK ((payments_count >= 0)),
  constraint link_phone_digits CHECK ((phone ~ '^[0-9]{7,15}$'::text)),
  constraint link_redirection_url_http CHECK (((redirection_url ~* '^https?://'::text) AND (char_length(redirection_url) <= 2048))),
  constraint link_status_known CHECK ((status = ANY (ARRAY['active'::text, 'paid'::text, 'expired'::text, 'disabled'::text]))),
  constraint payment_links_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint payment_links_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id),
  constraint payment_links_logo_hash_fkey FOREIGN KEY (logo_hash) REFERENCES logos(hash)
);
comment on table payment_links is
  'Payment links. A link past expires_at reads as expired; no job writes that status.';
comment on column payment_links.id is
  'UUIDv7 that carries the holder. Its public form is the address of the link: anyone who has it can pay.';
comment on column payment_links.integration_id is
  'Null: made by a person, in the console or on the command line.';
comment on column payment_links.amount is
  'Null: the payer types the amount.';
comment on column payment_links.country_id is
  'The country of the merchant.';
comment on column payment_links.currency_country_id is
  'The country of the payer. Null: the payer chooses it on the page.';
comment on column payment_links.phone is
  'Digits with the dial code.';
comment on column payment_links.status is
  'A single-use link is paid by its first payment. When all its payments were given back it is disabled, not offered again.';
comment on column payment_links.payments_count is
  'Payments that stand: one that was given back does not count.';
comment on column payment_links.code is
  'The short address of the link: /p/<code>. Too short to carry the holder, so it is unique over all holders.';
comment on column payment_links.paid_amount is
  'The sum of the payments that stand, in the currency of the link. A payment that was refunded in full does not count.';
CREATE UNIQUE INDEX payment_link_by_code ON public.payment_links USING btree (code);
CREATE INDEX payment_links_by_status ON public.payment_links USING btree (holder_id, status, id DESC) INCLUDE (expires_at);

-- 0005_callbacks.sql

create table event_feeds (
  holder_id bigint not null,
  last_position bigint not null,
  restored_at timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  restored_positions bigint[] not null default '{}'::bigint[],
  constraint event_feeds_pkey PRIMARY KEY (holder_id),
  constraint feed_restores_paired CHECK ((cardinality(restored_at) = cardinality(restored_positions)))
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=10);
comment on table event_feeds is
  'How many events each holder has. The transaction that writes events raises the number first and keeps the row locked, so the positions of one holder have no gaps and become visible in order: the feed waits for nothing.';
comment on column event_feeds.restored_positions is
  'The last position that each restore kept. A reader whose place is from before that restore goes on after it.';

create table events (
  holder_id bigint not null,
  transaction_id uuid not null,
  type text not null,
  sequence smallint not null,
  id uuid not null,
  position bigint not null,
  integration_id bigint,
  url text,
  body bytea not null,
  created_at timestamp with time zone not null,
  constraint event_once_per_transition PRIMARY KEY (holder_id, transaction_id, type, sequence),
  constraint event_type_known CHECK ((type = ANY (ARRAY['collection.success'::text, 'collection.failed'::text, 'collection.expired'::text, 'collection.reversed'::text, 'payout.success'::text, 'payout.failed'::text, 'payout.reversed'::text, 'payment_link.paid'::text, 'refund.success'::text, 'refund.failed'::text])))
) partition by RANGE (transaction_id);
comment on table events is
  'Facts that holders are told about. Partitioned by the id of the transaction, whose first bits are its time: so the key holds over all partitions, and a transition gives one event however often it is reported.';
comment on column events.position is
  'The place of the event in the feed of its holder: 1, 2, 3, ...';
comment on column events.integration_id is
  'Null: made by a person of a holder that has no integration.';
comment on column events.url is
  'Null: no callback was asked for. The event is in the feed all the same.';
comment on column events.body is
  'The bytes that are sent and signed, packed (callbacks/packed-body.ts). Those from before begin with "{" and are not. They never change.';
CREATE INDEX events_by_position ON ONLY public.events USING btree (holder_id, "position");
CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table callback_deliveries (
  holder_id bigint not null,
  event_id uuid not null,
  transaction_id uuid not null,
  integration_id bigint not null,
  origin text not null,
  url text not null,
  attempts integer not null default 0,
  leased boolean not null,
  due_at timestamp with time zone not null,
  tried_at timestamp with time zone,
  started_at timestamp with time zone not null,
  constraint delivery_once PRIMARY KEY (holder_id, event_id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000, fillfactor=80);
comment on table callback_deliveries is
  'One row for each event that was not delivered yet. A leased row belongs to one process until due_at. An infinite due_at waits for a person: the receiver answered 410 Gone.';
comment on column callback_deliveries.started_at is
  'Thirty days later the delivery is given up. A resend starts the time again.';
CREATE INDEX callback_deliveries_leased ON public.callback_deliveries USING brin (due_at) WITH (pages_per_range='16') WHERE leased;
CREATE INDEX callback_deliveries_waiting ON public.callback_deliveries USING btree (holder_id, origin, due_at) WHERE (NOT leased);

create table callback_attempts (
  holder_id bigint not null,
  event_id uuid not null,
  at timestamp with time zone not null,
  number integer not null,
  delivered boolean not null,
  signature text not null,
  status smallint,
  answer_headers jsonb,
  answer_start bytea,
  latency_ms integer not null,
  error text
) partition by RANGE (at);
comment on table callback_attempts is
  'Every request that was sent to a receiver, and the start of its answer.';
comment on column callback_attempts.number is
  'Its place in the retry schedule. 0: a probe out of turn.';
comment on column callback_attempts.signature is
  'The only request header that cannot be derived from the event.';
CREATE INDEX callback_attempts_by_event ON ONLY public.callback_attempts USING btree (holder_id, event_id);
CREATE TRIGGER callback_attempts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON callback_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table callback_receivers (
  origin text not null,
  failing_since timestamp with time zone not null,
  last_error text not null,
  probe_at timestamp with time zone not null,
  recovered_at timestamp with time zone,
  holder_id bigint not null,
  constraint callback_receiver_once PRIMARY KEY (holder_id, origin)
);
comment on table callback_receivers is
  'Receivers (a holder''s scheme, host and port) that fail, or that recovered and get their backlog. A healthy receiver has no row.';
comment on column callback_receivers.recovered_at is
  'When it answered again: everything last tried before then is due at once.';

create table callback_pauses (
  holder_id bigint not null,
  integration_id bigint not null,
  url text not null,
  paused_at timestamp with time zone not null,
  constraint callback_pause_once PRIMARY KEY (holder_id, integration_id, url)
);
comment on table callback_pauses is
  'Addresses that answered 410 Gone. Nothing is sent there until a person resumes it.';

-- 0006_sandbox.sql

create unlogged table sandbox_payments (
  reference text not null,
  direction text not null,
  method text not null,
  operator text not null default ''::text,
  msisdn text not null,
  amount bigint not null,
  currency text not null,
  label text not null default ''::text,
  scenario text not null,
  status text not null,
  receipt text,
  failure_code text,
  handset text,
  dial_code text,
  account_reference text,
  pay_to jsonb,
  expires_at timestamp with time zone,
  query_contradicts boolean not null default false,
  next_step text,
  due_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint sandbox_payment_once PRIMARY KEY (reference),
  constraint sandbox_payment_amount_positive CHECK ((amount > 0)),
  constraint sandbox_payment_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text]))),
  constraint sandbox_payment_handset_known CHECK ((handset = ANY (ARRAY['dial'::text, 'prompt'::text, 'undelivered'::text, 'ignored'::text, 'instructions'::text, 'approved'::text, 'wrong_pin'::text, 'cancelled'::text, 'expired'::text]))),
  constraint sandbox_payment_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'reversed'::text]))),
  constraint sandbox_payment_step_known CHECK ((next_step = ANY (ARRAY['succeed'::text, 'fail'::text, 'reverse'::text, 'expire'::text])))
);
CREATE INDEX sandbox_payments_by_account ON public.sandbox_payments USING btree (account_reference) WHERE (account_reference IS NOT NULL);
CREATE INDEX sandbox_payments_by_age ON public.sandbox_payments USING brin (created_at);
CREATE INDEX sandbox_payments_by_phone ON public.sandbox_payments USING btree (msisdn, created_at DESC) WHERE (handset IS NOT NULL);
CREATE INDEX sandbox_payments_due ON public.sandbox_payments USING btree (due_at) WHERE (due_at IS NOT NULL);

create unlogged table sandbox_messages (
  id bigint not null generated always as identity,
  msisdn text not null,
  sender text not null,
  text text not null,
  created_at timestamp with time zone not null,
  constraint sandbox_message_id PRIMARY KEY (id)
);
CREATE INDEX sandbox_messages_by_phone ON public.sandbox_messages USING btree (msisdn, id DESC);

create unlogged table sandbox_phones (
  msisdn text not null,
  is_on boolean not null default true,
  version bigint not null default 0,
  constraint sandbox_phone_once PRIMARY KEY (msisdn)
);

create unlogged table sandbox_announcements (
  id bigint not null generated always as identity,
  subject text not null,
  event jsonb not null,
  attempts integer not null default 0,
  due_at timestamp with time zone not null,
  constraint sandbox_announcement_id PRIMARY KEY (id)
);
CREATE INDEX sandbox_announcements_due ON public.sandbox_announcements USING btree (due_at, id);

-- 0007_console.sql

create table used_forms (
  holder_id bigint not null,
  id uuid not null,
  used_at timestamp with time zone not null,
  constraint form_used_once PRIMARY KEY (holder_id, id),
  constraint used_forms_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table used_forms is
  'Forms that moved money: however often one is sent, it counts once.';

create table daily_figures (
  holder_id bigint not null,
  day date not null,
  counted_at timestamp with time zone not null,
  figures jsonb not null,
  time_zone text not null,
  constraint daily_figures_once PRIMARY KEY (holder_id, day),
  constraint daily_figures_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table daily_figures is
  'What one holder did on one of its days: money by the day it was posted, attempts by the day they were made. Counted from the ledger and the transactions, and kept to show a page at once.';
comment on column daily_figures.figures is
  '{ money: [{ fact, currency, transactions, amount, fee }], attempts: [{ direction, currency, method, status, failure_code, transactions, amount, fee }] }, sums as text.';
comment on column daily_figures.time_zone is
  'The zone in which the day was counted. After the holder changed its zone the row is counted again.';

-- 0008_checkout.sql

create table checkout_attempts (
  holder_id bigint not null,
  transaction_id uuid not null,
  link_id uuid not null,
  form_id bytea not null,
  single_use boolean not null,
  live boolean not null default true,
  msisdn text not null,
  first_name text,
  last_name text,
  email text,
  created_at timestamp with time zone not null,
  constraint attempt_id PRIMARY KEY (holder_id, transaction_id),
  constraint attempt_once_per_form UNIQUE (holder_id, link_id, form_id),
  constraint attempt_email_length CHECK ((char_length(email) <= 254)),
  constraint attempt_first_name_length CHECK ((char_length(first_name) <= 120)),
  constraint attempt_form_id_length CHECK ((octet_length(form_id) = 15)),
  constraint attempt_last_name_length CHECK ((char_length(last_name) <= 120)),
  constraint attempt_link_exists FOREIGN KEY (holder_id, link_id) REFERENCES payment_links(holder_id, id)
);
comment on table checkout_attempts is
  'An attempt to pay a link, written in the transaction that makes its collection.';
comment on column checkout_attempts.form_id is
  'Which form made it: however often one form is sent, it is one attempt.';
comment on column checkout_attempts.live is
  'It may still take money, or has taken it. Only the refusal of the operator ends it; a success stays live for ever.';
comment on column checkout_attempts.msisdn is
  'Digits with the dial code.';
CREATE UNIQUE INDEX attempt_one_live ON public.checkout_attempts USING btree (holder_id, link_id) WHERE (live AND single_use);

create table receipts (
  holder_id bigint not null,
  transaction_id uuid not null,
  code text not null,
  created_at timestamp with time zone not null,
  constraint receipt_once PRIMARY KEY (holder_id, transaction_id),
  constraint receipt_code_unique UNIQUE (code),
  constraint receipt_code_form CHECK ((code ~ '^[0-9A-HJKMNP-TV-Z]{10}$'::text))
);
comment on table receipts is
  'The short code by which anyone can check a receipt. It is too short to carry the holder, so it is unique over all holders.';

-- 0010_payments_refunds_debts_decisions.sql

create table refund_orders (
  holder_id bigint not null,
  transaction_id uuid not null,
  collection_id uuid not null,
  fee_returned bigint not null,
  as_payout boolean not null,
  reason text,
  approval text not null,
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamp with time zone,
  cancelled_by text,
  cancelled_at timestamp with time zone,
  from_held bigint not null default 0,
  held_until timestamp with time zone,
  constraint refund_order_once PRIMARY KEY (holder_id, transaction_id),
  constraint refund_approval_known CHECK ((approval = ANY (ARRAY['not_needed'::text, 'waiting'::text, 'approved'::text]))),
  constraint refund_approved_by_another CHECK (((created_by_member IS NULL) OR (approved_by_member IS NULL) OR (approved_by_member <> created_by_member))),
  constraint refund_fee_sane CHECK ((fee_returned >= 0)),
  constraint refund_from_held_sane CHECK ((from_held >= 0)),
  constraint refund_held_until_named CHECK (((from_held > 0) = (held_until IS NOT NULL))),
  constraint refund_reason_length CHECK ((char_length(reason) <= 500))
);
comment on table refund_orders is
  'Which collection a refund gives back, who asked for it and who approved it.';
comment on column refund_orders.fee_returned is
  'The part of the amount that the gateway pays out of its fee.';
comment on column refund_orders.as_payout is
  'The rail cannot refund: the money is sent to the payer as a payout.';
comment on column refund_orders.created_by_member is
  'Null: asked for by an integration, or on the command line.';
comment on column refund_orders.from_held is
  'How much of its money came out of the rolling reserve. It goes back there when the refund fails.';
comment on column refund_orders.held_until is
  'When the last of that money would have been released.';
CREATE INDEX refund_orders_by_collection ON public.refund_orders USING btree (holder_id, collection_id);
CREATE INDEX refund_orders_waiting ON public.refund_orders USING btree (holder_id) WHERE ((approval = 'waiting'::text) AND (cancelled_at IS NULL));

create table refund_totals (
  holder_id bigint not null,
  collection_id uuid not null,
  collected bigint not null,
  fee bigint not null,
  under_way bigint not null default 0,
  refunded bigint not null default 0,
  refunded_late bigint not null default 0,
  fee_under_way bigint not null default 0,
  fee_refunded bigint not null default 0,
  disputed bigint not null default 0,
  dispute_lost bigint not null default 0,
  constraint refund_totals_once PRIMARY KEY (holder_id, collection_id),
  constraint refund_dispute_lost_sane CHECK ((dispute_lost >= 0)),
  constraint refund_disputed_sane CHECK ((disputed >= 0)),
  constraint refund_fee_refunded_sane CHECK ((fee_refunded >= 0)),
  constraint refund_fee_under_way_sane CHECK ((fee_under_way >= 0)),
  constraint refund_late_sane CHECK ((refunded_late >= 0)),
  constraint refund_refunded_sane CHECK ((refunded >= 0)),
  constraint refund_under_way_sane CHECK ((under_way >= 0)),
  constraint refunds_within_collection CHECK (((((under_way + refunded) + disputed) + dispute_lost) <= collected)),
  constraint refunds_within_fee CHECK (((fee_under_way + fee_refunded) <= fee))
);
comment on table refund_totals is
  'What was given back of each collection, and what is under way. Refunds made at once wait for this row; the database refuses more than was collected.';
comment on column refund_totals.refunded_late is
  'Given back by refunds that had failed before. It is a fact however much it is, so it is outside the limit.';
comment on column refund_totals.disputed is
  'In open disputes. It can be neither refunded nor disputed a second time.';
comment on column refund_totals.dispute_lost is
  'Given back to the payer by disputes that were lost.';

create table decisions (
  holder_id bigint not null,
  id uuid not null,
  case_id uuid not null,
  action text not null,
  amount bigint,
  to_holder bigint,
  reason text not null,
  reference text not null,
  document bytea,
  document_type text,
  status text not null default 'proposed'::text,
  proposed_by text not null,
  proposed_by_member bigint not null,
  proposed_at timestamp with time zone not null,
  decided_by text,
  decided_by_member bigint,
  decided_at timestamp with time zone,
  constraint decision_id PRIMARY KEY (holder_id, id),
  constraint decision_action_known CHECK ((action = ANY (ARRAY['settle_success'::text, 'settle_failed'::text, 'settle_amount'::text, 'settle_reversed'::text, 'send_again'::text, 'keep'::text, 'credit_holder'::text, 'return_to_payer'::text, 'take_to_income'::text, 'write_off'::text, 'dispute_won'::text, 'dispute_lost'::text]))),
  constraint decision_amount_named CHECK (((amount IS NOT NULL) = (action = 'settle_amount'::text))),
  constraint decision_amount_positive CHECK ((amount > 0)),
  constraint decision_by_two_people CHECK (((status <> 'approved'::text) OR ((decided_by_member IS NOT NULL) AND (decided_at IS NOT NULL) AND (decided_by_member <> proposed_by_member)))),
  constraint decision_document_size CHECK (((octet_length(document) >= 1) AND (octet_length(document) <= 1048576))),
  constraint decision_document_type_known CHECK ((document_type = ANY (ARRAY['text/plain'::text, 'image/png'::text, 'image/jpeg'::text, 'image/webp'::text]))),
  constraint decision_document_typed CHECK (((document IS NULL) = (document_type IS NULL))),
  constraint decision_holder_named CHECK (((to_holder IS NOT NULL) = (action = 'credit_holder'::text))),
  constraint decision_reason_length CHECK (((char_length(reason) >= 3) AND (char_length(reason) <= 500))),
  constraint decision_reference_length CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 120))),
  constraint decision_status_known CHECK ((status = ANY (ARRAY['proposed'::text, 'approved'::text, 'rejected'::text, 'overtaken'::text]))),
  constraint decision_case_exists FOREIGN KEY (holder_id, case_id) REFERENCES cases(holder_id, id)
);
comment on table decisions is
  'What a person proposed about a case, on which evidence, and who approved it. Two people, always.';
comment on column decisions.reference is
  'What it rests on: a receipt, a line of a statement, a document.';
comment on column decisions.status is
  'overtaken: the operator answered before the second person did.';
CREATE UNIQUE INDEX decision_open_once ON public.decisions USING btree (holder_id, case_id) WHERE (status = 'proposed'::text);
CREATE TRIGGER decisions_keep_final_states BEFORE UPDATE ON decisions FOR EACH ROW WHEN (old.status <> 'proposed'::text) EXECUTE FUNCTION refuse_reopening();

-- 0012_holders.sql

create table approval_rule_changes (
  holder_id bigint not null,
  id uuid not null,
  kind text not null,
  currency text,
  without_approval bigint,
  requested_by text not null,
  requested_by_member bigint not null,
  requested_at timestamp with time zone not null,
  confirmed_by text,
  confirmed_by_member bigint,
  confirmed_at timestamp with time zone,
  effective_at timestamp with time zone,
  applied_at timestamp with time zone,
  withdrawn_by text,
  withdrawn_at timestamp with time zone,
  constraint rule_change_id PRIMARY KEY (holder_id, id),
  constraint rule_change_applied_late CHECK (((applied_at IS NULL) OR ((effective_at IS NOT NULL) AND (applied_at >= effective_at)))),
  constraint rule_change_by_two_people CHECK (((confirmed_by_member IS NULL) OR (confirmed_by_member <> requested_by_member))),
  constraint rule_change_confirmed_whole CHECK ((((confirmed_by_member IS NULL) = (confirmed_at IS NULL)) AND ((confirmed_at IS NULL) = (effective_at IS NULL)) AND ((confirmed_at IS NULL) = (confirmed_by IS NULL)))),
  constraint rule_change_effective_later CHECK ((effective_at >= (confirmed_at + '24:00:00'::interval))),
  constraint rule_change_kind_known CHECK ((kind = ANY (ARRAY['payout_approval_off'::text, 'refund_limit'::text]))),
  constraint rule_change_limit_named CHECK ((((kind = 'refund_limit'::text) = (currency IS NOT NULL)) AND ((kind = 'refund_limit'::text) = (without_approval IS NOT NULL)))),
  constraint rule_change_limit_sane CHECK ((without_approval > 0)),
  constraint rule_change_withdrawn_or_applied CHECK (((withdrawn_at IS NULL) OR (applied_at IS NULL))),
  constraint approval_rule_changes_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table approval_rule_changes is
  'Loosening of the rule of two people: asked for by one owner, confirmed by another person, in force a day later.';
comment on column approval_rule_changes.without_approval is
  'The new limit of a refund that one person may make, in hundredths.';
CREATE UNIQUE INDEX rule_change_open_once ON public.approval_rule_changes USING btree (holder_id, kind, COALESCE(currency, ''::text)) WHERE ((applied_at IS NULL) AND (withdrawn_at IS NULL));
CREATE INDEX rule_changes_due ON public.approval_rule_changes USING btree (effective_at) WHERE ((applied_at IS NULL) AND (withdrawn_at IS NULL));

create table refund_limits (
  holder_id bigint not null,
  currency text not null,
  without_approval bigint not null,
  updated_at timestamp with time zone not null,
  constraint refund_limit_once PRIMARY KEY (holder_id, currency),
  constraint refund_limit_sane CHECK ((without_approval >= 0)),
  constraint refund_limits_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table refund_limits is
  'Up to which amount one person may refund alone while the holder requires two people. No row: every refund needs the second person.';

-- 0014_platform_restores.sql

create table restores (
  id bigint not null generated always as identity,
  restored_at timestamp with time zone not null,
  backup_taken_at timestamp with time zone,
  constraint restores_pkey PRIMARY KEY (id)
);
comment on table restores is
  'When this database was restored from a backup. Signatures from before are refused: which of them were used is not known.';
comment on column restores.backup_taken_at is
  'Null: not known.';
CREATE TRIGGER restores_counted AFTER INSERT ON restores FOR EACH STATEMENT EXECUTE FUNCTION count_change();

-- 0015_payments_operator_reports.sql

create table operator_receipts (
  rail text not null,
  receipt text not null,
  holder_id bigint not null,
  transaction_id uuid,
  case_id uuid,
  at timestamp with time zone not null,
  method text not null default ''::text,
  constraint receipt_used_once PRIMARY KEY (rail, receipt, method),
  constraint receipt_has_use CHECK (((transaction_id IS NOT NULL) OR (case_id IS NOT NULL)))
) with (autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000);
comment on table operator_receipts is
  'Every receipt of an operator that moved money here, and what it was used for. An operator names its receipt and no holder, so the receipt is the key.';
comment on column operator_receipts.holder_id is
  'Whose ledger accounts the money was posted to. 0: the owner is unknown.';
comment on column operator_receipts.transaction_id is
  'The transaction that it settled. Null: the money went to suspense.';
comment on column operator_receipts.case_id is
  'The case that holds its money in suspense, or held it.';
comment on column operator_receipts.method is
  'The method whose operator gave the receipt, where a connection has several operators. Empty: the receipt counts for the whole connection.';

create table unmatched_reports (
  holder_id bigint not null,
  id uuid not null,
  rail text not null,
  reference text not null,
  state text not null,
  amount bigint,
  currency text,
  receipt text,
  raw text not null,
  received_at timestamp with time zone not null,
  last_received_at timestamp with time zone not null,
  times integer not null default 1,
  case_id uuid not null,
  booked boolean not null default false,
  constraint unmatched_report_id PRIMARY KEY (holder_id, id),
  constraint unmatched_report_once UNIQUE NULLS NOT DISTINCT (rail, reference, state, receipt, amount, currency),
  constraint unmatched_amount_positive CHECK ((amount > 0)),
  constraint unmatched_state_known CHECK ((state = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'reversed'::text, 'unknown'::text])))
);
comment on table unmatched_reports is
  'Authenticated messages of operators about references that this gateway does not know on that rail. Kept for good.';
comment on column unmatched_reports.holder_id is
  'Always 0: that an id names a holder does not prove that the money is that holder''s.';
comment on column unmatched_reports.times is
  'How often the operator said the same.';
comment on column unmatched_reports.booked is
  'Its money was posted to suspense under the id of the case.';
CREATE INDEX unmatched_reports_by_receipt ON public.unmatched_reports USING btree (receipt) WHERE (receipt IS NOT NULL);
CREATE INDEX unmatched_reports_by_time ON public.unmatched_reports USING btree (received_at DESC, id DESC);

create table quarantined_reports (
  holder_id bigint not null,
  id uuid not null,
  rail text not null,
  source text not null,
  reference text not null,
  error text not null,
  raw text not null,
  received_at timestamp with time zone not null,
  last_received_at timestamp with time zone not null,
  times integer not null default 1,
  case_id uuid not null,
  constraint quarantined_report_id PRIMARY KEY (holder_id, id),
  constraint quarantine_source_known CHECK ((source = ANY (ARRAY['submit'::text, 'callback'::text, 'poll'::text, 'verification'::text, 'statement'::text, 'person'::text])))
);
comment on table quarantined_reports is
  'What an operator said that could not be applied: a value that cannot be read, or that the database refused. Kept for good.';
comment on column quarantined_reports.holder_id is
  'The holder of the transaction that it is about. 0: no transaction of ours.';
comment on column quarantined_reports.reference is
  'Our reference, or the account reference of an incoming payment.';
comment on column quarantined_reports.raw is
  'As it arrived, with control characters made visible.';
CREATE UNIQUE INDEX quarantined_report_once ON public.quarantined_reports USING btree (rail, reference, source, md5(error), md5(raw));
CREATE INDEX quarantined_reports_by_time ON public.quarantined_reports USING btree (received_at DESC, id DESC);

-- 0017_sandbox.sql

create unlogged table sandbox_refunds (
  reference text not null,
  payment_reference text not null,
  operator text not null,
  msisdn text not null,
  amount bigint not null,
  currency text not null,
  label text not null,
  scenario text not null,
  status text not null,
  receipt text,
  failure_code text,
  query_contradicts boolean not null default false,
  next_step text,
  due_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint sandbox_refund_once PRIMARY KEY (reference),
  constraint sandbox_refund_amount_positive CHECK ((amount > 0)),
  constraint sandbox_refund_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text]))),
  constraint sandbox_refund_step_known CHECK ((next_step = ANY (ARRAY['succeed'::text, 'fail'::text])))
);
CREATE INDEX sandbox_refunds_by_age ON public.sandbox_refunds USING brin (created_at);
CREATE INDEX sandbox_refunds_by_payment ON public.sandbox_refunds USING btree (payment_reference);
CREATE INDEX sandbox_refunds_due ON public.sandbox_refunds USING btree (due_at) WHERE (due_at IS NOT NULL);

create unlogged table sandbox_unmatched_money (
  receipt text not null,
  msisdn text not null,
  amount bigint not null,
  currency text not null,
  created_at timestamp with time zone not null,
  constraint sandbox_unmatched_money_once PRIMARY KEY (receipt),
  constraint sandbox_unmatched_amount_positive CHECK ((amount > 0))
);
CREATE INDEX sandbox_unmatched_money_by_age ON public.sandbox_unmatched_money USING brin (created_at);

-- 0018_payments.sql

create table verify_runs (
  id bigint not null generated always as identity,
  status text not null,
  in_background boolean not null,
  asked_by text not null,
  asked_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  since timestamp with time zone,
  stage text,
  position jsonb,
  checked jsonb not null default '{}'::jsonb,
  differences bigint not null default 0,
  findings jsonb not null default '[]'::jsonb,
  constraint verify_run_id PRIMARY KEY (id),
  constraint verify_differences_sane CHECK ((differences >= 0)),
  constraint verify_run_ended CHECK (((ended_at IS NOT NULL) = (status = ANY (ARRAY['done'::text, 'stopped'::text])))),
  constraint verify_run_status_known CHECK ((status = ANY (ARRAY['waiting'::text, 'running'::text, 'done'::text, 'stopped'::text])))
);
comment on table verify_runs is
  'Runs of ledger verify, from the command line and from the console. The newest hundred are kept.';
comment on column verify_runs.in_background is
  'Asked for in the console: the background job of any process does it, one at a time.';
comment on column verify_runs.seen_at is
  'The last sign of life. A run in the background whose process died is taken over after two minutes.';
comment on column verify_runs.since is
  'Null: a whole run. Otherwise only what was posted or changed since then is compared.';
comment on column verify_runs.stage is
  'What is being compared; null: nothing yet.';
comment on column verify_runs.position is
  'The last key of that stage that was compared. A run goes on after it.';
comment on column verify_runs.checked is
  'How many rows each stage has compared.';
comment on column verify_runs.findings is
  'The first differences of each check.';
CREATE UNIQUE INDEX verify_run_in_background_once ON public.verify_runs USING btree (in_background) WHERE (in_background AND (status = ANY (ARRAY['waiting'::text, 'running'::text])));

-- 0020_holders_people.sql

create table sign_ups (
  token_hash bytea not null,
  business text not null,
  name text not null,
  email text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint sign_up_token PRIMARY KEY (token_hash),
  constraint sign_up_business_length CHECK (((char_length(business) >= 1) AND (char_length(business) <= 120))),
  constraint sign_up_email_plain CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  constraint sign_up_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120)))
);
comment on table sign_ups is
  'Sign-ups that wait for their e-mail to be confirmed. The password is chosen after that: who typed the address may not be its owner.';

create table role_changes (
  holder_id bigint not null,
  id uuid not null,
  member_id bigint not null,
  role text not null,
  requested_by text not null,
  requested_by_member bigint,
  requested_at timestamp with time zone not null,
  effective_at timestamp with time zone not null,
  confirmed_by text,
  confirmed_by_member bigint,
  applied_at timestamp with time zone,
  withdrawn_by text,
  withdrawn_at timestamp with time zone,
  constraint role_change_id PRIMARY KEY (holder_id, id),
  constraint role_change_applied_late CHECK (((applied_at IS NULL) OR (confirmed_by IS NOT NULL) OR (applied_at >= effective_at))),
  constraint role_change_by_two_people CHECK (((confirmed_by_member IS NULL) OR ((confirmed_by_member <> member_id) AND (confirmed_by_member IS DISTINCT FROM requested_by_member)))),
  constraint role_change_confirmed_whole CHECK (((confirmed_by IS NULL) = (confirmed_by_member IS NULL))),
  constraint role_change_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'finance'::text]))),
  constraint role_change_waits_a_day CHECK ((effective_at >= (requested_at + '24:00:00'::interval))),
  constraint role_change_withdrawn_or_applied CHECK (((withdrawn_at IS NULL) OR (applied_at IS NULL))),
  constraint role_change_withdrawn_whole CHECK (((withdrawn_by IS NULL) = (withdrawn_at IS NULL))),
  constraint role_changes_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint role_changes_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table role_changes is
  'A role that lets a person approve money, at a holder that requires two people. It holds when a second owner confirms it, or after a day.';
CREATE UNIQUE INDEX role_change_open_once ON public.role_changes USING btree (holder_id, member_id) WHERE ((applied_at IS NULL) AND (withdrawn_at IS NULL));
CREATE INDEX role_changes_due ON public.role_changes USING btree (effective_at) WHERE ((applied_at IS NULL) AND (withdrawn_at IS NULL));

create table mails (
  id bigint not null generated always as identity,
  to_address text not null,
  subject text not null,
  text text,
  text_sealed bytea,
  attempts integer not null default 0,
  created_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  constraint mail_id PRIMARY KEY (id),
  constraint mail_attempts_sane CHECK ((attempts >= 0)),
  constraint mail_subject_plain CHECK ((((char_length(subject) >= 1) AND (char_length(subject) <= 200)) AND (subject !~ '[[:cntrl:]]'::text))),
  constraint mail_text_once CHECK (((text IS NULL) <> (text_sealed IS NULL))),
  constraint mail_to_length CHECK (((char_length(to_address) >= 3) AND (char_length(to_address) <= 254)))
);
comment on table mails is
  'Mails to send. A row is deleted when the mail server took it, or when it did not for a day.';
comment on column mails.text_sealed is
  'A text with a link that signs in, sealed under the master key.';
comment on column mails.due_at is
  'When it is tried next. A process that sends it moves this, so that no other one does.';
CREATE INDEX mails_due ON public.mails USING btree (due_at);

create unlogged table guesses (
  key bytea not null,
  since timestamp with time zone not null,
  guesses integer not null,
  constraint guess_key PRIMARY KEY (key),
  constraint guesses_sane CHECK ((guesses >= 0))
);
comment on table guesses is
  'Guesses of passwords and codes, counted before they are compared. Unlogged: after a crash of PostgreSQL counting begins again.';
comment on column guesses.key is
  'Hash of what is limited: a person or an address, the kind of guess, and the length of the window.';
comment on column guesses.since is
  'When the window began: with its first guess.';
CREATE INDEX guesses_by_age ON public.guesses USING btree (since);

-- 0021_holders_factors.sql

create table passkeys (
  id bigint not null generated always as identity,
  member_id bigint not null,
  credential_id bytea not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint passkeys_pkey PRIMARY KEY (id),
  constraint passkey_credential_unique UNIQUE (credential_id),
  constraint passkey_counter_sane CHECK ((counter >= 0)),
  constraint passkey_credential_length CHECK (((octet_length(credential_id) >= 1) AND (octet_length(credential_id) <= 1023))),
  constraint passkey_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60))),
  constraint passkeys_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table passkeys is
  'Credentials of WebAuthn: a device that signs in for a person. Only public keys are stored.';
comment on column passkeys.counter is
  'The last counter of the device. One that does not grow comes from a copy and is refused; 0: the device has none.';
CREATE INDEX passkeys_by_member ON public.passkeys USING btree (member_id, id);

create table passkey_challenges (
  challenge_hash bytea not null,
  purpose text not null,
  member_id bigint,
  browser_hash bytea not null,
  address text not null,
  expires_at timestamp with time zone not null,
  constraint passkey_challenges_pkey PRIMARY KEY (challenge_hash),
  constraint passkey_challenge_member_known CHECK (((purpose = 'sign_in'::text) = (member_id IS NULL))),
  constraint passkey_challenge_purpose_known CHECK ((purpose = ANY (ARRAY['sign_in'::text, 'second_step'::text, 'confirm'::text, 'register'::text]))),
  constraint passkey_challenges_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table passkey_challenges is
  'What a passkey was asked to sign. A challenge is deleted when it is answered, so it works once.';
comment on column passkey_challenges.browser_hash is
  'The browser that asked: no other may answer.';
comment on column passkey_challenges.address is
  'The caller''s address (IPv6: its /64), which may have a limited number of open challenges.';
CREATE INDEX passkey_challenges_by_address ON public.passkey_challenges USING btree (address, expires_at);
CREATE INDEX passkey_challenges_by_expiry ON public.passkey_challenges USING btree (expires_at);

create table recovery_codes (
  member_id bigint not null,
  code_hash bytea not null,
  created_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint recovery_codes_pkey PRIMARY KEY (member_id, code_hash),
  constraint recovery_codes_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table recovery_codes is
  'Codes that replace the second factor once each. They have 80 random bits, so a plain hash is enough.';

create table known_browsers (
  member_id bigint not null,
  token_hash bytea not null,
  first_seen_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  constraint known_browsers_pkey PRIMARY KEY (member_id, token_hash),
  constraint known_browsers_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table known_browsers is
  'Browsers in which a person has signed in before, by the hash of a random cookie.';
CREATE INDEX known_browsers_by_age ON public.known_browsers USING btree (last_seen_at);

create table security_notices (
  id bigint not null generated always as identity,
  member_id bigint not null,
  kind text not null,
  detail text not null default ''::text,
  address text not null,
  user_agent text not null,
  at timestamp with time zone not null,
  read_at timestamp with time zone,
  constraint security_notices_pkey PRIMARY KEY (id),
  constraint security_notice_detail_length CHECK ((char_length(detail) <= 60)),
  constraint security_notice_kind_known CHECK ((kind = ANY (ARRAY['new_browser'::text, 'password_changed'::text, 'factor_on'::text, 'factor_off'::text, 'passkey_added'::text, 'passkey_removed'::text, 'recovery_code_used'::text, 'recovery_codes_created'::text]))),
  constraint security_notices_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table security_notices is
  'What happened to an account, shown to its owner until they say that they have read it.';
comment on column security_notices.detail is
  'The name of a passkey, or how many recovery codes are left.';
CREATE INDEX security_notices_by_age ON public.security_notices USING btree (at);
CREATE INDEX security_notices_unread ON public.security_notices USING btree (member_id, id) WHERE (read_at IS NULL);

-- 0022_holders_keys.sql

create table unverified_requests (
  holder_id bigint not null,
  integration_id bigint not null,
  at timestamp with time zone not null,
  id uuid not null,
  status smallint not null,
  route text not null,
  address text not null,
  network text not null,
  code text,
  constraint unverified_request_id PRIMARY KEY (holder_id, integration_id, at, id)
);
comment on table unverified_requests is
  'Requests that named an integration and were refused before its signature or secret was verified. Everybody who knows a client_id can send them, so they are not in request_log: few are kept for each integration and address, for a week.';
comment on column unverified_requests.network is
  'What limits are counted by: the IPv4 address, or the /64 of an IPv6 address.';
CREATE INDEX unverified_requests_by_age ON public.unverified_requests USING brin (at);

-- 0024_platform_limits.sql

create unlogged table limit_buckets (
  key text not null,
  tokens double precision not null,
  at timestamp with time zone not null,
  constraint limit_bucket_once PRIMARY KEY (key)
) with (fillfactor=50);
comment on table limit_buckets is
  'What is left of a rate limit in all processes together. Only busy keys; each process subtracts what it let through.';

create unlogged table limit_sharers (
  key text not null,
  process text not null,
  at timestamp with time zone not null,
  constraint limit_sharer_once PRIMARY KEY (key, process)
) with (fillfactor=50);
comment on table limit_sharers is
  'Which processes used a limit lately: they share what is left of it.';

create unlogged table limit_refusals (
  kind text not null,
  key text not null,
  subject text not null,
  refused bigint not null,
  since timestamp with time zone not null,
  until timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint limit_refusal_once PRIMARY KEY (kind, key)
);
comment on table limit_refusals is
  'Who was held back by which limit in the last hour, for the page of admins. Written by each process about once a second.';
comment on column limit_refusals.subject is
  'Whom it is about, as the page shows it. Phone numbers are without their middle digits.';
comment on column limit_refusals.until is
  'When the limit allows something again, if nothing more is asked.';

-- 0025_payments_number_limits.sql

create unlogged table number_limits (
  msisdn text not null,
  prompt_ids uuid[] not null default '{}'::uuid[],
  prompt_holders bigint[] not null default '{}'::bigint[],
  prompted_at timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  wrong_tokens integer not null default 0,
  wrong_since timestamp with time zone,
  limited_until timestamp with time zone,
  seen_at timestamp with time zone not null,
  constraint number_limit_once PRIMARY KEY (msisdn),
  constraint number_limit_prompts_whole CHECK (((cardinality(prompt_ids) = cardinality(prompted_at)) AND (cardinality(prompt_ids) = cardinality(prompt_holders))))
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=70);
comment on table number_limits is
  'Prompts and wrong tokens of each phone number in the last day. Deleted when nothing was asked for a day.';
comment on column number_limits.prompt_ids is
  'Collections of the last day that may still count, with their holders and dates in the next two columns.';
comment on column number_limits.wrong_since is
  'The day of the wrong tokens begins here.';
comment on column number_limits.limited_until is
  'When another prompt is allowed, as the last refusal said.';

-- 0026_platform_database_roles.sql

create table gateway_mode (
  single boolean not null default true,
  mode text not null,
  marked_at timestamp with time zone not null,
  constraint gateway_mode_pkey PRIMARY KEY (single),
  constraint gateway_mode_known CHECK ((mode = ANY (ARRAY['sandbox'::text, 'live'::text]))),
  constraint gateway_mode_single CHECK (single)
);
comment on table gateway_mode is
  'Whether the money in this database is real. Written at the first start and never changed: pretend money must not become real.';
CREATE TRIGGER gateway_mode_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON gateway_mode FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table applied_privileges (
  single boolean not null default true,
  checksum text not null,
  constraint applied_privileges_pkey PRIMARY KEY (single),
  constraint applied_privileges_single CHECK (single)
);
comment on table applied_privileges is
  'Which version of privileges.sql the grants and policies of this database come from.';

create table partition_rules (
  parent text not null,
  span text not null,
  keep interval,
  key_column text,
  age_column text,
  since timestamp with time zone,
  options text not null default ''::text,
  constraint partition_rule_once PRIMARY KEY (parent),
  constraint partition_rule_of_default CHECK (((key_column IS NULL) = (age_column IS NULL))),
  constraint partition_span_known CHECK ((span = ANY (ARRAY['hour'::text, 'day'::text, 'month'::text])))
);
comment on table partition_rules is
  'The tables whose partitions the service creates and drops, and how long their rows are kept at least.';
comment on column partition_rules.keep is
  'Nobody but the owner of the database can drop a younger partition, whatever a clock says. Null: only the owner drops any.';
comment on column partition_rules.key_column is
  'For a table with a default partition, whose rows are moved: the partition key.';
comment on column partition_rules.age_column is
  'The age of a row. A partition with a younger row is kept.';
comment on column partition_rules.since is
  'When the first partition of a span begins. What is older is in the partition <parent>_before.';
comment on column partition_rules.options is
  'Storage parameters of new partitions: a partitioned table itself cannot have any.';

-- 0028_platform_vault_keys.sql

create table vault_keys (
  version integer not null,
  wrapped bytea,
  wrapper text not null,
  fingerprint bytea not null,
  created_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  constraint vault_keys_pkey PRIMARY KEY (version),
  constraint vault_key_destroyed_when_retired CHECK (((wrapped IS NOT NULL) OR ((retired_at IS NOT NULL) AND (version > 0)))),
  constraint vault_key_fingerprint_length CHECK ((octet_length(fingerprint) = 16)),
  constraint vault_key_version_sane CHECK ((version >= 0))
);
comment on table vault_keys is
  'Keys that seal secrets; the newest seals. Version 0 opens values from before versions, and derives the keys that never change.';
comment on column vault_keys.wrapped is
  'The data key, encrypted by the wrapper. Null: retired and destroyed.';
comment on column vault_keys.wrapper is
  'What encrypted the key: local:<check of the master key>, aws-kms:<key> or vault-transit:<key>.';
comment on column vault_keys.fingerprint is
  'Shows that a key is the right one for this version; reveals nothing about it.';

-- 0029_holders_audit_chain.sql

create table audit_streams (
  stream bigint not null,
  position bigint not null,
  hash bytea not null,
  constraint audit_streams_pkey PRIMARY KEY (stream),
  constraint audit_head_length CHECK ((octet_length(hash) = 32)),
  constraint audit_position_sane CHECK (("position" > 0))
);
comment on table audit_streams is
  'The newest link of each stream of the audit log.';
comment on column audit_streams.stream is
  'The number of the holder; 0: the gateway itself.';

create table audit_chain (
  stream bigint not null,
  position bigint not null,
  audit_id bigint not null,
  hash bytea not null,
  constraint audit_chain_pkey PRIMARY KEY (stream, "position"),
  constraint audit_row_linked_once UNIQUE (audit_id),
  constraint audit_hash_length CHECK ((octet_length(hash) = 32))
) with (autovacuum_freeze_min_age=0, autovacuum_vacuum_insert_scale_factor=0.05);
comment on table audit_chain is
  'The links of the audit log, without gaps in each stream. Rows are only added.';
comment on column audit_chain.audit_id is
  'No foreign key: a row of the log that was removed must leave its link behind.';
comment on column audit_chain.hash is
  'SHA-256 of the hash before it (64 hexadecimal digits; zeros for the first), a line feed, and audit_line.';
CREATE TRIGGER audit_chain_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_chain FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0030_payments_operator_hints.sql

create table operator_hints (
  holder_id bigint not null,
  transaction_id uuid not null,
  hints integer not null default 1,
  attempts integer not null default 0,
  first_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  constraint operator_hint_once PRIMARY KEY (holder_id, transaction_id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);
comment on table operator_hints is
  'Transactions, open or final, whose operator has sent a message that proves nothing. Deleted after it was asked. due_at is a lease.';
comment on column operator_hints.hints is
  'How many came. More than there were when the operator was asked: it is asked again.';
CREATE INDEX operator_hints_due ON public.operator_hints USING btree (due_at);

-- 0034_rails_connections.sql

create table connections (
  name text not null,
  rail text not null,
  environment text not null,
  base_url text,
  settings jsonb not null,
  sealed bytea not null,
  sealed_names text[] not null,
  methods text[] not null,
  holder_id bigint,
  matched_callbacks text not null default 'apply'::text,
  version integer not null default 1,
  paused_at timestamp with time zone,
  removed_at timestamp with time zone,
  created_at timestamp with time zone not null,
  created_by text not null,
  key_changed_at timestamp with time zone,
  constraint connections_pkey PRIMARY KEY (name),
  constraint connections_environment CHECK ((environment = ANY (ARRAY['simulator'::text, 'sandbox'::text, 'production'::text]))),
  constraint connections_matched CHECK ((matched_callbacks = ANY (ARRAY['apply'::text, 'ask'::text]))),
  constraint connections_methods CHECK ((cardinality(methods) > 0)),
  constraint connections_name CHECK (((name ~ '^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$'::text) AND (name <> 'sandbox'::text))),
  constraint connections_simulator_url CHECK ((((environment = 'simulator'::text) = (base_url IS NOT NULL)) AND ((base_url IS NULL) OR (base_url ~ '^http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|$)'::text)))),
  constraint connections_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table connections is
  'Accounts at operators. A row is never deleted: its name is in transactions, and late callbacks still name it.';
comment on column connections.sealed is
  'JSON of the secret settings, encrypted by the vault.';
comment on column connections.sealed_names is
  'Which settings are in sealed, for people who may not read it.';
comment on column connections.holder_id is
  'The holder whose own account it is; null: an account of the gateway.';
comment on column connections.matched_callbacks is
  'apply: an unsigned callback that matches what we stored counts as evidence. ask: it is only a reason to ask the operator.';
comment on column connections.version is
  'Grows with each change of settings, secrets, address or methods: the rail is opened anew.';
comment on column connections.key_changed_at is
  'When the key by which the operator knows the account was replaced. An older payment that it does not find may be in the account before.';
CREATE TRIGGER connections_counted AFTER INSERT OR DELETE OR UPDATE ON connections FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table routes (
  holder_id bigint,
  method text not null,
  direction text not null,
  position smallint not null,
  connection text not null,
  constraint routes_once UNIQUE NULLS NOT DISTINCT (holder_id, method, direction, connection),
  constraint routes_one_position UNIQUE NULLS NOT DISTINCT (holder_id, method, direction, "position"),
  constraint routes_direction CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text]))),
  constraint routes_position CHECK (("position" >= 1)),
  constraint routes_connection_fkey FOREIGN KEY (connection) REFERENCES connections(name),
  constraint routes_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table routes is
  'The connections of a method and direction, in the order in which they are tried. Without a holder: for everybody who has no own route.';
CREATE INDEX routes_by_connection ON public.routes USING btree (connection);
CREATE TRIGGER routes_counted AFTER INSERT OR DELETE OR UPDATE ON routes FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table connection_tokens (
  connection text not null,
  kind text not null,
  connection_version integer not null,
  version bigint not null default 0,
  sealed bytea,
  valid_from timestamp with time zone,
  valid_until timestamp with time zone,
  fetching_until timestamp with time zone,
  constraint connection_tokens_pkey PRIMARY KEY (connection, kind),
  constraint connection_tokens_connection_fkey FOREIGN KEY (connection) REFERENCES connections(name)
);
comment on table connection_tokens is
  'The live access token of each connection and kind, shared by every process.';
comment on column connection_tokens.connection_version is
  'The settings that it was fetched with; it is not used with others.';
comment on column connection_tokens.fetching_until is
  'One process is fetching a new one; the others wait until then at most.';

create table operator_calls (
  connection text not null,
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  method text not null,
  path text not null,
  status smallint,
  ms real not null,
  request text not null,
  answer text not null,
  constraint operator_calls_pkey PRIMARY KEY (connection, id),
  constraint operator_calls_connection_fkey FOREIGN KEY (connection) REFERENCES connections(name)
);
comment on table operator_calls is
  'The last calls of each connection without secrets, for people: every call that failed, and some of the others.';
comment on column operator_calls.status is
  'The HTTP status; null: no answer, and answer says why.';

-- 0035_payments_operator_steps.sql

create table prepared_calls (
  holder_id bigint not null,
  transaction_id uuid not null,
  connection text not null,
  sealed bytea not null,
  at timestamp with time zone not null,
  constraint prepared_once PRIMARY KEY (holder_id, transaction_id)
);
comment on table prepared_calls is
  'What an operator gave us for a transaction before it was sent, such as a token. Committed before money moves.';
comment on column prepared_calls.sealed is
  'JSON, sealed by the vault: it may contain tokens of the operator.';

create table payer_steps (
  holder_id bigint not null,
  transaction_id uuid not null,
  step jsonb not null,
  wrong_codes integer not null default 0,
  at timestamp with time zone not null,
  constraint payer_step_once PRIMARY KEY (holder_id, transaction_id)
);
comment on table payer_steps is
  'What a payer has to do next, as the operator said it last. Where to send money to is in payment_instructions.';
comment on column payer_steps.wrong_codes is
  'Codes of the operator that the payer gave us and the operator refused.';

create table operator_balances (
  connection text not null,
  account text not null,
  currency text not null,
  available bigint not null,
  told_at timestamp with time zone not null,
  constraint operator_balance_once PRIMARY KEY (connection, account, currency)
);
comment on table operator_balances is
  'What operators say that our accounts with them hold, in hundredths. The last word of each.';

create table balance_reads (
  connection text not null,
  due_at timestamp with time zone not null,
  constraint balance_read_once PRIMARY KEY (connection)
);
comment on table balance_reads is
  'When the balance of a connection is read next. One process reads it for all.';

-- 0040_console_saved_filters.sql

create table saved_filters (
  holder_id bigint not null,
  member_id bigint not null,
  name text not null,
  query text not null,
  created_at timestamp with time zone not null,
  constraint saved_filter_once PRIMARY KEY (holder_id, member_id, name),
  constraint saved_filter_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60))),
  constraint saved_filter_query_length CHECK (((char_length(query) >= 1) AND (char_length(query) <= 1000))),
  constraint saved_filters_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint saved_filters_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
comment on table saved_filters is
  'Filters of the list of transactions that a member keeps under a name.';
comment on column saved_filters.query is
  'The query of the address of the list.';

-- 0041_payments_notes_and_retries.sql

create table transaction_notes (
  holder_id bigint not null,
  transaction_id uuid not null,
  number integer not null,
  body text not null,
  created_by text not null,
  created_by_member bigint,
  created_at timestamp with time zone not null,
  constraint transaction_note_once PRIMARY KEY (holder_id, transaction_id, number),
  constraint transaction_note_length CHECK (((char_length(body) >= 1) AND (char_length(body) <= 1000))),
  constraint transaction_note_number CHECK (((number >= 1) AND (number <= 100)))
);
comment on table transaction_notes is
  'Notes of the team on a transaction. They are not changed or deleted; operators never see them.';
comment on column transaction_notes.number is
  'Counts from 1 within the transaction, which bounds how many there are.';

create table transaction_retries (
  holder_id bigint not null,
  retry_of uuid not null,
  number integer not null,
  transaction_id uuid,
  link_id uuid,
  created_by text not null,
  created_at timestamp with time zone not null,
  constraint transaction_retry_once PRIMARY KEY (holder_id, retry_of, number),
  constraint transaction_retry_kind CHECK (((transaction_id IS NULL) <> (link_id IS NULL))),
  constraint transaction_retry_number CHECK (((number >= 1) AND (number <= 100)))
);
comment on table transaction_retries is
  'A collection or payout that failed, and the new transaction or payment link that asks for the same again.';
CREATE INDEX transaction_retries_by_link ON public.transaction_retries USING btree (holder_id, link_id) WHERE (link_id IS NOT NULL);
CREATE UNIQUE INDEX transaction_retry_by_transaction ON public.transaction_retries USING btree (holder_id, transaction_id) WHERE (transaction_id IS NOT NULL);

-- 0042_links_short_codes.sql

create table link_visits (
  holder_id bigint not null,
  link_id uuid not null,
  visits bigint not null,
  last_at timestamp with time zone not null,
  constraint link_visits_once PRIMARY KEY (holder_id, link_id),
  constraint link_visits_counted CHECK ((visits > 0)),
  constraint link_visits_link_exists FOREIGN KEY (holder_id, link_id) REFERENCES payment_links(holder_id, id)
);
comment on table link_visits is
  'How often the page of a link was opened by a person. Counted in memory and written about once a second; a crash may lose a few.';

-- 0044_sandbox_mail_box.sql

create unlogged table sandbox_mails (
  id bigint not null generated always as identity,
  to_address text not null,
  subject text not null,
  body text not null,
  received_at timestamp with time zone not null,
  constraint sandbox_mails_pkey PRIMARY KEY (id)
);
comment on table sandbox_mails is
  'Mails that the sandbox caught, by a real SMTP exchange on loopback. The newest are kept.';

-- 0045_console_notifications.sql

create table notification_choices (
  holder_id bigint not null,
  member_id bigint not null,
  kinds text[] not null,
  language text not null,
  updated_at timestamp with time zone not null,
  constraint notification_choices_pkey PRIMARY KEY (holder_id, member_id),
  constraint notification_kinds_known CHECK ((kinds <@ ARRAY['daily_summary'::text, 'payout_failed'::text, 'receiver_down'::text, 'case_opened'::text, 'low_float'::text, 'statement_ready'::text])),
  constraint notification_choices_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint notification_choices_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id) ON DELETE CASCADE
);
comment on table notification_choices is
  'What a member chose. Without a row the role decides.';

create table notifications_sent (
  holder_id bigint not null,
  kind text not null,
  subject text not null,
  sent_at timestamp with time zone not null,
  constraint notifications_sent_pkey PRIMARY KEY (holder_id, kind, subject),
  constraint notifications_sent_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table notifications_sent is
  'What was said about: a payout, a receiver since a moment, a case, a wallet on a day. Nothing is said twice.';
CREATE INDEX notifications_sent_at ON public.notifications_sent USING btree (sent_at);

-- 0047_checkout_receipt_texts.sql

create table receipt_text_settings (
  holder_id bigint not null,
  is_on boolean not null,
  position bigint not null,
  updated_at timestamp with time zone not null,
  constraint receipt_text_setting_once PRIMARY KEY (holder_id),
  constraint receipt_text_settings_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table receipt_text_settings is
  'Holders who chose whether payers get a receipt by SMS. Without a row they do not.';
comment on column receipt_text_settings.position is
  'The last event of the feed that was looked at. Payments from before the switch was turned on get no SMS.';

create table receipt_texts (
  holder_id bigint not null,
  transaction_id uuid not null,
  state text not null,
  started_at timestamp with time zone not null,
  constraint receipt_text_once PRIMARY KEY (holder_id, transaction_id),
  constraint receipt_text_state_known CHECK ((state = ANY (ARRAY['sending'::text, 'sent'::text, 'refused'::text, 'unknown'::text])))
);
comment on table receipt_texts is
  'An SMS with a receipt, written before the operator is called. After a crash it stays "sending": nobody is texted twice.';

-- 0048_payments_evidence_by_month.sql

create table evidence (
  holder_id bigint not null,
  transaction_id uuid not null,
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  source text not null,
  state text not null,
  receipt text,
  failure_code text,
  effect text not null,
  raw text not null default ''::text,
  constraint evidence_id PRIMARY KEY (holder_id, transaction_id, id),
  constraint evidence_effect_known CHECK ((effect = ANY (ARRAY['applied'::text, 'confirmed'::text, 'ignored'::text, 'case'::text]))),
  constraint evidence_source_known CHECK ((source = ANY (ARRAY['submit'::text, 'callback'::text, 'matched'::text, 'poll'::text, 'verification'::text, 'statement'::text, 'person'::text]))),
  constraint evidence_state_known CHECK ((state = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'reversed'::text, 'unknown'::text])))
) partition by RANGE (transaction_id);
comment on table evidence is
  'Every observation of every transaction, as it was said. Partitioned by the id of the transaction, whose first bits are its time. id is the order in which it came.';
comment on column evidence.effect is
  'What the observation led to.';
CREATE TRIGGER evidence_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON evidence FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0049_payments_archived_months.sql

create table archived_months (
  month date not null,
  archived_at timestamp with time zone not null,
  removed_at timestamp with time zone not null,
  rows_removed bigint not null,
  rows_kept bigint not null,
  manifest_sha256 text not null,
  constraint archived_month_once PRIMARY KEY (month),
  constraint archived_kept_sane CHECK ((rows_kept >= 0)),
  constraint archived_manifest_form CHECK ((manifest_sha256 ~ '^[0-9a-f]{64}$'::text)),
  constraint archived_month_begins CHECK ((month = date_trunc('month'::text, (month)::timestamp with time zone))),
  constraint archived_rows_sane CHECK ((rows_removed >= 0))
);
comment on table archived_months is
  'Months (of the creation of payments, in UTC) whose evidence was removed after it had been written to an archive.';
comment on column archived_months.archived_at is
  'When the archive was written. Reports that came later were not removed.';
comment on column archived_months.rows_kept is
  'What stayed: evidence of payments that are open, have or had a case, changed lately, or succeeded after they had failed.';
comment on column archived_months.manifest_sha256 is
  'Which archive has the rows: the SHA-256 of the manifest of the month.';
CREATE TRIGGER archived_months_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON archived_months FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0050_books_statements.sql

create table statement_files (
  id bigint not null generated always as identity,
  connection text not null,
  name text not null,
  source text not null,
  format text not null,
  mapping jsonb,
  zone text not null,
  sha256 bytea not null,
  bytes bigint not null,
  status text not null,
  problem text,
  lines integer not null default 0,
  lines_new integer not null default 0,
  lines_known integer not null default 0,
  lines_bad integer not null default 0,
  opening_balance bigint,
  closing_balance bigint,
  currency text,
  imported_by text not null,
  imported_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  account text,
  date_order text,
  constraint statement_file_id PRIMARY KEY (id),
  constraint statement_file_once UNIQUE (connection, sha256),
  constraint statement_file_source_known CHECK ((source = ANY (ARRAY['console'::text, 'command'::text, 'rail'::text]))),
  constraint statement_file_status_known CHECK ((status = ANY (ARRAY['reading'::text, 'read'::text, 'broken_off'::text, 'withdrawn'::text])))
);
comment on table statement_files is
  'Statements of operators. The same bytes are one file of a connection, however often they are imported.';
comment on column statement_files.connection is
  'Whose statement it is.';
comment on column statement_files.mapping is
  'How the columns were read, where the format is "mapped".';
comment on column statement_files.zone is
  'The time zone of the times that name none.';
comment on column statement_files.status is
  'A file that stays at "reading" without a process that reads it is finished by importing it again.';
comment on column statement_files.problem is
  'Why the reading broke off.';
comment on column statement_files.currency is
  'The currency of lines that name none.';
comment on column statement_files.account is
  'Our own number, as the person gave it, so that the file can be read again in the same way.';
comment on column statement_files.date_order is
  'The order of its dates, as the person gave it.';
CREATE INDEX statement_files_of_connection ON public.statement_files USING btree (connection, id DESC);

create table statement_file_parts (
  file_id bigint not null,
  number integer not null,
  content bytea not null,
  constraint statement_file_part_once PRIMARY KEY (file_id, number),
  constraint statement_file_part_size CHECK (((length(content) >= 1) AND (length(content) <= 1048576))),
  constraint statement_file_parts_file_id_fkey FOREIGN KEY (file_id) REFERENCES statement_files(id)
);
comment on table statement_file_parts is
  'The original file in order, in the database so that a backup has it.';
CREATE TRIGGER statement_file_parts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON statement_file_parts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table statement_lines (
  connection text not null,
  line_key bytea not null,
  file_id bigint not null,
  line_number integer not null,
  occurred_at timestamp with time zone not null,
  kind text not null,
  direction text not null,
  state text not null,
  gross bigint not null,
  fee bigint,
  currency text not null,
  receipt text,
  reference text,
  msisdn text,
  balance bigint,
  description text not null default ''::text,
  raw text not null,
  read_at timestamp with time zone not null,
  constraint statement_line_once PRIMARY KEY (connection, line_key),
  constraint statement_line_direction_known CHECK ((direction = ANY (ARRAY['in'::text, 'out'::text]))),
  constraint statement_line_gross_positive CHECK ((gross >= 0)),
  constraint statement_line_key_size CHECK ((length(line_key) = 16)),
  constraint statement_line_kind_known CHECK ((kind = ANY (ARRAY['payment'::text, 'fee'::text, 'reversal'::text, 'settlement'::text, 'other'::text]))),
  constraint statement_line_state_known CHECK ((state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'pending'::text]))),
  constraint statement_lines_file_id_fkey FOREIGN KEY (file_id) REFERENCES statement_files(id)
);
comment on table statement_lines is
  'Each line of an operator once, whichever file it came in first.';
comment on column statement_lines.line_key is
  'What makes the line the same line in another file: see src/books/line-keys.ts.';
comment on column statement_lines.direction is
  'Into or out of our account with the operator.';
comment on column statement_lines.fee is
  'Null: the file does not say. Zero: the file says that there was none.';
comment on column statement_lines.receipt is
  'The id of the operator.';
comment on column statement_lines.reference is
  'Our id, where the file has it.';
comment on column statement_lines.msisdn is
  'May be masked: 2547****678.';
comment on column statement_lines.balance is
  'Of the account after the line.';
comment on column statement_lines.raw is
  'The line as it was.';
CREATE INDEX statement_lines_by_currency ON public.statement_lines USING btree (connection, currency, occurred_at);
CREATE INDEX statement_lines_by_receipt ON public.statement_lines USING btree (connection, receipt) WHERE (receipt IS NOT NULL);
CREATE INDEX statement_lines_by_time ON public.statement_lines USING btree (connection, occurred_at, line_key);
CREATE INDEX statement_lines_of_file ON public.statement_lines USING btree (file_id, line_number);
CREATE TRIGGER statement_lines_append_only BEFORE UPDATE OR TRUNCATE ON statement_lines FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_lines_withdrawn AFTER DELETE ON statement_lines REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION require_withdrawal();

create table statement_problems (
  file_id bigint not null,
  line_number integer not null,
  reason text not null,
  raw text not null,
  constraint statement_problem_once PRIMARY KEY (file_id, line_number),
  constraint statement_problems_file_id_fkey FOREIGN KEY (file_id) REFERENCES statement_files(id)
);
comment on table statement_problems is
  'Lines that could not be read, and why, when the file was last read. The original file has them.';

create table statement_mappings (
  name text not null,
  mapping jsonb not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  constraint statement_mapping_name PRIMARY KEY (name)
);
comment on table statement_mappings is
  'How to read the columns of a CSV file, under a name that people give.';

-- 0051_books_breaks.sql

create table close_rules (
  connection text not null,
  zone text not null,
  cut_off_minutes integer not null,
  changed_by text not null,
  changed_at timestamp with time zone not null,
  constraint close_rule_once PRIMARY KEY (connection),
  constraint close_rule_cut_off_in_day CHECK (((cut_off_minutes >= 0) AND (cut_off_minutes <= 1439)))
);
comment on table close_rules is
  'When a day of a connection begins. Without a row: at midnight in UTC.';
comment on column close_rules.cut_off_minutes is
  'After midnight in the zone.';

create table statement_matches (
  connection text not null,
  line_key bytea not null,
  day date not null,
  late boolean not null,
  currency text not null,
  moved bigint not null,
  fee bigint not null,
  line_seal bytea not null,
  seen_at timestamp with time zone not null,
  leg text,
  holder_id bigint,
  transaction_id uuid,
  case_id uuid,
  method text,
  rule text,
  matched_at timestamp with time zone,
  match_seal bytea,
  constraint statement_match_once PRIMARY KEY (connection, line_key),
  constraint statement_match_leg_known CHECK ((leg = ANY (ARRAY['payment'::text, 'reversal'::text, 'fee'::text]))),
  constraint statement_match_rule_known CHECK ((rule = ANY (ARRAY['reference'::text, 'account_reference'::text, 'receipt'::text, 'operator_reference'::text, 'refund_of'::text, 'number'::text, 'settlement'::text]))),
  constraint statement_match_whole CHECK (((num_nulls(rule, leg, holder_id, matched_at, match_seal) = ANY (ARRAY[0, 5])) AND (num_nonnulls(transaction_id, case_id) =
CASE
    WHEN (rule IS NULL) THEN 0
    ELSE 1
END))),
  constraint statement_match_line_exists FOREIGN KEY (connection, line_key) REFERENCES statement_lines(connection, line_key)
);
comment on table statement_matches is
  'Each line that was looked at: the day it counts on, what it moved, and what it was matched with, once.';
comment on column statement_matches.late is
  'Its own day was closed before the line came: it counts on the first day that was open.';
comment on column statement_matches.moved is
  'What the line added to our account with the operator, without its fee. Zero unless it succeeded.';
comment on column statement_matches.fee is
  'What the operator took beside it; below zero: gave back. Zero where the line does not say.';
comment on column statement_matches.line_seal is
  'The hash of the line as it was when it was looked at.';
comment on column statement_matches.case_id is
  'The case that holds the money of the line in suspense.';
comment on column statement_matches.rule is
  'Why it was matched. Null: it was not.';
CREATE INDEX statement_matches_by_day ON public.statement_matches USING btree (connection, day, line_key);
CREATE INDEX statement_matches_of_case ON public.statement_matches USING btree (case_id) WHERE (case_id IS NOT NULL);
CREATE INDEX statement_matches_of_transaction ON public.statement_matches USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);
CREATE INDEX statement_matches_open ON public.statement_matches USING btree (connection, day) WHERE (rule IS NULL);
CREATE TRIGGER statement_matches_once BEFORE UPDATE ON statement_matches FOR EACH ROW WHEN (old.rule IS NOT NULL OR old.day IS DISTINCT FROM new.day OR old.late IS DISTINCT FROM new.late OR old.currency IS DISTINCT FROM new.currency OR old.moved IS DISTINCT FROM new.moved OR old.fee IS DISTINCT FROM new.fee OR old.line_seal IS DISTINCT FROM new.line_seal OR old.seen_at IS DISTINCT FROM new.seen_at) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_matches_stay BEFORE TRUNCATE ON statement_matches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statement_matches_withdrawn AFTER DELETE ON statement_matches REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION require_withdrawn_match();

create table fee_bookings (
  id uuid not null,
  connection text not null,
  currency text not null,
  method text not null,
  day date not null,
  amount bigint not null,
  lines integer not null,
  booked_by text not null,
  posted_at timestamp with time zone not null,
  constraint fee_booking_id PRIMARY KEY (id),
  constraint fee_booking_has_lines CHECK ((lines > 0)),
  constraint fee_booking_not_empty CHECK ((amount <> 0))
);
comment on table fee_bookings is
  'Fees of an operator as they were posted to the cost account: one transfer, under this id, for many lines of a day.';
comment on column fee_bookings.method is
  'Of the payments that cost the fees. Empty: no payment explains them.';
comment on column fee_bookings.amount is
  'Below zero: the operator gave it back.';
CREATE INDEX fee_bookings_by_day ON public.fee_bookings USING btree (connection, day);
CREATE INDEX fee_bookings_by_time ON public.fee_bookings USING btree (connection, posted_at);
CREATE TRIGGER fee_bookings_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON fee_bookings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table statement_effects (
  connection text not null,
  line_key bytea not null,
  effect text not null,
  fee_booking uuid,
  applied_by text not null,
  applied_at timestamp with time zone not null,
  constraint statement_effect_once PRIMARY KEY (connection, line_key, effect),
  constraint statement_effect_booking_named CHECK (((fee_booking IS NOT NULL) = (effect = 'fee'::text))),
  constraint statement_effect_known CHECK ((effect = ANY (ARRAY['evidence'::text, 'suspense'::text, 'fee'::text]))),
  constraint statement_effect_match_exists FOREIGN KEY (connection, line_key) REFERENCES statement_matches(connection, line_key)
);
comment on table statement_effects is
  'What a line did beyond being matched. Each once, however often a statement is applied.';
CREATE INDEX statement_effects_of_booking ON public.statement_effects USING btree (fee_booking) WHERE (fee_booking IS NOT NULL);
CREATE TRIGGER statement_effects_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON statement_effects FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table breaks (
  id uuid not null,
  connection text not null,
  currency text not null,
  kind text not null,
  leg text not null,
  line_key bytea,
  holder_id bigint,
  transaction_id uuid,
  expected bigint,
  found bigint,
  difference bigint not null,
  day date not null,
  counter_day date,
  opened_at timestamp with time zone not null,
  status text not null default 'open'::text,
  resolved_at timestamp with time zone,
  resolved_by text,
  resolution text,
  holds boolean not null default true,
  constraint break_id PRIMARY KEY (id),
  constraint break_about_something CHECK (((line_key IS NOT NULL) OR (transaction_id IS NOT NULL))),
  constraint break_kind_known CHECK ((kind = ANY (ARRAY['missing_with_us'::text, 'missing_with_them'::text, 'amount'::text, 'fee'::text, 'state'::text, 'twice'::text, 'other_day'::text]))),
  constraint break_leg_known CHECK ((leg = ANY (ARRAY['payment'::text, 'reversal'::text, 'fee'::text]))),
  constraint break_open_holds CHECK ((holds OR (status = 'resolved'::text))),
  constraint break_resolution_length CHECK ((char_length(resolution) <= 500)),
  constraint break_resolution_whole CHECK ((((status = 'resolved'::text) = (resolved_at IS NOT NULL)) AND (num_nulls(resolved_at, resolved_by, resolution) = ANY (ARRAY[0, 3])))),
  constraint break_status_known CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text]))),
  constraint break_two_days CHECK ((((counter_day IS NOT NULL) = (kind = 'other_day'::text)) AND (counter_day <> day)))
);
comment on table breaks is
  'Where a statement and our books do not agree.';
comment on column breaks.transaction_id is
  'The transaction, or the case whose money it is.';
comment on column breaks.expected is
  'What our ledger moved at the operator; what a fee usually is. Null: nothing is known.';
comment on column breaks.found is
  'What the statement says that it moved.';
comment on column breaks.difference is
  'By how much the account with the operator moved more, on `day`, than our ledger did.';
comment on column breaks.counter_day is
  'The day on which the same difference counts the other way: each side has it on a day of its own.';
comment on column breaks.resolved_by is
  'A person, or "reconciliation": a later line or posting explained it.';
comment on column breaks.holds is
  'False: the difference is gone, or became another one. What people resolved can still hold.';
CREATE UNIQUE INDEX break_open_once_for_each_day ON public.breaks USING btree (connection, kind, leg, line_key, transaction_id, counter_day) NULLS NOT DISTINCT WHERE (status = 'open'::text);
CREATE INDEX breaks_by_counter_day ON public.breaks USING btree (connection, currency, counter_day) WHERE (counter_day IS NOT NULL);
CREATE INDEX breaks_by_day ON public.breaks USING btree (connection, currency, day);
CREATE INDEX breaks_of_line ON public.breaks USING btree (connection, line_key) WHERE (line_key IS NOT NULL);
CREATE INDEX breaks_of_transaction ON public.breaks USING btree (transaction_id) WHERE (transaction_id IS NOT NULL);
CREATE INDEX breaks_open ON public.breaks USING btree (connection, opened_at, id) WHERE (status = 'open'::text);

create table closes (
  connection text not null,
  currency text not null,
  number bigint not null,
  kind text not null,
  day date not null,
  from_at timestamp with time zone not null,
  to_at timestamp with time zone not null,
  opening_theirs bigint not null,
  lines_in bigint not null,
  lines_out bigint not null,
  fees bigint not null,
  closing_theirs bigint not null,
  balance_source text not null,
  opening_ours bigint not null,
  closing_ours bigint not null,
  lines integer not null,
  late_lines integer not null,
  reason text not null default ''::text,
  content_hash bytea not null,
  previous_hash bytea not null,
  hash bytea not null,
  signed_by text not null,
  signed_at timestamp with time zone not null,
  constraint close_number_once PRIMARY KEY (connection, currency, number),
  constraint close_adds_up CHECK (((((opening_theirs + lines_in) - lines_out) - fees) = closing_theirs)),
  constraint close_balance_source_known CHECK ((balance_source = ANY (ARRAY['line'::text, 'file'::text, 'read'::text, 'typed'::text, 'unchanged'::text]))),
  constraint close_kind_known CHECK ((kind = ANY (ARRAY['close'::text, 'reopening'::text]))),
  constraint close_number_positive CHECK ((number > 0)),
  constraint close_reason_length CHECK ((char_length(reason) <= 500)),
  constraint close_reopening_reasoned CHECK (((kind = 'close'::text) OR (char_length(reason) >= 3)))
);
comment on table closes is
  'Days that people signed, and reopenings, one chain for each connection and currency: each row has the hash of the row before.';
comment on column closes.closing_ours is
  'What the operator holds for us by our ledger: the clearing accounts of all holders.';
comment on column closes.content_hash is
  'Over the lines of the day and what they were matched with when it was signed.';
CREATE TRIGGER closes_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON closes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table close_items (
  connection text not null,
  currency text not null,
  number bigint not null,
  place integer not null,
  kind text not null,
  break_id uuid,
  lines integer not null default 1,
  difference bigint not null,
  constraint close_item_once PRIMARY KEY (connection, currency, number, place),
  constraint close_item_close_exists FOREIGN KEY (connection, currency, number) REFERENCES closes(connection, currency, number)
);
comment on table close_items is
  'What explained the difference between the two movements of a closed day, to the cent.';
comment on column close_items.break_id is
  'Null: fees of the day that were posted on another one.';
CREATE TRIGGER close_items_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON close_items FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0054_books_merchant_statements.sql

create table monthly_statements (
  holder_id bigint not null,
  currency text not null,
  month date not null,
  time_zone text not null,
  wallet_account integer not null,
  opening bigint not null,
  gross bigint not null,
  fee bigint not null,
  net bigint not null,
  closing bigint not null,
  lines integer not null,
  bytes bigint not null,
  sha256 bytea not null,
  made_at timestamp with time zone not null,
  constraint monthly_statement_once PRIMARY KEY (holder_id, currency, month),
  constraint monthly_statement_adds_up CHECK ((((opening + net) = closing) AND ((gross + fee) = net))),
  constraint monthly_statement_first_day CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
  constraint monthly_statements_lines_check CHECK ((lines >= 0)),
  constraint monthly_statements_sha256_check CHECK ((octet_length(sha256) = 32)),
  constraint monthly_statements_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table monthly_statements is
  'The statement of a wallet over a month of its holder, made by a job when the month is over. Never changed.';
comment on column monthly_statements.month is
  'Its first day.';
comment on column monthly_statements.time_zone is
  'In which the days of the month were counted.';
comment on column monthly_statements.sha256 is
  'Of the CSV file, which is stored in monthly_statement_parts.';
CREATE TRIGGER monthly_statements_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON monthly_statements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table monthly_statement_parts (
  holder_id bigint not null,
  currency text not null,
  month date not null,
  number integer not null,
  content bytea not null,
  constraint monthly_statement_part_once PRIMARY KEY (holder_id, currency, month, number),
  constraint monthly_statement_part_size CHECK ((octet_length(content) <= 1048576)),
  constraint monthly_statement_part_of FOREIGN KEY (holder_id, currency, month) REFERENCES monthly_statements(holder_id, currency, month) DEFERRABLE INITIALLY DEFERRED
);
comment on table monthly_statement_parts is
  'The CSV file of a monthly statement, in order. Written before the row that has its hash, in the same transaction.';
CREATE TRIGGER monthly_statement_parts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON monthly_statement_parts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0055_payments_held_money.sql

create table reserve_rules (
  holder_id bigint not null,
  basis_points integer not null,
  days integer not null,
  updated_by text not null,
  updated_at timestamp with time zone not null,
  constraint reserve_rule_once PRIMARY KEY (holder_id),
  constraint reserve_rule_days CHECK (((days >= 1) AND (days <= 365))),
  constraint reserve_rule_share CHECK (((basis_points >= 1) AND (basis_points <= 10000))),
  constraint reserve_rules_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table reserve_rules is
  'Of each collection of the holder, this share is held back for some days. No row: nothing is held.';

create table held_parts (
  holder_id bigint not null,
  source_id uuid not null,
  currency text not null,
  amount bigint not null,
  used bigint not null default 0,
  held_at timestamp with time zone not null,
  release_at timestamp with time zone not null,
  released_at timestamp with time zone,
  constraint held_part_once PRIMARY KEY (holder_id, source_id),
  constraint held_part_positive CHECK ((amount > 0)),
  constraint held_part_used_bounded CHECK (((used >= 0) AND (used <= amount)))
);
comment on table held_parts is
  'What of each collection is in the rolling reserve. A row changes only under the lock of the wallet it belongs to.';
comment on column held_parts.source_id is
  'The collection; or the refund that had used held money, failed, and gave it back.';
comment on column held_parts.used is
  'Taken for refunds and for facts that the wallet had too little for. The rest is released.';
CREATE INDEX held_parts_due ON public.held_parts USING btree (release_at) WHERE (released_at IS NULL);
CREATE INDEX held_parts_of_holder ON public.held_parts USING btree (holder_id, currency, release_at) WHERE (released_at IS NULL);

create table disputes (
  holder_id bigint not null,
  case_id uuid not null,
  transaction_id uuid not null,
  amount bigint not null,
  fee_returned bigint not null,
  short bigint not null,
  currency text not null,
  source text not null,
  reason text not null,
  reference text,
  answer_by timestamp with time zone not null,
  status text not null default 'open'::text,
  opened_by text not null,
  opened_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint dispute_once PRIMARY KEY (holder_id, case_id),
  constraint dispute_amount_positive CHECK ((amount > 0)),
  constraint dispute_end_dated CHECK (((status = 'open'::text) = (ended_at IS NULL))),
  constraint dispute_fee_bounded CHECK (((fee_returned >= 0) AND (fee_returned <= amount))),
  constraint dispute_reason_length CHECK (((char_length(reason) >= 3) AND (char_length(reason) <= 500))),
  constraint dispute_reference_length CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 120))),
  constraint dispute_short_bounded CHECK (((short >= 0) AND (short <= (amount - fee_returned)))),
  constraint dispute_source_known CHECK ((source = ANY (ARRAY['operator'::text, 'person'::text]))),
  constraint dispute_status_known CHECK ((status = ANY (ARRAY['open'::text, 'won'::text, 'lost'::text]))),
  constraint dispute_case_exists FOREIGN KEY (holder_id, case_id) REFERENCES cases(holder_id, id)
);
comment on table disputes is
  'A payer, or the operator, asks for the money of a collection back. The amount is held until two people have decided.';
comment on column disputes.fee_returned is
  'What the gateway gives back out of its fee if the dispute is lost.';
comment on column disputes.short is
  'What the wallet did not hold when the dispute was opened, and no credit has brought since.';
comment on column disputes.reference is
  'The number of the operator''s notice.';
comment on column disputes.answer_by is
  'Until when evidence can be sent to the operator.';
CREATE UNIQUE INDEX dispute_notice_once ON public.disputes USING btree (holder_id, transaction_id, reference) WHERE (reference IS NOT NULL);
CREATE INDEX disputes_open ON public.disputes USING btree (holder_id, currency, opened_at) WHERE (status = 'open'::text);
CREATE TRIGGER disputes_keep_final_states BEFORE UPDATE ON disputes FOR EACH ROW WHEN (old.status <> 'open'::text) EXECUTE FUNCTION refuse_reopening();

create table dispute_evidence (
  holder_id bigint not null,
  id uuid not null,
  case_id uuid not null,
  note text not null,
  document bytea,
  document_type text,
  added_by text not null,
  added_at timestamp with time zone not null,
  constraint dispute_evidence_id PRIMARY KEY (holder_id, id),
  constraint dispute_document_size CHECK (((octet_length(document) >= 1) AND (octet_length(document) <= 1048576))),
  constraint dispute_document_type_known CHECK ((document_type = ANY (ARRAY['text/plain'::text, 'image/png'::text, 'image/jpeg'::text, 'image/webp'::text]))),
  constraint dispute_document_typed CHECK (((document IS NULL) = (document_type IS NULL))),
  constraint dispute_note_length CHECK (((char_length(note) >= 1) AND (char_length(note) <= 4000))),
  constraint dispute_evidence_of_dispute FOREIGN KEY (holder_id, case_id) REFERENCES disputes(holder_id, case_id)
);
comment on table dispute_evidence is
  'What was said and shown in a dispute. Never changed.';
CREATE INDEX dispute_evidence_by_case ON public.dispute_evidence USING btree (holder_id, case_id);
CREATE TRIGGER dispute_evidence_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON dispute_evidence FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0056_payments_limits.sql

create table payment_limits (
  holder_id bigint not null,
  direction text not null,
  subject text not null,
  currency text not null,
  set_by text not null,
  day_amount bigint,
  day_count integer,
  updated_by text not null,
  updated_at timestamp with time zone not null,
  constraint limit_once PRIMARY KEY (holder_id, direction, subject, currency, set_by),
  constraint limit_amount_sane CHECK ((day_amount >= 0)),
  constraint limit_count_sane CHECK ((day_count >= 0)),
  constraint limit_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text, 'refund'::text]))),
  constraint limit_of_members CHECK (((subject <> 'member'::text) OR (direction <> 'collection'::text))),
  constraint limit_says_something CHECK (((day_amount IS NOT NULL) OR (day_count IS NOT NULL))),
  constraint limit_set_by_known CHECK ((set_by = ANY (ARRAY['gateway'::text, 'holder'::text]))),
  constraint limit_subject_known CHECK ((subject = ANY (ARRAY['holder'::text, 'member'::text, 'number'::text]))),
  constraint payment_limits_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table payment_limits is
  'What may be ordered in one day of the holder. No row: no limit.';
comment on column payment_limits.subject is
  'Whose orders count together: all of the holder, those of one member, or those with one phone number.';
comment on column payment_limits.set_by is
  'By admins of the gateway, or by the holder itself. The lower of both holds.';
CREATE TRIGGER payment_limits_counted AFTER INSERT OR DELETE OR UPDATE ON payment_limits FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table limit_uses (
  holder_id bigint not null,
  direction text not null,
  subject text not null,
  subject_key text not null,
  currency text not null,
  day date not null,
  amount bigint not null,
  count integer not null,
  constraint limit_use_once PRIMARY KEY (holder_id, direction, subject, subject_key, currency, day),
  constraint limit_use_amount_sane CHECK ((amount >= 0)),
  constraint limit_use_count_sane CHECK ((count >= 0))
);
comment on table limit_uses is
  'What was ordered in a day under each limit. The row is also the lock: orders at the same moment count each other.';
comment on column limit_uses.subject_key is
  'The number of the member or of the phone; empty for the holder.';
comment on column limit_uses.day is
  'The day in the time zone of the holder.';
CREATE INDEX limit_uses_by_day ON public.limit_uses USING btree (day);

create table limit_parts (
  holder_id bigint not null,
  transaction_id uuid not null,
  subject text not null,
  subject_key text not null,
  day date not null,
  constraint limit_part_once PRIMARY KEY (holder_id, transaction_id, subject)
);
comment on table limit_parts is
  'Under which limits a transaction counts. What fails no longer counts.';
CREATE INDEX limit_parts_by_day ON public.limit_parts USING btree (day);

create table blocked_numbers (
  holder_id bigint not null,
  msisdn text not null,
  reason text not null,
  added_by text not null,
  added_at timestamp with time zone not null,
  set_by text,
  constraint blocked_number_once PRIMARY KEY (holder_id, msisdn),
  constraint blocked_number_form CHECK ((msisdn ~ '^[0-9]{6,15}$'::text)),
  constraint blocked_number_setter CHECK ((set_by = ANY (ARRAY['gateway'::text, 'holder'::text]))),
  constraint blocked_reason_length CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 200)))
);
comment on table blocked_numbers is
  'Numbers that are asked for nothing and paid nothing. Not hashed: people must be able to read the list and to take a number off it.';
comment on column blocked_numbers.holder_id is
  '0: blocked for every holder, by the admins of the gateway.';
comment on column blocked_numbers.set_by is
  'Who restrains: what the gateway has blocked for a holder only an administrator ends. Null: written by a version before this column.';
CREATE TRIGGER blocked_numbers_counted AFTER INSERT OR DELETE OR UPDATE ON blocked_numbers FOR EACH STATEMENT EXECUTE FUNCTION count_change();

-- 0059_books_settlement.sql

create table bank_accounts (
  name text not null,
  currency text not null,
  bank text not null,
  account_number text not null,
  zone text not null,
  added_by text not null,
  added_at timestamp with time zone not null,
  constraint bank_account_name PRIMARY KEY (name),
  constraint bank_account_bank_length CHECK (((char_length(bank) >= 1) AND (char_length(bank) <= 120))),
  constraint bank_account_name_form CHECK ((name ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'::text)),
  constraint bank_account_number_length CHECK (((char_length(account_number) >= 4) AND (char_length(account_number) <= 40)))
);
comment on table bank_accounts is
  'Accounts of ours at banks. In statements, days and the ledger such an account is called bank.<name>.';
comment on column bank_accounts.zone is
  'Of the times in its statements.';
CREATE TRIGGER bank_accounts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON bank_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table operator_settlements (
  id uuid not null,
  connection text not null,
  bank text not null,
  currency text not null,
  direction text not null,
  amount bigint not null,
  received bigint not null,
  reference text not null,
  booked_by text not null,
  posted_at timestamp with time zone not null,
  constraint operator_settlement_id PRIMARY KEY (id),
  constraint operator_settlement_once UNIQUE (connection, direction, reference),
  constraint operator_settlement_amount_positive CHECK ((amount > 0)),
  constraint operator_settlement_direction_known CHECK ((direction = ANY (ARRAY['to_bank'::text, 'to_operator'::text]))),
  constraint operator_settlement_received_bounded CHECK ((((received >= 1) AND (received <= amount)) AND ((direction = 'to_bank'::text) OR (received = amount)))),
  constraint operator_settlement_reference_length CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 120))),
  constraint operator_settlements_bank_fkey FOREIGN KEY (bank) REFERENCES bank_accounts(name)
);
comment on table operator_settlements is
  'Money that went from our account with an operator to our bank, or the other way. Posted under this id, once for each reference.';
comment on column operator_settlements.amount is
  'By how much the account with the operator changed.';
comment on column operator_settlements.received is
  'By how much the account at the bank changed; the rest is a cost.';
CREATE INDEX operator_settlements_of_bank ON public.operator_settlements USING btree (bank, posted_at);
CREATE INDEX operator_settlements_of_connection ON public.operator_settlements USING btree (connection, posted_at);
CREATE TRIGGER operator_settlements_fixed BEFORE UPDATE ON operator_settlements FOR EACH ROW WHEN (old.id IS DISTINCT FROM new.id OR old.connection IS DISTINCT FROM new.connection OR old.bank IS DISTINCT FROM new.bank OR old.currency IS DISTINCT FROM new.currency OR old.direction IS DISTINCT FROM new.direction OR old.amount IS DISTINCT FROM new.amount OR old.reference IS DISTINCT FROM new.reference OR old.booked_by IS DISTINCT FROM new.booked_by OR old.posted_at IS DISTINCT FROM new.posted_at OR new.received > old.received) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operator_settlements_stay BEFORE DELETE OR TRUNCATE ON operator_settlements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table settlement_rules (
  holder_id bigint not null,
  currency text not null,
  destination jsonb not null,
  schedule text not null,
  weekday integer,
  minimum bigint not null,
  usable_from timestamp with time zone not null,
  next_at timestamp with time zone,
  updated_by text not null,
  updated_at timestamp with time zone not null,
  constraint settlement_rule_once PRIMARY KEY (holder_id, currency),
  constraint settlement_minimum_sane CHECK ((minimum >= 0)),
  constraint settlement_next_known CHECK (((next_at IS NOT NULL) = (schedule <> 'none'::text))),
  constraint settlement_schedule_known CHECK ((schedule = ANY (ARRAY['none'::text, 'daily'::text, 'weekly'::text, 'monthly'::text]))),
  constraint settlement_weekday_known CHECK (((weekday >= 1) AND (weekday <= 7))),
  constraint settlement_weekday_named CHECK (((weekday IS NOT NULL) = (schedule = 'weekly'::text))),
  constraint settlement_rules_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
comment on table settlement_rules is
  'Where the money of a wallet goes, and when.';
comment on column settlement_rules.destination is
  'An account at a bank, or a number of mobile money.';
comment on column settlement_rules.usable_from is
  'A destination that was changed takes no money before this.';
comment on column settlement_rules.next_at is
  'When the next settlement is due by the schedule.';
CREATE INDEX settlement_rules_due ON public.settlement_rules USING btree (next_at) WHERE (next_at IS NOT NULL);

create table settlements (
  holder_id bigint not null,
  id uuid not null,
  currency text not null,
  period text not null,
  amount bigint not null,
  owed bigint not null,
  destination jsonb not null,
  transaction_id uuid,
  status text not null,
  since timestamp with time zone not null,
  taken_by text not null,
  taken_at timestamp with time zone not null,
  bank text,
  bank_reference text,
  proposed_by text,
  proposed_by_member bigint,
  proposed_at timestamp with time zone,
  ended_by text,
  ended_by_member bigint,
  ended_at timestamp with time zone,
  reason text,
  constraint settlement_id PRIMARY KEY (holder_id, id),
  constraint settlement_once UNIQUE (holder_id, currency, period),
  constraint settlement_amount_positive CHECK ((amount > 0)),
  constraint settlement_by_two_people CHECK (((status <> 'paid'::text) OR ((ended_by_member IS NOT NULL) AND (ended_by_member <> proposed_by_member)))),
  constraint settlement_end_dated CHECK (((num_nulls(ended_by, ended_at) =
CASE
    WHEN (status = ANY (ARRAY['paid'::text, 'cancelled'::text])) THEN 0
    ELSE 2
END) AND ((reason IS NOT NULL) = (status = 'cancelled'::text)))),
  constraint settlement_owed_sane CHECK ((owed >= 0)),
  constraint settlement_payout_named CHECK (((transaction_id IS NOT NULL) = (status = 'payout'::text))),
  constraint settlement_period_length CHECK (((char_length(period) >= 1) AND (char_length(period) <= 40))),
  constraint settlement_proposal_whole CHECK ((num_nulls(bank, bank_reference, proposed_by, proposed_by_member, proposed_at) =
CASE
    WHEN (status = ANY (ARRAY['proposed'::text, 'paid'::text])) THEN 0
    ELSE 5
END)),
  constraint settlement_reason_length CHECK (((char_length(reason) >= 3) AND (char_length(reason) <= 500))),
  constraint settlement_reference_length CHECK (((char_length(bank_reference) >= 1) AND (char_length(bank_reference) <= 120))),
  constraint settlement_status_known CHECK ((status = ANY (ARRAY['waiting'::text, 'proposed'::text, 'paid'::text, 'cancelled'::text, 'payout'::text]))),
  constraint settlements_bank_fkey FOREIGN KEY (bank) REFERENCES bank_accounts(name),
  constraint settlements_ended_by_member_fkey FOREIGN KEY (ended_by_member) REFERENCES members(id),
  constraint settlements_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint settlements_proposed_by_member_fkey FOREIGN KEY (proposed_by_member) REFERENCES members(id)
);
comment on table settlements is
  'Money of a wallet on its way to its holder. To a bank: taken from the wallet, transferred by staff, confirmed by two of them. To a
  phone: an ordinary payout.';
comment on column settlements.period is
  'What it is for: a day of the schedule, or the day on which a person asked for it. Once each.';
comment on column settlements.owed is
  'What the holder owed when it was taken: it stayed in the wallet.';
comment on column settlements.since is
  'When the one before it was taken; the report begins there.';
CREATE UNIQUE INDEX settlement_payout_once ON public.settlements USING btree (holder_id, transaction_id) WHERE (transaction_id IS NOT NULL);
CREATE INDEX settlements_of_bank ON public.settlements USING btree (bank, ended_at) WHERE (bank IS NOT NULL);
CREATE INDEX settlements_open ON public.settlements USING btree (taken_at) WHERE (status = ANY (ARRAY['waiting'::text, 'proposed'::text]));
CREATE TRIGGER settlements_keep_final_states BEFORE UPDATE ON settlements FOR EACH ROW WHEN ((old.status = ANY (ARRAY['paid'::text, 'cancelled'::text, 'payout'::text])) OR old.id IS DISTINCT FROM new.id OR old.holder_id IS DISTINCT FROM new.holder_id OR old.currency IS DISTINCT FROM new.currency OR old.period IS DISTINCT FROM new.period OR old.amount IS DISTINCT FROM new.amount OR old.owed IS DISTINCT FROM new.owed OR old.destination IS DISTINCT FROM new.destination OR old.taken_by IS DISTINCT FROM new.taken_by OR old.taken_at IS DISTINCT FROM new.taken_at) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlements_stay BEFORE DELETE OR TRUNCATE ON settlements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0061_payments_float.sql

create table float_settings (
  connection text not null,
  currency text not null,
  account text,
  low bigint not null,
  stop bigint not null,
  is_shared boolean not null,
  set_by text not null,
  set_at timestamp with time zone not null,
  constraint float_setting_once PRIMARY KEY (connection, currency),
  constraint float_account_length CHECK (((char_length(account) >= 1) AND (char_length(account) <= 128))),
  constraint float_currency_form CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint float_low_sane CHECK ((low >= 0)),
  constraint float_stop_sane CHECK (((stop >= 0) AND (stop <= low)))
);
comment on table float_settings is
  'The float that people watch. With a row, payouts wait before they are sent when the float does not cover them, and in their order.';
comment on column float_settings.account is
  'The operator''s name of the account that pays out; null: the one that the rail names.';
comment on column float_settings.low is
  'Below it the administrators get a mail.';
comment on column float_settings.stop is
  'No payout takes the float below it.';
comment on column float_settings.is_shared is
  'Collections arrive on the account that pays out.';

create table float_states (
  connection text not null,
  currency text not null,
  refused_at timestamp with time zone,
  low_since timestamp with time zone,
  mailed_at timestamp with time zone,
  constraint float_state_once PRIMARY KEY (connection, currency)
);
comment on table float_states is
  'What goes on with the float of a connection now.';
comment on column float_states.refused_at is
  'When its operator last refused a payout for lack of float; null: it has taken one since.';
comment on column float_states.low_since is
  'Since when the float is low, or ends soon; null: it is not.';
comment on column float_states.mailed_at is
  'When the administrators got the mail about it: once while it is low.';

create table float_hours (
  connection text not null,
  currency text not null,
  hour timestamp with time zone not null,
  paid_out bigint not null,
  paid_in bigint not null,
  level bigint,
  constraint float_hour_once PRIMARY KEY (connection, currency, hour),
  constraint float_hour_in_sane CHECK ((paid_in >= 0)),
  constraint float_hour_out_sane CHECK ((paid_out >= 0))
);
comment on table float_hours is
  'What moved at a watched connection in each hour that is over. The forecast is made of it.';
comment on column float_hours.level is
  'The float when the hour was written; null: it was written later, or nobody knew.';

create table float_waits (
  holder_id bigint not null,
  transaction_id uuid not null,
  connection text not null,
  currency text not null,
  amount bigint not null,
  reason text not null,
  since timestamp with time zone not null,
  tries integer not null,
  released_at timestamp with time zone,
  constraint float_wait_once PRIMARY KEY (holder_id, transaction_id),
  constraint float_wait_amount_sane CHECK ((amount > 0)),
  constraint float_wait_reason_known CHECK ((reason = ANY (ARRAY['refused'::text, 'not_covered'::text, 'in_order'::text]))),
  constraint float_wait_tries_sane CHECK ((tries >= 0))
);
comment on table float_waits is
  'Payouts that wait for float. Nothing of them is with the operator: their job is a submit, and their money is reserved.';
comment on column float_waits.reason is
  'refused: the operator did not take it. not_covered: it was not sent. in_order: others wait before it.';
comment on column float_waits.tries is
  'How often the operator refused it.';
comment on column float_waits.released_at is
  'It is its turn, and it is sent again.';
CREATE INDEX float_waits_in_order ON public.float_waits USING btree (connection, currency, transaction_id);

-- 0062_books_statement_fetches.sql

create table statement_fetches (
  connection text not null,
  next_day date not null,
  tried_at timestamp with time zone,
  problem text,
  set_by text not null,
  set_at timestamp with time zone not null,
  constraint statement_fetch_once PRIMARY KEY (connection),
  constraint statement_fetch_problem_length CHECK ((char_length(problem) <= 500))
);
comment on table statement_fetches is
  'Connections whose statement is fetched every day. No row: it is imported by people.';
comment on column statement_fetches.next_day is
  'The first day that was not fetched yet, in the calendar of the connection.';
comment on column statement_fetches.tried_at is
  'When it was last tried. One process tries it for all.';
comment on column statement_fetches.problem is
  'Why the last try, or a day that was given up, was not fetched; null: it was.';

-- 0063_books_break_proposals.sql

create table break_proposals (
  id uuid not null,
  action text not null,
  reason text not null,
  breaks integer not null,
  status text not null default 'proposed'::text,
  proposed_by text not null,
  proposed_by_member bigint not null,
  proposed_at timestamp with time zone not null,
  decided_by text,
  decided_by_member bigint,
  decided_at timestamp with time zone,
  constraint break_proposal_id PRIMARY KEY (id),
  constraint break_proposal_action_known CHECK ((action = ANY (ARRAY['outcome'::text, 'suspense'::text, 'fee'::text, 'other_day'::text, 'explain'::text]))),
  constraint break_proposal_by_two_people CHECK (((status <> 'approved'::text) OR (decided_by_member <> proposed_by_member))),
  constraint break_proposal_decision_whole CHECK ((num_nulls(decided_by, decided_by_member, decided_at) =
CASE
    WHEN (status = 'proposed'::text) THEN 3
    ELSE 0
END)),
  constraint break_proposal_reason_length CHECK (((char_length(reason) >= 3) AND (char_length(reason) <= 500))),
  constraint break_proposal_size CHECK (((breaks >= 1) AND (breaks <= 200))),
  constraint break_proposal_status_known CHECK ((status = ANY (ARRAY['proposed'::text, 'approved'::text, 'rejected'::text])))
);
comment on table break_proposals is
  'What one person proposes about breaks, and another one approves. Nothing happens before that.';
comment on column break_proposals.action is
  'outcome: the line becomes evidence of its payment; suspense: its money is held with a case; the others resolve and move nothing.';
CREATE INDEX break_proposals_waiting ON public.break_proposals USING btree (proposed_at, id) WHERE (status = 'proposed'::text);
CREATE TRIGGER break_proposals_decided_once BEFORE UPDATE ON break_proposals FOR EACH ROW WHEN (old.status <> 'proposed'::text OR old.action IS DISTINCT FROM new.action OR old.reason IS DISTINCT FROM new.reason OR old.breaks IS DISTINCT FROM new.breaks OR old.proposed_by IS DISTINCT FROM new.proposed_by OR old.proposed_by_member IS DISTINCT FROM new.proposed_by_member OR old.proposed_at IS DISTINCT FROM new.proposed_at) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER break_proposals_stay BEFORE DELETE OR TRUNCATE ON break_proposals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table break_proposal_items (
  proposal_id uuid not null,
  break_id uuid not null,
  result text,
  done_at timestamp with time zone,
  constraint break_proposal_item_once PRIMARY KEY (proposal_id, break_id),
  constraint break_proposal_result_known CHECK ((result = ANY (ARRAY['applied'::text, 'resolved'::text, 'unchanged'::text, 'gone'::text, 'rejected'::text]))),
  constraint break_proposal_result_whole CHECK (((result IS NULL) = (done_at IS NULL))),
  constraint break_proposal_break_exists FOREIGN KEY (break_id) REFERENCES breaks(id),
  constraint break_proposal_exists FOREIGN KEY (proposal_id) REFERENCES break_proposals(id)
);
comment on table break_proposal_items is
  'The breaks of a proposal, and what became of each. A break waits in one proposal at a time.';
comment on column break_proposal_items.result is
  'Null: not decided, or not done yet. gone: the break had ended meanwhile. unchanged: the line changed nothing; its payment has a case.';
CREATE INDEX break_proposal_items_of_break ON public.break_proposal_items USING btree (break_id);
CREATE UNIQUE INDEX break_proposed_once ON public.break_proposal_items USING btree (break_id) WHERE (result IS NULL);
CREATE TRIGGER break_proposal_items_done_once BEFORE UPDATE ON break_proposal_items FOR EACH ROW WHEN (old.result IS NOT NULL) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER break_proposal_items_stay BEFORE DELETE OR TRUNCATE ON break_proposal_items FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 0064_rails_open_breakers.sql

create unlogged table open_breakers (
  connection text not null,
  method text not null,
  opened_at timestamp with time zone not null,
  asked_at timestamp with time zone not null,
  constraint open_breakers_pkey PRIMARY KEY (connection, method)
);
comment on table open_breakers is
  'One row for each operator that does not answer. Written when a breaker opens and at each of its probes, deleted by the first answer.';
comment on column open_breakers.method is
  'The code of the method, which names the operator.';
comment on column open_breakers.asked_at is
  'The last probe. New work is taken again some seconds after it, as the next probe.';

-- 0067_ledger_partitions.sql

create table ledger_positions (
  holder_id bigint not null,
  position bigint not null default 0,
  constraint position_of_holder PRIMARY KEY (holder_id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=10);
comment on table ledger_positions is
  'The newest position of each holder with transfers. Changed by post_transfers only; the row is locked until the posting commits, so when a position is visible every transfer up to it is.';

create table ledger_partition_blocks (
  partition smallint not null,
  number bigint not null,
  last_id bigint not null,
  transfers integer not null,
  holders bigint[] not null,
  after_positions bigint[] not null,
  positions bigint[] not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamp with time zone not null,
  constraint partition_block_once PRIMARY KEY (partition, number),
  constraint block_number_counts CHECK ((number > 0)),
  constraint block_partition_known CHECK (((partition >= 0) AND (partition <= 15))),
  constraint block_parts_paired CHECK (((cardinality(holders) = cardinality(positions)) AND (cardinality(holders) = cardinality(after_positions)))),
  constraint partition_block_not_empty CHECK ((transfers > 0))
);
comment on table ledger_partition_blocks is
  'The hash chains of the partitions (holder_id % 16). A block covers, of each of its holders, the transfers with after_position < position <= position.';
comment on column ledger_partition_blocks.last_id is
  'The greatest id among its transfers: what was posted later has a greater one.';
CREATE TRIGGER ledger_partition_blocks_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_partition_blocks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table ledger_sealed (
  holder_id bigint not null,
  position bigint not null,
  constraint sealed_of_holder PRIMARY KEY (holder_id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=10);
comment on table ledger_sealed is
  'Up to which position the transfers of a holder are in blocks: what sealing goes on from.';

create table ledger_heads (
  number bigint not null,
  blocks bigint[] not null,
  last_id bigint not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamp with time zone not null,
  constraint head_number_once PRIMARY KEY (number),
  constraint head_has_partitions CHECK ((cardinality(blocks) = 16))
);
comment on table ledger_heads is
  'Joins the newest block of every partition (0: none) in one hash, which follows the hash of the head before. Numbers go on from those of ledger_blocks. A head that is kept outside the database proves everything that was sealed before it.';
CREATE TRIGGER ledger_heads_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table ledger_identity (
  single boolean not null default true,
  id uuid not null default gen_random_uuid(),
  constraint ledger_identity_single PRIMARY KEY (single),
  constraint ledger_identity_single_check CHECK (single)
);
comment on table ledger_identity is
  'A random name of this ledger. A backup and a standby have the same.';

create table ledger_shipped (
  place text not null,
  tried_at timestamp with time zone not null,
  number bigint,
  shipped_at timestamp with time zone,
  error text,
  constraint shipped_place PRIMARY KEY (place)
);
comment on table ledger_shipped is
  'The newest head that was sent to each place outside the database, and why the last try failed.';

create table ledger_lost_heads (
  number bigint not null,
  hash bytea not null,
  sealed_at timestamp with time zone not null,
  source text not null,
  noticed_at timestamp with time zone not null,
  constraint lost_head_once PRIMARY KEY (number, hash)
);
comment on table ledger_lost_heads is
  'Heads that are known outside the database and are not in it: it went back in time. Money does not leave the gateway until a restore that is younger than the head is recorded (npx simbi after-restore).';
CREATE TRIGGER ledger_lost_heads_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_lost_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_lost_heads_counted AFTER INSERT ON ledger_lost_heads FOR EACH STATEMENT EXECUTE FUNCTION count_change();

-- 0083_books_withdrawn_statements.sql

create table statement_withdrawals (
  id bigint not null generated always as identity,
  file_id bigint not null,
  connection text not null,
  name text not null,
  format text not null,
  zone text not null,
  currency text,
  lines integer not null,
  imported_by text not null,
  imported_at timestamp with time zone not null,
  reason text not null,
  withdrawn_by text not null,
  withdrawn_at timestamp with time zone not null,
  written_in xid8 not null default pg_current_xact_id(),
  constraint statement_withdrawal_id PRIMARY KEY (id),
  constraint statement_withdrawal_reason_length CHECK (((char_length(reason) >= 3) AND (char_length(reason) <= 500))),
  constraint statement_withdrawals_file_id_fkey FOREIGN KEY (file_id) REFERENCES statement_files(id)
);
comment on table statement_withdrawals is
  'Statements that people took back, as they were imported. The same bytes may be imported again.';
comment on column statement_withdrawals.lines is
  'How many lines went with it.';
comment on column statement_withdrawals.written_in is
  'The transaction in which the lines may be deleted, and in no other.';
CREATE INDEX statement_withdrawals_of_file ON public.statement_withdrawals USING btree (file_id, id DESC);
CREATE TRIGGER statement_withdrawals_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON statement_withdrawals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table withdrawn_matches (
  withdrawal_id bigint not null,
  connection text not null,
  line_key bytea not null,
  day date not null,
  currency text not null,
  moved bigint not null,
  fee bigint not null,
  line_seal bytea not null,
  seen_at timestamp with time zone not null,
  transaction_id uuid,
  case_id uuid,
  matched_at timestamp with time zone,
  match_seal bytea,
  constraint withdrawn_match_once PRIMARY KEY (withdrawal_id, line_key),
  constraint withdrawn_matches_withdrawal_id_fkey FOREIGN KEY (withdrawal_id) REFERENCES statement_withdrawals(id)
);
comment on table withdrawn_matches is
  'What the lines of withdrawn statements counted as.';
CREATE INDEX withdrawn_matches_by_day ON public.withdrawn_matches USING btree (connection, currency, day);
CREATE TRIGGER withdrawn_matches_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON withdrawn_matches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 

create table schema_migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  needs integer,
  constraint schema_migrations_pkey PRIMARY KEY (version)
);
comment on column schema_migrations.needs is
  'The migration that code must know to run on the schema since this one. Null: any version that ran before goes on.';
