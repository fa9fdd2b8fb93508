// What a poll, a reader, a callback and a person do to the job of one transaction when they come at the same time.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { addTwoPeople, decideByTwo, type TwoPeople } from '../../test/decisions.ts';
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
import { Problem } from '../platform/errors.ts';
import type { Observation, RailCapabilities } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { approveRefund, cancelRefund } from './order-decisions.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { createRefund } from './refunds.ts';
import { requeryAfterRestore } from './requery-after-restore.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const SUCCEEDED: Observation = { state: 'succeeded', receipt: 'R1' };
const PENDING: Observation = { state: 'pending', railReference: 'op-1' };
const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };
const NOT_FOUND: Observation = { state: 'unknown', reason: 'no such payment', definitelyNotFound: true };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
/** Orders and decisions leave the sending to the test. */
let idle: PaymentEngine;
let shop: Shop;
let people: TwoPeople;
let sent: string[];
let answerQuery: () => Observation;

before(async () => {
  base = await createTestContext();
});
after(() => base.close());

beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  sent = [];
  answerQuery = () => UNKNOWN;
  start();
  shop = await createShop(ctx);
  people = await addTwoPeople(ctx);
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
});

function start(capabilities: Partial<RailCapabilities> = {}): void {
  const send = async ({ reference }: { reference: string }) => {
    sent.push(reference);
    return { observation: UNKNOWN, raw: '' };
  };
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, ...capabilities },
    payout: send,
    refund: send,
    collect: async () => ({ observation: PENDING, raw: '' }),
    query: async () => ({ observation: answerQuery(), raw: '' }),
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  idle = { ...engine, pass: async () => 0, wake: () => undefined };
}

async function pass(): Promise<void> {
  await engine.pass();
  await engine.idle();
}

/** A payout that was sent; the operator answered nothing, then that it does not know it. */
async function lostPayout(): Promise<Transaction> {
  const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, idle, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
  await pass();
  answerQuery = () => NOT_FOUND;
  base.clock.advance(6_000);
  await pass();
  assert.deepEqual(await openCases(result.transaction), ['payout_not_found']);
  return result.transaction;
}

async function openCases({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<{ kind: string }>(
    `select kind from cases where transaction_id = $1 and status = 'open' order by kind`,
    [id],
  );
  return rows.map((row) => row.kind);
}

type JobRow = { kind: string; attempts: number; due_at: Date };

async function jobOf({ id }: Transaction): Promise<JobRow | null> {
  const [row] = await ctx.db.query<JobRow>(
    'select kind, attempts, due_at from payment_jobs where transaction_id = $1',
    [id],
  );
  return row ?? null;
}

async function reload({ id }: Transaction): Promise<Transaction> {
  const found = await findTransaction(ctx.db, shop.holderId, id);
  assert.ok(found);
  return found;
}

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;
const decide = (payout: Transaction, action: 'send_again' | 'settle_failed') =>
  decideByTwo(ctx, idle, people, payout, 'payout_not_found', action);

async function apply(
  transaction: Transaction,
  source: 'callback' | 'poll',
  observation: Observation,
  askedAt = ctx.clock.now(),
): Promise<void> {
  await ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source, observation, raw: '', askedAt }]),
  );
}

/** Until a statement of another connection waits for a row. */
async function untilSomebodyWaits(): Promise<void> {
  for (;;) {
    const rows = await base.ownerDb.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (rows.length > 0) return;
  }
}

describe('a payout that the operator does not know', () => {
  test('money 12: a poll in flight does not undo the decision to send it again, and opens no new case', async () => {
    const payout = await lostPayout();
    const askedAt = ctx.clock.now();
    base.clock.advance(1_000);
    await decide(payout, 'send_again');
    await apply(payout, 'poll', NOT_FOUND, askedAt);
    assert.equal((await jobOf(payout))?.kind, 'submit');
    assert.deepEqual(await openCases(payout), []);
    await pass();
    assert.deepEqual(sent, [refOf(payout), refOf(payout)]);
  });

  test('money 12: a job that was written meanwhile ends with its transaction', async () => {
    const payout = await lostPayout();
    await ctx.db.query('delete from payment_jobs');
    let report: Promise<void> | undefined;
    await ctx.db.transaction(async (tx) => {
      await tx.query('select from transactions where id = $1 for update', [payout.id]);
      report = apply(payout, 'callback', SUCCEEDED);
      await untilSomebodyWaits();
      await tx.query(
        `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since) values ($1, $2, 'submit', $3, $3)`,
        [shop.holderId, payout.id, ctx.clock.now()],
      );
    });
    await report;
    assert.equal(await jobOf(payout), null);
    await pass();
    assert.equal(sent.length, 1);
  });

  test('money 12: its case closes by itself when the operator shows that it knows it', async () => {
    const failed = { state: 'failed', failureCode: 'RECIPIENT_NOT_FOUND', rawCode: '', message: '' } as const;
    for (const [source, observation, resolution] of [
      ['poll', PENDING, 'The operator knows it.'],
      ['callback', PENDING, 'The operator knows it.'],
      ['callback', failed, 'The payment is failed.'],
    ] as const) {
      const payout = await lostPayout();
      await apply(payout, source, observation);
      assert.deepEqual(await openCases(payout), []);
      const [closed] = await ctx.db.query<{ resolution: string }>(
        'select resolution from cases where transaction_id = $1',
        [payout.id],
      );
      assert.equal(closed?.resolution, resolution);
      await assert.rejects(decide(payout, 'settle_failed'), refused('not_found'));
      answerQuery = () => UNKNOWN;
    }
  });

  test('money 12: a decision asks the operator first, and is refused when it knows the payout or does not answer', async () => {
    for (const decision of ['send_again', 'settle_failed'] as const) {
      const payout = await lostPayout();
      answerQuery = () => UNKNOWN;
      await assert.rejects(decide(payout, decision), refused('operator_unavailable'));
      assert.deepEqual(await openCases(payout), ['payout_not_found']);
      answerQuery = () => PENDING;
      await assert.rejects(decide(payout, decision), refused('decision_overtaken'));
      assert.deepEqual(await openCases(payout), []);
      assert.equal((await reload(payout)).status, 'processing');
      assert.equal((await jobOf(payout))?.kind, 'query');
      answerQuery = () => UNKNOWN;
    }
  });
});

describe('the schedule of queries', () => {
  async function openCollection(): Promise<Transaction> {
    const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
    const transaction = await acceptCollection(ctx, engine, order);
    await engine.idle();
    return reload(transaction);
  }

  test('money 22: fifteen reads of the status and fifteen callbacks leave the next query where it was', async () => {
    const transaction = await openCollection();
    const planned = await jobOf(transaction);
    answerQuery = () => PENDING;
    let reads = 0;
    for (; reads < 15; reads++) {
      base.clock.advance(2_100);
      await engine.refresh(transaction, 5_000);
      await engine.idle();
      await apply(transaction, 'callback', PENDING);
    }
    assert.deepEqual(await jobOf(transaction), planned);
    answerQuery = () => ({ state: 'succeeded', receipt: 'R2' });
    await pass();
    assert.equal((await reload(transaction)).status, 'success');
  });

  test('money 22: a read in which the operator does not know it leaves the decision to the job', async () => {
    const transaction = await openCollection();
    const planned = await jobOf(transaction);
    answerQuery = () => NOT_FOUND;
    base.clock.advance(3_000);
    await engine.refresh(transaction, 5_000);
    await engine.idle();
    assert.deepEqual(await jobOf(transaction), planned);
    base.clock.advance(3_000);
    await pass();
    assert.equal((await jobOf(transaction))?.kind, 'submit');
  });
});

describe('a refund that the operator does not know', () => {
  /** A refund that was sent; the operator answered nothing, then that it does not know it. */
  async function lostRefund(asPayout: boolean): Promise<Transaction> {
    const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
    const collection = await acceptCollection(ctx, engine, order);
    await engine.idle();
    await apply(collection, 'callback', { state: 'succeeded', receipt: `C-${collection.id}` });
    const request = { collection: refOf(collection), amount: null, asPayout };
    const refund = await createRefund(ctx, idle, COMMAND_LINE, shop.holderId, request);
    await pass();
    assert.deepEqual(sent, [refOf(refund)]);
    answerQuery = () => NOT_FOUND;
    base.clock.advance(6_000);
    await pass();
    return refund;
  }

  test('money 2: is sent again under its reference where the rail refuses a known one', async () => {
    start({ refunds: 'partial' });
    const refund = await lostRefund(false);
    assert.equal((await jobOf(refund))?.kind, 'submit');
    await pass();
    assert.deepEqual(sent, [refOf(refund), refOf(refund)]);
    assert.deepEqual(await openCases(refund), []);
  });

  test('money 2: is a case where the rail does not, and where it was sent as a payout', async () => {
    for (const capabilities of [{ refunds: 'partial', idempotentSubmit: false }, { refunds: 'none' }] as const) {
      sent = [];
      answerQuery = () => UNKNOWN;
      start(capabilities);
      const refund = await lostRefund(capabilities.refunds === 'none');
      assert.equal((await jobOf(refund))?.kind, 'query');
      assert.deepEqual(await openCases(refund), ['refund_not_found']);
      await pass();
      assert.equal(sent.length, 1);
    }
  });

  test('money 6: that waits for approval is asked about after a restore before anybody decides', async () => {
    start({ refunds: 'partial' });
    const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
    const collection = await acceptCollection(ctx, engine, order);
    await engine.idle();
    await apply(collection, 'callback', { state: 'succeeded', receipt: `C-${collection.id}` });
    const request = { collection: refOf(collection), amount: null };
    const refund = await createRefund(ctx, idle, COMMAND_LINE, shop.holderId, request);
    // As it is when a second person must approve it.
    await ctx.db.query(`update refund_orders set approval = 'waiting' where transaction_id = $1`, [refund.id]);
    await ctx.db.query('delete from payment_jobs where transaction_id = $1', [refund.id]);
    await ctx.db.transaction((tx) => requeryAfterRestore(tx, ctx.clock.now()));
    const ref = refOf(refund);
    await assert.rejects(cancelRefund(ctx, COMMAND_LINE, shop.holderId, ref), refused('operator_asked_first'));
    await assert.rejects(approveRefund(ctx, idle, COMMAND_LINE, shop.holderId, ref), refused('operator_asked_first'));
    base.clock.advance(1_000);
    answerQuery = () => NOT_FOUND;
    await pass();
    assert.equal(await jobOf(refund), null);
    assert.deepEqual(sent, []);
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, ref);
    assert.equal((await reload(refund)).status, 'failed');
  });
});
