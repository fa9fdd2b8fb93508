// People, operators and the ledger at the same moment, on a real database: locks are taken in one order, nothing that another
// transaction wrote meanwhile is overlooked, and several outcomes of one batch are as good as one after the other.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { differencesOf, paid } from '../../test/books.ts';
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
import { accountKey, walletAvailable } from '../ledger/chart.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { publicId } from '../platform/ids.ts';
import type { Observation, RailCapabilities } from '../rails/rail.ts';
import type { CollectionOrder } from './accept.ts';
import { type Case, listCasesOf, openCases } from './cases.ts';
import type { DecisionAction } from './decision-rows.ts';
import { approveDecision, type Decider, type DecisionRequest, decisionsFor, proposeDecision } from './decisions.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { approveRefund, cancelRefund } from './order-decisions.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import type { Refund } from './refund-orders.ts';
import { createRefund } from './refunds.ts';
import type { CaseKind } from './states.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const FAILED: Observation = { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '7', message: '' };
const REVERSED: Observation = { state: 'reversed', receipt: null, rawCode: '', message: '' };
const SILENCE: Observation = { state: 'unknown', reason: 'no answer' };
const DAY_MS = 86_400_000;

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let answer: Observation;
let refunds: RailCapabilities['refunds'];
/** The references that were sent to the operator. */
let sent: string[];
let first: Decider;
let second: Decider;

before(async () => {
  base = await createTestContext({ ROLE: 'api' });
});
// Work that a commit has woken must not go on in the next test, which has another engine on the same database.
afterEach(() => engine.idle());
after(async () => {
  const differences = await differencesOf(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  answer = SILENCE;
  sent = [];
  refunds = 'partial';
  const reply = async () => ({ observation: answer, raw: '' });
  const send = ({ reference }: { reference: string }) => {
    sent.push(reference);
    return reply();
  };
  const capabilities = {
    ...CAPABILITIES,
    get refunds() {
      return refunds;
    },
  };
  ctx = withPayments(base, silentRail({ capabilities, collect: send, payout: send, refund: send, query: reply }));
  engine = { ...createPaymentEngine(ctx), wake: () => undefined };
  shop = await createShop(ctx);
  first = { isAdmin: true, holderId: null, actor: await person('first') };
  second = { isAdmin: true, holderId: null, actor: await person('second') };
});

async function person(name: string): Promise<Decider['actor']> {
  const email = `${name}@${shop.clientId}`;
  const member = await ctx.db.transaction((tx) => insertMember(tx, { email, name }, ctx.clock.now()));
  return { memberId: member?.id ?? 0n, name: email };
}

function see(...seen: [{ id: string }, Observation][]) {
  base.clock.advance(1_000);
  const outcomes = seen.map(([{ id }, observation]) => ({
    transactionId: id,
    source: 'callback' as const,
    observation,
    raw: '',
  }));
  return ctx.db.transaction((tx) => applyOutcomes(tx, ctx, outcomes));
}

function collect(changes: Partial<CollectionOrder> = {}): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  return acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', changes));
}

async function collected(): Promise<Transaction> {
  const collection = await collect();
  await see([collection, paid(collection)]);
  return collection;
}

function refund(collection: Transaction, amount: bigint | null = null): Promise<Refund> {
  return createRefund(ctx, engine, COMMAND_LINE, shop.holderId, { collection: refOf(collection), amount });
}

async function payOut(amount: string): Promise<Transaction> {
  const reading = await readPayout(ctx, shop.holderId, { amount, currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  // The wallet may be empty by then: a reversal was faster.
  if (!result?.ok) throw new Problem('overdraft');
  return result.transaction;
}

async function statusOf({ id }: { id: string }): Promise<string | undefined> {
  return (await findTransaction(ctx.db, shop.holderId, id))?.status;
}

function casesOf({ id }: { id: string }): Promise<Case[]> {
  return listCasesOf(ctx.db, shop.holderId, id);
}

async function openKinds(transaction: { id: string }): Promise<string[]> {
  return (await casesOf(transaction)).filter(({ status }) => status === 'open').map(({ kind }) => kind);
}

function openCase(tx: Tx, { id }: { id: string }, kind: CaseKind): Promise<void> {
  return openCases(tx, ctx, [{ holderId: shop.holderId, transactionId: id, kind, detail: {} }]);
}

async function caseOf(transaction: { id: string }, kind: string): Promise<Case> {
  return (await casesOf(transaction)).find((each) => each.kind === kind) ?? assert.fail(`no case ${kind}`);
}

async function propose(each: Case, action: DecisionAction, more: Partial<DecisionRequest> = {}): Promise<string> {
  const evidence = { reason: 'The statement shows it.', reference: 'line 4' };
  const decision = await proposeDecision(ctx, first, each.id, { action, ...evidence, ...more });
  return publicId('dec', decision.id);
}

/** Resolves when `count` statements of this database wait for a lock. */
async function blocked(count = 1): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    const [row] = await base.ownerDb.query<{ waiting: bigint }>(
      `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (Number(row?.waiting ?? 0n) >= count) return;
    await wait(5);
  }
  assert.fail('nobody waits for a lock');
}

/** Another transaction that has locked a row, and locks a second one while `work` waits for the first. */
async function meanwhile(lockFirst: Lock, lockSecond: Lock, work: () => Promise<unknown>): Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  const held = ctx.db.transaction(async (tx) => {
    await tx.query(`select from ${lockFirst[0]} where ${lockFirst[1]} = $1 for no key update`, [lockFirst[2]]);
    running = work();
    await Promise.race([blocked(), running]);
    // Refused at once where `work` holds it: then each would wait for the other. Not tried again.
    await tx
      .query(`select from ${lockSecond[0]} where ${lockSecond[1]} = $1 for no key update nowait`, [lockSecond[2]])
      .catch((error: unknown) => {
        throw new Error(`a deadlock: ${String(error)}`);
      });
  });
  const [locked] = await Promise.allSettled([held, held.catch(() => undefined).then(() => running)]);
  if (locked.status === 'rejected') throw locked.reason;
  await running;
}

type Lock = [table: string, column: string, value: unknown];

describe('locks are taken in one order', () => {
  test('a decision about a refund and the operator, which locks the collection first', async () => {
    const collection = await collected();
    const part = await refund(collection, 10_000n);
    await ctx.db.transaction((tx) => openCase(tx, part, 'no_answer'));
    const ref = await propose(await caseOf(part, 'no_answer'), 'settle_failed');
    const inTransactions = (id: string): Lock => ['transactions', 'id', id];
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const careful = {
      ...engine,
      async apply(outcome: Parameters<PaymentEngine['apply']>[0]) {
        const applied = await engine.apply(outcome);
        asked.resolve();
        await goOn.promise;
        return applied;
      },
    };
    const approving = approveDecision(ctx, careful, second, ref);
    await asked.promise;
    await meanwhile(inTransactions(collection.id), inTransactions(part.id), () => {
      goOn.resolve();
      return approving;
    });
    assert.equal(await statusOf(part), 'failed');
  });

  test('a debt that is written off and a credit that recovers it', async () => {
    const collection = await collected();
    await see([await payOut('900'), { state: 'succeeded', receipt: null }]);
    await see([collection, REVERSED]);
    const each = await caseOf(collection, 'debt');
    const ref = await propose(each, 'write_off');
    const wallet: Lock = ['ledger_accounts', 'key', accountKey(walletAvailable(shop.holderId, CURRENCY))];
    await meanwhile(wallet, ['cases', 'id', each.id], () => approveDecision(ctx, engine, second, ref));
    assert.deepEqual(await openKinds(collection), []);
  });
});

describe('what another transaction wrote while this one waited', () => {
  test('the operator’s answer closes a case that was opened meanwhile', async () => {
    const collection = await collect();
    let answered: Promise<unknown> = Promise.resolve();
    await ctx.db.transaction(async (tx) => {
      await tx.query(`update transactions set updated_at = updated_at where id = $1`, [collection.id]);
      answered = see([collection, paid(collection)]);
      await blocked();
      await openCase(tx, collection, 'no_answer');
    });
    await answered;
    assert.equal(await statusOf(collection), 'success');
    assert.deepEqual(await openKinds(collection), []);
  });

  test('a refund, a reversal, a payout and a recovery at once end in one order of locks', async () => {
    const collections = await Promise.all([collected(), collected(), collected()]);
    const refunds = await Promise.all(collections.map((each) => refund(each, 20_000n)));
    const results = await Promise.allSettled([
      ...refunds.map((each) => see([each, paid(each)])),
      ...collections.map((each) => see([each, REVERSED])),
      ...collections.map((each) => refund(each, 10_000n)),
      payOut('500'),
      payOut('1000'),
      collected(),
      collected(),
    ]);
    const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    const strange = refused.filter((error) => !(error instanceof Problem) || error.code === 'overloaded');
    assert.deepEqual(strange.map(String), []);
  });
});

describe('approve, cancel and send a refund at once', () => {
  test('it is sent once or cancelled, never both', async () => {
    await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
    const third = await person('third');
    const collections = await Promise.all(Array.from({ length: 12 }, () => collected()));
    answer = { state: 'pending' };
    for (const collection of collections) {
      const part = await createRefund(ctx, engine, first.actor, shop.holderId, {
        collection: refOf(collection),
        amount: 10_000n,
      });
      const ref = refOf(part);
      const [cancelled, ...approved] = await Promise.allSettled([
        cancelRefund(ctx, first.actor, shop.holderId, ref),
        approveRefund(ctx, engine, second.actor, shop.holderId, ref).then(() => engine.pass()),
        approveRefund(ctx, engine, third, shop.holderId, ref).then(() => engine.pass()),
      ]);
      await engine.idle();
      const approvals = approved.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(approvals <= 1, 'approved twice');
      const wasSent = sent.includes(ref);
      assert.equal(await statusOf(part), cancelled.status === 'fulfilled' ? 'failed' : 'processing');
      assert.equal(wasSent, cancelled.status === 'rejected');
    }
  });
});

describe('a refund that is sent as a payout', () => {
  test('is not sent a second time by itself when its submit was lost', async () => {
    refunds = 'none';
    const collection = await collected();
    const asPayout = { collection: refOf(collection), amount: 10_000n, asPayout: true };
    const part = await createRefund(ctx, engine, COMMAND_LINE, shop.holderId, asPayout);
    await engine.pass();
    await engine.idle();
    answer = { state: 'unknown', reason: 'not found', definitelyNotFound: true };
    for (let round = 0; round < 3; round++) {
      base.clock.advance(3_600_000);
      await engine.pass();
      await engine.idle();
    }
    assert.deepEqual(
      sent.filter((ref) => ref === refOf(part)),
      [refOf(part)],
    );
    assert.deepEqual(await openKinds(part), ['refund_not_found']);
    const ref = await propose(await caseOf(part, 'refund_not_found'), 'send_again');
    await approveDecision(ctx, engine, second, ref);
    answer = { state: 'succeeded', receipt: null };
    await engine.pass();
    await engine.idle();
    assert.equal(await statusOf(part), 'success');
    assert.deepEqual(await openKinds(part), []);
  });

  test('a refund whose method left the catalogue stays open, and people end it', async () => {
    const collection = await collected();
    const part = await refund(collection, 10_000n);
    const methods = new Map([...ctx.catalog.methods].filter(([code]) => code !== collection.method));
    ctx = { ...ctx, catalog: { ...ctx.catalog, methods } };
    engine = { ...createPaymentEngine(ctx), wake: () => undefined };
    await assert.rejects(refund(collection, 10_000n), (error) => error instanceof Problem);
    for (let round = 0; round < 6; round++) {
      await engine.pass();
      await engine.idle();
      base.clock.advance(DAY_MS / 3);
    }
    assert.equal(await statusOf(part), 'processing');
    assert.deepEqual(await openKinds(part), ['no_answer']);
    const ref = await propose(await caseOf(part, 'no_answer'), 'settle_success');
    await approveDecision(ctx, engine, second, ref);
    assert.equal(await statusOf(part), 'success');
  });
});

describe('several outcomes of one batch', () => {
  test('a repeated success does not keep the case open that the first one answers', async () => {
    const collection = await collect();
    await ctx.db.transaction((tx) => openCase(tx, collection, 'no_answer'));
    await see([collection, paid(collection)], [collection, paid(collection)]);
    assert.deepEqual(await openKinds(collection), []);
  });

  test('silence before the answer opens no case that nobody needs', async () => {
    const collection = await collect();
    await engine.pass();
    await engine.idle();
    base.clock.advance(2 * DAY_MS);
    const outcome = { transactionId: collection.id, source: 'poll', raw: '' } as const;
    await ctx.db.transaction((tx) =>
      applyOutcomes(tx, ctx, [
        { ...outcome, observation: SILENCE },
        { ...outcome, observation: paid(collection) },
      ]),
    );
    assert.equal(await statusOf(collection), 'success');
    assert.deepEqual(await openKinds(collection), []);
  });

  test('a refund and the reversal of its collection, in both orders', async () => {
    const collections = [await collected(), await collected(), await collected()] as const;
    const [one, other, third] = collections;
    const [wholeOfOne, wholeOfOther, wholeOfThird] = [await refund(one), await refund(other), await refund(third)];
    await see([wholeOfOne, paid(wholeOfOne)], [one, REVERSED]);
    await see([other, REVERSED], [wholeOfOther, paid(wholeOfOther)]);
    await see([third, REVERSED]);
    assert.deepEqual(await openKinds(third), ['contradiction']);
    await see([wholeOfThird, paid(wholeOfThird)]);
    for (const each of collections) {
      assert.equal(await statusOf(each), 'reversed');
      assert.deepEqual(await openKinds(each), []);
    }
  });

  test('the same refund twice, and one that fails and then succeeds', async () => {
    const collection = await collected();
    const [part, late] = [await refund(collection, 10_000n), await refund(collection, 20_000n)];
    await see([part, paid(part)], [part, paid(part)], [late, FAILED], [late, paid(late)]);
    assert.equal(await statusOf(part), 'success');
    assert.equal(await statusOf(late), 'success');
    assert.deepEqual(await openKinds(late), ['late_success']);
  });
});

describe('states that a refund does not have', () => {
  test('a prompt that expired, and a reversal', async () => {
    const collection = await collected();
    const [part, other] = [await refund(collection, 10_000n), await refund(collection, 20_000n)];
    await see([part, { ...FAILED, failureCode: 'PROMPT_EXPIRED' }]);
    assert.equal(await statusOf(part), 'failed');
    await see([other, REVERSED]);
    assert.equal(await statusOf(other), 'pending');
    assert.deepEqual(await openKinds(other), ['contradiction']);
    await see([other, paid(other)]);
    assert.equal(await statusOf(other), 'success');
  });
});

describe('decisions', () => {
  test('offer only what can be carried out', async () => {
    const collection = await collected();
    const whole = await refund(collection);
    await see([whole, paid(whole)]);
    await ctx.db.transaction(async (tx) => {
      await openCase(tx, whole, 'amount_mismatch');
      await openCase(tx, collection, 'amount_mismatch');
    });
    for (const transaction of [whole, collection]) {
      const row = await findTransaction(ctx.db, shop.holderId, transaction.id);
      assert.deepEqual(decisionsFor(await caseOf(transaction, 'amount_mismatch'), row), ['keep']);
    }
  });

  test('a reversal that people settle waits for a refund that is not finished, and says so', async () => {
    const collection = await collected();
    const request = { collection: refOf(collection), amount: null };
    const waiting = await createRefund(ctx, { wake: () => undefined }, COMMAND_LINE, shop.holderId, request);
    await see([collection, { state: 'reversed', receipt: null, rawCode: '', message: '' }]);
    const ref = await propose(await caseOf(collection, 'contradiction'), 'settle_reversed');
    await assert.rejects(approveDecision(ctx, engine, second, ref), /A refund of this payment is not finished/);
    await cancelRefund(ctx, COMMAND_LINE, shop.holderId, refOf(waiting));
    await approveDecision(ctx, engine, second, ref);
    assert.equal(await statusOf(collection), 'reversed');
  });

  test('to fail a payment does not send it again first', async () => {
    const collection = await collected();
    const part = await refund(collection, 10_000n);
    await engine.pass();
    await engine.idle();
    await ctx.db.transaction((tx) => openCase(tx, part, 'no_answer'));
    const ref = await propose(await caseOf(part, 'no_answer'), 'settle_failed');
    answer = { state: 'unknown', reason: 'not found', definitelyNotFound: true };
    base.clock.advance(1_000);
    // It was sent a second ago: it may still be on its way.
    await assert.rejects(approveDecision(ctx, engine, second, ref), /sent to the operator a moment ago/);
    base.clock.advance(60_000);
    const kinds: string[] = [];
    const watched = {
      ...engine,
      apply: async (outcome: Parameters<PaymentEngine['apply']>[0]) => {
        const applied = await engine.apply(outcome);
        const rows = await ctx.db.query<{ kind: string }>('select kind from payment_jobs where transaction_id = $1', [
          part.id,
        ]);
        kinds.push(...rows.map(({ kind }) => kind));
        return applied;
      },
    };
    await approveDecision(ctx, watched, second, ref);
    assert.deepEqual(kinds, ['query']);
    assert.equal(await statusOf(part), 'failed');
  });

  test('an amount has no more decimals than the method', async () => {
    const collection = await collect({ method: 'MTN_MOMO_BEN', currency: 'XOF', countryId: 2 });
    await see([collection, { ...paid(collection), amount: 90_000n } as Observation]);
    const each = await caseOf(collection, 'amount_mismatch');
    await assert.rejects(
      propose(each, 'settle_amount', { amount: 90_050n }),
      (error) => error instanceof Problem && error.code === 'invalid_params',
    );
  });

  test('an amount that two people settled stands, whatever the operator says later', async () => {
    const collection = await collect();
    await see([collection, { ...paid(collection), amount: 90_000n } as Observation]);
    const ref = await propose(await caseOf(collection, 'amount_mismatch'), 'settle_amount', { amount: 90_000n });
    await approveDecision(ctx, engine, second, ref);
    await see([collection, { ...paid(collection), amount: 100_000n } as Observation]);
    const settled = await findTransaction(ctx.db, shop.holderId, collection.id);
    assert.equal(settled?.amount, 90_000n);
    assert.deepEqual(await openKinds(collection), ['amount_mismatch']);
    const whole = await refund(collection);
    assert.equal(whole.amount, 90_000n);
    await see([whole, paid(whole)]);
    assert.equal(await statusOf(collection), 'reversed');
  });

  test('two people who approve the same decision at once: it is carried out once', async () => {
    const collection = await collect();
    await ctx.db.transaction((tx) => openCase(tx, collection, 'no_answer'));
    const ref = await propose(await caseOf(collection, 'no_answer'), 'settle_success');
    const third = { ...second, actor: await person('third') };
    const results = await Promise.allSettled(
      [second, third].map((decider) => approveDecision(ctx, engine, decider, ref)),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal(await statusOf(collection), 'success');
  });
});
