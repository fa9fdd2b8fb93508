import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf, rangeOfDays } from './date-ranges.ts';

const utc = (text: string) => new Date(`${text}:00Z`);

test('ranges are days of the zone', () => {
  // Half past one on 1 March in Nairobi; still February in UTC.
  const now = utc('2026-02-28T22:30');
  const zone = 'Africa/Nairobi';
  assert.deepEqual(rangeOf('today', zone, now), { from: utc('2026-02-28T21:00') });
  assert.deepEqual(rangeOf('week', zone, now), { from: utc('2026-02-22T21:00') });
  assert.deepEqual(rangeOf('fortnight', zone, now), { from: utc('2026-02-15T21:00') });
  assert.deepEqual(rangeOf('month', zone, now), { from: utc('2026-02-28T21:00') });
  assert.deepEqual(rangeOf('last-month', zone, now), { from: utc('2026-01-31T21:00'), to: utc('2026-02-28T21:00') });
});

test('the last day of two counts whole, also when the clocks change in it', () => {
  const cairo = rangeOfDays('2026-04-24', '2026-04-24', 'Africa/Cairo');
  assert.equal((cairo.to?.getTime() ?? 0) - (cairo.from?.getTime() ?? 0), 23 * 3_600_000);
});

test('a day that is in no calendar, or in no year that anybody means, is left out', () => {
  for (const day of ['2026-02-30', '2026-13-40', '9999-12-31', '0000-01-01', 'soon', ''])
    assert.deepEqual(rangeOfDays(day, day, 'Africa/Nairobi'), {}, day);
});
