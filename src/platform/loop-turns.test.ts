// Background work is started in order, a share in each turn of the event loop, and what else is ready runs in between.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLoopTurns } from './loop-turns.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('turns', () => {
  test('no more is started in a turn than its share allows, and everything is started in order', async () => {
    let millis = 0;
    const started: number[] = [];
    const turns = createLoopTurns(4, () => millis);
    for (let number = 0; number < 7; number++)
      turns.add(() => {
        started.push(number);
        millis += 2;
      });
    assert.deepEqual(started, [], 'nothing is started in the turn of the caller');
    await turn();
    assert.deepEqual(started, [0, 1]);
    await turn();
    assert.deepEqual(started, [0, 1, 2, 3]);
    await turn();
    await turn();
    assert.deepEqual(started, [0, 1, 2, 3, 4, 5, 6]);
  });

  test('work that takes longer than a share is started alone', async () => {
    let millis = 0;
    const started: number[] = [];
    const turns = createLoopTurns(4, () => millis);
    for (const number of [1, 2])
      turns.add(() => {
        started.push(number);
        millis += 50;
      });
    await turn();
    assert.deepEqual(started, [1]);
    await turn();
    assert.deepEqual(started, [1, 2]);
  });

  test('what is added while work is started comes after it', async () => {
    const started: string[] = [];
    const turns = createLoopTurns();
    turns.add(() => {
      started.push('first');
      turns.add(() => started.push('third'));
    });
    turns.add(() => started.push('second'));
    await turn();
    await turn();
    assert.deepEqual(started, ['first', 'second', 'third']);
  });
});
