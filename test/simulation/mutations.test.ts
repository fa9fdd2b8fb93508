// Every mutation of mutations.ts still fits the sources, so that npm run mutations tries what it says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, MUTATIONS } from './mutations.ts';

test('the code of every mutated rule is once in its file', () => {
  assert.deepEqual(
    MUTATIONS.filter((mutation) => !fits(mutation)).map(({ rule }) => rule),
    [],
  );
});
