// Money that payers send by themselves: matched by reference, amount and currency, or held in suspense; once each.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  readReadings,
  silentRail,
  tillReply,
  withPayments,
  writeReadings,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { CollectionOrder } from './accept.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { applyOutcomes } from './outcomes.ts';
import { purgeRejectedCallbacks } from './rejected-callbacks.ts';
import { refOf, type Transaction } from './transactions.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let intake: OperatorInbox;
let shop: Shop;
/** What payers type where it does not tell one order from another, as at a till. */
let sharedReference: string | null = null;

before(async () => {
  base = await createTestContext();
});
after(async () => {
  const differences = await differencesOf(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  const rail = silentRail({
    collect: async ({ reference }) => tillReply(ctx, sharedReference ?? `acc-${reference}`),
    readCallback: readReadings,
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  intake = createOperatorInbox(ctx);
  shop = await createShop(ctx);
});

async function expect(changes: Partial<CollectionOrder> = {}): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(
    ctx,
    engine,
    collectionOrder(owner, 'quiet', { verification: 'instructions', ...changes }),
  );
  await engine.idle();
  return transaction;
}

let receipts = 0;
type Payment = { accountReference: string; amount: bigint; currency: string; receipt: string };

function payment(transaction: Transaction, changes: Partial<Payment> = {}): Payment & { kind: string; payer: null } {
  return {
    kind: 'payment_received',
    accountReference: `acc-${refOf(transaction)}`,
    amount: 100_000n,
    currency: CURRENCY,
    receipt: `P${++receipts}`,
    payer: null,
    ...changes,
  };
}

async function receive(...payments: object[]): Promise<void> {
  assert.equal((await intake.receive(operatorMessage('quiet', writeReadings(...payments)))).kind, 'kept');
  await intake.idle();
}

async function available(): Promise<bigint> {
  return (await balancesOf(ctx.db, shop.holderId))[0]?.available ?? 0n;
}

async function suspenseBalance(): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>(
    `select sum(balance)::bigint as balance from ledger_accounts where kind = 'suspense' and currency = 'UGX'`,
  );
  return row?.balance ?? 0n;
}

async function casesOf(transaction: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>('select kind from cases where transaction_id = $1 order by kind', [
    transaction.id,
  ]);
  return rows.map((row) => row.kind);
}

describe('orders that share a reference, as at a till that shows only parts of the payer’s number', () => {
  beforeEach(() => {
    sharedReference = `2547*****${receipts}`;
  });
  after(() => {
    sharedReference = null;
  });
  const paid = (amount: bigint) => ({
    kind: 'payment_received',
    accountReference: sharedReference,
    amount,
    currency: CURRENCY,
    receipt: `P${++receipts}`,
    payer: null,
  });

  test('the amount tells them apart, and each is settled once', async () => {
    const small = await expect({ amount: 40_000n, fee: 0n });
    const large = await expect({ amount: 60_000n, fee: 0n });
    await receive(paid(40_000n));
    await receive(paid(60_000n));
    assert.equal(await available(), 100_000n);
    assert.deepEqual([...(await casesOf(small)), ...(await casesOf(large))], []);
  });

  test('two equal orders of one payer are settled by two payments, also in one message', async () => {
    await expect({ amount: 40_000n, fee: 0n });
    await expect({ amount: 40_000n, fee: 0n });
    await receive(paid(40_000n), paid(40_000n));
    assert.equal(await available(), 80_000n);
  });

  test('a connection that speaks of the order of another one moves no money out of suspense', async () => {
    const mine = await expect();
    await expect({ msisdn: '256772999999' });
    await receive(paid(100_000n));
    const held = await suspenseBalance();
    const open = () => ctx.db.query(`select from cases where kind = 'unknown_reference' and status = 'open'`);
    const { length: cases } = await open();
    await ctx.db.transaction((tx) =>
      applyOutcomes(tx, ctx, [
        {
          transactionId: mine.id,
          source: 'callback',
          observation: { state: 'succeeded', receipt: null },
          raw: '',
          rail: 'another',
        },
      ]),
    );
    assert.equal(await suspenseBalance(), held);
    assert.equal((await open()).length, cases);
  });

  test('two payers who owe the same amount: people decide whose it is', async () => {
    const before = await suspenseBalance();
    await expect({ msisdn: '254708374149', amount: 40_000n, fee: 0n });
    await expect({ msisdn: '254709999149', amount: 40_000n, fee: 0n });
    await receive(paid(40_000n));
    assert.equal(await available(), 0n);
    assert.equal((await suspenseBalance()) - before, 40_000n);
  });
});

describe('incoming payments', () => {
  test('the right amount under the right reference is booked once, however often it is reported', async () => {
    const transaction = await expect();
    const paid = payment(transaction);
    await receive(paid, paid);
    await Promise.all(Array.from({ length: 10 }, () => receive(paid)));
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await casesOf(transaction), []);
  });

  test('a wrong amount is held in suspense, one case for each payment, and settles nothing', async () => {
    const before = await suspenseBalance();
    const transaction = await expect();
    await receive(payment(transaction, { amount: 40_000n }));
    await receive(payment(transaction, { amount: 60_000n }));
    assert.equal(await available(), 0n);
    assert.equal((await suspenseBalance()) - before, 100_000n);
    assert.deepEqual(await casesOf(transaction), ['wrong_amount', 'wrong_amount']);
    const held = await ctx.db.query(
      `select from ledger_transfers l join cases c on c.id = l.transaction_id where c.transaction_id = $1`,
      [transaction.id],
    );
    assert.equal(held.length, 2, 'each sum in suspense is found by its case');
  });

  test('the right amount after a wrong one still settles', async () => {
    const transaction = await expect();
    await receive(payment(transaction, { amount: 40_000n }), payment(transaction));
    assert.equal(await available(), 99_000n);
  });

  test('paid twice: the second is held in suspense', async () => {
    const before = await suspenseBalance();
    const transaction = await expect();
    await receive(payment(transaction), payment(transaction));
    await receive(payment(transaction));
    assert.equal(await available(), 99_000n);
    assert.equal((await suspenseBalance()) - before, 200_000n);
    assert.deepEqual(await casesOf(transaction), ['second_payment', 'second_payment']);
  });

  test('an unknown reference is held in suspense with a case of its own', async () => {
    const before = await suspenseBalance();
    const transaction = await expect();
    await receive(
      payment(transaction, { accountReference: 'nobody' }),
      payment(transaction, { accountReference: 'nobody' }),
    );
    assert.equal((await suspenseBalance()) - before, 200_000n);
    const rows = await ctx.db.query(
      `select from cases where kind = 'unknown_reference' and detail->>'reference' = 'nobody'`,
    );
    assert.equal(rows.length, 2);
  });

  for (const first of ['the money', 'the success'] as const)
    test(`reported before its instructions are known, ${first} first: booked once and released from suspense`, async () => {
      const before = await suspenseBalance();
      const transaction = await expect();
      // The answer that named the reference was lost on the way.
      await ctx.ownerDb.query('delete from payment_instructions where transaction_id = $1', [transaction.id]);
      const paid = payment(transaction);
      const { receipt, amount, currency } = paid;
      const success = () =>
        engine.apply({
          transactionId: transaction.id,
          source: 'poll',
          observation: { state: 'succeeded', receipt, amount, currency },
          raw: '',
        });
      if (first === 'the money') {
        await receive(paid);
        assert.equal((await suspenseBalance()) - before, 100_000n);
        await success();
      } else {
        await success();
        await receive(paid);
      }
      await receive(paid);
      await success();
      assert.equal(await available(), 99_000n);
      assert.equal(await suspenseBalance(), before);
      const open = await ctx.db.query(`select from cases where status = 'open' and detail->>'receipt' = $1`, [receipt]);
      assert.equal(open.length, 0);
    });

  test('a message that was kept but not applied before a crash is applied by the next process, once', async () => {
    const transaction = await expect();
    const body = Buffer.from(JSON.stringify([{ ...payment(transaction), amount: '100000' }]));
    let broken = false;
    const dying = createOperatorInbox({
      ...ctx,
      db: {
        ...ctx.db,
        transaction: (work) => {
          if (broken) return Promise.reject(new Error('the process ends here'));
          broken = true;
          return ctx.db.transaction(work);
        },
      },
    });
    assert.equal((await dying.receive(operatorMessage('quiet', body))).kind, 'kept');
    await dying.idle();
    assert.equal(await available(), 0n);
    base.clock.advance(31_000);
    await Promise.all([intake.pass(), createOperatorInbox(ctx).pass()]);
    assert.equal(await available(), 99_000n);
    assert.equal((await ctx.db.query('select from operator_inbox')).length, 0);
  });

  test('a message that cannot be authenticated is kept and changes nothing', async () => {
    const body = Buffer.from(JSON.stringify([{ kind: 'rejected', reason: 'forged' }]));
    assert.equal((await intake.receive(operatorMessage('quiet', body, { headers: { cookie: 'x' } }))).kind, 'rejected');
    const [row] = await ctx.db.query('select reason, headers from rejected_callbacks');
    assert.deepEqual(row, { reason: 'forged', headers: {} });
    assert.equal(await purgeRejectedCallbacks(base), 0, 'it is kept for ninety days');
    base.clock.advance(91 * DAY_MS);
    assert.equal(await purgeRejectedCallbacks(base), 1);
  });
});
