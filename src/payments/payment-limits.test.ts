// Limits of a day and blocked numbers, on a real database: they hold under concurrency and in every process, and what is refused
// leaves nothing behind.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CAPABILITIES,
  CURRENCY,
  collectionOrder,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { type Actor, COMMAND_LINE } from '../holders/audit.ts';
import { insertMember } from '../holders/members.ts';
import { refreshCaches } from '../platform/cache.ts';
import { Problem } from '../platform/errors.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import { createMemory } from '../platform/memory.ts';
import type { Observation } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { applyOutcomes } from './outcomes.ts';
import {
  blockNumber,
  type LimitChange,
  listBlockedNumbers,
  listLimits,
  setLimit,
  unblockNumber,
} from './payment-limits.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { createRefund } from './refunds.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const AMOUNT = 100_000n;
const FAILED: Observation = { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;

before(async () => {
  base = await createTestContext();
});
beforeEach(async () => {
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  ctx = withPayments(base, silentRail({ capabilities: { ...CAPABILITIES, refunds: 'partial' } }));
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

async function limit(change: Partial<LimitChange>, setBy: 'gateway' | 'holder' = 'gateway'): Promise<void> {
  const whole = { direction: 'collection', subject: 'holder', currency: CURRENCY, day_amount: null, day_count: null };
  await setLimit(ctx, COMMAND_LINE, shop.holderId, setBy, { ...whole, ...change } as LimitChange);
  await refreshCaches(ctx);
}

function collect(changes: { msisdn?: string; amount?: bigint } = {}, on = ctx): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  return acceptCollection(
    on,
    engine,
    collectionOrder(owner, RAIL, { amount: AMOUNT, fee: 0n, msisdn: '256772000000', ...changes }),
  );
}

function apply(transaction: { id: string }, observation: Observation) {
  return ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
  );
}

async function payOut(amount: string, actor = COMMAND_LINE, mobile = '256772123456'): Promise<void> {
  const reading = await readPayout(ctx, shop.holderId, { amount, currency: CURRENCY, mobile });
  assert.ok(reading.ok);
  await orderPayouts(ctx, engine, actor, shop.holderId, [reading.order]);
}

const isLimit = (error: unknown) => error instanceof Problem && error.code === 'limit_reached';
const isBlocked = (error: unknown) => error instanceof Problem && error.code === 'number_blocked';

async function transactions(): Promise<number> {
  const rows = await ctx.db.query('select from transactions where holder_id = $1', [shop.holderId]);
  return rows.length;
}

async function used(): Promise<{ amount: bigint; count: number }[]> {
  return ctx.db.query('select amount, count from limit_uses where holder_id = $1 order by subject, subject_key', [
    shop.holderId,
  ]);
}

describe('a limit of a day', () => {
  test('refuses what is more than its amount, with the limit and its end in the sentence, and writes nothing', async () => {
    await limit({ day_amount: 250_000n });
    await collect();
    await collect();
    await assert.rejects(collect(), (error) => {
      assert.ok(error instanceof Problem && error.code === 'limit_reached');
      assert.equal(error.message, 'Transaction was not created!');
      const [sentence] = error.details.errors?.amount ?? [];
      assert.match(sentence ?? '', /2500 UGX a day.*free again at \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
      return true;
    });
    await collect({ amount: 50_000n });
    assert.equal(await transactions(), 3);
    assert.deepEqual(await used(), [{ amount: 250_000n, count: 3 }]);
  });

  test('holds when many orders come at once, in two processes', async () => {
    await limit({ day_count: 5 });
    const other = { ...withPayments(base, silentRail()), memory: createMemory() };
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, (_, index) => collect({}, index % 2 === 0 ? ctx : other)),
    );
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 5);
    assert.equal(await transactions(), 5);
  });

  test('does not count what failed, and begins again with the day of the holder', async () => {
    await limit({ day_count: 1 });
    const first = await collect();
    await engine.idle();
    await assert.rejects(collect(), isLimit);
    await apply(first, FAILED);
    assert.deepEqual(await used(), [{ amount: 0n, count: 0 }]);
    await apply(first, FAILED);
    await collect();
    base.clock.advance(86_400_000);
    await collect();
  });

  test('of one number leaves other numbers alone', async () => {
    await limit({ subject: 'number', day_count: 1 });
    await collect({ msisdn: '256772000001' });
    await assert.rejects(collect({ msisdn: '256772000001' }), isLimit);
    await collect({ msisdn: '256772000002' });
  });

  test('of one member holds for payouts and refunds of that member', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    const member = await ctx.db.transaction((tx) =>
      insertMember(tx, { email: `m${shop.holderId}@example.com`, name: 'M' }, ctx.clock.now()),
    );
    const actor = { ...COMMAND_LINE, memberId: member?.id ?? 0n, name: 'M' };
    await limit({ direction: 'payout', subject: 'member', day_amount: 200_000n });
    await payOut('1500', actor);
    await assert.rejects(payOut('600', actor), isLimit);
    await payOut('600');
    await limit({ direction: 'refund', subject: 'member', day_count: 0 });
    const collection = await collect();
    await engine.idle();
    await apply(collection, { state: 'succeeded', receipt: `C-${collection.id}` });
    const request = { collection: refOf(collection), amount: 10_000n };
    await assert.rejects(
      createRefund(ctx, engine, actor, shop.holderId, request),
      (error) => isLimit(error) && error instanceof Problem && error.message === 'Refund was not created!',
    );
    await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, request);
  });

  test('of payouts refuses before money is reserved', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    await limit({ direction: 'payout', day_amount: 100_000n });
    await assert.rejects(payOut('1001'), isLimit);
    const [row] = await ctx.db.query<{ balance: bigint }>(
      `select balance from ledger_accounts where holder_id = $1 and kind = 'wallet_available'`,
      [shop.holderId],
    );
    assert.equal(row?.balance, 1_000_000n);
  });

  test('of the holder itself may only be stricter than that of the gateway, and the lower one holds', async () => {
    await limit({ day_count: 3 });
    await assert.rejects(limit({ day_count: 4 }, 'holder'), (error) => error instanceof Problem);
    await limit({ day_count: 1 }, 'holder');
    await collect();
    await assert.rejects(collect(), isLimit);
    await limit({}, 'holder');
    assert.equal((await listLimits(ctx.db, shop.holderId)).length, 1);
    await collect();
  });
});

describe('a blocked number', () => {
  test('is asked for nothing and paid nothing, until it is taken off the list', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    await blockNumber(ctx, COMMAND_LINE, shop.holderId, { msisdn: '256772123456', reason: 'fraud' });
    await refreshCaches(ctx);
    await assert.rejects(collect({ msisdn: '256772123456' }), isBlocked);
    await assert.rejects(payOut('1000'), isBlocked);
    await collect({ msisdn: '256772123457' });
    assert.equal((await listBlockedNumbers(ctx.db, shop.holderId)).length, 1);
    assert.equal(await unblockNumber(ctx, COMMAND_LINE, shop.holderId, '256772123456'), true);
    assert.equal(await unblockNumber(ctx, COMMAND_LINE, shop.holderId, '256772123456'), false);
    await refreshCaches(ctx);
    await collect({ msisdn: '256772123456' });
  });

  test('that the gateway blocked for a holder is not taken off the list by that holder', async () => {
    const person = async (isAdmin: boolean): Promise<Actor> => {
      const email = `${isAdmin ? 'admin' : 'owner'}.${shop.holderId}@example.org`;
      const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name: email }, ctx.clock.now()));
      await ctx.db.query('update members set is_admin = $2 where id = $1', [member?.id, isAdmin]);
      return { memberId: member?.id ?? 0n, name: email };
    };
    const [owner, admin] = [await person(false), await person(true)];
    const block = (actor: Actor, msisdn: string, reason = 'fraud') =>
      blockNumber(ctx, actor, shop.holderId, { msisdn, reason });
    const unblock = (actor: Actor, msisdn: string) => unblockNumber(ctx, actor, shop.holderId, msisdn);
    for (const gateway of [admin, COMMAND_LINE]) {
      await block(gateway, '256772123450');
      await block(owner, '256772123450', 'a friend');
      await assert.rejects(unblock(owner, '256772123450'), /Only an administrator/);
      const [listed] = await listBlockedNumbers(ctx.db, shop.holderId);
      assert.deepEqual([listed?.reason, listed?.added_by], ['fraud', gateway.name]);
      assert.equal(await unblock(admin, '256772123450'), true);
    }
    await block(owner, '256772123451');
    assert.equal(await unblock(owner, '256772123451'), true, 'their own they may');
    await block(owner, '256772123452');
    await block(admin, '256772123452', 'court order');
    await assert.rejects(unblock(owner, '256772123452'), /Only an administrator/);
    assert.equal(await unblock(COMMAND_LINE, '256772123452'), true);
    await block(admin, '256772123453', 'court order');
    await block(owner, '256772123454');
    await ctx.db.query('update members set is_admin = false where id = $1', [admin.memberId]);
    await ctx.db.query('update members set is_admin = true where id = $1', [owner.memberId]);
    await assert.rejects(unblock(admin, '256772123453'), /Only an administrator/, 'who lost the right');
    assert.equal(await unblock(admin, '256772123454'), true, 'what was blocked by an owner stays the holder’s');
    assert.equal(await unblock(owner, '256772123453'), true);
  });

  test('of the whole gateway holds for every holder', async () => {
    await blockNumber(ctx, COMMAND_LINE, NO_HOLDER, { msisdn: '256772999999', reason: 'court order' });
    await refreshCaches(ctx);
    await assert.rejects(collect({ msisdn: '256772999999' }), isBlocked);
    await unblockNumber(ctx, COMMAND_LINE, NO_HOLDER, '256772999999');
    await refreshCaches(ctx);
  });
});
