// npm run bench: starts its own PostgreSQL, server, receiver and generator, and prints the table of docs/performance.md as
// ratios measured in one run. It refuses to print a number when an acknowledged payment is missing or the ledger does not
// balance. `--quick` is a shorter run for trying things out.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { uuidFromPublicId } from '../src/platform/ids.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { browserMissing, startBrowser } from '../test/browser/browser.ts';
import { measureFirstPaint } from '../test/browser/paint.ts';
import { cpuMs, residentMb, stopProcess, treeCpuMs } from './gateway-process.ts';
import { type Client, type LoadResult, percentile, runLoad, signRequests } from './load.ts';
import { routeOverPawapay } from './pawapay.ts';
import { measurePgbench, singleClientLatencyMs } from './pgbench.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const quick = process.argv.includes('--quick');
const jsonOnly = process.argv.includes('--json');
const PAYMENTS = quick ? 6_000 : 30_000;
const MANY_WALLETS = quick ? 100 : 1_000;
const PGBENCH_SECONDS = quick ? 3 : 10;
const CONNECTIONS = 64;
const PORT = 18_400 + (process.pid % 1_000);
/** Of the number that the requests name. */
const METHOD = 'MTN_MOMO_UGA';
const COLLECTIONS = '/api/v3/service-unified-collections';

type Merchant = Client & { callbackSecret: string; index: number; holderId: bigint };
type Tally = { received: number; distinct: number; forged: number; arrivals?: [string, number][] };
type Measure = { name: string; value: number | null; unit: string; floor?: string; goal?: string; note?: string };

const measures: Measure[] = [];
const say = (sentence: string) => process.stderr.write(`  ${sentence}\n`);

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), onProgress: say });
  try {
    await measureAll(folder, postgres.url, postgres.pid);
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureAll(folder: string, url: string, postgresPid: number): Promise<void> {
  const machine = describeMachine(folder);
  say('H: Fastify alone');
  const h = await measureHttp();
  const pgbench = await measureDatabase(url);
  await migrate(url);
  const config = readConfig({
    DATABASE_URL: url,
    DATA_DIR: join(folder, 'data'),
    PORT: String(PORT),
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  });
  const ctx = await createContext(config, url, createLogger('error'));
  const receiver = await startReceiver();
  let server = await startServerProcess(folder, url, 'api');
  try {
    say(`making ${MANY_WALLETS} merchants`);
    const merchants = await createMerchants(ctx, receiver.process, MANY_WALLETS);
    const bench: Bench = { ctx, server, receiver, merchants, postgresPid, pgbench, h };
    // One process that only answers: accepting alone, without the work that follows it.
    const accepts = await measureAccepts(bench);
    await measureAlone(bench);
    await measureOverload(bench, accepts);
    await stopProcess(server);
    // One process that does everything; first it finishes what the other accepted.
    server = await startServerProcess(folder, url, 'all');
    bench.server = server;
    await drainBacklog(bench);
    say('warming up');
    await completePayments(bench, merchants, Math.floor(PAYMENTS / 5), null);
    const many = await measureSaturation(bench);
    await measureHotWallet(bench, many);
    await measureOverPawapay(bench);
    await measureSchedule(bench, many);
    await measureCheckpoint(bench);
    await measureCheckoutPaint(folder);
  } finally {
    await stopProcess(server);
    await stopProcess(receiver.process);
    await ctx.db.close();
  }
  print(machine);
}

type Bench = {
  ctx: Context;
  server: ChildProcess;
  receiver: { process: ChildProcess; port: number };
  merchants: Merchant[];
  postgresPid: number;
  pgbench: { p1: number; p2: number; single: number | null } | null;
  h: number;
};

type Completed = { load: LoadResult; completedPerSecond: number; toCallback: number[] };

/** Offers payments and waits until each one's callback has come. */
async function completePayments(
  bench: Bench,
  merchants: Merchant[],
  count: number,
  rate: number | null,
): Promise<Completed> {
  bench.receiver.process.send({ reset: true });
  const requests = signRequests(merchants, count, COLLECTIONS, (index) => {
    const merchant = merchants[index % merchants.length] as Merchant;
    return {
      amount: 1000 + (index % 500),
      mobile: '256772123000',
      country_id: 11,
      currency: 'UGX',
      callback_url: `http://127.0.0.1:${bench.receiver.port}/cb/${merchant.index}`,
      third_party_reference_1: `order-${index}`,
    };
  });
  const started = Date.now();
  const load = await runLoad({
    host: '127.0.0.1',
    port: PORT,
    path: COLLECTIONS,
    connections: CONNECTIONS,
    rate,
    requests,
    maxSeconds: 120,
  });
  if (load.failed > 0) throw new Error(`${load.failed} requests got no answer`);
  let tally = await askTally(bench.receiver.process);
  const patience = Date.now() + 60_000;
  while (tally.distinct < load.accepted && Date.now() < patience) {
    await pause(20);
    tally = await askTally(bench.receiver.process);
  }
  if (tally.distinct < load.accepted)
    throw new Error(`${load.accepted - tally.distinct} acknowledged payments were never told to their merchant`);
  if (tally.forged > 0) throw new Error(`${tally.forged} callbacks did not verify`);
  const { arrivals = [] } = await askTally(bench.receiver.process, true);
  const last = arrivals.reduce((latest, [, at]) => Math.max(latest, at), started);
  const toCallback = callbackDelays(arrivals);
  return { load, completedPerSecond: load.accepted / ((last - started) / 1000), toCallback };
}

/** From the moment the transaction was created to the arrival of its callback. */
function callbackDelays(arrivals: [string, number][]): number[] {
  // The id's first 48 bits are the millisecond of its creation.
  return arrivals
    .flatMap(([ref, at]) => {
      const uuid = uuidFromPublicId('TX', ref);
      return uuid ? [at - Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16)] : [];
    })
    .sort((left, right) => left - right);
}

/** Durable accepts of one API process: acknowledged means committed. */
async function measureAccepts(bench: Bench): Promise<number> {
  const offer = async (count: number) => {
    const load = await runLoad({
      host: '127.0.0.1',
      port: PORT,
      path: COLLECTIONS,
      connections: CONNECTIONS,
      rate: null,
      requests: signRequests(bench.merchants, count, COLLECTIONS, orderOf),
      maxSeconds: 60,
    });
    if (load.accepted !== count) throw new Error(`${count - load.accepted} of ${count} accepts were refused`);
    return load.accepted / load.seconds;
  };
  say('warming up');
  await offer(Math.floor(PAYMENTS / 3));
  say(`accepting ${PAYMENTS} payments with one API process`);
  const accepts = await offer(PAYMENTS);
  add({ name: 'durable accepts, one API process', value: accepts, unit: '/s' });
  add({ name: 'durable accepts ÷ H', value: accepts / bench.h, unit: '', floor: '0.6', goal: '0.9' });
  add({ name: 'durable accepts ÷ P1', value: ratio(accepts, bench.pgbench?.p1), unit: '', floor: '0.5', goal: '0.7' });
  return accepts;
}

/** Params of a payment that nobody waits for. */
function orderOf(index: number): object {
  return {
    amount: 1000,
    mobile: '256772123000',
    country_id: 11,
    currency: 'UGX',
    third_party_reference_1: `order-${index}`,
  };
}

async function drainBacklog({ ctx }: Bench): Promise<void> {
  const [backlog] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
  say(`finishing ${backlog?.open} payments that were accepted`);
  const started = performance.now();
  for (let tries = 0; tries < 3_000; tries++) {
    const [row] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    if (row?.open === 0n) break;
    await pause(50);
  }
  add({
    name: 'backlog finished',
    value: Number(backlog?.open ?? 0n) / ((performance.now() - started) / 1000),
    unit: '/s',
    note: 'submitted, settled, posted; no callbacks',
  });
}

async function measureSaturation(bench: Bench): Promise<Completed> {
  say(`saturation: ${PAYMENTS} payments over ${bench.merchants.length} wallets`);
  const before = await readCounters(bench);
  const completed = await completePayments(bench, bench.merchants, PAYMENTS, null);
  const after = await readCounters(bench);
  const paid = completed.load.accepted;
  add({ name: 'completed payments', value: completed.completedPerSecond, unit: '/s' });
  add({
    name: 'completed payments ÷ P2',
    value: ratio(completed.completedPerSecond, bench.pgbench?.p2),
    unit: '',
    floor: '0.5',
    goal: '1.0',
  });
  add({ name: 'callbacks received and verified', value: completed.completedPerSecond, unit: '/s' });
  add({
    name: 'core-ms of Node a payment',
    value: (after.nodeMs - before.nodeMs) / paid,
    unit: 'ms',
    note: 'gateway process, simulated operator included',
  });
  add({ name: 'core-ms of PostgreSQL a payment', value: (after.postgresMs - before.postgresMs) / paid, unit: 'ms' });
  add({
    name: 'core-ms a payment',
    value: (after.nodeMs - before.nodeMs + after.postgresMs - before.postgresMs) / paid,
    unit: 'ms',
    floor: '2.0',
    goal: '0.8',
  });
  add({
    name: 'commits a payment',
    value: (after.commits - before.commits) / paid,
    unit: '',
    floor: '0.5',
    goal: '0.1',
  });
  add({
    name: 'WAL a payment',
    value: (after.walBytes - before.walBytes) / paid / 1000,
    unit: 'kB',
    floor: '6',
    goal: '3',
  });
  add({ name: 'memory of the gateway process', value: after.memoryMb, unit: 'MB', floor: '300', goal: '150' });
  return completed;
}

/** The same payments over a real operator's protocol, with signed callbacks, against its simulator in another process. */
async function measureOverPawapay(bench: Bench): Promise<void> {
  const count = Math.floor(PAYMENTS / 5);
  say(`over pawaPay: ${count} payments`);
  const pawapay = await routeOverPawapay(bench.ctx, METHOD, `http://localhost:${PORT}`);
  try {
    const before = await readCounters(bench);
    const { load } = await completePayments(bench, bench.merchants, count, null);
    const after = await readCounters(bench);
    const milliseconds = after.nodeMs - before.nodeMs + after.postgresMs - before.postgresMs;
    add({
      name: 'core-ms a payment over pawaPay',
      value: milliseconds / load.accepted,
      unit: 'ms',
      note: 'gateway and PostgreSQL; the simulator is another process',
    });
  } finally {
    await pawapay.stop();
  }
}

async function measureHotWallet(bench: Bench, many: Completed): Promise<void> {
  say('one hot wallet');
  const hot = await completePayments(bench, bench.merchants.slice(0, 1), PAYMENTS, null);
  add({
    name: 'one hot wallet ÷ many wallets',
    value: hot.completedPerSecond / many.completedPerSecond,
    unit: '',
    floor: '0.85',
    goal: '0.97',
  });
}

async function measureAlone(bench: Bench): Promise<void> {
  say('alone: one request at a time');
  const load = await runLoad({
    host: '127.0.0.1',
    port: PORT,
    path: COLLECTIONS,
    connections: 1,
    rate: null,
    requests: signRequests(bench.merchants, 1_000, COLLECTIONS, orderOf),
    maxSeconds: 30,
  });
  const p50 = percentile(load.latencies, 0.5);
  add({ name: 'alone: accept p50', value: p50, unit: 'ms' });
  add({
    name: 'alone: accept p50 ÷ one-client pgbench',
    value: ratio(p50, bench.pgbench?.single ?? undefined),
    unit: '',
    floor: '3',
    goal: '2',
  });
}

async function measureSchedule(bench: Bench, many: Completed): Promise<void> {
  const rate = many.completedPerSecond * 0.7;
  say(`open loop at 70 %: ${rate.toFixed(0)}/s`);
  const completed = await completePayments(bench, bench.merchants, Math.floor(rate * (quick ? 4 : 15)), rate);
  add({
    name: 'at 70 %: accept p50',
    value: percentile(completed.load.latencies, 0.5),
    unit: 'ms',
    floor: '10',
    goal: '5',
  });
  add({
    name: 'at 70 %: accept p99',
    value: percentile(completed.load.latencies, 0.99),
    unit: 'ms',
    floor: '50',
    goal: '25',
  });
  add({
    name: 'at 70 %: accept → callback received p99',
    value: percentile(completed.toCallback, 0.99),
    unit: 'ms',
    floor: '500',
    goal: '250',
  });
}

async function measureOverload(bench: Bench, accepts: number): Promise<void> {
  const rate = accepts * 2;
  say(`offered twice the maximum: ${rate.toFixed(0)}/s`);
  const seconds = quick ? 3 : 8;
  const load = await runLoad({
    host: '127.0.0.1',
    port: PORT,
    path: COLLECTIONS,
    connections: 1_500,
    rate,
    requests: signRequests(bench.merchants, Math.floor(rate * seconds), COLLECTIONS, orderOf),
    maxSeconds: seconds + 2,
  });
  add({
    name: 'offered twice the maximum: goodput ÷ maximum',
    value: load.accepted / load.seconds / accepts,
    unit: '',
    floor: '0.8',
    goal: '0.95',
  });
}

/** The payer's side: how long the hosted page takes to appear. */
async function measureCheckoutPaint(folder: string): Promise<void> {
  say('first paint of the hosted page on a slow phone');
  const demo = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8')) as { payment_link: string };
  const name = 'checkout: first contentful paint (400 kbit/s, 400 ms, slow CPU)';
  const missing = browserMissing();
  if (missing !== null) return add({ name, value: null, unit: 'ms', floor: '2000', note: `not measured: ${missing}` });
  const browser = await startBrowser();
  try {
    const times: number[] = [];
    for (let run = 0; run < 5; run++) times.push(await measureFirstPaint(browser, demo.payment_link));
    add({
      name,
      value: percentile(
        times.sort((left, right) => left - right),
        0.5,
      ),
      unit: 'ms',
      floor: '2000',
    });
  } finally {
    await browser.close();
  }
}

/** No number without this: every acknowledged payment is booked once and the ledger balances. */
async function measureCheckpoint(bench: Bench): Promise<void> {
  say('checking every invariant');
  for (let tries = 0; tries < 600; tries++) {
    const [row] = await bench.ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    if (row?.open === 0n) break;
    await pause(100);
  }
  const report = await verifyLedger(bench.ctx);
  if (!report.ok)
    throw new Error(
      `the ledger does not verify: ${report.differences.map((difference) => difference.sentence).join('; ')}`,
    );
  const [row] = await bench.ctx.db.query<{ unsettled: bigint; unbooked: bigint }>(
    `select count(*) filter (where status <> 'success') as unsettled,
            count(*) filter (where not exists (
              select from ledger_transfers l
              where l.holder_id = t.holder_id and l.transaction_id = t.id and l.kind = 'collection')) as unbooked
     from transactions t`,
  );
  if (row?.unsettled !== 0n || row.unbooked !== 0n)
    throw new Error(`${row?.unsettled} payments unsettled, ${row?.unbooked} not booked`);
}

type Counters = { nodeMs: number; postgresMs: number; commits: number; walBytes: number; memoryMb: number };

async function readCounters(bench: Bench): Promise<Counters> {
  const [row] = await bench.ctx.db.query<{ commits: bigint; wal: string }>(
    `select (select xact_commit from pg_stat_database where datname = current_database()) as commits,
       (pg_current_wal_lsn() - '0/0')::text as wal`,
  );
  return {
    nodeMs: cpuMs(bench.server.pid ?? 0),
    postgresMs: treeCpuMs(bench.postgresPid),
    commits: Number(row?.commits ?? 0n),
    walBytes: Number(row?.wal ?? 0),
    memoryMb: residentMb(bench.server.pid ?? 0),
  };
}

async function measureHttp(): Promise<number> {
  const child = fork(join(root, 'bench/baseline-http.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    const { port } = await firstMessage<{ port: number }>(child);
    const client = { clientId: 'client_bench', title: 'Bench', secretKey: 'bench-secret' };
    const measureOnce = async () => {
      const requests = signRequests([client], PAYMENTS, '/accept', (index) => ({
        amount: 1000,
        mobile: '256772123000',
        country_id: 11,
        currency: 'UGX',
        callback_url: 'http://127.0.0.1:8080/cb/1',
        third_party_reference_1: `order-${index}`,
      }));
      const load = await runLoad({
        host: '127.0.0.1',
        port,
        path: '/accept',
        connections: CONNECTIONS,
        rate: null,
        requests,
        maxSeconds: 60,
      });
      if (load.accepted !== PAYMENTS) throw new Error('the baseline server refused requests');
      return load.accepted / load.seconds;
    };
    await measureOnce();
    const rate = await measureOnce();
    add({ name: 'H: Fastify answering the same body', value: rate, unit: '/s' });
    return rate;
  } finally {
    await stopProcess(child);
  }
}

async function measureDatabase(url: string): Promise<Bench['pgbench']> {
  say('P1 and P2: pgbench writing the same rows');
  const target = new URL(url);
  const { default: pg } = await import('pg');
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query('create database pgbench_baseline');
  target.pathname = '/pgbench_baseline';
  await migrate(target.href);
  const client = new pg.Client({ connectionString: target.href });
  // Ended by force when its database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  await preparePgbench(client);
  const rates = measurePgbench(target.href, PGBENCH_SECONDS, say);
  const single = 'missing' in rates ? null : singleClientLatencyMs(target.href);
  await client.end();
  await admin.query('drop database pgbench_baseline with (force)');
  await admin.query('checkpoint');
  await admin.end();
  if ('missing' in rates) {
    add({ name: 'P1, P2', value: null, unit: '', note: `not measured: ${rates.missing}` });
    return null;
  }
  add({ name: 'P1: pgbench, rows of one accept', value: rates.p1, unit: '/s' });
  add({ name: 'P2: pgbench, rows of one whole payment', value: rates.p2, unit: '/s' });
  return { ...rates, single };
}

async function preparePgbench(client: { query(sql: string): Promise<unknown> }): Promise<void> {
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);
  const from = new Date(hour.getTime() - 3_600_000).toISOString();
  const to = new Date(hour.getTime() + 3 * 3_600_000).toISOString();
  await client.query(`create table spent_now partition of spent_signatures for values from ('${from}') to ('${to}')`);
  await client.query(
    `insert into holders (name, created_at, updated_at) select 'h' || i, now(), now() from generate_series(1, 1000) i`,
  );
  await client.query(`insert into wallets (holder_id, currency, created_at) select id, 'UGX', now() from holders`);
  await client.query(
    `insert into ledger_accounts (holder_id, key, kind, currency, may_go_negative, wallet_account, rail, updated_at)
     select holder_id, 'wallet:' || holder_id || ':UGX:available', 'wallet_available', 'UGX', false, wallet_account, null, now()
     from wallets
     union all select id, 'fees:' || id || ':UGX', 'fee_income', 'UGX', false, null, null, now() from holders
     union all select id, 'clearing:' || id || ':sandbox:UGX', 'operator_clearing', 'UGX', true, null, 'sandbox', now()
     from holders`,
  );
  // Something for the first settles to find.
  await client.query('vacuum analyze');
}

async function createMerchants(ctx: Context, receiver: ChildProcess, count: number): Promise<Merchant[]> {
  const merchants: Merchant[] = [];
  for (let index = 0; index < count; index++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Merchant ${index}`);
    const made = await createIntegration(ctx, COMMAND_LINE, holder.id, `Shop ${index}`);
    merchants.push({
      clientId: made.clientId,
      title: made.title,
      secretKey: made.secretKey,
      callbackSecret: made.callbackSecret,
      index,
      holderId: holder.id,
    });
  }
  receiver.send({ secrets: merchants.map((merchant) => merchant.callbackSecret) });
  return merchants;
}

async function startServerProcess(folder: string, url: string, role: 'api' | 'all'): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      // For profiling: BENCH_NODE_OPTIONS='--cpu-prof --cpu-prof-dir=/tmp/profile'.
      NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? '',
      DATABASE_URL: url,
      DATA_DIR: join(folder, 'data'),
      PORT: String(PORT),
      ROLE: role,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_SECOND: '0',
      RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const started = Date.now();
  while (Date.now() - started < 30_000) {
    const ready = await fetch(`http://127.0.0.1:${PORT}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) {
      if (role === 'all')
        add({
          name: 'start to first answer (tables exist)',
          value: (Date.now() - started) / 1000,
          unit: 's',
          floor: '5',
          goal: '2',
        });
      return child;
    }
    await pause(50);
  }
  throw new Error('the server did not become ready');
}

async function startReceiver(): Promise<{ process: ChildProcess; port: number }> {
  const child = fork(join(root, 'bench/receiver.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { port } = await firstMessage<{ port: number }>(child);
  return { process: child, port };
}

function askTally(receiver: ChildProcess, withArrivals = false): Promise<Tally> {
  const answer = firstMessage<Tally>(receiver);
  receiver.send(withArrivals ? { arrivals: true } : { tally: true });
  return answer;
}

function firstMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a helper process ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}

function describeMachine(folder: string): Record<string, string | number> {
  const file = openSync(join(folder, 'fsync'), 'w');
  const block = Buffer.alloc(8192);
  const started = performance.now();
  const rounds = 500;
  for (let round = 0; round < rounds; round++) {
    writeSync(file, block, 0, block.length, 0);
    fdatasyncSync(file);
  }
  closeSync(file);
  return {
    cpu: cpus()[0]?.model.trim() || process.arch,
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    fdatasync_us: Math.round(((performance.now() - started) / rounds) * 1000),
    postgresql: 'embedded 18, fsync, synchronous_commit and full_page_writes on',
  };
}

function ratio(value: number, base: number | undefined): number | null {
  return base === undefined ? null : value / base;
}

function add(measure: Measure): void {
  measures.push(measure);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function print(machine: Record<string, string | number>): void {
  const json = JSON.stringify({ machine, payments: PAYMENTS, wallets: MANY_WALLETS, measures }, null, 2);
  if (jsonOnly) {
    process.stdout.write(`${json}\n`);
    return;
  }
  const shown = (measure: Measure) =>
    measure.value === null
      ? 'not measured'
      : `${measure.value >= 100 ? measure.value.toFixed(0) : measure.value.toFixed(2)} ${measure.unit}`.trim();
  const lines = measures.map(
    (measure) =>
      `| ${measure.name} | ${shown(measure)} | ${measure.floor ?? ''} | ${measure.goal ?? ''} | ${measure.note ?? ''} |`,
  );
  process.stdout.write(
    `${Object.entries(machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · ')}\n\n| measure | value | floor | goal | |\n|---|---|---|---|---|\n${lines.join('\n')}\n`,
  );
  writeFileSync(join(tmpdir(), 'simbi-bench.json'), json);
}

await main();
