// Runs many seeds, several to a database, and verifies the ledger of each database when its seeds are done.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { extendChain } from '../../src/ledger/chain.ts';
import { differencesOf } from '../books.ts';
import { createTestContext } from '../harness.ts';
import { type SimulationResult, simulate } from './simulation.ts';

const SEEDS_PER_DATABASE = 25;
const SEEDS_PER_TEST = 50;

export type SeedsResult = { ran: number; failed: SimulationResult[] };

export async function runSeeds(
  from: number,
  count: number,
  onProgress: (done: number) => void = () => undefined,
): Promise<SeedsResult> {
  const failed: SimulationResult[] = [];
  for (let first = from; first < from + count; first += SEEDS_PER_DATABASE) {
    const last = Math.min(first + SEEDS_PER_DATABASE, from + count);
    const base = await createTestContext({ RATE_LIMIT_PER_SECOND: '0' });
    try {
      for (let seed = first; seed < last; seed++) {
        const result = await simulate(base, seed);
        if (result.violations.length > 0) failed.push(result);
        onProgress(seed - from + 1);
      }
      await extendChain(base, { partial: true });
      // Seeds share a database, and each ends with its jobs deleted; what they say about work and reserves is checked by seed.
      const differences = (await differencesOf(base)).filter(({ what }) => what !== 'jobs' && what !== 'reserved');
      if (differences.length > 0)
        failed.push({
          seed: first,
          violations: differences.map((difference) => `ledger verify: ${difference.sentence}`),
          history: [`one of the seeds ${first} to ${last - 1}`],
        });
    } finally {
      await base.close();
    }
  }
  return { ran: count, failed };
}

/** Defines the tests of these seeds, in groups. */
export function testSeeds({ from, to }: { from: number; to: number }): void {
  describe('simulations: no seed breaks an invariant', () => {
    for (let first = from; first <= to; first += SEEDS_PER_TEST)
      test(`seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, async () => {
        const { failed } = await runSeeds(first, SEEDS_PER_TEST);
        const [worst] = failed;
        assert.equal(failed.length, 0, worst ? describeFailure(worst) : '');
      });
  });
}

/** What a person needs to see the failure again. */
export function describeFailure({ seed, violations, history }: SimulationResult): string {
  return [
    `Seed ${seed} broke what must hold:`,
    ...violations.map((violation) => `  - ${violation}`),
    'What happened:',
    ...history.map((line) => `  ${line}`),
    `Replay it with: node test/simulation/run.ts --from ${seed} --seeds 1`,
  ].join('\n');
}
