// Disputes on a real database: the amount is held at once, two people decide, and what is given back is given back once.

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
import { insertMember } from '../holders/members.ts';
import {
  accountKey,
  disputeShortfall,
  feeIncome,
  holderReceivable,
  operatorClearing,
  walletAvailable,
  walletDisputed,
  walletHeld,
} from '../ledger/chart.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { Problem } from '../platform/errors.ts';
import { publicId } from '../platform/ids.ts';
import type { Observation } from '../rails/rail.ts';
import { findCase, listCasesOf } from './cases.ts';
import type { DecisionAction } from './decision-rows.ts';
import { approveDecision, type Decider, decisionsFor, proposeDecision } from './decisions.ts';
import { applyDisputeNotice } from './dispute-notices.ts';
import {
  addDisputeEvidence,
  type Dispute,
  type DisputeRequest,
  findDispute,
  listDisputeEvidence,
  listDisputes,
  openDispute,
} from './disputes.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { setHolderStatus } from './holder-status.ts';
import { cancelRefund } from './order-decisions.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { createRefund } from './refunds.ts';
import { setReserveRule } from './rolling-reserve.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const AMOUNT = 100_000n;
const FEE = 1_000n;
const NET = AMOUNT - FEE;
const REVERSED: Observation = { state: 'reversed', receipt: null, rawCode: '', message: '' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let first: Decider;
let second: Decider;

before(async () => {
  base = await createTestContext();
});
beforeEach(async () => {
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  ctx = withPayments(base, silentRail({ capabilities: { ...CAPABILITIES, refunds: 'partial' } }));
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
  first = { isAdmin: true, holderId: null, actor: await person('first') };
  second = { isAdmin: true, holderId: null, actor: await person('second') };
});
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

let persons = 0;
async function person(name: string): Promise<Decider['actor']> {
  const email = `${name}${++persons}@example.com`;
  const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name }, ctx.clock.now()));
  return { memberId: member?.id ?? 0n, name: email };
}

function apply(transaction: { id: string }, observation: Observation) {
  return ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
  );
}

async function collected(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const collection = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL, { amount: AMOUNT, fee: FEE }));
  await engine.idle();
  await apply(collection, { state: 'succeeded', receipt: `C-${collection.id}` });
  return collection;
}

function dispute(collection: Transaction, changes: Partial<DisputeRequest> = {}): Promise<Dispute> {
  return openDispute(ctx, COMMAND_LINE, {
    collection: refOf(collection),
    amount: null,
    reason: 'never delivered',
    reference: null,
    answerBy: null,
    ...changes,
  });
}

async function decide({ case_id: caseId }: Dispute, action: DecisionAction): Promise<void> {
  const request = { action, reason: 'as the operator says', reference: 'letter 7' };
  const proposed = await proposeDecision(ctx, first, caseId, request);
  await approveDecision(ctx, engine, second, publicId('dec', proposed.id));
}

/** Reserves money for a payout, so that the wallet no longer has it. */
async function spend(amount: string): Promise<void> {
  const reading = await readPayout(ctx, shop.holderId, { amount, currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
}

async function balance(account: Parameters<typeof accountKey>[0]): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

const available = () => balance(walletAvailable(shop.holderId, CURRENCY));
const disputed = () => balance(walletDisputed(shop.holderId, CURRENCY));
const short = async () => -(await balance(disputeShortfall(shop.holderId, CURRENCY)));
const debt = async () => -(await balance(holderReceivable(shop.holderId, CURRENCY)));
const fees = () => balance(feeIncome(shop.holderId, CURRENCY));
const atOperator = async () => -(await balance(operatorClearing(shop.holderId, RAIL, CURRENCY)));
const statusOf = async ({ id }: { id: string }) => (await findTransaction(ctx.db, shop.holderId, id))?.status;

async function eventsOf({ id }: { id: string }): Promise<string[]> {
  const rows = await ctx.db.query<{ type: string }>('select type from events where transaction_id = $1', [id]);
  return rows.map((row) => row.type).toSorted();
}

describe('a dispute', () => {
  test('holds its amount at once, and a refund cannot give it back beside it', async () => {
    const collection = await collected();
    const opened = await dispute(collection, { amount: 60_000n });
    assert.deepEqual([await available(), await disputed()], [NET - 60_000n, 60_000n]);
    const [wallet] = await balancesOf(ctx.db, shop.holderId, { currency: CURRENCY });
    assert.deepEqual([wallet?.held, wallet?.balance], [60_000n, NET]);
    await assert.rejects(
      createRefund(ctx, engine, COMMAND_LINE, shop.holderId, { collection: refOf(collection), amount: 50_000n }),
      (error) => error instanceof Problem && error.code === 'refund_too_large',
    );
    const each = await findCase(ctx.db, opened.case_id);
    assert.deepEqual([each?.kind, each?.status, each?.amount], ['dispute', 'open', 60_000n]);
    assert.equal((await listDisputes(ctx.db, shop.holderId, 'open')).length, 1);
  });

  test('that is won returns what it held, and the payment can be refunded again', async () => {
    const collection = await collected();
    const opened = await dispute(collection);
    await decide(opened, 'dispute_won');
    assert.deepEqual([await available(), await disputed(), await fees()], [NET, 0n, FEE]);
    assert.equal((await findCase(ctx.db, opened.case_id))?.status, 'resolved');
    assert.equal(await statusOf(collection), 'success');
    await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, { collection: refOf(collection), amount: null });
  });

  test('that is lost gives the whole payment back with its fee, and the payment is reversed', async () => {
    const collection = await collected();
    const opened = await dispute(collection, { reference: 'NOTICE-1' });
    assert.equal(opened.source, 'operator');
    await decide(opened, 'dispute_lost');
    assert.deepEqual([await available(), await disputed(), await fees(), await atOperator()], [0n, 0n, 0n, 0n]);
    assert.equal(await statusOf(collection), 'reversed');
    assert.deepEqual(await eventsOf(collection), ['collection.reversed', 'collection.success']);
    // The operator reports what people have decided already: nothing more is taken.
    await apply(collection, REVERSED);
    assert.equal(await atOperator(), 0n);
  });

  test('about a part keeps the fee, and the rest can be disputed or refunded', async () => {
    const collection = await collected();
    await decide(await dispute(collection, { amount: 40_000n }), 'dispute_lost');
    assert.equal(await statusOf(collection), 'success');
    assert.deepEqual([await available(), await fees(), await atOperator()], [NET - 40_000n, FEE, 60_000n]);
    await assert.rejects(dispute(collection, { amount: 60_100n }), Problem);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, FEE);
    await decide(await dispute(collection), 'dispute_lost');
    assert.equal(await statusOf(collection), 'reversed');
    assert.equal(await atOperator(), 0n);
  });

  test('that the wallet cannot cover takes the next credits, and is a debt only when it is lost', async () => {
    const collection = await collected();
    await spend('900');
    const left = await available();
    const opened = await dispute(collection);
    assert.deepEqual([await available(), await short(), await debt()], [0n, NET - left, 0n]);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 30_000n);
    assert.deepEqual([await available(), await short()], [0n, NET - left - 30_000n]);
    assert.equal((await findDispute(ctx.db, opened.case_id))?.short, NET - left - 30_000n);
    await decide(opened, 'dispute_lost');
    assert.deepEqual([await disputed(), await short(), await debt()], [0n, 0n, NET - left - 30_000n]);
    assert.equal(await statusOf(collection), 'reversed');
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, AMOUNT);
    assert.equal(await debt(), 0n);
  });

  test('that the wallet could not cover and that is won returns only what it held', async () => {
    const collection = await collected();
    await spend('900');
    const left = await available();
    const opened = await dispute(collection);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 30_000n);
    await decide(opened, 'dispute_won');
    assert.deepEqual([await available(), await disputed(), await short(), await debt()], [left + 30_000n, 0n, 0n, 0n]);
  });

  test('that is lost after the money was withdrawn takes the rolling reserve before there is a debt', async () => {
    await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 2_000n, days: 30 });
    const collection = await collected();
    await spend('700');
    const left = await available();
    const opened = await dispute(collection);
    await decide(opened, 'dispute_lost');
    assert.equal(await balance(walletHeld(shop.holderId, CURRENCY)), 0n);
    assert.equal(await debt(), NET - 20_000n - left);
  });

  test('raced by credits and by its own end, loses and makes no money', async () => {
    const collection = await collected();
    await spend('900');
    const opened = await dispute(collection);
    const proposed = await proposeDecision(ctx, first, opened.case_id, {
      action: 'dispute_lost',
      reason: 'as the operator says',
      reference: 'letter 8',
    });
    const ref = publicId('dec', proposed.id);
    const results = await Promise.allSettled([
      topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 20_000n),
      approveDecision(ctx, engine, second, ref),
      approveDecision(ctx, engine, second, ref),
      topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 20_000n),
      collected(),
    ]);
    const approvals = [results[1], results[2]].filter((result) => result?.status === 'fulfilled');
    assert.equal(approvals.length, 1);
    assert.deepEqual([await disputed(), await short()], [0n, 0n]);
    assert.equal(await atOperator(), AMOUNT, 'one payment was given back, one stays');
  });

  test('an operator that reverses the payment meanwhile opens a case: it may be the same money', async () => {
    const collection = await collected();
    const opened = await dispute(collection);
    await apply(collection, REVERSED);
    assert.equal(await statusOf(collection), 'success');
    assert.equal(await atOperator(), AMOUNT);
    await decide(opened, 'dispute_lost');
    assert.equal(await atOperator(), 0n);
  });

  test('that is open lets a reversal that people settle wait, and says so', async () => {
    const collection = await collected();
    const opened = await dispute(collection, { amount: 30_000n });
    await apply(collection, REVERSED);
    const cases = await listCasesOf(ctx.db, shop.holderId, collection.id);
    const contradiction = cases.find(({ kind }) => kind === 'contradiction');
    const request = { action: 'settle_reversed', reason: 'the statement shows it', reference: 'line 4' } as const;
    const proposed = await proposeDecision(ctx, first, contradiction?.id ?? '', request);
    const approve = () => approveDecision(ctx, engine, second, publicId('dec', proposed.id));
    await assert.rejects(approve(), /A dispute of this payment is open/);
    await decide(opened, 'dispute_won');
    await approve();
    assert.deepEqual([await statusOf(collection), await available(), await atOperator()], ['reversed', 0n, 0n]);
  });

  test('is decided by two people, and offers nothing that would give the money back twice', async () => {
    const collection = await collected();
    const opened = await dispute(collection);
    const each = await findCase(ctx.db, opened.case_id);
    assert.ok(each);
    const now = await findTransaction(ctx.db, shop.holderId, collection.id);
    assert.ok(now);
    assert.deepEqual(decisionsFor(each, now), ['dispute_won', 'dispute_lost']);
    assert.deepEqual(decisionsFor(each, { ...now, status: 'reversed' }), ['dispute_won']);
    const proposed = await proposeDecision(ctx, first, opened.case_id, {
      action: 'dispute_lost',
      reason: 'as the operator says',
      reference: 'letter 9',
    });
    await assert.rejects(approveDecision(ctx, engine, first, publicId('dec', proposed.id)), Problem);
    assert.equal(await disputed(), NET);
  });

  test('is recorded once for each notice, and only about a successful payment', async () => {
    const collection = await collected();
    await dispute(collection, { amount: 10_000n, reference: 'NOTICE-2' });
    await assert.rejects(dispute(collection, { amount: 10_000n, reference: 'NOTICE-2' }), Problem);
    assert.equal(await disputed(), 10_000n, 'the second one held nothing');
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const open = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL, { amount: AMOUNT, fee: FEE }));
    await engine.idle();
    await assert.rejects(dispute(open), Problem);
  });

  test('that the operator wins after a refund succeeded late takes the money a second time', async () => {
    const collection = await collected();
    const failed = await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, {
      collection: refOf(collection),
      amount: null,
    });
    await engine.idle();
    await apply(failed, { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' });
    const opened = await dispute(collection, { reference: 'NOTICE-LATE' });
    await apply(failed, { state: 'succeeded', receipt: `R-${failed.id}` });
    assert.equal(await statusOf(collection), 'reversed');
    const notice = { id: 'NOTICE-LATE', state: 'lost', amount: null, currency: null } as const;
    const said = { ...notice, reason: '', message: 'The bank took it.', answerBy: null };
    const report = { rail: RAIL, transactionId: collection.id, notice: said, raw: '' };
    await ctx.db.transaction((tx) => applyDisputeNotice(tx, ctx, report));
    assert.equal((await findDispute(ctx.db, opened.case_id))?.status, 'lost');
    assert.deepEqual([await disputed(), await atOperator(), await debt()], [0n, -AMOUNT, AMOUNT]);
  });

  test('that the operator opens while a refund is not sent yet keeps that refund back', async () => {
    const collection = await collected();
    const request = { collection: refOf(collection), amount: 60_000n };
    const refund = await createRefund(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, request);
    const open = { id: 'NOTICE-3', state: 'open', amount: null, currency: null, answerBy: null } as const;
    const notice = { ...open, reason: 'fraud', message: 'The bank asks for it.' };
    const tell = () =>
      ctx.db.transaction((tx) =>
        applyDisputeNotice(tx, ctx, { rail: RAIL, transactionId: collection.id, notice, raw: '' }),
      );
    await tell();
    assert.equal((await listDisputes(ctx.db, shop.holderId, 'open'))[0]?.amount, AMOUNT - 60_000n);
    await engine.pass();
    await engine.idle();
    assert.equal(await statusOf(refund), 'pending', 'it would be given back twice');
    const kinds = async (of: Transaction) => (await listCasesOf(ctx.db, shop.holderId, of.id)).map(({ kind }) => kind);
    assert.deepEqual((await kinds(collection)).toSorted(), ['contradiction', 'dispute']);

    // The refund takes all of it: nothing can be held before people have cancelled it.
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, AMOUNT);
    const whole = await collected();
    const all = { collection: refOf(whole), amount: null };
    const waiting = await createRefund(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, all);
    const tellAgain = { rail: RAIL, transactionId: whole.id, notice: { ...notice, id: 'NOTICE-4' }, raw: '' };
    for (const _ of [1, 2]) await ctx.db.transaction((tx) => applyDisputeNotice(tx, ctx, tellAgain));
    assert.deepEqual(await kinds(whole), ['contradiction']);
    await engine.pass();
    await engine.idle();
    assert.equal(await statusOf(waiting), 'pending');
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(waiting));
    await ctx.db.transaction((tx) => applyDisputeNotice(tx, ctx, tellAgain));
    assert.deepEqual((await kinds(whole)).toSorted(), ['contradiction', 'dispute'], 'a reminder opens it');
  });

  test('takes evidence of its own holder until it has ended, and keeps the holder open', async () => {
    const collection = await collected();
    const opened = await dispute(collection);
    const document = { type: 'text/plain', bytes: Buffer.from('signed by the customer') } as const;
    await addDisputeEvidence(ctx, COMMAND_LINE, shop.holderId, opened.case_id, { note: 'delivered', document });
    await assert.rejects(
      addDisputeEvidence(ctx, COMMAND_LINE, shop.holderId + 1n, opened.case_id, { note: 'mine', document: null }),
      Problem,
    );
    const [evidence] = await listDisputeEvidence(ctx.db, opened.case_id);
    assert.deepEqual([evidence?.note, evidence?.document_type], ['delivered', 'text/plain']);
    await assert.rejects(setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed'), /is held/);
    await decide(opened, 'dispute_won');
    await assert.rejects(
      addDisputeEvidence(ctx, COMMAND_LINE, null, opened.case_id, { note: 'too late', document: null }),
      Problem,
    );
  });
});
