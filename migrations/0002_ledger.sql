-- The ledger. Money only ever moves by a row of ledger_transfers; the rows are never changed, and the balances
-- beside them follow inside the very statement that adds the rows. balance = credits - debits.
--
-- A restore that copies rows must load these tables with their triggers off (alter table … disable trigger user):
-- loading a transfer would move its money a second time.

-- A holder's wallet in one currency; wallet_account is the integer the API shows.
create table wallets (
  wallet_account integer generated always as identity (start with 1001) primary key,
  holder_id bigint not null references holders,
  currency text not null constraint wallet_currency_form check (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null,
  constraint wallet_once_per_currency unique (holder_id, currency)
);

-- Three quarters of each page stay free, so that a new balance is written beside the old ones and no index is touched,
-- also while a long report keeps old balances from being cleaned away.
create table ledger_accounts (
  id bigint generated always as identity primary key,
  balance bigint not null default 0,
  -- When the newest transfer of the account was posted; transfers of an account never go back in time.
  updated_at timestamptz not null,
  may_go_negative boolean not null,
  wallet_account integer references wallets,
  currency text not null,
  kind text not null constraint account_kind_known check (
    kind in ('wallet_available', 'wallet_reserved', 'operator_clearing', 'fee_income', 'suspense', 'sandbox_funding')
  ),
  key text collate "C" not null constraint account_key_unique unique,
  constraint account_not_overdrawn check (balance >= 0 or may_go_negative),
  constraint account_floor_fixed check (may_go_negative = (kind in ('operator_clearing', 'suspense', 'sandbox_funding'))),
  constraint account_wallet_named check ((wallet_account is not null) = (kind in ('wallet_available', 'wallet_reserved'))),
  constraint account_once_per_wallet unique (wallet_account, kind)
) with (fillfactor = 25);

create type transfer_kind as enum (
  'collection', 'collection_fee', 'collection_reversal', 'collection_fee_reversal',
  'payout_reserve', 'payout', 'payout_fee', 'payout_release', 'payout_reversal', 'payout_fee_reversal',
  'suspense', 'suspense_resolution', 'suspense_resolution_fee', 'suspense_return',
  'sandbox_top_up'
);

-- Columns stand in the order that wastes no byte. `batch` is the database transaction that posted the row, and it
-- stands first so that this transaction has its number before it draws an id: the hash chain relies on that.
create table ledger_transfers (
  batch xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity primary key,
  debit_account bigint not null,
  credit_account bigint not null,
  amount bigint not null constraint transfer_amount_positive check (amount > 0),
  -- What the two accounts hold after this transfer: a statement and a past balance are read, not added up.
  debit_balance bigint not null,
  credit_balance bigint not null,
  posted_at timestamptz not null,
  transaction_id uuid not null,
  kind transfer_kind not null,
  currency text not null,
  constraint transfer_between_two check (debit_account <> credit_account),
  constraint transfer_posted_once unique (transaction_id, kind)
);
create index ledger_transfers_by_debit on ledger_transfers (debit_account, posted_at);
create index ledger_transfers_by_credit on ledger_transfers (credit_account, posted_at);
-- What a payout reserved is either paid or released, never both. (A payout that succeeds after its release is paid
-- from the available side, which is another account.)
create unique index reserve_concluded_once on ledger_transfers (transaction_id, debit_account)
  where kind in ('payout', 'payout_release');

create trigger ledger_transfers_append_only before update or delete or truncate on ledger_transfers
  for each statement execute function refuse_change();

-- Moves the money of the rows just added, once per account. An account is only found when it exists, in the
-- transfer's currency, and stands exactly where the rows say: so a wrong currency, an unknown account, or a balance
-- that was read without its lock is refused here, at the price of the update that is needed anyway.
-- The planner settings keep the update on the primary key however the table grows.
create function apply_transfers() returns trigger language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  touched bigint;
  moved bigint;
begin
  with side as (
    select debit_account as account, currency, -amount as change, debit_balance as balance, posted_at, id from posted
    union all
    select credit_account, currency, amount, credit_balance, posted_at, id from posted
  ), net as (
    select account, currency, sum(change)::bigint as change, min(posted_at) as first_at, max(posted_at) as last_at,
      (array_agg(balance order by id desc))[1] as balance
    from side group by account, currency
  ), change as (
    update ledger_accounts set balance = net.balance, updated_at = net.last_at
    from net
    where ledger_accounts.id = net.account and ledger_accounts.currency = net.currency
      and ledger_accounts.balance + net.change = net.balance and ledger_accounts.updated_at <= net.first_at
    returning 1
  )
  select (select count(*) from net), (select count(*) from change) into touched, moved;
  if touched <> moved then
    raise exception 'a transfer does not fit its accounts: unknown account, other currency, or stale balance'
      using errcode = '23514', constraint = 'transfer_fits_accounts', table = 'ledger_transfers';
  end if;
  return null;
end
$$;

create trigger ledger_transfers_move_money after insert on ledger_transfers referencing new table as posted
  for each statement execute function apply_transfers();

-- A balance follows transfers and nothing else: only the trigger above may change an account.
create function refuse_account_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger accounts change only by transfers' using errcode = 'P0001', constraint = 'account_follows_transfers';
end
$$;

create trigger ledger_accounts_follow_transfers before update on ledger_accounts
  for each statement when (pg_trigger_depth() = 0) execute function refuse_account_change();
create trigger ledger_accounts_stay before delete or truncate on ledger_accounts
  for each statement execute function refuse_account_change();

-- The hash chain: each block covers the transfers with after_id < id <= last_id.
create table ledger_blocks (
  number bigint constraint block_number_once primary key,
  after_id bigint not null constraint block_follows_once unique,
  last_id bigint not null,
  transfers integer not null constraint block_not_empty check (transfers > 0),
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamptz not null,
  constraint block_goes_forward check (last_id > after_id)
);

create trigger ledger_blocks_append_only before update or delete or truncate on ledger_blocks
  for each statement execute function refuse_change();
