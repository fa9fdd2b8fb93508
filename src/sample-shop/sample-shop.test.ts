// The sample shop: sixty days of history that look like a business, in books that are right.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { signIn } from '../../test/console-harness.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { listFailingReceivers } from '../callbacks/endpoints.ts';
import type { Holder } from '../holders/holders.ts';
import { findMemberByEmail } from '../holders/members.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { countOpenCases } from '../payments/case-list.ts';
import { countWaitingApprovals } from '../payments/payout-orders.ts';
import { DAY_MS } from '../platform/clock.ts';
import { planPayments } from './plan.ts';
import { createSampleShop, makeSampleShop } from './sample-shop.ts';

let gateway: TestGateway;
let shop: Holder;
before(async () => {
  gateway = await createTestGateway();
  gateway.ctx.clock.set(new Date());
  shop = await makeSampleShop(gateway.ctx, gateway.services.payments.engine);
});
after(() => gateway.close());

type Row = { direction: string; status: string; currency: string; n: number; oldest: Date };
const countRows = () =>
  gateway.ctx.db.query<Row>(
    `select direction, status, currency, count(*)::integer as n, min(created_at) as oldest
     from transactions where holder_id = $1 group by 1, 2, 3`,
    [shop.id],
  );

test('payments of several countries, refunds and payouts, over sixty days', async () => {
  const rows = await countRows();
  const sum = (keep: (row: Row) => boolean) => rows.filter(keep).reduce((total, { n }) => total + n, 0);
  // Which payments there are depends on the weekday.
  const plan = planPayments(gateway.ctx.clock.now());
  assert.equal(
    sum(({ direction }) => direction === 'collection'),
    plan.length,
  );
  const expired = plan.filter(({ outcome }) => outcome === 'PROMPT_EXPIRED').length;
  assert.ok(sum(({ status }) => status === 'success') > 250);
  assert.ok(sum(({ status }) => status === 'failed') > 20);
  assert.ok(expired > 0 && sum(({ status }) => status === 'expired') === expired);
  const refunds = plan.filter(({ refund }) => refund).length;
  assert.ok(refunds > 0 && sum(({ direction }) => direction === 'refund') === refunds);
  assert.ok(sum((row) => row.direction === 'payout' && row.status === 'success') >= 4);
  assert.deepEqual([...new Set(rows.map(({ currency }) => currency))].sort(), ['KES', 'SLE', 'TZS', 'UGX', 'ZMW']);
  const oldest = Math.min(...rows.map((row) => row.oldest.getTime()));
  assert.ok(gateway.ctx.clock.millis() - oldest > 58 * DAY_MS);
  const wallets = await balancesOf(gateway.ctx.db, shop.id);
  assert.ok(wallets.every(({ available }) => available > 0n));
});

test('nothing of the past waits for a job, and what needs a person is there', async () => {
  const { ctx } = gateway;
  const jobs = await ctx.db.query('select 1 from payment_jobs where holder_id = $1', [shop.id]);
  assert.equal(jobs.length, 0);
  assert.equal(await countWaitingApprovals(ctx.db, shop.id), 2);
  const cases = await countOpenCases(ctx.db, shop.id);
  assert.equal(
    [...cases.values()].reduce((sum, count) => sum + count, 0),
    1,
  );
  await gateway.settle();
  assert.deepEqual(
    (await listFailingReceivers(ctx.db, shop.id)).map(({ origin }) => origin),
    ['https://shop.example'],
  );
});

test('the home page shows sixty days of business, most of them busy', async () => {
  const owner = await findMemberByEmail(gateway.ctx.db, 'amina@sample-shop.example');
  assert.ok(owner);
  const person = await signIn(gateway, owner, { holderId: shop.id });
  // On a busy machine the first looks come before all days are counted.
  const chart = 'class="money-chart"';
  let text = '';
  for (let looks = 0; looks < 30 && !text.includes(chart); looks++)
    ({ text } = await person.get('/console?range=60d&currency=KES'));
  const [table = ''] = /<table[\s\S]*?<\/table>/.exec(text.slice(text.indexOf(chart))) ?? [];
  const days = [...table.matchAll(/<tr>\s*<td[\s\S]*?<\/tr>/g)].map(([row]) => row);
  const busy = days.filter((row) => /KES\s[1-9]/.test(row));
  assert.equal(days.length, 60);
  assert.ok(busy.length >= 50, `${busy.length} days with money`);
});

test('ledger verify finds nothing', async () => {
  assert.deepEqual(await differencesOf(gateway.ctx), []);
});

test('it is found when it is complete, and made once', async () => {
  const sample = createSampleShop(gateway.ctx, gateway.services.payments.engine);
  assert.equal((await sample.find())?.id, shop.id);
});
