// Seeded simulations: real SQL, a virtual clock, an operator and a network that misbehave, processes that die between
// any two steps. The seeds are split over two files, so that two processors run them. In 40 seeds every fault, restore and
// decision comes up; what needs several of them at once is looked for by hand: npm run sim -- --seeds 5000

import { testSeeds } from './simulation/seeds.ts';

testSeeds({ from: 1, to: 20 });
