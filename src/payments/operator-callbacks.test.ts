// Operator callbacks that arrive in ways nobody planned: other spelling, other amounts, locked rows, references of no form.
// Each is applied once, or kept with a case; and what is kept agrees with the books.

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
import { connectDatabase } from '../platform/db.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { Observation } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { createOperatorInbox, type OperatorInbox } from './operator-callbacks.ts';
import { recordHints } from './operator-hints.ts';
import { readTransactions, refOf, type Transaction } from './transactions.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let inbox: OperatorInbox;
let shop: Shop;
/** What the operator answers when it is asked. */
let answer: Observation;
/** Whether it says, when it is called, what the payer must name. */
let givesReference: boolean;

before(async () => {
  base = await createTestContext({ ROLE: 'api' });
});
after(async () => {
  const differences = await differencesOf(base);
  await base.close();
  assert.deepEqual(differences, []);
});

beforeEach(async () => {
  answer = { state: 'unknown', reason: 'silent' };
  givesReference = true;
  const rail = silentRail({
    async collect({ reference }) {
      if (!givesReference) return { observation: { state: 'unknown', reason: 'time-out' }, raw: '' };
      return tillReply(ctx, `acc-${reference}`);
    },
    query: async () => ({ observation: answer, raw: '' }),
    readCallback: readReadings,
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  inbox = createOperatorInbox(ctx);
  shop = await createShop(ctx);
});

async function collect(verification: 'prompt' | 'instructions' = 'prompt'): Promise<Transaction> {
  const owner = { holderId: shop.holderId, integrationId: shop.id };
  const transaction = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', { verification }));
  await engine.pass();
  await engine.idle();
  return transaction;
}

let receipts = 0;
const newReceipt = () => `C${++receipts}`;

type Said = { receipt?: string | null; amount?: bigint; currency?: string };
const success = (said: Said = {}): Observation => ({ state: 'succeeded', receipt: newReceipt(), ...said });
const reversal = (said: Said = {}): Observation => ({
  state: 'reversed',
  receipt: newReceipt(),
  rawCode: '',
  message: '',
  ...said,
});
const proof = (reference: string, observation: Observation) => ({
  kind: 'proof',
  reference,
  direction: 'collection',
  observation,
});
const unknownRef = () => refOf({ id: createHolderUuid(base.clock.millis(), shop.holderId) });

function payment(accountReference: string, said: Said = {}) {
  const rest = { amount: 100_000n, currency: CURRENCY, receipt: newReceipt(), payer: null, ...said };
  return { kind: 'payment_received', accountReference, ...rest };
}

async function receive(...readings: object[]): Promise<void> {
  assert.equal((await inbox.receive(messageOf(...readings))).kind, 'kept');
  await inbox.idle();
}

function messageOf(...readings: object[]) {
  return operatorMessage('quiet', writeReadings(...readings));
}

async function now({ id }: Transaction): Promise<Transaction> {
  const [row] = await readTransactions(ctx.db, [id]);
  assert.ok(row);
  return row;
}

async function suspense(): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>(
    `select coalesce(sum(balance), 0)::bigint as balance from ledger_accounts where kind = 'suspense'`,
  );
  return row?.balance ?? 0n;
}

type CaseRow = { kind: string; status: string; amount: bigint | null };

function casesAbout(reference: string): Promise<CaseRow[]> {
  return ctx.db.query<CaseRow>(
    `select kind, status, amount from cases where detail->>'reference' = $1 order by opened_at, id`,
    [reference],
  );
}

async function caseKinds({ id }: Transaction): Promise<string[]> {
  const rows = await ctx.db.query<CaseRow>('select kind from cases where transaction_id = $1 order by kind', [id]);
  return rows.map((row) => row.kind);
}

describe('receipts', () => {
  test('review: a receipt with other spaces around it is the same receipt', async () => {
    const [first, second] = [await collect(), await collect()];
    const receipt = newReceipt();
    await receive(proof(refOf(first), success({ receipt: ` ${receipt}` })));
    await receive(proof(refOf(first), success({ receipt: `${receipt}\u00a0` })));
    await receive(proof(refOf(second), success({ receipt: `${receipt} ` })));
    assert.equal((await now(first)).receipt, receipt);
    assert.deepEqual(await caseKinds(first), []);
    assert.equal((await now(second)).status, 'processing');
    assert.deepEqual(await caseKinds(second), ['receipt_used']);
  });

  test('review: invisible characters make no second receipt', async () => {
    const transaction = await collect();
    await receive(proof(refOf(transaction), success({ receipt: `${newReceipt()}\u200b` })));
    assert.equal((await now(transaction)).status, 'processing');
    assert.deepEqual(await caseKinds(transaction), ['unreadable_report']);
  });

  test('review: a reversal that brings the receipt of its payment uses it', async () => {
    const [paid, other] = [await collect(), await collect()];
    const receipt = newReceipt();
    await receive(proof(refOf(paid), success({ receipt: null })));
    await receive(proof(refOf(paid), reversal({ receipt })));
    assert.equal((await now(paid)).status, 'reversed');
    await receive(proof(refOf(other), success({ receipt })));
    assert.equal((await now(other)).status, 'processing');
    assert.deepEqual(await caseKinds(other), ['receipt_used']);
  });

  test('review: a reversal with the receipt of another payment is a case', async () => {
    const [first, second] = [await collect(), await collect()];
    const receipt = newReceipt();
    await receive(proof(refOf(first), success({ receipt })));
    await receive(proof(refOf(second), success({ receipt: null })));
    await receive(proof(refOf(second), reversal({ receipt })));
    assert.equal((await now(second)).status, 'success');
    assert.deepEqual(await caseKinds(second), ['receipt_used']);
  });

  test('review: what people settle with money in suspense has the receipt of that money', async () => {
    const transaction = await collect('instructions');
    const paid = payment(`acc-${refOf(transaction)}`, { amount: 60_000n });
    await receive(paid);
    await engine.apply({
      transactionId: transaction.id,
      source: 'person',
      observation: { state: 'succeeded', receipt: null, amount: 60_000n, currency: CURRENCY },
      raw: 'decided',
      amended: { amount: 60_000n, fee: 600n },
    });
    assert.equal((await now(transaction)).receipt, paid.receipt);
  });

  for (const said of ['success', 'reversal'] as const)
    test(`the receipt of what people settled is learned with a ${said}: its money leaves suspense`, async () => {
      const held = await suspense();
      givesReference = false;
      const transaction = await collect('instructions');
      // It came before anybody knew what the payer would name.
      const paid = payment('acc-nobody-knows');
      await receive(paid);
      assert.equal((await suspense()) - held, 100_000n);
      const settled = { state: 'succeeded', receipt: null } as const;
      await engine.apply({ transactionId: transaction.id, source: 'person', observation: settled, raw: 'decided' });
      const { receipt } = paid;
      await receive(proof(refOf(transaction), said === 'success' ? success({ receipt }) : reversal({ receipt })));
      assert.equal((await now(transaction)).receipt, receipt);
      assert.equal((await suspense()) - held, 0n);
    });

  test('the operator reports a success that people had reversed: its money stays in suspense', async () => {
    const held = await suspense();
    givesReference = false;
    const transaction = await collect('instructions');
    const paid = payment('acc-nobody-knows-either');
    await receive(paid);
    const outcome = { transactionId: transaction.id, source: 'person', raw: 'decided' } as const;
    await engine.apply({ ...outcome, observation: reversal({ receipt: null }) });
    await receive(proof(refOf(transaction), success({ receipt: paid.receipt })));
    assert.equal((await now(transaction)).status, 'reversed');
    assert.deepEqual(await caseKinds(transaction), ['contradiction']);
    assert.equal((await suspense()) - held, 100_000n);
  });
});

describe('incoming payments', () => {
  test('review: a payment that is reported again with another amount or reference is kept with a case', async () => {
    const transaction = await collect('instructions');
    const reference = `acc-${refOf(transaction)}`;
    const paid = payment(reference);
    await receive(paid);
    await receive(paid);
    assert.deepEqual(await casesAbout(reference), []);
    await receive({ ...paid, amount: 70_000n });
    assert.deepEqual(
      (await casesAbout(reference)).map((each) => each.kind),
      ['unreadable_report'],
    );
    await receive(
      { ...paid, accountReference: `other-${reference}` },
      { ...paid, accountReference: `third-${reference}` },
    );
    assert.equal((await casesAbout(`other-${reference}`)).length, 1);
    assert.equal((await casesAbout(`third-${reference}`)).length, 1);
  });

  test('review: two payments under one receipt in one message: the first counts, the other is a case', async () => {
    const transaction = await collect('instructions');
    const reference = `acc-${refOf(transaction)}`;
    const paid = payment(reference);
    await receive(paid, { ...paid, amount: 70_000n });
    assert.equal((await now(transaction)).status, 'success');
    assert.deepEqual(
      (await casesAbout(reference)).map((each) => each.kind),
      ['unreadable_report'],
    );
  });

  test('review: a success and a payment with different receipts in one message: the payment is booked', async () => {
    const transaction = await collect('instructions');
    const paid = payment(`acc-${refOf(transaction)}`);
    await receive(proof(refOf(transaction), success()), paid);
    const after = await now(transaction);
    assert.deepEqual([after.status, after.receipt], ['success', paid.receipt]);
    assert.deepEqual(await caseKinds(transaction), ['different_receipt']);
  });

  test('review: a success whose payment turns out to be smaller is a case, and no difference of the books', async () => {
    const transaction = await collect('instructions');
    const receipt = newReceipt();
    await receive(proof(refOf(transaction), success({ receipt })));
    await receive(payment(`acc-${refOf(transaction)}`, { receipt, amount: 60_000n }));
    assert.deepEqual(await caseKinds(transaction), ['amount_mismatch']);
  });
});

describe('unknown references', () => {
  test('money 5: a success about a reference of no form of ours is kept, has a case, and is held in suspense', async () => {
    const held = await suspense();
    const reference = `INV-${newReceipt()}`;
    const paid = proof(reference, success({ amount: 50_000n, currency: CURRENCY }));
    await receive(paid);
    await receive(paid);
    assert.equal((await suspense()) - held, 50_000n);
    assert.deepEqual(await casesAbout(reference), [{ kind: 'unknown_reference', status: 'open', amount: 50_000n }]);
  });

  test('money 5: a reference that cannot be stored is quarantined', async () => {
    const transaction = await collect();
    const good = proof(refOf(transaction), success());
    await receive(proof('A\u0000B', success()), proof('x'.repeat(5_000), success()), proof('', success()), good);
    assert.equal((await now(transaction)).status, 'success');
    assert.deepEqual(
      (await casesAbout('A␀B')).map((each) => each.kind),
      ['unreadable_report'],
    );
  });

  test('review: a reversal of a part does not return all of the money', async () => {
    const held = await suspense();
    const reference = unknownRef();
    const receipt = newReceipt();
    await receive(proof(reference, success({ receipt, amount: 50_000n, currency: CURRENCY })));
    await receive(proof(reference, reversal({ receipt, amount: 20_000n, currency: CURRENCY })));
    assert.equal((await suspense()) - held, 50_000n);
    const states = await ctx.db.query<{ state: string }>(
      'select state from unmatched_reports where reference = $1 order by id',
      [reference],
    );
    assert.equal(states.length, 2, 'the reversal is kept for people to decide');
  });

  test('review: without a receipt, another amount of the same reference is kept and not booked again', async () => {
    const held = await suspense();
    const reference = unknownRef();
    await receive(proof(reference, success({ receipt: null, amount: 50_000n, currency: CURRENCY })));
    await receive(proof(reference, success({ receipt: null, amount: 80_000n, currency: CURRENCY })));
    assert.equal((await suspense()) - held, 50_000n);
    assert.equal((await ctx.db.query('select from unmatched_reports where reference = $1', [reference])).length, 2);
  });

  test('review: a hint about an unknown reference does nothing', async () => {
    const reference = unknownRef();
    await receive({ kind: 'hint', reference });
    assert.deepEqual(await casesAbout(reference), []);
  });
});

test("what is the operator's and cannot be used is one case of its connection; what is a stranger's is none", async () => {
  const say = (reason: string, authenticated?: true) =>
    inbox.receive(messageOf({ kind: 'rejected', reason, ...(authenticated ? { authenticated } : {}) }));
  await say('the signature is wrong');
  for (const reason of ['it came from another address', 'it came from another address', 'it has no amount'])
    assert.equal((await say(reason, true)).kind, 'rejected');
  const kept = await ctx.db.query<{ error: string; times: number; status: string; case_id: string }>(
    `select q.error, q.times, c.status, q.case_id from quarantined_reports q
     join cases c on c.holder_id = q.holder_id and c.id = q.case_id
     where q.rail = 'quiet' and q.error in ('the signature is wrong', 'it came from another address', 'it has no amount')
     order by q.error`,
  );
  assert.deepEqual(
    kept.map(({ error, times, status }) => [error, times, status]),
    [
      ['it came from another address', 2, 'open'],
      ['it has no amount', 1, 'open'],
    ],
  );
  assert.equal(new Set(kept.map((row) => row.case_id)).size, 1);
});

describe('hints of strangers', () => {
  const from = (remoteAddress: string, reference: string) =>
    inbox.receive({ ...messageOf({ kind: 'hint', reference }), remoteAddress }, remoteAddress);

  test('a hint about nothing of ours is rejected at once, counts against its address, and 60 a minute are kept', async () => {
    await ctx.db.query('delete from rejected_callbacks');
    for (let count = 0; count < 80; count++)
      assert.equal((await from('198.51.100.1', `order ${count}`)).kind, 'rejected');
    assert.equal(inbox.refusal('quiet', '198.51.100.1'), 'too_many');
    assert.equal((await ctx.db.query('select from rejected_callbacks')).length, 60);
  });

  test('a hint about a transaction that does not exist counts against its address', async () => {
    const strange = Array.from({ length: 650 }, () => from('198.51.100.2', unknownRef()));
    await Promise.all(strange);
    await inbox.idle();
    assert.equal(inbox.refusal('quiet', '198.51.100.2'), 'too_many');
    const payment = await collect();
    const genuine = Array.from({ length: 650 }, () => from('198.51.100.3', refOf(payment)));
    await Promise.all(genuine);
    await inbox.idle();
    assert.equal(inbox.refusal('quiet', '198.51.100.3'), null, 'an operator that hints is heard');
    await ctx.db.query('delete from operator_hints');
  });

  test('however many come about one transaction, the operator is asked a few times, and once more later', async () => {
    const payment = await collect();
    const mayAnswer = Promise.withResolvers<void>();
    let asked = 0;
    const slow = silentRail({
      async query() {
        asked++;
        await mayAnswer.promise;
        return { observation: { state: 'pending' }, raw: '' };
      },
    });
    const other = createPaymentEngine(withPayments(base, slow));
    for (let count = 0; count < 40; count++) {
      await receive({ kind: 'hint', reference: refOf(payment) });
      await other.pass();
    }
    mayAnswer.resolve();
    await other.idle();
    assert.ok(asked <= 5, `asked ${asked} times at once`);
    base.clock.advance(31_000);
    const before = asked;
    await other.pass();
    await other.idle();
    assert.ok(asked > before, 'the last hints are not forgotten');
    assert.equal((await ctx.db.query('select from operator_hints')).length, 0);
  });
});

describe('a hint', () => {
  const failed: Observation = { state: 'failed', failureCode: 'PAYER_LIMIT_REACHED', rawCode: '', message: '' };

  async function work(): Promise<void> {
    await engine.pass();
    await engine.idle();
  }
  async function openHints(): Promise<number> {
    return (await ctx.db.query('select from operator_hints')).length;
  }

  test('about a payment that has failed: the operator is asked, and its success is booked', async () => {
    const payment = await collect();
    await receive(proof(refOf(payment), failed));
    assert.equal((await now(payment)).status, 'failed');
    answer = success();
    await receive({ kind: 'hint', reference: refOf(payment) });
    await work();
    assert.equal((await now(payment)).status, 'success');
    assert.deepEqual(await caseKinds(payment), ['late_success']);
    assert.equal(await openHints(), 0);
  });

  test('about a payment that has succeeded: the operator is asked, and its reversal is booked', async () => {
    const payment = await collect();
    const receipt = newReceipt();
    await receive(proof(refOf(payment), success({ receipt })));
    answer = reversal({ receipt });
    await receive({ kind: 'hint', reference: refOf(payment) });
    await work();
    assert.equal((await now(payment)).status, 'reversed');
  });

  test('is kept while the operator does not answer, for a day', async () => {
    const payment = await collect();
    await receive(proof(refOf(payment), failed));
    await receive({ kind: 'hint', reference: refOf(payment) });
    await work();
    assert.equal(await openHints(), 1);
    base.clock.advance(6_000);
    answer = success({ receipt: null });
    await work();
    assert.equal((await now(payment)).status, 'success');
    answer = { state: 'pending' };
    await receive({ kind: 'hint', reference: refOf(payment) });
    await work();
    assert.equal(await openHints(), 1);
    base.clock.advance(25 * 3_600_000);
    await work();
    assert.equal(await openHints(), 0);
    assert.equal((await now(payment)).status, 'success');
  });

  test('that comes while the operator is asked makes it be asked again', async () => {
    const payment = await collect();
    await receive(proof(refOf(payment), failed));
    const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = silentRail({
      async query() {
        asked.resolve();
        await mayAnswer.promise;
        return { observation: failed, raw: '' };
      },
    });
    await receive({ kind: 'hint', reference: refOf(payment) });
    const other = createPaymentEngine(withPayments(base, slow));
    await other.pass();
    await asked.promise;
    answer = success();
    await receive({ kind: 'hint', reference: refOf(payment) });
    mayAnswer.resolve();
    await other.idle();
    assert.equal((await now(payment)).status, 'failed');
    await work();
    assert.equal((await now(payment)).status, 'success');
  });

  test('about a payment that was not sent waits: asking would make it look sent', async () => {
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const unsent = await acceptCollection(
      ctx,
      { ...engine, hasCapacity: () => false },
      collectionOrder(owner, 'quiet'),
    );
    await ctx.db.query(`update payment_jobs set due_at = 'infinity' where transaction_id = $1`, [unsent.id]);
    await receive({ kind: 'hint', reference: refOf(unsent) });
    await work();
    assert.equal((await now(unsent)).status, 'pending');
    assert.equal(await openHints(), 1);
    await ctx.db.query('delete from operator_hints');
  });

  test('of another rail is not heard', async () => {
    const payment = await collect();
    await ctx.db.transaction((tx) => recordHints(tx, [{ transactionId: payment.id, rail: 'other' }], ctx.clock.now()));
    assert.equal(await openHints(), 0);
  });
});

describe('a message that cannot be applied now', () => {
  test('review: a transaction that somebody has locked does not hold back the other messages', async () => {
    const [locked, free] = [await collect(), await collect()];
    const impatient = connectDatabase({ url: base.databaseUrl, lockTimeoutMs: 200 });
    const other = createOperatorInbox({ ...ctx, db: impatient });
    const evidenceOf = async ({ id }: Transaction) =>
      (await ctx.db.query(`select from evidence where transaction_id = $1 and source = 'callback'`, [id])).length;
    await ctx.db.transaction(async (tx) => {
      await tx.query('select from transactions where id = $1 for update', [locked.id]);
      await Promise.all([
        other.receive(messageOf(proof(refOf(locked), success()))),
        other.receive(messageOf(proof(refOf(free), success()))),
      ]);
      await other.idle();
      assert.equal((await now(free)).status, 'success');
      assert.equal((await now(locked)).status, 'processing');
    });
    await impatient.close();
    base.clock.advance(31_000);
    await inbox.pass();
    assert.equal((await now(locked)).status, 'success');
    assert.deepEqual([await evidenceOf(locked), await evidenceOf(free)], [1, 1], 'each is applied once');
  });
});

describe('quarantine', () => {
  test('review: one reference fills a bounded number of rows, however often its reports change', async () => {
    const transaction = await collect();
    for (let each = 0; each < 60; each++)
      await receive({ ...proof(refOf(transaction), success({ receipt: 'A\u0000B' })), sentAt: each });
    const rows = await ctx.db.query<{ times: number }>('select times from quarantined_reports where reference = $1', [
      refOf(transaction),
    ]);
    assert.equal(rows.length, 20);
    assert.equal(
      rows.reduce((sum, row) => sum + row.times, 0),
      60,
    );
  });

  test('money 17: a hundred events in one message, one bad value of each kind: the others are applied', async () => {
    const collections = await Promise.all(Array.from({ length: 40 }, () => collect()));
    const bad: Said[] = [
      { amount: 0n },
      { amount: -1n },
      { amount: 2n ** 70n },
      { receipt: 'A\u0000B' },
      { currency: 'xx' },
    ];
    const odd = [
      ...bad.map((said) => proof(unknownRef(), success(said))),
      ...bad.map((said) => payment(`bad-${newReceipt()}`, said)),
      ...bad.map((said) => proof(`FREE-${newReceipt()}`, reversal(said))),
      proof(unknownRef(), { state: 'paid' } as unknown as Observation),
      proof(unknownRef(), {
        state: 'failed',
        failureCode: 'x'.repeat(900),
        rawCode: '',
        message: '\u0000',
      } as Observation),
    ];
    await receive(...odd, ...collections.map((each) => proof(refOf(each), success())), ...odd);
    const rows = await readTransactions(
      ctx.db,
      collections.map(({ id }) => id),
    );
    assert.deepEqual(
      rows.filter((row) => row.status !== 'success').map((row) => row.id),
      [],
    );
    assert.equal((await ctx.db.query('select from operator_inbox')).length, 0);
  });
});
