// Methods and rails that were taken out of the configuration while transactions were open, and payouts that wait for a
// person: nothing is stuck without being seen, and nothing that waits for a person counts as late.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, CURRENCY, collectionOrder, METHOD, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { listOpenCases } from './case-list.ts';
import type { PaymentsContext } from './context.ts';
import { createPaymentEngine } from './engine.ts';
import { listEvidence } from './evidence.ts';
import { listGoneMethods } from './gone-methods.ts';
import { countDuePayments } from './payment-jobs.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const HOUR_MS = 3_600_000;

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let shop: Shop;
before(async () => {
  base = await createTestContext();
});
after(() => base.close());
beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  ctx = withPayments(base, silentRail());
  shop = await createShop(ctx);
});

async function collect(): Promise<Transaction> {
  const engine = createPaymentEngine(ctx);
  const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
  const transaction = await acceptCollection(ctx, engine, order);
  await engine.idle();
  return transaction;
}

/** A process that starts after the change, for a little more than a day. */
async function runForADay(changed: PaymentsContext): Promise<void> {
  const engine = createPaymentEngine(changed);
  for (let hour = 0; hour < 26; hour++) {
    base.clock.advance(HOUR_MS);
    while ((await engine.pass()) > 0) await engine.idle();
  }
}

function withoutMethod(): PaymentsContext {
  const methods = new Map([...ctx.catalog.methods].filter(([code]) => code !== METHOD));
  return { ...withPayments(base, silentRail()), catalog: { ...ctx.catalog, methods } };
}

const changes: [what: string, change: () => PaymentsContext][] = [
  ['rail', () => withPayments(base, silentRail({ name: 'another' }))],
  ['method', withoutMethod],
];
for (const [what, change] of changes)
  test(`money: open transactions of a ${what} that is gone stay unknown with the reason, and have a case after a day`, async () => {
    const transaction = await collect();
    assert.deepEqual(await listGoneMethods(ctx), []);
    const changed = change();
    assert.deepEqual(await listGoneMethods(changed), [{ rail: 'quiet', method: METHOD, transactions: 1 }]);
    await runForADay(changed);
    assert.equal((await findTransaction(ctx.db, shop.holderId, transaction.id))?.status, 'processing');
    const [open] = await listOpenCases(ctx.db, { holderId: shop.holderId }, { limit: 10 });
    assert.deepEqual([open?.kind, open?.transaction_id], ['no_answer', transaction.id]);
    assert.match(String(open?.detail.reason), /no rail "quiet" for MTN_MOMO_UGA any more/);
    const { entries } = await listEvidence(ctx.db, shop.holderId, transaction.id);
    assert.match(entries.at(-1)?.raw ?? '', /any more/);
    assert.equal(entries.at(-1)?.state, 'unknown');
    assert.deepEqual(changed.rails.health.snapshot(), [], 'nobody was called, so nobody is down');
  });

test('a connection that this process has not seen yet is read before its first payment is sent', async () => {
  const sent: string[] = [];
  const rail = silentRail({
    async collect({ reference }) {
      sent.push(reference);
      return { observation: { state: 'pending' }, raw: '' };
    },
  });
  let isSeen = false;
  const { rails } = withPayments(base, rail);
  const seenLater: typeof rails = {
    ...rails,
    byName: (name) => (isSeen ? rails.byName(name) : null),
    async refresh() {
      isSeen = true;
    },
  };
  ctx = { ...ctx, rails: seenLater };
  const transaction = await collect();
  assert.deepEqual(sent, [refOf(transaction)]);
});

test('money 27: payouts that wait for approval are not a backlog', async () => {
  const engine = createPaymentEngine(ctx);
  await base.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
  const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [reading.order]);
  assert.ok(result?.ok);
  base.clock.advance(48 * HOUR_MS);
  assert.equal(await countDuePayments(ctx.db, ctx.clock.now()), 0);
  assert.equal(await engine.pass(), 0);
});
