// What a statement makes happen: once, and never for the statement of something else.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addStatement, CONNECTION } from '../../test/book-lines.ts';
import { type Books, differencesOf, openBooks, paid } from '../../test/books.ts';
import { addTwoPeople, decideByTwo } from '../../test/decisions.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { listCasesOf } from '../payments/cases.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { openDispute } from '../payments/disputes.ts';
import { listEvidence } from '../payments/evidence.ts';
import { findTransaction, refOf, type Transaction } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { approveProposal, proposeForBreaks } from './break-proposals.ts';
import { dailyDifferences, listBreaks } from './breaks.ts';
import { openCalendar } from './calendar.ts';
import { applyEffects, bookFeesOfDay, planEffects } from './effects.ts';
import { listMargins } from './margin.ts';
import { reconcile } from './matching.ts';

const ENGINE = { wake: () => undefined, apply: () => assert.fail('the operator is not asked about what has ended') };
const NOTHING = { settled: 0, reversed: 0, toSuspense: 0, feesBooked: 0, unchanged: 0 };

let base: TestContext & { close(): Promise<void> };
let ctx: PaymentsContext;
let books: Books;
before(async () => {
  base = await createTestContext({ ROLE: 'api' });
  ctx = withPayments(base, silentRail());
  books = await openBooks(base);
});
after(() => base.close());

async function today() {
  const calendar = await openCalendar(ctx.db, CONNECTION);
  return { connection: CONNECTION, ...calendar.spanOf(calendar.dayOf(ctx.clock.now())) };
}

const openBreaks = async () => (await listBreaks(ctx.db, { status: 'open' }, 100)).map(({ kind }) => kind).sort();
const now = ({ holder_id: holderId, id }: Transaction) => findTransaction(ctx.db, holderId, id);
const receiptOf = ({ id }: Transaction) => `R-${id}`;

describe('applying a statement', () => {
  test('settles, reverses, holds in suspense and books fees, each once', async () => {
    const [known, open, taken] = [await books.collect(), await books.collect(), await books.collect()];
    await books.see(known, paid(known));
    await books.see(taken, paid(taken));
    await books.see(open, { state: 'unknown', reason: 'time-out' });
    const { amount } = known;
    await addStatement(base, 'first', [
      { gross: amount, receipt: receiptOf(known), fee: 500n },
      { gross: amount, reference: refOf(open), receipt: receiptOf(open), fee: 500n },
      { gross: amount, receipt: receiptOf(taken), fee: 500n },
      { gross: amount, kind: 'reversal', direction: 'out', reference: receiptOf(taken), receipt: 'own' },
      { gross: 70_000n, receipt: 'nobody', reference: 'who', msisdn: '256772000999' },
      { gross: 300n, kind: 'fee', direction: 'out', receipt: receiptOf(known) },
    ]);
    const span = await today();
    const found = await reconcile(ctx, span);
    assert.deepEqual(found.rules, { none: 1, receipt: 4, reference: 1 });
    assert.deepEqual(await openBreaks(), ['missing_with_us', 'state', 'state']);
    const plan = await planEffects(ctx, span);
    assert.deepEqual([plan.counts, plan.refused], [{ settle: 1, reverse: 1, suspense: 1 }, null]);
    assert.deepEqual(
      plan.fees.map(({ amount: fee }) => fee),
      [1_800n],
    );
    assert.equal((await now(open))?.status, 'processing', 'a plan moves nothing');

    const applied = await applyEffects(ctx, COMMAND_LINE, span);
    assert.deepEqual(applied, { settled: 1, reversed: 1, toSuspense: 1, feesBooked: 4, unchanged: 0 });
    assert.equal((await now(open))?.status, 'success');
    assert.equal((await now(taken))?.status, 'reversed');
    const evidence = await listEvidence(ctx.db, open.holder_id, open.id);
    assert.deepEqual(evidence.entries.map(({ source }) => source).slice(-1), ['statement']);
    await reconcile(ctx, span);
    assert.deepEqual(await openBreaks(), []);
    assert.deepEqual(await differencesOf(base), []);

    assert.deepEqual(await applyEffects(ctx, COMMAND_LINE, span), NOTHING);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('what a method earns is fees less what the operator charged', async () => {
    const span = await today();
    const [margin] = await listMargins(ctx.db, span);
    assert.equal(margin?.charged, 1_800n);
    assert.equal(margin?.margin, (margin?.earned ?? 0n) - 1_800n);
    assert.ok((margin?.earned ?? 0n) > 0n);
  });

  test('a fee that a lost dispute gave back was not earned', async () => {
    base.clock.advance(DAY_MS);
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    const span = await today();
    const earned = async () => (await listMargins(ctx.db, span)).map((margin) => margin.earned);
    assert.deepEqual(await earned(), [collection.fee]);
    const dispute = { amount: null, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
    await decideByTwo(ctx, ENGINE, await addTwoPeople(ctx), collection, 'dispute', 'dispute_lost');
    assert.deepEqual(await earned(), [0n]);
  });

  test('a line that says another amount opens a case and settles nothing', async () => {
    base.clock.advance(DAY_MS);
    const [known, open] = [await books.collect(), await books.collect()];
    await books.see(known, paid(known));
    await books.see(open, { state: 'unknown', reason: 'time-out' });
    await addStatement(base, 'amount', [
      { gross: known.amount, receipt: receiptOf(known) },
      { gross: open.amount - 100n, reference: refOf(open), receipt: receiptOf(open) },
    ]);
    const span = await today();
    await reconcile(ctx, span);
    const applied = await applyEffects(ctx, COMMAND_LINE, span);
    assert.deepEqual(applied, { ...NOTHING, unchanged: 1 });
    assert.equal((await now(open))?.status, 'processing');
    const cases = await listCasesOf(ctx.db, open.holder_id, open.id);
    assert.deepEqual(
      cases.map(({ kind }) => kind),
      ['amount_mismatch'],
    );
  });

  test('a line that names the collection is that of the refund that was paid and has no line yet', async () => {
    base.clock.advance(DAY_MS);
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    const back = { gross: 2_000n, kind: 'reversal', direction: 'out', reference: receiptOf(collection) } as const;
    await addStatement(base, 'refunded', [{ gross: collection.amount, receipt: receiptOf(collection) }]);
    const span = await today();
    // The same amount each time: one waits, one is paid and one waits again; and one is paid after the first has its line.
    const waits = [await books.refund(collection, 2_000n)];
    for (const receipt of ['REF-1', 'REF-2']) {
      const given = await books.refund(collection, 2_000n);
      await books.see(given, paid(given));
      waits.push(await books.refund(collection, 2_000n));
      await addStatement(base, receipt, [{ ...back, receipt }]);
      await reconcile(ctx, span);
      const all = await listBreaks(ctx.db, { status: 'open', connection: CONNECTION }, 100);
      assert.deepEqual(
        all.filter(({ opened_at: at }) => at >= span.from).map(({ kind }) => kind),
        [],
        receipt,
      );
      assert.deepEqual(await applyEffects(ctx, COMMAND_LINE, span), NOTHING);
    }
    for (const each of waits) assert.equal((await now(each))?.status, 'pending');
  });

  test('the line of a reversal is not that of a refund that failed before', async () => {
    base.clock.advance(DAY_MS);
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    const failed = await books.refund(collection, null);
    await books.see(failed, { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' });
    await books.see(collection, { state: 'reversed', receipt: null, rawCode: '', message: '' });
    await addStatement(base, 'reversed', [
      { gross: collection.amount, receipt: receiptOf(collection) },
      {
        gross: collection.amount,
        kind: 'reversal',
        direction: 'out',
        reference: receiptOf(collection),
        receipt: 'RV-1',
      },
    ]);
    const span = await today();
    await reconcile(ctx, span);
    const wallets = await balancesOf(ctx.db, collection.holder_id);
    assert.deepEqual(await applyEffects(ctx, COMMAND_LINE, span), NOTHING);
    assert.deepEqual(await balancesOf(ctx.db, collection.holder_id), wallets);
    assert.equal((await now(failed))?.status, 'failed');
  });

  test('the line of a lost dispute is explained by the dispute, and takes nothing more', async () => {
    base.clock.advance(DAY_MS);
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    const half = collection.amount / 2n;
    const dispute = { amount: half, reason: 'not delivered', reference: null, answerBy: null };
    await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
    await addStatement(base, 'chargeback', [
      { gross: collection.amount, receipt: receiptOf(collection) },
      { gross: half, kind: 'reversal', direction: 'out', reference: receiptOf(collection), receipt: 'CB-1' },
    ]);
    const span = await today();
    const about = async () => {
      await reconcile(ctx, span);
      const all = await listBreaks(ctx.db, { status: 'open', connection: CONNECTION }, 100);
      return all.filter(({ opened_at: at }) => at >= span.from).map(({ kind }) => kind);
    };
    assert.deepEqual(await about(), ['state']);
    await decideByTwo(ctx, ENGINE, await addTwoPeople(ctx), collection, 'dispute', 'dispute_lost');
    assert.deepEqual(await about(), []);
    const [wallet] = await balancesOf(ctx.db, collection.holder_id);
    assert.deepEqual(await applyEffects(ctx, COMMAND_LINE, span), NOTHING);
    assert.deepEqual(await balancesOf(ctx.db, collection.holder_id), [wallet]);
    assert.equal((await now(collection))?.status, 'success');
    assert.deepEqual(await differencesOf(base), []);
  });

  test('what lost disputes gave back without a line counts on each of their days', async () => {
    base.clock.advance(DAY_MS);
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    await addStatement(base, 'before disputes', [{ gross: collection.amount, receipt: receiptOf(collection) }]);
    const people = await addTwoPeople(ctx);
    const { from } = await today();
    const parts = [1_000n, 2_000n, 4_000n, 8_000n];
    for (const amount of parts) {
      base.clock.advance(DAY_MS);
      const dispute = { amount, reason: 'not delivered', reference: null, answerBy: null };
      await openDispute(ctx, COMMAND_LINE, { ...dispute, collection: refOf(collection) });
      await decideByTwo(ctx, ENGINE, people, collection, 'dispute', 'dispute_lost');
    }
    const { to } = await today();
    const calendar = await openCalendar(ctx.db, CONNECTION);
    const days = parts.map((_, index) => calendar.dayOf(new Date(from.getTime() + (index + 1) * DAY_MS)));
    const differences = async () => {
      await reconcile(ctx, { connection: CONNECTION, from, to, isWhole: true });
      const all = await dailyDifferences(ctx.db, { first: calendar.dayOf(from), last: days.at(-1) ?? '' });
      return all.map(({ day, difference }) => [day, difference]);
    };
    const theirs = () => days.map((day, index) => [day, parts[index]]);
    assert.deepEqual(await differences(), theirs());
    assert.deepEqual(await differences(), theirs());
    // The operator took all of it at once, on the last of these days: the others are what each side has on a day of its own.
    const gross = parts.reduce((total, amount) => total + amount, 0n);
    await addStatement(base, 'after disputes', [
      { gross, kind: 'reversal', direction: 'out', reference: receiptOf(collection), receipt: 'CB-4' },
    ]);
    const last = 8_000n - gross;
    assert.deepEqual(await differences(), [...theirs().slice(0, -1), [days.at(-1), last]]);
    assert.deepEqual(await differences(), [...theirs().slice(0, -1), [days.at(-1), last]]);
  });

  test('the statement of another account moves no money', async () => {
    base.clock.advance(DAY_MS);
    const known = await books.collect();
    await books.see(known, paid(known));
    const strangers = Array.from({ length: 9 }, (_, index) => ({ gross: 5_000n, receipt: `S-${index}`, fee: 10n }));
    await addStatement(base, 'strangers', [{ gross: known.amount, receipt: receiptOf(known) }, ...strangers]);
    const span = await today();
    await reconcile(ctx, span);
    assert.match((await planEffects(ctx, span)).refused ?? '', /Only 1 of 10 payments in UGX/);
    await assert.rejects(applyEffects(ctx, COMMAND_LINE, span), /another account, currency or day/);
    const [held] = await ctx.db.query<{ count: bigint }>(
      `select count(*) as count from operator_receipts where receipt like 'S-%'`,
    );
    assert.equal(held?.count, 0n);
  });

  test('lines in another currency are no lines of our payments', async () => {
    base.clock.advance(DAY_MS);
    const known = await books.collect();
    await books.see(known, paid(known));
    await addStatement(base, 'currency', [{ gross: known.amount, receipt: receiptOf(known), currency: 'KES' }]);
    const span = await today();
    const { rules } = await reconcile(ctx, span);
    assert.deepEqual(rules, { none: 1 });
    await assert.rejects(applyEffects(ctx, COMMAND_LINE, span), /Only 0 of 1 payments in KES/);
    assert.notEqual(CURRENCY, 'KES');
  });

  test('one unknown payment in a currency keeps back that currency only', async () => {
    base.clock.advance(DAY_MS);
    const open = await books.collect();
    await books.see(open, { state: 'unknown', reason: 'time-out' });
    await addStatement(base, 'two currencies', [
      { gross: open.amount, reference: refOf(open), receipt: receiptOf(open), fee: 700n },
      { gross: 9_000n, receipt: 'KES-1', currency: 'KES', fee: 300n },
    ]);
    const span = await today();
    const { days } = await reconcile(ctx, span);
    const plan = await planEffects(ctx, span);
    assert.match(plan.refused ?? '', /^Only 0 of 1 payments in KES/);
    assert.deepEqual(plan.counts, { settle: 1, reverse: 0, suspense: 0 });
    assert.deepEqual(
      plan.fees.map(({ currency, amount }) => [currency, amount]),
      [[CURRENCY, 700n]],
    );
    assert.deepEqual(await applyEffects(ctx, COMMAND_LINE, span), { ...NOTHING, settled: 1, feesBooked: 1 });
    assert.equal((await now(open))?.status, 'success');
    const close = { connection: CONNECTION, day: days.first };
    await assert.rejects(
      bookFeesOfDay(ctx, COMMAND_LINE, { ...close, currency: 'KES' }),
      /Only 0 of 1 payments in KES/,
    );
    assert.equal(await bookFeesOfDay(ctx, COMMAND_LINE, { ...close, currency: CURRENCY }), 0);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('a day with one unknown payment is decided by two people, and can be closed', async () => {
    base.clock.advance(DAY_MS);
    await addStatement(base, 'alone', [{ gross: 8_000n, receipt: 'ALONE-1', fee: 100n }]);
    const span = await today();
    const { days } = await reconcile(ctx, span);
    const ofDay = { connection: CONNECTION, currency: CURRENCY, day: days.first };
    await assert.rejects(applyEffects(ctx, COMMAND_LINE, span), /Only 0 of 1 payments in UGX.*two people/);
    await assert.rejects(bookFeesOfDay(ctx, COMMAND_LINE, ofDay), /Only 0 of 1/);
    const [stray] = await listBreaks(ctx.db, { day: days.first, kind: 'missing_with_us', status: 'open' }, 10);
    const { first, second } = await addTwoPeople(ctx);
    const request = { action: 'suspense', reason: 'of a payer', breakIds: [stray?.id ?? ''] } as const;
    const proposal = await proposeForBreaks(ctx, first.actor, request);
    await approveProposal(ctx, second.actor, proposal);
    assert.deepEqual(await listBreaks(ctx.db, { day: days.first, kind: 'missing_with_us', status: 'open' }, 10), []);
    assert.equal(await bookFeesOfDay(ctx, COMMAND_LINE, ofDay), 1);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('many unknown payments at once are the statement of another account, also for two people', async () => {
    base.clock.advance(DAY_MS);
    const strangers = Array.from({ length: 11 }, (_, index) => ({ gross: 5_000n, receipt: `T-${index}` }));
    await addStatement(base, 'many', strangers);
    const { days } = await reconcile(ctx, await today());
    const breaks = await listBreaks(ctx.db, { day: days.first, kind: 'missing_with_us', status: 'open' }, 20);
    const { first } = await addTwoPeople(ctx);
    const request = { action: 'suspense', reason: 'of payers', breakIds: breaks.map(({ id }) => id) } as const;
    await assert.rejects(proposeForBreaks(ctx, first.actor, request), /Only 0 of 11 payments/);
  });
});
