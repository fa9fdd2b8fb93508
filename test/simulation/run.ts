// Simulations by hand: node test/simulation/run.ts --seeds 10000 [--from 1]. Exits with 1 when a seed fails.

import { parseArgs } from 'node:util';
import { describeFailure, runSeeds } from './seeds.ts';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, from: { type: 'string', default: '1' } },
});
const started = performance.now();
const { ran, failed } = await runSeeds(Number(values.from), Number(values.seeds), (done) => {
  if (process.stderr.isTTY || done % 100 === 0) process.stderr.write(`\r${done} of ${values.seeds} seeds`);
});
process.stderr.write('\n');
for (const result of failed.slice(0, 3)) console.log(`${describeFailure(result)}\n`);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  `${ran} seeds in ${seconds} s, ${failed.length} with violations: ${failed.map(({ seed }) => seed).join(', ') || 'none'}`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
