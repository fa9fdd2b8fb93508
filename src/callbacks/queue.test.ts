// The fair queue: caps always hold, the first place of one receiver comes before the second of another, nothing is lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFairQueue } from './queue.ts';

type Item = { receiver: string; finish(): void };

function createHarness() {
  const running = new Map<string, Item[]>();
  let done = 0;
  const queue = createFairQueue<{ receiver: string }>({
    work: ({ receiver }) =>
      new Promise((resolve) => {
        const list = running.get(receiver) ?? [];
        running.set(receiver, list);
        list.push({
          receiver,
          finish: () => {
            done++;
            resolve();
          },
        });
      }),
  });
  return { queue, running, done: () => done };
}

test('a receiver never has more running than its cap, and a failing one has one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ receiver: fc.integer({ min: 0, max: 4 }), finish: fc.boolean(), failing: fc.boolean() }), {
        maxLength: 200,
      }),
      async (steps) => {
        const { queue, running, done } = createHarness();
        let taken = 0;
        for (const step of steps) {
          const receiver = `r${step.receiver}`;
          const active = running.get(receiver)?.length ?? 0;
          if (step.failing && active === 0) queue.setFailing(receiver, true);
          if (queue.add(receiver, { receiver })) taken++;
          assert.ok((running.get(receiver)?.length ?? 0) <= 16);
          if (step.failing && active === 0) assert.ok((running.get(receiver)?.length ?? 0) <= 1);
          queue.setFailing(receiver, false);
          if (step.finish) {
            running.get(receiver)?.shift()?.finish();
            await Promise.resolve();
          }
        }
        for (let guard = 0; guard < 1_000 && done() < taken; guard++) {
          for (const list of running.values()) list.shift()?.finish();
          await new Promise((resolve) => setImmediate(resolve));
        }
        await queue.idle();
        assert.equal(done(), taken, 'an item was lost');
        assert.deepEqual(queue.loads(), []);
      },
    ),
    { numRuns: 60 },
  );
});

test('when half of all places are used, another receiver still starts at once', () => {
  const { queue, running } = createHarness();
  for (let receiver = 0; receiver < 400; receiver++)
    for (let count = 0; count < 50; count++) queue.add(`hanging${receiver}`, { receiver: `hanging${receiver}` });
  queue.add('healthy', { receiver: 'healthy' });
  assert.equal(running.get('healthy')?.length, 1);
  for (let receiver = 0; receiver < 400; receiver++) assert.ok((running.get(`hanging${receiver}`)?.length ?? 0) >= 1);
});

test('the queue is limited: what does not fit is refused and stays in the database', () => {
  const { queue } = createHarness();
  let taken = 0;
  while (queue.add('one', { receiver: 'one' })) taken++;
  assert.equal(taken, 20_000 + 16);
  queue.setFailing('failing', true);
  assert.ok(queue.add('failing', { receiver: 'failing' }));
  assert.ok(!queue.add('failing', { receiver: 'failing' }));
});
