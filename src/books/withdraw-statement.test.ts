// A statement of the wrong connection, currency or time zone is taken back: nothing of it is left but the record, and nothing that people
// decided is lost.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addStatement, CONNECTION, type TestLine } from '../../test/book-lines.ts';
import { type Books, differencesOf, openBooks, paid } from '../../test/books.ts';
import { addTwoPeople } from '../../test/decisions.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { DAY_MS } from '../platform/clock.ts';
import { proposeForBreaks, rejectProposal } from './break-proposals.ts';
import { listBreaks, WITHDRAWN } from './breaks.ts';
import { createCalendar } from './calendar.ts';
import { reopenClose, signClose } from './closes.ts';
import { applyEffects } from './effects.ts';
import { reconcile } from './matching.ts';
import { findFile } from './statement-files.ts';
import { listWithdrawals, withdrawStatement } from './withdraw-statement.ts';

const DELETE_MATCHES = `delete from statement_matches m using statement_lines l
  where l.file_id = $1 and m.connection = l.connection and m.line_key = l.line_key`;
const WRONG = 'The file of another connection.';

/** The record of a withdrawal, without the questions before it. */
const RECORD = `with record as (
    insert into statement_withdrawals (file_id, connection, name, format, zone, lines, imported_by, imported_at, reason, withdrawn_by,
      withdrawn_at)
    select id, connection, name, format, zone, 1, imported_by, imported_at, 'unasked', 'x', imported_at from statement_files where id = $1
    returning id)
  insert into withdrawn_matches (withdrawal_id, connection, line_key, day, currency, moved, fee, line_seal, seen_at, matched_at, match_seal)
  select record.id, m.connection, m.line_key, m.day, m.currency, m.moved, m.fee, m.line_seal, m.seen_at, m.matched_at, m.match_seal
  from record, statement_matches m join statement_lines l using (connection, line_key) where l.file_id = $1`;

let base: TestContext & { close(): Promise<void> };
let ctx: PaymentsContext;
let books: Books;
before(async () => {
  base = await createTestContext({ ROLE: 'api' });
  ctx = withPayments(base, silentRail());
  books = await openBooks(base);
});
after(() => base.close());

/** A new day, so that no test sees the payments of another. */
function nextDay(): { day: string; span: { connection: string; from: Date; to: Date } } {
  base.clock.advance(DAY_MS);
  const calendar = createCalendar({ zone: 'UTC', cutOffMinutes: 0 });
  const day = calendar.dayOf(base.clock.now());
  return { day, span: { connection: CONNECTION, ...calendar.spanOf(day) } };
}

async function collected() {
  const collection = await books.collect();
  await books.see(collection, paid(collection));
  return collection;
}

const later = (milliseconds: number) => new Date(base.clock.millis() + milliseconds);

async function importLines(name: string, lines: readonly TestLine[]): Promise<bigint> {
  await addStatement(base, name, lines);
  const [file] = await ctx.db.query<{ id: bigint }>('select id from statement_files where name = $1', [name]);
  return file?.id ?? 0n;
}

const open = async (day: string) =>
  (await listBreaks(ctx.db, { day, status: 'open' }, 100))
    .map(({ kind, difference }) => `${kind} ${difference}`)
    .sort();
const countOf = async (table: string, fileId: bigint) => {
  const [row] = await ctx.db.query<{ rows: number }>(`select count(*)::int as rows from ${table} where file_id = $1`, [
    fileId,
  ]);
  return row?.rows;
};
const withdraw = (id: bigint) => withdrawStatement(ctx, COMMAND_LINE, id, WRONG);

describe('a statement that is withdrawn', () => {
  test('of many lines goes in a time that grows with them, whatever the planner knows', async () => {
    const { span } = nextDay();
    const many = Array.from({ length: 10_000 }, () => ({ gross: 1n, kind: 'other', state: 'failed' }) as const);
    const file = await importLines('many', many);
    await ctx.db.query(
      `insert into statement_matches (connection, line_key, day, late, currency, moved, fee, line_seal, seen_at)
       select connection, line_key, $2::date, false, currency, 0, 0, line_key, $2 from statement_lines where file_id = $1`,
      [file, span.from],
    );
    await ctx.db.transaction(async (tx) => {
      await tx.query(`set local statement_timeout = '4s'`);
      await tx.query(RECORD, [file]);
      await tx.query(DELETE_MATCHES, [file]);
    });
  });

  test('leaves no line and no break behind; the record of it stays', async () => {
    const { day, span } = nextDay();
    const collection = await collected();
    const wrong = await importLines('wrong', [
      { gross: 7_700n, receipt: 'W-1', fee: 10n },
      { gross: 100n, receipt: 'W-2', occurredAt: later(60_000) },
    ]);
    await reconcile(ctx, span);
    assert.deepEqual(await open(day), ['missing_with_them -100000', 'missing_with_us 100', 'missing_with_us 7700']);
    const { outcome, withdrawal } = await withdraw(wrong);
    assert.deepEqual([outcome, withdrawal.lines, withdrawal.reason], ['withdrawn', 2, WRONG]);
    assert.deepEqual([withdrawal.withdrawnBy, withdrawal.importedBy], [COMMAND_LINE.name, 'test']);
    assert.deepEqual(await open(day), []);
    assert.equal(await countOf('statement_lines', wrong), 0);
    assert.equal((await findFile(ctx.db, wrong))?.status, 'withdrawn');
    const ended = await listBreaks(ctx.db, { day, status: 'resolved' }, 10);
    assert.deepEqual([...new Set(ended.map(({ resolution }) => resolution))], [WITHDRAWN]);
    const [audited] = await ctx.db.query<{ details: unknown }>(
      `select details from audit_log where action = 'statement.withdrawn' and subject = $1`,
      [String(wrong)],
    );
    assert.match(JSON.stringify(audited?.details), /The file of another connection/);
    assert.equal((await withdraw(wrong)).outcome, 'known');
    assert.equal((await listWithdrawals(ctx.db, wrong)).length, 1);
    // The right file of the same day is judged by itself.
    await importLines('right', [
      { gross: collection.amount, receipt: `R-${collection.id}`, occurredAt: later(60_000) },
    ]);
    await reconcile(ctx, span);
    assert.deepEqual(await open(day), []);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('brings back the break that only its line had explained', async () => {
    const { day, span } = nextDay();
    const [known, other] = [await collected(), await collected()];
    await importLines('half', [{ gross: known.amount, receipt: `R-${known.id}`, occurredAt: later(60_000) }]);
    await reconcile(ctx, span);
    assert.deepEqual(await open(day), ['missing_with_them -100000']);
    const wrong = await importLines('rest', [{ gross: other.amount, receipt: `R-${other.id}` }]);
    await reconcile(ctx, span);
    assert.deepEqual(await open(day), []);
    await withdraw(wrong);
    assert.deepEqual(await open(day), ['missing_with_them -100000']);
    const [missing] = await listBreaks(ctx.db, { day, status: 'open' }, 10);
    assert.equal(missing?.transaction_id, other.id);
  });

  test('is refused while a proposal waits; what people explained stays explained', async () => {
    const { day, span } = nextDay();
    const { first } = await addTwoPeople(base);
    const wrong = await importLines('proposed', [{ gross: 5_000n, receipt: 'P-1' }]);
    await reconcile(ctx, span);
    const breakIds = (await listBreaks(ctx.db, { day, status: 'open' }, 10)).map(({ id }) => id);
    const request = { action: 'explain' as const, reason: 'asked the operator', breakIds };
    const actor = { ...first.actor, memberId: first.actor.memberId ?? 0n };
    const proposal = await proposeForBreaks(ctx, actor, request);
    await assert.rejects(
      withdraw(wrong),
      /Breaks of its lines that wait in a proposal: 1\. Approve or reject it first/,
    );
    assert.equal(await countOf('statement_lines', wrong), 1);
    await rejectProposal(ctx, actor, proposal);
    await withdraw(wrong);
    assert.deepEqual(await open(day), []);
  });

  test('is refused after money moved by one of its lines', async () => {
    const { span } = nextDay();
    const collection = await collected();
    const file = await importLines('applied', [{ gross: collection.amount, receipt: `R-${collection.id}`, fee: 500n }]);
    await reconcile(ctx, span);
    await applyEffects(ctx, COMMAND_LINE, span);
    await assert.rejects(withdraw(file), /Lines of it that were applied: 1/);
    assert.equal(await countOf('statement_lines', file), 1);
  });

  test('is refused on a signed day until it is reopened; the chain of closes stays whole', async () => {
    const { day, span } = nextDay();
    // A connection of its own: no day of it is signed before.
    const connection = 'withdrawn-chain';
    await addStatement(base, 'signed', [{ gross: 300n, receipt: 'S-1', balance: 1_300n }], connection);
    const [file] = await ctx.db.query<{ id: bigint }>(`select id from statement_files where name = 'signed'`);
    base.clock.advance(DAY_MS);
    await reconcile(ctx, { ...span, connection });
    const close = { connection, currency: CURRENCY, day };
    await signClose(ctx, COMMAND_LINE, close);
    base.clock.advance(1_000);
    await assert.rejects(
      withdraw(file?.id ?? 0n),
      new RegExp(`Its lines count on ${day}, which is signed in ${CURRENCY}\\. Reopen that day first`),
    );
    const unasked = ctx.db.transaction(async (tx) => {
      await tx.query(RECORD, [file?.id]);
      await tx.query(DELETE_MATCHES, [file?.id]);
    });
    await assert.rejects(unasked, /a line of a signed day stays/);
    await reopenClose(ctx, COMMAND_LINE, close, 'wrong file');
    await withdraw(file?.id ?? 0n);
    assert.deepEqual(await open(day), []);
    assert.deepEqual(await differencesOf(base), []);
    await base.ownerDb.query('alter table withdrawn_matches disable trigger user');
    await base.ownerDb.query(`update withdrawn_matches set moved = moved + 1 where connection = $1`, [connection]);
    assert.deepEqual(
      (await differencesOf(base)).map(({ what }) => what),
      ['close_content'],
    );
    await base.ownerDb.query(`update withdrawn_matches set moved = moved - 1 where connection = $1`, [connection]);
    await base.ownerDb.query('alter table withdrawn_matches enable trigger user');
  });

  test('leaves alone what a signed day has found missing: its statement was whole', async () => {
    const { day, span } = nextDay();
    const seen = await collected();
    await importLines('whole day', [{ gross: seen.amount, receipt: `R-${seen.id}`, balance: 500_000n }]);
    base.clock.advance(60_000);
    const missing = await collected();
    await reconcile(ctx, span);
    assert.deepEqual(await open(day), [], 'later than the newest line');
    const { span: next } = nextDay();
    await signClose(ctx, COMMAND_LINE, { connection: CONNECTION, currency: CURRENCY, day });
    assert.deepEqual(await open(day), ['missing_with_them -100000']);
    const wrong = await importLines('day after', [{ gross: 7_700n, receipt: 'D-1' }]);
    await reconcile(ctx, next);
    await withdraw(wrong);
    assert.deepEqual(await open(day), ['missing_with_them -100000']);
    const [left] = await listBreaks(ctx.db, { day, status: 'open' }, 10);
    assert.equal(left?.transaction_id, missing.id);
    assert.deepEqual(await differencesOf(base), []);
  });

  test('leaves a file that has its lines too, and was not read again, as one that must be imported again', async () => {
    nextDay();
    const [wrong, another] = [
      await importLines('shared', [{ gross: 5_000n, receipt: 'B-1' }]),
      await importLines('shared later', [{ gross: 6_000n, receipt: 'B-2' }]),
    ];
    // Its original cannot be read: the process may as well have ended before.
    const other = await importLines('has it too', []);
    await ctx.db.query('update statement_files set lines_known = 1 where id = $1', [other]);
    await withdraw(wrong);
    const left = await findFile(ctx.db, other);
    assert.equal(left?.status, 'broken_off');
    assert.match(left.problem ?? '', /Import this file again/);
    assert.equal((await withdraw(another)).outcome, 'withdrawn');
  });

  test('the database lets lines go in no other way', async () => {
    nextDay();
    const file = await importLines('kept', [{ gross: 300n, receipt: 'K-1' }]);
    await assert.rejects(
      ctx.db.query('delete from statement_lines where file_id = $1', [file]),
      /only when it is withdrawn/,
    );
    const calendar = createCalendar({ zone: 'UTC', cutOffMinutes: 0 });
    await reconcile(ctx, { connection: CONNECTION, ...calendar.spanOf(calendar.dayOf(base.clock.now())) });
    await assert.rejects(ctx.db.query(DELETE_MATCHES, [file]), /only when its statement is withdrawn/);
    await assert.rejects(ctx.db.query('delete from statement_withdrawals'), /append-only|permission denied/);
    await assert.rejects(withdrawStatement(ctx, COMMAND_LINE, file, '  '), /Say in a few words why/);
    await assert.rejects(withdraw(999_999n), /no statement 999999/);
  });
});
