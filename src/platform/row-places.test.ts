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
      places.note(`feed:${row}`, at(`(1,${row})`));
    }
    const known = Array.from({ length: 100 }, (_, row) => places.find(`feed:${row}`)).filter((place) => place !== null);
    assert.ok(known.length >= 4 && known.length < 10, `${known.length} are known`);
    assert.deepEqual(
      [places.find('often')?.place, places.find('feed:99')?.place, places.find('feed:0')],
      ['(0,99)', '(1,99)', null],
    );
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
