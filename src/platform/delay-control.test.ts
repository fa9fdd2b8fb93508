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
    wait: (milliseconds: number): void => {
      time += milliseconds;
    },
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
  test('a queue that stays for a second makes the limit smaller, down to two batches and no further', () => {
    const { pass } = createWindows(1_000);
    assert.equal(pass(11, 500, 1_000), 1_000, 'the window after the second has not ended');
    assert.equal(pass(1, 500, 1_000), 800);
    assert.equal(pass(1, 500, 1_000), 640, 'while the limit is smaller every window counts');
    assert.equal(pass(20, 500, 1_000), 256);
  });

  test('after a second in which nobody was refused, everybody is let in', () => {
    const { control, pass } = createWindows(1_000);
    pass(30, 500, 1_000);
    for (let second = 0; second < 3; second++) {
      control.refused();
      assert.equal(pass(9, 10, 100), 256);
    }
    assert.equal(pass(2, 10, 100), 1_000);
  });

  test('slow requests alone are no queue', () => {
    const { pass } = createWindows(1_000);
    pass(30, 500, 200);
    assert.equal(pass(1, 500, 1_000), 1_000);
  });

  test('bursts minutes apart are not one queue', () => {
    const { control, pass, wait } = createWindows(1_000);
    for (let burst = 0; burst < 5; burst++) {
      pass(8, 500, 1_000);
      wait(60_000);
    }
    assert.equal(control.limit(), 1_000);
  });

  test('the queue of a burst changes nothing', () => {
    const { pass } = createWindows(1_000);
    for (let burst = 0; burst < 5; burst++) {
      pass(9, 500, 1_000);
      assert.equal(pass(1, 10, 100), 1_000);
    }
  });

  test('without delay it grows again, but only when it is reached', () => {
    const { pass } = createWindows(1_000);
    pass(30, 500, 1_000);
    assert.equal(pass(5, 10, 100), 256, 'nobody was refused');
    assert.equal(pass(3, 10, 256), 262, 'it was reached once');
    assert.equal(pass(100, 10, 1_000), 1_000);
  });

  test('one fast request shows that there is no queue; a few slow ones show nothing', () => {
    const { control, pass } = createWindows(1_000);
    for (let window = 0; window < 30; window++) {
      control.ended(5, 500);
      pass(1, 500, 500);
    }
    assert.equal(control.limit(), 1_000);
    const quiet = createWindows(1_000);
    assert.equal(quiet.pass(30, 5_000, 3, 3), 1_000);
  });

  test('without a longest delay nothing changes', () => {
    const control = createDelayControl(1_000, 0);
    for (let request = 0; request < 100; request++) control.ended(60_000, 1_000);
    assert.equal(control.limit(), 1_000);
  });

  test('a small machine that allows fewer keeps its own number', () => {
    assert.equal(createWindows(40).pass(30, 500, 40), 40);
  });
});
