// The second half of the 20,000 fuzzed requests, so that two processors have work.

import { test } from 'node:test';
import { expectNoFailures } from './fuzz.ts';

test('10,000 more fuzzed requests: no error of ours, nothing of another account, right books', async () => {
  await expectNoFailures(10_001);
});
