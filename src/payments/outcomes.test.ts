// applyOutcomes on a real database: any number of times, in any company, money and events exactly once.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, CURRENCY, collectionOrder, METHOD, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { unpackBody } from '../callbacks/packed-body.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import {
  accountKey,
  feeIncome,
  holderReceivable,
  operatorClearing,
  suspense,
  walletAvailable,
  walletReserved,
} from '../ledger/chart.ts';
import type { Observation } from '../rails/rail.ts';
import type { CollectionOrder } from './accept.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { applyOutcomes } from './outcomes.ts';
import { findPayerStep, type PayerStep } from './payer-steps.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import type { Outcome } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const SUCCEEDED: Observation = { state: 'succeeded', receipt: 'R1', amount: 100_000n, currency: CURRENCY };
const FAILED: Observation = { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '7', message: '' };
const EXPIRED: Observation = { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' };
const REVERSED: Observation = { state: 'reversed', receipt: 'R1', rawCode: '', message: '' };
const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };
const PENDING: Observation = { state: 'pending', railReference: 'op-1' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;

before(async () => {
  // A process that only answers requests: nothing happens to a collection but what the test says.
  base = await createTestContext({ ROLE: 'api' });
});
// A holder of its own for each test, so that one wallet tells one story; and breakers that know of no silence yet.
beforeEach(async () => {
  ctx = withPayments(base, silentRail());
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

function collect(changes: Partial<CollectionOrder> = {}): Promise<Transaction> {
  return acceptCollection(
    ctx,
    engine,
    collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, RAIL, changes),
  );
}

async function payOut(amount: string): Promise<Transaction> {
  const reading = await readPayout(ctx, shop.holderId, { amount, currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
  // It was sent, and nothing was heard.
  await engine.idle();
  base.clock.advance(1_000);
  return result.transaction;
}

/** A receipt counts once, so each transaction has its own. */
function outcome({ id }: { id: string }, observation: Observation): Outcome {
  const own = 'receipt' in observation ? { ...observation, receipt: `${observation.receipt} of ${id}` } : observation;
  return { transactionId: id, source: 'callback', observation: own, raw: '' };
}

function apply(...outcomes: Outcome[]) {
  return ctx.db.transaction((tx) => applyOutcomes(tx, ctx, outcomes));
}

async function eventTypesOf(transaction: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ type: string }>('select type from events where transaction_id = $1', [
    transaction.id,
  ]);
  return rows.map((row) => row.type).toSorted();
}

async function casesOf(transaction: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>(
    `select kind from cases where transaction_id = $1 and status = 'open' order by kind`,
    [transaction.id],
  );
  return rows.map((row) => row.kind);
}

async function statusOf(transaction: { id: string }): Promise<string | undefined> {
  const [row] = await ctx.db.query<{ status: string }>('select status from transactions where id = $1', [
    transaction.id,
  ]);
  return row?.status;
}

async function transfersOf(transaction: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string; amount: bigint }>(
    'select kind, amount from ledger_transfers where transaction_id = $1 order by id',
    [transaction.id],
  );
  return rows.map((row) => `${row.kind} ${row.amount}`);
}

async function balance(account: Parameters<typeof accountKey>[0]): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

async function jobOf(transaction: { id: string }) {
  const [row] = await ctx.db.query<{ kind: string; due_at: Date; attempts: number }>(
    'select kind, due_at, attempts from payment_jobs where transaction_id = $1',
    [transaction.id],
  );
  return row ?? null;
}

const available = () => balance(walletAvailable(shop.holderId, CURRENCY));
const reserved = () => balance(walletReserved(shop.holderId, CURRENCY));

describe('a collection', () => {
  test('success moves the amount less the fee to the wallet, posts the fee, records one event and ends the job', async () => {
    const clearing = await balance(operatorClearing(shop.holderId, RAIL, CURRENCY));
    const fees = await balance(feeIncome(shop.holderId, CURRENCY));
    const transaction = await collect();
    const { applied } = await apply(outcome(transaction, SUCCEEDED));
    assert.equal(applied[0]?.effect, 'applied');
    assert.equal(applied[0]?.transaction?.balance_after, 99_000n);
    assert.deepEqual(await transfersOf(transaction), ['collection 99000', 'collection_fee 1000']);
    assert.equal(await available(), 99_000n);
    assert.equal((await balance(operatorClearing(shop.holderId, RAIL, CURRENCY))) - clearing, -100_000n);
    assert.equal((await balance(feeIncome(shop.holderId, CURRENCY))) - fees, 1_000n);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.success']);
    assert.equal(await jobOf(transaction), null);
  });

  test('the same report ten times, in one batch and in ten, gives one posting and one event', async () => {
    const transaction = await collect();
    await apply(...Array.from({ length: 10 }, () => outcome(transaction, SUCCEEDED)));
    for (let time = 0; time < 10; time++) await apply(outcome(transaction, SUCCEEDED));
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.success']);
    assert.deepEqual(await casesOf(transaction), []);
    const evidence = await ctx.db.query<{ effect: string }>('select effect from evidence where transaction_id = $1', [
      transaction.id,
    ]);
    assert.equal(evidence.length, 20, 'everything that was said is kept');
    assert.equal(evidence.filter((row) => row.effect === 'applied').length, 1);
  });

  test('fifty equal reports at once: one transition, one posting, one event', async () => {
    const transaction = await collect();
    await Promise.all(Array.from({ length: 50 }, () => engine.apply(outcome(transaction, SUCCEEDED))));
    await Promise.all(Array.from({ length: 20 }, () => apply(outcome(transaction, SUCCEEDED))));
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.success']);
  });

  test('an unknown outcome leaves it processing with a query due in five seconds; never failed', async () => {
    const transaction = await collect();
    await engine.pass();
    await engine.idle();
    assert.equal(await statusOf(transaction), 'processing');
    const job = await jobOf(transaction);
    assert.equal(job?.kind, 'query');
    assert.equal(job?.due_at.getTime(), ctx.clock.millis() + 5_000);
    for (let time = 0; time < 30; time++) await apply(outcome(transaction, UNKNOWN));
    assert.equal(await statusOf(transaction), 'processing');
    assert.deepEqual(await eventTypesOf(transaction), []);
  });

  test('a day without a final answer opens a case, and queries go on', async () => {
    const transaction = await collect();
    await apply(outcome(transaction, PENDING));
    base.clock.advance(24 * 3_600_000);
    await apply({ ...outcome(transaction, PENDING), source: 'poll' });
    await apply({ ...outcome(transaction, PENDING), source: 'poll' });
    assert.deepEqual(await casesOf(transaction), ['no_answer']);
    assert.equal(await statusOf(transaction), 'processing');
    assert.ok(await jobOf(transaction));
  });

  test('a failure after a success changes nothing and opens one case, however often it is reported', async () => {
    const transaction = await collect();
    await apply(outcome(transaction, SUCCEEDED));
    await apply(outcome(transaction, FAILED), outcome(transaction, FAILED));
    await apply(outcome(transaction, FAILED));
    assert.equal(await statusOf(transaction), 'success');
    assert.deepEqual(await casesOf(transaction), ['contradiction']);
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.success']);
  });

  for (const [name, first] of [
    ['failed', FAILED],
    ['expired', EXPIRED],
  ] as const)
    test(`a success after ${name} is booked once, has an event marked late, and opens a case`, async () => {
      const transaction = await collect();
      await apply(outcome(transaction, first));
      assert.equal(await statusOf(transaction), name);
      assert.equal(await available(), 0n);
      await apply(outcome(transaction, SUCCEEDED), outcome(transaction, SUCCEEDED));
      await apply(outcome(transaction, SUCCEEDED));
      assert.equal(await statusOf(transaction), 'success');
      assert.equal(await available(), 99_000n);
      assert.deepEqual(await eventTypesOf(transaction), [`collection.${name}`, 'collection.success']);
      assert.deepEqual(await casesOf(transaction), ['late_success']);
      const [event] = await ctx.db.query<{ body: Buffer }>(
        `select body from events where transaction_id = $1 and type = 'collection.success'`,
        [transaction.id],
      );
      assert.ok(event);
      const { data } = JSON.parse(String(unpackBody(event.body))) as { data: Record<string, unknown> };
      assert.equal(data.late, true);
      assert.deepEqual(data.failureReason, { failureCode: null, failureMessage: null });
    });

  test('a success about another amount or currency settles nothing and opens a case', async () => {
    const transaction = await collect();
    await apply(
      outcome(transaction, { ...SUCCEEDED, amount: 99_999n }),
      outcome(transaction, { ...SUCCEEDED, currency: 'KES' }),
    );
    assert.equal(await statusOf(transaction), 'pending');
    assert.equal(await available(), 0n);
    assert.deepEqual(await casesOf(transaction), ['amount_mismatch']);
    assert.deepEqual(await eventTypesOf(transaction), []);
    assert.ok(await jobOf(transaction), 'it is still queried');
    await apply(outcome(transaction, SUCCEEDED));
    assert.equal(await available(), 99_000n);
  });

  test('another receipt for a paid collection is a case, not a second payment', async () => {
    const transaction = await collect();
    await apply(outcome(transaction, SUCCEEDED), outcome(transaction, { ...SUCCEEDED, receipt: 'R2' }));
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await casesOf(transaction), ['different_receipt']);
  });

  test('a rail can only report its own transactions', async () => {
    const transaction = await collect();
    const { applied } = await apply({ ...outcome(transaction, SUCCEEDED), rail: 'another' });
    assert.equal(applied[0]?.effect, 'unknown_transaction');
    assert.equal(await statusOf(transaction), 'pending');
  });

  test('a rail cannot say where the payer of another rail pays, or what the payer does next', async () => {
    const transaction = await collect({ verification: 'instructions' });
    const expiresAt = new Date(base.clock.millis() + 60_000);
    const steps: PayerStep[] = [
      {
        kind: 'transfer',
        payTo: { kind: 'till', number: '666', name: 'Somebody', bank: null },
        accountReference: 'X1',
        expiresAt,
      },
      { kind: 'redirect', url: 'https://elsewhere.example', expiresAt },
    ];
    for (const step of steps) await apply({ ...outcome(transaction, { state: 'pending', step }), rail: 'another' });
    assert.equal(await findPayerStep(ctx.db, transaction), null);
  });

  test('an outcome of an unknown transaction does not stop the others of the batch', async () => {
    const transaction = await collect();
    const stranger = { id: '01890000-0000-7000-8000-000000000000' };
    const { applied } = await apply(outcome(stranger, SUCCEEDED), outcome(transaction, SUCCEEDED));
    assert.deepEqual(
      applied.map((entry) => entry.effect),
      ['unknown_transaction', 'applied'],
    );
  });
});

test('money 21: where the fee takes all, the record shows the balance of the wallet and not nothing', async () => {
  const transaction = await collect({ fee: 100_000n });
  const { applied } = await apply(outcome(transaction, { ...SUCCEEDED, receipt: null }));
  assert.equal(applied[0]?.transaction?.balance_after, 0n);
});

describe('a reversal', () => {
  test('posts the mirror of the collection, once', async () => {
    const clearing = await balance(operatorClearing(shop.holderId, RAIL, CURRENCY));
    const transaction = await collect();
    await apply(outcome(transaction, SUCCEEDED));
    await apply(outcome(transaction, REVERSED), outcome(transaction, REVERSED));
    await apply(outcome(transaction, REVERSED));
    assert.equal(await statusOf(transaction), 'reversed');
    assert.equal(await available(), 0n);
    assert.equal(await balance(operatorClearing(shop.holderId, RAIL, CURRENCY)), clearing);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.reversed', 'collection.success']);
    assert.deepEqual(await casesOf(transaction), []);
  });

  test('that arrives before its success books both, and each event shows the balance at that time', async () => {
    const transaction = await collect();
    await apply(outcome(transaction, REVERSED), outcome(transaction, SUCCEEDED));
    assert.equal(await statusOf(transaction), 'reversed');
    assert.equal(await available(), 0n);
    assert.equal((await transfersOf(transaction)).length, 4);
    const rows = await ctx.db.query<{ type: string; body: Buffer }>(
      'select type, body from events where transaction_id = $1',
      [transaction.id],
    );
    const shown = rows.map(
      (row) =>
        `${row.type} ${(JSON.parse(String(unpackBody(row.body))) as { data: { balance: number } }).data.balance}`,
    );
    assert.deepEqual(shown.toSorted(), ['collection.reversed 0', 'collection.success 990']);
  });

  test('money 8, 21: of money that is spent already makes the rest a debt of the holder, with a case', async () => {
    const transaction = await collect();
    await apply(outcome(transaction, SUCCEEDED));
    await payOut('900');
    assert.equal(await available(), 99_000n - 90_900n);
    await apply(outcome(transaction, REVERSED));
    assert.equal(await statusOf(transaction), 'reversed');
    assert.equal(await available(), 0n);
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), -90_900n);
    assert.equal(await balance(suspense(shop.holderId, CURRENCY)), 0n, 'suspense is for money whose owner is unknown');
    assert.deepEqual(await casesOf(transaction), ['debt']);
    assert.deepEqual(await eventTypesOf(transaction), ['collection.reversed', 'collection.success']);
    const [row] = await ctx.db.query<{ balance_after: bigint }>(
      'select balance_after from transactions where id = $1',
      [transaction.id],
    );
    assert.equal(row?.balance_after, 0n, 'the record shows the balance after the reversal');
  });
});

describe('a payout', () => {
  beforeEach(() => topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n));

  test('is posted from what was reserved, or released whole', async () => {
    const paid = await payOut('1000');
    const refused = await payOut('2000');
    assert.equal(await reserved(), 101_000n + 202_000n);
    await apply(outcome(paid, SUCCEEDED), outcome(refused, FAILED), outcome(paid, SUCCEEDED), outcome(refused, FAILED));
    assert.equal(await reserved(), 0n);
    assert.equal(await available(), 1_000_000n - 101_000n);
    assert.deepEqual(await eventTypesOf(paid), ['payout.success']);
    assert.deepEqual(await eventTypesOf(refused), ['payout.failed']);
  });

  test('that succeeds after its release is paid from the wallet, once, with a case', async () => {
    const payout = await payOut('1000');
    await apply(outcome(payout, FAILED));
    await apply(outcome(payout, SUCCEEDED), outcome(payout, SUCCEEDED));
    assert.equal(await available(), 1_000_000n - 101_000n);
    assert.deepEqual(await casesOf(payout), ['late_success']);
  });

  test('money 7: that succeeds after its money was released and spent is a debt, which its reversal pays back', async () => {
    const payout = await payOut('9000');
    await apply(outcome(payout, { ...FAILED }));
    await payOut('9000');
    await apply(outcome(payout, { ...SUCCEEDED, amount: 900_000n }));
    assert.equal(await statusOf(payout), 'success');
    assert.equal(await available(), 0n);
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), -818_000n);
    assert.deepEqual(await casesOf(payout), ['debt', 'late_success']);
    await apply(outcome(payout, { ...REVERSED, amount: 900_000n }));
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), 0n);
    assert.equal(await available(), 1_000_000n - 909_000n, 'one payout left, and the holder has paid for one');
    assert.deepEqual(await casesOf(payout), ['late_success']);
  });

  test('that is reversed returns amount and fee', async () => {
    const payout = await payOut('1000');
    await apply(outcome(payout, SUCCEEDED), outcome(payout, REVERSED));
    assert.equal(await available(), 1_000_000n);
    assert.deepEqual(await eventTypesOf(payout), ['payout.reversed', 'payout.success']);
  });

  test('that the operator does not know stays processing: a member decides, it is not sent again', async () => {
    const payout = await payOut('1000');
    const notFound = outcome(payout, { ...UNKNOWN, definitelyNotFound: true });
    for (let time = 0; time < 3; time++) await apply({ ...notFound, source: 'poll' });
    assert.equal(await statusOf(payout), 'processing');
    assert.deepEqual(await casesOf(payout), ['payout_not_found']);
    assert.equal((await jobOf(payout))?.kind, 'query');
    assert.equal(await reserved(), 101_000n);
  });
});

describe('batches', () => {
  test('need the same few statements for one outcome and for two hundred', async () => {
    async function statementsFor(count: number): Promise<number> {
      const transactions = await Promise.all(Array.from({ length: count }, () => collect()));
      const outcomes = transactions.flatMap((transaction, index) => [
        outcome(transaction, index % 3 === 0 ? FAILED : SUCCEEDED),
        outcome(transaction, index % 5 === 0 ? REVERSED : PENDING),
      ]);
      const before = ctx.db.counters.statements;
      await apply(...outcomes);
      return ctx.db.counters.statements - before;
    }
    // The first batch makes the accounts of the ledger.
    await statementsFor(2);
    const few = await statementsFor(4);
    const many = await statementsFor(200);
    assert.ok(many <= few, `${few} statements for four transactions, ${many} for two hundred`);
    assert.ok(many <= 12, `${many} statements`);
  });

  test('any observations of three transactions: one event per final state, and balances that match the states', async () => {
    const observations = [SUCCEEDED, FAILED, EXPIRED, REVERSED, UNKNOWN, PENDING, { ...SUCCEEDED, amount: 5n }];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.tuple(fc.nat(2), fc.constantFrom(...observations)), { minLength: 1, maxLength: 6 }), {
          maxLength: 5,
        }),
        async (batches) => {
          shop = await createShop(ctx);
          const transactions = [await collect(), await collect(), await collect()];
          for (const batch of batches)
            await apply(
              ...batch.map(([index, observation]) => outcome(transactions[index] as Transaction, observation)),
            );
          let expected = 0n;
          for (const transaction of transactions) {
            const events = await eventTypesOf(transaction);
            assert.equal(new Set(events).size, events.length);
            const status = await statusOf(transaction);
            if (status === 'success') expected += 99_000n;
            const final = status !== 'pending' && status !== 'processing';
            assert.equal(events.includes(`collection.${status}`), final, refOf(transaction));
            assert.equal((await jobOf(transaction)) === null, final, 'open transactions have work due, others none');
          }
          assert.equal(await available(), expected);
        },
      ),
      { numRuns: 30 },
    );
  });

  test(`${METHOD} collections of two processes that apply the same batch at once are booked once`, async () => {
    const transactions = await Promise.all(Array.from({ length: 20 }, () => collect()));
    const batch = transactions.map((transaction) => outcome(transaction, SUCCEEDED));
    await Promise.all([apply(...batch), apply(...batch.toReversed()), apply(...batch)]);
    assert.equal(await available(), 20n * 99_000n);
  });
});
