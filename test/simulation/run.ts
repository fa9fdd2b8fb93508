// Simulations by hand: node test/simulation/run.ts --seeds 10000 [--from 1] [--stop]. Exits with 1 when a seed fails; with
// --stop the first one that does is the last one that runs.

import { parseArgs } from 'node:util';
import { describeFailure, runSeeds } from './seeds.ts';

/** Failures that are shown with all that happened. */
const SHOWN = 3;
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    stop: { type: 'boolean', default: false },
  },
});
const started = performance.now();
const { ran, failed } = await runSeeds(Number(values.from), Number(values.seeds), {
  stop: values.stop,
  onProgress(done) {
    if (process.stderr.isTTY || done % 100 === 0) process.stderr.write(`\r${done} of ${values.seeds} seeds`);
  },
});
process.stderr.write('\n');
for (const result of failed.slice(0, SHOWN)) console.log(`${describeFailure(result)}\n`);
for (const { seed, violations } of failed.slice(SHOWN)) console.log(`Seed ${seed}: ${violations[0]?.split('\n')[0]}`);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  `${ran} seeds in ${seconds} s, ${failed.length} with violations: ${failed.map(({ seed }) => seed).join(', ') || 'none'}`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
