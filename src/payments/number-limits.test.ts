// Limits of a phone number: exact over batches, processes and holders, and without a further statement.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext, PATIENCE, type TestContext } from '../../test/harness.ts';
import { collectionOrder, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { connectDatabase } from '../platform/db.ts';
import { createMemory } from '../platform/memory.ts';
import { type CollectionOrder, type CollectionWriter, createCollectionWriter } from './accept.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { countsAsPrompt, purgeNumberLimits } from './number-limits.ts';

const TEN_MINUTES_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;

describe('prompts of one number', () => {
  let base: TestContext & { close(): Promise<void> };
  let ctx: PaymentsContext & TestContext;
  let shops: Shop[];
  let writer: CollectionWriter;
  /** Takes no work: what is accepted stays as it is. */
  const engine = { hasCapacity: () => false, leaveToOthers: () => undefined } as unknown as PaymentEngine;

  before(async () => {
    base = await createTestContext({ OPEN_PROMPTS_PER_NUMBER: '3', PROMPTS_PER_NUMBER_PER_DAY: '10' });
    ctx = withPayments(base, silentRail());
    shops = [await createShop(ctx, 'One'), await createShop(ctx, 'Two')];
    writer = createCollectionWriter(ctx, engine);
  });
  after(() => base.close());
  beforeEach(async () => {
    await ctx.ownerDb.query('truncate number_limits');
  });

  function order(msisdn: string, shop = 0, changes: Partial<CollectionOrder> = {}): CollectionOrder {
    const { holderId, id } = shops[shop] ?? assert.fail();
    return collectionOrder({ holderId, integrationId: id }, 'quiet', { msisdn, ...changes });
  }
  const ask = (msisdn: string, shop = 0, by = writer) => by.accept(order(msisdn, shop), null);
  const end = (status: string) =>
    ctx.db.query(`update transactions set status = $1, settled_at = now() where status = 'pending'`, [status]);

  test('three may wait at once, of all holders; a fourth is refused until the first is ten minutes old', async () => {
    for (const shop of [0, 1, 0]) assert.equal((await ask('256772000100', shop)).kind, 'accepted');
    ctx.clock.advance(60_000);
    const refused = await ask('256772000100', 1);
    assert.equal(refused.kind, 'number_limited');
    assert.ok(refused.kind === 'number_limited');
    assert.equal(refused.until.getTime(), ctx.clock.millis() + TEN_MINUTES_MS - 60_000);
    assert.equal((await ask('256772000101', 1)).kind, 'accepted', 'another number');
    ctx.clock.set(refused.until);
    assert.equal((await ask('256772000100')).kind, 'accepted');
  });

  test('an answered prompt counts for the day, a paid one not at all', async () => {
    for (let count = 0; count < 5; count++) {
      assert.equal((await ask('256772000200')).kind, 'accepted');
      await end('success');
    }
    for (let count = 0; count < 10; count++) {
      assert.equal((await ask('256772000200')).kind, 'accepted', `unpaid prompt ${count + 1}`);
      await end(count % 2 === 0 ? 'failed' : 'expired');
      ctx.clock.advance(1_000);
    }
    const refused = await ask('256772000200');
    assert.ok(refused.kind === 'number_limited');
    assert.equal(refused.until.getTime(), ctx.clock.millis() - 10_000 + DAY_MS);
    ctx.clock.set(refused.until);
    assert.equal((await ask('256772000200')).kind, 'accepted');
    const [row] = await ctx.db.query<{ kept: number }>('select cardinality(prompt_ids) as kept from number_limits');
    assert.equal(row?.kept, 10, 'what no longer counts is forgotten');
  });

  test('security S10: requests of one batch count each other, and of two processes at the same moment too', async () => {
    const db = connectDatabase({ ...PATIENCE, url: base.databaseUrl, poolSize: 4, applicationName: 'second' });
    const second = createCollectionWriter({ ...ctx, db, memory: createMemory() }, engine);
    const numbers = Array.from({ length: 12 }, (_, index) => `2567730003${String(index).padStart(2, '0')}`);
    // Both processes ask all numbers many times, in opposite orders, in batches that hold several of each.
    const asked = [numbers, numbers.toReversed()].flatMap((list, process) =>
      Array.from({ length: 8 }, () =>
        list.map(async (msisdn) => (await ask(msisdn, process, process ? second : writer)).kind),
      ),
    );
    const answers = await Promise.all(asked.flat());
    assert.equal(answers.filter((kind) => kind === 'accepted').length, numbers.length * 3);
    assert.equal(answers.filter((kind) => kind === 'number_limited').length, numbers.length * 13);
    const rows = await ctx.db.query<{ count: bigint }>(
      'select count(*) from transactions where msisdn = any ($1) group by msisdn',
      [numbers],
    );
    assert.deepEqual(
      rows.map((row) => row.count),
      numbers.map(() => 3n),
    );
    await db.close();
  });

  test('the limit costs no statement: a batch is one, with limited numbers or without', async () => {
    await ask('256772000000');
    const cost = async (last: string) => {
      const before = ctx.db.counters.statements;
      await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`25677${String(index).padStart(4, '0')}${last}`)));
      return ctx.db.counters.statements - before;
    };
    assert.equal(await cost('444'), await cost('000'));
  });

  test('a number is forgotten a day after nobody asked any more', async () => {
    await ask('256772000400');
    assert.equal(await purgeNumberLimits(ctx), 0);
    ctx.clock.advance(DAY_MS + 1);
    assert.equal(await purgeNumberLimits(ctx), 1);
  });

  test('review: a number that is asked while old ones are forgotten keeps its count', async () => {
    await ask('256772000401');
    ctx.clock.advance(DAY_MS + 1);
    let purged = Promise.resolve(-1);
    await ctx.ownerDb.transaction(async (tx) => {
      await tx.query('update number_limits set seen_at = $1', [ctx.clock.now()]);
      purged = purgeNumberLimits(ctx);
      const isWaiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      while ((await tx.query(isWaiting)).length === 0);
    });
    assert.equal(await purged, 0);
  });

  test('numbers of the sandbox that answer by themselves have no limit; in live mode they have', () => {
    const prompt = (msisdn: string) => ({ msisdn, verification: 'prompt' });
    for (const last of ['000', '009', '010', '012'])
      assert.ok(!countsAsPrompt(ctx.config, prompt(`256772123${last}`)), last);
    for (const last of ['013', '100', '112', '456'])
      assert.ok(countsAsPrompt(ctx.config, prompt(`256772123${last}`)), last);
    assert.ok(countsAsPrompt({ ...ctx.config, mode: 'live' }, prompt('256772123000')));
    assert.ok(!countsAsPrompt(ctx.config, { msisdn: '256772123456', verification: 'instructions' }));
  });
});
