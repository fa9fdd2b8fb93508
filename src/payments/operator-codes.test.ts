// What an operator wants of the payer next: kept, shown by the status, and the code that it gave the payer handed back to it.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { Problem } from '../platform/errors.ts';
import type { CodeCall, Observation, PayerStep } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { giveOperatorCode, waitsForOperatorCode } from './operator-codes.ts';
import { findPayerStep } from './payer-steps.ts';
import { describeStep } from './record.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const CODE: PayerStep = { kind: 'code', text: 'Dial *110# for a voucher' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let onCollect: Observation;
let onCode: Observation | Promise<Observation>;
let given: CodeCall[];

before(async () => {
  base = await createTestContext();
});
after(() => base.close());
beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  await base.db.query('delete from number_limits');
  onCollect = { state: 'pending', railReference: 'op-1', step: CODE };
  onCode = { state: 'succeeded', receipt: null };
  given = [];
  const rail = silentRail({
    collect: async () => ({ observation: onCollect, raw: '' }),
    async submitCode(call) {
      given.push(call);
      return { observation: await onCode, raw: 'answer' };
    },
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});

async function collect(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
  await engine.idle();
  return reload(transaction);
}

const reload = async ({ id }: { id: string }) => (await findTransaction(ctx.db, shop.holderId, id)) ?? assert.fail();
const give = ({ id }: Transaction, code: string) =>
  giveOperatorCode(ctx, shop.holderId, id, code, async () => undefined);
const stepOf = async (transaction: Transaction) => findPayerStep(ctx.db, await reload(transaction));
const leftOf = (result: Transaction | Problem) =>
  result instanceof Problem ? result.details.extra?.tries_left : assert.fail('the code was right');
const waitsForNone = (error: unknown) => error instanceof Problem && error.code === 'verification_failed';

describe('a code of the operator', () => {
  test('goes to the operator, which says that it is right', async () => {
    const transaction = await collect();
    assert.deepEqual(await stepOf(transaction), CODE);
    assert.equal(await waitsForOperatorCode(ctx, shop.holderId, transaction.id), true);
    const result = await give(transaction, '1234');
    assert.ok(!(result instanceof Problem) && result.status === 'success');
    const [call] = given;
    assert.deepEqual(
      [call?.code, call?.reference, call?.railReference, call?.msisdn],
      ['1234', refOf(transaction), 'op-1', transaction.msisdn],
    );
    assert.equal(await stepOf(transaction), null, 'nothing is left to do');
    await assert.rejects(() => give(transaction, '1234'), waitsForNone);
  });

  test('that is taken is not asked for again', async () => {
    onCode = { state: 'pending' };
    const transaction = await collect();
    await give(transaction, '1234');
    assert.deepEqual(await stepOf(transaction), { kind: 'prompt', text: null });
    await assert.rejects(() => give(transaction, '1234'), waitsForNone);
  });

  test('that is wrong may be given five times; the operator ends the payment, not we', async () => {
    onCode = { state: 'pending', step: CODE };
    const transaction = await collect();
    const left = [];
    for (let guess = 0; guess < 5; guess++) left.push(leftOf(await give(transaction, '9999')));
    assert.deepEqual(left, [4, 3, 2, 1, 0]);
    await assert.rejects(() => give(transaction, '1234'), waitsForNone);
    assert.equal(given.length, 5);
    assert.equal((await reload(transaction)).status, 'processing');
  });

  test('goes alone: no second one while the operator has it, also when its process ended', async () => {
    const answer = Promise.withResolvers<Observation>();
    onCode = answer.promise;
    const transaction = await collect();
    const first = give(transaction, '1234');
    while (given.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await assert.rejects(() => give(transaction, '5678'), waitsForNone);
    assert.deepEqual(await stepOf(transaction), { kind: 'prompt', text: null });
    answer.resolve({ state: 'pending', step: CODE });
    assert.equal(leftOf(await first), 4);
    onCode = { state: 'unknown', reason: 'time-out' };
    await give(transaction, '5678');
    assert.deepEqual(await stepOf(transaction), CODE, 'what may not have arrived is asked for again');
    assert.equal(given.length, 2);
  });

  test('wrong codes count by number, over payments; right and unanswered ones do not', async () => {
    const limit = ctx.config.wrongTokensPerNumberPerDay;
    onCode = { state: 'unknown', reason: 'time-out' };
    const unanswered = await collect();
    for (let guess = 0; guess < limit + 1; guess++) await give(unanswered, '1234');
    onCode = { state: 'pending', step: CODE };
    for (let wrong = 0; wrong < limit; ) {
      const transaction = await collect();
      for (let guess = 0; guess < 5 && wrong < limit; guess++, wrong++) await give(transaction, '9999');
    }
    const transaction = await collect();
    await assert.rejects(
      () => give(transaction, '9999'),
      (error) => error instanceof Problem && error.code === 'number_limited',
    );
  });
});

describe('a step of the payer', () => {
  const expiresAt = new Date('2026-03-02T09:20:00.000Z');
  const links = [{ name: 'Max it', url: 'maxit://pay/1' }];
  const STEPS: PayerStep[] = [
    { kind: 'prompt', text: 'Enter your PIN' },
    { kind: 'dial', code: '*144*82#', text: null },
    { kind: 'redirect', url: 'https://pay.example.com/1', expiresAt },
    { kind: 'deep_link', url: 'wave://capture/1', expiresAt: null },
    { kind: 'qr', content: 'https://qr.example.com/1', links, expiresAt },
  ];
  for (const step of STEPS)
    test(`${step.kind} is kept as the operator said it, and the status tells it`, async () => {
      onCollect = { state: 'pending', step };
      const transaction = await collect();
      assert.deepEqual(await stepOf(transaction), step);
      const described = describeStep(step);
      assert.equal(described.kind, step.kind);
      assert.deepEqual(described.links, step.kind === 'qr' ? links : []);
      assert.equal(described.expires_at, 'expiresAt' in step && step.expiresAt ? '2026-03-02T09:20:00.000000Z' : null);
    });

  test('a prompt without words is what the method says anyway, and costs no row', async () => {
    onCollect = { state: 'pending', step: { kind: 'prompt', text: null } };
    assert.equal(await stepOf(await collect()), null);
  });

  test('a link that would run a script is not shown to anybody', async () => {
    for (const url of ['javascript:alert(1)', 'data:text/html,x', 'not a link', `https://x/${'y'.repeat(3_000)}`]) {
      onCollect = { state: 'pending', step: { kind: 'deep_link', url, expiresAt: null } };
      assert.equal(await stepOf(await collect()), null);
    }
  });
});
