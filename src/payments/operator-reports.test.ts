// What operators report beyond the happy path: receipts that repeat, references that nobody knows, and values that cannot be
// applied. Nothing authenticated is thrown away, no money is booked twice, and no report holds back another.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import {
  acceptCollection,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  readReadings,
  silentRail,
  tillReply,
  withPayments,
  writeReadings,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { verifyLedger } from '../ledger/verify.ts';
import type { Tx } from '../platform/db.ts';
import { createHolderUuid, createRefundUuid } from '../platform/ids.ts';
import type { Observation, Rail, RailReply } from '../rails/rail.ts';
import type { CollectionOrder } from './accept.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { type Applied, applyOutcomes } from './outcomes.ts';
import type { Outcome } from './states.ts';
import { readTransactions, refOf, type Transaction } from './transactions.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let inbox: OperatorInbox;
let shop: Shop;
/** What the operator answers to queries, by reference; the others are pending. */
let answers: Map<string, RailReply>;
/** The account reference that the operator gives out; null: one for each order. */
let fixedReference: string | null;

before(async () => {
  base = await createTestContext();
});
after(async () => {
  const { differences } = await verifyLedger(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  answers = new Map();
  fixedReference = null;
  const rail = silentRail({
    collect: async ({ reference }) => tillReply(ctx, fixedReference ?? `acc-${reference}`),
    query: async ({ reference }) => answers.get(reference) ?? { observation: { state: 'pending' }, raw: '' },
    readCallback(request) {
      const parts = JSON.parse(request.body.toString()) as object[];
      return readReadings(request).map((reading, index) => ({ ...reading, part: JSON.stringify(parts[index]) }));
    },
  });
  start(rail);
  shop = await createShop(ctx);
});

function start(rail: Rail): void {
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  inbox = createOperatorInbox(ctx);
}

async function collect(changes: Partial<CollectionOrder> = {}): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', changes));
  await engine.idle();
  return transaction;
}

const expectPayment = () => collect({ verification: 'instructions' });

let receipts = 0;
const newReceipt = () => `R${++receipts}`;

function payment(transaction: Transaction, changes: object = {}) {
  return {
    kind: 'payment_received',
    accountReference: `acc-${refOf(transaction)}`,
    amount: 100_000n,
    currency: CURRENCY,
    receipt: newReceipt(),
    payer: null,
    ...changes,
  };
}

function success(changes: { receipt?: string | null; amount?: bigint; currency?: string } = {}): Observation {
  return { state: 'succeeded', receipt: newReceipt(), ...changes };
}

function proof(reference: string, observation: Observation, direction = 'collection') {
  return { kind: 'proof', reference, direction, observation };
}

async function receive(...readings: object[]): Promise<void> {
  assert.equal((await inbox.receive(operatorMessage('quiet', writeReadings(...readings)))).kind, 'kept');
  await inbox.idle();
}

function poll(transaction: Transaction, observation: Observation): Promise<Applied> {
  return engine.apply({ transactionId: transaction.id, source: 'poll', observation, raw: 'said so' });
}

async function now(transaction: Transaction): Promise<Transaction> {
  const [row] = await readTransactions(ctx.db, [transaction.id]);
  assert.ok(row);
  return row;
}

async function available(): Promise<bigint> {
  return (await balancesOf(ctx.db, shop.holderId))[0]?.available ?? 0n;
}

async function balanceOf(kind: string): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>(
    `select coalesce(sum(balance), 0)::bigint as balance from ledger_accounts where kind = $1 and currency = 'UGX'`,
    [kind],
  );
  return row?.balance ?? 0n;
}

type CaseRow = { kind: string; status: string; amount: bigint | null; settled: bigint };

function casesOf(transaction: Transaction): Promise<CaseRow[]> {
  return ctx.db.query<CaseRow>(
    'select kind, status, amount, settled from cases where transaction_id = $1 order by opened_at, kind',
    [transaction.id],
  );
}

async function caseKinds(transaction: Transaction): Promise<string[]> {
  return (await casesOf(transaction)).map((each) => each.kind);
}

function unknownCases(reference: string): Promise<CaseRow[]> {
  return ctx.db.query<CaseRow>(
    `select kind, status, amount, settled from cases
     where kind = 'unknown_reference' and detail->>'reference' = $1 order by opened_at, id`,
    [reference],
  );
}

async function inboxRows(): Promise<number> {
  return (await ctx.db.query('select from operator_inbox')).length;
}

describe('receipts', () => {
  test('money 13: one receipt credits one collection, over batches and within one', async () => {
    const [first, second, third] = [await collect(), await collect(), await collect()];
    const receipt = newReceipt();
    await poll(first, success({ receipt }));
    await poll(first, success({ receipt }));
    const { effect } = await poll(second, success({ receipt }));
    assert.equal(effect, 'case');
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await caseKinds(second), ['receipt_used']);
    assert.deepEqual(await caseKinds(first), []);
    assert.equal((await now(second)).status, 'processing');
    base.clock.advance(1);
    const fourth = await collect();
    const shared = newReceipt();
    await receive(
      proof(refOf(fourth), success({ receipt: shared })),
      proof(refOf(third), success({ receipt: shared })),
    );
    assert.equal((await now(third)).status, 'success', 'the older reference is first');
    assert.equal((await now(fourth)).status, 'processing');
    assert.deepEqual(await caseKinds(fourth), ['receipt_used']);
    await poll(fourth, success());
    assert.equal(await available(), 297_000n, 'its own receipt settles it');
  });

  test('operators behind one connection may give the same receipt, each for one payment', async () => {
    start({ ...(ctx.rails.byName('quiet') ?? assert.fail()), receiptsPerMethod: true });
    const [receipt, unknown] = [newReceipt(), newReceipt()];
    const [mtn, airtel] = [await collect(), await collect({ method: 'AIRTEL_OAPI_UGA' })];
    await receive(proof(refOf(mtn), success({ receipt })), proof(refOf(airtel), success({ receipt })));
    assert.equal((await now(mtn)).status, 'success');
    assert.equal((await now(airtel)).status, 'success');
    assert.equal(await available(), 198_000n);
    const again = await collect({ method: 'AIRTEL_OAPI_UGA' });
    await poll(again, success({ receipt }));
    assert.deepEqual(await caseKinds(again), ['receipt_used'], 'but one operator gives it once');
    // Nobody knows the method of a reference that we do not know: what its receipt stands for is not booked twice.
    const suspense = await balanceOf('suspense');
    const strange = () => proof(refOf({ id: createHolderUuid(base.clock.millis(), shop.holderId) }), paid(unknown));
    const paid = (name: string) => success({ receipt: name, amount: 100_000n, currency: CURRENCY });
    await receive(strange());
    await poll(again, success({ receipt: unknown }));
    assert.equal((await now(again)).status, 'processing');
    const known = { ...strange(), observation: paid(receipt) };
    await receive(known);
    assert.equal((await balanceOf('suspense')) - suspense, 100_000n);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('money 13: many processes claim one receipt at once, one collection has it', async () => {
    const collections = await Promise.all(Array.from({ length: 8 }, () => collect()));
    const receipt = newReceipt();
    await Promise.all(
      collections.map(({ id }) =>
        // An engine of its own, as in another process.
        createPaymentEngine(ctx).apply({
          transactionId: id,
          source: 'poll',
          observation: success({ receipt }),
          raw: '',
        }),
      ),
    );
    assert.equal(await available(), 99_000n);
    const kinds = await Promise.all(collections.map(caseKinds));
    assert.equal(kinds.flat().filter((kind) => kind === 'receipt_used').length, 7);
  });

  test('money 13: a batch of successes costs one statement for all its receipts', async () => {
    const collections = await Promise.all(Array.from({ length: 40 }, () => collect()));
    const statements: string[] = [];
    const outcomes = collections.map(
      ({ id }): Outcome => ({ transactionId: id, source: 'poll', observation: success(), raw: '' }),
    );
    const applyAll = () =>
      ctx.db.transaction((tx) => {
        const recorded: Tx = {
          isTransaction: true,
          query(statement, values) {
            statements.push(typeof statement === 'string' ? statement : statement.text);
            return tx.query(statement, values);
          },
        };
        return applyOutcomes(recorded, ctx, outcomes);
      });
    const aboutReceipts = () => statements.filter((text) => text.includes('operator_receipts')).length;
    await applyAll();
    assert.equal(aboutReceipts(), 1);
    await applyAll();
    assert.equal(aboutReceipts(), 1, 'a repetition needs none');
  });

  test('money 10: money that people decided about is not booked again by the success', async () => {
    const clearing = await balanceOf('operator_clearing');
    const transaction = await expectPayment();
    await ctx.ownerDb.query('delete from payment_instructions where transaction_id = $1', [transaction.id]);
    const paid = payment(transaction);
    await receive(paid);
    // Two people credited it to somebody: the case is even and closed.
    await ctx.db.query(
      `update cases set settled = amount, status = 'resolved', resolved_at = now() where detail->>'receipt' = $1`,
      [paid.receipt],
    );
    await poll(transaction, success({ receipt: paid.receipt }));
    assert.equal(await available(), 0n);
    assert.equal(clearing - (await balanceOf('operator_clearing')), 100_000n);
    assert.deepEqual(await caseKinds(transaction), ['receipt_used']);
  });

  test('money 10: money in an open case is released once, and the case is settled', async () => {
    const suspense = await balanceOf('suspense');
    const transaction = await expectPayment();
    await ctx.ownerDb.query('delete from payment_instructions where transaction_id = $1', [transaction.id]);
    const paid = payment(transaction);
    await receive(paid);
    assert.equal((await balanceOf('suspense')) - suspense, 100_000n);
    await poll(transaction, success({ receipt: paid.receipt }));
    await poll(transaction, success({ receipt: paid.receipt }));
    await receive(paid);
    assert.equal(await available(), 99_000n);
    assert.equal(await balanceOf('suspense'), suspense);
    const [held] = await ctx.db.query(`select status, amount, settled from cases where detail->>'receipt' = $1`, [
      paid.receipt,
    ]);
    assert.deepEqual(held, { status: 'resolved', amount: 100_000n, settled: 100_000n });
  });

  test('money 13: the payment of another order is not released to this one', async () => {
    const [mine, other] = [await expectPayment(), await expectPayment()];
    await receive(payment(other));
    const second = payment(other);
    await receive(second);
    await poll(mine, success({ receipt: second.receipt }));
    assert.equal((await now(mine)).status, 'processing');
    assert.deepEqual(await caseKinds(mine), ['receipt_used']);
  });
});

describe('incoming payments', () => {
  test('money 11: a success without receipt and the payment that it was are one payment', async () => {
    const suspense = await balanceOf('suspense');
    const transaction = await expectPayment();
    await poll(transaction, success({ receipt: null }));
    const paid = payment(transaction);
    await receive(paid, paid);
    await receive(paid);
    assert.equal(await available(), 99_000n);
    assert.equal(await balanceOf('suspense'), suspense);
    assert.equal((await now(transaction)).receipt, paid.receipt);
    assert.deepEqual(await caseKinds(transaction), []);
    await receive(payment(transaction));
    assert.deepEqual(await caseKinds(transaction), ['second_payment'], 'a second payment is still seen as one');
  });

  test('money 11: a success without an amount is compared with the money that arrived', async () => {
    const clearing = await balanceOf('operator_clearing');
    const transaction = await expectPayment();
    const paid = payment(transaction, { amount: 60_000n });
    await receive(paid);
    await poll(transaction, success({ receipt: paid.receipt }));
    assert.equal(await available(), 0n);
    assert.equal((await now(transaction)).status, 'processing');
    assert.equal(clearing - (await balanceOf('operator_clearing')), 60_000n);
    assert.deepEqual((await caseKinds(transaction)).sort(), ['amount_mismatch', 'wrong_amount']);
  });

  test('money 11: a success that names nothing is compared with the wrong amount that is held', async () => {
    const transaction = await expectPayment();
    await receive(payment(transaction, { amount: 60_000n }));
    await poll(transaction, success({ receipt: null }));
    assert.equal(await available(), 0n);
    assert.deepEqual((await caseKinds(transaction)).sort(), ['amount_mismatch', 'wrong_amount']);
    await receive(payment(transaction));
    assert.equal(await available(), 99_000n, 'the right amount still settles it');
  });

  test('money 10: people who settle with the amount that arrived mean the money in suspense', async () => {
    const before = { suspense: await balanceOf('suspense'), clearing: await balanceOf('operator_clearing') };
    const transaction = await expectPayment();
    await receive(payment(transaction, { amount: 60_000n }));
    await engine.apply({
      transactionId: transaction.id,
      source: 'person',
      observation: { state: 'succeeded', receipt: null, amount: 60_000n, currency: CURRENCY },
      raw: 'decided',
      amended: { amount: 60_000n, fee: 600n },
    });
    assert.equal(await available(), 59_400n);
    assert.equal(await balanceOf('suspense'), before.suspense);
    assert.equal(before.clearing - (await balanceOf('operator_clearing')), 60_000n);
    const [held] = await casesOf(transaction);
    assert.deepEqual(held, { kind: 'wrong_amount', status: 'resolved', amount: 60_000n, settled: 60_000n });
  });

  test('money 11: the other order of messages, a success whose payment turns out to be smaller, is a case', async () => {
    const transaction = await expectPayment();
    const receipt = newReceipt();
    await poll(transaction, success({ receipt }));
    await receive(payment(transaction, { receipt, amount: 60_000n }));
    assert.equal(await available(), 99_000n);
    assert.deepEqual(await caseKinds(transaction), ['amount_mismatch']);
  });

  test('money 11: an account reference that is given out again pays the newest open order', async () => {
    fixedReference = 'shared-account';
    const old = await expectPayment();
    await poll(old, { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' });
    base.clock.advance(1_000);
    const recent = await expectPayment();
    const paid = payment(recent, { accountReference: fixedReference });
    await receive(paid);
    assert.equal((await now(recent)).status, 'success');
    assert.equal((await now(old)).status, 'expired');
  });

  test('money 11: the ended order is paid late when there is no newer one', async () => {
    fixedReference = 'single-account';
    const old = await expectPayment();
    await poll(old, { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' });
    await receive(payment(old, { accountReference: fixedReference }));
    assert.equal((await now(old)).status, 'success');
    assert.deepEqual(await caseKinds(old), ['late_success']);
  });
});

describe('unknown references', () => {
  const unknownRef = () => refOf({ id: createHolderUuid(base.clock.millis(), shop.holderId) });

  test('money 5: a success about an unknown reference is kept, has a case, and is held in suspense once', async () => {
    const before = { suspense: await balanceOf('suspense'), clearing: await balanceOf('operator_clearing') };
    const reference = unknownRef();
    const paid = proof(reference, success({ amount: 50_000n, currency: CURRENCY }));
    await receive(paid, paid);
    await Promise.all([receive(paid), receive(paid)]);
    assert.equal((await balanceOf('suspense')) - before.suspense, 50_000n);
    assert.equal(before.clearing - (await balanceOf('operator_clearing')), 50_000n);
    assert.deepEqual(await unknownCases(reference), [
      { kind: 'unknown_reference', status: 'open', amount: 50_000n, settled: 0n },
    ]);
    const kept = await ctx.db.query(
      'select holder_id, state, times, booked from unmatched_reports where reference = $1',
      [reference],
    );
    assert.deepEqual(kept, [{ holder_id: 0n, state: 'succeeded', times: 4, booked: true }]);
    assert.equal(await inboxRows(), 0);
  });

  test('money 5: without a receipt it is booked once for its reference, with another receipt it is other money', async () => {
    const before = await balanceOf('suspense');
    const reference = unknownRef();
    const money = { amount: 50_000n, currency: CURRENCY };
    await receive(proof(reference, success({ ...money, receipt: null })));
    const receipt = newReceipt();
    await receive(proof(reference, success({ ...money, receipt })));
    await receive(proof(reference, success({ ...money, receipt: null })));
    assert.equal((await balanceOf('suspense')) - before, 50_000n);
    await receive(proof(reference, success(money)));
    assert.equal((await balanceOf('suspense')) - before, 100_000n);
    assert.equal((await unknownCases(reference)).length, 2, 'each case holds its own sum');
  });

  test('money 5: a success without an amount opens a case without money and says so; the money follows', async () => {
    const reference = unknownRef();
    const receipt = newReceipt();
    await receive(proof(reference, success({ receipt })));
    const [opened] = await ctx.db.query<{ amount: bigint | null; detail: { note?: string } }>(
      `select amount, detail from cases where detail->>'reference' = $1`,
      [reference],
    );
    assert.equal(opened?.amount, null);
    assert.equal(opened?.detail.note, 'Nothing was booked.');
    await receive(proof(reference, success({ receipt, amount: 7_000n, currency: CURRENCY })));
    assert.deepEqual(await unknownCases(reference), [
      { kind: 'unknown_reference', status: 'open', amount: 7_000n, settled: 0n },
    ]);
  });

  test('money 5: what the operator reverses leaves suspense, and the case is settled', async () => {
    const before = await balanceOf('suspense');
    const reference = unknownRef();
    const receipt = newReceipt();
    const money = { amount: 50_000n, currency: CURRENCY };
    const reversal = proof(reference, { state: 'reversed', receipt, rawCode: '', message: '', ...money });
    await receive(proof(reference, success({ receipt, ...money })));
    await receive(reversal, reversal);
    await receive(reversal);
    assert.equal(await balanceOf('suspense'), before);
    assert.deepEqual(await unknownCases(reference), [
      { kind: 'unknown_reference', status: 'resolved', amount: 50_000n, settled: 50_000n },
    ]);
    const early = unknownRef();
    await receive(proof(early, { state: 'reversed', receipt: null, rawCode: '', message: '', ...money }));
    await receive(proof(early, success(money)));
    assert.equal(await balanceOf('suspense'), before, 'reversed before its success arrived: nothing is held');
  });

  test('money 5: a payout or a refund that we do not know took money away, and nothing is held in suspense', async () => {
    const before = { suspense: await balanceOf('suspense'), clearing: await balanceOf('operator_clearing') };
    const refund = refOf({ id: createRefundUuid(base.clock.millis(), shop.holderId) });
    const money = { amount: 50_000n, currency: CURRENCY };
    for (const [reference, direction] of [
      [unknownRef(), 'payout'],
      [refund, 'refund'],
    ] as const) {
      await receive(proof(reference, success(money), direction));
      assert.deepEqual(await unknownCases(reference), [
        { kind: 'unknown_reference', status: 'open', amount: null, settled: 0n },
      ]);
    }
    assert.equal(await balanceOf('suspense'), before.suspense);
    assert.equal(await balanceOf('operator_clearing'), before.clearing);
  });

  test('money 5: a receipt that a transaction used is not booked a second time', async () => {
    const before = await balanceOf('suspense');
    const transaction = await collect();
    const receipt = newReceipt();
    await poll(transaction, success({ receipt }));
    const reference = unknownRef();
    await receive(proof(reference, success({ receipt, amount: 100_000n, currency: CURRENCY })));
    assert.equal(await balanceOf('suspense'), before);
    assert.deepEqual(await unknownCases(reference), [
      { kind: 'unknown_reference', status: 'open', amount: null, settled: 0n },
    ]);
  });

  test('money 5: a transaction of another rail is unknown to this one', async () => {
    const transaction = await collect();
    await ctx.ownerDb.query(`update transactions set rail = 'elsewhere' where id = $1`, [transaction.id]);
    await receive(proof(refOf(transaction), success({ amount: 100_000n, currency: CURRENCY })));
    assert.equal((await now(transaction)).status, 'processing');
    assert.equal((await unknownCases(refOf(transaction))).length, 1);
  });
});

describe('values that cannot be applied', () => {
  const BAD_PAYMENTS: Record<string, object> = {
    'an amount of zero': { amount: 0n },
    'a negative amount': { amount: -5n },
    'an amount beyond any number': { amount: 99_999_999_999_999_999_999n },
    'a receipt with NUL': { receipt: 'A\u0000B' },
    'a receipt without end': { receipt: 'x'.repeat(500) },
    'no receipt': { receipt: ' ' },
    'a currency of no country': { currency: 'shillings' },
  };
  for (const [name, changes] of Object.entries(BAD_PAYMENTS))
    test(`money 17: ${name} does not hold back the success beside it`, async () => {
      const [transaction, other] = [await collect(), await collect()];
      await receive(payment(other, changes), proof(refOf(transaction), success()));
      assert.equal((await now(transaction)).status, 'success');
      assert.equal(await inboxRows(), 0);
      const rows = await ctx.db.query<{ kind: string; raw: string }>(
        `select c.kind, q.raw from quarantined_reports q join cases c on c.holder_id = q.holder_id and c.id = q.case_id
         where q.reference = $1`,
        [`acc-${refOf(other)}`],
      );
      assert.equal(rows.length, 1);
      assert.equal(rows[0]?.kind, 'unreadable_report');
      assert.match(rows[0]?.raw ?? '', /payment_received/);
    });

  test('money 17: a bad value about a known transaction is evidence with a case, and changes nothing', async () => {
    const transaction = await collect();
    const bad = proof(refOf(transaction), success({ receipt: 'A\u0000B' }));
    await receive(bad);
    await receive(bad);
    assert.equal((await now(transaction)).status, 'processing');
    assert.deepEqual(await caseKinds(transaction), ['unreadable_report'], 'one case, however often it is said');
    const evidence = await ctx.db.query<{ effect: string }>(
      `select effect from evidence where transaction_id = $1 and source = 'callback'`,
      [transaction.id],
    );
    assert.deepEqual(evidence, [{ effect: 'case' }, { effect: 'case' }]);
    await poll(transaction, success());
    assert.equal((await now(transaction)).status, 'success');
  });

  test('money 17: NUL in the receipt of an answer: a case at once, evidence, and it is asked about again', async () => {
    const transaction = await collect();
    const unreadable = { state: 'succeeded', receipt: 'A\u0000B' } as const;
    answers.set(refOf(transaction), { observation: unreadable, raw: 'receipt A\u0000B' });
    for (let asked = 0; asked < 3; asked++) {
      base.clock.advance(3_600_000);
      await engine.pass();
      await engine.idle();
    }
    assert.equal((await now(transaction)).status, 'processing');
    assert.deepEqual(await caseKinds(transaction), ['unreadable_report']);
    const evidence = await ctx.db.query<{ raw: string }>(
      `select raw from evidence where transaction_id = $1 and source = 'poll'`,
      [transaction.id],
    );
    assert.equal(evidence.length, 3);
    assert.equal(evidence[0]?.raw, 'receipt A␀B');
    answers.set(refOf(transaction), { observation: success(), raw: '' });
    base.clock.advance(3_600_000);
    await engine.pass();
    await engine.idle();
    assert.equal((await now(transaction)).status, 'success');
  });

  test('money 17: a rail that cannot read a message does not hold back the next one', async () => {
    const transaction = await collect();
    const body = Buffer.from('not what it expects');
    assert.equal((await inbox.receive(operatorMessage('quiet', body))).kind, 'rejected');
    await receive(proof(refOf(transaction), success()));
    assert.equal((await now(transaction)).status, 'success');
  });

  test('money 17: a report that the database refuses is set aside alone, its neighbours are applied', async () => {
    const [transaction, refused] = [await collect(), await collect()];
    const before = await inboxRows();
    await ctx.ownerDb.query(
      `alter table evidence add constraint evidence_of_test check (receipt is distinct from 'REFUSED') not valid`,
    );
    try {
      await receive(
        proof(refOf(refused), success({ receipt: 'REFUSED' })),
        proof(refOf(transaction), success()),
        payment(refused, { accountReference: 'of nobody' }),
      );
    } finally {
      await ctx.ownerDb.query('alter table evidence drop constraint evidence_of_test');
    }
    assert.equal((await now(transaction)).status, 'success');
    assert.equal((await now(refused)).status, 'processing');
    assert.deepEqual(await caseKinds(refused), ['unreadable_report']);
    assert.equal(await inboxRows(), before);
  });

  test('money 17: one outcome that the database refuses does not fail its batch', async () => {
    const [transaction, refused] = [await collect(), await collect()];
    await ctx.ownerDb.query(
      `alter table evidence add constraint evidence_of_test check (receipt is distinct from 'REFUSED') not valid`,
    );
    try {
      const [good, bad] = await Promise.all([
        poll(transaction, success()),
        poll(refused, success({ receipt: 'REFUSED' })),
      ]);
      assert.equal(good.effect, 'applied');
      assert.equal(bad.transaction?.status, 'processing');
    } finally {
      await ctx.ownerDb.query('alter table evidence drop constraint evidence_of_test');
    }
    assert.deepEqual(await caseKinds(refused), ['unreadable_report']);
    assert.equal((await ctx.metrics.reportsQuarantined.get()).values[0]?.value, await quarantinedTimes());
    await poll(refused, success());
    assert.equal((await now(refused)).status, 'success', 'a later answer settles it');
  });

  async function quarantinedTimes(): Promise<number> {
    const [row] = await ctx.db.query<{ times: bigint }>('select sum(times) as times from quarantined_reports');
    return Number(row?.times ?? 0n);
  }
});
