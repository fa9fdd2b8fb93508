// The history that `npm run seed` writes is one that the gateway could have left behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMerchants, writePaymentRows } from '../bench/payment-rows.ts';
import { verifyBooks } from '../src/payments/verify-books.ts';
import { addVerifyRun } from '../src/payments/verify-runs.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createTestContext } from './harness.ts';

test('a seeded history verifies, and a second one goes on where it ended', async () => {
  const ctx = await createTestContext();
  const plan = { payments: 2_000, merchants: await createMerchants(ctx, 6), days: 120 };
  const first = new Date(ctx.clock.now().getTime() - plan.days * DAY_MS);
  await writePaymentRows(ctx, ctx.databaseUrl, { ...plan, until: first });
  await writePaymentRows(ctx, ctx.databaseUrl, { ...plan, until: ctx.clock.now() });
  const run = await addVerifyRun(ctx.db, { by: 'test', since: null, inBackground: false }, ctx.clock.now());
  const { differences, checked, findings } = await verifyBooks(ctx, run);
  assert.deepEqual(findings, []);
  assert.equal(differences, 0n);
  assert.ok(Number(checked.transactions) >= 2 * plan.payments);
  const [found] = await ctx.db.query<{ missing: string[] }>(
    `select array(
       select kind from unnest(array['collection', 'payout', 'refund', 'success', 'failed', 'expired', 'reversed']) as kind
       where not exists (select from transactions where kind in (direction, status))
     ) || array(select 'links' where not exists (select from payment_links where status = 'paid'))
       || array(select 'callbacks that failed' where not exists (select from callback_attempts where not delivered)) as missing`,
  );
  assert.deepEqual(found?.missing, []);
  await ctx.close();
});

test('indexes and guards are as they were before', async () => {
  const ctx = await createTestContext();
  const read = () =>
    ctx.ownerDb.query(
      `select tablename, indexname, indexdef from pg_indexes where schemaname = 'public'
         and tablename in ('transactions', 'evidence', 'operator_receipts', 'ledger_transfers')
       union all select event_object_table, trigger_name, action_statement from information_schema.triggers
       union all select relname, tgname, tgenabled::text from pg_trigger join pg_class c on c.oid = tgrelid
         where relnamespace = 'public'::regnamespace and not tgisinternal
       union all select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
         where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid::regclass::text not like '%\\_20%'
       order by 1, 2, 3`,
    );
  const before = await read();
  const merchants = await createMerchants(ctx, 2);
  const until = ctx.clock.now();
  await writePaymentRows(ctx, ctx.databaseUrl, { payments: 50, merchants, days: 2, until });
  const kept = (rows: Record<string, unknown>[]) => rows.filter((row) => !/_20\d\d/.test(JSON.stringify(row)));
  assert.deepEqual(kept(await read()), kept(before));
  await ctx.close();
});
