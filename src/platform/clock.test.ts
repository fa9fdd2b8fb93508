import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, isoMicroseconds, isoMillis } from './clock.ts';

test('moments are printed as toISOString prints them, in whatever order they come', () => {
  const moments = [
    0,
    -1,
    1,
    DAY_MS - 1,
    DAY_MS,
    -DAY_MS,
    951_782_400_000,
    1_795_059_930_007,
    253_402_300_800_000,
    -62_198_755_200_000,
  ];
  for (const first of moments)
    for (const second of moments)
      for (const millis of [first, second, second + 1]) {
        const moment = new Date(millis);
        assert.equal(isoMillis(moment), moment.toISOString());
        assert.equal(isoMicroseconds(moment), moment.toISOString().replace('Z', '000Z'));
      }
});

test('an invalid moment is refused', () => {
  assert.throws(() => isoMillis(new Date(Number.NaN)), RangeError);
  assert.throws(() => isoMillis(new Date(Number.NaN)), RangeError);
});
