-- The hash chain runs per partition of holders, and heads join the partitions. Which transfers a block covers no longer depends on
-- an order that one server knows (ids, numbers of transactions, snapshots): every transfer has a position, counted per holder without
-- a gap and raised in the transaction that posts it. What was sealed up to here stays as it is; all partitions begin with its last hash.
-- quick: ledger_blocks, ledger_transfers: only what is not sealed yet is read, by its id

alter table ledger_transfers add column position bigint;
-- The old rows have none: they need not be read to know that.
alter table ledger_transfers add constraint transfer_position_counts check (position > 0) not valid;
comment on column ledger_transfers.position is
  'Counts the transfers of the holder from 1, without a gap, in the order of their commits. Null: posted before positions existed; '
  'those are in ledger_blocks.';
comment on column ledger_transfers.id is
  'Unique over all holders. It grows with time on one server; nothing that is sealed relies on that.';
comment on column ledger_transfers.batch is 'The database transaction that posted the row.';

create table ledger_positions (
  holder_id bigint constraint position_of_holder primary key,
  position bigint not null default 0
) with (fillfactor = 25);
comment on table ledger_positions is
  'The newest position of each holder with transfers. Changed by post_transfers only; the row is locked until the posting commits, so '
  'when a position is visible every transfer up to it is.';

-- What is left of the past is sealed in one block: nobody posts while the table is being changed, so nothing can appear behind it.
with newest as (
  select number, last_id, hash from ledger_blocks order by number desc limit 1
), tail as (
  select max(id) as last_id, count(*) as transfers,
    string_agg(concat_ws('|', id, batch, holder_id, debit_account, credit_account, amount, currency, kind, transaction_id,
      (extract(epoch from posted_at) * 1000000)::bigint, debit_balance, credit_balance), E'\n' order by id) as lines
  from ledger_transfers where id > coalesce((select last_id from newest), 0)
), previous as (
  select coalesce((select hash from newest), decode(repeat('00', 32), 'hex')) as hash
)
insert into ledger_blocks (number, after_id, last_id, transfers, previous_hash, hash, sealed_at)
select coalesce((select number from newest), 0) + 1, coalesce((select last_id from newest), 0), tail.last_id, tail.transfers,
  previous.hash, sha256(previous.hash || convert_to(tail.lines, 'UTF8')), now()
from tail, previous where tail.transfers > 0;

-- A process of the version before may still seal while it is being replaced: what it adds is dropped, and it finds nothing to do.
create function keep_past_chain() returns trigger language plpgsql as $$
begin
  return null;
end
$$;
create trigger ledger_blocks_closed before insert on ledger_blocks for each row execute function keep_past_chain();
comment on table ledger_blocks is
  'The hash chain from before there were partitions: each block covers the transfers with after_id < id <= last_id, of all holders. '
  'It is complete. Its last hash is the beginning of every partition and of the heads.';

create table ledger_partition_blocks (
  partition smallint not null constraint block_partition_known check (partition between 0 and 15),
  number bigint not null constraint block_number_counts check (number > 0),
  last_id bigint not null,
  transfers integer not null constraint partition_block_not_empty check (transfers > 0),
  holders bigint[] not null,
  after_positions bigint[] not null,
  positions bigint[] not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamptz not null,
  constraint partition_block_once primary key (partition, number),
  constraint block_parts_paired check (
    cardinality(holders) = cardinality(positions) and cardinality(holders) = cardinality(after_positions))
);
comment on table ledger_partition_blocks is
  'The hash chains of the partitions (holder_id % 16). A block covers, of each of its holders, the transfers with '
  'after_position < position <= position.';
comment on column ledger_partition_blocks.last_id is 'The greatest id among its transfers: what was posted later has a greater one.';
create trigger ledger_partition_blocks_append_only before update or delete or truncate on ledger_partition_blocks
  for each statement execute function refuse_change();

create table ledger_sealed (
  holder_id bigint constraint sealed_of_holder primary key,
  position bigint not null
);
comment on table ledger_sealed is 'Up to which position the transfers of a holder are in blocks: what sealing goes on from.';

create table ledger_heads (
  number bigint constraint head_number_once primary key,
  blocks bigint[] not null constraint head_has_partitions check (cardinality(blocks) = 16),
  last_id bigint not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamptz not null
);
comment on table ledger_heads is
  'Joins the newest block of every partition (0: none) in one hash, which follows the hash of the head before. Numbers go on from those '
  'of ledger_blocks. A head that is kept outside the database proves everything that was sealed before it.';
create trigger ledger_heads_append_only before update or delete or truncate on ledger_heads
  for each statement execute function refuse_change();

-- Which ledger this is: what is kept outside says it, so that two databases that one machine has used are not taken for each other.
create table ledger_identity (
  single boolean constraint ledger_identity_single primary key default true check (single),
  id uuid not null default gen_random_uuid()
);
insert into ledger_identity default values;
comment on table ledger_identity is 'A random name of this ledger. A backup and a standby have the same.';

create table ledger_shipped (
  place text constraint shipped_place primary key,
  tried_at timestamptz not null,
  number bigint,
  shipped_at timestamptz,
  error text
);
comment on table ledger_shipped is 'The newest head that was sent to each place outside the database, and why the last try failed.';

create table ledger_lost_heads (
  number bigint not null,
  hash bytea not null,
  sealed_at timestamptz not null,
  source text not null,
  noticed_at timestamptz not null,
  constraint lost_head_once primary key (number, hash)
);
comment on table ledger_lost_heads is
  'Heads that are known outside the database and are not in it: it went back in time. Money does not leave the gateway until a restore '
  'that is younger than the head is recorded (npx simbi after-restore).';
create trigger ledger_lost_heads_append_only before update or delete or truncate on ledger_lost_heads
  for each statement execute function refuse_change();
create trigger ledger_lost_heads_counted after insert on ledger_lost_heads for each statement execute function count_change();

-- A posting that began before this migration and waits for the table goes on with the function as it was, and knows no positions: its
-- rows get them here. Apart from those there are none, so the trigger goes with the next change of post_transfers.
create function count_late_transfer() returns trigger language plpgsql as $$
begin
  insert into ledger_positions as p (holder_id, position) values (new.holder_id, 1)
  on conflict (holder_id) do update set position = p.position + 1
  returning p.position into new.position;
  return new;
end
$$;
create trigger ledger_transfers_late before insert on ledger_transfers
  for each row when (new.position is null) execute function count_late_transfer();

-- As before, and each transfer gets its position. The rows of the positions are locked in the order of the holders.
create or replace function post_transfers(
  holder_ids bigint[], debit_accounts bigint[], credit_accounts bigint[], amounts bigint[],
  debit_balances bigint[], credit_balances bigint[], transaction_ids uuid[], kinds transfer_kind[], currencies text[],
  moment timestamptz
) returns void language plpgsql
  security definer
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set search_path = public, pg_temp as $$
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
  insert into ledger_positions (holder_id)
  select distinct holder_id from unnest(holder_ids) as posted (holder_id)
  where not exists (select from ledger_positions p where p.holder_id = posted.holder_id)
  order by holder_id
  on conflict do nothing;
  with counted as (
    select holder_id, count(*) as transfers from unnest(holder_ids) as posted (holder_id) group by holder_id order by holder_id
  ), raised as (
    update ledger_positions p set position = p.position + counted.transfers
    from counted where p.holder_id = counted.holder_id
    returning p.holder_id, p.position - counted.transfers as before
  )
  insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance,
                                posted_at, transaction_id, kind, currency, position)
  select holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, moment, transaction_id, kind, currency,
    raised.before + row_number() over (partition by holder_id order by place)
  from unnest(holder_ids, debit_accounts, credit_accounts, amounts, debit_balances, credit_balances, transaction_ids, kinds, currencies)
    with ordinality
    as posted (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, transaction_id, kind, currency, place)
  join raised using (holder_id)
  order by place;
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
