// Breaks follow the facts: they open, end when something explains them, and stay resolved while nothing changes. Payouts, refunds
// and money in suspense are compared as collections are.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { addStatement, CONNECTION } from '../../test/book-lines.ts';
import { type Books, differencesOf, openBooks, paid } from '../../test/books.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY } from '../../test/payments.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { uuid4Of } from '../rails/wire-ids.ts';
import { type Break, listBreaks, resolveBreak } from './breaks.ts';
import { openCalendar } from './calendar.ts';
import { compareGroup, type GroupLine } from './groups.ts';
import { sameNumber } from './match-rules.ts';
import { reconcile } from './matching.ts';

let ctx: TestContext & { close(): Promise<void> };
let books: Books;
before(async () => {
  ctx = await createTestContext({ ROLE: 'api' });
  books = await openBooks(ctx);
});
after(() => ctx.close());
beforeEach(() => ctx.clock.advance(DAY_MS));

const receiptOf = ({ id }: Transaction) => `R-${id}`;

async function compareToday() {
  const calendar = await openCalendar(ctx.db, CONNECTION);
  const day = calendar.dayOf(ctx.clock.now());
  const result = await reconcile(ctx, { connection: CONNECTION, ...calendar.spanOf(day), isWhole: true });
  const open = await listBreaks(ctx.db, { day, status: 'open' }, 100);
  return { rules: result.rules, open, kinds: open.map(({ kind }: Break) => kind).sort() };
}

async function collected(): Promise<Transaction> {
  const collection = await books.collect();
  await books.see(collection, paid(collection));
  return collection;
}

describe('breaks', () => {
  test('payouts and refunds are matched by receipt, by our id on the wire, and by their collection', async () => {
    const collection = await collected();
    await collected();
    const [payout, refund] = [await books.payOut('500'), await books.refund(collection, 20_000n)];
    await books.see(payout, paid(payout));
    await books.see(refund, paid(refund));
    await addStatement(ctx, 'ways', [
      { gross: collection.amount, reference: uuid4Of(refOf(collection)) },
      { gross: payout.amount, direction: 'out', reference: refOf(payout).replace('_', '') },
      { gross: 20_000n, kind: 'reversal', direction: 'out', reference: refOf(collection), receipt: 'given back' },
    ]);
    const { rules, kinds } = await compareToday();
    assert.deepEqual(rules, { reference: 2, refund_of: 1 });
    assert.deepEqual(kinds, ['missing_with_them']);
  });

  test('money in suspense is its case, and its payment when that claims it', async () => {
    await books.receive('nobody', 100_000n, 'P-1');
    const collection = await books.collect({ amount: 100_000n });
    await addStatement(ctx, 'suspense', [{ gross: 100_000n, receipt: 'P-1' }]);
    assert.deepEqual((await compareToday()).kinds, []);
    await books.see(collection, { state: 'succeeded', receipt: 'P-1' });
    assert.deepEqual((await compareToday()).kinds, []);
    assert.deepEqual(await differencesOf(ctx), []);
  });

  test('a break that a person resolved stays resolved until its facts change', async () => {
    const collection = await collected();
    await addStatement(ctx, 'resolved', [{ gross: 1_000n, receipt: 'X-1' }]);
    const first = await compareToday();
    assert.deepEqual(first.kinds, ['missing_with_them', 'missing_with_us']);
    const missing = first.open.find(({ kind }) => kind === 'missing_with_them');
    await ctx.db.transaction((tx) => resolveBreak(ctx, tx, missing?.id ?? '', 'amina', 'asked the operator'));
    assert.deepEqual((await compareToday()).kinds, ['missing_with_us']);
    await addStatement(ctx, 'resolved later', [{ gross: collection.amount - 100n, receipt: receiptOf(collection) }]);
    assert.deepEqual((await compareToday()).kinds, ['amount', 'missing_with_us']);
    await assert.rejects(
      ctx.db.transaction((tx) => resolveBreak(ctx, tx, missing?.id ?? '', 'amina', 'again')),
      /no such open break/,
    );
  });

  test('a payment is missing at the operator when the statement of its own currency reaches it', async () => {
    const compare = async (isWhole: { isWhole: true; currency: string } | null) => {
      const calendar = await openCalendar(ctx.db, CONNECTION);
      const span = calendar.spanOf(calendar.dayOf(ctx.clock.now()));
      await reconcile(ctx, { connection: CONNECTION, ...span, ...isWhole });
      const open = await listBreaks(ctx.db, { day: calendar.dayOf(span.from), status: 'open' }, 100);
      return open.filter(({ kind }) => kind === 'missing_with_them').map((each) => each.currency);
    };
    await collected();
    const kes = { gross: 100n, kind: 'other', state: 'pending', currency: 'KES' } as const;
    await addStatement(ctx, 'other currency', [{ ...kes, occurredAt: new Date(ctx.clock.millis() + 60_000) }]);
    assert.deepEqual(await compare(null), []);
    assert.deepEqual(await compare({ isWhole: true, currency: 'KES' }), []);
    const own = { gross: 0n, kind: 'other', state: 'pending' } as const;
    await addStatement(ctx, 'own currency', [{ ...own, occurredAt: new Date(ctx.clock.millis() + 60_000) }]);
    assert.deepEqual(await compare(null), [CURRENCY]);
  });

  test('a payment in parts is whole when its lines add up', () => {
    const line = (moved: bigint): GroupLine => ({
      lineKey: Buffer.from(String(moved)),
      leg: 'payment',
      state: 'succeeded',
      moved,
      day: '2026-03-02',
      currency: 'UGX',
    });
    const move = { leg: 'payment', amount: 100n, day: '2026-03-02', currency: 'UGX', covered: true } as const;
    assert.deepEqual(compareGroup([line(40n), line(60n)], [move], false), []);
    const late = compareGroup([line(100n)], [{ ...move, day: '2026-03-03' }], false);
    assert.deepEqual(
      late.map(({ kind, difference, day, counterDay }) => [kind, difference, day, counterDay]),
      [['other_day', 100n, '2026-03-02', '2026-03-03']],
    );
    const uncovered = compareGroup([], [{ ...move, covered: false }], false);
    assert.deepEqual(
      uncovered.map(({ undecided }) => undecided),
      [true],
    );
  });

  test('moves on several days count on each of them, with a line and without one', () => {
    const move = (amount: bigint, day: string) =>
      ({ leg: 'payment', amount, day, currency: 'UGX', covered: true }) as const;
    const moves = [move(-5n, '2026-03-04'), move(100n, '2026-03-02')];
    const line: GroupLine = {
      lineKey: Buffer.from('line'),
      leg: 'payment',
      state: 'succeeded',
      moved: 95n,
      day: '2026-03-03',
      currency: 'UGX',
    };
    for (const lines of [[], [line], [{ ...line, moved: 90n }], [{ ...line, state: 'failed' as const, moved: 0n }]]) {
      const found = compareGroup(lines, moves, false);
      const keys = found.map(
        ({ kind, lineKey, counterDay }) => `${kind} ${lineKey?.toString() ?? ''} ${counterDay ?? ''}`,
      );
      assert.equal(new Set(keys).size, found.length, keys.join(', '));
      const on = (day: string) =>
        found.reduce(
          (total, each) =>
            total + (each.day === day ? each.difference : each.counterDay === day ? -each.difference : 0n),
          0n,
        );
      const moved = lines.reduce((total, each) => total + each.moved, 0n);
      assert.deepEqual([on('2026-03-02'), on('2026-03-03'), on('2026-03-04')], [-100n, moved, 5n]);
    }
    const [missing] = compareGroup(
      [],
      [{ ...move(-5n, '2026-03-04'), covered: false }, move(100n, '2026-03-02')],
      false,
    );
    assert.deepEqual([missing?.kind, missing?.undecided], ['missing_with_them', undefined]);
  });

  test('numbers are the same however they are masked or written', () => {
    for (const shown of [
      '254712345678',
      '+254 712 345 678',
      '0712345678',
      '2547****678',
      '25471*****678',
      '0712***678',
    ])
      assert.ok(sameNumber(shown, '254712345678'), shown);
    for (const shown of ['254712345679', '2547****679', '2557****678', '678', '', '****'])
      assert.ok(!sameNumber(shown, '254712345678'), shown);
  });
});
