// Crashes by hand: npm run crash -- --rounds 20 [--lanes 2] [--places dispute,reserve]. A round kills one process at every place, and
// then both. Exits with 1 when something was doubled or lost, and stops there.

import { parseArgs } from 'node:util';
import { runPlaces } from './lanes.ts';
import { PLACES } from './stories.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '2' },
    /** Parts of their names. */
    places: { type: 'string', default: '' },
  },
});
const places = Object.keys(PLACES).filter((place) => values.places.split(',').some((part) => place.includes(part)));
const started = performance.now();
const strikes = Array.from({ length: Number(values.rounds) }, () =>
  [false, true].flatMap((both) => places.map((place) => ({ place, both }))),
).flat();
const { struck, failures } = await runPlaces(strikes, Number(values.lanes), (done) => {
  if (process.stderr.isTTY || done % 10 === 0) process.stderr.write(`\r${done} of ${strikes.length} strikes`);
});
process.stderr.write('\n');
for (const failure of failures) console.log(`${failure}\n`);
const missed = places.filter((place) => !struck.get(place));
const seconds = ((performance.now() - started) / 1000).toFixed(1);
const killed = [...struck.values()].reduce((sum, died) => sum + died, 0);
console.log(
  `${strikes.length} strikes in ${seconds} s, ${killed} processes killed, ${failures.length} failures; ` +
    `never reached: ${missed.join(', ') || 'none'}`,
);
process.exitCode = failures.length + missed.length > 0 ? 1 : 0;
