// Overload by strangers: npm run overload -- --seconds 10 [--rate 100]. A gateway in a process of its own takes 100 signed
// collections a second: first in quiet, then under each attack alone, then under all at once. Exits with 1 when a collection
// is refused, or when the slowest hundredth takes more than three times as long as in quiet; with 2 when the machine is too
// busy to tell. Everything stays on this machine.

import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { reservePort } from '../ports.ts';
import { simbi } from '../processes.ts';
import { ATTACKS, type Target } from './attacks.ts';
import { collect, percentile, type Served } from './collections.ts';

const MAX_RATIO = 3;
const WARM_UP_SECONDS = 4;
/** When even the quiet phase is slower than this, other programs use the machine. */
const BUSY_MS = 1_000;
/** All phases, the start and the stop take two minutes at most. */
const MAX_SECONDS = 12;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, rate: { type: 'string', default: '100' } },
});
const PER_SECOND = Math.max(1, Number(values.rate));
const seconds = Math.min(MAX_SECONDS, Math.max(1, Number(values.seconds)));

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
    const shop = { clientId: demo.client_id, secretKey: demo.secret_key, title: demo.sender };
    const target = { url: `http://127.0.0.1:${port}`, neighbour: await createNeighbour(settings) };
    return await measure(target, shop);
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

type Shop = Target['neighbour'];

/** The exit code. */
async function measure(target: Omit<Target, 'millis'>, shop: Shop): Promise<number> {
  await phase(target, shop, [], WARM_UP_SECONDS);
  const quiet = await phase(target, shop, [], seconds);
  const limit = percentile(quiet.times, 0.99) * MAX_RATIO;
  console.log(`${PER_SECOND} signed collections a second, ${seconds} s each; p99 may be ${limit.toFixed(0)} ms`);
  console.log('phase                served  refused  p50 ms  p99 ms  x quiet');
  let passed = report('quiet', quiet, limit);
  if (percentile(quiet.times, 0.5) > BUSY_MS) {
    console.log('The machine is too busy: the quiet phase itself could not keep up.');
    return 2;
  }
  for (const name of Object.keys(ATTACKS))
    passed = report(name, await phase(target, shop, [name], seconds), limit) && passed;
  const all = await phase(target, shop, Object.keys(ATTACKS), seconds);
  return report('all together', all, limit) && passed ? 0 : 1;
}

/** Collections for some seconds, while strangers do these attacks. */
async function phase(target: Omit<Target, 'millis'>, shop: Shop, attacks: string[], length: number): Promise<Served> {
  const strangers = attacks.length > 0 ? startStrangers(target, attacks) : null;
  // The attack is under way before anything is measured.
  await pause(strangers ? 1_500 : 200);
  const signal = AbortSignal.timeout(length * 1000);
  const served = await collect(target.url, shop, { perSecond: PER_SECOND, millis: () => Date.now(), signal });
  await strangers?.end();
  return served;
}

function startStrangers(target: Omit<Target, 'millis'>, attacks: string[]) {
  const child = fork(join(import.meta.dirname, 'strangers-process.ts'), { stdio: 'inherit' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.send({ target, attacks });
  return {
    async end() {
      child.send('end');
      await Promise.race([ended, pause(3_000)]);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function report(name: string, served: Served, limit: number): boolean {
  const refused = Object.values(served.refused).reduce((sum, count) => sum + count, 0);
  const p99 = percentile(served.times, 0.99);
  const passed = refused === 0 && p99 <= limit;
  const ratio = ((p99 / limit) * MAX_RATIO).toFixed(2);
  const columns = [served.times.length, refused, percentile(served.times, 0.5).toFixed(1), p99.toFixed(1), ratio];
  const reasons = refused > 0 ? JSON.stringify(served.refused) : '';
  console.log(
    `${name.padEnd(20)}${columns.map((value) => String(value).padStart(8)).join('')}${passed ? '' : '  FAILED'} ${reasons}`,
  );
  return passed;
}

process.exitCode = await main();
