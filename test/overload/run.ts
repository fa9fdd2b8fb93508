// Overload by strangers: npm run overload -- --seconds 5 [--rounds 3] [--rate 100] [--only logos]. A gateway in a process of its
// own takes 100 signed collections a second: in quiet, under each attack alone, under all at once. Of each of these the median
// of the rounds counts, because other programs of the machine may disturb one of them. Exits with 1 when a collection is
// refused, or when the slowest hundredth takes more than three times as long as in quiet; with 2 when the machine is too busy
// to tell. Everything stays on this machine, so the last columns show how many processors each program used. The attacks have
// fixed rates (attacks.ts).

import { fork, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { reservePort } from '../ports.ts';
import { simbi } from '../processes.ts';
import { ATTACKS, type Target } from './attacks.ts';
import { collect, MERCHANT_ADDRESS, percentile, type Served } from './collections.ts';
import { type CpuTimes, describeCpu, readCpuTimes } from './cpu.ts';
import { createSender, type Sender } from './requests.ts';
import type { StrangersOrder } from './strangers-process.ts';

const MAX_RATIO = 3;
/** With and then without strangers, until the code of both is compiled and the database has its connections. */
const WARM_UP_SECONDS = 8;
/** Strangers attack this long before anything is measured. */
const ATTACK_FIRST_MS = 2_000;
/** When even the quiet phase is slower than this, other programs use the machine. */
const BUSY_MS = 1_000;
const MAX_SECONDS = 20;
const MAX_ROUNDS = 9;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '100' },
    only: { type: 'string' },
  },
});
const PER_SECOND = Math.max(1, Number(values.rate));
const seconds = Math.min(MAX_SECONDS, Math.max(1, Number(values.seconds)));
const rounds = Math.min(MAX_ROUNDS, Math.max(1, Number(values.rounds)));

type Demo = { client_id: string; secret_key: string; sender: string };
type Integration = { client_id: string; secret_key: string; sender: string };

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-overload-'));
  const port = await reservePort();
  const settings = {
    DATA_DIR: folder,
    PORT: String(port),
    LOG_LEVEL: 'error',
    // Twice what is offered: this run is about strangers, not about the merchant's own limit.
    RATE_LIMIT_PER_SECOND: String(PER_SECOND * 2),
  };
  const gateway = simbi(['serve'], settings);
  try {
    await waitUntilReady(`http://127.0.0.1:${port}`);
    const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
    const url = `http://127.0.0.1:${port}`;
    const run = {
      shop: { clientId: demo.client_id, secretKey: demo.secret_key, title: demo.sender },
      target: { url, neighbour: await createNeighbour(settings) },
      merchant: createSender(url, MERCHANT_ADDRESS),
      gatewayPid: gateway.child.pid,
      dataFolder: folder,
    };
    return await measure(run);
  } finally {
    gateway.child.kill('SIGTERM');
    await gateway.ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function waitUntilReady(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await pause(100);
  }
  throw new Error('the gateway did not start');
}

/** Another holder of the same gateway. */
async function createNeighbour(settings: Record<string, string>): Promise<Target['neighbour']> {
  const holder = JSON.parse((await simbi(['holder', 'create', 'Neighbour', '--json'], settings).ended).out) as {
    id: string;
  };
  const created = await simbi(['integration', 'create', String(holder.id), 'Neighbour', '--json'], settings).ended;
  const { client_id: clientId, secret_key: secretKey, sender: title } = JSON.parse(created.out) as Integration;
  return { clientId, secretKey, title };
}

type Run = {
  shop: Target['neighbour'];
  target: StrangersOrder['target'];
  /** One for all phases: a merchant keeps its connections. */
  merchant: Sender;
  gatewayPid: number | undefined;
  dataFolder: string;
};

type Phase = { name: string; served: Served; cpu: string };

const QUIET = 'quiet';

/** The exit code. */
async function measure(run: Run): Promise<number> {
  const everything = Object.keys(ATTACKS).filter((name) => values.only === undefined || values.only === name);
  await phase(run, 'warm-up', [], WARM_UP_SECONDS);
  await phase(run, 'warm-up', everything, WARM_UP_SECONDS);
  const phases: Phase[] = [];
  for (let round = 0; round < rounds; round++) {
    phases.push(await phase(run, QUIET, []));
    if (percentile(phases.at(-1)?.served.times ?? [], 0.5) > BUSY_MS) {
      console.log('The machine is too busy: the quiet phase itself could not keep up.');
      return 2;
    }
    for (const name of everything) phases.push(await phase(run, name, [name]));
    phases.push(await phase(run, 'all together', everything));
  }
  const groups = Map.groupBy(phases, ({ name }) => name);
  const limit = medianOf(groups.get(QUIET) ?? [], 0.99) * MAX_RATIO;
  console.log(
    `${PER_SECOND} signed collections a second, ${rounds} times ${seconds} s; p99 may be ${limit.toFixed(0)} ms`,
  );
  console.log(`${' '.repeat(61)}processors used by`);
  console.log('phase                served  refused  p50 ms  p99 ms x quiet   gateway  database strangers  merchant');
  return [...groups].map(([name, group]) => report(name, group, limit)).every(Boolean) ? 0 : 1;
}

function medianOf(phases: readonly Phase[], share: number): number {
  return percentile(
    phases.map(({ served }) => percentile(served.times, share)),
    0.5,
  );
}

/** Collections for some seconds, while strangers do these attacks. */
async function phase(run: Run, name: string, attacks: string[], length = seconds): Promise<Phase> {
  const strangers = attacks.length > 0 ? startStrangers(run.target, attacks) : null;
  await strangers?.attacking;
  // The attack is under way before anything is measured.
  await pause(strangers ? ATTACK_FIRST_MS : 200);
  const watched = { gateway: run.gatewayPid, strangers: strangers?.pid, dataFolder: run.dataFolder };
  const before: CpuTimes = readCpuTimes(watched);
  const started = performance.now();
  const signal = AbortSignal.timeout(length * 1000);
  const options = { perSecond: PER_SECOND, millis: () => Date.now(), signal };
  const served = await collect(run.merchant, run.shop, options);
  const cpu = describeCpu(before, readCpuTimes(watched), (performance.now() - started) / 1000);
  await strangers?.end();
  return { name, served, cpu };
}

function startStrangers(target: Run['target'], attacks: string[]) {
  const child = fork(join(import.meta.dirname, 'strangers-process.ts'), { stdio: 'inherit' });
  // Strangers have machines of their own: here they use what the gateway and its database leave. Their rates stay the same.
  if (child.pid !== undefined) yieldProcessors(child.pid);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const attacking = Promise.race([new Promise((resolve) => child.once('message', resolve)), ended]);
  child.send({ target, attacks } satisfies StrangersOrder);
  return {
    pid: child.pid,
    attacking,
    async end() {
      child.send('end');
      await Promise.race([ended, pause(3_000)]);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A process that only gets what no other wants. Linux still gives a low priority whole slices, and its idle class none. */
function yieldProcessors(pid: number): void {
  const { status } = spawnSync('chrt', ['--idle', '--all-tasks', '--pid', '0', String(pid)], { stdio: 'ignore' });
  if (status !== 0) setPriority(pid, constants.priority.PRIORITY_LOW);
}

function report(name: string, phases: readonly Phase[], limit: number): boolean {
  const refused = phases.flatMap(({ served }) => Object.entries(served.refused));
  const p99 = medianOf(phases, 0.99);
  const passed = refused.length === 0 && p99 <= limit;
  const columns = [
    phases.reduce((sum, { served }) => sum + served.times.length, 0),
    refused.reduce((sum, [, count]) => sum + count, 0),
    medianOf(phases, 0.5).toFixed(1),
    p99.toFixed(1),
    ((p99 / limit) * MAX_RATIO).toFixed(2),
  ];
  const numbers = columns.map((value) => String(value).padStart(8)).join('');
  const reasons = refused.length > 0 ? JSON.stringify(refused) : '';
  console.log(`${name.padEnd(20)}${numbers}${phases[0]?.cpu ?? ''}${passed ? '' : '  FAILED'} ${reasons}`.trimEnd());
  return passed;
}

process.exitCode = await main();
