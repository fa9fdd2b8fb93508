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

  describe('when they are scarce', () => {
    /** Ten places for integrations, though there are a hundred. */
    const scarcePlaces = (refused = () => {}) =>
      createPlaces(100, { limit: () => 10, ended: () => undefined, refused });

    function enterAs(places: Places, caller: string): Place | null {
      const { place } = enter(places, null);
      if (place?.callerKnown(caller)) return place;
      place?.leave();
      return null;
    }

    test('an integration beyond its equal share is refused, one within it is served', () => {
      const places = scarcePlaces();
      const flood = Array.from({ length: 30 }, () => enterAs(places, 'flood'));
      assert.equal(flood.filter(Boolean).length, 10);
      assert.equal(places.isFull('flood'), true);
      assert.equal(places.isFull('small'), false);
      const small = Array.from({ length: 8 }, () => enterAs(places, 'small'));
      assert.equal(small.filter(Boolean).length, 5, 'half of them, because there are two');
      assert.equal(enterAs(places, 'flood'), null);
    });

    test('unknown callers are heard up to a reserve, so that a new connection of a small one is found', () => {
      const places = scarcePlaces();
      for (let count = 0; count < 10; count++) enterAs(places, 'flood');
      assert.equal(places.isFull(), false);
      assert.equal(served(enterMany(places, null, 30)), 10);
      assert.equal(places.isFull(), true);
    });

    test('refusals are told to what sets the limit', () => {
      let refusals = 0;
      const places = scarcePlaces(() => refusals++);
      for (let held = 0; held < 10; held++) enterAs(places, 'big');
      assert.equal(refusals, 0);
      assert.equal(places.isFull('big'), true);
      assert.equal(refusals, 1);
      assert.equal(enterAs(places, 'big'), null);
      assert.equal(refusals, 2);
    });

    test('how long integrations took is measured, pages are not', () => {
      const times: number[] = [];
      const ended = (milliseconds: number) => void times.push(milliseconds);
      const places = createPlaces(100, { limit: () => 100, ended, refused: () => undefined });
      enter(places, null).place?.leave();
      enterAs(places, 'shop')?.leave();
      assert.equal(times.length, 1);
    });
  });
});
