// Decisions of two people, on a real database: nothing happens by one of them, the operator is asked first, and a case
// closes when its money is even.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  readReadings,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { insertMember } from '../holders/members.ts';
import { accountKey, feeIncome, holderReceivable, suspense, walletAvailable, walletReserved } from '../ledger/chart.ts';
import { Problem } from '../platform/errors.ts';
import { NO_HOLDER, publicId } from '../platform/ids.ts';
import type { Observation, RailReply } from '../rails/rail.ts';
import { type Case, findCase, listCasesOf } from './cases.ts';
import { listDebtors, listDebts } from './debts.ts';
import { type DecisionAction, listDecisions, listProposedDecisions } from './decision-rows.ts';
import {
  approveDecision,
  type Decider,
  type DecisionRequest,
  decisionsFor,
  proposeDecision,
  rejectDecision,
} from './decisions.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { setHolderStatus } from './holder-status.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, type Transaction } from './transactions.ts';

const RAIL = 'quiet';
const DAY_MS = 86_400_000;
const SILENCE: Observation = { state: 'unknown', reason: 'no answer' };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let inbox: OperatorInbox;
let shop: Shop;
let answer: Observation;
let submits: number;
let people: { admin: Decider; second: Decider; finance: Decider };

before(async () => {
  base = await createTestContext();
});
// Work that a commit has woken must not go on in the next test, which has another engine on the same database.
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  // Open payments of other tests, whose operator is silent, would open the breaker of this one.
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  answer = SILENCE;
  submits = 0;
  const reply = async (): Promise<RailReply> => ({ observation: answer, raw: '' });
  const submit = () => {
    submits++;
    return reply();
  };
  const rail = silentRail({
    collect: submit,
    payout: submit,
    query: reply,
    readCallback: readReadings,
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  inbox = createOperatorInbox(ctx);
  shop = await createShop(ctx);
  const admin = { isAdmin: true, holderId: null };
  people = {
    admin: { ...admin, actor: await person('admin') },
    second: { ...admin, actor: await person('second') },
    finance: { isAdmin: false, holderId: shop.holderId, actor: await person('finance') },
  };
});

let persons = 0;
async function person(name: string): Promise<Decider['actor']> {
  const email = `${name}${++persons}@example.com`;
  const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name }, ctx.clock.now()));
  return { memberId: member?.id ?? 0n, name: email };
}

async function collection(): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL));
  await engine.idle();
  return transaction;
}

async function payout(): Promise<Transaction> {
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 200_000n);
  const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
  await engine.idle();
  return result.transaction;
}

/** Days pass, and nobody answers. */
async function waitInSilence(): Promise<void> {
  for (let round = 0; round < 12; round++) {
    base.clock.advance(DAY_MS / 4);
    await engine.pass();
    await engine.idle();
  }
}

async function caseOf(transaction: { id: string }, kind: string): Promise<Case> {
  const cases = await listCasesOf(ctx.db, shop.holderId, transaction.id);
  return cases.find((each) => each.kind === kind) ?? assert.fail(`no case ${kind}`);
}

function propose(each: Case, action: DecisionAction, more: Partial<DecisionRequest> = {}, by = people.finance) {
  return proposeDecision(ctx, by, each.id, {
    action,
    reason: 'The statement shows it.',
    reference: 'statement 12, line 4',
    ...more,
  });
}

async function decide(each: Case, action: DecisionAction, more: Partial<DecisionRequest> = {}, by = people.finance) {
  const decision = await propose(each, action, more, by);
  await approveDecision(ctx, engine, people.second, publicId('dec', decision.id));
  return decision;
}

async function statusOf({ id }: { id: string }): Promise<string | undefined> {
  return (await findTransaction(ctx.db, shop.holderId, id))?.status;
}

async function balance(account: Parameters<typeof accountKey>[0]): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

const available = () => balance(walletAvailable(shop.holderId, CURRENCY));

function problem(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Problem && error.code === code;
}

describe('a collection that nobody answers for', () => {
  test('money 19: is settled as success by two people, with evidence, and its case closes by itself', async () => {
    const transaction = await collection();
    await waitInSilence();
    const each = await caseOf(transaction, 'no_answer');
    assert.deepEqual(decisionsFor(each, transaction), ['settle_success', 'settle_failed', 'settle_amount']);
    await decide(each, 'settle_success');
    assert.equal(await statusOf(transaction), 'success');
    assert.equal(await available(), 99_000n);
    const closed = await findCase(ctx.db, each.id);
    assert.equal(closed?.status, 'resolved');
    assert.match(closed?.resolution ?? '', /statement 12, line 4/);
    const evidence = await ctx.db.query<{ raw: string }>(
      `select raw from evidence where transaction_id = $1 and source = 'person'`,
      [transaction.id],
    );
    assert.match(evidence[0]?.raw ?? '', /statement 12, line 4/);
  });

  test('money 19: with another amount: amount and fee are those of the money that came', async () => {
    const transaction = await collection();
    await waitInSilence();
    await decide(await caseOf(transaction, 'no_answer'), 'settle_amount', { amount: 50_000n });
    const after = await findTransaction(ctx.db, shop.holderId, transaction.id);
    assert.deepEqual([after?.status, after?.amount, after?.fee], ['success', 50_000n, 500n]);
    assert.equal(await available(), 49_500n);
  });

  test('one person alone decides nothing; the holder’s own member cannot approve', async () => {
    const transaction = await collection();
    await waitInSilence();
    const each = await caseOf(transaction, 'no_answer');
    const decision = await propose(each, 'settle_success', {}, people.admin);
    const ref = publicId('dec', decision.id);
    await assert.rejects(approveDecision(ctx, engine, people.admin, ref), problem('forbidden'));
    await assert.rejects(approveDecision(ctx, engine, people.finance, ref), problem('forbidden'));
    await assert.rejects(propose(each, 'settle_failed'), problem('invalid_params'), 'one proposal at a time');
    assert.equal(await statusOf(transaction), 'processing');
    await rejectDecision(ctx, people.admin, ref);
    assert.equal((await findCase(ctx.db, each.id))?.status, 'open');
    await decide(each, 'settle_failed');
    assert.equal(await statusOf(transaction), 'failed');
  });

  test('the operator is asked first: when it answers, its answer counts', async () => {
    const transaction = await collection();
    await waitInSilence();
    const each = await caseOf(transaction, 'no_answer');
    const decision = await propose(each, 'settle_failed');
    answer = { state: 'succeeded', receipt: 'LATE-1', amount: 100_000n, currency: CURRENCY };
    const ref = publicId('dec', decision.id);
    await assert.rejects(approveDecision(ctx, engine, people.second, ref), problem('decision_overtaken'));
    assert.equal(await statusOf(transaction), 'success');
    assert.equal((await findCase(ctx.db, each.id))?.status, 'resolved');
    await assert.rejects(approveDecision(ctx, engine, people.second, ref), problem('decision_overtaken'));
  });

  test('a proposal ends when the operator answers before anybody approves it', async () => {
    const transaction = await collection();
    await waitInSilence();
    const each = await caseOf(transaction, 'no_answer');
    await propose(each, 'settle_failed');
    answer = { state: 'succeeded', receipt: 'LATE-2', amount: 100_000n, currency: CURRENCY };
    await waitInSilence();
    assert.equal(await statusOf(transaction), 'success');
    assert.deepEqual(
      (await listDecisions(ctx.db, each.id)).map(({ status }) => status),
      ['overtaken'],
    );
    assert.deepEqual(await listProposedDecisions(ctx.db, 10), []);
  });

  test('I16: people who reversed it wrongly are contradicted when the operator reports its success', async () => {
    const transaction = await collection();
    const apply = (observation: Observation) =>
      engine.apply({ transactionId: transaction.id, source: 'callback', observation, raw: '' });
    await apply({ state: 'succeeded', receipt: 'R-reversed' });
    await apply({ state: 'failed', failureCode: 'WRONG_PIN', rawCode: '', message: '' });
    await decide(await caseOf(transaction, 'contradiction'), 'settle_reversed');
    assert.equal(await statusOf(transaction), 'reversed');
    base.clock.advance(1_000);
    const { effect } = await apply({ state: 'succeeded', receipt: 'R-reversed' });
    assert.equal(effect, 'case');
    const open = (await listCasesOf(ctx.db, shop.holderId, transaction.id)).filter((each) => each.status === 'open');
    assert.deepEqual(
      open.map((each) => each.kind),
      ['contradiction'],
    );
  });

  test('it is not given up while the operator says that it is working on it, within a day of its submit', async () => {
    const transaction = await collection();
    await waitInSilence();
    const decision = await propose(await caseOf(transaction, 'no_answer'), 'settle_failed');
    const ref = publicId('dec', decision.id);
    const sentAt = new Date(base.clock.millis() - 3_600_000);
    await ctx.db.query('update payment_jobs set submitted_at = $2 where transaction_id = $1', [transaction.id, sentAt]);
    answer = { state: 'pending', railReference: 'op-1' };
    await assert.rejects(approveDecision(ctx, engine, people.second, ref), problem('operator_unavailable'));
    assert.equal(await statusOf(transaction), 'processing');
    base.clock.advance(DAY_MS);
    await approveDecision(ctx, engine, people.second, ref);
    assert.equal(await statusOf(transaction), 'failed');
  });

  test('a reason and a reference are needed, and only what fits the case is possible', async () => {
    const transaction = await collection();
    await waitInSilence();
    const each = await caseOf(transaction, 'no_answer');
    await assert.rejects(propose(each, 'settle_success', { reference: '' }), problem('invalid_params'));
    await assert.rejects(propose(each, 'settle_success', { reason: '' }), problem('invalid_params'));
    await assert.rejects(propose(each, 'settle_amount'), problem('invalid_params'));
    await assert.rejects(propose(each, 'write_off'), problem('invalid_params'));
    const stranger = { ...people.finance, holderId: shop.holderId + 1n };
    await assert.rejects(propose(each, 'settle_success', {}, stranger), problem('not_found'));
  });
});

test('I24: a reversal that the operator reports while people settle what came before is applied after it', async () => {
  const used = await collection();
  answer = { state: 'succeeded', receipt: 'TWICE', amount: 100_000n, currency: CURRENCY };
  base.clock.advance(60_000);
  await engine.pass();
  await engine.idle();
  assert.equal(await statusOf(used), 'success');
  answer = SILENCE;
  const second = await collection();
  answer = { state: 'reversed', receipt: 'TWICE', rawCode: '', message: '' };
  base.clock.advance(60_000);
  await engine.pass();
  await engine.idle();
  await decide(await caseOf(second, 'receipt_used'), 'settle_success');
  const cases = await listCasesOf(ctx.db, shop.holderId, second.id);
  const isKnown = cases.some((each) => each.status === 'open');
  assert.ok(isKnown || (await statusOf(second)) === 'reversed', 'the reversal is applied, or people are told of it');
});

describe('a payout', () => {
  test('money 12: that the operator does not know is sent again, once, or released', async () => {
    const transaction = await payout();
    answer = { state: 'unknown', reason: 'not found', definitelyNotFound: true };
    base.clock.advance(60_000);
    await engine.pass();
    await engine.idle();
    await decide(await caseOf(transaction, 'payout_not_found'), 'send_again');
    await engine.idle();
    assert.equal(submits, 2);
    base.clock.advance(60_000);
    await engine.pass();
    await engine.idle();
    const cases = await listCasesOf(ctx.db, shop.holderId, transaction.id);
    const again = cases.find((each) => each.status === 'open') ?? assert.fail();
    await decide(again, 'settle_failed');
    assert.equal(await statusOf(transaction), 'failed');
    assert.deepEqual([await available(), await balance(walletReserved(shop.holderId, CURRENCY))], [200_000n, 0n]);
  });

  test('money 18: of a suspended holder is not sent again; its money can be released', async () => {
    const transaction = await payout();
    answer = { state: 'unknown', reason: 'not found', definitelyNotFound: true };
    base.clock.advance(60_000);
    await engine.pass();
    await engine.idle();
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    const each = await caseOf(transaction, 'payout_not_found');
    const again = await propose(each, 'send_again');
    const ref = publicId('dec', again.id);
    await assert.rejects(approveDecision(ctx, engine, people.second, ref), problem('account_suspended'));
    assert.equal(submits, 1);
    await rejectDecision(ctx, people.second, ref);
    await decide(each, 'settle_failed');
    assert.equal(await statusOf(transaction), 'failed');
  });

  test('money 12: that the operator knows after all is neither released nor sent again', async () => {
    const transaction = await payout();
    answer = { state: 'unknown', reason: 'not found', definitelyNotFound: true };
    base.clock.advance(60_000);
    await engine.pass();
    await engine.idle();
    const each = await caseOf(transaction, 'payout_not_found');
    const decision = await propose(each, 'settle_failed');
    answer = { state: 'pending', railReference: 'op-7' };
    await assert.rejects(
      approveDecision(ctx, engine, people.second, publicId('dec', decision.id)),
      problem('decision_overtaken'),
    );
    assert.equal(await statusOf(transaction), 'processing');
    assert.equal((await findCase(ctx.db, each.id))?.status, 'resolved');
  });
});

describe('money in suspense', () => {
  async function strangerPays(receipt: string): Promise<Case> {
    const reading = {
      kind: 'payment_received',
      accountReference: `nobody-${receipt}`,
      amount: '70000',
      currency: CURRENCY,
      receipt,
      payer: null,
    };
    assert.equal((await inbox.receive(operatorMessage(RAIL, JSON.stringify([reading])))).kind, 'kept');
    await inbox.idle();
    const [row] = await ctx.db.query<Case>(
      `select * from cases where holder_id = 0 and kind = 'unknown_reference' and detail->>'receipt' = $1`,
      [receipt],
    );
    return row ?? assert.fail();
  }

  test('money 10, D4: is credited to a holder, once, and suspense is even', async () => {
    const before = await balance(suspense(NO_HOLDER, CURRENCY));
    const each = await strangerPays('S-1');
    assert.equal((await balance(suspense(NO_HOLDER, CURRENCY))) - before, 70_000n);
    await decide(each, 'credit_holder', { toHolder: shop.holderId }, people.admin);
    assert.equal(await balance(suspense(NO_HOLDER, CURRENCY)), before);
    assert.equal(await available(), 70_000n);
    assert.equal((await findCase(ctx.db, each.id))?.status, 'resolved');
  });

  test('is given back to the payer, or taken to income', async () => {
    const before = await balance(suspense(NO_HOLDER, CURRENCY));
    await decide(await strangerPays('S-2'), 'return_to_payer', {}, people.admin);
    const income = await balance(feeIncome(NO_HOLDER, CURRENCY));
    await decide(await strangerPays('S-3'), 'take_to_income', {}, people.admin);
    assert.equal(await balance(suspense(NO_HOLDER, CURRENCY)), before);
    assert.equal((await balance(feeIncome(NO_HOLDER, CURRENCY))) - income, 70_000n);
  });
});

describe('money in suspense that the operator takes back after people decided', () => {
  const money = { amount: '70000', currency: CURRENCY };

  async function say(reference: string, observation: object): Promise<void> {
    const body = JSON.stringify([{ kind: 'proof', reference, direction: 'collection', observation }]);
    assert.equal((await inbox.receive(operatorMessage(RAIL, body))).kind, 'kept');
    await inbox.idle();
  }

  /** An unknown payment that two people decided about, and that the operator then reverses, more than once. */
  async function reverseAfter(action: DecisionAction, more: Partial<DecisionRequest>): Promise<string> {
    const reference = `UNKNOWN-${++persons}`;
    const receipt = `T-${reference}`;
    await say(reference, { state: 'succeeded', receipt, ...money });
    const [each] = await ctx.db.query<Case>(`select * from cases where detail->>'reference' = $1`, [reference]);
    assert.ok(each);
    await decide(each, action, more, people.admin);
    const reversal = { state: 'reversed', receipt, rawCode: '', message: '', ...money };
    await say(reference, reversal);
    await say(reference, reversal);
    await say(reference, { ...reversal, receipt: null });
    return reference;
  }

  async function clearing(): Promise<bigint> {
    const [row] = await ctx.db.query<{ balance: bigint }>(
      `select coalesce(sum(balance), 0)::bigint as balance from ledger_accounts where kind = 'operator_clearing'`,
    );
    return row?.balance ?? 0n;
  }

  test('review: it leaves the wallet that it was credited to, and what was spent of it is a debt', async () => {
    const before = await clearing();
    const reference = await reverseAfter('credit_holder', { toHolder: shop.holderId });
    assert.equal(await available(), 0n);
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), 0n);
    assert.equal(await clearing(), before, 'the operator has nothing of it any more');
    const open = await ctx.db.query(`select from cases where detail->>'reference' = $1 and status = 'open'`, [
      reference,
    ]);
    assert.equal(open.length, 1, 'people are told');
    const other = await createShop(ctx);
    await ctx.db.query(`update holders set status = 'suspended' where id = $1`, [other.holderId]);
    await reverseAfter('credit_holder', { toHolder: other.holderId });
    assert.equal(await clearing(), before, 'also where the holder was suspended');
  });

  test('review: what the holder has spent of it is a debt, recovered from its next money', async () => {
    const reference = `UNKNOWN-${++persons}`;
    await say(reference, { state: 'succeeded', receipt: null, ...money });
    const [each] = await ctx.db.query<Case>(`select * from cases where detail->>'reference' = $1`, [reference]);
    assert.ok(each);
    await decide(each, 'credit_holder', { toHolder: shop.holderId }, people.admin);
    const reading = await readPayout(ctx, shop.holderId, { amount: '600', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    const left = await available();
    await say(reference, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), left - 70_000n);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 100_000n);
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), 0n);
  });

  test('review: it leaves the income that it was taken to; what was returned to the payer is not taken twice', async () => {
    const before = { income: await balance(feeIncome(NO_HOLDER, CURRENCY)), clearing: await clearing() };
    await reverseAfter('take_to_income', {});
    await reverseAfter('return_to_payer', {});
    assert.equal(await balance(feeIncome(NO_HOLDER, CURRENCY)), before.income);
    assert.equal(await clearing(), before.clearing);
  });

  test('review: a holder that is being closed gets no money by a decision', async () => {
    const reference = `UNKNOWN-${++persons}`;
    await say(reference, { state: 'succeeded', receipt: null, ...money });
    const [each] = await ctx.db.query<Case>(`select * from cases where detail->>'reference' = $1`, [reference]);
    assert.ok(each);
    const decision = await propose(each, 'credit_holder', { toHolder: shop.holderId }, people.admin);
    let approving: Promise<unknown> = Promise.resolve();
    await ctx.db.transaction(async (tx) => {
      await tx.query('select from holders where id = $1 for no key update', [shop.holderId]);
      approving = approveDecision(ctx, engine, people.second, publicId('dec', decision.id));
      approving.catch(() => undefined);
      const waitsForLock = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      const isCredited = async () => (await available()) > 0n;
      while ((await ctx.ownerDb.query(waitsForLock)).length === 0) if (await isCredited()) break;
      await tx.query(`update holders set status = 'closed' where id = $1`, [shop.holderId]);
    });
    await assert.rejects(approving, problem('invalid_params'));
    assert.equal(await available(), 0n);
    await approveDecision(ctx, engine, people.second, publicId('dec', decision.id)).catch(() => undefined);
    await rejectDecision(ctx, people.admin, publicId('dec', decision.id));
    await decide(each, 'return_to_payer', {}, people.admin);
  });
});

describe('a debt', () => {
  test('review: write-off and recovery at once: the debt ends even, whichever comes first', async () => {
    for (let round = 0; round < 8; round++) {
      const debtor = await createShop(ctx);
      const owner = { holderId: debtor.holderId, integrationId: debtor.id };
      const debts: Case[] = [];
      const paidThenReversed = async () => {
        const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, RAIL));
        await engine.idle();
        const apply = (observation: Observation) =>
          ctx.db.transaction((tx) =>
            applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
          );
        await apply({ state: 'succeeded', receipt: `W-${transaction.id}` });
        const order = await readPayout(ctx, debtor.holderId, {
          amount: '980',
          currency: CURRENCY,
          mobile: '256772123456',
        });
        assert.ok(order.ok);
        const [paidOut] = await orderPayouts(ctx, engine, COMMAND_LINE, debtor.holderId, [order.order]);
        await apply({ state: 'reversed', receipt: null, rawCode: '', message: '' });
        const [debt] = (await listCasesOf(ctx.db, debtor.holderId, transaction.id)).filter(
          ({ kind }) => kind === 'debt',
        );
        if (debt) debts.push(debt);
        return paidOut;
      };
      await paidThenReversed();
      const [debt] = debts;
      assert.ok(debt);
      const decision = await propose(debt, 'write_off', {}, people.admin);
      await Promise.allSettled([
        approveDecision(ctx, engine, people.second, publicId('dec', decision.id)),
        topUpSandbox(ctx, COMMAND_LINE, debtor.holderId, CURRENCY, 10_000n),
        topUpSandbox(ctx, COMMAND_LINE, debtor.holderId, CURRENCY, 20_000n),
      ]);
      assert.equal(await balance(holderReceivable(debtor.holderId, CURRENCY)), 0n);
      assert.equal((await findCase(ctx.db, debt.id))?.status, 'resolved');
    }
  });

  test('money 8: is written off by two admins; the debtor cannot', async () => {
    const transaction = await collection();
    const apply = (observation: Observation) =>
      ctx.db.transaction((tx) =>
        applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
      );
    await apply({ state: 'succeeded', receipt: `D-${transaction.id}` });
    const reading = await readPayout(ctx, shop.holderId, { amount: '980', currency: CURRENCY, mobile: '256772123456' });
    assert.ok(reading.ok);
    await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await apply({ state: 'reversed', receipt: null, rawCode: '', message: '' });
    const each = await caseOf(transaction, 'debt');
    assert.deepEqual(decisionsFor(each, transaction), ['write_off']);
    const owed = { currency: CURRENCY, amount: each.amount, since: each.opened_at };
    assert.deepEqual(await listDebts(ctx.db, shop.holderId), [owed]);
    assert.deepEqual(await listDebtors(ctx.db, 10), [{ holder_id: shop.holderId, ...owed }]);
    await assert.rejects(propose(each, 'write_off'), problem('forbidden'));
    await decide(each, 'write_off', {}, people.admin);
    assert.deepEqual(await listDebtors(ctx.db, 10), []);
    assert.equal(await balance(holderReceivable(shop.holderId, CURRENCY)), 0n);
    assert.equal((await findCase(ctx.db, each.id))?.status, 'resolved');
  });
});
