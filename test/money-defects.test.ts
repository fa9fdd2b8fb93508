// The audit of money numbered thirty defects. Each has at least one test whose title begins with its number (`money 13: …`),
// so that nobody removes the last one without noticing.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../scripts/tree.ts';

const DEFECTS = 30;

test('every defect of the audit of money has a test that names it', () => {
  const named = new Set<number>();
  for (const file of globSync('{src,test}/**/*.test.ts', { cwd: ROOT }))
    for (const [, numbers = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(/['`]money ([\dA-D, ]+):/g))
      for (const number of numbers.matchAll(/\d+/g)) named.add(Number(number));
  const missing = Array.from({ length: DEFECTS }, (_, index) => index + 1).filter((number) => !named.has(number));
  assert.deepEqual(missing, []);
});
