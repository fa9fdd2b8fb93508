// Statements fetched by the rail: in parts, imported as a file, the same day twice adds nothing; every day where it is on.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { silentRail, withPayments } from '../../test/payments.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import type { StatementPart, StatementSpan } from '../rails/rail.ts';
import { SANDBOX_RAIL } from '../rails/sandbox.ts';
import { fetchDailyStatements, fetchStatement, listDailyFetches, setDailyFetch } from './fetch-statement.ts';
import { listFiles } from './statement-files.ts';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let asked: { span: StatementSpan; part: string | null }[];
let answer: (part: string | null) => StatementPart;

const record = (id: string) => ({
  transaction_id: id,
  transaction_type: 'merchant_payment',
  timestamp: '2026-03-02T08:00:00Z',
  amount: '100',
  fee: '1',
  currency: 'XOF',
  client_reference: null,
});

before(async () => {
  base = await createTestContext();
});
after(() => base.close());
beforeEach(async () => {
  asked = [];
  answer = (part) =>
    part === null ? { records: [record('T1'), record('T2')], next: 'second' } : { records: [record('T3')], next: null };
  const rail = silentRail({
    name: SANDBOX_RAIL,
    fetchStatement: async (span, part) => {
      asked.push({ span, part });
      return answer(part);
    },
  });
  ctx = withPayments(base, rail);
  await base.db.query('delete from statement_fetches');
});

const fetchDay = (day = '2026-03-02') => fetchStatement(ctx, COMMAND_LINE, SANDBOX_RAIL, day);

test('the parts of a day become one file, and the same day again adds nothing', async () => {
  const first = await fetchDay();
  assert.ok(first.outcome === 'read');
  assert.deepEqual([first.file.source, first.file.format, first.file.linesNew], ['rail', 'wave', 3]);
  assert.deepEqual(
    asked.map(({ part }) => part),
    [null, 'second'],
  );
  assert.deepEqual(asked[0]?.span, { from: new Date('2026-03-02T00:00Z'), to: new Date('2026-03-03T00:00Z') });
  assert.equal((await fetchDay()).outcome, 'known');
  answer = () => ({ records: [record('T1'), record('T2'), record('T3'), record('T4')], next: null });
  const later = await fetchDay();
  assert.ok(later.outcome === 'read');
  assert.deepEqual([later.file.linesNew, later.file.linesKnown], [1, 3]);
});

test('an error in a later part imports nothing', async () => {
  const { length } = await listFiles(ctx.db, { limit: 100 });
  answer = (part) => (part === null ? { records: [record('E1')], next: 'second' } : { error: 'it hung up' });
  await assert.rejects(fetchDay(), /could not be fetched: it hung up/);
  assert.equal((await listFiles(ctx.db, { limit: 100 })).length, length);
});

test('a day without movements is no file; a day to come, or no day, is refused', async () => {
  answer = () => ({ records: [], next: null });
  assert.deepEqual(await fetchDay(), { outcome: 'nothing' });
  await assert.rejects(fetchDay('2026-03-04'), /has not begun/);
  await assert.rejects(fetchDay('yesterday'), /is not a day/);
});

test('an operator without such a list is refused with what to do instead', async () => {
  ctx = withPayments(base, silentRail({ name: SANDBOX_RAIL }));
  await assert.rejects(fetchDay(), /statement import/);
  await assert.rejects(setDailyFetch(ctx, COMMAND_LINE, SANDBOX_RAIL, true), /statement import/);
});

test('every day is fetched once, an hour after its end; what fails is tried again, and given up after three days', async () => {
  await setDailyFetch(ctx, COMMAND_LINE, SANDBOX_RAIL, true);
  assert.equal(await fetchDailyStatements(ctx), 0);
  // Midnight was eight hours ago in the clock of the tests; the first day ends in fifteen.
  base.clock.advance(DAY_MS - (base.clock.millis() % DAY_MS));
  assert.equal(await fetchDailyStatements(ctx), 0);
  base.clock.advance(HOUR_MS);
  assert.deepEqual([await fetchDailyStatements(ctx), await fetchDailyStatements(ctx)], [1, 0]);
  answer = () => ({ error: 'it is down' });
  base.clock.advance(DAY_MS);
  await fetchDailyStatements(ctx);
  await fetchDailyStatements(ctx);
  const calls = asked.length;
  const [failed] = await listDailyFetches(ctx.db);
  assert.match(failed?.problem ?? '', /it is down/);
  base.clock.advance(HOUR_MS / 4);
  await fetchDailyStatements(ctx);
  assert.equal(asked.length, calls + 1);
  base.clock.advance(4 * DAY_MS);
  await fetchDailyStatements(ctx);
  assert.notEqual((await listDailyFetches(ctx.db))[0]?.nextDay, failed?.nextDay);
  await assert.rejects(setDailyFetch(ctx, COMMAND_LINE, 'sandbocks', false), /No statement of "sandbocks" is fetched/);
  assert.equal((await listDailyFetches(ctx.db)).length, 1);
  await setDailyFetch(ctx, COMMAND_LINE, SANDBOX_RAIL, false);
  assert.deepEqual(await listDailyFetches(ctx.db), []);
});
