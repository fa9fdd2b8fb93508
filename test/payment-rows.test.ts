// The history that `npm run seed` writes is one that the gateway could have left behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMerchants, finishHistory, methodOf, writePaymentRows } from '../bench/payment-rows.ts';
import { verifyBooks } from '../src/payments/verify-books.ts';
import { addVerifyRun } from '../src/payments/verify-runs.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createTestContext } from './harness.ts';

test('a seeded history verifies, and a second one goes on where it ended', async () => {
  const ctx = await createTestContext();
  const plan = { payments: 400, merchants: await createMerchants(ctx, 3), method: methodOf('MTN_MOMO_UGA'), days: 60 };
  const first = new Date(ctx.clock.now().getTime() - plan.days * DAY_MS);
  await writePaymentRows(ctx, ctx.ownerDb, { ...plan, until: first });
  await writePaymentRows(ctx, ctx.ownerDb, { ...plan, until: ctx.clock.now() });
  await finishHistory(ctx, ctx.ownerDb);
  const run = await addVerifyRun(ctx.db, { by: 'test', since: null, inBackground: false }, ctx.clock.now());
  const { differences, checked, findings } = await verifyBooks(ctx, run);
  assert.deepEqual(findings, []);
  assert.equal(differences, 0n);
  assert.equal(checked.transactions, 800);
  await ctx.close();
});
