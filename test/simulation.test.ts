// Seeded simulations: real SQL, a virtual clock, an operator and a network that misbehave, processes that die between
// any two steps. The seeds are split over three files, so that two processors run them. By hand, for longer:
// npm run sim -- --seeds 5000

import { testSeeds } from './simulation/seeds.ts';

testSeeds({ from: 1, to: 100 });
