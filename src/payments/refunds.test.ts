// Refunds on a real database: reserved before the operator hears of them, posted or released by its answer, and never more
// than was collected.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CAPABILITIES,
  CURRENCY,
  collectionOrder,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { refundedFee } from '../catalog/amounts.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import {
  accountKey,
  feeIncome,
  holderReceivable,
  operatorClearing,
  walletAvailable,
  walletReserved,
} from '../ledger/chart.ts';
import { Problem } from '../platform/errors.ts';
import type { Observation, RailReply, RefundCall } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { approveRefund, cancelRefund } from './order-decisions.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { refundRecord } from './record.ts';
import { findRefundById, type Refund } from './refund-orders.ts';
import { createRefund, findRefundable } from './refunds.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const AMOUNT = 100_000n;
const FEE = 1_000n;
const GIVEN_BACK: Observation = { state: 'succeeded', receipt: null };
const SILENCE: RailReply = { observation: { state: 'unknown', reason: 'no answer' }, raw: '' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
/** What the operator answers to a refund and to a query about one. */
let refundAnswer: (call: RefundCall) => RailReply;
let queryAnswer: () => RailReply;
let calls: RefundCall[];

before(async () => {
  base = await createTestContext();
});
beforeEach(async () => {
  // Open payments of other tests, whose operator is silent, would open the breaker of this one.
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  calls = [];
  refundAnswer = () => SILENCE;
  queryAnswer = () => SILENCE;
  ctx = withPayments(
    base,
    silentRail({
      capabilities: { ...CAPABILITIES, refunds: 'partial' },
      refund: async (call) => {
        calls.push(call);
        return refundAnswer(call);
      },
      query: async () => queryAnswer(),
    }),
  );
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});
// Work that a commit has woken must not go on in the next test, which has another engine on the same database.
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

function apply(transaction: { id: string }, observation: Observation) {
  return ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
  );
}

async function collected(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const collection = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL, { amount: AMOUNT, fee: FEE }));
  await engine.idle();
  await apply(collection, { state: 'succeeded', receipt: `C-${collection.id}` });
  return collection;
}

function refund(collection: Transaction, amount: bigint | null = null): Promise<Refund> {
  return createRefund(ctx, engine, COMMAND_LINE, shop.holderId, { collection: refOf(collection), amount });
}

/** Lets the engine work, and the schedule's time pass. */
async function work(rounds = 1): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await engine.pass();
    await engine.idle();
    base.clock.advance(3_600_000);
  }
}

async function statusOf({ id }: { id: string }): Promise<string | undefined> {
  return (await findTransaction(ctx.db, shop.holderId, id))?.status;
}

async function balance(account: Parameters<typeof accountKey>[0]): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

const available = () => balance(walletAvailable(shop.holderId, CURRENCY));
const reserved = () => balance(walletReserved(shop.holderId, CURRENCY));
const atOperator = async () => -(await balance(operatorClearing(shop.holderId, RAIL, CURRENCY)));
const debt = () => balance(holderReceivable(shop.holderId, CURRENCY));

async function eventsOf({ id }: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ type: string }>('select type from events where transaction_id = $1', [id]);
  return rows.map((row) => row.type).toSorted();
}

async function casesOf({ id }: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>(
    `select kind from cases where transaction_id = $1 and status = 'open' order by kind`,
    [id],
  );
  return rows.map((row) => row.kind);
}

function problemCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Problem && error.code === code;
}

describe('a refund', () => {
  test('money 2: is durable before the operator hears of it, and is asked about until it has answered', async () => {
    const collection = await collected();
    const asked = await refund(collection);
    assert.match(refOf(asked), /^RF_/);
    assert.equal(await reserved(), AMOUNT - FEE);
    await work();
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.reference, refOf(asked));
    assert.equal(calls[0]?.collection.reference, refOf(collection));
    // The answer is lost. A day later the operator says that it gave the money back.
    await work(5);
    assert.equal(await statusOf(asked), 'processing');
    assert.equal(await statusOf(collection), 'success');
    queryAnswer = () => ({ observation: { state: 'succeeded', receipt: 'REFUND-1' }, raw: '' });
    await work(8);
    assert.equal(calls.length, 1, 'it was sent once');
    assert.equal(await statusOf(asked), 'success');
    assert.equal(await statusOf(collection), 'reversed');
    assert.deepEqual([await available(), await reserved(), await atOperator()], [0n, 0n, 0n]);
    assert.deepEqual(await eventsOf(asked), ['refund.success']);
    assert.deepEqual(await eventsOf(collection), ['collection.reversed', 'collection.success']);
    const evidence = await ctx.db.query('select from evidence where transaction_id = $1', [asked.id]);
    assert.ok(evidence.length >= 3, 'every reply is kept');
  });

  test('I23: is concluded although its id is older than that of its collection, because two clocks differ', async () => {
    base.clock.advance(60_000);
    const collection = await collected();
    base.clock.advance(-60_000);
    const asked = await refund(collection);
    assert.ok(asked.id < collection.id);
    await apply(asked, GIVEN_BACK);
    assert.equal(await statusOf(asked), 'success');
    assert.equal(await statusOf(collection), 'reversed');
    base.clock.advance(60_000);
  });

  test('money 2: has a receipt of its own, which is not compared with that of the collection', async () => {
    const collection = await collected();
    refundAnswer = () => ({ observation: { state: 'succeeded', receipt: 'OTHER' }, raw: '' });
    const asked = await refund(collection);
    await work();
    assert.equal(await statusOf(asked), 'success');
    assert.deepEqual([await casesOf(asked), await casesOf(collection)], [[], []]);
  });

  test('that the operator refuses gives the money back to the wallet and leaves the collection alone', async () => {
    const collection = await collected();
    const failed: Observation = { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: '', message: '' };
    refundAnswer = () => ({ observation: failed, raw: '' });
    const asked = await refund(collection);
    await work();
    assert.equal(await statusOf(asked), 'failed');
    assert.equal(await statusOf(collection), 'success');
    assert.deepEqual([await available(), await reserved()], [AMOUNT - FEE, 0n]);
    assert.deepEqual(await eventsOf(asked), ['refund.failed']);
    await refund(collection);
    assert.equal(await reserved(), AMOUNT - FEE, 'it may be tried again');
  });

  test('in parts keeps the fee, up to what was collected, and the last part reverses the collection', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, FEE);
    const collection = await collected();
    refundAnswer = () => ({ observation: GIVEN_BACK, raw: '' });
    for (const part of [30_000n, 50_000n]) {
      const asked = await refund(collection, part);
      await work();
      assert.equal(await statusOf(asked), 'success');
      assert.equal((await findRefundById(ctx.db, shop.holderId, asked.id))?.fee_returned, 0n);
    }
    assert.equal(await statusOf(collection), 'success');
    await assert.rejects(refund(collection, 20_100n), problemCode('refund_too_large'));
    const rest = await refund(collection);
    assert.equal(rest.amount, 20_000n);
    await work();
    assert.equal(await statusOf(collection), 'reversed');
    assert.equal(await atOperator(), 0n);
    assert.equal(await balance(feeIncome(shop.holderId, CURRENCY)), FEE, 'partial refunds do not return the fee');
    await assert.rejects(refund(collection), problemCode('refund_not_possible'));
  });

  test('money 9: refunds made at once never give back more than was collected, or than the wallet holds', async () => {
    const collection = await collected();
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => refund(collection, 40_000n)));
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 2);
    assert.deepEqual([await reserved(), await available()], [80_000n, AMOUNT - FEE - 80_000n]);
    const other = await collected();
    const all = await Promise.allSettled([refund(other), refund(other)]);
    assert.equal(all.filter((result) => result.status === 'fulfilled').length, 1);
  });

  test('money 9: a wallet that does not hold the money is not overdrawn', async () => {
    const collection = await collected();
    const reading = await readPayout(ctx, shop.holderId, { amount: '900', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await assert.rejects(refund(collection), problemCode('overdraft'));
    assert.deepEqual(await findRefundable(ctx, ctx.db, { ...collection, status: 'success' }), {
      left: AMOUNT,
      operator: 'partial',
      asPayout: false,
    });
  });

  test('can be cancelled until it is sent', async () => {
    const collection = await collected();
    const asked = await refund(collection);
    await work();
    await assert.rejects(cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(asked)), problemCode('not_found'));
    const quiet = { wake: () => undefined };
    const second = await collected();
    const waiting = await createRefund(ctx, quiet, COMMAND_LINE, shop.holderId, {
      collection: refOf(second),
      amount: null,
    });
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(waiting));
    assert.equal(await statusOf(waiting), 'failed');
    assert.equal(await reserved(), AMOUNT - FEE, 'only the first is reserved');
  });

  test('that is to be sent again cannot be cancelled any more: the first call may still arrive', async () => {
    const asked = await refund(await collected());
    await work();
    await ctx.db.transaction((tx) =>
      applyOutcomes(tx, ctx, [
        {
          transactionId: asked.id,
          source: 'poll',
          observation: { state: 'unknown', reason: 'not found', definitelyNotFound: true },
          raw: '',
        },
      ]),
    );
    const [job] = await ctx.db.query('select kind from payment_jobs where transaction_id = $1', [asked.id]);
    assert.deepEqual(job, { kind: 'submit' });
    await assert.rejects(cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(asked)), problemCode('not_found'));
  });

  test('that succeeds after it had failed is taken from the wallet; what is missing is a debt', async () => {
    const collection = await collected();
    const failed: Observation = { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' };
    refundAnswer = () => ({ observation: failed, raw: '' });
    const first = await refund(collection);
    await work();
    refundAnswer = () => ({ observation: GIVEN_BACK, raw: '' });
    const second = await refund(collection);
    await work();
    assert.equal(await statusOf(collection), 'reversed');
    await apply(first, GIVEN_BACK);
    assert.equal(await statusOf(first), 'success');
    assert.equal(
      await debt(),
      -AMOUNT,
      'the operator gave the money back twice, and no fee was returned the second time',
    );
    assert.deepEqual(await casesOf(first), ['debt', 'late_success']);
    assert.equal(await atOperator(), -AMOUNT);
    assert.equal(await statusOf(second), 'success');
  });

  test('under way when the operator reverses the collection: a case, and nothing is given back twice', async () => {
    const collection = await collected();
    const asked = await refund(collection);
    await work();
    await apply(collection, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.equal(await statusOf(collection), 'success');
    assert.deepEqual(await casesOf(collection), ['contradiction']);
    await apply(asked, GIVEN_BACK);
    assert.equal(await statusOf(collection), 'reversed');
    assert.equal(await atOperator(), 0n);
  });

  test('not sent yet when the operator reverses the collection: waits for people, and can be cancelled', async () => {
    const collection = await collected();
    const request = { collection: refOf(collection), amount: null };
    const asked = await createRefund(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, request);
    await apply(collection, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.deepEqual(await casesOf(collection), ['contradiction']);
    await work(3);
    assert.deepEqual([await statusOf(asked), calls], ['pending', []]);
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(asked));
    assert.deepEqual([await statusOf(asked), await reserved()], ['failed', 0n]);
  });

  test('not sent yet when an earlier one succeeds late: is neither sent nor approved, and can be cancelled', async () => {
    const collection = await collected();
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, AMOUNT);
    const failed: Observation = { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' };
    refundAnswer = () => ({ observation: failed, raw: '' });
    const first = await refund(collection, 60_000n);
    await work();
    const unsent = { wake: () => undefined };
    const request = { collection: refOf(collection), amount: 60_000n };
    const second = await createRefund(ctx, unsent, COMMAND_LINE, shop.holderId, request);
    await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
    const waiting = await createRefund(ctx, unsent, COMMAND_LINE, shop.holderId, { ...request, amount: 40_000n });
    assert.equal(waiting.approval, 'waiting');
    await apply(first, GIVEN_BACK);
    refundAnswer = () => ({ observation: GIVEN_BACK, raw: '' });
    calls = [];
    const approve = () => approveRefund(ctx, engine, COMMAND_LINE, shop.holderId, refOf(waiting));
    await assert.rejects(approve(), problemCode('refund_not_possible'));
    await work(3);
    assert.deepEqual([await statusOf(second), calls], ['pending', []], 'more than was collected would be given back');
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(second));
    await approve();
    await work();
    assert.deepEqual([await statusOf(waiting), await statusOf(collection)], ['success', 'reversed']);
    assert.deepEqual([await atOperator(), await reserved()], [0n, 0n]);
  });

  test('waits for people where the operator says that it took a part, or names another receipt', async () => {
    const said = [
      { receipt: null, amount: 30_000n, currency: CURRENCY },
      { receipt: 'another', amount: AMOUNT, currency: CURRENCY },
    ];
    for (const reversal of said) {
      const collection = await collected();
      await apply(collection, { state: 'reversed', rawCode: '', message: '', ...reversal });
      assert.equal(await statusOf(collection), 'success');
      await assert.rejects(refund(collection), problemCode('refund_not_possible'));
    }
  });

  test('given in part before the operator reverses the collection: only the rest is reversed', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 50_000n);
    const collection = await collected();
    refundAnswer = () => ({ observation: GIVEN_BACK, raw: '' });
    await refund(collection, 30_000n);
    await work();
    await apply(collection, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.equal(await statusOf(collection), 'reversed');
    assert.equal(await atOperator(), 0n);
    assert.equal(await available(), 50_000n, 'the reversal returns the fee');
  });
});

describe('a rail that cannot refund', () => {
  let payouts: string[];

  beforeEach(() => {
    payouts = [];
    ctx = withPayments(
      base,
      silentRail({
        payout: async ({ reference }) => {
          payouts.push(reference);
          return { observation: { state: 'pending', railReference: 'op-1' }, raw: '' };
        },
        query: async ({ direction }) => {
          assert.equal(direction, 'payout');
          return queryAnswer();
        },
      }),
    );
    engine = createPaymentEngine(ctx);
  });

  test('refuses, and says what is possible', async () => {
    const collection = await collected();
    await assert.rejects(
      refund(collection),
      (error: unknown) =>
        error instanceof Problem &&
        error.code === 'refund_not_possible' &&
        /as_payout/.test(JSON.stringify(error.details)),
    );
    assert.equal(await reserved(), 0n);
  });

  test('sends the money as a payout to the payer when asked to, once, and says so', async () => {
    const collection = await collected();
    const asked = await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, {
      collection: refOf(collection),
      amount: null,
      asPayout: true,
    });
    await work();
    assert.deepEqual(payouts, [refOf(asked)]);
    assert.equal(refundRecord(asked).sent_as, 'payout');
    queryAnswer = () => ({ observation: { state: 'unknown', reason: '', definitelyNotFound: true }, raw: '' });
    await work(2);
    assert.deepEqual(payouts, [refOf(asked)], 'a payout is never sent again by itself');
    assert.deepEqual(await casesOf(asked), ['refund_not_found']);
    await apply(asked, GIVEN_BACK);
    assert.equal(await statusOf(collection), 'reversed');
    assert.deepEqual(await casesOf(asked), []);
  });
});

describe('the fee', () => {
  const method = (refundFee: 'whole' | 'share' | 'never') => ({ refundFee, collection: terms });
  const terms = {
    decimals: 2,
    decimalsReason: null,
    min: 1n,
    max: 1n,
    fee: { basisPoints: 0n, fixed: 0n, min: 0n, max: null },
  };
  const collection = { amount: 10_000n, fee: 101n };
  const part = { amount: 5_000n, isRest: false, returned: 0n };
  const whole = { amount: 10_000n, isRest: true, returned: 0n };

  test('is returned on a whole refund, in proportion, or never, as the catalogue says', () => {
    assert.deepEqual(
      [refundedFee(method('whole'), collection, part), refundedFee(method('whole'), collection, whole)],
      [0n, 101n],
    );
    assert.deepEqual(
      [refundedFee(method('never'), collection, part), refundedFee(method('never'), collection, whole)],
      [0n, 0n],
    );
    assert.equal(refundedFee(method('share'), collection, part), 50n);
    assert.equal(refundedFee(method('share'), collection, { ...part, isRest: true, returned: 50n }), 51n);
  });
});

describe('a debt', () => {
  test('money 8: is recovered from the next credits, oldest first, and its case closes by itself', async () => {
    const first = await collected();
    const reading = await readPayout(ctx, shop.holderId, { amount: '980', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await apply(first, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.equal(await debt(), -98_980n);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 50_000n);
    assert.deepEqual([await debt(), await available()], [-48_980n, 0n]);
    assert.deepEqual(await casesOf(first), ['debt']);
    await collected();
    assert.deepEqual([await debt(), await available()], [0n, AMOUNT - FEE - 48_980n]);
    assert.deepEqual(await casesOf(first), []);
    const [closed] = await ctx.db.query<{ settled: bigint; amount: bigint; resolution: string }>(
      `select settled, amount, resolution from cases where transaction_id = $1 and kind = 'debt'`,
      [first.id],
    );
    assert.deepEqual(closed, { settled: 98_980n, amount: 98_980n, resolution: 'Recovered from money that came in.' });
  });

  test('money 8: has a case of its own, whatever other case the transaction has', async () => {
    const first = await collected();
    await apply(first, { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '', message: '' });
    const reading = await readPayout(ctx, shop.holderId, { amount: '980', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await apply(first, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.deepEqual(await casesOf(first), ['contradiction', 'debt']);
  });

  test('money 8: a case that holds money cannot be closed by a note: the database refuses', async () => {
    const first = await collected();
    const reading = await readPayout(ctx, shop.holderId, { amount: '980', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await apply(first, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    await assert.rejects(
      ctx.db.query(`update cases set status = 'resolved' where transaction_id = $1 and kind = 'debt'`, [first.id]),
      /case_closes_when_even/,
    );
  });
});
