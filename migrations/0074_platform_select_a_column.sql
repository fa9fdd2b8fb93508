-- On several servers (Citus) the answer of a subquery is kept as a table, and a table without a column cannot be read back: a posting
-- ahead of the clock and the end of an old month failed there with a syntax error. Both functions are as before but for "select 1".

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
$$;

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
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  counted_holders bigint[];
  counted_transfers bigint[];
  raised_before bigint[];
  positions bigint[];
  net_holders bigint[];
  net_accounts bigint[];
  net_currencies text[];
  net_changes bigint[];
  net_balances bigint[];
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
  select array_agg(holder_id order by holder_id), array_agg(transfers order by holder_id) into counted_holders, counted_transfers
  from (select holder_id, count(*) as transfers from unnest(holder_ids) as posted (holder_id) group by holder_id) as counted;
  insert into ledger_positions (holder_id)
  select holder_id from unnest(counted_holders) as counted (holder_id)
  on conflict do nothing;
  with raised as (
    update ledger_positions p set position = p.position + counted.transfers
    from unnest(counted_holders, counted_transfers) as counted (holder_id, transfers)
    where p.holder_id = counted.holder_id
    returning p.holder_id, p.position - counted.transfers as before
  )
  select array_agg(before order by holder_id) into raised_before from raised;
  -- By rank and not by a join: without hash joins every transfer would be compared with every holder.
  select array_agg(raised_before[rank] + ordinal order by place) into positions
  from (
    select place, dense_rank() over (order by holder_id) as rank, row_number() over (partition by holder_id order by place) as ordinal
    from unnest(holder_ids) with ordinality as posted (holder_id, place)
  ) as posted;
  insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance,
                                posted_at, transaction_id, kind, currency, position)
  select holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, moment, transaction_id, kind, currency, position
  from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds, currencies,
              positions)
    as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, transaction_id, kind, currency, position);
  with posted as (
    select * from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, currencies)
      with ordinality as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, currency, place)
  ), side as (
    select holder_id, debit_account as account, currency, -amount as change, debit_balance as balance, place from posted
    union all
    select holder_id, credit_account, currency, amount, credit_balance, place from posted
  ), net as (
    select holder_id, account, currency, sum(change)::bigint as change, (array_agg(balance order by place desc))[1] as balance
    from side group by holder_id, account, currency
  )
  select array_agg(holder_id), array_agg(account), array_agg(currency), array_agg(change), array_agg(balance)
  into net_holders, net_accounts, net_currencies, net_changes, net_balances from net;
  update ledger_accounts a set balance = net.balance, updated_at = moment
  from unnest(net_holders, net_accounts, net_currencies, net_changes, net_balances) as net (holder_id, account, currency, change, balance)
  where a.holder_id = net.holder_id and a.id = net.account and a.currency = net.currency
    and a.balance + net.change = net.balance and a.updated_at <= moment;
  get diagnostics moved = row_count;
  if moved <> cardinality(net_accounts) then
    raise exception 'a transfer does not fit its accounts: unknown account, other holder or currency, or stale balance'
      using errcode = '23514', constraint = 'transfer_fits_accounts', table = 'ledger_transfers';
  end if;
  set local simbi.posting = 'off';
end
$$;
