// Operators that want a call before the one that moves money: what they return is committed first, and a crash anywhere neither
// loses a payment nor sends it twice.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, CAPABILITIES, collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { recordRestore } from '../platform/restores.ts';
import type { Observation, Prepared, PrepareReply } from '../rails/rail.ts';
import { listCasesOf } from './cases.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { requeryAfterRestore } from './requery-after-restore.ts';
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

/** The engine, once its call before the one that moves money is under way. */
async function enginePreparing(): Promise<PaymentEngine> {
  while (prepares.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  return engine;
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

test('what cannot be prepared for a day is a case, and is still sent when it can be', async () => {
  onPrepare = async () => ({ observation: UNKNOWN, raw: '' });
  const transaction = await collect();
  for (let hour = 0; hour < 23; hour++) await passAfter(3_600_000);
  assert.deepEqual(await listCasesOf(ctx.db, shop.holderId, transaction.id), []);
  await passAfter(2 * 3_600_000);
  const [open] = await listCasesOf(ctx.db, shop.holderId, transaction.id);
  assert.deepEqual([open?.kind, open?.status], ['no_answer', 'open']);
  assert.match(String(open?.detail.reason), /Nothing was sent yet: time-out/);
  onPrepare = async () => ({ prepared: TOKEN });
  await passAfter(700_000);
  assert.equal(await statusOf(transaction), 'success');
  const [closed] = await listCasesOf(ctx.db, shop.holderId, transaction.id);
  assert.equal(closed?.status, 'resolved');
});

test('what the vault does not open is neither sent nor asked about, and is a case after a day', async () => {
  const hide = (id: string) =>
    ctx.ownerDb.query(`update prepared_calls set sealed = '\\x00' where transaction_id = $1`, [id]);
  onCollect = async () => UNKNOWN;
  const transaction = await collect();
  await hide(transaction.id);
  for (let hour = 0; hour < 30; hour++) await passAfter(3_600_000);
  assert.deepEqual([sent.length, asked.length], [1, 0]);
  const [open] = await listCasesOf(ctx.db, shop.holderId, transaction.id);
  assert.deepEqual([open?.kind, open?.status], ['no_answer', 'open']);
  const [health] = ctx.rails.health.snapshot();
  assert.equal(health?.calls, 0, 'the operator is not to blame');
});

describe('a process that ends', () => {
  test('before it has prepared sent nothing: the next one sends', async () => {
    const ended = Promise.withResolvers<PrepareReply>();
    onPrepare = () => ended.promise;
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    const first = await enginePreparing();
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
    const first = await enginePreparing();
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

  test('slow, and refused in the end, does not end what was sent meanwhile', async () => {
    const ended = Promise.withResolvers<PrepareReply>();
    onPrepare = () => ended.promise;
    onCollect = async () => ({ state: 'pending' });
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    const first = await enginePreparing();
    start();
    onPrepare = async () => ({ prepared: TOKEN });
    await passAfter(LEASE_MS + 1);
    await passAfter(1_500);
    assert.deepEqual(sent, [TOKEN]);
    ended.resolve({ observation: REFUSED, raw: '' });
    await first.idle();
    assert.equal(await statusOf(transaction), 'processing');
  });

  test('and whose database was restored may have sent what the backup does not know: it is not sent again', async () => {
    onPrepare = () => new Promise(() => undefined);
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    await enginePreparing();
    base.clock.advance(60_000);
    await base.db.transaction(async (tx) => {
      await recordRestore(tx, base.clock.now(), null);
      await requeryAfterRestore(tx, base.clock.now());
    });
    start();
    onPrepare = async () => ({ prepared: TOKEN });
    await passAfter(1_000);
    await passAfter(7_000);
    assert.deepEqual(sent, []);
    assert.ok(asked.length > 0);
    assert.equal(await statusOf(transaction), 'processing');
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
