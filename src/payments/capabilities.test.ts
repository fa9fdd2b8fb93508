// What a connection can do decides how its transactions are accepted, asked about and limited.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CAPABILITIES,
  CURRENCY,
  collectionOrder,
  METHOD,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { Problem } from '../platform/errors.ts';
import type { Observation, QueryCall, RailCapabilities } from '../rails/rail.ts';
import { createCallLimits } from './call-limits.ts';
import { completeOrder } from './collections.ts';
import { preflight } from './discovery.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { readPayout } from './payout-requests.ts';
import { findTransaction, type Transaction } from './transactions.ts';

const PENDING: Observation = { state: 'pending' };
const NOT_FOUND: Observation = { state: 'unknown', reason: 'no such payment', definitelyNotFound: true };
const ASKED: Observation = { state: 'unknown', reason: 'the answer comes by callback', asked: true };
const DAY_MS = 24 * 3_600_000;

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let submits: number;
let asked: QueryCall[];
let answer: Observation;

before(async () => {
  base = await createTestContext();
});
after(() => base.close());
beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  await base.db.query('delete from operator_hints');
  submits = 0;
  asked = [];
  answer = PENDING;
});

async function start(capabilities: Partial<RailCapabilities>): Promise<void> {
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, ...capabilities },
    async collect() {
      submits++;
      return { observation: PENDING, raw: '' };
    },
    async query(call) {
      asked.push(call);
      return { observation: answer, raw: '' };
    },
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
}

async function collect(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
  await engine.idle();
  return transaction;
}

async function passAfter(milliseconds: number): Promise<void> {
  base.clock.advance(milliseconds);
  await engine.pass();
  await engine.idle();
}

const reload = async ({ id }: Transaction) => (await findTransaction(ctx.db, shop.holderId, id)) ?? assert.fail();

async function openCases({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>(
    `select kind from cases where transaction_id = $1 and status = 'open'`,
    [id],
  );
  return rows.map((row) => row.kind);
}

describe('asking', () => {
  test('the first query waits until the operator can know the transaction', async () => {
    await start({ firstQueryAfterMs: 60_000 });
    const transaction = await collect();
    await passAfter(59_000);
    assert.equal(asked.length, 0);
    await engine.refresh(await reload(transaction), 100);
    assert.equal(asked.length, 0, 'nor does a reader make us ask');
    await passAfter(1_500);
    assert.equal(asked.length, 1);
    assert.equal(asked[0]?.submittedAt.getTime(), transaction.created_at.getTime());
    assert.deepEqual([asked[0]?.amount, asked[0]?.currency], [transaction.amount, CURRENCY]);
  });

  test('not found is final after the time of this operator, and never where it never is', async () => {
    await start({ notFoundIsFinalAfterMs: 10_000 });
    answer = NOT_FOUND;
    await collect();
    await passAfter(6_000);
    assert.equal(submits, 1);
    await passAfter(11_000);
    await passAfter(1);
    assert.equal(submits, 2, 'it is sent again');
    await base.db.query('delete from payment_jobs');

    await start({ notFoundIsFinalAfterMs: null });
    submits = 0;
    await collect();
    for (let hours = 0; hours < 10; hours++) await passAfter(3_600_000);
    assert.equal(submits, 1);
  });

  test('an operator that nobody can ask is not asked; its silence becomes a case after a day', async () => {
    await start({ query: 'none' });
    const transaction = await collect();
    for (let hours = 0; hours < 23; hours++) await passAfter(3_600_000);
    await engine.refresh(await reload(transaction), 100);
    assert.deepEqual(await openCases(transaction), []);
    await passAfter(3_700_000);
    assert.deepEqual(await openCases(transaction), ['no_answer']);
    assert.equal(asked.length, 0);
    assert.equal((await reload(transaction)).status, 'processing');
    assert.deepEqual(
      ctx.rails.health.snapshot().map(({ calls }) => calls),
      [0],
      'what was not asked does not count for its health',
    );
    const [job] = await ctx.db.query<{ due_at: Date }>('select due_at from payment_jobs');
    assert.equal(job?.due_at.getTime(), base.clock.millis() + DAY_MS);
  });

  test('a question that was taken counts as answered, and is asked again like one that was not', async () => {
    await start({ query: 'by_callback' });
    answer = ASKED;
    const transaction = await collect();
    for (const seconds of [6, 11, 21, 41, 61, 121]) await passAfter(seconds * 1_000);
    assert.equal(asked.length, 6);
    assert.equal((await reload(transaction)).status, 'processing');
    assert.equal(ctx.rails.health.wouldCall('quiet', METHOD), true);
  });
});

describe('decimals', () => {
  const mobile = '256772123456';
  const sentence = 'MTN MoMo takes whole amounts of UGX, without decimals.';

  test('an operator without decimals refuses a payment with them before it is made', async () => {
    await start({ decimals: 0 });
    const method = ctx.catalog.methods.get(METHOD) ?? assert.fail();
    const rest = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
    await assert.rejects(
      async () => completeOrder(ctx, { method, msisdn: mobile, amount: 150_050n }, rest),
      (error) => error instanceof Problem && error.details.errors?.amount?.[0] === sentence,
    );
    const checked = await preflight(ctx, shop.holderId, { amount: 1500.5, currency: CURRENCY, mobile });
    assert.deepEqual(checked.errors, { amount: [sentence] });
    const payout = await readPayout(ctx, shop.holderId, { amount: '1500.50', currency: CURRENCY, mobile });
    assert.ok(!payout.ok);
    assert.deepEqual(payout.errors.amount, [sentence]);
    const whole = await readPayout(ctx, shop.holderId, { amount: '1500.00', currency: CURRENCY, mobile });
    assert.ok(whole.ok);
  });
});

describe('calls per second', () => {
  test('a call waits for its turn, and is put off when that comes too late', async () => {
    let now = 0;
    const limits = createCallLimits(() => now);
    assert.equal(await limits.take('a', null), true);
    assert.equal(await limits.take('a', 1), true);
    assert.equal(limits.isFree('a', 1), false);
    assert.equal(limits.isFree('b', 1), true, 'another kind has a limit of its own');
    now += 1_000;
    assert.equal(await limits.take('a', 1), true);
    assert.equal(await limits.take('a', 0.1), true);
    assert.equal(await limits.take('a', 0.1), false);
    now += 60_000;
    assert.equal(await limits.take('a', 0.1), true);
  });

  test('too many payments at once are sent later, each once', async () => {
    await start({ callsPerSecond: 0.5 });
    const transactions = [];
    for (let index = 0; index < 6; index++)
      transactions.push(
        await acceptCollection(
          ctx,
          engine,
          collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet'),
        ),
      );
    await engine.idle();
    assert.ok(submits >= 2 && submits < 6, `${submits} were sent at once`);
    const waiting = await ctx.db.query(`select from payment_jobs where kind = 'submit'`);
    assert.equal(waiting.length, 6 - submits);
  });
});
