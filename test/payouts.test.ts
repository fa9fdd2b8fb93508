// Payouts: never more than there is, never twice, never lost; and who may allow them.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setPayoutApproval } from '../src/holders/approval-rules.ts';
import { type Actor, COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { addMember } from '../src/holders/members.ts';
import { balancesOf } from '../src/ledger/ledger.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import type { DecisionAction } from '../src/payments/decision-rows.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { approvePayout, cancelPayout } from '../src/payments/order-decisions.ts';
import { type PayoutOrder, readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from '../src/payments/transactions.ts';
import { Problem } from '../src/platform/errors.ts';
import { createMemory } from '../src/platform/memory.ts';
import type { Observation, Rail } from '../src/rails/rail.ts';
import { addTwoPeople, decideByTwo, type TwoPeople } from './decisions.ts';
import { createTestContext } from './harness.ts';
import { NOT_FOUND, openCasesOf, SUCCEEDED, statusOf, UNKNOWN } from './inspect.ts';
import { CAPABILITIES, CURRENCY, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';

/**
 * Rounds of sixty-four payouts against money for ten. The long run:
 * PAYOUT_ROUNDS=500 node test/run.ts --test-timeout=900000 test/payouts.test.ts
 */
const ROUNDS = Number(process.env.PAYOUT_ROUNDS ?? 30);
/** What one payout of 1,000 takes from the wallet, fee included. */
const TAKES = 101_000n;

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let people: TwoPeople;
/** References that reached the operator, as often as they did. */
let sent: string[];
let answer: (reference: string) => Observation;
let answerQuery: (reference: string) => Observation;

before(async () => {
  base = await createTestContext({ DATABASE_POOL_SIZE: '16' });
});
after(async () => {
  const { differences } = await verifyLedger(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  // What the test before left undone is not this one's.
  await base.db.query('delete from payment_jobs');
  sent = [];
  answer = () => SUCCEEDED;
  answerQuery = () => SUCCEEDED;
  ctx = withPayments(base, operatorRail());
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
  people = await addTwoPeople(ctx);
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 10n * TAKES);
});

function operatorRail(): Rail {
  return silentRail({
    async payout({ reference }) {
      sent.push(reference);
      return { observation: answer(reference), raw: '' };
    },
    query: async ({ reference }) => ({ observation: answerQuery(reference), raw: '' }),
  });
}

async function orderOf(): Promise<PayoutOrder> {
  const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  return reading.order;
}

async function order(actor: Actor = COMMAND_LINE): Promise<Transaction> {
  const [result] = await orderPayouts(ctx, engine, actor, shop.holderId, [await orderOf()]);
  assert.ok(result?.ok);
  return result.transaction;
}

function decideLost(payout: Transaction, action: DecisionAction, acting = engine): Promise<void> {
  return decideByTwo(ctx, acting, people, payout, 'payout_not_found', action);
}

async function pass(target = engine): Promise<void> {
  await target.pass();
  await target.idle();
}

async function wallet(holderId = shop.holderId): Promise<{ available: bigint; reserved: bigint }> {
  const [found] = await balancesOf(ctx.db, holderId);
  return { available: found?.available ?? 0n, reserved: found?.reserved ?? 0n };
}

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

/** On a busy machine 64 callers may find every connection taken; a refused caller has ordered nothing, and asks again. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const taken = error instanceof Problem && /^(database_unavailable|overloaded)$/.test(error.code);
      if (!taken || tries >= 50) throw error;
    }
  }
}

describe('money', () => {
  test(`64 payouts at once against money for 10: exactly 10, ${ROUNDS} rounds`, async () => {
    const orders = [await orderOf()];
    const shared = { ...engine, wake: () => undefined };
    for (let round = 0; round < ROUNDS; round++) {
      const holder = round === 0 ? shop.holderId : (await createShop(ctx)).holderId;
      if (round > 0) await topUpSandbox(ctx, COMMAND_LINE, holder, CURRENCY, 10n * TAKES);
      const results = await Promise.all(
        Array.from({ length: 64 }, () => patiently(() => orderPayouts(ctx, shared, COMMAND_LINE, holder, orders))),
      );
      const accepted = results.flat().filter((result) => result.ok).length;
      assert.equal(accepted, 10, `round ${round}`);
      assert.deepEqual(await wallet(holder), { available: 0n, reserved: 10n * TAKES });
    }
  });

  test('64 payouts in one order against money for 10: the first ten', async () => {
    const one = await orderOf();
    const orders = Array.from({ length: 64 }, () => one);
    const results = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, orders);
    await engine.idle();
    assert.deepEqual(
      results.map((result) => result.ok),
      results.map((_, index) => index < 10),
    );
    await pass();
    assert.equal(sent.length, 10);
    assert.deepEqual(await wallet(), { available: 0n, reserved: 0n });
  });

  test('a success posts what was reserved, a "no" releases it', async () => {
    const paid = await order();
    await pass();
    assert.equal(await statusOf(ctx.db, paid), 'success');
    assert.deepEqual(await wallet(), { available: 9n * TAKES, reserved: 0n });
    answer = () => ({ state: 'failed', failureCode: 'RECIPIENT_NOT_FOUND', rawCode: '', message: '' });
    const refusal = await order();
    await pass();
    assert.equal(await statusOf(ctx.db, refusal), 'failed');
    assert.deepEqual(await wallet(), { available: 9n * TAKES, reserved: 0n });
  });
});

describe('approval', () => {
  async function members(): Promise<[Actor, Actor]> {
    const people: Actor[] = [];
    for (const name of ['Ama', 'Kofi']) {
      const email = `${name.toLowerCase()}.${shop.holderId}@example.org`;
      const member = await addMember(ctx, COMMAND_LINE, { email, name, holderId: shop.holderId, role: 'owner' });
      people.push({ memberId: member.id, name });
    }
    await setPayoutApproval(ctx, COMMAND_LINE, shop.holderId, true);
    return people as [Actor, Actor];
  }

  test('nothing is sent until a second person allows it; the database refuses the first', async () => {
    const [ama, kofi] = await members();
    const payout = await order(ama);
    await pass();
    assert.equal(sent.length, 0);
    assert.equal((await wallet()).reserved, TAKES);
    await assert.rejects(approvePayout(ctx, engine, ama, shop.holderId, refOf(payout)), refused('forbidden'));
    await pass();
    assert.equal(sent.length, 0);
    await approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout));
    await engine.idle();
    assert.equal(await statusOf(ctx.db, payout), 'success');
    await assert.rejects(approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout)), refused('not_found'));
    assert.equal(sent.length, 1);
  });

  test('approved by many at once is approved and sent once', async () => {
    const [ama, kofi] = await members();
    const payout = await order(ama);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout))),
    );
    await engine.idle();
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    assert.equal(sent.length, 1);
  });

  test('days of waiting for approval are not days of silence: it is asked about soon, and nobody is alarmed', async () => {
    const [ama, kofi] = await members();
    const payout = await order(ama);
    base.clock.advance(72 * 3_600_000);
    answer = () => UNKNOWN;
    await approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout));
    await engine.idle();
    assert.equal(await statusOf(ctx.db, payout), 'processing');
    assert.deepEqual(await openCasesOf(ctx.db, payout), []);
    base.clock.advance(6_000);
    await pass();
    assert.equal(await statusOf(ctx.db, payout), 'success');
  });

  test('another holder cannot allow it, nor can a decision about a lost payout stand in for approval', async () => {
    const [ama, kofi] = await members();
    const payout = await order(ama);
    const stranger = await createShop(ctx);
    await assert.rejects(approvePayout(ctx, engine, kofi, stranger.holderId, refOf(payout)), refused('not_found'));
    await assert.rejects(decideLost(payout, 'send_again'), refused('not_found'));
    await pass();
    assert.equal(sent.length, 0);
  });

  test('taken back while another approves it: taken back, and not sent', async () => {
    const [ama] = await members();
    const payout = await order(ama);
    let cancelled: Promise<unknown> = Promise.resolve();
    // What an approval writes, held open until the other waits for it.
    await base.db.transaction(async (tx) => {
      const key = [shop.holderId, payout.id];
      await tx.query(
        `update payout_orders set approval = 'approved' where holder_id = $1 and transaction_id = $2`,
        key,
      );
      await tx.query(
        `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since) values ($1, $2, 'submit', $3, $3)`,
        [...key, base.clock.now()],
      );
      cancelled = cancelPayout(ctx, ama, shop.holderId, refOf(payout));
      cancelled.catch(() => undefined);
      for (let waiting = 0n; waiting === 0n; ) {
        const [row] = await tx.query<{ waiting: bigint }>(
          'select count(*) as waiting from pg_locks where not granted and transactionid = pg_current_xact_id()::xid',
        );
        waiting = row?.waiting ?? 0n;
      }
    });
    await cancelled;
    await pass();
    assert.deepEqual([await statusOf(ctx.db, payout), sent], ['failed', []]);
  });

  test('paid before it was approved, as after a restore: neither approved nor taken back', async () => {
    const [ama, kofi] = await members();
    for (const observation of [SUCCEEDED, { state: 'pending' } as const]) {
      const payout = await order(ama);
      await engine.apply({ transactionId: payout.id, source: 'callback', observation, raw: '' });
      await assert.rejects(approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout)), refused('not_found'));
      await assert.rejects(cancelPayout(ctx, ama, shop.holderId, refOf(payout)), refused('not_found'));
    }
    await engine.pass();
    await engine.idle();
    assert.deepEqual(sent, []);
  });

  test('taken back while it waits: released, and no longer to be approved', async () => {
    const [ama, kofi] = await members();
    const payout = await order(ama);
    await cancelPayout(ctx, ama, shop.holderId, refOf(payout));
    assert.deepEqual(await wallet(), { available: 10n * TAKES, reserved: 0n });
    await assert.rejects(approvePayout(ctx, engine, kofi, shop.holderId, refOf(payout)), refused('not_found'));
    await pass();
    assert.equal(sent.length, 0);
  });
});

describe('taking back', () => {
  test('before it is sent: released. After: refused', async () => {
    const idle = { ...engine, wake: () => undefined };
    const [result] = await orderPayouts(ctx, idle, COMMAND_LINE, shop.holderId, [await orderOf()]);
    assert.ok(result?.ok);
    const cancelled = await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(result.transaction));
    assert.equal(cancelled.status, 'failed');
    assert.deepEqual(await wallet(), { available: 10n * TAKES, reserved: 0n });
    await pass();
    assert.equal(sent.length, 0);
    answer = () => ({ state: 'pending' });
    const gone = await order();
    await pass();
    await assert.rejects(cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(gone)), refused('not_found'));
  });

  test('at the moment it is sent: either taken back or sent, never both', async () => {
    const ends = { sent: 0, cancelled: 0 };
    for (let round = 0; round < 40; round++) {
      sent = [];
      const idle = { ...engine, wake: () => undefined };
      const [result] = await orderPayouts(ctx, idle, COMMAND_LINE, shop.holderId, [await orderOf()]);
      if (!result?.ok) break;
      const claim = () => pass();
      const cancel = () =>
        cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(result.transaction)).then(
          () => 'cancelled',
          () => 'refused',
        );
      const [, cancelled] =
        round % 2 === 0
          ? await Promise.all([claim(), cancel()])
          : (await Promise.all([cancel(), claim()])).toReversed();
      await pass();
      assert.equal(sent.length, cancelled === 'cancelled' ? 0 : 1);
      assert.equal(await statusOf(ctx.db, result.transaction), cancelled === 'cancelled' ? 'failed' : 'success');
      ends[cancelled === 'cancelled' ? 'cancelled' : 'sent']++;
    }
    assert.equal((await wallet()).reserved, 0n);
  });
});

describe('never twice', () => {
  test('killed between claiming and calling: asked about, never sent again; a person decides', async () => {
    const dying = createPaymentEngine({
      ...ctx,
      // What it knew ends with it.
      memory: createMemory(),
      rails: { ...ctx.rails, byName: () => silentRail({ payout: () => new Promise<never>(() => undefined) }) },
    });
    const asleep = { wake: () => undefined };
    const [result] = await orderPayouts(ctx, asleep, COMMAND_LINE, shop.holderId, [await orderOf()]);
    assert.ok(result?.ok);
    await dying.pass();
    const payout = result.transaction;
    // The process is gone. Another one finds the job when the lease ends, and asks.
    answerQuery = () => NOT_FOUND;
    for (let time = 0; time < 5; time++) {
      base.clock.advance(400_000);
      await pass();
    }
    assert.equal(sent.length, 0);
    assert.equal(await statusOf(ctx.db, payout), 'processing');
    assert.deepEqual(await openCasesOf(ctx.db, payout), ['payout_not_found']);
    assert.equal((await wallet()).reserved, TAKES);
    await decideLost(payout, 'send_again');
    await engine.idle();
    assert.deepEqual(sent, [refOf(payout)]);
    assert.equal(await statusOf(ctx.db, payout), 'success');
    assert.deepEqual(await openCasesOf(ctx.db, payout), []);
  });

  test('killed after the call: the operator is asked, and its word is booked', async () => {
    let died = false;
    const dying = createPaymentEngine({
      ...ctx,
      db: {
        ...ctx.db,
        transaction: () => {
          died = true;
          return new Promise<never>(() => undefined);
        },
      },
    });
    const [result] = await orderPayouts(ctx, { ...dying, wake: () => undefined }, COMMAND_LINE, shop.holderId, [
      await orderOf(),
    ]);
    assert.ok(result?.ok);
    await dying.pass();
    while (!died) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sent.length, 1);
    base.clock.advance(31_000);
    await pass(createPaymentEngine(ctx));
    assert.equal(await statusOf(ctx.db, result.transaction), 'success');
    assert.equal(sent.length, 1);
  });

  test('an unknown outcome stays processing for days, sent once; then a person gives the money back', async () => {
    answer = () => UNKNOWN;
    answerQuery = () => UNKNOWN;
    const payout = await order();
    await engine.idle();
    for (let day = 0; day < 12; day++) {
      base.clock.advance(6 * 3_600_000);
      await pass();
    }
    assert.equal(sent.length, 1);
    assert.equal(await statusOf(ctx.db, payout), 'processing');
    assert.deepEqual(await openCasesOf(ctx.db, payout), ['no_answer']);
    await assert.rejects(
      decideLost(payout, 'settle_failed'),
      refused('not_found'),
      'nobody said that it was not found',
    );
    answerQuery = () => NOT_FOUND;
    base.clock.advance(6 * 3_600_000);
    await pass();
    await decideLost(payout, 'settle_failed');
    assert.equal(await statusOf(ctx.db, payout), 'failed');
    assert.deepEqual(await wallet(), { available: 10n * TAKES, reserved: 0n });
    assert.equal(sent.length, 1);
  });

  test('"not found" is believed only when the operator had its own time since it was sent, however long it waited before', async () => {
    const slow = silentRail({
      ...operatorRail(),
      capabilities: { ...CAPABILITIES, notFoundIsFinalAfterMs: 60_000 },
    });
    ctx = withPayments(base, slow);
    engine = createPaymentEngine(ctx);
    answer = () => UNKNOWN;
    answerQuery = () => NOT_FOUND;
    const idle = { ...engine, wake: () => undefined };
    const [result] = await orderPayouts(ctx, idle, COMMAND_LINE, shop.holderId, [await orderOf()]);
    assert.ok(result?.ok);
    // Two days pass before anybody sends it.
    base.clock.advance(48 * 3_600_000);
    await pass();
    assert.equal(sent.length, 1);
    for (const after of [6_000, 11_000, 21_000]) {
      base.clock.advance(after);
      await pass();
      assert.deepEqual(await openCasesOf(ctx.db, result.transaction), ['no_answer']);
    }
    base.clock.advance(7 * 3_600_000);
    await pass();
    assert.deepEqual(await openCasesOf(ctx.db, result.transaction), ['no_answer', 'payout_not_found']);
  });

  test('a decision to send it again survives a reader who asks the operator meanwhile', async () => {
    answer = () => UNKNOWN;
    answerQuery = () => NOT_FOUND;
    const payout = await order();
    await engine.idle();
    base.clock.advance(6_000);
    await pass();
    assert.deepEqual(await openCasesOf(ctx.db, payout), ['payout_not_found']);
    const idle = { ...engine, wake: () => undefined };
    await decideLost(payout, 'send_again', idle);
    const open = await findTransaction(ctx.db, shop.holderId, payout.id);
    assert.ok(open);
    await engine.refresh(open, 5_000);
    await engine.idle();
    assert.deepEqual(await openCasesOf(ctx.db, payout), []);
    answer = () => SUCCEEDED;
    await pass();
    assert.equal(sent.length, 2);
    assert.equal(await statusOf(ctx.db, payout), 'success');
  });

  test('decided by two people at once: one decision counts', async () => {
    answer = () => UNKNOWN;
    answerQuery = () => NOT_FOUND;
    const payout = await order();
    await engine.idle();
    base.clock.advance(6_000);
    await pass();
    answer = () => SUCCEEDED;
    const decisions = (['send_again', 'settle_failed', 'send_again', 'settle_failed'] as const).map((decision) =>
      decideLost(payout, decision),
    );
    const results = await Promise.allSettled(decisions);
    await engine.idle();
    await pass();
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    assert.ok(sent.length <= 2);
    assert.equal(await statusOf(ctx.db, payout), sent.length === 2 ? 'success' : 'failed');
    assert.equal((await wallet()).reserved, 0n);
  });
});

describe('a holder without an integration', () => {
  test('pays out like any other; the event is in the feed, and no callback is sent', async () => {
    const holder = await createHolder(ctx, COMMAND_LINE, 'By hand');
    await topUpSandbox(ctx, COMMAND_LINE, holder.id, CURRENCY, TAKES);
    const orders = [{ ...(await orderOf()), callbackUrl: 'https://example.org/callbacks' }];
    const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, holder.id, orders);
    assert.ok(result?.ok);
    await engine.idle();
    await pass();
    assert.deepEqual(await wallet(holder.id), { available: 0n, reserved: 0n });
    const id = [result.transaction.id];
    assert.deepEqual(await ctx.db.query('select type from events where transaction_id = $1', id), [
      { type: 'payout.success' },
    ]);
    assert.deepEqual(await ctx.db.query('select from callback_deliveries where transaction_id = $1', id), []);
  });
});

describe('an operator that is down', () => {
  test('payouts wait for it: none is lost, none failed, and each is sent once when it is back', async () => {
    answer = () => UNKNOWN;
    answerQuery = () => UNKNOWN;
    // Five silences open the breaker; what comes afterwards waits without being sent.
    const first: Transaction[] = [];
    for (let index = 0; index < 5; index++) {
      first.push(await order());
      await engine.idle();
    }
    assert.equal(sent.length, 5);
    const later: Transaction[] = [];
    for (let index = 0; index < 5; index++) later.push(await order());
    await engine.idle();
    assert.equal(sent.length, 5);
    for (const payout of later) assert.equal(await statusOf(ctx.db, payout), 'pending');
    answer = () => SUCCEEDED;
    answerQuery = () => SUCCEEDED;
    for (let time = 0; time < 10; time++) {
      base.clock.advance(7_000);
      await pass();
    }
    for (const payout of [...first, ...later]) assert.equal(await statusOf(ctx.db, payout), 'success');
    assert.equal(sent.length, 10);
    assert.equal(new Set(sent).size, 10);
    assert.deepEqual(await wallet(), { available: 0n, reserved: 0n });
  });

  test('while it is down a waiting payout can still be taken back', async () => {
    answer = () => UNKNOWN;
    for (let index = 0; index < 5; index++) {
      await order();
      await engine.idle();
    }
    const waiting = await order();
    await engine.idle();
    await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(waiting));
    assert.equal(await statusOf(ctx.db, waiting), 'failed');
    assert.equal(sent.length, 5);
  });
});
