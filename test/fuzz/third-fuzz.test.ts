// The third quarter of the 20,000 fuzzed requests, so that both processors have work.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFailure, runFuzz } from './fuzz.ts';

const SEED = '13';

test('5,000 more fuzzed requests: no error of ours, nothing of another account, right books', async () => {
  const { sent, failures } = await runFuzz({ seed: SEED, from: 10_001, requests: 5_000 });
  assert.equal(
    failures
      .slice(0, 5)
      .map((failure) => describeFailure(SEED, failure))
      .join('\n\n'),
    '',
  );
  assert.equal(sent, 5_000);
});
