// The fair queue: caps always hold, the first place of one receiver comes before the second of another, nothing is lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFairQueue, type ReceiverName, receiverKey } from './queue.ts';

type Item = { finish(): void };
const HOLDER = 1n;

/** A receiver of the holder; its origin is its name. */
const at = (origin: string, holderId = HOLDER) => ({ holderId, origin });

function createHarness() {
  const running = new Map<string, Item[]>();
  let done = 0;
  const queue = createFairQueue<ReceiverName>({
    work: (item) =>
      new Promise((resolve) => {
        const receiver = item.holderId === HOLDER ? item.origin : receiverKey(item);
        const list = running.get(receiver) ?? [];
        running.set(receiver, list);
        list.push({
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
          if (step.failing && active === 0) queue.setFailing(at(receiver), true);
          if (queue.add(at(receiver))) taken++;
          assert.ok((running.get(receiver)?.length ?? 0) <= 16);
          if (step.failing && active === 0) assert.ok((running.get(receiver)?.length ?? 0) <= 1);
          queue.setFailing(at(receiver), false);
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
  const hanging = (receiver: number) => at(`hanging${receiver}`, BigInt(2 + (receiver % 4)));
  for (let receiver = 0; receiver < 400; receiver++)
    for (let count = 0; count < 50; count++) queue.add(hanging(receiver));
  queue.add(at('healthy'));
  assert.equal(running.get('healthy')?.length, 1);
  for (let receiver = 0; receiver < 400; receiver++)
    assert.ok((running.get(receiverKey(hanging(receiver)))?.length ?? 0) >= 1);
});

test('the queue is limited: what does not fit is refused and stays in the database', () => {
  const { queue } = createHarness();
  let taken = 0;
  while (queue.add(at('one'))) taken++;
  assert.equal(taken, 20_000 + 16);
  const other = at('failing', 2n);
  queue.setFailing(other, true);
  assert.ok(queue.add(other));
  assert.ok(!queue.add(other));
});

test('security S9: holders at one origin get their first places before anybody gets a further one', async () => {
  const { queue, running } = createHarness();
  const origin = 'https://hooks.example';
  const runs = (holder: number) => running.get(receiverKey(at(origin, BigInt(holder))))?.length ?? 0;
  // Thirty holders hang there, each with more waiting than it may have running.
  for (let holder = 2; holder < 32; holder++)
    for (let count = 0; count < 50; count++) queue.add(at(origin, BigInt(holder)));
  assert.ok(runs(2) <= 16);
  for (let holder = 2; holder < 32; holder++) assert.ok(runs(holder) >= 1, `holder ${holder} has no place`);
  for (let holder = 32; holder < 66; holder++) queue.add(at(origin, BigInt(holder)));
  const all = () => [...running.values()].reduce((sum, list) => sum + list.length, 0);
  assert.equal(all(), 64, 'the cap of an origin');
  // The next places go to holders that have none, in the order they came, although the first have more waiting.
  const waiting = Array.from({ length: 34 }, (_, index) => index + 32).filter((holder) => runs(holder) === 0);
  assert.ok(waiting.length > 0);
  for (const holder of waiting) {
    const busiest = runs(2) > 0 ? 2n : 3n;
    const [item] = running.get(receiverKey(at(origin, busiest)))?.splice(0, 1) ?? [];
    item?.finish();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(runs(holder), 1, `holder ${holder} waited although a place was free`);
  }
});

test('a holder with many hanging origins leaves half of all places to others', () => {
  const { queue, running } = createHarness();
  for (let origin = 0; origin < 2_000; origin++) queue.add(at(`o${origin}`));
  assert.equal(running.size, 512);
  queue.add(at('healthy', 2n));
  assert.equal(running.size, 513);
});

test('review: holders that fill all places with hanging origins do not keep another one waiting', async () => {
  const { queue, running } = createHarness();
  for (const holder of [2n, 3n]) for (let origin = 0; origin < 2_000; origin++) queue.add(at(`o${origin}`, holder));
  assert.equal(running.size, 1_024, 'two holders use every place');
  queue.add(at('healthy'));
  const finishOne = async (holder: bigint) => {
    const name = [...running].find(([key, list]) => key.startsWith(`${holder} `) && list.length > 0);
    name?.[1].shift()?.finish();
    await new Promise((resolve) => setImmediate(resolve));
  };
  await finishOne(2n);
  assert.equal(running.get('healthy')?.length, 1, 'the first place that was free went to those who have the most');
  // Nothing is forgotten: the holders go on in turn, and all ends.
  running.get('healthy')?.shift()?.finish();
  for (let round = 0; round < 10; round++) {
    for (const list of running.values()) list.shift()?.finish();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await queue.idle();
  assert.deepEqual(queue.loads(), []);
});

test('review: holders that wait for a place of the process get it in turn, however many receivers they have', async () => {
  const { queue, running } = createHarness();
  for (const holder of [2n, 3n]) for (let origin = 0; origin < 600; origin++) queue.add(at(`o${origin}`, holder));
  for (let origin = 0; origin < 300; origin++) queue.add(at(`many${origin}`, 4n));
  queue.add(at('one', 5n));
  const runs = (holder: bigint) =>
    [...running].filter(([key, list]) => key.startsWith(`${holder} `) && list.length > 0).length;
  for (let round = 0; round < 2; round++) {
    const own = [...running].find(([key, list]) => key.startsWith('2 ') && list.length > 0);
    own?.[1].shift()?.finish();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual([runs(4n), runs(5n)], [1, 1]);
});

test('a receiver that has nothing left is forgotten when there are many, also that it failed', async () => {
  const { queue, running } = createHarness();
  const failing = at('failing', 2n);
  queue.setFailing(failing, true);
  for (let receiver = 0; receiver <= 2_000; receiver++) {
    const name = at(`https://shop${receiver}.example`, BigInt(3 + (receiver % 500)));
    queue.add(name);
    for (const item of running.get(receiverKey(name))?.splice(0) ?? []) item.finish();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(queue.add(failing));
  assert.ok(queue.add(failing), 'who adds says whether it fails');
});
