// What merchants read often reads few pages of the database, however long their history and however much work of others is open.
// Pages are counted, not milliseconds: a scan of the history shows in any number of rows.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMerchants, type SeededMerchant, writePaymentRows } from '../bench/payment-rows.ts';
import { oldestDueDelivery } from '../src/callbacks/endpoints.ts';
import { listEvents } from '../src/callbacks/feed.ts';
import { listDeliveries } from '../src/callbacks/resend.ts';
import { walletAvailable } from '../src/ledger/chart.ts';
import { balanceAt, balancesOf, statement } from '../src/ledger/ledger.ts';
import { openWalletHistory } from '../src/ledger/wallet-history.ts';
import { LINK_STATUSES } from '../src/links/links.ts';
import { listLinks } from '../src/links/listing.ts';
import { listTransactions } from '../src/payments/listing.ts';
import { listBalances } from '../src/payments/status.ts';
import { findTransaction } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import type { Reader } from '../src/platform/db.ts';
import { createTestContext, type TestContext } from './harness.ts';

const PAYMENTS = 12_000;
/** The largest has a third of the payments: what is common among the others says little about it. */
const MERCHANTS = 150;
const OPEN_WORK = 20_000;
const PAID_LINKS = 20_000;
/** Pages of one statement: those of the index and of the rows that are shown, and of some partitions. All the rows have more. */
const PAGES_OF_A_LIST = 200;
const PAGES_OF_ONE = 40;

let ctx: TestContext & { close(): Promise<void> };
let large: SeededMerchant;
let other: SeededMerchant;

before(async () => {
  ctx = await createTestContext();
  const merchants = await createMerchants(ctx, MERCHANTS);
  [large, other] = merchants as [SeededMerchant, SeededMerchant];
  await writePaymentRows(ctx, ctx.databaseUrl, { payments: PAYMENTS, merchants, days: 60, until: ctx.clock.now() });
  // Another merchant has much open work, and the large one many links of which few have the status asked for.
  await ctx.ownerDb.transaction(async (tx) => {
    await tx.query('set local statement_timeout = 0');
    await tx.query(
      `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
       select $1, gen_random_uuid(), 'query', 'infinity', now() from generate_series(1, $2)`,
      [other.holderId, OPEN_WORK],
    );
    await tx.query(
      `insert into callback_deliveries (holder_id, event_id, transaction_id, integration_id, origin, url, leased, due_at, started_at)
       select $1, gen_random_uuid(), gen_random_uuid(), 1, 'https://down.example', 'https://down.example/hook', false, $3, $3
       from generate_series(1, $2)`,
      [other.holderId, OPEN_WORK, ctx.clock.now()],
    );
    await tx.query(
      `insert into payment_links (holder_id, id, currency, country_id, status, code, created_at, updated_at)
       select $1, gen_random_uuid(), 'UGX', 11, 'paid', lpad(n::text, 10, '0'), $3, $3 from generate_series(1, $2) n`,
      [large.holderId, PAID_LINKS, ctx.clock.now()],
    );
    await tx.query('analyze payment_jobs, callback_deliveries, payment_links');
  });
});
after(() => ctx.close());

type Plan = { 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }] };

/** Runs a read and returns the pages of its most expensive statement. */
async function pagesOf(read: (reader: Reader) => Promise<unknown>): Promise<number> {
  let most = 0;
  await read({
    async query(statement, values) {
      const text = typeof statement === 'string' ? statement : statement.text;
      const [row] = await ctx.db.query<Plan>(`explain (analyze, buffers, format json) ${text}`, values);
      const plan = row?.['QUERY PLAN'][0].Plan;
      most = Math.max(most, (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0));
      return ctx.db.query(statement, values);
    },
  });
  return most;
}

async function assertFew(name: string, limit: number, read: (reader: Reader) => Promise<unknown>): Promise<void> {
  const pages = await pagesOf(read);
  assert.ok(pages > 0 && pages <= limit, `${name} reads ${pages} pages`);
}

test('status, balance, the feed and the newest of each list', async () => {
  const { holderId } = large;
  const [newest] = await ctx.db.query<{ id: string }>(
    'select id from transactions where holder_id = $1 order by id desc limit 1',
    [holderId],
  );
  await assertFew('status', PAGES_OF_ONE, (reader) => findTransaction(reader, holderId, newest?.id ?? ''));
  await assertFew('balance', PAGES_OF_ONE, (reader) => listBalances(reader, holderId, {}));
  await assertFew('transactions', PAGES_OF_A_LIST, (reader) => listTransactions(reader, holderId, {}, { limit: 50 }));
  await assertFew('one reference', PAGES_OF_ONE, (reader) =>
    listTransactions(reader, holderId, { reference: 'order-77' }, { limit: 50 }),
  );
  await assertFew('feed', PAGES_OF_A_LIST, (reader) => listEvents(reader, holderId, { limit: 50 }));
  await assertFew('callbacks', 2 * PAGES_OF_A_LIST, (reader) => listDeliveries(reader, holderId, { limit: 50 }));
});

test('links of each status, also where few have it', async () => {
  const now = ctx.clock.now();
  for (const status of [null, ...LINK_STATUSES])
    await assertFew(`links, ${status ?? 'all'}`, PAGES_OF_A_LIST, (reader) =>
      listLinks(reader, large.holderId, { before: null, status, limit: 50, now }),
    );
});

test('the oldest callback that is due, beside thousands that wait for the same receiver', async () => {
  const now = ctx.clock.now();
  await assertFew('oldest due callback', PAGES_OF_ONE, (reader) => oldestDueDelivery(reader, now));
  assert.deepEqual(await oldestDueDelivery(ctx.db, now), now);
});

test('the balances of a wallet at the ends of a month, its newest lines, and its balance at a moment', async () => {
  const { holderId } = large;
  const now = ctx.clock.now();
  const [wallet] = await balancesOf(ctx.db, holderId);
  const currency = wallet?.currency ?? '';
  const account = walletAvailable(holderId, currency);
  const span = { from: new Date(now.getTime() - 40 * DAY_MS), to: new Date(now.getTime() - 10 * DAY_MS) };
  await assertFew('ends of a month', PAGES_OF_A_LIST, (reader) => openWalletHistory(reader, holderId, currency, span));
  await assertFew('newest lines', PAGES_OF_A_LIST, (reader) => statement(reader, account, { limit: 50 }));
  await assertFew('balance at a moment', PAGES_OF_ONE, (reader) => balanceAt(reader, account, span.to));
});
