// Many keys asked for at once are read by few statements; what fails for one key fails for it alone.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createShop } from '../../test/shop.ts';
import { callbackSecrets, findLiveIntegration } from '../holders/integrations.ts';
import { refreshCaches } from './cache.ts';
import { gatherKeys } from './gather.ts';

describe('reads that are asked for together', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('are made together: the first at once, the others while it runs', async () => {
    const reads: number[][] = [];
    let release = () => {};
    const read = gatherKeys(async (_ctx, keys: number[]) => {
      reads.push(keys);
      if (reads.length === 1) await new Promise<void>((resolve) => (release = resolve));
      return keys.map((key) => (key === 13 ? Promise.reject(new Error('unlucky')) : key * 10));
    });
    const first = read(ctx, 1);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const others = [2, 13, 3].map((key) => read(ctx, key).catch((error: Error) => error.message));
    release();
    assert.equal(await first, 10);
    assert.deepEqual(await Promise.all(others), [20, 'unlucky', 30]);
    assert.deepEqual(reads, [[1], [2, 13, 3]]);
  });

  test('a read that fails is an error for each of its keys, and the next one works', async () => {
    let fails = true;
    const read = gatherKeys(async (_ctx, keys: string[]) => {
      if (fails) throw new Error('no database');
      return keys;
    });
    await assert.rejects(Promise.all([read(ctx, 'a'), read(ctx, 'b')]), /no database/);
    fails = false;
    assert.equal(await read(ctx, 'a'), 'a');
  });

  test('after a change a hundred integrations are read again by two statements', async () => {
    const shops = await Promise.all(Array.from({ length: 50 }, (_, index) => createShop(ctx, `Shop ${index}`)));
    await createShop(ctx, 'One more, which makes every process forget');
    await refreshCaches(ctx);
    const before = ctx.db.counters.statements;
    const found = await Promise.all([
      ...shops.map(async ({ clientId }) => (await findLiveIntegration(ctx, { clientId }))?.title),
      ...shops.map(async ({ id }) => (await callbackSecrets(ctx, id)).length),
    ]);
    assert.deepEqual(found, [...shops.map(({ title }) => title), ...shops.map(() => 1)]);
    assert.ok(ctx.db.counters.statements - before <= 2, String(ctx.db.counters.statements - before));
    assert.equal(await findLiveIntegration(ctx, { clientId: 'nobody' }), null);
  });

  test('a secret that does not open concerns its own integration', async () => {
    const [broken, sound] = [await createShop(ctx, 'Broken'), await createShop(ctx, 'Sound')];
    await ctx.ownerDb.query(`update integration_secrets set sealed = '\\x00' where integration_id = $1`, [broken.id]);
    await refreshCaches(ctx);
    const [one, other] = await Promise.allSettled(
      [broken, sound].map(async ({ clientId }) => (await findLiveIntegration(ctx, { clientId }))?.title),
    );
    assert.equal(one?.status, 'rejected');
    assert.deepEqual(other, { status: 'fulfilled', value: sound.title });
  });
});
