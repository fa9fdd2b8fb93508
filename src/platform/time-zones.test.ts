// Days in a time zone: where clocks change at midnight, and the names that people may choose.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addDays, dayIn, isTimeZone, listTimeZones, startOfDay, startsOfDays } from './time-zones.ts';

const HOUR_MS = 3_600_000;

function hoursOf(zone: string, day: string): number {
  const [start, end] = startsOfDays(zone, [day, addDays(day, 1)]);
  return ((end?.getTime() ?? 0) - (start?.getTime() ?? 0)) / HOUR_MS;
}

describe('days in a time zone', () => {
  test('begin at midnight there', () => {
    assert.equal(startOfDay('Africa/Nairobi', '2026-03-02').toISOString(), '2026-03-01T21:00:00.000Z');
    assert.equal(startOfDay('UTC', '2026-03-02').toISOString(), '2026-03-02T00:00:00.000Z');
    assert.equal(dayIn('Africa/Nairobi', new Date('2026-03-01T21:00:00Z')), '2026-03-02');
    assert.equal(dayIn('Africa/Nairobi', new Date('2026-03-01T20:59:59Z')), '2026-03-01');
  });

  test('have 23 or 25 hours where clocks change, also at midnight', () => {
    // Cairo: from 00:00 to 01:00 in April, from 24:00 to 23:00 in October.
    assert.equal(hoursOf('Africa/Cairo', '2026-04-24'), 23);
    assert.equal(hoursOf('Africa/Cairo', '2026-10-29'), 25);
    assert.equal(hoursOf('Africa/Cairo', '2026-10-30'), 24);
    assert.equal(hoursOf('Europe/Paris', '2026-03-29'), 23);
    assert.equal(hoursOf('Africa/Nairobi', '2026-03-29'), 24);
  });

  test('every moment of a year belongs to the day whose start is before it', () => {
    for (const zone of ['Africa/Cairo', 'Africa/Casablanca', 'Africa/Lagos', 'America/Santiago'])
      for (let day = '2026-01-01'; day < '2027-01-01'; day = addDays(day, 1)) {
        const start = startOfDay(zone, day).getTime();
        assert.equal(dayIn(zone, new Date(start)), day, `${zone} ${day}`);
        assert.equal(dayIn(zone, new Date(start - 1)), addDays(day, -1), `before ${zone} ${day}`);
      }
  });

  test('are counted by the calendar', () => {
    assert.equal(addDays('2028-02-28', 1), '2028-02-29');
    assert.equal(addDays('2026-01-01', -1), '2025-12-31');
  });
});

describe('the names of time zones', () => {
  test('are those of places: no offset, nothing that Node does not know', () => {
    for (const name of ['Africa/Nairobi', 'UTC', 'America/Argentina/Buenos_Aires', 'Africa/Porto-Novo'])
      assert.ok(isTimeZone(name), name);
    for (const name of ['', '+03:00', 'Africa/Atlantis', "x'; drop", '../etc', 'A'.repeat(65)])
      assert.ok(!isTimeZone(name), name);
  });

  test('the list begins with Africa, and every name in it can be chosen', () => {
    const zones = listTimeZones();
    assert.match(zones[0] ?? '', /^Africa\//);
    assert.ok(zones.includes('UTC') && zones.includes('Africa/Kampala'));
    assert.deepEqual(
      zones.filter((zone) => !isTimeZone(zone)),
      [],
    );
    assert.equal(new Set(zones).size, zones.length);
  });
});
