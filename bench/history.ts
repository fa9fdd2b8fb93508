// With years of history: the same payments and reads beside ten million stored ones, and while a reader keeps a snapshot open.

import pg from 'pg';
import { publicId } from '../src/platform/ids.ts';
import { completePayments } from './completed.ts';
import { percentile, runLoad, signRequests } from './load.ts';
import { say } from './measures.ts';
import { type Bench, CONNECTIONS, METHOD, type Merchant, PORT } from './parts.ts';
import { finishHistory, methodOf, writePaymentRows } from './payment-rows.ts';

const ROUNDS = 3;
const DAYS = 365;
const READS = 3_000;
const READS_PER_SECOND = 300;
const STATUS = '/api/v3/get-unified-transaction-status';
const BALANCE = '/api/v3/get-unified-balance';
const TOKEN = '/api/integration/get-token';
const LINKS = '/api/payment-link-api/list';

export async function measureHistory(bench: Bench, rows: number): Promise<void> {
  const { measures, merchants } = bench;
  const [ratesBefore, readsBefore] = [await completedRate(bench), await measureReads(bench)];
  await bench.gateway.stop();
  const started = performance.now();
  const until = bench.ctx.clock.now();
  await writePaymentRows(bench.ctx, bench.owner, {
    payments: rows,
    merchants,
    method: methodOf(METHOD),
    days: DAYS,
    until,
    onProgress: (written) => {
      if (written % 500_000 === 0) say(`${written} of ${rows} past payments written`);
    },
  });
  await finishHistory(bench.ctx, bench.owner);
  measures.add({ name: `seeding ${rows} past payments`, value: (performance.now() - started) / 1000, unit: 's' });
  await bench.restart('all');
  const [ratesAfter, readsAfter] = [await completedRate(bench), await measureReads(bench)];
  measures.add({
    name: `completed payments, ${rows} stored ÷ empty`,
    value: ratesAfter / ratesBefore,
    unit: '',
    floor: '0.80',
    goal: '0.92',
  });
  for (const [name, before] of Object.entries(readsBefore)) {
    const after = readsAfter[name as keyof Reads];
    measures.add({
      name: `${name} p99, ${rows} stored`,
      value: after,
      unit: 'ms',
      floor: '5',
      goal: '2',
      note: `${(after - before).toFixed(2)} ms more than on an empty table`,
    });
  }
  await measureHeldSnapshot(bench, ratesAfter);
}

/** Median of some rounds: one round differs from the next by a tenth. */
async function completedRate(bench: Bench): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rates.push((await completePayments(bench, bench.merchants, bench.payments, null)).completedPerSecond);
  return rates.sort((left, right) => left - right)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

type Reads = { status: number; balance: number; 'latest 50 links': number };

async function measureReads(bench: Bench): Promise<Reads> {
  const [first] = bench.merchants;
  if (!first) throw new Error('no merchant to read as');
  const rows = await bench.ctx.db.query<{ id: string }>(
    'select id from transactions where holder_id = $1 order by random() limit 1000',
    [first.holderId],
  );
  return {
    status: await readP99(
      STATUS,
      signRequests([first], READS, STATUS, (index) => ({ id: publicId('TX', rows[index % rows.length]?.id ?? '') })),
    ),
    balance: await readP99(
      BALANCE,
      signRequests([first], READS, BALANCE, () => ({})),
    ),
    'latest 50 links': await readP99(LINKS, await linkRequests(bench, first)),
  };
}

/** With a bearer token, as the specification asks for. */
async function linkRequests({ gateway }: Bench, merchant: Merchant): Promise<Buffer[]> {
  const answer = await fetch(`${gateway.url}${TOKEN}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_id: merchant.clientId, secret_key: merchant.secretKey }),
  });
  const { data } = (await answer.json()) as { data?: { token?: string } };
  if (!data?.token) throw new Error(`no token: ${answer.status}`);
  const head = `GET ${LINKS}?limit=50 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${data.token}\r\n\r\n`;
  return Array.from({ length: READS }, () => Buffer.from(head));
}

async function readP99(path: string, requests: Buffer[]): Promise<number> {
  say(`${READS} reads of ${path}`);
  const load = await runLoad({
    host: '127.0.0.1',
    port: PORT,
    path,
    connections: CONNECTIONS,
    rate: READS_PER_SECOND,
    requests,
    maxSeconds: 60,
  });
  if (load.accepted < READS) throw new Error(`${READS - load.accepted} reads of ${path} were refused`);
  return percentile(load.latencies, 0.99);
}

/** A report that reads for minutes keeps the database from cleaning up behind the payments. */
async function measureHeldSnapshot(bench: Bench, without: number): Promise<void> {
  const reader = new pg.Client({ connectionString: bench.databaseUrl });
  await reader.connect();
  await reader.query('begin isolation level repeatable read');
  await reader.query('select count(*) from holders');
  try {
    say('with a snapshot held open');
    bench.measures.add({
      name: 'completed payments, snapshot held ÷ without',
      value: (await completedRate(bench)) / without,
      unit: '',
      floor: '0.75',
      goal: '0.90',
    });
  } finally {
    await reader.end();
  }
}
