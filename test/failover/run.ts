// npm run failover -- [scenario …] [--rate 1] [--split] [--haproxy] [--no-install] [--keep]: a cluster of three machines, a gateway
// with load on it, and what happens to both when something breaks. Without names: every scenario. Exits with 1 when something
// was lost, doubled, or slower than it must be.
//
// --rate 0.5    half of 200 collections, 20 payouts and 5 refunds a second, for a small machine
// --split       the gateway in two processes: requests and background work
// --haproxy     one address by HAProxy instead of a DATABASE_URL that names all servers
// --no-install  installs no package, and says what is missing
// --keep        keeps the folder with data and logs
// --report      the file that the table is added to; data/failover.md without it

import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { ROOT } from '../../scripts/tree.ts';
import { reservePort } from '../ports.ts';
import { type Cluster, NODES, startCluster } from './cluster.ts';
import { type ExperimentOptions, openExperiment } from './experiment.ts';
import type { GatewaySettings } from './gateway.ts';
import { startHaproxy } from './haproxy.ts';
import type { Rates } from './load.ts';
import { openNetwork } from './network.ts';
import { end } from './processes.ts';
import { findPrograms, type Programs } from './programs.ts';
import { notesOf, problemsOf, tableHead, tableRow } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

const FULL_RATES: Rates = { collection: 200, payout: 20, refund: 5 };

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: 'string', default: '1' },
    split: { type: 'boolean', default: false },
    haproxy: { type: 'boolean', default: false },
    'no-install': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    report: { type: 'string', default: join(ROOT, 'data/failover.md') },
  },
});

const startedAt = performance.now();
const say = (sentence: string) => {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5);
  process.stderr.write(`${seconds} s  ${sentence}\n`);
};

/** What ends each part of the run, by the ids of its processes; the last one that was started ends first. */
const closers: (() => Promise<void> | void)[] = [];
const onClose: ExperimentOptions['onClose'] = (close) => closers.unshift(close);

async function closeAll(): Promise<void> {
  for (let close = closers.shift(); close; close = closers.shift())
    try {
      await close();
    } catch (error) {
      say(`while stopping: ${String(error)}`);
    }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    say('stopping everything');
    void closeAll().then(() => process.exit(130));
  });

try {
  process.exitCode = (await run(chooseScenarios())) ? 0 : 1;
} catch (error) {
  say(String(error instanceof Error ? error.stack : error));
  process.exitCode = 2;
} finally {
  await closeAll();
}

function chooseScenarios(): Scenario[] {
  const unknown = positionals.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0)
    throw new Error(`no scenario ${unknown.join(', ')}; there are ${SCENARIOS.map(({ name }) => name).join(', ')}`);
  return SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
}

/** False: something was not as it must be. */
async function run(scenarios: readonly Scenario[]): Promise<boolean> {
  const programs = findPrograms({ install: !values['no-install'], haproxy: values.haproxy, say });
  const folder = mkdtempSync(join(tmpdir(), 'simbi-failover-'));
  onClose(() => (values.keep ? say(`kept: ${folder}`) : rmSync(folder, { recursive: true, force: true })));
  const network = openNetwork(NODES);
  onClose(() => network.close());
  say(`starting the cluster in ${folder}`);
  const cluster = await startCluster({ folder, programs, network });
  onClose(() => cluster.stop());
  await createDatabase(cluster);
  const databaseUrl = chooseAddress(programs, cluster, folder);
  const factor = Number(values.rate);
  const rates: Rates = {
    collection: FULL_RATES.collection * factor,
    payout: FULL_RATES.payout * factor,
    refund: FULL_RATES.refund * factor,
  };
  const experiment = await openExperiment({
    lab: { cluster, network },
    folder,
    databaseUrl,
    settings: await settingsOf(databaseUrl),
    roles: values.split ? 'split' : 'all',
    rates,
    say,
    onClose,
  });
  const about = describe(programs, cluster, rates);
  write(`\n${about}\n\n${tableHead()}`);
  const problems: string[] = [];
  for (const scenario of scenarios) {
    if (scenario.needsNamespaces && network.cuttable !== true) {
      write(`| ${scenario.title} | skipped: ${network.cuttable} |`);
      continue;
    }
    const result = await experiment(scenario);
    write(tableRow(result));
    say(notesOf(result));
    for (const problem of problemsOf(result)) {
      say(`PROBLEM in ${scenario.name}: ${problem}`);
      problems.push(`- ${scenario.name}: ${problem}`);
    }
  }
  write(problems.length === 0 ? '\nNo problem.' : `\nProblems:\n${problems.join('\n')}`);
  return problems.length === 0;
}

async function createDatabase(cluster: Cluster): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.serverUrl(await cluster.primary(), 'postgres') });
  await client.connect();
  await client.query('create database simbi');
  await client.end();
}

function chooseAddress(programs: Programs, cluster: Cluster, folder: string): string {
  if (!programs.haproxy) return cluster.databaseUrl;
  const { process, url } = startHaproxy(programs.haproxy, cluster, folder);
  onClose(() => end(process, 5_000));
  return url;
}

/** As people run it, without the limits for one merchant and one address: all load comes from few of them. */
async function settingsOf(databaseUrl: string): Promise<GatewaySettings> {
  return {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    PORT: String(await reservePort()),
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  };
}

function describe(programs: Programs, { store }: Cluster, rates: Rates): string {
  const database = values.haproxy ? 'HAProxy' : 'DATABASE_URL with three servers';
  return [
    `\`npm run failover -- ${process.argv.slice(2).join(' ')}\`, ${new Date().toISOString().slice(0, 16)}Z:`,
    `${cpus().length} cores for everything; PostgreSQL ${programs.postgresVersion}, Patroni ${programs.patroniVersion}`,
    `(${store === 'etcd' ? "etcd's API v2" : "etcd's API v3"}), ${database}, gateway in ${values.split ? 'two processes' : 'one process'};`,
    `offered a second: ${rates.collection} collections, ${rates.payout} payouts, ${rates.refund} refunds.`,
  ].join(' ');
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
  const file = resolve(values.report);
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${text}\n`);
}
