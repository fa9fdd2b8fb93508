// Places of requests in flight: shares of an address, waiting, known callers, long polls.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPlaces, type Place, type Places } from './places.ts';

const STRANGER = '198.51.100.7';

function enter(places: Places, address: string | null): { place: Place | null | undefined } {
  const entry: { place: Place | null | undefined } = { place: undefined };
  places.enter(address, (place) => {
    entry.place = place;
  });
  return entry;
}

const enterMany = (places: Places, address: string | null, count: number) =>
  Array.from({ length: count }, () => enter(places, address));

const served = (entries: { place: Place | null | undefined }[]) => entries.filter(({ place }) => place).length;

describe('places', () => {
  test('security S6: one address holds a tenth; its next request waits until one of its own ends', () => {
    const places = createPlaces(200);
    const first = enterMany(places, STRANGER, 30);
    assert.equal(served(first), 20);
    assert.equal(first[20]?.place, undefined, 'it waits');
    assert.ok(enter(places, '198.51.100.8').place, 'another address does not wait');
    first[0]?.place?.leave();
    assert.equal(served(first.slice(1)), 20);
    for (const { place } of first.slice(1)) place?.leave();
    for (const { place } of first.slice(20)) place?.leave();
    assert.equal(served(enterMany(places, STRANGER, 20)), 20, 'everything was given back');
  });

  test('security S6: as many wait as are served; further ones are refused at once', () => {
    const places = createPlaces(200);
    const entries = enterMany(places, STRANGER, 41);
    assert.equal(entries[39]?.place, undefined);
    assert.equal(entries[40]?.place, null);
    for (const { place } of entries) place?.leave();
    for (const { place } of entries) place?.leave();
  });

  test('a known caller no longer counts for its address, so one server may fill every place', () => {
    const places = createPlaces(100);
    for (let count = 0; count < 100; count++) {
      const { place } = enter(places, STRANGER);
      assert.ok(place, `request ${count}`);
      place.callerKnown();
    }
    assert.equal(places.isFull(), true);
    assert.equal(enter(places, STRANGER).place, null);
    assert.ok(places.enterAlways());
  });

  test('who waits too long is refused', async () => {
    const places = createPlaces(200);
    enterMany(places, STRANGER, 20);
    const refused = await new Promise<Place | null>((resolve) => places.enter(STRANGER, resolve));
    assert.equal(refused, null);
  });

  test('security S6: long polls hold no place, and there is a limit for them', () => {
    const places = createPlaces(40);
    const polls = enterMany(places, null, 12).map(({ place }) => place?.startLongPoll());
    assert.deepEqual(polls, [...Array<boolean>(10).fill(true), false, false]);
    assert.equal(served(enterMany(places, null, 38)), 38, 'the ten that wait hold none of the forty places');
    assert.equal(places.isFull(), true);
  });

  test('a place that is left twice is given back once', () => {
    const places = createPlaces(1);
    const { place } = enter(places, null);
    place?.leave();
    place?.leave();
    assert.equal(served(enterMany(places, null, 2)), 1);
  });
});
