// Accepting payments: one process that only answers requests (`ROLE=api`). Acknowledged means committed.

import { fork } from 'node:child_process';
import { join } from 'node:path';
import { type Baselines, startBaseline } from './baselines.ts';
import { cpuMs, treeCpuMs } from './gateway-process.ts';
import { type LoadResult, median, percentile, runLoad, signRequests } from './load.ts';
import { ratio, say } from './measures.ts';
import type { NewCallers } from './new-callers.ts';
import { acceptParams, type Bench, COLLECTIONS, CONNECTIONS, firstMessage, pause, root } from './parts.ts';

const OVERLOAD_CONNECTIONS = 1_500;
const NEW_CALLERS_PER_SECOND = 20;
/** By then the generator has read its requests. */
const BEFORE_NEW_CALLERS_MS = 2_000;
const ALONE = 1_000;

const ROUNDS = 5;

/** Accepts a second: the median of some rounds, in turns with H, because a machine that others use too changes from minute to minute. */
export async function measureAccepts(bench: Bench, baselines: Baselines): Promise<number> {
  const { measures, payments } = bench;
  const h = await startBaseline('');
  try {
    say('warming up');
    await h.offer(payments);
    await acceptAll(bench, payments);
    const each = Math.floor(payments / ROUNDS);
    say(`accepting ${payments} payments with one API process, in turns with H`);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({ ...(await acceptRound(bench, each)), h: await h.offer(each) });
    const accepts = median(rounds.map(({ rate }) => rate));
    const ratios = rounds.map(({ rate, h: other }) => rate / other);
    const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} in ${ROUNDS} rounds`;
    measures.add({ name: 'durable accepts, one API process', value: accepts, unit: '/s' });
    measures.add({
      name: 'durable accepts ÷ H',
      value: median(ratios),
      unit: '',
      floor: '0.6',
      goal: '0.9',
      note: `in turns with H: ${median(rounds.map((round) => round.h)).toFixed(0)}/s; ${spread}`,
    });
    measures.add({
      name: 'durable accepts ÷ P1',
      value: ratio(accepts, baselines.p1),
      unit: '',
      floor: '0.5',
      goal: '0.7',
    });
    measures.add({
      name: 'accept: core-ms of Node',
      value: median(rounds.map(({ nodeMs }) => nodeMs)),
      unit: 'ms',
      goal: '0.20',
    });
    measures.add({
      name: 'accept: core-ms of PostgreSQL',
      value: median(rounds.map(({ postgresMs }) => postgresMs)),
      unit: 'ms',
      goal: '0.09',
    });
    measures.add({
      name: `accept p99, ${CONNECTIONS} connections`,
      value: median(rounds.map(({ p99 }) => p99)),
      unit: 'ms',
      goal: '25',
    });
    return accepts;
  } finally {
    await h.stop();
  }
}

async function acceptRound(bench: Bench, count: number) {
  const [nodeMs, postgresMs] = [cpuMs(bench.gateway.pid), treeCpuMs(bench.postgresPid)];
  const load = await acceptAll(bench, count);
  return {
    rate: load.accepted / load.seconds,
    nodeMs: (cpuMs(bench.gateway.pid) - nodeMs) / count,
    postgresMs: (treeCpuMs(bench.postgresPid) - postgresMs) / count,
    p99: percentile(load.latencies, 0.99),
  };
}

async function acceptAll(bench: Bench, count: number, connections = CONNECTIONS): Promise<LoadResult> {
  const load = await offerAccepts(bench, { count, connections, rate: null, maxSeconds: 60 });
  if (load.accepted !== count) throw new Error(`${count - load.accepted} of ${count} accepts were refused`);
  return load;
}

type Offer = { count: number; connections: number; rate: number | null; maxSeconds: number; isOverload?: true };

function offerAccepts({ merchants, port }: Bench, { count, ...offer }: Offer): Promise<LoadResult> {
  return runLoad({
    host: '127.0.0.1',
    port,
    path: COLLECTIONS,
    ...offer,
    requests: signRequests(merchants, count, COLLECTIONS, acceptParams),
  });
}

export async function measureAlone(bench: Bench, baselines: Baselines): Promise<void> {
  say('alone: one request at a time');
  const load = await acceptAll(bench, ALONE, 1);
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
  const [load, refusals] = await Promise.all([
    offerAccepts(bench, {
      count: Math.floor(rate * seconds),
      connections: OVERLOAD_CONNECTIONS,
      rate,
      maxSeconds: seconds + 2,
      isOverload: true,
    }),
    watchRefusals(bench, seconds / 2),
  ]);
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
    value: refusals.length === 0 ? null : percentile(refusals, 0.5),
    unit: 'ms',
    goal: '20',
    note: `${refusals.length} of ${(NEW_CALLERS_PER_SECOND * seconds) / 2} new callers; who comes back at once waits up to a second`,
  });
}

/** How long callers wait for a refusal who come once, on a connection of their own, in the middle of the overload. */
async function watchRefusals({ merchants, port }: Bench, seconds: number): Promise<number[]> {
  const params = (index: number) => acceptParams(1_000_000_000 + index);
  const requests = signRequests(merchants, NEW_CALLERS_PER_SECOND * seconds, COLLECTIONS, params);
  const child = fork(join(root, 'bench/new-callers.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waits = firstMessage<number[]>(child);
  await pause(BEFORE_NEW_CALLERS_MS);
  const callers: NewCallers = {
    port,
    path: COLLECTIONS,
    perSecond: NEW_CALLERS_PER_SECOND,
    requests: requests.map((request) => request.toString('latin1')),
  };
  child.send(callers);
  return (await waits).sort((left, right) => left - right);
}
