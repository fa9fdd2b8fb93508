// Limits over several processes: two contexts with one database and nothing else in common.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import type { Context } from './context.ts';
import { connectDatabase } from './db.ts';
import { flushRefusals, listHeldBack, noteRefusal, purgeRefusals } from './held-back.ts';
import { createMemory } from './memory.ts';
import type { RateLimiter } from './rate-limit.ts';
import { createSharedLimiter, exchangeLimits, purgeSharedLimits } from './shared-limits.ts';

const PER_SECOND = 100;
const BURST = 200;

describe('shared limits', () => {
  let base: TestContext & { close(): Promise<void> };

  before(async () => {
    base = await createTestContext();
  });
  after(() => base.close());
  beforeEach(async () => {
    await base.ownerDb.query('truncate limit_buckets, limit_sharers, limit_refusals');
  });

  type Process = { ctx: Context; limiter: RateLimiter };
  function startProcess(changes: Partial<Context> = {}): Process {
    const ctx = { ...base, memory: createMemory(), ...changes };
    return { ctx, limiter: createSharedLimiter(ctx, 'integration', PER_SECOND, BURST) };
  }

  function take({ limiter }: Process, wanted: number, key = 'shop'): number {
    let allowed = 0;
    for (let count = 0; count < wanted; count++) if (limiter.take(key).allowed) allowed++;
    return allowed;
  }

  /** `wanted` requests a second at each process, with an exchange after every second; returns how many passed in all. */
  async function run(processes: Process[], wanted: number, seconds: number): Promise<number> {
    let passed = 0;
    for (let tenth = 0; tenth < seconds * 10; tenth++) {
      for (const process of processes) passed += take(process, wanted / 10);
      if (tenth % 10 === 9) for (const process of processes) await exchangeLimits(process.ctx);
      base.clock.advance(100);
    }
    return passed;
  }

  test('two processes under full load let through one limit, and at most half a burst more', async () => {
    const processes = [startProcess(), startProcess()];
    const seconds = 20;
    const passed = await run(processes, 1_000, seconds);
    const limit = BURST + PER_SECOND * seconds;
    assert.ok(passed <= limit + BURST / 2 + PER_SECOND, `${passed} passed, the limit is ${limit}`);
    assert.ok(passed >= limit * 0.9, `only ${passed} passed, the limit is ${limit}`);
  });

  test('two processes that each stay below the limit are held to it together', async () => {
    const processes = [startProcess(), startProcess()];
    const seconds = 30;
    const passed = await run(processes, 80, seconds);
    const limit = BURST + PER_SECOND * seconds;
    assert.ok(passed <= limit + BURST / 2, `${passed} passed, the limit is ${limit}`);
    // Each alone would have let all of it through.
    assert.ok(passed < 2 * 80 * seconds - BURST);
  });

  test('what one process does not use, the other may', async () => {
    const [busy, quiet] = [startProcess(), startProcess()];
    await run([busy, quiet], 500, 5);
    const passed = await run([busy], 500, 20);
    assert.ok(passed >= PER_SECOND * 19, `${passed}`);
  });

  test('a key that is not busy is never written, and a busy one costs one statement a second', async () => {
    // Its own connections, so that nothing else is counted.
    const db = connectDatabase({ url: base.databaseUrl, poolSize: 2 });
    const process = startProcess({ db });
    for (let second = 0; second < 20; second++) {
      assert.equal(take(process, PER_SECOND / 10 - 1), PER_SECOND / 10 - 1);
      base.clock.advance(1_000);
    }
    await exchangeLimits(process.ctx);
    assert.equal(db.counters.statements, 0);
    for (let index = 0; index < 30; index++) take(process, 50, `shop ${index}`);
    await exchangeLimits(process.ctx);
    assert.equal(db.counters.statements, 1);
    assert.equal((await base.db.query('select from limit_buckets')).length, 30);
    base.clock.advance(61_000);
    assert.equal(await purgeSharedLimits(base), 60);
    await db.close();
  });

  test('what was reported before a pause is not counted again after it', async () => {
    const ctx = { ...base, memory: createMemory() };
    const slow = createSharedLimiter(ctx, 'link', 1, 60);
    for (let count = 0; count < 30; count++) slow.take('link');
    await exchangeLimits(ctx);
    base.clock.advance(5_000);
    slow.take('link');
    await exchangeLimits(ctx);
    assert.deepEqual(await base.db.query('select tokens from limit_buckets'), [{ tokens: 60 - 30 + 5 - 1 }]);
  });

  test('what only counts when it fails is refused by every process when there were too many failures', async () => {
    const [first, second] = [0, 1].map(() => {
      const ctx = { ...base, memory: createMemory() };
      return { ctx, limiter: createSharedLimiter(ctx, 'credentials', 10 / 60, 10) };
    });
    assert.ok(first && second);
    for (let count = 0; count < 9; count++) first.limiter.take('somebody');
    assert.deepEqual([first.limiter.hasRoom('somebody'), second.limiter.hasRoom('somebody')], [true, true]);
    await exchangeLimits(first.ctx);
    second.limiter.take('somebody');
    await exchangeLimits(second.ctx);
    await exchangeLimits(first.ctx);
    first.limiter.take('somebody');
    await exchangeLimits(first.ctx);
    assert.deepEqual([first.limiter.hasRoom('somebody'), second.limiter.hasRoom('somebody')], [false, false]);
    base.clock.advance(60_000);
    assert.equal(first.limiter.hasRoom('somebody'), true);
  });

  test('two processes exchange hundreds of keys at the same moment without a deadlock', async () => {
    const processes = [startProcess(), startProcess()];
    const keys = Array.from({ length: 400 }, (_, index) => `shop ${index}`);
    for (const key of keys) take(processes[0] ?? assert.fail(), 20, key);
    for (const key of keys.toReversed()) take(processes[1] ?? assert.fail(), 20, key);
    await Promise.all(processes.map(({ ctx }) => exchangeLimits(ctx)));
    const rows = await base.db.query<{ tokens: number }>('select tokens from limit_buckets');
    assert.equal(rows.length, 400);
    for (const { tokens } of rows) assert.equal(tokens, BURST - 40);
  });

  test('while the database is away each process goes on with its own limit', async () => {
    const away = connectDatabase({ url: 'postgres://127.0.0.1:1/none', poolSize: 1, acquireTimeoutMs: 200 });
    const process = startProcess({ db: away });
    const passed = await run([process], 1_000, 10);
    assert.ok(Math.abs(passed - (BURST + PER_SECOND * 10)) <= PER_SECOND, `${passed}`);
    await away.close();
  });

  test('refusals of all processes are listed together, for an hour', async () => {
    const processes = [startProcess(), startProcess()];
    const until = new Date(base.clock.millis() + 5_000);
    for (const { ctx } of processes)
      for (let count = 0; count < 3; count++)
        noteRefusal(ctx, { kind: 'guess', key: 'a', subject: 'somebody\0@example.org', until });
    for (const { ctx } of processes) await flushRefusals(ctx);
    const guesses = async () => (await listHeldBack(base.db, base.clock.now())).filter((each) => each.kind === 'guess');
    const [held, ...more] = await guesses();
    assert.deepEqual(more, []);
    assert.equal(held?.refused, 6);
    assert.equal(held.subject, 'somebody@example.org');
    assert.deepEqual(held.until, until);
    base.clock.advance(3_600_001);
    assert.deepEqual(await guesses(), []);
    assert.ok((await purgeRefusals(base)) >= 1);
  });
});
