// The metrics of what people must look after, measured over books with every kind of it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBooks, writePast } from '../../test/books.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { CURRENCY, silentRail, withPayments } from '../../test/payments.ts';
import { DAY_MS } from '../platform/clock.ts';
import { measureMoney } from './money-metrics.ts';
import { recordBalances } from './operator-balances.ts';
import { verifyBooks } from './verify-books.ts';
import { addVerifyRun, saveVerifyRun } from './verify-runs.ts';

let ctx: TestContext & { close(): Promise<void> };
before(async () => {
  ctx = await createTestContext({ ROLE: 'api' });
  await writePast(ctx, await openBooks(ctx));
});
after(() => ctx.close());

/** The lines of one metric at /metrics, without its name. */
async function linesOf(name: string): Promise<Record<string, number>> {
  const text = await ctx.metrics.registry.getSingleMetricAsString(name);
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(name.length, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('money 29: what people must look after is measured', () => {
  test('money 29: open cases by kind and age, suspense, debts, clearing, approvals, and the last verify', async () => {
    await verifyBooks(
      ctx,
      await addVerifyRun(ctx.db, { by: 'test', since: null, inBackground: false }, ctx.clock.now()),
    );
    const verifiedAt = ctx.clock.millis() / 1000;
    ctx.clock.advance(DAY_MS);
    await measureMoney(withPayments(ctx, silentRail()));
    const cases = await linesOf('simbi_cases_open');
    for (const kind of ['wrong_amount', 'second_payment', 'unknown_reference', 'debt'])
      assert.equal(cases[`{kind="${kind}"}`], 1, kind);
    const ages = await linesOf('simbi_cases_oldest_seconds');
    assert.deepEqual(Object.keys(ages).toSorted(), Object.keys(cases).toSorted());
    assert.ok(Object.values(ages).every((seconds) => seconds >= 86_400 && seconds < 87_000));
    assert.deepEqual(await linesOf('simbi_suspense_amount'), { [`{currency="${CURRENCY}"}`]: 2_600 });
    assert.deepEqual(await linesOf('simbi_debt_holders'), { [`{currency="${CURRENCY}"}`]: 1 });
    const [debt] = await ctx.db.query<{ owed: bigint }>(
      `select amount - settled as owed from cases where kind = 'debt'`,
    );
    assert.deepEqual(await linesOf('simbi_debt_amount'), { [`{currency="${CURRENCY}"}`]: Number(debt?.owed) / 100 });
    assert.ok(Number((await linesOf('simbi_debt_oldest_seconds'))[`{currency="${CURRENCY}"}`]) >= 86_400);
    const [clearing] = await ctx.db.query<{ held: bigint }>(
      `select -sum(balance)::bigint as held from ledger_accounts where kind = 'operator_clearing'`,
    );
    assert.deepEqual(await linesOf('simbi_clearing_amount'), {
      [`{rail="quiet",currency="${CURRENCY}"}`]: Number(clearing?.held) / 100,
    });
    assert.deepEqual(await linesOf('simbi_approvals_waiting'), {
      '{direction="payout"}': 1,
      '{direction="refund"}': 0,
    });
    const waits = await linesOf('simbi_approvals_oldest_seconds');
    assert.ok(Number(waits['{direction="payout"}']) >= 86_400);
    assert.deepEqual(await linesOf('simbi_verify_differences'), { '': 0 });
    assert.deepEqual(await linesOf('simbi_verify_last_timestamp_seconds'), { '': verifiedAt });
  });

  test('what a whole verify found is shown until another whole one finds nothing', async () => {
    const verified = async (since: Date | null, differences: bigint) => {
      ctx.clock.advance(1_000);
      const at = ctx.clock.now();
      const run = await addVerifyRun(ctx.db, { by: 'test', since, inBackground: false }, at);
      await saveVerifyRun(ctx.db, run.id, { ...run, differences }, 'done', at);
      return at.getTime() / 1000;
    };
    const shown = async () => {
      await measureMoney(withPayments(ctx, silentRail()));
      return [await linesOf('simbi_verify_differences'), await linesOf('simbi_verify_last_timestamp_seconds')];
    };
    const found = await verified(null, 3n);
    for (let hour = 0; hour < 120; hour++) await verified(ctx.clock.now(), 0n);
    assert.deepEqual(await shown(), [{ '': 3 }, { '': found }]);
    const clean = await verified(null, 0n);
    assert.deepEqual(await shown(), [{ '': 0 }, { '': clean }]);
    await verified(ctx.clock.now(), 2n);
    for (let hour = 0; hour < 120; hour++) await verified(ctx.clock.now(), 0n);
    assert.deepEqual(await shown(), [{ '': 2 }, { '': clean }]);
  });

  test('the float of each account, while the operator tells it', async () => {
    const said = { connection: 'kenya', account: 'Utility Account', currency: 'KES', available: 12_345_60n };
    await ctx.db.transaction((tx) => recordBalances(tx, [said], ctx.clock.now()));
    const label = '{connection="kenya",account="Utility Account",currency="KES"}';
    await measureMoney(withPayments(ctx, silentRail()));
    assert.deepEqual(await linesOf('simbi_operator_balance_amount'), { [label]: 12_345.6 });
    ctx.clock.advance(3_601_000);
    await measureMoney(withPayments(ctx, silentRail()));
    assert.deepEqual(await linesOf('simbi_operator_balance_amount'), {});
  });

  test('money 29: one operator callback that is not applied is seen by its age', async () => {
    await measureMoney(withPayments(ctx, silentRail()));
    assert.deepEqual(await linesOf('simbi_operator_callbacks_oldest_seconds'), { '': 0 });
    await ctx.db.query(
      `insert into operator_inbox (rail, path, headers, body, received_at, due_at) values ('quiet', '/', '{}', '', $1, $1)`,
      [ctx.clock.now()],
    );
    ctx.clock.advance(600_000);
    await measureMoney(withPayments(ctx, silentRail()));
    assert.deepEqual(await linesOf('simbi_operator_callbacks_oldest_seconds'), { '': 600 });
  });

  test('money 29: a debt that was settled and a case that was closed are no longer shown', async () => {
    await ctx.db.query(`update cases set settled = amount, status = 'resolved' where kind = 'debt'`);
    await measureMoney(withPayments(ctx, silentRail()));
    assert.equal((await linesOf('simbi_cases_open'))['{kind="debt"}'], undefined);
    assert.deepEqual(await linesOf('simbi_debt_oldest_seconds'), {});
  });
});
