// The periods of the home page and the days they are compared with.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daysToRead, readRange } from './home-range.ts';

test('seven, fourteen and sixty days end today and are compared with as many before', () => {
  const week = readRange('7d', '2026-03-02');
  assert.deepEqual([week.days[0], week.days.at(-1), week.days.length], ['2026-02-24', '2026-03-02', 7]);
  assert.deepEqual([week.before[0], week.before.at(-1), week.before.length], ['2026-02-17', '2026-02-23', 7]);
  assert.equal(readRange('14d', '2026-03-02').days.length, 14);
  assert.equal(daysToRead(readRange('60d', '2026-03-02')).length, 120);
  assert.equal(readRange('anything else', '2026-03-02').key, '14d');
});

test('today is compared with yesterday and drawn at the end of its week', () => {
  const range = readRange('today', '2026-03-02');
  assert.deepEqual([range.days, range.before], [['2026-03-02'], ['2026-03-01']]);
  assert.deepEqual([range.chart.days.length, range.chart.days.at(-1)], [7, '2026-03-02']);
  assert.equal(daysToRead(range).length, 14);
});

test('the month is compared with the same days of the month before, as far as it had them', () => {
  const march = readRange('month', '2026-03-31');
  assert.deepEqual([march.days.length, march.before.length], [31, 28]);
  assert.deepEqual([march.before[0], march.before.at(-1)], ['2026-02-01', '2026-02-28']);
  const january = readRange('month', '2026-01-01');
  assert.deepEqual([january.days, january.before], [['2026-01-01'], ['2025-12-01']]);
});
