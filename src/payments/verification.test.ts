// Tokens by SMS: right, wrong, late, sent again; and what a crash in the middle of each leaves behind.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { Problem } from '../platform/errors.ts';
import type { CollectCall } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { VERIFICATION_MS } from './states.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';
import { resendToken, verifyToken } from './verification.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let sms: string[];
let submitted: CollectCall[];

before(async () => {
  base = await createTestContext();
});
after(() => base.close());

beforeEach(async () => {
  sms = [];
  submitted = [];
  ctx = withPayments(
    base,
    silentRail({
      async sendToken({ text }) {
        sms.push(text.slice(0, 6));
        return { sent: true, raw: '' };
      },
      async collect(call) {
        submitted.push(call);
        return { observation: { state: 'succeeded', receipt: null }, raw: '' };
      },
    }),
  );
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});

async function collect(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', { verification: 'otp' }));
  await engine.idle();
  return transaction;
}

const nothing = async () => undefined;
const verify = (transaction: Transaction, token = '') =>
  verifyToken(ctx, shop.holderId, transaction.id, token, nothing);
const wrong = () => String((Number(sms.at(-1)) + 1) % 1_000_000).padStart(6, '0');

async function statusOf(transaction: Transaction): Promise<string | undefined> {
  return (await findTransaction(ctx.db, shop.holderId, transaction.id))?.status;
}

async function pass(target = engine): Promise<void> {
  await target.pass();
  await target.idle();
}

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Problem && error.code === code;
}

describe('verification by token', () => {
  test('nothing is submitted before the right token; then it is, once, as verified', async () => {
    const transaction = await collect();
    assert.equal(sms.length, 1);
    assert.equal(submitted.length, 0);
    const verified = await verify(transaction, sms[0]);
    assert.ok(!(verified instanceof Problem) && verified.status === 'processing');
    await pass();
    assert.equal(await statusOf(transaction), 'success');
    assert.deepEqual(
      submitted.map((call) => call.verified),
      [true],
    );
    await assert.rejects(verify(transaction, sms[0]), refused('verification_failed'));
  });

  test('a right token entered twice at the same moment is accepted once', async () => {
    const transaction = await collect();
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => verify(transaction, sms[0])));
    assert.equal(answers.filter((answer) => answer.status === 'fulfilled').length, 1);
    await pass();
    assert.equal(submitted.length, 1);
  });

  test('four wrong tokens leave one try; the fifth fails the payment with one event, and nothing was submitted', async () => {
    const transaction = await collect();
    for (let time = 1; time <= 4; time++) assert.ok((await verify(transaction, wrong())) instanceof Problem);
    assert.equal(await statusOf(transaction), 'pending');
    assert.ok((await verify(transaction, wrong())) instanceof Problem);
    assert.equal(await statusOf(transaction), 'failed');
    const events = await ctx.db.query('select type from events where transaction_id = $1', [transaction.id]);
    assert.deepEqual(events, [{ type: 'collection.failed' }]);
    assert.equal(submitted.length, 0);
  });

  test('wrong tokens at once count each', async () => {
    const transaction = await collect();
    await Promise.allSettled(Array.from({ length: 12 }, () => verify(transaction, wrong())));
    assert.equal(await statusOf(transaction), 'failed');
  });

  test('a resend makes a new token after 30 seconds; the old one is void and wrong tries stay counted', async () => {
    const transaction = await collect();
    for (let time = 1; time <= 4; time++) await verify(transaction, wrong());
    await assert.rejects(resendToken(ctx, shop.holderId, transaction.id, nothing), refused('resend_too_soon'));
    base.clock.advance(30_000);
    await resendToken(ctx, shop.holderId, transaction.id, nothing);
    assert.equal(sms.length, 2);
    assert.ok((await verify(transaction, sms[0] === sms[1] ? wrong() : sms[0])) instanceof Problem);
    assert.equal(await statusOf(transaction), 'failed');
  });

  test('ten minutes without the token: expired, and the token no longer works', async () => {
    const transaction = await collect();
    base.clock.advance(VERIFICATION_MS);
    await assert.rejects(verify(transaction, sms[0]), refused('verification_failed'));
    await pass();
    assert.equal(await statusOf(transaction), 'expired');
    assert.equal(submitted.length, 0);
  });

  test('a crash in the middle of expiring delays it, and nothing else', async () => {
    const transaction = await collect();
    base.clock.advance(VERIFICATION_MS);
    const dying = createPaymentEngine({
      ...ctx,
      db: { ...ctx.db, transaction: () => Promise.reject(new Error('the process ends here')) },
    });
    await pass(dying);
    assert.equal(await statusOf(transaction), 'pending');
    base.clock.advance(31_000);
    await pass(createPaymentEngine(ctx));
    assert.equal(await statusOf(transaction), 'expired');
  });

  test('a crash before the token was sent: another process sends it', async () => {
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const deaf = { ...engine, enqueue: () => undefined };
    const transaction = await acceptCollection(ctx, deaf, collectionOrder(owner, 'quiet', { verification: 'otp' }));
    assert.equal(sms.length, 0);
    base.clock.advance(31_000);
    await pass();
    assert.equal(sms.length, 1);
    assert.ok(!((await verify(transaction, sms[0])) instanceof Problem));
  });

  test('verified in the last moment while it expires: one of the two, never both', async () => {
    for (let round = 0; round < 10; round++) {
      const transaction = await collect();
      base.clock.advance(VERIFICATION_MS - 1);
      const verifying = verify(transaction, sms.at(-1)).catch((error: unknown) => error);
      base.clock.advance(1);
      await Promise.all([verifying, pass()]);
      await pass();
      const ended = await statusOf(transaction);
      const charged = submitted.some((call) => call.reference === refOf(transaction));
      assert.equal(ended, charged ? 'success' : 'expired');
    }
  });
});
