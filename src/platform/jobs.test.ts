// Background loops: at once while there is work, patient while there is none, and never ended by a failure.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createVirtualClock } from './clock.ts';
import type { Context } from './context.ts';
import { runLoop, tryEach } from './jobs.ts';
import { createLogger } from './log.ts';
import { createMemory } from './memory.ts';
import { createMetrics } from './metrics.ts';
import { createFailureCounter, createRateLimiter } from './rate-limit.ts';

/** A loop uses only these of its context. */
const ctx = {
  log: createLogger('silent'),
  metrics: createMetrics(),
  databaseTime: { skewMs: async () => 0 },
  memory: createMemory(),
} as unknown as Context;
const NEVER = { shortest: 3_600_000, longest: 3_600_000 };

/** A pass that answers from a list, and then promises to be done. */
function createPasses(results: (number | Error)[]) {
  const done = Promise.withResolvers<void>();
  let passes = 0;
  return {
    done: done.promise,
    count: () => passes,
    pass: async () => {
      const result = results[passes++];
      if (passes === results.length) done.resolve();
      if (result instanceof Error) throw result;
      return result ?? 0;
    },
  };
}

describe('background loops', () => {
  test('goes on at once while there is work, then waits; stopping ends the wait', async () => {
    const passes = createPasses([5, 1, 0]);
    const job = runLoop(ctx, { name: 'test', pass: passes.pass, idleMs: NEVER });
    await passes.done;
    await job.stop();
    assert.equal(passes.count(), 3);
  });

  test('waking ends the pause; waking during a pass is not lost', async () => {
    const passes = createPasses([0, 0, 0]);
    const job = runLoop(ctx, {
      name: 'test',
      idleMs: NEVER,
      pass: async () => {
        if (passes.count() === 1) job.wake();
        return await passes.pass();
      },
    });
    await new Promise((resolve) => setImmediate(resolve));
    job.wake();
    await passes.done;
    await job.stop();
    assert.ok(passes.count() >= 3);
  });

  test('a pass that fails is counted and tried again', async () => {
    const passes = createPasses([new Error('database away'), 0]);
    const job = runLoop(ctx, { name: 'failing', pass: passes.pass, idleMs: { shortest: 1, longest: 1 } });
    await passes.done;
    await job.stop();
    const { values } = await ctx.metrics.jobRuns.get();
    const failed = values.find((value) => value.labels.job === 'failing' && value.labels.result === 'failed');
    assert.equal(failed?.value, 1);
  });

  test('jobs that began together do not go on together', async (t) => {
    const begun = new Set<number>();
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
    const jobs = Array.from({ length: 20 }, (_, index) =>
      runLoop(ctx, {
        name: `job ${index}`,
        idleMs: { shortest: 60_000, longest: 60_000 },
        pass: async () => {
          if (Date.now() > 0) begun.add(Date.now());
          return 0;
        },
      }),
    );
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    for (let second = 1; second <= 60; second++) {
      t.mock.timers.tick(1_000);
      await settle();
    }
    for (const job of jobs) await job.stop();
    assert.ok(begun.size > 3, `all of them in ${begun.size} seconds`);
    assert.ok(Math.min(...begun) >= 45_000, 'not much earlier than their pause');
  });

  test('stopping waits for the pass under way', async () => {
    const held = Promise.withResolvers<number>();
    const job = runLoop(ctx, { name: 'test', pass: () => held.promise, idleMs: NEVER });
    let stopped = false;
    const stopping = job.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(stopped, false);
    held.resolve(0);
    await stopping;
  });
});

describe('counters in memory', () => {
  test('a bucket fills again with time, by fractions too, and never over its burst', () => {
    const clock = createVirtualClock('2026-03-02T09:00:00Z');
    const limiter = createRateLimiter(clock, 1 / 6, 2);
    const allowed = () => limiter.take('a').allowed;
    assert.deepEqual([allowed(), allowed(), allowed()], [true, true, false]);
    assert.equal(limiter.take('a').resetSeconds, 6);
    clock.advance(6_000);
    assert.deepEqual([allowed(), allowed()], [true, false]);
    clock.advance(3_600_000);
    assert.deepEqual([allowed(), allowed(), allowed()], [true, true, false]);
    clock.advance(-60_000);
    assert.equal(allowed(), false, 'a clock set back gives nothing away');
    assert.equal(createRateLimiter(clock, 0, 0).take('a').allowed, true);
  });

  test('failures are counted per key and forgotten with the window', () => {
    const clock = createVirtualClock('2026-03-02T09:00:00Z');
    const failures = createFailureCounter(clock, 60);
    failures.add('a');
    failures.add('a');
    assert.deepEqual([failures.count('a'), failures.count('b')], [2, 0]);
    clock.advance(60_000);
    assert.equal(failures.count('a'), 0);
  });
});

test('each is tried, also after one that failed, and the first failure is told', async () => {
  const tried: number[] = [];
  const work = async (item: number) => {
    tried.push(item);
    if (item % 2 === 0) throw new Error(`${item} failed`);
  };
  await assert.rejects(tryEach([1, 2, 3, 4], work), /2 failed/);
  assert.deepEqual(tried, [1, 2, 3, 4]);
  await tryEach([5], work);
});
