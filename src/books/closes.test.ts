// The daily close: it adds up or cannot be signed, it is immutable, and an edit of anything in it is named.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addStatement, CONNECTION } from '../../test/book-lines.ts';
import { type Books, differencesOf, openBooks, paid } from '../../test/books.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { tamper } from '../../test/tamper.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Transaction } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import { listBreaks } from './breaks.ts';
import { changeCloseRule, createCalendar } from './calendar.ts';
import { currenciesOf, listCloses, prepareClose, reopenClose, signClose } from './closes.ts';
import { pictureOfDay } from './day-picture.ts';
import { applyEffects, planEffects } from './effects.ts';
import { reconcile } from './matching.ts';

const AMINA = { memberId: null, name: 'amina@example.org' };
const FIRST = { connection: CONNECTION, currency: CURRENCY, day: '2026-03-02' };
const SECOND = { ...FIRST, day: '2026-03-03' };
const OPENING = 1_000_000n;

let base: TestContext & { close(): Promise<void> };
let ctx: PaymentsContext;
let books: Books;
let known: Transaction;
let missing: Transaction;
before(async () => {
  base = await createTestContext({ ROLE: 'api' });
  ctx = withPayments(base, silentRail());
  books = await openBooks(base);
  known = await books.collect();
  missing = await books.collect();
  await books.see(known, paid(known));
  await books.see(missing, paid(missing));
});
after(() => base.close());

const spanOf = (day: string) => ({
  connection: CONNECTION,
  ...createCalendar({ zone: 'UTC', cutOffMinutes: 0 }).spanOf(day),
});
const found = async () => (await differencesOf(base)).map(({ what }) => what).sort();

async function tamperBooks(statement: string, values: unknown[] = []): Promise<void> {
  const tables = ['statement_lines', 'statement_matches', 'closes', 'close_items', 'statement_effects'];
  for (const table of tables) await base.ownerDb.query(`alter table ${table} disable trigger user`);
  await tamper(base.ownerDb, statement, values);
  for (const table of tables) await base.ownerDb.query(`alter table ${table} enable trigger user`);
}

describe('a day of a connection', () => {
  test('begins at the cut-off time in its zone', () => {
    const calendar = createCalendar({ zone: 'Africa/Nairobi', cutOffMinutes: 6 * 60 });
    assert.equal(calendar.dayOf(new Date('2026-03-02T02:59:59Z')), '2026-03-01');
    assert.equal(calendar.dayOf(new Date('2026-03-02T03:00:00Z')), '2026-03-02');
    assert.deepEqual(calendar.spanOf('2026-03-02').to, new Date('2026-03-03T03:00:00Z'));
  });

  test('begins at the cut-off by the clock also on the days on which clocks change', () => {
    const from = (zone: string, cutOffMinutes: number, day: string) =>
      createCalendar({ zone, cutOffMinutes }).spanOf(day).from.toISOString();
    assert.equal(from('Europe/London', 6 * 60, '2026-03-29'), '2026-03-29T05:00:00.000Z');
    assert.equal(from('Europe/London', 6 * 60, '2026-10-25'), '2026-10-25T06:00:00.000Z');
    assert.equal(from('Africa/Casablanca', 6 * 60, '2026-02-15'), '2026-02-15T06:00:00.000Z');
    // Midnight does not exist in Cairo on that day.
    assert.equal(from('Africa/Cairo', 0, '2026-04-24'), '2026-04-23T22:00:00.000Z');
    assert.equal(from('Africa/Cairo', 30, '2026-04-24'), '2026-04-23T22:00:00.000Z');
    const london = createCalendar({ zone: 'Europe/London', cutOffMinutes: 6 * 60 });
    for (let at = Date.UTC(2026, 2, 28); at < Date.UTC(2026, 9, 27); at += 30 * 60_000) {
      const span = london.spanOf(london.dayOf(new Date(at)));
      assert.ok(span.from.getTime() <= at && at < span.to.getTime(), new Date(at).toISOString());
    }
  });

  test('is not signed while fees are not booked, the balance is unknown, or the day is not over', async () => {
    await addStatement(base, 'monday', [{ gross: known.amount, receipt: `R-${known.id}`, fee: 500n }]);
    const { problems } = await prepareClose(ctx, FIRST);
    assert.equal(problems.length, 3);
    assert.match(problems.join(' '), /not over yet.* fees of the operator are not booked.* names no closing balance/);
    await assert.rejects(signClose(ctx, AMINA, FIRST), /cannot be signed/);
  });

  test('is explained to the cent by its breaks', async () => {
    base.clock.advance(DAY_MS);
    await applyEffects(ctx, AMINA, spanOf(FIRST.day));
    const balance = OPENING + known.amount - 500n;
    const day = await prepareClose(ctx, { ...FIRST, balance });
    assert.deepEqual(day.problems, []);
    assert.equal(day.openingTheirs, OPENING);
    assert.deepEqual(
      day.items.map(({ kind, difference }) => [kind, difference]),
      [
        ['missing_with_them', -missing.amount],
        ['other_day', -500n],
      ],
    );
    assert.equal(day.unexplained, 0n);
  });

  test('is signed by a person, once, and then immutable', async () => {
    const balance = OPENING + known.amount - 500n;
    await signClose(ctx, AMINA, { ...FIRST, balance });
    base.clock.advance(1_000);
    const [close] = await listCloses(ctx.db, CONNECTION, 10);
    assert.deepEqual([close?.day, close?.signed_by, close?.in_force], [FIRST.day, AMINA.name, true]);
    await assert.rejects(signClose(ctx, AMINA, { ...FIRST, balance }), /is closed already/);
    await assert.rejects(ctx.db.query('update closes set closing_theirs = 0'), /append-only|permission denied/);
    const later = { zone: 'Africa/Nairobi', cutOffMinutes: 0 };
    const change = ctx.db.transaction((tx) => changeCloseRule(tx, CONNECTION, later, { by: 'x', at: ctx.clock.now() }));
    await assert.rejects(change, /cannot change any more/);
    assert.deepEqual(await found(), []);
  });

  test('a line that comes after its day was signed counts on the next day, and closes its break', async () => {
    const line = { gross: missing.amount, receipt: `R-${missing.id}`, occurredAt: new Date('2026-03-02T12:00:00Z') };
    await addStatement(base, 'tuesday', [line, { gross: 0n, kind: 'other', state: 'pending' }]);
    base.clock.advance(DAY_MS);
    const balance = OPENING + known.amount - 500n + missing.amount;
    const day = await prepareClose(ctx, { ...SECOND, balance });
    assert.deepEqual(day.problems, []);
    assert.equal(day.lateLines, 1);
    const open = await listBreaks(ctx.db, { status: 'open' }, 10);
    assert.deepEqual(
      open.map(({ kind, day: on, counter_day: other }) => [kind, on, other]),
      [['other_day', SECOND.day, FIRST.day]],
    );
    await signClose(ctx, AMINA, { ...SECOND, balance });
    base.clock.advance(1_000);
    assert.deepEqual(await listBreaks(ctx.db, { status: 'open' }, 10), []);
    assert.deepEqual(await found(), []);
  });

  test('ledger verify names an edited line, match, close and explanation', async () => {
    const edits: [string, string, string[]][] = [
      [
        `update statement_lines set gross = gross + 1`,
        `update statement_lines set gross = gross - 1`,
        ['statement_lines'],
      ],
      [
        `update statement_matches set rule = 'number' where rule = 'receipt'`,
        `update statement_matches set rule = 'receipt' where rule = 'number'`,
        ['statement_matches'],
      ],
      [`update closes set signed_by = 'x'`, `update closes set signed_by = '${AMINA.name}'`, ['closes']],
      [
        `update close_items set difference = difference + 1`,
        `update close_items set difference = difference - 1`,
        ['closes'],
      ],
      [
        `update statement_matches set day = '2026-03-09' where late`,
        `update statement_matches set day = '2026-03-03' where late`,
        ['close_content'],
      ],
    ];
    for (const [edit, undo, expected] of edits) {
      await tamperBooks(edit);
      assert.deepEqual([...new Set(await found())], expected, edit);
      await tamperBooks(undo);
    }
    assert.deepEqual(await found(), []);
  });

  test('reopening is a row of the chain, and the day can be signed again', async () => {
    await assert.rejects(reopenClose(ctx, AMINA, FIRST, ''), /why the day is reopened/);
    await reopenClose(ctx, AMINA, FIRST, 'a line was read wrongly');
    base.clock.advance(1_000);
    const chain = await listCloses(ctx.db, CONNECTION, 10);
    assert.deepEqual(
      chain.map(({ kind, day, in_force: holds }) => [kind, day, holds]),
      [
        ['reopening', FIRST.day, false],
        ['close', SECOND.day, false],
        ['close', FIRST.day, false],
      ],
    );
    const balance = OPENING + known.amount - 500n;
    await signClose(ctx, AMINA, { ...FIRST, balance });
    base.clock.advance(1_000);
    await signClose(ctx, AMINA, { ...SECOND, balance: balance + missing.amount });
    base.clock.advance(1_000);
    assert.equal((await listCloses(ctx.db, CONNECTION, 10)).filter(({ in_force: holds }) => holds).length, 2);
    assert.deepEqual(await found(), []);
  });

  test('a day on which nothing moved at the operator is closed, although the fees of the day before were booked on it', async () => {
    const third = { ...FIRST, day: '2026-03-04' };
    const quiet = { ...FIRST, day: '2026-03-05' };
    const collection = await books.collect();
    await books.see(collection, paid(collection));
    const [, second] = (await listCloses(ctx.db, CONNECTION, 10)).toReversed().filter(({ in_force: holds }) => holds);
    const balance = (second?.closing_theirs ?? 0n) + collection.amount - 300n;
    await addStatement(base, 'third', [
      { gross: collection.amount, receipt: `R-${collection.id}`, fee: 300n, balance },
    ]);
    base.clock.advance(DAY_MS);
    await prepareClose(ctx, third);
    await applyEffects(ctx, AMINA, spanOf(third.day));
    await signClose(ctx, AMINA, third);
    base.clock.advance(DAY_MS);
    assert.deepEqual(await currenciesOf(ctx.db, CONNECTION, quiet.day), [CURRENCY]);
    const day = await prepareClose(ctx, quiet);
    assert.deepEqual([day.problems, day.lines, day.balanceSource], [[], 0, 'unchanged']);
    const [picture] = await pictureOfDay(ctx, [quiet], quiet.day);
    assert.equal(picture?.status, 'ready', 'no statement is missing');
    await signClose(ctx, AMINA, quiet);
    assert.deepEqual(await found(), []);
  });

  test('a day whose statement was forgotten is not closed, unless a person has read that the balance is the same', async () => {
    const day = { ...FIRST, day: '2026-03-06' };
    const [last] = await listCloses(ctx.db, CONNECTION, 1);
    const balance = last?.closing_theirs ?? 0n;
    // What came in and what went out are the same: the balance of our ledger does not tell that something moved.
    const collection = await books.collect({ fee: 0n });
    await books.see(collection, paid(collection));
    const refund = await books.refund(collection, null);
    await books.see(refund, paid(refund));
    base.clock.advance(DAY_MS);
    await assert.rejects(signClose(ctx, AMINA, day), /There is no line of a statement/);
    assert.deepEqual(await listBreaks(ctx.db, { status: 'open', day: day.day }, 10), []);
    const wrong = await prepareClose(ctx, { ...day, balance: balance + 1n });
    assert.match(wrong.problems.join(' '), /does not add up/);
    await signClose(ctx, AMINA, { ...day, balance });
    assert.deepEqual(await found(), []);
  });

  test('a column of ids that was read as amounts is shown, and not signed', async () => {
    const connection = 'ids-as-amounts';
    const at = new Date('2026-03-02T10:00:00Z');
    const most = 99_999_999_999_999_999n;
    const lines = Array.from({ length: 100 }, (_, index) => ({
      gross: most,
      fee: most,
      receipt: `ID-${index}`,
      occurredAt: at,
      balance: 5n,
    }));
    await addStatement(base, connection, lines, connection);
    const day = { connection, currency: CURRENCY, day: FIRST.day };
    const { breaks } = await reconcile(ctx, { ...spanOf(FIRST.day), connection });
    assert.deepEqual(
      breaks.map(({ kind, difference }) => [kind, difference]),
      [['missing_with_us', most * 100n]],
    );
    const [picture] = await pictureOfDay(ctx, [day], FIRST.day);
    assert.equal(picture?.figures.linesIn, most * 100n);
    assert.equal(picture?.differences.at(-1)?.difference, most * 100n);
    const { refused, fees } = await planEffects(ctx, { ...spanOf(FIRST.day), connection });
    assert.match(refused ?? '', /Only 0 of 100 payments/);
    assert.deepEqual(fees, []);
    const blocked = await prepareClose(ctx, day);
    assert.match(blocked.problems.join(' '), /larger than any account/);
    await assert.rejects(signClose(ctx, AMINA, day), /larger than any account/);
  });

  test('a forgotten statement of one currency shows, also where lines of another one came', async () => {
    const day = { ...FIRST, day: '2026-03-07' };
    const collection = await books.collect({ fee: 0n });
    await books.see(collection, paid(collection));
    const refund = await books.refund(collection, null);
    await books.see(refund, paid(refund));
    await addStatement(base, 'kenya', [{ gross: 100n, receipt: 'KES-7', currency: 'KES', balance: 100n }]);
    base.clock.advance(DAY_MS);
    await assert.rejects(signClose(ctx, AMINA, day), /There is no line of a statement of quiet in UGX/);
    const [last] = await listCloses(ctx.db, CONNECTION, 1);
    await signClose(ctx, AMINA, { ...day, balance: last?.closing_theirs ?? 0n });
    assert.deepEqual(await found(), []);
  });

  test('the balance of a file is that of the day of its newest line; a line on the cut-off is of the day that begins', async () => {
    const monday = { ...FIRST, currency: 'KES' };
    const at = (time: string) => ({ occurredAt: new Date(time), currency: 'KES' });
    const close = (name: string, balance: bigint) =>
      base.ownerDb.query('update statement_files set closing_balance = $2 where name = $1', [name, balance]);
    await addStatement(base, 'kes', [
      { gross: 100_000n, receipt: 'K-1', ...at('2026-03-02T10:00:00Z') },
      { gross: 20_000n, receipt: 'K-2', ...at('2026-03-03T00:00:00Z') },
    ]);
    await close('kes', 520_000n);
    const first = await prepareClose(ctx, monday);
    assert.deepEqual([first.closingTheirs, first.linesIn], [null, 100_000n]);
    await signClose(ctx, AMINA, { ...monday, balance: 500_000n });
    // The file of the morning comes after that of the afternoon.
    await addStatement(base, 'kes, afternoon', [{ gross: 3_000n, receipt: 'K-4', ...at('2026-03-03T15:00:00Z') }]);
    await close('kes, afternoon', 527_000n);
    await addStatement(base, 'kes, morning', [{ gross: 4_000n, receipt: 'K-3', ...at('2026-03-03T09:00:00Z') }]);
    await close('kes, morning', 524_000n);
    const second = await prepareClose(ctx, { ...monday, day: SECOND.day });
    assert.deepEqual([second.problems, second.closingTheirs, second.balanceSource], [[], 527_000n, 'file']);
  });

  test('lines of a file that was being read while its day was signed count on the next day', async () => {
    const second = { ...SECOND, currency: 'KES' };
    await signClose(ctx, AMINA, second);
    const line = { gross: 6_000n, receipt: 'K-5', currency: 'KES', occurredAt: new Date('2026-03-03T16:00:00Z') };
    await addStatement(base, 'kes, evening', [line]);
    const [begun, done] = [new Date(ctx.clock.millis() - 60_000), new Date(ctx.clock.millis() + 60_000)];
    const times = [begun, done, 'kes, evening'];
    await base.ownerDb.query('update statement_files set imported_at = $1, finished_at = $2 where name = $3', times);
    const third = await prepareClose(ctx, { ...second, day: '2026-03-04', balance: 533_000n });
    assert.deepEqual([third.problems, third.lateLines, third.linesIn], [[], 1, 6_000n]);
  });

  test('a currency that rests for a day is closed with the others, so that its next day can be', async () => {
    const connection = 'two-currencies';
    const day = (number: number) => new Date(base.clock.millis() + number * DAY_MS).toISOString().slice(0, 10);
    const days = [day(0), day(1), day(2)] as const;
    const moved: readonly string[][] = [['KES', 'UGX'], ['UGX'], ['KES']];
    for (const [index, currencies] of moved.entries()) {
      const lines = currencies.map((currency) => ({
        gross: 100n,
        receipt: `${currency} ${index}`,
        currency,
        balance: 100n * BigInt(index + 1),
      }));
      await addStatement(base, `two currencies ${index}`, lines, connection);
      base.clock.advance(DAY_MS);
    }
    for (const each of days.slice(0, 2)) {
      await prepareClose(ctx, { connection, currency: 'UGX', day: each });
      assert.deepEqual(await currenciesOf(ctx.db, connection, each), ['KES', 'UGX']);
      for (const currency of ['KES', 'UGX']) await signClose(ctx, AMINA, { connection, currency, day: each });
    }
    // What ended long ago is not closed for ever.
    await prepareClose(ctx, { connection, currency: 'KES', day: days[2], balance: 200n });
    await signClose(ctx, AMINA, { connection, currency: 'KES', day: days[2], balance: 200n });
    base.clock.advance(DAY_MS);
    await addStatement(
      base,
      'two currencies 4',
      [
        {
          gross: 100n,
          receipt: 'KES 4',
          currency: 'KES',
          balance: 300n,
          occurredAt: new Date(base.clock.millis() - DAY_MS),
        },
      ],
      connection,
    );
    await prepareClose(ctx, { connection, currency: 'KES', day: day(-1) });
    assert.deepEqual(await currenciesOf(ctx.db, connection, day(-1)), ['KES']);
  });
});
