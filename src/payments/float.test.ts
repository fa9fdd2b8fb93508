// Float on a real database: payouts wait instead of failing, are sent once and in their order, and people hear of it once.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { differencesOf, openBooks, paid } from '../../test/books.ts';
import { addTwoPeople, decideByTwo } from '../../test/decisions.ts';
import { createTestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import type { Database, Reader, Statement } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
import { openDispute } from './disputes.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { listEvidence } from './evidence.ts';
import { forecastEnd, hourOfWeek, readWeeklyPace } from './float-forecast.ts';
import { enterFloatGate, forgetFloat } from './float-gate.ts';
import { readFloatLevel } from './float-levels.ts';
import { listFloatSettings, removeFloat, setFloat } from './float-settings.ts';
import { claimLowFloats } from './float-states.ts';
import { findWait, holdPayout, markRefused, sumWaits } from './float-waits.ts';
import { watchFloat } from './float-watch.ts';
import { recordBalances } from './operator-balances.ts';
import { cancelPayout } from './order-decisions.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const FLOAT = { connection: RAIL, currency: CURRENCY };
const MINUTE_MS = 60_000;
const REFUSED: Observation = { state: 'failed', failureCode: 'FLOAT_INSUFFICIENT', rawCode: '11', message: 'no float' };
const NOT_TAKEN: Observation = { ...REFUSED, notTaken: true };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let sent: string[];
let answer: (reference: string) => Observation;

before(async () => {
  base = await createTestContext();
});
beforeEach(async () => {
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  for (const table of ['float_settings', 'float_states', 'float_hours', 'float_waits'])
    await base.db.query(`delete from ${table}`);
  await base.ownerDb.query('delete from operator_balances');
  base.memory.clear();
  sent = [];
  answer = (reference) => ({ state: 'succeeded', receipt: `R-${reference}` });
  const rail = silentRail({
    async payout({ reference }) {
      sent.push(reference);
      return { observation: answer(reference), raw: '' };
    },
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 100_000_000n);
});
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

/** Orders a payout of this many shillings; nothing is sent yet. */
async function order(shillings: number): Promise<Transaction> {
  base.clock.advance(1);
  const reading = await readPayout(ctx, shop.holderId, {
    amount: String(shillings),
    currency: CURRENCY,
    mobile: '256772123456',
  });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
  return result.transaction;
}

/** Works off what is due now. */
async function pass(): Promise<void> {
  base.clock.advance(1);
  await engine.pass();
  await engine.idle();
}

async function payOut(shillings: number): Promise<Transaction> {
  const payout = await order(shillings);
  await pass();
  return payout;
}

const textOf = (statement: Statement) => (typeof statement === 'string' ? statement : statement.text);

/** A payout at the gate, whose reading of the float has read and comes back when it is resolved. */
async function enterWhileReading(payout: Transaction) {
  const [read, reading] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const query: typeof ctx.db.query = async (statement, values) => {
    const rows = await ctx.db.query(statement, values);
    if (!textOf(statement).includes('float_states')) return rows as never;
    read.resolve();
    await reading.promise;
    return rows as never;
  };
  const entering = enterFloatGate({ ...ctx, db: { ...ctx.db, query } }, payout);
  await read.promise;
  return { reading, entering };
}

/** The background work about float, then what it made due. */
async function watch(): Promise<void> {
  await watchFloat(ctx);
  await pass();
  await watchFloat(ctx);
}

const now = async ({ id }: Transaction) => {
  const row = await findTransaction(ctx.db, shop.holderId, id);
  assert.ok(row);
  return row;
};
const statusOf = async (payout: Transaction) => (await now(payout)).status;
const isWaiting = async (payout: Transaction) => (await findWait(ctx.db, await now(payout))) !== null;
const reserved = async () => (await balancesOf(ctx.db, shop.holderId))[0]?.reserved;
const setting = { ...FLOAT, account: null, low: 200_000n, stop: 0n, isShared: false };

/** The operator says what the account holds, in shillings. */
function report(shillings: number, currency = CURRENCY): Promise<void> {
  const balance = { connection: RAIL, account: 'main', currency, available: BigInt(shillings) * 100n };
  return ctx.db.transaction((tx) => recordBalances(tx, [balance], ctx.clock.now()));
}

describe('a payout that the operator refuses for lack of float', () => {
  test('waits where the operator kept nothing of it, and is sent again under the same reference', async () => {
    answer = () => NOT_TAKEN;
    const payout = await payOut(1_000);
    assert.equal(await statusOf(payout), 'pending');
    assert.ok(await isWaiting(payout));
    assert.ok(((await reserved()) ?? 0n) >= 100_000n);
    const { entries } = await listEvidence(ctx.db, shop.holderId, payout.id);
    assert.deepEqual(
      entries.map(({ source, failure_code, effect }) => [source, failure_code, effect]),
      [['submit', 'FLOAT_INSUFFICIENT', 'ignored']],
    );
    await pass();
    assert.equal(sent.length, 1, 'not at once');
    answer = (reference) => ({ state: 'succeeded', receipt: `R-${reference}` });
    base.clock.advance(MINUTE_MS);
    await pass();
    assert.deepEqual(sent, [refOf(payout), refOf(payout)]);
    assert.equal(await statusOf(payout), 'success');
    await watchFloat(ctx);
    assert.deepEqual(await sumWaits(ctx.db), []);
    base.clock.advance(DAY_MS);
    await pass();
    assert.equal(sent.length, 2);
  });

  test('fails where the operator keeps the reference', async () => {
    answer = () => REFUSED;
    const payout = await payOut(1_000);
    assert.equal(await statusOf(payout), 'failed');
    assert.equal((await now(payout)).failure_code, 'FLOAT_INSUFFICIENT');
    assert.equal(await reserved(), 0n);
  });

  test('is not one whose answer was lost: that may be paid, and is asked about', async () => {
    answer = () => ({ state: 'unknown', reason: 'time-out' });
    const payout = await payOut(1_000);
    assert.equal(await statusOf(payout), 'processing');
    assert.deepEqual(await sumWaits(ctx.db), []);
  });

  test('can be cancelled while it waits, and is never sent then', async () => {
    answer = () => NOT_TAKEN;
    const payout = await payOut(1_000);
    await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(payout));
    assert.equal(await statusOf(payout), 'failed');
    assert.equal(await reserved(), 0n);
    assert.equal(await isWaiting(payout), false);
    base.clock.advance(HOUR_MS);
    await watch();
    assert.equal(sent.length, 1);
  });

  test('fails after a day, and its money returns', async () => {
    answer = () => NOT_TAKEN;
    const payout = await payOut(1_000);
    base.clock.advance(DAY_MS - 10_000);
    await watchFloat(ctx);
    assert.equal(await statusOf(payout), 'pending');
    base.clock.advance(10_000);
    await watch();
    assert.equal(await statusOf(payout), 'failed');
    assert.equal((await now(payout)).failure_code, 'FLOAT_INSUFFICIENT');
    assert.equal(await reserved(), 0n);
    await watch();
    assert.equal(sent.length, 1);
    assert.deepEqual(await sumWaits(ctx.db), []);
  });

  test('keeps waiting over its time while it is being sent: that may succeed', async () => {
    answer = () => NOT_TAKEN;
    const payout = await payOut(1_000);
    base.clock.advance(DAY_MS);
    // Claimed by a process that has not called yet.
    await ctx.db.query(`update payment_jobs set kind = 'query' where transaction_id = $1`, [payout.id]);
    await watchFloat(ctx);
    assert.equal(await statusOf(payout), 'pending');
  });

  test('does not wait where another process has its job by now', async () => {
    const payout = await order(1_000);
    const hold = { reason: 'refused', isWatched: false, submittedAt: new Date(0) } as const;
    assert.equal(await holdPayout(ctx, payout, hold), false);
    assert.equal(await isWaiting(payout), false);
  });
});

describe('a float that is watched', () => {
  test('is what the operator said, less what was sent since', async () => {
    await report(5_000);
    await payOut(1_000);
    answer = () => ({ state: 'pending' });
    await payOut(500);
    const { level, source } = await readFloatLevel(ctx, ctx.db, FLOAT, null);
    assert.deepEqual([level, source], [350_000n, 'operator']);
    base.clock.advance(HOUR_MS);
    assert.equal((await readFloatLevel(ctx, ctx.db, FLOAT, null)).source, 'unknown');
  });

  test('has money of nobody once, and not what a lost dispute took', async () => {
    const books = await openBooks(base);
    const collection = await books.collect({ amount: 100_000n });
    await books.see(collection, paid(collection));
    const claiming = await books.collect({ amount: 40_000n });
    base.clock.advance(1);
    await report(5_000);
    base.clock.advance(1);
    const levels = async () => {
      const [shared, apart] = [
        await readFloatLevel(ctx, ctx.db, FLOAT, { account: null, isShared: true }),
        await readFloatLevel(ctx, ctx.db, FLOAT, null),
      ];
      return [shared.level, apart.level];
    };
    await books.receive('nobody', 40_000n, 'P-nobody');
    assert.deepEqual(await levels(), [540_000n, 500_000n]);
    await books.see(claiming, { state: 'succeeded', receipt: 'P-nobody' });
    assert.deepEqual(await levels(), [540_000n, 500_000n], 'the payment that claims it brings nothing more');
    const dispute = { amount: 30_000n, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
    await decideByTwo(ctx, engine, await addTwoPeople(ctx), collection, 'dispute', 'dispute_lost');
    assert.deepEqual(await levels(), [510_000n, 470_000n]);
  });

  test('is what the ledger says where the operator says nothing', async () => {
    const before = await readFloatLevel(ctx, ctx.db, FLOAT, null);
    await payOut(1_000);
    const { level, source } = await readFloatLevel(ctx, ctx.db, FLOAT, null);
    assert.equal(source, 'ledger');
    assert.equal(level, (before.level ?? 0n) - 100_000n);
  });

  test('holds back what it does not cover, and all that come after it, until it covers them', async () => {
    await setFloat(ctx, COMMAND_LINE, { ...setting, stop: 50_000n });
    await report(2_500);
    const first = await payOut(1_000);
    const large = await payOut(5_000);
    const small = await payOut(500);
    assert.deepEqual(sent, [refOf(first)]);
    assert.ok((await isWaiting(large)) && (await isWaiting(small)));
    assert.deepEqual(
      (await sumWaits(ctx.db)).map(({ payouts, amount }) => [payouts, amount]),
      [[2, 550_000n]],
    );
    await watch();
    assert.equal(sent.length, 1, 'the small one is covered, and waits for the large one');
    base.clock.advance(MINUTE_MS);
    await report(6_100);
    await watch();
    assert.deepEqual(sent.slice(1).toSorted(), [refOf(large), refOf(small)]);
    assert.equal(await statusOf(small), 'success');
  });

  test('that does not cover three of four sent at once sends one', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(1_500);
    const payouts = [];
    for (let each = 0; each < 4; each++) payouts.push(await order(1_000));
    await pass();
    assert.equal(sent.length, 1);
    const statuses = await Promise.all(payouts.map(statusOf));
    assert.equal(statuses.filter((status) => status === 'pending').length, 3);
  });

  test('counts what was sent while it was being read', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(1_500);
    const [first, second] = [await order(1_000), await order(1_000)];
    const sending = await enterFloatGate(ctx, first);
    assert.equal(sending.reason, null);
    base.clock.advance(3_000);
    const { reading, entering } = await enterWhileReading(second);
    sending.leave(true);
    reading.resolve();
    assert.equal((await entering).reason, 'not_covered');
  });

  test('counts a payout whose answer could not be written down', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(1_500);
    const [first, second] = [await order(1_000), await order(1_000)];
    const check = () => assert.equal(sent.length, 0, 'no database any more');
    const db: Database = {
      ...ctx.db,
      async transaction(work) {
        check();
        return await ctx.db.transaction(work);
      },
      async single(work) {
        check();
        return await ctx.db.single(work);
      },
    };
    const broken = createPaymentEngine({ ...ctx, db });
    await ctx.db.query(`update payment_jobs set due_at = 'infinity' where transaction_id = $1`, [second.id]);
    await broken.pass();
    await broken.idle();
    assert.deepEqual(sent, [refOf(first)]);
    assert.equal(await statusOf(first), 'pending');
    assert.equal((await enterFloatGate(ctx, second)).reason, 'not_covered');
  });

  test('is read again when the operator refuses one while it is being read', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(100_000);
    const [first, second] = [await order(1_000), await order(1_000)];
    const { reading, entering } = await enterWhileReading(second);
    await ctx.db.transaction((tx) => markRefused(tx, [first], ctx.clock.now()));
    forgetFloat(ctx, first);
    reading.resolve();
    assert.equal((await entering).reason, 'not_covered');
  });

  test('counts a payout that succeeds while it is being read', async () => {
    await report(5_000);
    answer = () => ({ state: 'pending' });
    const payout = await payOut(1_000);
    const outcome = { transactionId: payout.id, source: 'callback', raw: '' } as const;
    const observation: Observation = { state: 'succeeded', receipt: 'R-meanwhile' };
    const changing: Reader = {
      async query(statement, values) {
        const rows = await ctx.db.query(statement, values);
        if (/payment_jobs|ledger_transfers/.test(textOf(statement)))
          await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, [{ ...outcome, observation }]));
        return rows as never;
      },
    };
    const { level } = await readFloatLevel(ctx, changing, FLOAT, null);
    assert.ok(level !== null && level <= 400_000n, `${level}`);
    assert.equal((await readFloatLevel(ctx, ctx.db, FLOAT, null)).level, 400_000n);
  });

  test('after a refusal is tried with one payout, when the operator says that there is enough again', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(100_000);
    answer = () => NOT_TAKEN;
    const [first, second, third] = [await payOut(1_000), await payOut(1_000), await payOut(1_000)];
    assert.deepEqual(sent, [refOf(first)], 'the others wait behind it');
    await watch();
    assert.equal(sent.length, 1, 'what the operator said is older than its refusal');
    base.clock.advance(MINUTE_MS);
    await report(100_000);
    await watch();
    assert.deepEqual(sent.slice(1), [refOf(first)], 'one is tried');
    answer = (reference) => ({ state: 'succeeded', receipt: `R-${reference}` });
    base.clock.advance(MINUTE_MS);
    await report(100_000);
    await watch();
    await pass();
    assert.deepEqual(sent.slice(2, 3), [refOf(first)]);
    assert.deepEqual(sent.slice(3).toSorted(), [refOf(second), refOf(third)]);
  });

  test('holds the next ones when an operator that had taken a payout refuses it later', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(100_000);
    answer = () => ({ state: 'pending' });
    const first = await payOut(1_000);
    const outcome = { transactionId: first.id, source: 'callback', observation: REFUSED, raw: '' } as const;
    await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, [outcome]));
    assert.equal(await statusOf(first), 'failed');
    base.clock.advance(3_000);
    const second = await payOut(1_000);
    assert.ok(await isWaiting(second));
    assert.equal(sent.length, 1);
  });

  test('sends what waits when nobody watches it any more', async () => {
    await setFloat(ctx, COMMAND_LINE, setting);
    await report(10);
    const payout = await payOut(1_000);
    assert.ok(await isWaiting(payout));
    assert.ok(await removeFloat(ctx, COMMAND_LINE, FLOAT));
    await pass();
    assert.equal(await statusOf(payout), 'success');
    assert.deepEqual(await listFloatSettings(ctx.db), []);
  });
});

describe('people hear', () => {
  const hear = async () => {
    await watchFloat(ctx);
    return (await ctx.db.transaction((tx) => claimLowFloats(tx, ctx.clock.now()))).length;
  };

  test('of a low float once, and again after it was well', async () => {
    await setFloat(ctx, COMMAND_LINE, { ...setting, currency: 'KES' });
    const heard = async (shillings: number) => {
      await report(shillings, 'KES');
      return hear();
    };
    assert.equal(await heard(5_000), 0);
    assert.deepEqual([await heard(1_999), await heard(1_999)], [1, 0]);
    // It swings around the threshold.
    assert.deepEqual([await heard(2_050), await heard(1_900)], [0, 0]);
    assert.deepEqual([await heard(3_000), await heard(1_000)], [0, 1]);
  });
});

describe('the forecast', () => {
  const at = (text: string) => new Date(`${text}Z`);

  test('takes from the float what the same hour of the week took', () => {
    // 2026-03-02 is a Monday.
    const monday = at('2026-03-02T09:00');
    const pace = new Map([
      [hourOfWeek(monday.getTime()), 1_000n],
      [hourOfWeek(monday.getTime() + 3 * DAY_MS), 600n],
    ]);
    assert.deepEqual(forecastEnd(500n, pace, monday), at('2026-03-02T09:30'));
    assert.deepEqual(forecastEnd(1_300n, pace, monday), at('2026-03-05T09:30'));
    assert.deepEqual(forecastEnd(700n, pace, at('2026-03-02T09:45')), at('2026-03-05T09:45'));
    assert.equal(forecastEnd(1_000_000n, pace, monday), null);
    assert.deepEqual(forecastEnd(0n, pace, monday), monday);
    assert.equal(forecastEnd(1n, new Map(), monday), null);
  });

  test('is made of four weeks; what comes in counts where it arrives on the same account', async () => {
    const monday = at('2026-03-02T09:00');
    // Four Mondays at nine: 100, 200, 300 and 400 out, 50 in; an older one does not count.
    const values = [100n, 200n, 300n, 400n, 90_000n].map((out, week) => ({
      hour: new Date(monday.getTime() - (week + 1) * 7 * DAY_MS),
      out,
    }));
    for (const { hour, out } of values)
      await ctx.db.query(
        `insert into float_hours (connection, currency, hour, paid_out, paid_in) values ($1, $2, $3, $4, 50)`,
        [RAIL, CURRENCY, hour, out],
      );
    const alone = await readWeeklyPace(ctx.db, { ...FLOAT, isShared: false }, monday);
    const shared = await readWeeklyPace(ctx.db, { ...FLOAT, isShared: true }, monday);
    assert.deepEqual([...alone], [[hourOfWeek(monday.getTime()), 250n]]);
    assert.deepEqual([...shared], [[hourOfWeek(monday.getTime()), 200n]]);
  });

  test('begins with the four weeks before somebody watches it, and makes a float that ends soon low', async () => {
    await report(100_000);
    const hour = ctx.clock.now();
    await payOut(1_000);
    base.clock.advance(7 * DAY_MS - HOUR_MS);
    await report(10_000);
    await setFloat(ctx, COMMAND_LINE, { ...setting, low: 100n, stop: 0n });
    for (let each = 0; each < 5; each++) await watchFloat(ctx);
    const pace = await readWeeklyPace(ctx.db, { ...FLOAT, isShared: false }, ctx.clock.now());
    assert.equal(pace.size, 168);
    assert.ok((pace.get(hourOfWeek(hour.getTime())) ?? 0n) > 0n);
    const low = () => ctx.db.transaction((tx) => claimLowFloats(tx, ctx.clock.now()));
    assert.deepEqual(await low(), []);
    await report(2);
    await watchFloat(ctx);
    assert.deepEqual(await low(), [FLOAT]);
  });
});
