// Runs many seeds, several to a database.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestContext } from '../harness.ts';
import { type SimulationResult, simulate } from './simulation.ts';

const SEEDS_PER_DATABASE = 25;

type Failure = SimulationResult & {
  /** The first seed of its database: what is in it already may change what happens. */
  first: number;
};

export type SeedsResult = { ran: number; failed: Failure[] };

type Options = {
  onProgress?: (done: number) => void;
  /** Ends with the first seed that fails. */
  stop?: boolean;
};

export async function runSeeds(from: number, count: number, options: Options = {}): Promise<SeedsResult> {
  const failed: Failure[] = [];
  let ran = 0;
  for (let first = from; first < from + count; first += SEEDS_PER_DATABASE) {
    const last = Math.min(first + SEEDS_PER_DATABASE, from + count);
    const base = await createTestContext({ RATE_LIMIT_PER_SECOND: '0' });
    try {
      for (let seed = first; seed < last; seed++) {
        const result = await simulate(base, seed);
        if (result.violations.length > 0) failed.push({ ...result, first });
        options.onProgress?.(++ran);
        if (options.stop && failed.length > 0) return { ran, failed };
      }
    } finally {
      await base.close();
    }
  }
  return { ran, failed };
}

/** Defines the tests of these seeds, one for each database. */
export function testSeeds({ from, to }: { from: number; to: number }): void {
  describe('simulations: no seed breaks an invariant', () => {
    for (let first = from; first <= to; first += SEEDS_PER_DATABASE) {
      const last = Math.min(first + SEEDS_PER_DATABASE - 1, to);
      test(`seeds ${first} to ${last}`, async () => {
        const { failed } = await runSeeds(first, last - first + 1);
        const [worst] = failed;
        assert.equal(failed.length, 0, worst ? describeFailure(worst) : '');
      });
    }
  });
}

/** What a person needs to see the failure again. */
export function describeFailure({ seed, first, violations, history }: Failure): string {
  return [
    `Seed ${seed} broke what must hold:`,
    ...violations.map((violation) => `  - ${violation}`),
    'What happened:',
    ...history.map((line) => `  ${line}`),
    `Replay it with: node test/simulation/run.ts --from ${first} --seeds ${seed - first + 1}`,
  ].join('\n');
}
