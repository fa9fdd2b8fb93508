-- The ledger. Money moves only by a row of ledger_transfers; the rows are never changed, and the balances beside them
-- move in the same function call that adds the rows. balance = credits - debits.
--
-- Every account belongs to one holder, also what operators and the gateway itself hold: clearing, fees and suspense are
-- sub-accounts of the holder, summed in reports. So a posting locks rows of its own holder only.

create table wallets (
  wallet_account integer generated always as identity (start with 1001),
  holder_id bigint not null references holders,
  currency text not null constraint wallet_currency_form check (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null,
  constraint wallet_once_per_currency primary key (holder_id, currency),
  constraint wallet_number_once unique (holder_id, wallet_account)
);
comment on table wallets is 'The wallet of a holder in one currency.';
comment on column wallets.wallet_account is 'The integer that the API shows. Drawn from one sequence, so it is unique over all holders.';

create table ledger_accounts (
  holder_id bigint not null,
  id bigint generated always as identity,
  balance bigint not null default 0,
  updated_at timestamptz not null,
  may_go_negative boolean not null,
  wallet_account integer,
  currency text not null,
  kind text not null constraint account_kind_known check (
    kind in ('wallet_available', 'wallet_reserved', 'operator_clearing', 'fee_income', 'suspense', 'sandbox_funding')
  ),
  rail text,
  key text collate "C" not null,
  constraint account_id primary key (holder_id, id),
  constraint account_key_unique unique (holder_id, key),
  constraint account_not_overdrawn check (balance >= 0 or may_go_negative),
  constraint account_floor_fixed check (may_go_negative = (kind in ('operator_clearing', 'suspense', 'sandbox_funding'))),
  constraint account_wallet_named check ((wallet_account is not null) = (kind in ('wallet_available', 'wallet_reserved'))),
  constraint account_rail_named check ((rail is not null) = (kind = 'operator_clearing')),
  constraint account_wallet_exists foreign key (holder_id, wallet_account) references wallets (holder_id, wallet_account)
) with (fillfactor = 25);
comment on table ledger_accounts is
  'Accounts with their balances. Three quarters of each page stay free, so that a new balance is written beside the old ones '
  'and no index is touched, also while a long report keeps old balances from being cleaned away.';
comment on column ledger_accounts.holder_id is 'The holder whose money it is about. 0: the gateway itself (money whose owner is unknown).';
comment on column ledger_accounts.updated_at is 'When the newest transfer of the account was posted. It never goes back.';
comment on column ledger_accounts.rail is 'The rail whose operator holds the money of a clearing account.';
comment on column ledger_accounts.key is 'The name of the account in reports, for instance wallet:7:XOF:available.';

create type transfer_kind as enum (
  'collection', 'collection_fee', 'collection_reversal', 'collection_fee_reversal',
  'payout_reserve', 'payout', 'payout_fee', 'payout_release', 'payout_reversal', 'payout_fee_reversal',
  'suspense', 'suspense_resolution', 'suspense_resolution_fee', 'suspense_return',
  'sandbox_top_up'
);

-- Columns stand in the order that wastes no byte. `batch` stands first so that the posting transaction has its number
-- before it draws an id: the hash chain relies on that.
create table ledger_transfers (
  batch xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  holder_id bigint not null,
  debit_account bigint not null,
  credit_account bigint not null,
  amount bigint not null constraint transfer_amount_positive check (amount > 0),
  debit_balance bigint not null,
  credit_balance bigint not null,
  posted_at timestamptz not null,
  transaction_id uuid not null,
  kind transfer_kind not null,
  currency text not null,
  constraint transfer_between_two check (debit_account <> credit_account),
  constraint transfer_posted_once primary key (holder_id, transaction_id, kind)
);
comment on table ledger_transfers is 'Every movement of money: amount from the debit account to the credit account of one holder.';
comment on column ledger_transfers.batch is 'The database transaction that posted the row.';
comment on column ledger_transfers.id is
  'Grows in the order of insertion over all holders. The hash chain and ledger verify read in this order.';
comment on column ledger_transfers.debit_balance is
  'What the account holds after this transfer, as credit_balance does for the other side: '
  'a statement and a past balance are read, not added up.';
comment on column ledger_transfers.transaction_id is 'The transaction, or the case, that the movement belongs to.';
create index ledger_transfers_by_debit on ledger_transfers (debit_account, posted_at);
create index ledger_transfers_by_credit on ledger_transfers (credit_account, posted_at);
-- Ids are read in ranges only, by the hash chain and by ledger verify: a summary of each range of pages is enough.
create index ledger_transfers_by_id on ledger_transfers using brin (id) with (pages_per_range = 16, autosummarize = on);
-- What a payout reserved is either paid or released, never both. (A payout that succeeds after its release is paid
-- from the available side, which is another account.)
create unique index reserve_concluded_once on ledger_transfers (holder_id, transaction_id, debit_account)
  where kind in ('payout', 'payout_release');

create trigger ledger_transfers_append_only before update or delete or truncate on ledger_transfers
  for each statement execute function refuse_change();

-- The only way to add transfers: it adds the rows and moves the balances, once per account. An account is only found when
-- it exists, belongs to the transfer's holder, is in the transfer's currency, and stands exactly where the rows say. So a
-- wrong holder or currency, an unknown account, or a balance that was read without its lock is refused here, at the price
-- of the update that is needed anyway. The planner settings keep the update on the primary key however the table grows.
create function post_transfers(
  holder_ids bigint[], debit_accounts bigint[], credit_accounts bigint[], amounts bigint[],
  debit_balances bigint[], credit_balances bigint[], transaction_ids uuid[], kinds transfer_kind[], currencies text[],
  moment timestamptz
) returns void language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  touched bigint;
  moved bigint;
begin
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

-- Transfers and balances move together or not at all: outside post_transfers neither may change. (A restore copies both
-- with these triggers off.)
create function refuse_account_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger accounts change only by transfers' using errcode = 'P0001', constraint = 'account_follows_transfers';
end
$$;

create function refuse_transfer() returns trigger language plpgsql as $$
begin
  raise exception 'transfers are added only by post_transfers' using errcode = 'P0001', constraint = 'transfer_moves_balances';
end
$$;

create trigger ledger_transfers_move_balances before insert on ledger_transfers
  for each statement when (current_setting('simbi.posting', true) is distinct from 'on') execute function refuse_transfer();
create trigger ledger_accounts_follow_transfers before update on ledger_accounts
  for each statement when (current_setting('simbi.posting', true) is distinct from 'on') execute function refuse_account_change();
create trigger ledger_accounts_stay before delete or truncate on ledger_accounts
  for each statement execute function refuse_account_change();

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
comment on table ledger_blocks is 'The hash chain: each block covers the transfers with after_id < id <= last_id, of all holders.';

create trigger ledger_blocks_append_only before update or delete or truncate on ledger_blocks
  for each statement execute function refuse_change();
