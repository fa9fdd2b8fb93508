// The second half of the seeds of test/simulation.test.ts.

import { testSeeds } from './seeds.ts';

testSeeds({ from: 51, to: 100 });
