// The rolling reserve on a real database: held with the collection, released once, used before a debt, and never lost or made.

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
import { COMMAND_LINE } from '../holders/audit.ts';
import { accountKey, holderReceivable, walletAvailable, walletHeld } from '../ledger/chart.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { DAY_MS } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import type { Observation } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { setHolderStatus } from './holder-status.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import type { Refund } from './refund-orders.ts';
import { createRefund } from './refunds.ts';
import { findReserveRule, listHeldMoney, releaseHeldParts, setReserveRule } from './rolling-reserve.ts';
import { listBalances } from './status.ts';
import { refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const AMOUNT = 100_000n;
const FEE = 1_000n;
const NET = AMOUNT - FEE;
const SHARE = 10_000n;
const FAILED: Observation = { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: '', message: '' };

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
  await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 1_000n, days: 7 });
});
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

function apply(transaction: { id: string }, observation: Observation) {
  return ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
  );
}

async function collected(amount = AMOUNT, fee = FEE): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const collection = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL, { amount, fee }));
  await engine.idle();
  await apply(collection, { state: 'succeeded', receipt: `C-${collection.id}` });
  return collection;
}

function refund(collection: Transaction, amount: bigint | null = null): Promise<Refund> {
  return createRefund(ctx, engine, COMMAND_LINE, shop.holderId, { collection: refOf(collection), amount });
}

/** Reserves money for a payout, so that the wallet no longer has it. */
async function spend(amount: string): Promise<void> {
  const reading = await readPayout(ctx, shop.holderId, { amount, currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
}

async function balance(account: Parameters<typeof accountKey>[0]): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

const available = () => balance(walletAvailable(shop.holderId, CURRENCY));
const held = () => balance(walletHeld(shop.holderId, CURRENCY));
const debt = async () => -(await balance(holderReceivable(shop.holderId, CURRENCY)));
const reversed: Observation = { state: 'reversed', receipt: null, rawCode: '', message: '' };

function days(count: number): void {
  base.clock.advance(count * DAY_MS);
}

async function releases(): Promise<number> {
  const rows = await ctx.db.query(`select from ledger_transfers where holder_id = $1 and kind = 'reserve_release'`, [
    shop.holderId,
  ]);
  return rows.length;
}

describe('the rolling reserve', () => {
  test('takes its share of a collection in the same posting, and gives it back once, after its days', async () => {
    const collection = await collected();
    assert.deepEqual([await available(), await held()], [NET - SHARE, SHARE]);
    const transfers = await ctx.db.query<{ batch: string }>(
      'select distinct batch::text from ledger_transfers where transaction_id = $1',
      [collection.id],
    );
    assert.equal(transfers.length, 1);
    const [money] = await listHeldMoney(ctx.db, shop.holderId);
    assert.equal(money?.amount, SHARE);
    days(6);
    await releaseHeldParts(ctx);
    assert.equal(await held(), SHARE, 'not before its day');
    days(1);
    await Promise.all([releaseHeldParts(ctx), releaseHeldParts(ctx), releaseHeldParts(ctx)]);
    assert.deepEqual([await available(), await held(), await releases()], [NET, 0n, 1]);
  });

  test('of one merchant whose parts are wrong does not keep others from theirs', async () => {
    await collected();
    const other = await createShop(ctx, 'Wrong parts');
    await base.ownerDb.query(
      `insert into held_parts (holder_id, source_id, currency, amount, used, held_at, release_at)
       select $1, gen_random_uuid(), currency, amount, 0, held_at, release_at - interval '1 hour' from held_parts where holder_id = $2`,
      [other.holderId, shop.holderId],
    );
    days(7);
    await assert.rejects(releaseHeldParts(ctx), /holds less/);
    assert.deepEqual([await available(), await held()], [NET, 0n]);
    await base.ownerDb.query('delete from held_parts where holder_id = $1', [other.holderId]);
  });

  test('is part of the balance, and never of what is available', async () => {
    await collected();
    const [wallet] = await listBalances(ctx.db, shop.holderId, { currency: CURRENCY });
    assert.deepEqual([wallet?.balance, wallet?.available, wallet?.reserved], [990, 890, 100]);
    await spend('900');
    assert.equal(await available(), NET - SHARE, 'a payout cannot have it');
  });

  test('takes nothing where there is no rule, and keeps what it has when the rule ends', async () => {
    await collected();
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, null);
    assert.equal(await findReserveRule(ctx.db, shop.holderId), null);
    await collected();
    assert.deepEqual([await available(), await held()], [2n * NET - SHARE, SHARE]);
    days(7);
    await releaseHeldParts(ctx);
    assert.deepEqual([await available(), await held()], [2n * NET, 0n]);
  });

  test('takes at most what reaches the wallet', async () => {
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 10_000n, days: 1 });
    await collected();
    assert.deepEqual([await available(), await held()], [0n, NET]);
  });

  test('refuses a share or a number of days that makes no sense', async () => {
    for (const rule of [
      { basisPoints: 0n, days: 1 },
      { basisPoints: 10_001n, days: 1 },
      { basisPoints: 100n, days: 0 },
      { basisPoints: 100n, days: 366 },
    ])
      await assert.rejects(
        setReserveRule(ctx, COMMAND_LINE, shop.holderId, rule),
        (error) => error instanceof Problem && error.code === 'invalid_params',
      );
  });

  test('pays for a reversal before there is a debt', async () => {
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 2_000n, days: 7 });
    const collection = await collected();
    await spend('700');
    const before = await available();
    await apply(collection, reversed);
    assert.deepEqual([await available(), await held()], [0n, 0n]);
    assert.equal(await debt(), NET - 20_000n - before, 'only what the wallet and the reserve lacked');
    days(7);
    await releaseHeldParts(ctx);
    assert.equal(await releases(), 0, 'what was used is not released');
  });

  test('pays for a refund that the wallet has too little for, and gets it back when the refund fails', async () => {
    const collection = await collected();
    const asked = await refund(collection);
    assert.equal(asked.from_held, SHARE);
    assert.deepEqual([await available(), await held()], [0n, 0n]);
    await apply(asked, FAILED);
    assert.deepEqual([await available(), await held()], [NET - SHARE, SHARE], 'a refund is no way out of the reserve');
    days(7);
    await releaseHeldParts(ctx);
    assert.deepEqual([await available(), await held(), await releases()], [NET, 0n, 1]);
    // It failed, and was paid after all: the wallet pays it as a fact.
    await apply(asked, { state: 'succeeded', receipt: null });
    assert.deepEqual([await available(), await held(), await debt()], [0n, 0n, FEE]);
  });

  test('that a refund had used is used again when the refund that failed succeeds late', async () => {
    const collection = await collected();
    const asked = await refund(collection);
    await apply(asked, FAILED);
    await apply(asked, { state: 'succeeded', receipt: null });
    assert.deepEqual([await available(), await held(), await debt()], [0n, 0n, FEE]);
  });

  test('raced by its release and refunds, is neither lost nor paid twice', async () => {
    const collections: Transaction[] = [];
    for (let count = 0; count < 4; count++) collections.push(await collected());
    await spend('3400');
    days(7);
    const results = await Promise.allSettled([
      ...collections.map((collection) => refund(collection, 15_000n)),
      releaseHeldParts(ctx),
      releaseHeldParts(ctx),
    ]);
    await releaseHeldParts(ctx);
    const refunds = results.slice(0, 4).filter((result) => result.status === 'fulfilled').length;
    const [wallet] = await balancesOf(ctx.db, shop.holderId, { currency: CURRENCY });
    assert.equal(wallet?.held, 0n);
    assert.equal(wallet?.balance, 4n * NET);
    assert.ok(refunds >= 1);
  });

  test('recovers a debt when it is released, also where its collection had recovered one before', async () => {
    const gone = await collected();
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, null);
    await spend('850');
    await apply(gone, reversed);
    const owed = await debt();
    assert.ok(owed > 0n);
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 5_000n, days: 1 });
    await collected(60_000n, 0n);
    assert.equal(await debt(), owed - 30_000n);
    days(1);
    await releaseHeldParts(ctx);
    assert.equal(await debt(), owed - 60_000n);
  });

  test('keeps its holder open', async () => {
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 10_000n, days: 1 });
    await collected();
    await assert.rejects(
      setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed'),
      (error) => error instanceof Problem && /990 UGX is held/.test(error.message),
    );
  });
});
