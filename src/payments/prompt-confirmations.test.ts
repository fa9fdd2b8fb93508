// A prompt that its operator reports twice: as a result, and as money received under the account reference that the prompt showed.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { balancesOf } from '../ledger/ledger.ts';
import type { CallbackReading, Observation } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { findInstructions } from './incoming-payments.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let intake: OperatorInbox;
let shop: Shop;

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
    async collect({ reference }) {
      const step = { kind: 'prompt', text: null, accountReference: shownBy(reference) } as const;
      return { observation: { state: 'pending', step }, raw: '' };
    },
    readCallback: ({ body }) =>
      JSON.parse(body.toString(), (name, value: unknown) =>
        name === 'amount' ? BigInt(String(value)) : value,
      ) as CallbackReading[],
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  intake = createOperatorInbox(ctx);
  shop = await createShop(ctx);
});

const shownBy = (reference: string) => reference.slice(-12);

async function collect(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
  await engine.idle();
  return transaction;
}

async function receive(...readings: object[]): Promise<void> {
  const text = JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  assert.equal((await intake.receive(operatorMessage('quiet', text))).kind, 'kept');
  await intake.idle();
}

const confirmation = (transaction: Transaction, receipt: string) => ({
  kind: 'payment_received',
  accountReference: shownBy(refOf(transaction)),
  amount: 100_000n,
  currency: CURRENCY,
  receipt,
  payer: null,
});

const result = (transaction: Transaction, receipt: string | null) => {
  const observation: Observation = { state: 'succeeded', receipt, amount: 100_000n, currency: CURRENCY };
  return { kind: 'proof', reference: refOf(transaction), direction: 'collection', observation };
};

async function endOf(transaction: Transaction): Promise<{ status?: string; receipt?: string | null; cases: number }> {
  const row = await findTransaction(ctx.db, transaction.holder_id, transaction.id);
  const cases = await ctx.db.query('select from cases where rail = $1 or transaction_id = $2', [
    'quiet',
    transaction.id,
  ]);
  return { ...(row && { status: row.status, receipt: row.receipt }), cases: cases.length };
}

test('counts once, whichever report comes first, and opens no case', async () => {
  for (const [receipt, order] of [
    ['CONFIRM1ST', ['confirmation', 'result']],
    ['RESULT1ST0', ['result', 'confirmation']],
    ['CONFIRMED1', ['confirmation']],
  ] as const) {
    const before = (await balancesOf(ctx.db, shop.holderId))[0]?.available ?? 0n;
    const transaction = await collect();
    for (const report of order)
      await receive(report === 'result' ? result(transaction, receipt) : confirmation(transaction, receipt));
    assert.deepEqual(await endOf(transaction), { status: 'success', receipt, cases: 0 });
    assert.equal(((await balancesOf(ctx.db, shop.holderId))[0]?.available ?? 0n) - before, 99_000n);
  }
});

test('brings the receipt of a success that had none', async () => {
  const transaction = await collect();
  await receive(result(transaction, null));
  await receive(confirmation(transaction, 'LATER00001'));
  assert.deepEqual(await endOf(transaction), { status: 'success', receipt: 'LATER00001', cases: 0 });
});

test('is not shown to the payer as a place to pay to', async () => {
  const transaction = await collect();
  assert.equal(await findInstructions(ctx.db, transaction.holder_id, transaction.id), null);
});
