// npm run bench:processes: does a second and a third process settle more, or do they only wait for each other? One gateway
// process with three holders against three processes with a holder each, on one PostgreSQL, in turns in one run. Prints
// payments settled a second, and how many backends wait for rows of the ledger, sampled from pg_stat_activity.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { type Client, runLoad, signRequests } from './load.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const PAYMENTS = process.argv.includes('--quick') ? 2_700 : 9_000;
const ROUNDS = 3;
const HOLDERS = 3;
/** Connections in all: as many a process as `npm run bench` uses. */
const LANES = 192;
const SAMPLE_EVERY_MS = 20;
const PORT = 19_400 + (process.pid % 500);
const COLLECTIONS = '/api/v3/service-unified-collections';

const say = (sentence: string) => process.stderr.write(`  ${sentence}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Waits = { samples: number; active: number; waiting: number };
type Round = { settledPerSecond: number; waits: Waits };

const folder = mkdtempSync(join(tmpdir(), 'simbi-processes-'));
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), onProgress: () => undefined });
const env = {
  DATABASE_URL: postgres.url,
  DATA_DIR: join(folder, 'data'),
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  LOG_LEVEL: 'error',
  RATE_LIMIT_PER_SECOND: '0',
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
};
try {
  await migrate(postgres.url);
  const ctx = await createContext(readConfig(env), postgres.url, createLogger('error'));
  const merchants: Client[] = [];
  for (let index = 0; index < HOLDERS; index++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Holder ${index}`);
    const made = await createIntegration(ctx, COMMAND_LINE, holder.id, `Shop ${index}`);
    merchants.push({ clientId: made.clientId, title: made.title, secretKey: made.secretKey });
  }
  const rounds: Record<number, Round[]> = { 1: [], [HOLDERS]: [] };
  for (let round = 0; round <= ROUNDS; round++)
    for (const processes of [1, HOLDERS]) {
      const result = await measure(ctx, merchants, processes);
      // The first round warms everything up.
      if (round > 0) rounds[processes]?.push(result);
      say(`${processes} process(es): ${describe(result)}${round === 0 ? ' (warm-up)' : ''}`);
    }
  const report = await verifyLedger(ctx);
  if (!report.ok) throw new Error(`the ledger does not verify: ${report.differences[0]?.sentence}`);
  const mean = (list: Round[] = []) => list.reduce((sum, each) => sum + each.settledPerSecond, 0) / list.length;
  const share = (list: Round[] = []) => sumOf(list, 'waiting') / Math.max(1, sumOf(list, 'active'));
  const ratio = mean(rounds[HOLDERS]) / mean(rounds[1]);
  console.log(`one process:      ${mean(rounds[1]).toFixed(0)} settled/s`);
  console.log(`three processes:  ${mean(rounds[HOLDERS]).toFixed(0)} settled/s, ${ratio.toFixed(2)} of one`);
  console.log(
    `waiting for ledger rows, three processes: ${(share(rounds[HOLDERS]) * 100).toFixed(1)} % of active backends`,
  );
  await ctx.db.close();
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

function sumOf(list: Round[], name: 'active' | 'waiting'): number {
  return list.reduce((sum, each) => sum + each.waits[name], 0);
}

function describe({ settledPerSecond, waits }: Round): string {
  const of = (count: number) => (count / waits.samples).toFixed(2);
  return `${settledPerSecond.toFixed(0)} settled/s, ${of(waits.active)} backends active, ${of(waits.waiting)} waiting for ledger rows`;
}

/** Each holder's payments go to one process; with one process they all go there. */
async function measure(ctx: Context, merchants: Client[], processes: number): Promise<Round> {
  const servers = await Promise.all(Array.from({ length: processes }, (_, index) => startServer(PORT + index)));
  try {
    // A fresh process compiles its code while it works: that is not what is measured.
    await settle(ctx, merchants, processes, PAYMENTS / 3);
    const waits: Waits = { samples: 0, active: 0, waiting: 0 };
    let sampling = true;
    const sampler = sampleWaits(ctx, waits, () => sampling);
    const settledPerSecond = await settle(ctx, merchants, processes, PAYMENTS);
    sampling = false;
    await sampler;
    return { settledPerSecond, waits };
  } finally {
    for (const server of servers) server.kill('SIGTERM');
    await Promise.all(servers.map((server) => new Promise((ended) => server.once('exit', ended))));
  }
}

/** Offers payments and waits until all are settled. Answers how many a second. */
async function settle(ctx: Context, merchants: Client[], processes: number, count: number): Promise<number> {
  const plans = merchants.map((merchant, index) => ({
    host: '127.0.0.1',
    port: PORT + (index % processes),
    path: COLLECTIONS,
    connections: LANES / HOLDERS,
    rate: null,
    requests: signRequests([merchant], count / HOLDERS, COLLECTIONS, (payment) => ({
      amount: 1000,
      mobile: '256772123000',
      country_id: 11,
      currency: 'UGX',
      third_party_reference_1: `order-${payment}`,
    })),
    maxSeconds: 120,
  }));
  const started = performance.now();
  const loads = await Promise.all(plans.map(runLoad));
  for (let open = 1n; open > 0n; ) {
    await pause(20);
    const [row] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    open = row?.open ?? 0n;
  }
  const seconds = (performance.now() - started) / 1000;
  const accepted = loads.reduce((sum, load) => sum + load.accepted, 0);
  const refused = loads.reduce((sum, load) => sum + load.refused, 0);
  if (accepted !== count) throw new Error(`of ${count} payments ${accepted} were accepted and ${refused} refused`);
  return accepted / seconds;
}

async function sampleWaits(ctx: Context, waits: Waits, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const [row] = await ctx.db.query<{ active: number; waiting: number }>(
      `select count(*)::int as active,
              (count(*) filter (where wait_event_type = 'Lock' and query like '%ledger_accounts%'))::int as waiting
       from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`,
    );
    waits.samples++;
    waits.active += row?.active ?? 0;
    waits.waiting += row?.waiting ?? 0;
    await pause(SAMPLE_EVERY_MS);
  }
}

async function startServer(port: number): Promise<ChildProcess> {
  const server = spawn(process.execPath, [join(root, 'src/cli.ts'), 'serve'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let tries = 0; tries < 600; tries++) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return server;
    await pause(50);
  }
  throw new Error(`no gateway answers on port ${port}`);
}
