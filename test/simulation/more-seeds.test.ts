// The second half of the seeds of test/simulation.test.ts.

import { testSeeds } from './seeds.ts';

testSeeds({ from: 21, to: 40 });
