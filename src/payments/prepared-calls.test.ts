// Operators that want a call before the one that moves money: what they return is committed first, and a crash anywhere neither
// loses a payment nor sends it twice.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, CAPABILITIES, collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import type { Observation, Prepared, PrepareReply } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const TOKEN = { pay_token: 'v1-secret-token' };
const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };
const NOT_FOUND: Observation = { state: 'unknown', reason: 'no such payment', definitelyNotFound: true };
const REFUSED: Observation = { state: 'failed', failureCode: 'PAYER_NOT_FOUND', rawCode: '4', message: '' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let prepares: string[];
let sent: (Prepared | null)[];
let asked: (Prepared | null)[];
let onPrepare: () => Promise<PrepareReply>;
let onCollect: () => Promise<Observation>;
let onQuery: Observation;

before(async () => {
  base = await createTestContext();
});
after(() => base.close());

beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  prepares = [];
  sent = [];
  asked = [];
  onPrepare = async () => ({ prepared: TOKEN });
  onCollect = async () => ({ state: 'succeeded', receipt: null });
  onQuery = UNKNOWN;
  start();
  shop = await createShop(ctx);
});

function start(): void {
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, idempotentSubmit: false, notFoundIsFinalAfterMs: null },
    prepare({ reference }) {
      prepares.push(reference);
      return onPrepare();
    },
    async collect({ prepared }) {
      sent.push(prepared);
      return { observation: await onCollect(), raw: '' };
    },
    async query({ prepared }) {
      asked.push(prepared);
      return { observation: onQuery, raw: '' };
    },
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
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

const statusOf = async ({ id }: Transaction) => (await findTransaction(ctx.db, shop.holderId, id))?.status;

test('what was prepared is sealed, committed and given to the submit and to every query', async () => {
  onCollect = async () => {
    const [row] = await ctx.db.query<{ sealed: Buffer; connection: string }>('select * from prepared_calls');
    assert.equal(row?.connection, 'quiet');
    assert.ok(!row.sealed.includes('secret'));
    return UNKNOWN;
  };
  const transaction = await collect();
  assert.deepEqual(sent, [TOKEN]);
  await passAfter(6_000);
  assert.deepEqual(asked, [TOKEN]);
  assert.deepEqual(prepares, [refOf(transaction)]);
});

test('a clear no ends the transaction; nothing was sent', async () => {
  onPrepare = async () => ({ observation: REFUSED, raw: 'no such number' });
  const transaction = await collect();
  assert.equal(await statusOf(transaction), 'failed');
  assert.deepEqual(sent, []);
});

test('an unknown answer is tried again later, and is not taken for a submit', async () => {
  onPrepare = async () => ({ observation: UNKNOWN, raw: '' });
  const transaction = await collect();
  assert.equal(await statusOf(transaction), 'pending');
  const [job] = await ctx.db.query<{ kind: string }>('select kind from payment_jobs');
  assert.equal(job?.kind, 'submit');
  onPrepare = async () => ({ prepared: TOKEN });
  await passAfter(7_000);
  assert.equal(await statusOf(transaction), 'success');
  assert.equal(prepares.length, 2);
  assert.deepEqual(sent, [TOKEN]);
  assert.deepEqual(asked, []);
});

describe('a process that ends', () => {
  test('before it has prepared sent nothing: the next one sends', async () => {
    const ended = Promise.withResolvers<PrepareReply>();
    onPrepare = () => ended.promise;
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    const first = engine;
    start();
    onPrepare = async () => ({ prepared: TOKEN });
    await passAfter(LEASE_MS + 1);
    await passAfter(1_500);
    assert.equal(await statusOf(transaction), 'success');
    // The first one was only slow. It does not send what was sent meanwhile.
    ended.resolve({ prepared: { pay_token: 'another' } });
    await first.idle();
    assert.deepEqual(sent, [TOKEN]);
    assert.deepEqual(asked, []);
  });

  test('slow, and with no answer in the end, does not have it sent again', async () => {
    const ended = Promise.withResolvers<PrepareReply>();
    onPrepare = () => ended.promise;
    onCollect = async () => ({ state: 'pending' });
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    const first = engine;
    start();
    onPrepare = async () => ({ prepared: TOKEN });
    await passAfter(LEASE_MS + 1);
    await passAfter(1_500);
    assert.deepEqual(sent, [TOKEN]);
    ended.resolve({ observation: UNKNOWN, raw: '' });
    await first.idle();
    await passAfter(60_000);
    assert.deepEqual(sent, [TOKEN]);
    assert.equal(asked.length, 1, 'it is asked about');
  });

  test('after it has prepared may have sent: the operator is asked, with what was prepared', async () => {
    onCollect = () => new Promise(() => undefined);
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    start();
    onQuery = NOT_FOUND;
    await passAfter(LEASE_MS + 1);
    assert.deepEqual(asked, [TOKEN]);
    assert.equal(await statusOf(transaction), 'processing');
    assert.equal(sent.length, 1);
  });
});
