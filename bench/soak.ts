// A long run at a steady rate: memory of each process, descriptors, latency and the sizes of tables, minute by minute, to see
// what grows. At the end the slope of each by least squares, with its standard error: a slope within two of them is noise. The first
// third is warm-up: a young process grows until its heap is as large as its work needs, which took it 7 to 38 minutes.

import { readdirSync } from 'node:fs';
import { completePayments } from './completed.ts';
import { childrenOf, residentMb } from './gateway-process.ts';
import { percentile } from './load.ts';
import { say } from './measures.ts';
import type { Bench } from './parts.ts';
import { PAYMENT_TABLES, tableSizes } from './table-sizes.ts';

const MINUTE_S = 60;
/** Caches fill, queue tables get their working size, and V8 and malloc take the memory that they then keep. */
const WARM_UP = 1 / 3;
/** Growth of a table that is not expected to grow, over the whole run, below which it is not named. */
const NAMED_FROM_MB = 1;
type Sample = {
  gatewayMb: number;
  /** The simulated operator and the receiver of the sandbox. */
  sandboxMb: number;
  /** Private memory of all processes of PostgreSQL; shared buffers are not counted once for each. */
  postgresMb: number;
  descriptors: number;
  p50: number;
  p99: number;
  tables: Map<string, number>;
};

/** `share` of the rate that the gateway completes at most. */
export async function measureSoak(bench: Bench, minutes: number, maximum: number, share = 0.7): Promise<void> {
  const rate = maximum * share;
  const samples: Sample[] = [];
  // Under load as at the end: a process at rest has thrown away code that it needs again.
  await completePayments(bench, bench.merchants, Math.floor(rate * MINUTE_S), rate);
  const heapAtFirst = await bench.gateway.keptHeapMb();
  for (let minute = 1; minute <= minutes; minute++) {
    const { load } = await completePayments(bench, bench.merchants, Math.floor(rate * MINUTE_S), rate);
    const sample = await takeSample(bench, load.latencies);
    samples.push(sample);
    const [growing, other] = [true, false].map((isGrowing) =>
      sumOf(sample, (name) => PAYMENT_TABLES.has(name) === isGrowing),
    );
    say(
      `minute ${minute}: gateway ${sample.gatewayMb.toFixed(0)} MB, sandbox ${sample.sandboxMb.toFixed(0)} MB, ` +
        `PostgreSQL ${sample.postgresMb.toFixed(0)} MB, ${sample.descriptors} descriptors, ` +
        `accept p50 ${sample.p50.toFixed(1)} p99 ${sample.p99.toFixed(0)} ms, ` +
        `tables of payments ${growing?.toFixed(0)} MB, others ${other?.toFixed(1)} MB`,
    );
  }
  report(bench, samples, rate);
  bench.measures.add({
    name: `soak, ${minutes} min at ${rate.toFixed(0)}/s: heap of the gateway after a full collection`,
    value: await bench.gateway.keptHeapMb(),
    unit: 'MB',
    note: `${heapAtFirst.toFixed(1)} before`,
  });
}

async function takeSample(bench: Bench, latencies: number[]): Promise<Sample> {
  const { pid } = bench.gateway;
  return {
    gatewayMb: residentMb(pid),
    sandboxMb: childrenOf(pid).reduce((sum, child) => sum + residentMb(child), 0),
    postgresMb: [bench.postgresPid, ...childrenOf(bench.postgresPid)].reduce(
      (sum, process) => sum + residentMb(process, 'RssAnon'),
      0,
    ),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    tables: await tableSizes(bench),
  };
}

function report({ measures }: Bench, samples: Sample[], rate: number): void {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const first = settled[0];
  const last = settled.at(-1);
  if (!first || !last) return;
  const add = (name: string, value: number, unit: string, note = '') =>
    measures.add({ name: `soak, ${samples.length} min at ${rate.toFixed(0)}/s: ${name}`, value, unit, note });
  const addSlope = (name: string, unit: string, of: (sample: Sample) => number) => {
    const { perStep, error } = slope(settled.map(of));
    const note = Number.isNaN(error)
      ? 'too few minutes that differ, to say how certain'
      : `± ${(error * 60).toFixed(1)}; ${Math.abs(perStep) <= 2 * error ? 'within noise' : 'more than noise'}`;
    add(name, perStep * 60, `${unit} an hour`, note);
  };
  const quarters = [0, 0.25, 0.5, 0.75].map((part) => settled[Math.floor(settled.length * part)]?.gatewayMb.toFixed(1));
  add(
    'memory of the gateway at the end',
    last.gatewayMb,
    'MB',
    `after the warm-up and a quarter, half and three quarters of the rest: ${quarters.join(', ')}`,
  );
  addSlope('memory of the gateway, slope', 'MB', ({ gatewayMb }) => gatewayMb);
  addSlope('memory of the sandbox, slope', 'MB', ({ sandboxMb }) => sandboxMb);
  addSlope('memory of PostgreSQL, slope', 'MB', ({ postgresMb }) => postgresMb);
  add('descriptors at the end', last.descriptors, '', `${first.descriptors} after the first minutes`);
  addSlope('accept p50, slope', 'ms', ({ p50 }) => p50);
  addSlope('accept p99, slope', 'ms', ({ p99 }) => p99);
  const grown = [...last.tables]
    .map(([name, megabytes]) => ({ name, by: megabytes - (first.tables.get(name) ?? 0) }))
    .filter(({ name, by }) => !PAYMENT_TABLES.has(name) && by >= NAMED_FROM_MB)
    .sort((left, right) => right.by - left.by);
  const named = grown.map(({ name, by }) => `${name} ${by.toFixed(1)} MB`).join(', ');
  add('tables that grew and should not', grown.length, '', named);
}

function sumOf({ tables }: Sample, counts: (name: string) => boolean): number {
  return [...tables].reduce((sum, [name, megabytes]) => sum + (counts(name) ? megabytes : 0), 0);
}

/**
 * Least squares, per step; `error` is the standard error, NaN where there are too few values. A minute resembles the one before:
 * memory grows in steps and stays. Counted as independent, such minutes make any single step look certain, so they count for as
 * many as their likeness leaves: n (1 - r) / (1 + r), where r is how what is left beside the line correlates with the minute before.
 */
export function slope(values: number[]): { perStep: number; error: number } {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const steps = values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
  if (steps === 0) return { perStep: 0, error: Number.NaN };
  const perStep = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0) / steps;
  const left = values.map((value, index) => value - mean - perStep * (index - middle));
  const squares = left.reduce((sum, each) => sum + each ** 2, 0);
  if (squares === 0) return { perStep, error: values.length < 3 ? Number.NaN : 0 };
  const products = left.slice(1).reduce((sum, each, index) => sum + each * (left[index] ?? 0), 0);
  const likeness = Math.max(0, products / squares);
  const independent = (values.length * (1 - likeness)) / (1 + likeness);
  const error = independent > 2 ? Math.sqrt(squares / (independent - 2) / steps) : Number.NaN;
  return { perStep, error };
}
