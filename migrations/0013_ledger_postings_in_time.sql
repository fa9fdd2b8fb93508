-- One process whose clock is ahead must not take the time of everybody's postings with it: times of an account never
-- decrease. So a posting more than thirty seconds ahead of the database's clock is refused. Only an account that such a
-- posting had reached before this rule existed goes on at its own time, because it could not be posted to otherwise.

create or replace function post_transfers(
  holder_ids bigint[], debit_accounts bigint[], credit_accounts bigint[], amounts bigint[],
  debit_balances bigint[], credit_balances bigint[], transaction_ids uuid[], kinds transfer_kind[], currencies text[],
  moment timestamptz
) returns void language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  touched bigint;
  moved bigint;
begin
  if moment > clock_timestamp() + interval '30 seconds'
    and not exists (
      select from unnest(debit_accounts || credit_accounts) as named (account)
      where exists (select from ledger_transfers t where t.debit_account = named.account and t.posted_at >= moment)
        or exists (select from ledger_transfers t where t.credit_account = named.account and t.posted_at >= moment))
  then
    raise exception 'a posting may not be more than 30 seconds ahead of the clock of the database'
      using errcode = '23514', constraint = 'posting_not_in_future', table = 'ledger_transfers';
  end if;
  perform set_config('simbi.posting', 'on', true);
  insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance,
                                posted_at, transaction_id, kind, currency)
  select holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, moment, transaction_id, kind, currency
  from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds, currencies)
    as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, transaction_id, kind, currency);
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
  ), change as (
    update ledger_accounts a set balance = net.balance, updated_at = moment
    from net
    where a.holder_id = net.holder_id and a.id = net.account and a.currency = net.currency
      and a.balance + net.change = net.balance and a.updated_at <= moment
    returning 1
  )
  select (select count(*) from net), (select count(*) from change) into touched, moved;
  if touched <> moved then
    raise exception 'a transfer does not fit its accounts: unknown account, other holder or currency, or stale balance'
      using errcode = '23514', constraint = 'transfer_fits_accounts', table = 'ledger_transfers';
  end if;
  perform set_config('simbi.posting', 'off', true);
end
$$;

-- An account without transfers has no time to keep.
alter table ledger_accounts disable trigger ledger_accounts_follow_transfers;
update ledger_accounts a set updated_at = clock_timestamp()
where updated_at > clock_timestamp()
  and not exists (select from ledger_transfers t where t.debit_account = a.id)
  and not exists (select from ledger_transfers t where t.credit_account = a.id);
alter table ledger_accounts enable trigger ledger_accounts_follow_transfers;
