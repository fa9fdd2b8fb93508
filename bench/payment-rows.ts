// Writes past payments into a database, by the million, so that `ledger verify` finds nothing: one transaction that takes the
// guards and indexes of the large tables away, copies the rows in the order of time, and puts guards and indexes back. If it
// breaks off, nothing has changed. It runs as the owner of the database, and never on a gateway that takes payments.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { ensureWallets } from '../src/ledger/accounts.ts';
import { extendChain, newestBlocks, newestHead, pastEnd } from '../src/ledger/chain.ts';
import { EVIDENCE_MONTHS } from '../src/payments/evidence.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import type { Context } from '../src/platform/context.ts';
import { readerOf } from '../src/platform/copy-connection.ts';
import { maintainPartitions, type PartitionPlan } from '../src/platform/partitions.ts';
import { inventPayments, methodsAt, type PastPayments, shareAt } from './past-payments.ts';
import {
  type Account,
  COLUMNS,
  emptyRows,
  KEPT_DAYS,
  type PastRows,
  type PastTable,
  RAIL,
  type Shop,
} from './past-rows.ts';

/** Payments of one round of copies, and those made while the database reads what is on its way. */
const PART = 50_000;
const SLICE = 250;
const MONTH_DAYS = 28;
/** Tables that have every payment: their indexes are made afterwards, in one sort. */
const LARGE = ['transactions', 'evidence', 'operator_receipts', 'ledger_transfers'] as const;
const GUARDED = [...LARGE, 'ledger_accounts', 'ledger_partition_blocks', 'ledger_heads'].concat(
  'refund_orders',
  'events',
  'callback_attempts',
);
const MERCHANTS_AT_ONCE = 8;

/** Tables that are empty at first need no WAL: they are written and flushed before the commit. */
export const SEED_SETTINGS = { wal_level: 'minimal', max_wal_senders: '0', max_wal_size: '8GB', shared_buffers: '1GB' };

export type SeededMerchant = { readonly holderId: bigint; readonly integrationId: bigint };

export type PaymentRowsPlan = {
  readonly payments: number;
  /** The first ones have most of the payments, as in life. */
  readonly merchants: readonly SeededMerchant[];
  /** The payments are spread over the days before `until`. */
  readonly days: number;
  readonly until: Date;
  readonly onProgress?: (written: number) => void;
};

export async function createMerchants(ctx: Context, count: number): Promise<SeededMerchant[]> {
  const merchants: SeededMerchant[] = [];
  for (let first = 1; first <= count; first += MERCHANTS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(MERCHANTS_AT_ONCE, count - first + 1) }, (_, index) => first + index);
    merchants.push(...(await Promise.all(numbers.map((number) => createMerchant(ctx, number)))));
  }
  return merchants;
}

async function createMerchant(ctx: Context, number: number): Promise<SeededMerchant> {
  const holder = await createHolder(ctx, COMMAND_LINE, `Seeded shop ${number}`);
  const integration = await createIntegration(ctx, COMMAND_LINE, holder.id, 'Website');
  return { holderId: holder.id, integrationId: integration.id };
}

/** `ownerUrl` is that of the owner of the tables. */
export async function writePaymentRows(ctx: Context, ownerUrl: string, plan: PaymentRowsPlan): Promise<void> {
  await openAccounts(ctx, plan);
  await openPartitions(ctx, plan);
  // What others posted is sealed first: the new blocks follow them.
  while ((await extendChain(ctx, { partial: true })) > 0);
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'simbi-seed' });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`set local statement_timeout = 0; set local lock_timeout = 0; set local maintenance_work_mem = '768MB';
      set local max_parallel_maintenance_workers = 2; set local idle_in_transaction_session_timeout = 0`);
    for (const table of GUARDED) await client.query(`alter table ${table} disable trigger user`);
    const fresh = await clearIfEmpty(client);
    const indexes = await dropIndexes(client);
    const shops = await readShops(client, plan);
    const payments = await copyPayments(client, plan, shops, fresh);
    for (const create of indexes) await client.query(create);
    await writeBalances(client, shops, plan.until, payments.lastTransfer());
    for (const table of GUARDED) await client.query(`alter table ${table} enable trigger user`);
    await client.query('commit');
    // What autovacuum would have done in the meantime.
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

async function openAccounts({ db }: Context, { merchants, days, until }: PaymentRowsPlan): Promise<void> {
  const at = new Date(until.getTime() - days * DAY_MS);
  const wallets = merchants.map(({ holderId }, place) => ({ holderId, currency: currencyAt(place) }));
  const holderIds = wallets.map(({ holderId }) => holderId);
  await db.transaction(async (tx) => {
    await ensureWallets(tx, wallets, at);
    await tx.query(
      `insert into ledger_accounts (holder_id, key, kind, rail, currency, may_go_negative, updated_at)
       select holder_id, format(x.key, holder_id, currency), x.kind, x.rail, currency, x.rail is not null, $3
       from unnest($1::bigint[], $2::text[]) as shop (holder_id, currency)
       cross join (values ('fees:%s:%s', 'fee_income', null), ('clearing:%s:${RAIL}:%s', 'operator_clearing', '${RAIL}'))
         as x (key, kind, rail)
       on conflict do nothing`,
      [holderIds, wallets.map(({ currency }) => currency), at],
    );
    await tx.query(
      'insert into event_feeds (holder_id, last_position) select unnest($1::bigint[]), 0 on conflict do nothing',
      [holderIds],
    );
  });
}

function currencyAt(place: number): string {
  return methodsAt(place)[0]?.method.currency ?? '';
}

async function openPartitions(ctx: Context, { days, until }: PaymentRowsPlan): Promise<void> {
  for (const table of ['events', 'callback_attempts'])
    await createMonths(ctx, { ...EVIDENCE_MONTHS, table, keepMs: 90 * DAY_MS }, KEPT_DAYS, until);
  await createMonths(ctx, EVIDENCE_MONTHS, days, until);
}

async function createMonths(ctx: Context, months: PartitionPlan, days: number, until: Date): Promise<void> {
  for (let day = days; day >= 0; day -= MONTH_DAYS)
    await maintainPartitions(ctx, { ...months, ahead: 1 }, new Date(until.getTime() - day * DAY_MS));
}

/**
 * A table emptied in the same transaction takes rows as already frozen, so that no vacuum has to write them once more. Evidence
 * has partitions, which cannot be copied into in that way.
 */
async function clearIfEmpty(client: pg.Client): Promise<ReadonlySet<string>> {
  const fresh = new Set<string>();
  for (const table of LARGE.filter((each) => each !== 'evidence')) {
    const { rowCount } = await client.query(`select from ${table} limit 1`);
    if (rowCount !== 0) continue;
    await client.query(`truncate ${table}`);
    fresh.add(table);
  }
  return fresh;
}

/** Takes the indexes of the large tables away. Returns the statements that make them again. */
async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ table: string; name: string; create: string; is_constraint: boolean }>(
    `select t.relname as table, i.relname as name, c.oid is not null as is_constraint,
            case when c.oid is null then pg_get_indexdef(i.oid)
                 else format('alter table %I add constraint %I %s', t.relname, c.conname, pg_get_constraintdef(c.oid)) end as create
     from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
     left join pg_constraint c on c.conindid = i.oid and c.contype in ('p', 'u')
     where t.relname = any($1::text[]) and t.relnamespace = 'public'::regnamespace order by t.relname, c.oid is null, i.relname`,
    [LARGE],
  );
  for (const { table, name, is_constraint } of rows)
    await client.query(is_constraint ? `alter table ${table} drop constraint ${name}` : `drop index ${name}`);
  return rows.map(({ create }) => create);
}

async function readShops(client: pg.Client, { merchants, payments }: PaymentRowsPlan): Promise<Shop[]> {
  const { rows } = await client.query<{
    holder_id: bigint;
    kind: string;
    id: bigint;
    balance: bigint;
    currency: string;
  }>('select holder_id, kind, currency, id, balance from ledger_accounts where holder_id = any($1::bigint[])', [
    merchants.map(({ holderId }) => holderId),
  ]);
  const accounts = new Map<string, Account>(
    rows.map((row) => [
      `${row.holder_id}:${row.kind}:${row.currency}`,
      { id: String(row.id), balance: Number(row.balance) },
    ]),
  );
  const feeds = await client.query<{ holder_id: bigint; last_position: bigint }>(
    'select holder_id, last_position from event_feeds where holder_id = any($1::bigint[])',
    [merchants.map(({ holderId }) => holderId)],
  );
  const counted = await client.query<{ holder_id: bigint; position: bigint }>(
    'select holder_id, position from ledger_positions where holder_id = any($1::bigint[])',
    [merchants.map(({ holderId }) => holderId)],
  );
  const transfers = new Map(counted.rows.map((row) => [String(row.holder_id), Number(row.position)]));
  const positions = new Map(feeds.rows.map((row) => [String(row.holder_id), Number(row.last_position)]));
  return merchants.map(({ holderId, integrationId }, place) => {
    const methods = methodsAt(place);
    const currency = currencyAt(place);
    const account = (kind: string): Account => {
      const found = accounts.get(`${holderId}:${kind}:${currency}`);
      if (!found) throw new Error(`holder ${holderId} has no account ${kind} in ${currency}`);
      return found;
    };
    return {
      holderId: String(holderId),
      digits: holderId.toString(16).padStart(7, '0'),
      integrationId: String(integrationId),
      methods,
      currency,
      clearing: account('operator_clearing'),
      available: account('wallet_available'),
      reserved: account('wallet_reserved'),
      fees: account('fee_income'),
      position: positions.get(String(holderId)) ?? 0,
      transfers: transfers.get(String(holderId)) ?? 0,
      owed: 0,
      callbackUrl: `https://shop-${holderId}.example/hook`,
      payers: Math.max(20, Math.floor((payments * shareAt(place)) / 12)),
      reusableLink: null,
    };
  });
}

async function copyPayments(
  client: pg.Client,
  plan: PaymentRowsPlan,
  shops: Shop[],
  fresh: ReadonlySet<string>,
): Promise<PastPayments> {
  const [end] = (
    await client.query<{ batch: string; last_transfer: bigint | null }>(
      `select pg_current_xact_id()::text as batch,
              pg_sequence_last_value(pg_get_serial_sequence('ledger_transfers', 'id')::regclass) as last_transfer`,
    )
  ).rows;
  const reader = readerOf(client);
  const past = await pastEnd(reader);
  const payments = inventPayments({
    payments: plan.payments,
    days: plan.days,
    until: plan.until,
    shops,
    lastTransfer: end?.last_transfer ?? 0n,
    chain: {
      blocks: (await newestBlocks(reader)).map(({ number, hash }) => ({ number, hash: hash ?? past.hash })),
      head: (await newestHead(reader)) ?? past,
      genesis: past.hash,
    },
    batch: end?.batch ?? '0',
  });
  const parts = makeParts(payments, plan);
  // The next part is made while the database reads this one.
  for (let next = parts.next(); ; ) {
    const part = await next;
    if (part.done) break;
    next = parts.next();
    for (const [table, chunks] of part.value) await copyRows(client, table, chunks, fresh.has(table));
  }
  return payments;
}

type Part = Map<PastTable, Buffer[]>;

async function* makeParts(payments: PastPayments, plan: PaymentRowsPlan): AsyncGenerator<Part> {
  for (let from = 0; from < plan.payments; from += PART) {
    const part: Part = new Map();
    const to = Math.min(from + PART, plan.payments);
    for (let done = from; done < to; done += SLICE) {
      addSlice(part, (rows) => payments.write(rows, Math.min(SLICE, to - done)));
      await setImmediate();
    }
    yield part;
    plan.onProgress?.(to);
  }
  const last: Part = new Map();
  addSlice(last, (rows) => payments.finish(rows));
  yield last;
}

/** Text becomes bytes soon: long texts of many parts are slow to collect. */
function addSlice(part: Part, write: (rows: PastRows) => void): void {
  const rows = emptyRows();
  write(rows);
  for (const table of Object.keys(COLUMNS) as PastTable[]) {
    if (rows[table] === '') continue;
    const chunks = part.get(table) ?? [];
    chunks.push(Buffer.from(rows[table], 'latin1'));
    part.set(table, chunks);
  }
}

async function copyRows(client: pg.Client, table: PastTable, chunks: Buffer[], freeze: boolean): Promise<void> {
  const options = freeze ? ' with (freeze)' : '';
  const stream = client.query(copyFrom(`copy ${table} (${COLUMNS[table]}) from stdin${options}`));
  await pipeline(Readable.from(chunks), stream);
}

async function writeBalances(client: pg.Client, shops: readonly Shop[], at: Date, lastTransfer: bigint): Promise<void> {
  const accounts = shops.flatMap(({ holderId, clearing, available, reserved, fees }) =>
    [clearing, available, reserved, fees].map(({ id, balance }) => ({ holderId, id, balance })),
  );
  await client.query(
    `update ledger_accounts a set balance = x.balance, updated_at = $4
     from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as x (holder_id, id, balance)
     where a.holder_id = x.holder_id and a.id = x.id`,
    [
      accounts.map(({ holderId }) => holderId),
      accounts.map(({ id }) => id),
      accounts.map(({ balance }) => balance),
      at,
    ],
  );
  await client.query(
    `update event_feeds f set last_position = x.position
     from unnest($1::bigint[], $2::bigint[]) as x (holder_id, position) where f.holder_id = x.holder_id`,
    [shops.map(({ holderId }) => holderId), shops.map(({ position }) => position)],
  );
  for (const table of ['ledger_positions', 'ledger_sealed'])
    await client.query(
      `insert into ${table} (holder_id, position)
       select * from unnest($1::bigint[], $2::bigint[]) as x (holder_id, position) where x.position > 0
       on conflict (holder_id) do update set position = excluded.position`,
      [shops.map(({ holderId }) => holderId), shops.map(({ transfers }) => transfers)],
    );
  await client.query(`select setval(pg_get_serial_sequence('ledger_transfers', 'id'), $1)`, [lastTransfer]);
}
