// With years of history: the same payments and reads in an empty database and beside ten million stored payments, in turns, and
// there while a reader keeps a snapshot open. The stored payments are made once; with a folder they are kept and used again.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { addMember, createSession } from '../src/holders/members.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import { lowestUuid, publicId, randomName, timeOfUuid } from '../src/platform/ids.ts';
import { createLogger } from '../src/platform/log.ts';
import { migrate } from '../src/platform/migrate.ts';
import { checkInvariants, completePayments } from './completed.ts';
import { cpuMs } from './gateway-process.ts';
import { fullPageOfLinks, LINKS } from './links.ts';
import { median, percentile, runLoad, signRequests } from './load.ts';
import { listed, say } from './measures.ts';
import { type Bench, CONNECTIONS, keptMerchants, type Merchant, pause, settingsOf, withBench } from './parts.ts';
import { SEED_SETTINGS, writePaymentRows } from './payment-rows.ts';

const ROUNDS = 3;
const TURNS = 5;
const DAYS = 730;
/** Before they are measured: the first ones open connections, and V8 compiles what thousands of them have run through. */
const WARMING_SECONDS = 60;
const SAMPLED = 1_000;
/** The last batches of a burst, the seal on the ledger's newest block and the like. */
const SETTLE_MS = 10_000;
/** A gateway without work takes a hundredth of a core. */
const IDLE_SHARE = 0.1;
const CATCH_UP_MS = 10_000;
const MAX_CATCH_UP_TRIES = 180;
const BUSY_SAMPLES = 50;
const STATUS = '/api/v3/get-unified-transaction-status';
const BALANCE = '/api/v3/get-unified-balance';
const TRANSACTIONS = '/console/transactions';
/** How often each is read, and in a round how many of them. Programs ask often for one payment and now and then for a list. */
type Pace = { count: number; rate: number; warmingRate: number; connections: number };
const BY_PROGRAMS: Pace = { count: 1_000, rate: 300, warmingRate: 300, connections: CONNECTIONS };
const LISTS: Pace = { count: 300, rate: 30, warmingRate: 100, connections: 8 };
/** Of people few click at the same time. */
const BY_PEOPLE: Pace = { count: 150, rate: 10, warmingRate: 30, connections: 4 };

type History = { readonly rows: number; readonly seconds: number };

/** `folder`: where the stored payments are kept; null: nowhere. */
export async function measureHistory(empty: Bench, given: { rows: number; folder: string | null }): Promise<void> {
  await empty.gateway.stop();
  const folder = given.folder === null ? mkdtempSync(join(tmpdir(), 'simbi-history-')) : resolve(given.folder);
  try {
    const { payments, measures } = empty;
    const wallets = empty.merchants.length;
    const { rows, seconds } = await openHistory(folder, given.rows, wallets);
    measures.add({ name: `seeding ${rows} past payments`, value: seconds, unit: 's' });
    await withBench({ payments, wallets, measures, folder, beside: empty }, async (grown) => {
      const since = grown.ctx.clock.now();
      await grown.restart('all');
      await untilCaughtUp(grown);
      await measurePayments(grown, empty, rows);
      await measureReads(grown, empty, rows);
      await empty.gateway.stop();
      await measureHeldSnapshot(grown);
      await checkInvariants(grown, since);
    });
  } finally {
    if (given.folder === null) rmSync(folder, { recursive: true, force: true });
  }
  await empty.restart('all');
}

/** The stored payments of the folder, made now if there are none. */
async function openHistory(folder: string, rows: number, wallets: number): Promise<History> {
  const file = join(folder, 'history.json');
  if (existsSync(file)) {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as History;
    if (kept.rows !== rows) throw new Error(`${folder} has ${kept.rows} past payments, not ${rows}`);
    say(`using the ${rows} past payments in ${folder}`);
    return kept;
  }
  mkdirSync(folder, { recursive: true });
  const postgres = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    onProgress: say,
    settings: SEED_SETTINGS,
  });
  try {
    await migrate(postgres.url);
    const config = readConfig(settingsOf(folder, postgres.url));
    const ctx = await createContext(config, postgres.url, createLogger('error'));
    const merchants = await keptMerchants(ctx, folder, wallets);
    const started = performance.now();
    const onProgress = (written: number) => {
      if (written % 500_000 === 0) say(`${written} of ${rows} past payments made`);
    };
    const until = ctx.clock.now();
    await writePaymentRows(ctx, postgres.url, { payments: rows, merchants, days: DAYS, until, onProgress });
    const history: History = { rows, seconds: (performance.now() - started) / 1000 };
    await ctx.db.close();
    writeFileSync(file, JSON.stringify(history));
    return history;
  } finally {
    await postgres.stop();
  }
}

/** A round here and a round there, because the machine changes from minute to minute. Both begin with a new process. */
async function measurePayments(grown: Bench, empty: Bench, rows: number): Promise<void> {
  const stored: number[] = [];
  const without: number[] = [];
  for (let round = 0; round < TURNS; round++) {
    stored.push(await rateOfNewProcess(grown));
    without.push(await rateOfNewProcess(empty));
  }
  grown.measures.add({
    name: `completed payments, ${rows} stored ÷ empty`,
    value: median(stored.map((rate, round) => rate / (without[round] ?? 0))),
    unit: '',
    floor: '0.80',
    goal: '0.92',
    note: `a second, stored and empty: ${listed(stored)}; ${listed(without)}`,
  });
}

async function rateOfNewProcess(bench: Bench): Promise<number> {
  await bench.restart('all');
  // The first payments read the pages that they need from the disk.
  await completePayments(bench, bench.merchants, Math.floor(bench.payments / 5), null);
  const { completedPerSecond } = await completePayments(bench, bench.merchants, bench.payments, null);
  await bench.gateway.stop();
  return completedPerSecond;
}

/** Of some rounds, whose median counts: one differs from the next by a tenth. */
async function completedRates(bench: Bench): Promise<number[]> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rates.push((await completePayments(bench, bench.merchants, bench.payments, null)).completedPerSecond);
  return rates;
}

type Read = { readonly name: string; readonly path: string; readonly pace: Pace; readonly requests: RequestsOf };
type RequestsOf = (bench: Bench, merchant: Merchant, count: number) => Buffer[] | Promise<Buffer[]>;

/** Both gateways stay, because both have to be warm. The one that is not asked has next to nothing to do. */
async function measureReads(grown: Bench, empty: Bench, rows: number): Promise<void> {
  await empty.restart('all');
  await grown.restart('all');
  await untilIdle(empty);
  await untilIdle(grown);
  const reads: Read[] = [
    { name: 'status', path: STATUS, pace: BY_PROGRAMS, requests: statusRequests },
    { name: 'balance', path: BALANCE, pace: BY_PROGRAMS, requests: balanceRequests },
    { name: 'latest 50 links', path: LINKS, pace: LISTS, requests: linksRequests },
    { name: 'latest 50 transactions', path: TRANSACTIONS, pace: BY_PEOPLE, requests: pageRequests },
  ];
  for (const read of reads) {
    say(`reads of ${read.path}`);
    const ofStored = await warmReader(grown, read);
    const ofEmpty = await warmReader(empty, read);
    const stored: number[] = [];
    const without: number[] = [];
    for (let round = 0; round < TURNS; round++) {
      stored.push(await ofStored());
      without.push(await ofEmpty());
    }
    const more = median(stored.map((p99, round) => p99 - (without[round] ?? 0)));
    grown.measures.add({
      name: `${read.name} p99, ${rows} stored`,
      value: median(stored),
      unit: 'ms',
      floor: '5',
      goal: '2',
      note: `${more.toFixed(2)} ms more than in an empty database; stored and empty: ${listed(stored, 1)}; ${listed(without, 1)}`,
    });
  }
}

/** Asks as the first merchant, which has most of the payments, for a minute. What it returns measures a round. */
async function warmReader(bench: Bench, { path, pace, requests }: Read): Promise<() => Promise<number>> {
  const [first] = bench.merchants;
  if (!first) throw new Error('no merchant to read as');
  const warming = pace.warmingRate * WARMING_SECONDS;
  const prepared = await requests(bench, first, warming + pace.count * TURNS);
  const offer = async (from: number, count: number, rate: number) => {
    const part = prepared.slice(from, from + count);
    const { port } = bench;
    const { connections } = pace;
    const load = await runLoad({ host: '127.0.0.1', port, path, connections, rate, requests: part, maxSeconds: 120 });
    if (load.accepted < count)
      throw new Error(`of ${count} requests of ${path} ${load.refused} were refused and ${load.failed} not answered`);
    return percentile(load.latencies, 0.99);
  };
  await offer(0, warming, pace.warmingRate);
  let next = warming;
  return () => {
    const from = next;
    next += pace.count;
    return offer(from, pace.count, pace.rate);
  };
}

async function statusRequests(bench: Bench, merchant: Merchant, count: number): Promise<Buffer[]> {
  const ids = await sampleTransactions(bench, merchant.holderId);
  return signRequests([merchant], count, STATUS, (index) => ({ id: publicId('TX', ids[index % ids.length] ?? '') }));
}

function balanceRequests(_: Bench, merchant: Merchant, count: number): Buffer[] {
  return signRequests([merchant], count, BALANCE, () => ({}));
}

async function linksRequests({ port }: Bench, merchant: Merchant, count: number): Promise<Buffer[]> {
  return repeated(await fullPageOfLinks(merchant, port), count);
}

/**
 * A gateway that sees years of payments for the first time makes the statements of twelve months, which takes it some minutes. It
 * is done when both it and its database have little to do: on a slow disk the gateway waits for the rows of a large statement, and
 * takes little of the processor meanwhile.
 */
async function untilCaughtUp({ gateway, databaseUrl }: Bench): Promise<void> {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  try {
    for (let tries = 0; tries < MAX_CATCH_UP_TRIES; tries++) {
      const before = cpuMs(gateway.pid);
      const busyShare = await shareOfBusySamples(owner);
      if (cpuMs(gateway.pid) - before < IDLE_SHARE * CATCH_UP_MS && busyShare < IDLE_SHARE) return;
      if (tries === 0) say('waiting for the statements of past months');
    }
  } finally {
    await owner.end();
  }
  throw new Error('the gateway is still busy with the past after half an hour');
}

/** The share of looks at the database in which it was answering somebody. */
async function shareOfBusySamples(owner: pg.Client): Promise<number> {
  let busy = 0;
  for (let sample = 0; sample < BUSY_SAMPLES; sample++) {
    await pause(CATCH_UP_MS / BUSY_SAMPLES);
    const { rows } = await owner.query<{ busy: boolean }>(
      `select exists (select from pg_stat_activity
         where backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()) as busy`,
    );
    if (rows[0]?.busy) busy++;
  }
  return busy / BUSY_SAMPLES;
}

/** What is measured is a read, not what is left to do for payments. Some past payments stay open for ever. */
async function untilIdle({ ctx, databaseUrl }: Bench): Promise<void> {
  let before: bigint | undefined;
  for (let tries = 0; tries < 60; tries++) {
    const [row] = await ctx.db.query<{ open: bigint }>(
      'select (select count(*) from payment_jobs) + (select count(*) from callback_deliveries) as open',
    );
    if (row?.open === before) {
      await cleanUp(databaseUrl);
      return await pause(SETTLE_MS);
    }
    before = row?.open;
    await pause(2_000);
  }
  throw new Error('payments are still being worked on after two minutes');
}

/**
 * What PostgreSQL does by itself some time after so many payments: it cleans up behind them and looks at 30,000 rows of each large
 * table again. On a disk that is slow to read requests wait for that, and it would be measured in one database and not in the other.
 */
async function cleanUp(databaseUrl: string): Promise<void> {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  const { rows } = await owner.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_stat_user_tables
     where greatest(n_mod_since_analyze, n_dead_tup, n_ins_since_vacuum) > 1000`,
  );
  for (const { name } of rows) await owner.query(`vacuum (analyze) ${name}`);
  await owner.end();
}

/** Collections from all of the merchant's time. */
async function sampleTransactions({ ctx }: Bench, holderId: bigint): Promise<string[]> {
  const [ends] = await ctx.db.query<{ first: string; last: string }>(
    `select (select id from transactions where holder_id = $1 order by id limit 1) as first,
            (select id from transactions where holder_id = $1 order by id desc limit 1) as last`,
    [holderId],
  );
  if (!ends) throw new Error(`holder ${holderId} has no transactions`);
  const [from, to] = [timeOfUuid(ends.first), timeOfUuid(ends.last)];
  const places = Array.from({ length: SAMPLED }, () => lowestUuid(new Date(from + Math.random() * (to - from))));
  const rows = await ctx.db.query<{ id: string }>(
    `select t.id from unnest($2::uuid[]) as place
     cross join lateral (select id from transactions
       where holder_id = $1 and id >= place and direction = 'collection' order by id limit 1) t`,
    [holderId, places],
  );
  return rows.map(({ id }) => id);
}

/** The page of the console, as a person who is signed in. */
async function pageRequests({ ctx, port }: Bench, { holderId }: Merchant, count: number): Promise<Buffer[]> {
  const person = { email: `bench-${randomName(8)}@example.org`, name: 'Bench', holderId, role: 'owner' } as const;
  const member = await addMember(ctx, COMMAND_LINE, person);
  const { token } = await createSession(ctx, member.id, { userAgent: '', address: '' });
  const head = `GET ${TRANSACTIONS} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: simbi_session=${token}\r\n\r\n`;
  return repeated(Buffer.from(head), count);
}

function repeated(request: Buffer, count: number): Buffer[] {
  return Array.from({ length: count }, () => request);
}

/**
 * A report that reads for minutes keeps the database from cleaning up behind the payments. Compared with the rounds before it and
 * with as many after it, because the machine changes from minute to minute.
 */
async function measureHeldSnapshot(bench: Bench): Promise<void> {
  const before = await completedRates(bench);
  const held = await ratesWithSnapshotHeld(bench);
  say('and without it again');
  await cleanUp(bench.databaseUrl);
  const after = await completedRates(bench);
  bench.measures.add({
    name: 'completed payments, snapshot held ÷ without',
    value: median(held) / median([...before, ...after]),
    unit: '',
    floor: '0.75',
    goal: '0.90',
    note: `a second, before, with it and after: ${listed(before)}; ${listed(held)}; ${listed(after)}`,
  });
}

async function ratesWithSnapshotHeld(bench: Bench): Promise<number[]> {
  const reader = new pg.Client({ connectionString: bench.databaseUrl });
  await reader.connect();
  try {
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from holders');
    say('with a snapshot held open');
    return await completedRates(bench);
  } finally {
    await reader.end();
  }
}
