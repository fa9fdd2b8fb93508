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
import type { CollectionOrder } from './accept.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { findInstructions } from './incoming-payments.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let intake: OperatorInbox;
let shop: Shop;
/** What the operator does before it answers the submit. */
let beforeAnswer: (reference: string) => Promise<void>;
let isAnswered: boolean;
let answer: Observation;
/** What the operator confirms where it does not tell one prompt from another, as at a till. */
let sharedReference: string | null;
/** What the rail was told when it was asked last. */
let usedByOthers: ReadonlySet<string> | undefined;

before(async () => {
  base = await createTestContext();
});
after(async () => {
  const differences = await differencesOf(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  beforeAnswer = async () => undefined;
  isAnswered = true;
  answer = { state: 'pending' };
  sharedReference = null;
  const rail = silentRail({
    accountReferenceOf: ({ reference }) => sharedReference ?? shownBy(reference),
    async collect({ reference }) {
      await beforeAnswer(reference);
      if (!isAnswered) return { observation: { state: 'unknown', reason: 'the answer was lost' }, raw: '' };
      return { observation: { state: 'pending', railReference: `ws_${reference}` }, raw: '' };
    },
    async query({ usedReceipts }) {
      usedByOthers = await usedReceipts?.(['ELSEWHERE1', 'HELD000001', 'NEVERSEEN1']);
      return { observation: answer, raw: '' };
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

const AMOUNT = 100_000n;
const UNNAMED: Observation = { state: 'succeeded', receipt: null };
const shownBy = (reference: string) => reference.slice(-12);

async function collect(changes: Partial<CollectionOrder> = {}): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', changes));
  await engine.idle();
  return transaction;
}

async function receive(...readings: object[]): Promise<void> {
  const text = JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  assert.equal((await intake.receive(operatorMessage('quiet', text))).kind, 'kept');
  await intake.idle();
}

const confirmation = (reference: string, receipt: string, amount = AMOUNT) => ({
  kind: 'payment_received',
  accountReference: sharedReference ?? shownBy(reference),
  amount,
  currency: CURRENCY,
  receipt,
  payer: null,
});

const result = (transaction: Transaction, receipt: string | null) => {
  const observation: Observation = { state: 'succeeded', receipt, amount: AMOUNT, currency: CURRENCY };
  return { kind: 'proof', reference: refOf(transaction), direction: 'collection', observation };
};

async function endOf(transaction: Transaction): Promise<{ status?: string; receipt?: string | null; cases: string[] }> {
  const row = await findTransaction(ctx.db, transaction.holder_id, transaction.id);
  return { ...(row && { status: row.status, receipt: row.receipt }), cases: await openCases(transaction) };
}

/** Also those of money that belongs to nobody. */
async function openCases({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>(
    `select kind from cases where status = 'open' and (transaction_id = $1 or (rail = 'quiet' and transaction_id is null))
     order by kind`,
    [id],
  );
  return rows.map(({ kind }) => kind);
}

/** The operator is asked about it. */
async function ask(transaction: Transaction, said: Observation): Promise<void> {
  answer = said;
  await ctx.db.query('update payment_jobs set due_at = $2 where transaction_id = $1', [
    transaction.id,
    ctx.clock.now(),
  ]);
  await engine.pass();
  await engine.idle();
}

async function suspense(): Promise<bigint> {
  const [row] = await ctx.db.query<{ sum: bigint }>(
    `select coalesce(sum(balance), 0)::bigint as sum from ledger_accounts where kind = 'suspense'`,
  );
  return row?.sum ?? 0n;
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
      await receive(report === 'result' ? result(transaction, receipt) : confirmation(refOf(transaction), receipt));
    assert.deepEqual(await endOf(transaction), { status: 'success', receipt, cases: [] });
    assert.equal(((await balancesOf(ctx.db, shop.holderId))[0]?.available ?? 0n) - before, 99_000n);
  }
});

test('brings the receipt of a success that had none', async () => {
  const transaction = await collect();
  await receive(result(transaction, null));
  await receive(confirmation(refOf(transaction), 'LATER00001'));
  assert.deepEqual(await endOf(transaction), { status: 'success', receipt: 'LATER00001', cases: [] });
});

test('counts once when the money is confirmed before the prompt is answered', async () => {
  for (const [receipt, report] of [
    ['EARLY00001', 'query'],
    ['EARLY00002', 'result'],
    ['EARLY00003', 'nothing'],
  ] as const) {
    const before = await suspense();
    beforeAnswer = (reference) => receive(confirmation(reference, receipt));
    const transaction = await collect();
    if (report === 'query') await ask(transaction, UNNAMED);
    if (report === 'result') await receive(result(transaction, receipt));
    assert.deepEqual(await endOf(transaction), { status: 'success', receipt, cases: [] });
    assert.equal(await suspense(), before);
  }
});

test('is settled by the confirmation when the answer to the prompt was lost', async () => {
  isAnswered = false;
  const transaction = await collect();
  await receive(confirmation(refOf(transaction), 'UNANSWERED'));
  assert.deepEqual(await endOf(transaction), { status: 'success', receipt: 'UNANSWERED', cases: [] });
});

test('holds a second payment under its reference, before and after the operator was asked', async () => {
  const before = await suspense();
  for (const [first, second, isAsked] of [
    ['FIRST00001', 'SECOND0001', false],
    ['FIRST00002', 'SECOND0002', true],
  ] as const) {
    const transaction = await collect();
    if (isAsked) await ask(transaction, UNNAMED);
    await receive(confirmation(refOf(transaction), first));
    await receive(confirmation(refOf(transaction), second));
    await receive(confirmation(refOf(transaction), first));
    assert.deepEqual(await endOf(transaction), { status: 'success', receipt: first, cases: ['second_payment'] });
  }
  assert.equal((await suspense()) - before, 2n * AMOUNT);
});

test('is not booked by a query that names no amount while another amount is held for it', async () => {
  for (const isEarly of [true, false]) {
    const before = await suspense();
    const little = isEarly ? 'LITTLE0001' : 'LITTLE0002';
    if (isEarly) beforeAnswer = (reference) => receive(confirmation(reference, little, AMOUNT - 100n));
    const transaction = await collect();
    beforeAnswer = async () => undefined;
    if (!isEarly) await receive(confirmation(refOf(transaction), little, AMOUNT - 100n));
    await ask(transaction, UNNAMED);
    assert.deepEqual(await endOf(transaction), {
      status: 'processing',
      receipt: null,
      cases: ['amount_mismatch', 'wrong_amount'],
    });
    // The result names amount and receipt: the prompt was paid as well.
    const paid = isEarly ? 'PAIDTOO001' : 'PAIDTOO002';
    await receive(result(transaction, paid));
    assert.deepEqual(await endOf(transaction), { status: 'success', receipt: paid, cases: ['wrong_amount'] });
    assert.equal((await suspense()) - before, AMOUNT - 100n);
  }
});

test('takes the money that nobody could tell apart when the operator says which prompts were paid', async () => {
  sharedReference = '2547*****149';
  const before = await suspense();
  const payers = [await collect({ msisdn: '254708374149' }), await collect({ msisdn: '254709999149' })];
  await receive(confirmation('', 'SHARED0001'));
  await receive(confirmation('', 'SHARED0002'));
  assert.equal((await suspense()) - before, 2n * AMOUNT);
  for (const transaction of payers) await ask(transaction, UNNAMED);
  const ends = await Promise.all(payers.map(endOf));
  assert.deepEqual(
    ends.map(({ status, cases }) => ({ status, cases })),
    payers.map(() => ({ status: 'success', cases: [] })),
  );
  assert.deepEqual(new Set(ends.map(({ receipt }) => receipt)), new Set(['SHARED0001', 'SHARED0002']));
  assert.equal(await suspense(), before);
});

test('tells the rail which receipts belong to other payments', async () => {
  const other = await collect();
  await receive(confirmation(refOf(other), 'ELSEWHERE1'));
  await receive(confirmation('UNKNOWNORDER', 'HELD000001'));
  await ask(await collect(), { state: 'pending' });
  assert.deepEqual(usedByOthers, new Set(['ELSEWHERE1']));
});

test('is not shown to the payer as a place to pay to', async () => {
  const transaction = await collect();
  assert.equal(await findInstructions(ctx.db, transaction.holder_id, transaction.id), null);
});
