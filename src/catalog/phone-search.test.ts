import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCatalog } from './catalog.ts';
import { possibleNumbers, possiblePrefixes } from './phone-search.ts';

const countries = [...loadCatalog().countries.values()];

test('a whole number is read in every way that people write it', () => {
  for (const typed of [
    '0712309000',
    '0712 309 000',
    '+254712309000',
    '254712309000',
    '00254 712 309 000',
    '712-309-000',
  ])
    assert.ok(possibleNumbers(typed, countries).includes('254712309000'), typed);
  assert.deepEqual(possibleNumbers('0712 309', countries), [], 'a part is no number');
  assert.deepEqual(possibleNumbers('Wanjiku', countries), []);
});

test('the beginning of a number may have its trunk digit, its dial code, both or neither', () => {
  for (const typed of ['0712 309', '712309', '254712309', '+254 712 309', '00254712309', '+254 0712 309'])
    assert.ok(possiblePrefixes(typed, countries).includes('254712309'), typed);
  assert.ok(!possiblePrefixes('+254712309', countries).some((prefix) => prefix.startsWith('256')), 'only that country');
});

test('what is no number has no beginning', () => {
  for (const typed of ['071', '', 'order 0712', '0712x', '1'.repeat(16)])
    assert.deepEqual(possiblePrefixes(typed, countries), [], typed);
});
