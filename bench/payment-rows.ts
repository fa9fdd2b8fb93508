// Writes past payments into a database, by the million: the rows that the gateway itself would have left behind
// (transactions, evidence, receipts, transfers with running balances, events and callback attempts of the last ninety days),
// so that `ledger verify` finds nothing. It runs as the owner of the database and switches the guards of the ledger off
// while it writes: never on a gateway that takes payments.

import { feeOf } from '../src/catalog/amounts.ts';
import { loadCatalog, type Method } from '../src/catalog/catalog.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { ensureWallets } from '../src/ledger/accounts.ts';
import { extendChain } from '../src/ledger/chain.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import type { Context } from '../src/platform/context.ts';
import type { Database, Tx } from '../src/platform/db.ts';
import { maintainPartitions } from '../src/platform/partitions.ts';

/** Payments written by one statement of each table. */
const PIECE = 50_000;
const RAIL = 'sandbox';
const GUARDED = ['ledger_transfers', 'ledger_accounts'];
/** Events and attempts are kept for ninety days. */
const KEPT_DAYS = 89;
const MONTH_DAYS = 28;
/** Amounts as people pay them: many small ones, few large ones. */
const AMOUNTS = [5, 10, 20, 20, 35, 50, 50, 75, 100, 100, 120, 150, 200, 250, 300, 450, 500, 800, 1_200, 2_500];

type SeededMerchant = { readonly holderId: bigint; readonly integrationId: bigint };

export type PaymentRowsPlan = {
  readonly payments: number;
  /** The first ones have most of the payments, as in life. */
  readonly merchants: readonly SeededMerchant[];
  readonly method: Method;
  /** The payments are spread over the days before `until`. */
  readonly days: number;
  readonly until: Date;
  readonly onProgress?: (written: number) => void;
};

export function methodOf(code: string): Method {
  const method = loadCatalog().methods.get(code);
  if (!method) throw new Error(`${code} is not in the catalogue.`);
  return method;
}

export async function createMerchants(ctx: Context, count: number): Promise<SeededMerchant[]> {
  const merchants: SeededMerchant[] = [];
  for (let number = 1; number <= count; number++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Seeded shop ${number}`);
    const integration = await createIntegration(ctx, COMMAND_LINE, holder.id, 'Website');
    merchants.push({ holderId: holder.id, integrationId: integration.id });
  }
  return merchants;
}

/** What the background jobs of PostgreSQL would have done in the meantime. */
export async function collectStatistics(owner: Database): Promise<void> {
  await owner.withConnection(async (connection) => {
    await connection.query('set statement_timeout = 0');
    await connection.query('vacuum analyze');
    await connection.query('reset statement_timeout');
  });
}

/** Also those of the gateway. */
export async function finishHistory(ctx: Context, owner: Database): Promise<void> {
  await collectStatistics(owner);
  while ((await extendChain(ctx, { partial: true })) > 0);
}

/** `owner` is a connection pool of the owner of the tables. */
export async function writePaymentRows(ctx: Context, owner: Database, plan: PaymentRowsPlan): Promise<void> {
  await openAccounts(ctx, plan);
  const kept = new Date(plan.until.getTime() - KEPT_DAYS * DAY_MS);
  for (const table of ['events', 'callback_attempts'])
    for (let day = 0; day <= KEPT_DAYS; day += MONTH_DAYS)
      await maintainPartitions(
        ctx,
        { table, span: 'month', ahead: 1, keepMs: 90 * DAY_MS, hasDefault: true },
        new Date(kept.getTime() + day * DAY_MS),
      );
  for (const table of GUARDED) await owner.query(`alter table ${table} disable trigger user`);
  try {
    for (let from = 0; from < plan.payments; from += PIECE) {
      const to = Math.min(from + PIECE, plan.payments);
      await owner.transaction((tx) => writePiece(tx, plan, { from, to, kept }));
      plan.onProgress?.(to);
    }
  } finally {
    for (const table of GUARDED) await owner.query(`alter table ${table} enable trigger user`);
  }
}

async function openAccounts({ db }: Context, { merchants, method, days, until }: PaymentRowsPlan): Promise<void> {
  const { currency } = method;
  const at = new Date(until.getTime() - days * DAY_MS);
  const holderIds = merchants.map(({ holderId }) => holderId);
  await db.transaction(async (tx) => {
    await ensureWallets(
      tx,
      holderIds.map((holderId) => ({ holderId, currency })),
      at,
    );
    await tx.query(
      `insert into ledger_accounts (holder_id, key, kind, rail, currency, may_go_negative, updated_at)
       select holder_id, format(x.key, holder_id), x.kind, x.rail, $2, x.rail is not null, $3
       from unnest($1::bigint[]) holder_id
       cross join (values ('fees:%s:' || $2, 'fee_income', null), ('clearing:%s:${RAIL}:' || $2, 'operator_clearing', '${RAIL}'))
         as x (key, kind, rail)
       on conflict do nothing`,
      [holderIds, currency, at],
    );
    await tx.query(
      'insert into event_feeds (holder_id, last_position) select unnest($1::bigint[]), 0 on conflict do nothing',
      [holderIds],
    );
  });
}

type Piece = { readonly from: number; readonly to: number; readonly kept: Date };

async function writePiece(tx: Tx, plan: PaymentRowsPlan, { from, to, kept }: Piece): Promise<void> {
  const { merchants, method, days, until, payments } = plan;
  const amounts = AMOUNTS.map((amount) => BigInt(amount) * 100_000n);
  await tx.query('set local statement_timeout = 0');
  await tx.query("set local work_mem = '256MB'");
  await tx.query(PLAN_PIECE, [
    from,
    to - 1,
    payments,
    until.getTime(),
    days * DAY_MS,
    merchants.map(({ holderId }) => holderId),
    merchants.map(({ integrationId }) => integrationId),
    amounts,
    amounts.map((amount) => feeOf(amount, method, 'collection')),
    method.currency,
  ]);
  await tx.query('analyze piece');
  await tx.query(INSERT_TRANSACTIONS, [method.countryId, method.code, method.currency]);
  await tx.query(INSERT_EVIDENCE, [method.currency]);
  await tx.query(INSERT_RECEIPTS);
  await tx.query(INSERT_TRANSFERS, [method.currency]);
  await tx.query(MOVE_BALANCES);
  await tx.query(INSERT_EVENTS, [method.currency, kept]);
  await tx.query(INSERT_ATTEMPTS, [kept]);
  await tx.query(MOVE_FEEDS);
  await tx.query('drop table piece');
}

/** From 0 to 1, and the same for the same payment: one place for each question. */
const dice = (question: number) => `((hashint8extended(n, ${question}) & 1048575) / 1048576.0)`;

/** Everything about each payment that the tables below have in common. */
const PLAN_PIECE = `
  create temporary table piece on commit drop as
  with merchant as materialized (
    select m.holder_id, m.integration_id, m.place, c.id as clearing, w.id as wallet, f.id as fees, c.balance as clearing_before,
      w.balance as wallet_before, f.balance as fees_before, feed.last_position
    from unnest($6::bigint[], $7::bigint[]) with ordinality as m (holder_id, integration_id, place)
    join ledger_accounts c on c.holder_id = m.holder_id and c.kind = 'operator_clearing' and c.currency = $10
    join ledger_accounts w on w.holder_id = m.holder_id and w.kind = 'wallet_available' and w.currency = $10
    join ledger_accounts f on f.holder_id = m.holder_id and f.kind = 'fee_income' and f.currency = $10
    join event_feeds feed on feed.holder_id = m.holder_id
  ), chosen as materialized (
    select n, 1 + floor(cardinality($6::bigint[]) * power(${dice(1)}, 2))::bigint as place,
      1 + floor(cardinality($8::bigint[]) * ${dice(2)})::int as price, ${dice(3)} as fate,
      $4::bigint - $5::bigint + ($5::bigint * n) / $3::bigint as millis, md5(n || ':' || $4::bigint) as digest
    from generate_series($1::bigint, $2::bigint) n
  ), payment as materialized (
    select n, m.*, to_timestamp(millis / 1000.0) as at,
      lpad(to_hex(millis), 12, '0') as time_digits, lpad(to_hex(holder_id), 7, '0') as holder_digits, digest,
      ($8::bigint[])[price] as amount, ($9::bigint[])[price] as fee,
      case when fate < 0.90 then 'success' when fate < 0.97 then 'failed' else 'expired' end as status,
      case when fate >= 0.97 then 'PROMPT_EXPIRED' when fate >= 0.95 then 'WRONG_PIN' when fate >= 0.93 then 'PAYER_CANCELLED'
        when fate >= 0.90 then 'INSUFFICIENT_FUNDS' end as failure_code,
      '25677' || lpad((hashint8(n / 3)::bigint & 8388607)::text, 7, '0') as msisdn
    from chosen join merchant m using (place)
  )
  select n, holder_id, integration_id, at, amount, fee, status, failure_code, msisdn, clearing, wallet, fees,
    (time_digits || '7' || substr(digest, 1, 3) || '8' || substr(digest, 4, 8) || holder_digits)::uuid as id,
    (time_digits || '7' || substr(digest, 12, 3) || '8' || substr(digest, 15, 8) || holder_digits)::uuid as event_id,
    upper(substr(digest, 23, 10)) as receipt,
    clearing_before - sum(case when status = 'success' then amount else 0 end) over past as clearing_after,
    wallet_before + sum(case when status = 'success' then amount - fee else 0 end) over past as wallet_after,
    fees_before + sum(case when status = 'success' then fee else 0 end) over past as fees_after,
    last_position + row_number() over past as position
  from payment
  window past as (partition by holder_id order by n)
  order by n`;

const INSERT_TRANSACTIONS = `
  insert into transactions (holder_id, id, integration_id, direction, status, amount, fee, currency, country_id, method, rail,
    msisdn, detail, reference_1, callback_url, verification, receipt, failure_code, failure_message, balance_after, created_at,
    updated_at, settled_at)
  select holder_id, id, integration_id, 'collection', status, amount, fee, $3, $1, $2, '${RAIL}', msisdn,
    'Collection from ' || msisdn || ' by MTN MoMo', 'order-' || n, 'https://shop.example/hook', 'prompt',
    case when status = 'success' then receipt end, failure_code,
    case when failure_code is not null then 'The operator gave this reason.' end,
    case when status = 'success' then wallet_after end, at, at, case when status = 'success' then at end
  from piece order by n`;

const INSERT_EVIDENCE = `
  insert into evidence (holder_id, transaction_id, at, source, state, receipt, failure_code, effect, raw)
  select holder_id, id, at, 'submit', case when status = 'success' then 'succeeded' else 'failed' end,
    case when status = 'success' then receipt end, failure_code, 'applied',
    format('{"reference":"%s","direction":"collection","status":"%s","amount":"%s","currency":"%s","receipt":"%s"}',
      id, status, amount / 100, $1::text, receipt)
  from piece where status <> 'expired' order by n`;

const INSERT_RECEIPTS = `
  insert into operator_receipts (rail, receipt, holder_id, transaction_id, at)
  select '${RAIL}', receipt, holder_id, id, at from piece where status = 'success' order by n`;

const INSERT_TRANSFERS = `
  insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at,
    transaction_id, kind, currency)
  select holder_id, clearing, x.account, x.amount, x.debit_balance, x.credit_balance, at, id, x.kind, $1
  from piece cross join lateral (values
    (1, 'collection'::transfer_kind, wallet, amount - fee, clearing_after + fee, wallet_after),
    (2, 'collection_fee', fees, fee, clearing_after, fees_after)) as x (place, kind, account, amount, debit_balance, credit_balance)
  where status = 'success' and x.amount > 0 order by n, x.place`;

const MOVE_BALANCES = `
  with moved as (
    select distinct on (holder_id) holder_id, clearing, wallet, fees, clearing_after, wallet_after, fees_after, at
    from piece order by holder_id, n desc
  )
  update ledger_accounts a
  set balance = case a.id when clearing then clearing_after when wallet then wallet_after else fees_after end, updated_at = at
  from moved m where a.holder_id = m.holder_id and a.id in (clearing, wallet, fees)`;

const INSERT_EVENTS = `
  insert into events (holder_id, transaction_id, type, sequence, id, position, integration_id, url, body, created_at)
  select holder_id, id, 'collection.' || status, 1, event_id, position, integration_id, 'https://shop.example/hook',
    convert_to(jsonb_build_object('id', event_id, 'type', 'collection.' || status, 'created_at', at, 'data', jsonb_build_object(
      'amount', amount / 100, 'fee', fee / 100, 'currency', $1::text, 'status', status, 'payee', null, 'invoice_no', null,
      'mobile', msisdn, 'account_number', null, 'ref', id, 'balance', wallet_after / 100,
      'transaction_detail', 'Collection from ' || msisdn || ' by MTN MoMo', 'payment_channel', 'MTN MoMo',
      'third_party_reference_1', 'order-' || n, 'third_party_reference_2', null, 'receipt', receipt,
      'failure_code', failure_code, 'created_at', at, 'updated_at', at))::text, 'UTF8'), at
  from piece where at >= $2 order by n`;

const INSERT_ATTEMPTS = `
  insert into callback_attempts (holder_id, event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms)
  select holder_id, event_id, at, 1, true, 'v1,' || md5(n::text) || md5(n::text), 200,
    '{"content-type": "application/json", "content-length": "16"}', '{"received":true}', 20 + n % 80
  from piece where at >= $1 order by n`;

const MOVE_FEEDS = `
  update event_feeds f set last_position = p.position
  from (select holder_id, max(position) as position from piece group by holder_id) p where f.holder_id = p.holder_id`;
