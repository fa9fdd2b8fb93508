// Peers beside us, where their package can be installed at the time of the measurement; nothing of theirs is kept here.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { cpuMs, stopProcess, treeCpuMs } from './gateway-process.ts';
import { say } from './measures.ts';
import { type Bench, pause, root } from './parts.ts';

const PACKAGE = 'graphile-worker';
const DATABASE = 'peer';
const INSTALL_MS = 180_000;
const PATIENCE_MS = 120_000;

/** graphile-worker signs and sends as many callbacks as the gateway did, to the same receiver, from the same PostgreSQL. */
export async function measurePeers(bench: Bench, ours: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-peer-'));
  try {
    const version = await install(folder);
    if (version === null) {
      const note = 'the package could not be installed';
      bench.measures.add({ name: `${PACKAGE}: callbacks`, value: null, unit: '/s', note });
      return;
    }
    say(`${PACKAGE} ${version}: ${bench.payments} callbacks`);
    await withDatabase(bench.databaseUrl, (url) => measureCallbacks(bench, folder, url, { version, ours }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function install(folder: string): Promise<string | null> {
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  say(`installing ${PACKAGE} into a temporary folder`);
  const npm = promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', PACKAGE], {
    cwd: folder,
    timeout: INSTALL_MS,
  });
  const isInstalled = await npm.then(
    () => true,
    () => false,
  );
  if (!isInstalled) return null;
  const installed = readFileSync(join(folder, 'node_modules', PACKAGE, 'package.json'), 'utf8');
  return (JSON.parse(installed) as { version: string }).version;
}

async function withDatabase(url: string, work: (peerUrl: string) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const peer = new URL(url);
  peer.pathname = `/${DATABASE}`;
  try {
    await client.query(`create database ${DATABASE}`);
    await work(peer.href);
  } finally {
    await client.query(`drop database if exists ${DATABASE} with (force)`);
    await client.end();
  }
}

async function measureCallbacks(
  { receiver, merchants, payments, measures, postgresPid }: Bench,
  folder: string,
  url: string,
  { version, ours }: { version: string; ours: number },
): Promise<void> {
  copyFileSync(join(root, 'bench/peer-callbacks.mjs'), join(folder, 'peer-callbacks.mjs'));
  const target = `http://127.0.0.1:${receiver.port}/cb/0`;
  const args = ['peer-callbacks.mjs', url, target, merchants[0]?.callbackSecret ?? '', String(payments)];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${PACKAGE} ended`))),
    ]);
    receiver.reset();
    const before = { node: cpuMs(child.pid ?? 0), postgres: treeCpuMs(postgresPid) };
    const started = Date.now();
    child.stdin.write('go\n');
    const until = started + PATIENCE_MS;
    for (let tally = await receiver.tally(); tally.distinct < payments; tally = await receiver.tally()) {
      if (Date.now() > until) throw new Error(`${PACKAGE} sent ${tally.distinct} of ${payments} callbacks`);
      await pause(20);
    }
    const { arrivals = [] } = await receiver.tally(true);
    const last = arrivals.reduce((latest, [, at]) => Math.max(latest, at), started);
    const note = `ours, whole payments with their callback: ${ours.toFixed(0)} /s`;
    const name = `${PACKAGE} ${version}, sign and send`;
    measures.add({ name: `${name}: callbacks`, value: payments / ((last - started) / 1000), unit: '/s', note });
    const each = (after: number, earlier: number) => (after - earlier) / payments;
    measures.add({ name: `${name}: core-ms of Node`, value: each(cpuMs(child.pid ?? 0), before.node), unit: 'ms' });
    measures.add({
      name: `${name}: core-ms of PostgreSQL`,
      value: each(treeCpuMs(postgresPid), before.postgres),
      unit: 'ms',
    });
  } finally {
    await stopProcess(child);
  }
}
