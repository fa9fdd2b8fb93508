// npm run profile -- accept|payment|callback|status|links: where the processor time of one path goes. Starts the gateway as users do
// (log and request log on), loads it with 64 connections, prints processor time a request of each process, and the functions
// that take most of it; the profile is written to a file that a browser's developer tools open.
//
//   --seconds 10          how long one round loads the gateway
//   --rounds 3            rounds before the profiled one
//   --against <folder>    another checkout: both are measured in turns, because a shared machine changes from minute to minute
//   --no-profile          only the processor time
//   --processes 2         as `simbi serve --processes 2`, whose processor time is that of the children; without a profile
//   --database <url>      an empty database of a PostgreSQL on this machine, whose owner is a superuser, instead of the embedded one

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { publicId } from '../src/platform/ids.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { openDatabase } from './database.ts';
import {
  type CpuProfile,
  childrenOf,
  cpuMs,
  type GatewayProcess,
  residentMb,
  startGatewayProcess,
  stopProcess,
  treeCpuMs,
} from './gateway-process.ts';
import { fullPageOfLinks, LINKS } from './links.ts';
import { type Client, type LoadResult, percentile, runLoad, signRequests } from './load.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const CONNECTIONS = 64;
const MERCHANTS = 50;
const WARM_UP = 4_000;
const SHOWN = 25;
const FIRST_PORT = 20_400 + (process.pid % 500) * 2;
const COLLECTIONS = '/api/v3/service-unified-collections';
const STATUS = '/api/v3/get-unified-transaction-status';

/** What each path sends, and whether its merchants hear of it by callback. */
const PATHS = {
  accept: { role: 'api', path: COLLECTIONS, mobile: '256772123000', hasCallback: false },
  // The operator decides in its answer.
  payment: { role: 'all', path: COLLECTIONS, mobile: '256772123000', hasCallback: true },
  // The operator decides later and reports it, twice.
  callback: { role: 'all', path: COLLECTIONS, mobile: '256772123006', hasCallback: true },
  status: { role: 'all', path: STATUS, mobile: '256772123000', hasCallback: false },
  links: { role: 'all', path: LINKS, mobile: '', hasCallback: false },
} as const;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    against: { type: 'string' },
    'no-profile': { type: 'boolean', default: false },
    processes: { type: 'string', default: '1' },
    database: { type: 'string' },
  },
});
const name = positionals[0] as keyof typeof PATHS;
if (!(name in PATHS)) throw new Error(`npm run profile -- ${Object.keys(PATHS).join('|')}`);
const plan = PATHS[name];
const say = (sentence: string) => process.stderr.write(`  ${sentence}\n`);

type Merchant = Client & { index: number };
type Candidate = {
  label: string;
  ctx: Context;
  gateway: GatewayProcess;
  merchants: Merchant[];
  refs: string[];
  /** What is sent again and again, where no request has to be new. */
  read: Buffer | null;
  port: number;
};
type Round = {
  rate: number;
  nodeMs: number;
  childMs: number;
  postgresMs: number;
  p50: number;
  p99: number;
  mb: number;
};

/** Makes each request another one. */
let reference = 0;

const folder = mkdtempSync(join(tmpdir(), 'simbi-profile-'));
const postgres = await openDatabase(join(folder, 'postgres'), options.database);
const receiver = fork(join(root, 'bench/receiver.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
const candidates: Candidate[] = [];
try {
  const receiverPort = (await answerOf<{ port: number }>()).port;
  const folders = options.against ? [resolve(options.against), root] : [root];
  for (const [index, code] of folders.entries())
    candidates.push(await prepare(code, folders.length === 1 ? '' : (['before', 'after'][index] ?? ''), index));
  const rounds = new Map<Candidate, Round[]>();
  const counts = new Map<Candidate, number>();
  for (const candidate of candidates) {
    rounds.set(candidate, []);
    await measure(candidate, receiverPort, WARM_UP);
    const { rate } = await measure(candidate, receiverPort, WARM_UP);
    counts.set(candidate, Math.max(1_000, Math.round(rate * Number(options.seconds))));
  }
  for (let number = 1; number <= Number(options.rounds); number++)
    for (const candidate of candidates) {
      const round = await measure(candidate, receiverPort, counts.get(candidate) ?? WARM_UP);
      rounds.get(candidate)?.push(round);
      say(`round ${number} ${candidate.label}: ${describe(round)}`);
    }
  for (const [candidate, list] of rounds) printRounds(candidate, list);
  const last = candidates.at(-1);
  if (last && !options['no-profile'] && options.processes === '1') {
    let requests = 0;
    const profile = await last.gateway.profile(async () => {
      requests = counts.get(last) ?? WARM_UP;
      await measure(last, receiverPort, requests);
    });
    printProfile(profile, requests);
  }
} finally {
  for (const { gateway, ctx } of candidates) {
    await gateway.stop();
    await ctx.db.close();
  }
  await stopProcess(receiver);
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** A database, merchants and a running gateway for one checkout. */
async function prepare(code: string, label: string, index: number): Promise<Candidate> {
  const url = new URL(postgres.url);
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`drop database if exists profiled_${index}`);
  await admin.query(`create database profiled_${index}`);
  await admin.end();
  url.pathname = `/profiled_${index}`;
  await migrate(url.href);
  const port = FIRST_PORT + index;
  const settings = {
    DATABASE_URL: url.href,
    DATA_DIR: join(folder, `data-${index}`),
    PORT: String(port),
    PROCESSES: options.processes,
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  };
  const ctx = await createContext(readConfig(settings), url.href, createLogger('error'));
  const { merchants, secrets } = await createMerchants(ctx, index);
  receiver.send({ secrets });
  say(`starting ${label || 'the gateway'}: ROLE=${plan.role}`);
  const gateway = await startGatewayProcess(code, { ...settings, ROLE: plan.role });
  const candidate: Candidate = { label, ctx, gateway, merchants, refs: [], read: null, port };
  if (name === 'status') await makePayments(candidate);
  if (name === 'links' && merchants[0]) candidate.read = await fullPageOfLinks(merchants[0], port);
  return candidate;
}

async function createMerchants(ctx: Context, gatewayIndex: number) {
  const merchants: Merchant[] = [];
  const secrets: string[] = [];
  for (let index = 0; index < MERCHANTS; index++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Merchant ${index}`);
    const made = await createIntegration(ctx, COMMAND_LINE, holder.id, `Shop ${index}`);
    merchants.push({ ...made, index: gatewayIndex * MERCHANTS + index });
    secrets.push(made.callbackSecret);
  }
  return { merchants, secrets };
}

/** Finished payments to ask about, one a merchant. */
async function makePayments({ ctx, merchants, refs, port }: Candidate): Promise<void> {
  const requests = signRequests(merchants, merchants.length, COLLECTIONS, () => paymentOf(null));
  await runLoad({ host: '127.0.0.1', port, path: COLLECTIONS, connections: 4, rate: null, requests, maxSeconds: 30 });
  for (;;) {
    const rows = await ctx.db.query<{ id: string }>(
      `select t.id from transactions t join integrations i on i.id = t.integration_id
       where t.status = 'success' and i.client_id = any ($1) order by t.holder_id`,
      [merchants.map(({ clientId }) => clientId)],
    );
    if (rows.length === merchants.length) {
      refs.push(...rows.map(({ id }) => publicId('TX', id)));
      return;
    }
  }
}

function paymentOf(callbackUrl: string | null): object {
  return {
    amount: 1000 + (reference % 500),
    mobile: plan.mobile,
    country_id: 11,
    currency: 'UGX',
    ...(callbackUrl ? { callback_url: callbackUrl } : {}),
    third_party_reference_1: `order-${reference++}`,
  };
}

/** One round of `count` requests; where callbacks are sent it ends with the last of them. */
async function measure(candidate: Candidate, receiverPort: number, count: number): Promise<Round> {
  const { gateway } = candidate;
  const requests = requestsOf(candidate, receiverPort, count);
  receiver.send({ reset: true });
  const before = readClocks(gateway);
  const started = performance.now();
  const load: LoadResult = await runLoad({
    host: '127.0.0.1',
    port: candidate.port,
    path: plan.path,
    connections: CONNECTIONS,
    rate: null,
    requests,
    maxSeconds: 300,
  });
  // A machine that is busy with other work may refuse some.
  if (load.failed > 0) throw new Error(`${load.failed} of ${count} requests got no answer`);
  const accepted = load.accepted;
  if (plan.hasCallback) await allArrived(accepted);
  const seconds = (performance.now() - started) / 1000;
  const after = readClocks(gateway);
  return {
    rate: accepted / seconds,
    nodeMs: (after.node - before.node) / accepted,
    childMs: (after.children - before.children) / accepted,
    postgresMs: (after.postgres - before.postgres) / accepted,
    p50: percentile(load.latencies, 0.5),
    p99: percentile(load.latencies, 0.99),
    mb: residentMb(gateway.pid),
  };
}

function requestsOf({ merchants, refs, read }: Candidate, receiverPort: number, count: number): Buffer[] {
  if (read) return Array.from({ length: count }, () => read);
  return signRequests(merchants, count, plan.path, (index) => {
    if (refs.length > 0) return { id: refs[index % refs.length], salt: reference++ };
    const shop = merchants[index % merchants.length]?.index;
    return paymentOf(plan.hasCallback ? `http://127.0.0.1:${receiverPort}/cb/${shop}` : null);
  });
}

function readClocks({ pid }: GatewayProcess): { node: number; children: number; postgres: number } {
  return {
    node: cpuMs(pid),
    children: childrenOf(pid).reduce((sum, child) => sum + treeCpuMs(child), 0),
    postgres: treeCpuMs(postgres.pid),
  };
}

async function allArrived(count: number): Promise<void> {
  const until = Date.now() + 120_000;
  for (;;) {
    receiver.send({ tally: true });
    const { distinct, forged } = await answerOf<{ distinct: number; forged: number }>();
    if (forged > 0) throw new Error(`${forged} callbacks did not verify`);
    if (distinct >= count) return;
    if (Date.now() > until) throw new Error(`${count - distinct} callbacks never came`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

function answerOf<T>(): Promise<T> {
  return new Promise((done) => receiver.once('message', (message) => done(message as T)));
}

function describe(round: Round): string {
  const { rate, nodeMs, childMs, postgresMs, p50, p99, mb } = round;
  const children = childMs > 0 ? ` + ${childMs.toFixed(3)} its children` : '';
  return (
    `${rate.toFixed(0)}/s, core-ms: ${nodeMs.toFixed(3)} Node${children} + ${postgresMs.toFixed(3)} PostgreSQL, ` +
    `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${mb.toFixed(0)} MB`
  );
}

function printRounds({ label }: Candidate, list: Round[]): void {
  const spread = (value: (round: Round) => number, digits = 3) => {
    const sorted = list.map(value).sort((left, right) => left - right);
    const [least = Number.NaN, most = Number.NaN] = [sorted[0], sorted.at(-1)];
    return `${percentile(sorted, 0.5).toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
  };
  console.log(`${name} ${label}, median of ${list.length} rounds (least to most)`);
  console.log(`  requests a second       ${spread((round) => round.rate, 0)}`);
  console.log(`  core-ms of Node         ${spread((round) => round.nodeMs)}`);
  console.log(`  core-ms of its children ${spread((round) => round.childMs)}`);
  console.log(`  core-ms of PostgreSQL   ${spread((round) => round.postgresMs)}`);
  console.log(`  p50, ms                 ${spread((round) => round.p50, 1)}`);
  console.log(`  p99, ms                 ${spread((round) => round.p99, 1)}`);
  console.log(`  memory, MB              ${spread((round) => round.mb, 0)}`);
}

type Cost = { self: number; total: number };

function printProfile(profile: CpuProfile, requests: number): void {
  const file = join(tmpdir(), `simbi-${name}.cpuprofile`);
  writeFileSync(file, JSON.stringify(profile));
  const { functions, modules, busyMs } = costsOf(profile);
  console.log(`\n${busyMs.toFixed(0)} ms of profiled work, ${(busyMs / requests).toFixed(3)} ms a request: ${file}\n`);
  printCosts('module', modules, requests, busyMs);
  printCosts('function', functions, requests, busyMs);
}

function printCosts(title: string, costs: Map<string, Cost>, requests: number, busyMs: number): void {
  const top = [...costs].sort(([, left], [, right]) => right.self - left.self).slice(0, SHOWN);
  console.log(`   self      %    total   µs a request, by ${title}`);
  for (const [label, { self, total }] of top) {
    const micros = (ms: number) => ((ms * 1000) / requests).toFixed(1).padStart(7);
    console.log(`${micros(self)} ${((self / busyMs) * 100).toFixed(1).padStart(6)} ${micros(total)}   ${label}`);
  }
  console.log();
}

/** Time in each function itself, and with what it calls; a function that calls itself counts once. */
function costsOf({ nodes, samples, timeDeltas }: CpuProfile) {
  const selfOf = new Map<number, number>();
  for (const [index, id] of samples.entries()) selfOf.set(id, (selfOf.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const functions = new Map<string, Cost>();
  const modules = new Map<string, Cost>();
  let busyMs = 0;
  const add = (costs: Map<string, Cost>, label: string, self: number, total: number) => {
    const known = costs.get(label) ?? { self: 0, total: 0 };
    costs.set(label, { self: known.self + self, total: known.total + total });
  };
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (!node) return 0;
    const { functionName, url, lineNumber } = node.callFrame;
    if (functionName === '(idle)' || functionName === '(program)') return 0;
    const module = moduleOf(url);
    const label = `${functionName || '(anonymous)'} ${module}${url.startsWith('file:') ? `:${lineNumber + 1}` : ''}`;
    const self = selfOf.get(id) ?? 0;
    const inside = new Set([...above, label, module]);
    const total = (node.children ?? []).reduce((sum, child) => sum + visit(child, inside), self);
    busyMs += self;
    add(functions, label, self, above.has(label) ? 0 : total);
    add(modules, module, self, above.has(module) ? 0 : total);
    return total;
  };
  for (const child of nodes[0]?.children ?? []) visit(child, new Set());
  return { functions, modules, busyMs };
}

/** A file of ours, a package, or a part of Node. */
function moduleOf(url: string): string {
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (inPackage) return inPackage;
  if (url.startsWith('node:')) return url;
  return url === '' ? '(native)' : (/\/((?:src|bin|bench)\/.*)$/.exec(url)?.[1] ?? url);
}
