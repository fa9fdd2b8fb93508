// The second half of the 14,000 fuzzed requests, so that two processors have work.

import { test } from 'node:test';
import { expectNoFailures, TEST_REQUESTS } from './fuzz.ts';

test('7,000 more fuzzed requests: no error of ours, nothing of another account, right books', async () => {
  await expectNoFailures(TEST_REQUESTS + 1);
});
