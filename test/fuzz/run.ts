// Fuzzing by hand: npm run fuzz -- --requests 20000 --seed 1 [--from 1]. `--request N` replays the story of that request and shows
// each of its requests. Exits with 1 when something failed.

import { parseArgs } from 'node:util';
import { describeFailure, runFuzz } from './fuzz.ts';
import { type Failure, STORY_REQUESTS } from './story.ts';

const SHOWN = 10;
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    request: { type: 'string' },
  },
});
const started = performance.now();
let shown = 0;
const replayed = values.request === undefined ? null : Number(values.request);
const from = replayed === null ? Number(values.from) : replayed - ((replayed - 1) % STORY_REQUESTS);
const { sent, failures, reached } = await runFuzz({
  seed: values.seed,
  from,
  requests: replayed === null ? Number(values.requests) : replayed - from + 1,
  onProgress(done, failed) {
    process.stderr.write(`\r${done} requests, ${failed} failures, ${(done / seconds()).toFixed(0)} a second `);
  },
  ...(replayed === null
    ? { onFailure: showFailure }
    : {
        onRequest: (number, request, answer) =>
          console.log(`${number} ${request.method} ${request.url.slice(0, 200)} → ${answer?.status ?? 'left'}`),
      }),
});
process.stderr.write('\n');
for (const failure of failures.filter(({ number }) => number === replayed)) showFailure(failure);
const kinds = Map.groupBy(failures, ({ what }) => what);
for (const [what, group] of kinds)
  console.log(
    `${group.length} × ${what}: ${group
      .slice(0, 5)
      .map(({ number }) => number)
      .join(', ')}`,
  );
console.log(`${sent} requests on ${reached.size} routes in ${seconds().toFixed(1)} s, ${failures.length} failures.`);
process.exitCode = failures.length > 0 ? 1 : 0;

function showFailure(failure: Failure): void {
  if (++shown <= SHOWN) console.log(`${describeFailure(values.seed, failure)}\n`);
}

function seconds(): number {
  return (performance.now() - started) / 1000;
}
