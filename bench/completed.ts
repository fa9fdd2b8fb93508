// Whole payments: accepted, submitted to the simulated operator over HTTP, settled, posted to the ledger, sent to the merchant
// by callback, received and verified there.

import { lastHeadAt } from '../src/ledger/chain.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { lowestUuid, uuidFromPublicId } from '../src/platform/ids.ts';
import type { Baselines } from './baselines.ts';
import { childrenOf, cpuMs, residentMb, treeCpuMs } from './gateway-process.ts';
import { type LoadResult, median, percentile, runLoad, signRequests } from './load.ts';
import { listed, ratio, say } from './measures.ts';
import { type Bench, COLLECTIONS, CONNECTIONS, METHOD, type Merchant, pause } from './parts.ts';
import { routeOverPawapay } from './pawapay.ts';
import { storedBytes } from './table-sizes.ts';

const PATIENCE_MS = 60_000;
const HOLDERS_CHECKED = 50;
const STRETCHES = 5;

export type Completed = { load: LoadResult; completedPerSecond: number; toCallback: number[] };

/** Offers payments and waits until each one's callback has come. */
export async function completePayments(
  { receiver, port }: Bench,
  merchants: Merchant[],
  count: number,
  rate: number | null,
): Promise<Completed> {
  receiver.reset();
  const requests = signRequests(merchants, count, COLLECTIONS, (index) => {
    const merchant = merchants[index % merchants.length] as Merchant;
    return {
      amount: 1000 + (index % 500),
      mobile: '256772123000',
      country_id: 11,
      currency: 'UGX',
      callback_url: `http://127.0.0.1:${receiver.port}/cb/${merchant.index}`,
      third_party_reference_1: `order-${index}`,
    };
  });
  const started = Date.now();
  const load = await runLoad({
    host: '127.0.0.1',
    port,
    path: COLLECTIONS,
    connections: CONNECTIONS,
    rate,
    requests,
    maxSeconds: 120,
  });
  if (load.failed > 0) throw new Error(`${load.failed} requests got no answer`);
  let tally = await receiver.tally();
  const patience = Date.now() + PATIENCE_MS;
  while (tally.distinct < load.accepted && Date.now() < patience) {
    await pause(20);
    tally = await receiver.tally();
  }
  if (tally.distinct < load.accepted)
    throw new Error(`${load.accepted - tally.distinct} acknowledged payments were never told to their merchant`);
  if (tally.forged > 0) throw new Error(`${tally.forged} callbacks did not verify`);
  const { arrivals = [] } = await receiver.tally(true);
  const last = arrivals.reduce((latest, [, at]) => Math.max(latest, at), started);
  return {
    load,
    completedPerSecond: load.accepted / ((last - started) / 1000),
    toCallback: callbackDelays(arrivals),
  };
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

export async function drainBacklog({ ctx, measures }: Bench): Promise<void> {
  const openPayments = async () => {
    const [row] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    return Number(row?.open ?? 0n);
  };
  const backlog = await openPayments();
  say(`finishing ${backlog} payments that were accepted`);
  const started = performance.now();
  for (let tries = 0; tries < 3_000 && (await openPayments()) > 0; tries++) await pause(50);
  measures.add({
    name: 'backlog finished',
    value: backlog / ((performance.now() - started) / 1000),
    unit: '/s',
    note: 'submitted, settled, posted; no callbacks',
  });
}

type Counters = {
  /** The gateway's own process. */
  nodeMs: number;
  /** Its child processes: the simulated operator and the receiver of the sandbox. */
  simulatedMs: number;
  postgresMs: number;
  commits: number;
  walBytes: number;
  storedBytes: number;
  memoryMb: number;
};

async function readCounters({ ctx, gateway, postgresPid }: Bench): Promise<Counters> {
  const [row] = await ctx.db.query<{ commits: bigint; wal: string }>(
    `select (select xact_commit from pg_stat_database where datname = current_database()) as commits,
       (pg_current_wal_lsn() - '0/0')::text as wal`,
  );
  return {
    nodeMs: cpuMs(gateway.pid),
    simulatedMs: childrenOf(gateway.pid).reduce((sum, child) => sum + (treeCpuMs(child) || 0), 0),
    postgresMs: treeCpuMs(postgresPid),
    commits: Number(row?.commits ?? 0n),
    walBytes: Number(row?.wal ?? 0),
    storedBytes: await storedBytes({ ctx }),
    memoryMb: residentMb(gateway.pid),
  };
}

export async function measureSaturation(bench: Bench, baselines: Baselines): Promise<Completed> {
  const { measures, merchants, payments } = bench;
  say(`saturation: ${payments} payments over ${merchants.length} wallets`);
  const before = await readCounters(bench);
  const completed = await completePayments(bench, merchants, payments, null);
  const after = await readCounters(bench);
  const each = (counter: keyof Counters) => (after[counter] - before[counter]) / completed.load.accepted;
  const perSecond = completed.completedPerSecond;
  measures.add({ name: 'completed payments', value: perSecond, unit: '/s', goal: '1500' });
  measures.add({
    name: 'completed payments ÷ P2',
    value: ratio(perSecond, baselines.p2),
    unit: '',
    floor: '0.5',
    goal: '1.0',
  });
  measures.add({ name: 'accepts while payments complete ÷ H', value: perSecond / baselines.h, unit: '', goal: '0.30' });
  measures.add({
    name: 'accept p99 while payments complete',
    value: percentile(completed.load.latencies, 0.99),
    unit: 'ms',
    goal: '60',
  });
  measures.add({ name: 'payment: core-ms of the gateway', value: each('nodeMs'), unit: 'ms' });
  measures.add({ name: 'payment: core-ms of PostgreSQL', value: each('postgresMs'), unit: 'ms' });
  measures.add({
    name: 'payment: core-ms of both',
    value: each('nodeMs') + each('postgresMs'),
    unit: 'ms',
    floor: '2.0',
    goal: '0.8',
  });
  measures.add({ name: 'payment: core-ms of the simulated operator', value: each('simulatedMs'), unit: 'ms' });
  measures.add({ name: 'payment: commits', value: each('commits'), unit: '', floor: '0.5', goal: '0.1' });
  measures.add({ name: 'payment: WAL', value: each('walBytes') / 1000, unit: 'kB', floor: '6', goal: '3' });
  measures.add({ name: 'payment: stored', value: each('storedBytes') / 1000, unit: 'kB', floor: '3', goal: '2' });
  measures.add({
    name: 'memory of the gateway process',
    value: after.memoryMb,
    unit: 'MB',
    floor: '300',
    goal: '200',
  });
  return completed;
}

/** The same payments over a real operator's protocol, with signed callbacks, against its simulator in another process. */
export async function measureOverPawapay(bench: Bench): Promise<void> {
  const count = Math.floor(bench.payments / 5);
  say(`over pawaPay: ${count} payments`);
  const pawapay = await routeOverPawapay(bench.ctx, METHOD, `http://localhost:${bench.port}`);
  try {
    const before = await readCounters(bench);
    const { load } = await completePayments(bench, bench.merchants, count, null);
    const after = await readCounters(bench);
    const milliseconds = after.nodeMs - before.nodeMs + after.postgresMs - before.postgresMs;
    bench.measures.add({
      name: 'payment over pawaPay: core-ms of both',
      value: milliseconds / load.accepted,
      unit: 'ms',
      note: 'the simulator is another process',
    });
  } finally {
    await pawapay.stop();
  }
}

export async function measureHotWallet(bench: Bench, many: Completed): Promise<void> {
  say('one hot wallet');
  const hot = await completePayments(bench, bench.merchants.slice(0, 1), bench.payments, null);
  bench.measures.add({
    name: 'one hot wallet ÷ many wallets',
    value: hot.completedPerSecond / many.completedPerSecond,
    unit: '',
    floor: '0.85',
    goal: '0.97',
  });
}

/** Some stretches, whose median counts: a shared machine that stands still once for 150 ms decides the p99 of 15 seconds. */
export async function measureSchedule(bench: Bench, many: Completed, seconds: number): Promise<void> {
  const rate = many.completedPerSecond * 0.7;
  say(`open loop at 70 %: ${rate.toFixed(0)}/s`);
  const stretches: { accepts: number[]; callbacks: number[] }[] = [];
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    const { load, toCallback } = await completePayments(bench, bench.merchants, Math.floor(rate * seconds), rate);
    stretches.push({ accepts: load.latencies, callbacks: toCallback });
  }
  const add = (name: string, each: number[], floor: string, goal: string) => {
    const note = `of ${STRETCHES} stretches: ${listed(each, 1)}`;
    bench.measures.add({ name: `at 70 %: ${name}`, value: median(each), unit: 'ms', floor, goal, note });
  };
  const accepts = (share: number) => stretches.map((stretch) => percentile(stretch.accepts, share));
  add('accept p50', accepts(0.5), '10', '5');
  add('accept p99', accepts(0.99), '50', '25');
  const callbacks = stretches.map((stretch) => percentile(stretch.callbacks, 0.99));
  add('accept → callback received p99', callbacks, '500', '250');
}

/** No number without this: every acknowledged payment is booked once and the ledger balances. */
export async function checkInvariants({ ctx }: Bench, since: Date): Promise<void> {
  say('checking every invariant');
  for (let tries = 0; tries < 600; tries++) {
    const [row] = await ctx.db.query<{ open: bigint }>('select count(*) as open from payment_jobs');
    if (row?.open === 0n) break;
    await pause(100);
  }
  const before = await lastHeadAt(ctx.db, since);
  const report = await verifyLedger(ctx, before ? { after: before } : {});
  if (!report.ok)
    throw new Error(
      `the ledger does not verify: ${report.differences.map((difference) => difference.sentence).join('; ')}`,
    );
  // Some holders at a time: after an hour of payments one statement over all of them takes longer than statements may.
  const holders = await ctx.db.query<{ id: bigint }>('select id from holders order by id');
  for (let first = 0; first < holders.length; first += HOLDERS_CHECKED)
    await requireBooked(
      ctx,
      holders.slice(first, first + HOLDERS_CHECKED).map(({ id }) => id),
      since,
    );
}

async function requireBooked(ctx: Bench['ctx'], holderIds: bigint[], since: Date): Promise<void> {
  const [row] = await ctx.db.query<{ unsettled: bigint; unbooked: bigint }>(
    `select count(*) filter (where t.status <> 'success') as unsettled,
            count(*) filter (where not exists (
              select from ledger_transfers l
              where l.holder_id = t.holder_id and l.transaction_id = t.id and l.kind = 'collection')) as unbooked
     from unnest($1::bigint[]) as h (id) join transactions t on t.holder_id = h.id and t.id >= $2`,
    [holderIds, lowestUuid(since)],
  );
  if (row?.unsettled !== 0n || row.unbooked !== 0n)
    throw new Error(`${row?.unsettled} payments unsettled, ${row?.unbooked} not booked`);
}
