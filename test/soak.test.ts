// The slope that `npm run bench -- --soak` prints, and when it calls one noise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slope } from '../bench/soak.ts';

const MINUTES = 48;
const minutes = (of: (minute: number) => number) => Array.from({ length: MINUTES }, (_, minute) => of(minute));
/** The same in each run, and of no likeness from one minute to the next. */
const noise = (minute: number) => Math.sin(minute * minute);
const isNoise = ({ perStep, error }: { perStep: number; error: number }) => Math.abs(perStep) <= 2 * error;

test('a value that stays the same, or only trembles, has no slope', () => {
  assert.deepEqual(slope(minutes(() => 278)), { perStep: 0, error: 0 });
  assert.ok(isNoise(slope(minutes(noise))));
});

test('what grows a little each minute is more than noise', () => {
  const grown = slope(minutes((minute) => 0.1 * minute + noise(minute)));
  assert.ok(Math.abs(grown.perStep - 0.1) < 0.03, String(grown.perStep));
  assert.ok(!isNoise(grown));
});

test('so is what grows in many steps', () => {
  assert.ok(!isNoise(slope(minutes((minute) => Math.floor(minute / 6)))));
});

test('a single step is less certain than as many minutes on their own would make it', () => {
  const { error } = slope(minutes((minute) => (minute < MINUTES / 2 ? 0 : 5)));
  // Minutes counted as independent would give 0.013.
  assert.ok(error > 0.04, String(error));
});

test('of two minutes nothing is known', () => {
  assert.ok(Number.isNaN(slope([1, 2]).error));
});
