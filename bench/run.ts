// npm run bench: starts its own PostgreSQL, gateway, receiver and generator, and prints the table of docs/performance.md as
// ratios measured in one run, the gateway as users run it. It prints no number when an acknowledged payment is missing or the
// ledger does not balance.
//
//   --quick          a shorter run for trying things out
//   --full           also with ten million stored payments (--rows for another number) and with a snapshot held open
//   --history DIR    keeps the database with the stored payments there and uses it again
//   --history-only   of --full only what is measured beside the stored payments, and in an empty database for comparison
//   --database URL   in an empty database of a PostgreSQL on this machine, whose owner is a superuser, instead of the embedded one
//   --books          only the reconciliation of a day with 100,000 lines against a million payments (--payments for another number)
//   --soak 90        minutes at 70 % of the maximum, after the rest; the first third is warm-up
//   --json           for programs
//   --peers          also what a peer does with callbacks, if its package can be installed
//   --results FILE   appends the measures to a file: one line of JSON a run (bench/chart.ts draws them)

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { browserMissing, startBrowser } from '../test/browser/browser.ts';
import { measureFirstPaint } from '../test/browser/paint.ts';
import { measureAccepts, measureAlone, measureOverload } from './accepts.ts';
import { type Baselines, measureBaselines } from './baselines.ts';
import {
  checkInvariants,
  completePayments,
  drainBacklog,
  measureHotWallet,
  measureOverPawapay,
  measureSaturation,
  measureSchedule,
} from './completed.ts';
import { describeDatabase } from './database.ts';
import { measureHistory } from './history.ts';
import { percentile } from './load.ts';
import { appendResults, createMeasures, describeMachine, type Machine, printTable, say } from './measures.ts';
import { type Bench, withBench } from './parts.ts';
import { measurePeers } from './peers.ts';
import { measureReconciliation, RECONCILIATION } from './reconcile.ts';
import { measureSoak } from './soak.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    rows: { type: 'string', default: '10000000' },
    history: { type: 'string' },
    'history-only': { type: 'boolean', default: false },
    database: { type: 'string' },
    books: { type: 'boolean', default: false },
    payments: { type: 'string' },
    peers: { type: 'boolean', default: false },
    soak: { type: 'string' },
    json: { type: 'boolean', default: false },
    results: { type: 'string' },
  },
});
const PAYMENTS = options.quick ? 6_000 : 30_000;
const WALLETS = options.quick ? 100 : 1_000;
const PAINTS = 5;

const measures = createMeasures();
const machine: Machine = { ...describeMachine(), postgresql: 'embedded' };
let baselines: Baselines | null = null;

if (options.database !== undefined && (options.full || options['history-only']))
  throw new Error('The stored payments are kept in the embedded PostgreSQL: leave --database out.');
if (options.books) await measureBooks();
else if (options['history-only'])
  await withBench(
    {
      payments: PAYMENTS,
      wallets: WALLETS,
      measures,
      async before(url) {
        machine.postgresql = await describeDatabase(url, true);
      },
    },
    async (bench) => {
      await bench.restart('all');
      await warmUp(bench);
      await measureStored(bench);
    },
  );
else
  await withBench(
    {
      payments: PAYMENTS,
      wallets: WALLETS,
      measures,
      ...(options.database === undefined ? {} : { databaseUrl: options.database }),
      async before(url, postgresPid) {
        machine.postgresql = await describeDatabase(url, options.database === undefined);
        const pgbenchSeconds = options.quick ? 3 : 10;
        baselines = await measureBaselines({ url, postgresPid, payments: PAYMENTS, pgbenchSeconds, measures });
      },
    },
    async (bench) => {
      if (!baselines) throw new Error('no baselines');
      await measureAll(bench, baselines);
    },
  );
if (options.json) process.stdout.write(`${JSON.stringify({ machine, measures: measures.all() }, null, 2)}\n`);
else printTable(machine, measures.all());
if (options.results) appendResults(options.results, machine, measures.all());

/** Apart from the rest: its peak memory is that of this process. */
async function measureBooks(): Promise<void> {
  const transactions = Number(options.payments ?? RECONCILIATION.transactions);
  const isRight = await measureReconciliation({ ...RECONCILIATION, transactions }, measures);
  if (!isRight) process.exitCode = 1;
}

async function measureAll(bench: Bench, baselines: Baselines): Promise<void> {
  const since = bench.ctx.clock.now();
  // One process that does everything. It comes first: accepts that nobody finishes would stand beside its payments.
  measures.add({
    name: 'start to first answer (tables exist)',
    value: await bench.restart('all'),
    unit: 's',
    floor: '5',
    goal: '2',
  });
  await warmUp(bench);
  const many = await measureSaturation(bench, baselines);
  await measureHotWallet(bench, many);
  await measureSchedule(bench, many, options.quick ? 4 : 15);
  // One process that only answers: accepting alone, without the work that follows it.
  await bench.restart('api');
  const accepts = await measureAccepts(bench, baselines);
  await measureAlone(bench, baselines);
  await measureOverload(bench, accepts, 2, options.quick ? 3 : 8);
  await measureOverload(bench, accepts, 10, options.quick ? 2 : 4);
  // What it accepted is finished.
  await bench.restart('all');
  await drainBacklog(bench);
  // Last, because it changes a route, after which the gateway reads the settings of every merchant again.
  await measureOverPawapay(bench);
  await checkInvariants(bench, since);
  await measureCheckoutPaint(bench);
  if (options.peers) await measurePeers(bench, many.completedPerSecond);
  if (options.full) await measureStored(bench);
  if (!options.soak) return;
  await measureSoak(bench, Number.parseInt(options.soak, 10), many.completedPerSecond);
  await checkInvariants(bench, since);
}

async function warmUp(bench: Bench): Promise<void> {
  say('warming up');
  await completePayments(bench, bench.merchants, Math.floor(PAYMENTS / 5), null);
}

function measureStored(bench: Bench): Promise<void> {
  return measureHistory(bench, { rows: Number(options.rows), folder: options.history ?? null });
}

/** The payer's side: how long the hosted page takes to appear. */
async function measureCheckoutPaint({ folder }: Bench): Promise<void> {
  say('first paint of the hosted page on a slow phone');
  const demo = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8')) as { payment_link: string };
  const name = 'checkout: first contentful paint (400 kbit/s, 400 ms, slow CPU)';
  const missing = browserMissing();
  if (missing !== null) {
    measures.add({ name, value: null, unit: 'ms', floor: '2000', note: `not measured: ${missing}` });
    return;
  }
  const browser = await startBrowser();
  try {
    const times: number[] = [];
    for (let run = 0; run < PAINTS; run++) times.push(await measureFirstPaint(browser, demo.payment_link));
    times.sort((left, right) => left - right);
    measures.add({ name, value: percentile(times, 0.5), unit: 'ms', floor: '2000' });
  } finally {
    await browser.close();
  }
}
