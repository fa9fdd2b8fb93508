// Seeded simulations: real SQL, a virtual clock, an operator and a network that misbehave, processes that die between
// any two steps. By hand, for longer: node test/simulation/run.ts --seeds 10000

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeFailure, runSeeds } from './simulation/seeds.ts';

const SEEDS = 200;
const GROUP = 50;

describe('simulations: no seed breaks an invariant', () => {
  for (let from = 1; from <= SEEDS; from += GROUP)
    test(`seeds ${from} to ${from + GROUP - 1}`, async () => {
      const { failed } = await runSeeds(from, GROUP);
      const [first] = failed;
      assert.equal(failed.length, 0, first ? describeFailure(first) : '');
    });
});
