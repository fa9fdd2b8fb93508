// The engine: what waits, what is asked again, what a breaker holds back, and what a stop gives back.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import type { Statement } from '../platform/db.ts';
import type { Observation, RailReply } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const SUCCEEDED: Observation = { state: 'succeeded', receipt: null };
const NOT_FOUND: Observation = { state: 'unknown', reason: 'no such payment', definitelyNotFound: true };
/** Calls that one process has under way at most. */
const CALLS_IN_FLIGHT = 256;

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let submitted: string[];
let asked: string[];
let onCollect: (reference: string) => Promise<RailReply>;
let onQuery: (reference: string) => Promise<RailReply>;

const said = (observation: Observation): RailReply => ({ observation, raw: '' });

before(async () => {
  base = await createTestContext();
});
after(() => base.close());

beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  submitted = [];
  asked = [];
  onCollect = async () => said(SUCCEEDED);
  onQuery = async () => said(SUCCEEDED);
  ctx = withPayments(base, recordingRail());
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});

function recordingRail() {
  return silentRail({
    collect({ reference }) {
      submitted.push(reference);
      return onCollect(reference);
    },
    query({ reference }) {
      asked.push(reference);
      return onQuery(reference);
    },
  });
}

const order = () => collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
const collect = () => acceptCollection(ctx, engine, order());

async function pass(target = engine): Promise<void> {
  await target.pass();
  await target.idle();
}

async function statusOf(transaction: Transaction): Promise<string | undefined> {
  return (await findTransaction(ctx.db, shop.holderId, transaction.id))?.status;
}

async function jobOf(transaction: Transaction) {
  const [row] = await ctx.db.query<{ kind: string; due_at: Date }>(
    'select kind, due_at from payment_jobs where transaction_id = $1',
    [transaction.id],
  );
  return row ?? null;
}

describe('work', () => {
  test('starts right after the commit: submitting does not wait for a poll', async () => {
    const transaction = await collect();
    await engine.idle();
    assert.deepEqual(submitted, [refOf(transaction)]);
    assert.equal(await statusOf(transaction), 'success');
  });

  test('not sent before a crash is queried first, then submitted', async () => {
    const transaction = await acceptCollection(ctx, { ...engine, enqueue: () => undefined }, order());
    await pass();
    assert.deepEqual(asked, [], 'its lease has not ended');
    base.clock.advance(LEASE_MS);
    onQuery = async () => said(NOT_FOUND);
    await pass();
    assert.deepEqual(submitted, []);
    await pass();
    assert.deepEqual(submitted, [refOf(transaction)]);
    assert.equal(await statusOf(transaction), 'success');
  });

  test('that waited in this process until its lease was nearly over is put back, and sent once', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    onCollect = async () => {
      await held;
      return said({ state: 'pending' });
    };
    const busy = await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, () => collect()));
    const last = await collect();
    while (submitted.length < busy.length) await new Promise((resolve) => setImmediate(resolve));
    base.clock.advance(LEASE_MS / 2 + 1);
    release();
    await engine.idle();
    assert.equal(submitted.includes(refOf(last)), false);
    assert.equal(await statusOf(last), 'pending');
    base.clock.advance(LEASE_MS);
    const other = createPaymentEngine(ctx);
    for (let claimed = 1; claimed > 0; await other.idle()) claimed = await other.pass();
    assert.equal(asked.includes(refOf(last)), false);
    assert.equal(submitted.filter((reference) => reference === refOf(last)).length, 1);
    assert.equal(await statusOf(last), 'processing');
  });

  test('claimed by two processes at the same moment is done by one', async () => {
    const other = createPaymentEngine(ctx);
    const nobody = { ...engine, hasCapacity: () => false };
    const transactions = await Promise.all(Array.from({ length: 50 }, () => acceptCollection(ctx, nobody, order())));
    await Promise.all([engine.pass(), other.pass(), engine.pass(), other.pass()]);
    await Promise.all([engine.idle(), other.idle()]);
    await pass();
    assert.equal(submitted.length, transactions.length);
    assert.equal(new Set(submitted).size, transactions.length);
  });

  test('that was queued and not started returns to the table when the process stops', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    onCollect = async () => {
      await held;
      return said(SUCCEEDED);
    };
    await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, () => collect()));
    const waiting = await collect();
    const stopped = engine.stop();
    release();
    await stopped;
    assert.equal(submitted.includes(refOf(waiting)), false);
    assert.equal((await jobOf(waiting))?.kind, 'submit');
    await pass(createPaymentEngine(ctx));
    assert.equal(await statusOf(waiting), 'success');
    assert.equal(submitted.filter((reference) => reference === refOf(waiting)).length, 1);
  });
});

describe('an operator that is silent', () => {
  test('is not called after five calls without an answer, except one probe every five seconds; nothing is lost', async () => {
    onCollect = async () => said({ state: 'unknown', reason: 'time-out' });
    onQuery = async () => said({ state: 'unknown', reason: 'time-out' });
    const first: Transaction[] = [];
    for (let index = 0; index < 5; index++) {
      first.push(await collect());
      await engine.idle();
    }
    assert.equal(submitted.length, 5);
    const later = [await collect(), await collect(), await collect()];
    await engine.idle();
    assert.equal(submitted.length, 5, 'the breaker is open');
    for (const transaction of later) assert.equal((await jobOf(transaction))?.kind, 'submit');
    base.clock.advance(6_100);
    await pass();
    assert.equal(submitted.length, 6, 'one probe');
    onCollect = async () => said(SUCCEEDED);
    onQuery = async () => said(SUCCEEDED);
    for (let round = 0; round < 12; round++) {
      base.clock.advance(7_000);
      await pass();
    }
    for (const transaction of [...first, ...later]) assert.equal(await statusOf(transaction), 'success');
    assert.equal(submitted.length, 8);
  });
});

describe('reading', () => {
  test('an open transaction queries the operator, at most every two seconds, and shows its answer', async () => {
    onCollect = async () => said({ state: 'pending' });
    onQuery = async () => said({ state: 'pending' });
    const transaction = await collect();
    await engine.idle();
    const open = await findTransaction(ctx.db, shop.holderId, transaction.id);
    assert.ok(open);
    for (let time = 0; time < 5; time++) await engine.refresh(open, 5_000);
    assert.equal(asked.length, 1);
    base.clock.advance(2_000);
    onQuery = async () => said(SUCCEEDED);
    await engine.refresh(open, 5_000);
    assert.equal(await statusOf(transaction), 'success');
  });

  test('never waits for an operator longer than its patience', async () => {
    onCollect = async () => said({ state: 'pending' });
    const transaction = await collect();
    await engine.idle();
    const open = await findTransaction(ctx.db, shop.holderId, transaction.id);
    assert.ok(open);
    let release = () => {};
    onQuery = () =>
      new Promise((resolve) => {
        release = () => resolve(said(SUCCEEDED));
      });
    // Returns although the operator has not answered: `release` comes later.
    await engine.refresh(open, 50);
    assert.equal(await statusOf(transaction), 'processing');
    release();
    await engine.idle();
  });

  test('a collection that is not submitted yet makes no query', async () => {
    const nobody = { ...engine, hasCapacity: () => false };
    const transaction = await acceptCollection(ctx, nobody, order());
    await engine.refresh(transaction, 5_000);
    assert.deepEqual(asked, []);
  });
});

describe('a payout', () => {
  let paid: string[];
  /** Called after a statement that reads the holder, before the payout is sent. */
  let onCheck: () => void;
  let payoutEngine: PaymentEngine;
  beforeEach(async () => {
    paid = [];
    onCheck = () => undefined;
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, 'UGX', 1_000_000n);
    const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: 'UGX', mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, [reading.order]);
    payoutEngine = createPaymentEngine(
      withPayments({ ...base, db: { ...base.db, query: queryWithCheck } }, payingRail()),
    );
  });

  async function queryWithCheck<R extends object>(statement: Statement, values?: unknown[]): Promise<R[]> {
    const rows = await base.db.query<R>(statement, values);
    if (/from holders/.test(typeof statement === 'string' ? statement : statement.text)) onCheck();
    return rows;
  }

  const payingRail = () =>
    silentRail({
      payout: async ({ reference }) => {
        paid.push(reference);
        return said(SUCCEEDED);
      },
      query: async ({ reference }) => {
        asked.push(reference);
        return said(NOT_FOUND);
      },
    });

  test('whose check takes longer than its lease is not sent then, and is put back', async () => {
    onCheck = () => base.clock.advance(LEASE_MS + 1_000);
    assert.equal(await payoutEngine.pass(), 1);
    await payoutEngine.idle();
    assert.deepEqual(paid, []);
    onCheck = () => undefined;
    await pass(payoutEngine);
    assert.equal(paid.length, 1);
    assert.deepEqual(asked, []);
  });

  test('that was claimed before the database went away is sent when it is back: nobody has to decide', async () => {
    onCheck = () => {
      throw new Error('the database is away');
    };
    await pass(payoutEngine);
    assert.deepEqual(paid, []);
    onCheck = () => undefined;
    await pass(payoutEngine);
    assert.equal(paid.length, 1);
    assert.deepEqual(asked, []);
  });

  test('that another process has sent meanwhile is not put back', async () => {
    onCheck = () => base.clock.advance(LEASE_MS + 1_000);
    await pass(payoutEngine);
    await ctx.db.query('update payment_jobs set submitted_at = $1, due_at = $1', [base.clock.now()]);
    await pass(payoutEngine);
    assert.deepEqual(paid, []);
    assert.equal(asked.length, 1);
  });
});
