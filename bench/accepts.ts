// Accepting payments: one process that only answers requests (`ROLE=api`). Acknowledged means committed.

import type { Baselines } from './baselines.ts';
import { cpuMs, treeCpuMs } from './gateway-process.ts';
import { type LoadResult, percentile, runLoad, signRequests } from './load.ts';
import { ratio, say } from './measures.ts';
import { acceptParams, type Bench, COLLECTIONS, CONNECTIONS, PORT } from './parts.ts';

const OVERLOAD_CONNECTIONS = 1_500;
const ALONE = 1_000;

/** Accepts a second. */
export async function measureAccepts(bench: Bench, baselines: Baselines): Promise<number> {
  const { measures, payments } = bench;
  say('warming up');
  // As many as H gets before it is measured.
  await acceptAll(bench, payments);
  say(`accepting ${payments} payments with one API process`);
  const [nodeMs, postgresMs] = [cpuMs(bench.gateway.pid), treeCpuMs(bench.postgresPid)];
  const load = await acceptAll(bench, payments);
  const perAccept = (milliseconds: number) => milliseconds / payments;
  const accepts = load.accepted / load.seconds;
  measures.add({ name: 'durable accepts, one API process', value: accepts, unit: '/s' });
  measures.add({ name: 'durable accepts ÷ H', value: accepts / baselines.h, unit: '', floor: '0.6', goal: '0.9' });
  measures.add({
    name: 'durable accepts ÷ P1',
    value: ratio(accepts, baselines.p1),
    unit: '',
    floor: '0.5',
    goal: '0.7',
  });
  measures.add({
    name: 'accept: core-ms of Node',
    value: perAccept(cpuMs(bench.gateway.pid) - nodeMs),
    unit: 'ms',
    goal: '0.20',
  });
  measures.add({
    name: 'accept: core-ms of PostgreSQL',
    value: perAccept(treeCpuMs(bench.postgresPid) - postgresMs),
    unit: 'ms',
    goal: '0.09',
  });
  measures.add({
    name: `accept p99, ${CONNECTIONS} connections`,
    value: percentile(load.latencies, 0.99),
    unit: 'ms',
    goal: '25',
  });
  return accepts;
}

async function acceptAll(bench: Bench, count: number): Promise<LoadResult> {
  const load = await offerAccepts(bench, { count, connections: CONNECTIONS, rate: null, maxSeconds: 60 });
  if (load.accepted !== count) throw new Error(`${count - load.accepted} of ${count} accepts were refused`);
  return load;
}

type Offer = { count: number; connections: number; rate: number | null; maxSeconds: number };

function offerAccepts({ merchants }: Bench, { count, ...offer }: Offer): Promise<LoadResult> {
  return runLoad({
    host: '127.0.0.1',
    port: PORT,
    path: COLLECTIONS,
    ...offer,
    requests: signRequests(merchants, count, COLLECTIONS, acceptParams),
  });
}

export async function measureAlone(bench: Bench, baselines: Baselines): Promise<void> {
  say('alone: one request at a time');
  const load = await offerAccepts(bench, { count: ALONE, connections: 1, rate: null, maxSeconds: 30 });
  const p50 = percentile(load.latencies, 0.5);
  bench.measures.add({ name: 'alone: accept p50', value: p50, unit: 'ms' });
  bench.measures.add({
    name: 'alone: accept p50 ÷ one-client pgbench',
    value: ratio(p50, baselines.single),
    unit: '',
    floor: '3',
    goal: '2',
  });
}

export async function measureOverload(bench: Bench, accepts: number, times: number, seconds: number): Promise<void> {
  const rate = accepts * times;
  say(`offered ${times} times the maximum: ${rate.toFixed(0)}/s`);
  const load = await offerAccepts(bench, {
    count: Math.floor(rate * seconds),
    connections: OVERLOAD_CONNECTIONS,
    rate,
    maxSeconds: seconds + 2,
  });
  bench.measures.add({
    name: `offered ${times} times the maximum: goodput ÷ maximum`,
    value: load.accepted / load.seconds / accepts,
    unit: '',
    floor: '0.8',
    goal: '0.95',
    note: `${load.refused} refused, ${load.failed} without an answer`,
  });
  bench.measures.add({
    name: `offered ${times} times the maximum: a refusal, p50`,
    value: load.refused === 0 ? null : percentile(load.refusalLatencies, 0.5),
    unit: 'ms',
    goal: '20',
    note: 'from the moment it was due, so the queue of the generator is part of it',
  });
}
