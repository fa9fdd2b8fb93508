// Events of one transaction: one order in the feed and in a replay, and one id however often the fact is written.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listEvents } from '../src/callbacks/feed.ts';
import { replayFailed } from '../src/callbacks/resend.ts';
import { createPaymentEngine } from '../src/payments/engine.ts';
import { applyOutcomes } from '../src/payments/outcomes.ts';
import type { Outcome } from '../src/payments/states.ts';
import type { Transaction } from '../src/payments/transactions.ts';
import type { Observation } from '../src/rails/rail.ts';
import { createTestContext } from './harness.ts';
import { acceptCollection, collectionOrder, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';

const RAIL = 'quiet';

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let shop: Shop;
before(async () => {
  // A process that only answers requests: nothing happens to a collection but what the test says.
  base = await createTestContext({ ROLE: 'api' });
  ctx = withPayments(base, silentRail());
  shop = await createShop(ctx);
});
after(() => base.close());

function collect(callbackUrl: string | null = null): Promise<Transaction> {
  const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, RAIL, { callbackUrl });
  return acceptCollection(ctx, createPaymentEngine(ctx), order);
}

function reversal({ id }: Transaction): Outcome {
  const observation: Observation = { state: 'reversed', receipt: `R ${id}`, rawCode: '', message: '' };
  return { transactionId: id, source: 'callback', observation, raw: '' };
}

test('money 14: a reversal before its success is in the feed after the success, and alone in a replay', async () => {
  const since = ctx.clock.now();
  const collections: Transaction[] = [];
  for (let count = 0; count < 24; count++) collections.push(await collect('http://127.0.0.1:1/callbacks'));
  await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, collections.map(reversal)));
  const { events } = await listEvents(ctx.db, shop.holderId);
  const types = events.map((event) => JSON.parse(event.body.toString()).type as string);
  assert.deepEqual(
    types,
    collections.flatMap(() => ['collection.success', 'collection.reversed']),
  );
  await ctx.db.query('delete from callback_deliveries');
  assert.equal(await replayFailed(ctx, shop.holderId, since), 24);
  const due = await ctx.db.query<{ type: string }>(
    `select distinct e.type from callback_deliveries d join events e on e.holder_id = d.holder_id and e.id = d.event_id`,
  );
  assert.deepEqual(due, [{ type: 'collection.reversed' }]);
});

test('money 15: a transition that is applied, lost and applied again has the same event ids', async () => {
  const collection = await collect();
  const ids: string[][] = [];
  const lost = ctx.db.transaction(async (tx) => {
    const { events } = await applyOutcomes(tx, ctx, [reversal(collection)]);
    ids.push(events.map((event) => event.publicId));
    throw new Error('lost with the database');
  });
  await assert.rejects(lost, /lost with the database/);
  base.clock.advance(86_400_000);
  const again = await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, [reversal(collection)]));
  ids.push(again.events.map((event) => event.publicId));
  assert.equal(new Set(ids[0]).size, 2);
  assert.deepEqual(ids[1], ids[0]);
});
