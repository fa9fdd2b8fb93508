// The third quarter of the 20,000 fuzzed requests, so that both processors have work.

import { test } from 'node:test';
import { expectNoFailures } from './fuzz.ts';

test('5,000 more fuzzed requests: no error of ours, nothing of another account, right books', async () => {
  await expectNoFailures(10_001);
});
