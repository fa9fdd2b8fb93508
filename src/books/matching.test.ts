// Reconciliation over many payments: every discrepancy that was put into a statement is found with its kind, and nothing else.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createMerchants, writePaymentRows } from '../../bench/payment-rows.ts';
import { type StatementDay, writeStatement } from '../../bench/statement-rows.ts';
import { differencesOf } from '../../test/books.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { DAY_MS } from '../platform/clock.ts';
import { type Break, listBreaks } from './breaks.ts';
import { reconcile } from './matching.ts';

const DAY = '2026-02-27';
const SPAN = { from: new Date(`${DAY}T00:00:00Z`), to: new Date('2026-02-28T00:00:00Z') };
const PER_KIND = 4;

let ctx: TestContext & { close(): Promise<void> };
let statement: StatementDay;
before(async () => {
  ctx = await createTestContext();
  const merchants = await createMerchants(ctx, 2);
  await writePaymentRows(ctx, ctx.databaseUrl, {
    payments: 9_600,
    merchants,
    days: 6,
    until: new Date('2026-03-02T00:00:00Z'),
  });
  statement = await writeStatement(ctx.ownerDb, DAY, PER_KIND);
});
after(() => ctx.close());

const described = (breaks: Break[]) =>
  breaks.map(({ kind, transaction_id: id, line_key: key }) => `${kind} ${id ?? key?.toString('hex')}`).sort();

describe('reconciliation', () => {
  test('finds every discrepancy of a day with its kind, and nothing else', async () => {
    const { connection, injected, lines } = statement;
    assert.equal(injected.length, 7 * PER_KIND + PER_KIND / 2);
    const result = await reconcile(ctx, { connection, ...SPAN });
    assert.equal(result.lines, lines);
    assert.deepEqual(described(await listBreaks(ctx.db, { connection, status: 'open' }, 1_000)), injected);
    assert.equal(result.rules.none, PER_KIND);
    assert.ok((result.rules.number ?? 0) > 5);
  });

  test('a second run changes nothing', async () => {
    const { connection, injected } = statement;
    const again = await reconcile(ctx, { connection, ...SPAN });
    assert.deepEqual({ opened: again.opened, closed: again.closed }, { opened: 0, closed: 0 });
    assert.deepEqual(described(await listBreaks(ctx.db, { connection, status: 'open' }, 1_000)), injected);
    assert.deepEqual(await differencesOf(ctx), []);
  });

  test('a run that breaks off after any page goes on where it stopped', async () => {
    const next = await writeStatement(ctx.ownerDb, '2026-02-25', PER_KIND);
    const from = new Date('2026-02-25T00:00:00Z');
    const span = { from, to: new Date(from.getTime() + DAY_MS) };
    let calls = 0;
    const onProgress = () => {
      if (++calls === 2) throw new Error('broken off');
    };
    await assert.rejects(reconcile(ctx, { connection: next.connection, ...span, onProgress }), /broken off/);
    await reconcile(ctx, { connection: next.connection, ...span });
    const open = await listBreaks(ctx.db, { connection: next.connection, status: 'open' }, 1_000);
    const found = described(
      open.filter(({ day, counter_day: other }) => day === '2026-02-25' || other === '2026-02-25'),
    );
    assert.deepEqual(
      next.injected.filter((text) => !found.includes(text)),
      [],
    );
  });

  test('a day without a statement is not compared', async () => {
    const span = { from: new Date('2026-02-24T00:00:00Z'), to: new Date('2026-02-25T00:00:00Z') };
    await assert.rejects(reconcile(ctx, { connection: statement.connection, ...span }), /Import it first/);
  });
});
