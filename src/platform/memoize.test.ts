// What is kept is made once, and there is an end to what is kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoize, once } from './memoize.ts';

test('a value is made once for its key, and a thousand keys do not all stay', () => {
  let made = 0;
  const entryOf = memoize((key) => ({ key, number: ++made }));
  assert.equal(entryOf('a'), entryOf('a'));
  assert.deepEqual(entryOf('b'), { key: 'b', number: 2 });
  const first = entryOf('a');
  for (let index = 0; index < 1_000; index++) assert.equal(entryOf(`key ${index}`).key, `key ${index}`);
  assert.notEqual(entryOf('a'), first, 'forgotten, and made again');
  assert.deepEqual(entryOf('a').key, 'a');
});

test('what cannot be made is not kept', () => {
  let tries = 0;
  const format = memoize((timeZone) => {
    tries++;
    return new Intl.DateTimeFormat('en', { timeZone });
  });
  assert.throws(() => format('Nowhere/Here'), RangeError);
  assert.throws(() => format('Nowhere/Here'), RangeError);
  assert.equal(tries, 2);
});

test('what is loaded once is tried again when it failed', async () => {
  let tries = 0;
  const load = once(async () => {
    if (++tries === 1) throw new Error('the disk was gone');
    return { tries };
  });
  await assert.rejects(load(), /the disk was gone/);
  const loaded = await load();
  assert.equal(await load(), loaded);
  assert.deepEqual(loaded, { tries: 2 });
});
