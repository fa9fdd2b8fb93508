// Who comes back at once after a refusal is slowed down, and nobody else is.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRefusalPace } from './refusal-pace.ts';

/** Pauses of so many refusals, one every `eachMs`. */
function pausesOf(refusals: number, eachMs: number): number[] {
  let now = 0;
  const pace = createRefusalPace(() => now);
  return Array.from({ length: refusals }, () => {
    now += eachMs;
    return pace();
  });
}

describe('the pace of refusals', () => {
  test('a few at the same moment, and a thousand a second, wait for nothing', () => {
    assert.ok(pausesOf(100, 0).every((pause) => pause === 0));
    assert.ok(pausesOf(5_000, 1).every((pause) => pause === 0));
  });

  test('a flood waits for its turn, a second at most, as Retry-After says', () => {
    const pauses = pausesOf(3_000, 0.1);
    const first = pauses.findIndex((pause) => pause > 0);
    assert.ok(first >= 100 && first < 200, `the refusal ${first} is the first that waits`);
    assert.deepEqual(
      pauses.slice(first),
      pauses.slice(first).toSorted((left, right) => left - right),
    );
    assert.equal(pauses.at(-1), 1_000);
    assert.ok(pauses.every((pause) => pause % 50 === 0));
  });

  test('after a flood everything is as before a second later', () => {
    let now = 0;
    const pace = createRefusalPace(() => now);
    for (let count = 0; count < 100_000; count++) pace();
    now += 1_000;
    assert.equal(pace(), 0);
  });
});
