-- While a snapshot is held open (a backup, a long report), no old version of a balance can be cleaned away, and a statement that looks a
-- row up by its key reads all of them. So a posting names the places (ctid) where the rows are: an account where it was locked, a
-- position where the process last saw it. A place is only where to look: the row found there must be the one that is meant.
-- Nine of ten parts of a page stay free instead of three of four: a new version that finds room beside the old one touches no index,
-- and only one that finds none is compared with all old versions.
-- quick: ledger_accounts, ledger_positions, ledger_sealed, event_feeds: settings for pages to come

alter table ledger_accounts set (fillfactor = 10);
alter table ledger_positions set (
  fillfactor = 10, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);
alter table ledger_sealed set (
  fillfactor = 10, autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);
alter table event_feeds set (fillfactor = 10);
comment on table ledger_accounts is
  'Accounts with their balances. Nine tenths of each page stay free, so that a new balance is written beside the old ones and no index '
  'is touched, also while a long report keeps old balances from being cleaned away.';

-- Locks accounts in the order given, each where it was seen last, or else by its key; one that does not exist is left out. A function,
-- because a plan that was made while the table was small would read all of it, and is kept while the table grows.
create function lock_accounts(holder_ids bigint[], keys text[], places tid[])
  returns table (locked_id bigint, locked_key text, locked_balance bigint, locked_updated_at timestamptz, locked_place text)
  language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
as $$
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
$$;

create function post_transfers(
  holder_ids bigint[],
  debit_accounts bigint[],
  credit_accounts bigint[],
  amounts bigint[],
  debit_balances bigint[],
  credit_balances bigint[],
  transaction_ids uuid[],
  kinds transfer_kind[],
  currencies text[],
  debit_places tid[],
  credit_places tid[],
  position_places tid[],
  moment timestamptz
) returns table (moved_holder bigint, moved_account bigint, moved_to text) language plpgsql security definer
set search_path = public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;

-- What versions before this one call, and what posts on several servers, where a row has no place that the coordinator could name.
create or replace function post_transfers(
  holder_ids bigint[],
  debit_accounts bigint[],
  credit_accounts bigint[],
  amounts bigint[],
  debit_balances bigint[],
  credit_balances bigint[],
  transaction_ids uuid[],
  kinds transfer_kind[],
  currencies text[],
  moment timestamptz
) returns void language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
  perform post_transfers(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds,
                         currencies, null, null, null, moment);
end
$$;

-- The same for the numbers of the events of holders. They are raised in the order given, which is that of the holders.
create function raise_event_feeds(holder_ids bigint[], events bigint[], places tid[])
  returns table (raised_holder bigint, raised_position bigint, raised_place text) language plpgsql
set search_path = public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;
