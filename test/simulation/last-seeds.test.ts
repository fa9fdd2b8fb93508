// The last third of the seeds of test/simulation.test.ts.

import { testSeeds } from './seeds.ts';

testSeeds({ from: 201, to: 300 });
