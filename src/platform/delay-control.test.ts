// The number of requests in flight follows how long they take.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDelayControl } from './delay-control.ts';

/** Windows of requests that all take as long; returns the limit after them. */
function createWindows(most: number) {
  let time = 0;
  const control = createDelayControl(most, 80, () => time);
  return {
    control,
    pass: (windows: number, milliseconds: number, inFlight: number, requests = 20): number => {
      for (let window = 0; window < windows; window++) {
        for (let request = 0; request < requests; request++) control.ended(milliseconds, inFlight);
        time += 100;
      }
      return control.limit();
    },
  };
}

describe('delay control', () => {
  test('a standing queue makes the limit smaller, down to two batches and no further', () => {
    const { pass } = createWindows(1_000);
    assert.equal(pass(1, 500, 1_000), 1_000, 'the window has not ended');
    assert.equal(pass(1, 500, 1_000), 800);
    assert.equal(pass(20, 500, 1_000), 256);
  });

  test('without delay it grows again, but only when it is reached', () => {
    const { pass } = createWindows(1_000);
    pass(20, 500, 1_000);
    assert.equal(pass(5, 10, 100), 256, 'nobody was refused, so nothing has to change');
    assert.equal(pass(3, 10, 256), 282);
    assert.equal(pass(40, 10, 1_000), 1_000);
  });

  test('one fast request shows that there is no queue; a few slow ones show nothing', () => {
    const { control, pass } = createWindows(1_000);
    for (let window = 0; window < 5; window++) {
      control.ended(5, 500);
      pass(1, 500, 500);
    }
    assert.equal(control.limit(), 1_000);
    const quiet = createWindows(1_000);
    assert.equal(quiet.pass(5, 5_000, 3, 3), 1_000);
  });

  test('without a longest delay nothing changes', () => {
    const control = createDelayControl(1_000, 0);
    for (let request = 0; request < 100; request++) control.ended(60_000, 1_000);
    assert.equal(control.limit(), 1_000);
  });

  test('a small machine that allows fewer keeps its own number', () => {
    assert.equal(createWindows(40).pass(5, 500, 40), 40);
  });
});
