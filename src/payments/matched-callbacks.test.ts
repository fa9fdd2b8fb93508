// Messages of operators that do not sign: what matches our own records is applied as evidence of its own kind and confirmed by
// asking; the rest is only a reason to ask. And messages that want an answer: is this payment taken?

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CAPABILITIES,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { CallbackReading, Observation, RailCapabilities } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { listOperatorBalances, readOperatorBalances } from './operator-balances.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { decidePayment } from './payment-validation.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const AMOUNT = 100_000n;
const RAIL = 'tills-kenya-2';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let inbox: OperatorInbox;
let shop: Shop;
let asked: number;
let answer: Observation;
let policy: 'apply' | 'ask';
let ownBalance: bigint;

before(async () => {
  base = await createTestContext();
});
after(() => base.close());
beforeEach(() => start());

async function start(capabilities: Partial<RailCapabilities> = {}): Promise<void> {
  await base.db.query('delete from payment_jobs');
  await base.db.query('delete from operator_hints');
  asked = 0;
  answer = { state: 'pending' };
  policy = 'apply';
  ownBalance = 5_000n;
  const rail = silentRail({
    name: RAIL,
    capabilities: { ...CAPABILITIES, ...capabilities },
    async collect({ reference }) {
      const step = {
        kind: 'transfer',
        payTo: { kind: 'paybill', number: '600000', name: 'Shop', bank: null },
        accountReference: `acc-${reference}`,
        expiresAt: new Date(ctx.clock.millis() + 1_800_000),
      } as const;
      return { observation: { state: 'pending', railReference: `ws_${reference}`, step }, raw: '' };
    },
    async query() {
      asked++;
      return { observation: answer, raw: '' };
    },
    balance: async () => ({ balances: [{ account: 'Utility Account', currency: 'KES', available: ownBalance }] }),
    readCallback: ({ body }) =>
      JSON.parse(body.toString(), (name, value: unknown) =>
        name === 'amount' || name === 'available' ? BigInt(String(value)) : value,
      ) as CallbackReading[],
  });
  ctx = withPayments(base, rail);
  ctx.rails.matchedCallbacks = () => policy;
  engine = createPaymentEngine(ctx);
  inbox = createOperatorInbox(ctx);
  shop = await createShop(ctx);
}

async function collect(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(
    ctx,
    engine,
    collectionOrder(owner, RAIL, { verification: 'instructions' }),
  );
  await engine.idle();
  return transaction;
}

const messageOf = (...readings: object[]) =>
  operatorMessage(
    RAIL,
    JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );

async function receive(...readings: object[]) {
  const decision = await inbox.receive(messageOf(...readings));
  await inbox.idle();
  return decision;
}

const matched = (reference: string, observation: Observation) => ({
  kind: 'matched',
  reference,
  direction: 'collection',
  observation,
});
let receipts = 0;
const success = (said: object = {}): Observation => ({
  state: 'succeeded',
  receipt: `M${++receipts}`,
  amount: AMOUNT,
  currency: CURRENCY,
  ...said,
});
const reload = async ({ id }: Transaction) => (await findTransaction(ctx.db, shop.holderId, id)) ?? assert.fail();

async function sourcesOf({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ source: string; state: string; effect: string }>(
    'select source, state, effect from evidence where transaction_id = $1 order by id',
    [id],
  );
  return rows.slice(1).map(({ source, state, effect }) => `${source} ${state} ${effect}`);
}

async function kindsOf({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>('select kind from cases where transaction_id = $1', [id]);
  return rows.map(({ kind }) => kind);
}

async function askAfterHints(): Promise<void> {
  await engine.pass();
  await engine.idle();
}

describe('a message that matches', () => {
  test('is applied as evidence of its own kind, and the operator is asked to confirm it', async () => {
    const transaction = await collect();
    await receive(matched(refOf(transaction), success({ receipt: 'CONFIRMED' })));
    assert.equal((await reload(transaction)).status, 'success');
    assert.deepEqual(await sourcesOf(transaction), ['matched succeeded applied']);
    answer = { state: 'succeeded', receipt: 'CONFIRMED' };
    await askAfterHints();
    assert.equal(asked, 1);
    assert.deepEqual((await sourcesOf(transaction)).at(-1), 'poll succeeded confirmed');
    assert.deepEqual(await kindsOf(transaction), []);
  });

  test('is kept without the credentials that an operator sends back', async () => {
    const transaction = await collect();
    await receive({ ...matched(refOf(transaction), success()), SecurityCredential: 'our-credential' });
    const rows = await ctx.db.query<{ raw: string }>('select raw from evidence where transaction_id = $1', [
      transaction.id,
    ]);
    const kept = rows.map(({ raw }) => raw).join();
    assert.match(kept, /SecurityCredential/);
    assert.doesNotMatch(kept, /our-credential/);
  });

  test('that the operator contradicts becomes a case', async () => {
    const transaction = await collect();
    await receive(matched(refOf(transaction), success()));
    answer = { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '', message: '' };
    await askAfterHints();
    assert.deepEqual(await kindsOf(transaction), ['contradiction']);
  });

  test('is not asked about where nobody answers', async () => {
    await start({ query: 'by_callback' });
    const transaction = await collect();
    await receive(matched(refOf(transaction), success()));
    assert.equal((await reload(transaction)).status, 'success');
    await askAfterHints();
    assert.equal(asked, 0);
  });

  test('is only a reason to ask where the connection says so', async () => {
    policy = 'ask';
    const transaction = await collect();
    const receipt = 'ASKED-FIRST';
    await receive(matched(refOf(transaction), success({ receipt })));
    assert.equal((await reload(transaction)).status, 'processing');
    answer = { state: 'succeeded', receipt, amount: AMOUNT, currency: CURRENCY };
    await askAfterHints();
    assert.equal((await reload(transaction)).status, 'success', 'its receipt was not used up by the message');
    assert.deepEqual(await sourcesOf(transaction), ['matched succeeded ignored', 'poll succeeded applied']);
  });

  test('ends what the operator answers by callback when it answers our question, and only then where the rule is to ask', async () => {
    await start({ query: 'by_callback' });
    policy = 'ask';
    answer = { state: 'unknown', reason: 'the operator answers by callback', asked: true };
    const transaction = await collect();
    const said = matched(refOf(transaction), success({ receipt: 'ANSWERED' }));
    await receive(said);
    assert.equal((await reload(transaction)).status, 'processing');
    await askAfterHints();
    assert.equal(asked, 1);
    await receive({ ...said, isAnswer: true });
    const { status, receipt } = await reload(transaction);
    assert.deepEqual([status, receipt], ['success', 'ANSWERED']);
    await askAfterHints();
    assert.equal(asked, 1, 'an answer is no reason to ask');
  });

  test('with another reference of the operator is only a reason to ask', async () => {
    const transaction = await collect();
    assert.equal((await reload(transaction)).rail_reference, `ws_${refOf(transaction)}`);
    await receive(matched(refOf(transaction), success({ railReference: 'ws_other' })));
    assert.equal((await reload(transaction)).status, 'processing');
    await askAfterHints();
    assert.equal(asked, 1);
    await receive(matched(refOf(transaction), success({ railReference: `ws_${refOf(transaction)}` })));
    assert.equal((await reload(transaction)).status, 'success');
  });

  test('with another amount is a case, and moves nothing', async () => {
    const transaction = await collect();
    await receive(matched(refOf(transaction), success({ amount: 1n })));
    assert.equal((await reload(transaction)).status, 'processing');
    assert.deepEqual(await kindsOf(transaction), ['amount_mismatch']);
  });

  test('about nothing that we know is kept, and its money goes to suspense', async () => {
    const reference = refOf({ id: createHolderUuid(base.clock.millis(), shop.holderId) });
    await receive(matched(reference, success()));
    const [row] = await ctx.db.query<{ rail: string; booked: boolean }>(
      'select rail, booked from unmatched_reports where reference = $1',
      [reference],
    );
    assert.deepEqual(row, { rail: RAIL, booked: true });
  });

  test('a success without a receipt takes the receipt of a later message', async () => {
    const transaction = await collect();
    answer = { state: 'succeeded', receipt: null };
    base.clock.advance(6_000);
    await askAfterHints();
    assert.equal((await reload(transaction)).receipt, null);
    await receive(matched(refOf(transaction), success({ receipt: 'LATER' })));
    assert.equal((await reload(transaction)).receipt, 'LATER');
    assert.deepEqual(await kindsOf(transaction), []);
  });
});

describe('a payment that is about to be made', () => {
  const validation = (accountReference: string, said: object = {}) =>
    ({
      kind: 'validation',
      accountReference,
      amount: AMOUNT,
      currency: CURRENCY,
      payer: null,
      ...said,
    }) as CallbackReading & { kind: 'validation' };

  test('is taken when an open order expects it, and nothing is written', async () => {
    const transaction = await collect();
    const account = `acc-${refOf(transaction)}`;
    const expected = { kind: 'take_payment', reference: refOf(transaction) };
    assert.deepEqual(await receive(validation(account)), expected);
    const refuse = (reason: string) => ({ kind: 'refuse_payment', reason });
    assert.deepEqual(await receive(validation('nobody')), refuse('unknown_account'));
    assert.deepEqual(await receive(validation(account, { amount: AMOUNT - 1n })), refuse('wrong_amount'));
    assert.deepEqual(await receive(validation(account, { currency: 'KES' })), refuse('wrong_amount'));
    assert.equal((await ctx.db.query('select from operator_inbox')).length, 0);
    assert.equal((await sourcesOf(transaction)).length, 0);

    await base.db.query(`update holders set status = 'suspended' where id = $1`, [shop.holderId]);
    assert.deepEqual(await receive(validation(account)), refuse('not_now'));
    await base.db.query(`update holders set status = 'active' where id = $1`, [shop.holderId]);
    base.clock.advance(1_800_000);
    assert.deepEqual(await receive(validation(account)), refuse('not_now'), 'the order has run out');
  });

  test('is refused when it was paid already', async () => {
    const transaction = await collect();
    const account = `acc-${refOf(transaction)}`;
    await receive({
      kind: 'payment_received',
      accountReference: account,
      amount: AMOUNT,
      currency: CURRENCY,
      receipt: 'PAID-ONCE',
      payer: null,
    });
    assert.equal((await reload(transaction)).status, 'success');
    assert.deepEqual(await receive(validation(account)), { kind: 'refuse_payment', reason: 'not_now' });
  });

  test('is refused for now when it cannot be looked up in time', async () => {
    const broken = { ...ctx, db: { ...ctx.db, query: async () => assert.fail('no database') } };
    const slow = { ...ctx, db: { ...ctx.db, query: () => new Promise<never>(() => undefined) } };
    for (const each of [broken, slow])
      assert.deepEqual(await decidePayment(each, RAIL, validation('acc'), 50), {
        kind: 'refuse_payment',
        reason: 'not_now',
      });
  });
});

describe('balances', () => {
  test('are kept when they are told, and read every five minutes', async () => {
    const message = { kind: 'balance', balances: [{ account: 'Working Account', currency: 'KES', available: -100n }] };
    assert.deepEqual(await receive(message), { kind: 'kept' });
    assert.equal(await readOperatorBalances(ctx), 1);
    assert.equal(await readOperatorBalances(ctx), 0, 'another process has read it');
    const shown = async () =>
      (await listOperatorBalances(ctx.db)).map((each) => `${each.connection} ${each.account} ${each.available}`);
    assert.deepEqual(await shown(), [`${RAIL} Utility Account 5000`, `${RAIL} Working Account -100`]);
    ownBalance = 7_000n;
    base.clock.advance(5 * 60_000);
    assert.equal(await readOperatorBalances(ctx), 1);
    assert.deepEqual(await shown(), [`${RAIL} Utility Account 7000`, `${RAIL} Working Account -100`]);
  });

  test('a remark of the operator is answered and dropped', async () => {
    assert.deepEqual(await receive({ kind: 'nothing', reason: 'progress' }), { kind: 'kept' });
    assert.equal((await ctx.db.query('select from operator_inbox union all select from rejected_callbacks')).length, 0);
  });
});

test('a payer sends too little, twice or with a wrong reference to a connection of any name', async () => {
  const pay = (accountReference: string, amount: bigint, receipt: string) =>
    receive({ kind: 'payment_received', accountReference, amount, currency: CURRENCY, receipt, payer: null });
  const transaction = await collect();
  const account = `acc-${refOf(transaction)}`;
  await pay(account, AMOUNT - 100n, 'T-LITTLE');
  await pay(account, AMOUNT, 'T-RIGHT');
  await pay(account, AMOUNT, 'T-TWICE');
  await pay('wrong', AMOUNT, 'T-WRONG');
  assert.equal((await reload(transaction)).receipt, 'T-RIGHT');
  assert.deepEqual((await kindsOf(transaction)).sort(), ['second_payment', 'wrong_amount']);
  const [held] = await ctx.db.query<{ sum: bigint }>(
    `select sum(amount)::bigint as sum from incoming_payments where rail = $1 and outcome = 'suspense'`,
    [RAIL],
  );
  assert.equal(held?.sum, 3n * AMOUNT - 100n);
});
