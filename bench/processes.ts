// npm run bench:processes: do several processes on one machine settle more, or do they only wait for each other? The same payments
// through `simbi serve --processes 1`, 2 and 4 on one PostgreSQL, in turns in one run: over many holders, over 64 and for one. Prints
// payments settled a second, and which share of the time of PostgreSQL's backends waits for rows of the ledger, sampled from
// pg_stat_activity. With --quick it takes about five minutes.

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
import { connectDatabase } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { type Client, runLoad, signRequests } from './load.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const isQuick = process.argv.includes('--quick');
const PAYMENTS = isQuick ? 3_000 : 9_000;
const ROUNDS = isQuick ? 2 : 5;
const MANY = 1_000;
const SOME = 64;
/** Connections in all: 48 for each of four processes. */
const LANES = 192;
const SAMPLE_EVERY_MS = 20;
const PORT = 19_400 + (process.pid % 500);
const COLLECTIONS = '/api/v3/service-unified-collections';

/** Measured one after another, with one start for each number of processes. */
const PLAN: { processes: number; holders: number[] }[] = [
  { processes: 1, holders: [MANY, 1] },
  { processes: 2, holders: [MANY] },
  { processes: 4, holders: [MANY, SOME, 1] },
];

const say = (sentence: string) => process.stderr.write(`  ${sentence}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Backends that were active, those of them that waited for rows of the ledger, and for any lock. */
type Waits = { samples: number; active: number; ledger: number; locks: number };
type Result = { settledPerSecond: number; waits: Waits };

const results = new Map<string, Result[]>();
const nameOf = (processes: number, holders: number) => `${processes} × ${holders}`;

const folder = mkdtempSync(join(tmpdir(), 'simbi-processes-'));
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), onProgress: () => undefined });
const env = {
  DATABASE_URL: postgres.url,
  DATA_DIR: join(folder, 'data'),
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  LOG_LEVEL: 'error',
  RATE_LIMIT_PER_SECOND: '0',
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  OPEN_PROMPTS_PER_NUMBER: '0',
  PROMPTS_PER_NUMBER_PER_DAY: '0',
  STOP_DELAY_MS: '0',
};
const activity = connectDatabase({ url: postgres.url, as: 'owner', poolSize: 1 });
try {
  await migrate(postgres.url);
  const ctx = await createContext(readConfig(env), postgres.url, createLogger('error'));
  const merchants = await createMerchants(ctx);
  for (let round = 1; round <= ROUNDS; round++)
    for (const { processes, holders } of PLAN) await measure(ctx, merchants, processes, holders);
  const report = await verifyLedger(ctx);
  if (!report.ok) throw new Error(`the ledger does not verify: ${report.differences[0]?.sentence}`);
  printResults();
  await ctx.db.close();
} finally {
  await activity.close();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function createMerchants(ctx: Context): Promise<Client[]> {
  say(`making ${MANY} holders`);
  const merchants: Client[] = [];
  for (let index = 0; index < MANY; index++) {
    const holder = await createHolder(ctx, COMMAND_LINE, `Holder ${index}`);
    const made = await createIntegration(ctx, COMMAND_LINE, holder.id, `Shop ${index}`);
    merchants.push({ clientId: made.clientId, title: made.title, secretKey: made.secretKey });
  }
  return merchants;
}

async function measure(ctx: Context, merchants: Client[], processes: number, holders: number[]): Promise<void> {
  const server = await startServer(processes);
  try {
    // A fresh process compiles its code while it works: that is not what is measured, and each has as much to become warm.
    // Each has seen nearly every holder then. It may refuse some of the first requests: it does not know yet how fast it is.
    await settle(ctx, merchants, PAYMENTS * processes, { mayRefuse: true });
    for (const count of holders) {
      const waits: Waits = { samples: 0, active: 0, ledger: 0, locks: 0 };
      let sampling = true;
      const sampler = sampleWaits(waits, () => sampling);
      const settledPerSecond = await settle(ctx, merchants.slice(0, count), PAYMENTS);
      sampling = false;
      await sampler;
      const result = { settledPerSecond, waits };
      results.set(nameOf(processes, count), [...(results.get(nameOf(processes, count)) ?? []), result]);
      say(`${processes} process(es), ${count} holder(s): ${describe(result)}`);
    }
  } finally {
    server.kill('SIGTERM');
    await new Promise((ended) => server.once('exit', ended));
  }
}

function describe({ settledPerSecond, waits }: Result): string {
  const of = (count: number) => (count / waits.samples).toFixed(2);
  return (
    `${settledPerSecond.toFixed(0)} settled/s, ${of(waits.active)} backends active, ` +
    `${of(waits.ledger)} waiting for ledger rows, ${of(waits.locks)} for any lock`
  );
}

/** Offers payments and waits until all are settled. Answers how many a second. */
async function settle(
  ctx: Context,
  merchants: Client[],
  count: number,
  { mayRefuse = false }: { mayRefuse?: boolean } = {},
): Promise<number> {
  const requests = signRequests(merchants, count, COLLECTIONS, (payment) => ({
    amount: 1000,
    mobile: '256772123000',
    country_id: 11,
    currency: 'UGX',
    third_party_reference_1: `order-${payment}`,
  }));
  const started = performance.now();
  const load = await runLoad({
    host: '127.0.0.1',
    port: PORT,
    path: COLLECTIONS,
    connections: LANES,
    rate: null,
    requests,
    maxSeconds: 120,
  });
  for (let open = 1n; open > 0n; ) {
    await pause(20);
    const [row] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    open = row?.open ?? 0n;
  }
  const seconds = (performance.now() - started) / 1000;
  if (load.accepted !== count && !mayRefuse)
    throw new Error(`of ${count} payments ${load.accepted} were accepted and ${load.refused} refused`);
  return count / seconds;
}

/** As the owner: the service does not see what other connections do. */
async function sampleWaits(waits: Waits, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const [row] = await activity.query<{ active: number; ledger: number; locks: number }>(
      `select count(*)::int as active,
              (count(*) filter (where wait_event_type = 'Lock' and query like '%ledger_accounts%'))::int as ledger,
              (count(*) filter (where wait_event_type = 'Lock'))::int as locks
       from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`,
    );
    waits.samples++;
    waits.active += row?.active ?? 0;
    waits.ledger += row?.ledger ?? 0;
    waits.locks += row?.locks ?? 0;
    await pause(SAMPLE_EVERY_MS);
  }
}

function printResults(): void {
  const of = (processes: number, holders: number) => results.get(nameOf(processes, holders)) ?? [];
  /** The median: a round that something else disturbed counts for little. */
  const speed = (list: Result[]) =>
    list.map((each) => each.settledPerSecond).sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  const sum = (list: Result[], name: 'active' | 'ledger') => list.reduce((total, { waits }) => total + waits[name], 0);
  const share = (list: Result[]) => `${((100 * sum(list, 'ledger')) / Math.max(1, sum(list, 'active'))).toFixed(1)} %`;
  const ratio = (one: Result[], other: Result[]) => (speed(one) / speed(other)).toFixed(2);
  const single = of(1, MANY);
  console.log('| processes | holders | settled/s | ÷ one process | waiting for ledger rows |');
  console.log('|---|---|---|---|---|');
  for (const { processes, holders } of PLAN)
    for (const count of holders) {
      const list = of(processes, count);
      console.log(`| ${processes} | ${count} | ${speed(list).toFixed(0)} | ${ratio(list, single)} | ${share(list)} |`);
    }
  for (const processes of [1, 4])
    console.log(
      `one hot holder ÷ many, ${processes} process(es): ${ratio(of(processes, 1), of(processes, MANY))} (goal 0.95)`,
    );
}

async function startServer(processes: number): Promise<ChildProcess> {
  const server = spawn(process.execPath, [join(root, 'src/cli.ts'), 'serve', '--processes', String(processes)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, PORT: String(PORT) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    let printed = '';
    server.stderr?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes('Listening:')) resolve();
    });
    server.once('exit', () => reject(new Error(`the gateway did not start: ${printed}`)));
  });
  return server;
}
