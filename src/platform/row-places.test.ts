import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRowPlaces, placesOfTransaction } from './row-places.ts';

const at = (place: string) => ({ id: 1n, place });

describe('places of rows', () => {
  test('the last place that was noted is found, and that of another row is not', () => {
    const places = createRowPlaces();
    places.note('feed:1', at('(0,1)'));
    places.note('feed:1', at('(0,2)'));
    assert.deepEqual([places.find('feed:1')?.place, places.find('feed:2')], ['(0,2)', null]);
  });

  test('those not noted for longest are forgotten', () => {
    const places = createRowPlaces(10);
    for (let row = 0; row < 100; row++) {
      places.note('often', at(`(0,${row})`));
      places.note(`feed:${row}`, at(`(${row},1)`));
    }
    const known = Array.from({ length: 100 }, (_, row) => places.find(`feed:${row}`)).filter((place) => place !== null);
    assert.ok(known.length >= 4 && known.length < 10, `${known.length} are known`);
    assert.deepEqual(
      [places.find('often')?.place, places.find('feed:99')?.place, places.find('feed:0')],
      ['(0,99)', '(99,1)', null],
    );
  });

  test('a row far down its page is looked up by its key, which cleans the page', () => {
    const places = createRowPlaces();
    const found = ['(32,31)', '(7,32)', '(7,132)', '(7,64)'].map((place) => {
      places.note('feed:1', { id: 5n, place });
      return places.find('feed:1');
    });
    const nowhere = { id: 5n, place: '(0,0)' };
    assert.deepEqual(found, [{ id: 5n, place: '(32,31)' }, nowhere, { id: 5n, place: '(7,132)' }, nowhere]);
  });

  test('what a transaction notes is known after its commit', () => {
    const all = createRowPlaces();
    all.note('feed:1', at('(0,1)'));
    const { places, keep } = placesOfTransaction(all);
    places.note('feed:1', at('(0,2)'));
    assert.deepEqual([places.find('feed:1')?.place, all.find('feed:1')?.place], ['(0,1)', '(0,1)']);
    keep();
    assert.equal(all.find('feed:1')?.place, '(0,2)');
  });
});
