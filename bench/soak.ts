// A long run at a steady rate: memory, descriptors, latency and the sizes of tables, minute by minute, to see what grows.

import { readdirSync } from 'node:fs';
import { completePayments } from './completed.ts';
import { residentMb } from './gateway-process.ts';
import { percentile } from './load.ts';
import { say } from './measures.ts';
import type { Bench } from './parts.ts';

const MINUTE_S = 60;
/** These hold the payments themselves. */
const GROWING = new Set([
  'transactions',
  'evidence',
  'ledger_transfers',
  'ledger_blocks',
  'operator_receipts',
  'events',
  'callback_attempts',
  'request_log',
  'spent_signatures',
]);

type Sample = { minute: number; memoryMb: number; descriptors: number; p99: number; otherTablesMb: number };

/** `share` of the rate that the gateway completes at most. */
export async function measureSoak(bench: Bench, minutes: number, maximum: number, share = 0.7): Promise<void> {
  const rate = maximum * share;
  const samples: Sample[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const { load } = await completePayments(bench, bench.merchants, Math.floor(rate * MINUTE_S), rate);
    const sample: Sample = {
      minute,
      memoryMb: residentMb(bench.gateway.pid),
      descriptors: readdirSync(`/proc/${bench.gateway.pid}/fd`).length,
      p99: percentile(load.latencies, 0.99),
      otherTablesMb: await otherTablesMb(bench),
    };
    samples.push(sample);
    say(
      `minute ${minute}: ${sample.memoryMb.toFixed(0)} MB, ${sample.descriptors} descriptors, accept p99 ${sample.p99.toFixed(0)} ms, ` +
        `other tables ${sample.otherTablesMb.toFixed(1)} MB`,
    );
  }
  report(bench, samples, rate);
}

function report({ measures }: Bench, samples: Sample[], rate: number): void {
  const settled = samples.slice(Math.floor(samples.length / 5));
  const column = (of: (sample: Sample) => number) => settled.map(of);
  const hours = settled.length / 60;
  const add = (name: string, value: number, unit: string) =>
    measures.add({ name: `soak, ${samples.length} min at ${rate.toFixed(0)}/s: ${name}`, value, unit });
  add('memory at the end', settled.at(-1)?.memoryMb ?? Number.NaN, 'MB');
  add('memory, slope', slope(column(({ memoryMb }) => memoryMb)) * 60, 'MB an hour');
  add('memory, spread of one minute', deviation(column(({ memoryMb }) => memoryMb)), 'MB');
  add('descriptors at the end', settled.at(-1)?.descriptors ?? Number.NaN, '');
  add('accept p99, slope', slope(column(({ p99 }) => p99)) * 60, 'ms an hour');
  const tables = column(({ otherTablesMb }) => otherTablesMb);
  add('tables that hold no payments', ((tables.at(-1) ?? 0) - (tables[0] ?? 0)) / hours, 'MB an hour');
}

async function otherTablesMb({ ctx }: Bench): Promise<number> {
  const rows = await ctx.db.query<{ name: string; bytes: bigint }>(
    `select coalesce(p.relname, c.relname) as name, pg_total_relation_size(c.oid) as bytes
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  );
  return rows.filter(({ name }) => !GROWING.has(name)).reduce((sum, { bytes }) => sum + Number(bytes), 0) / 2 ** 20;
}

/** Least squares, per step. */
function slope(values: number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const steps = values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
  return values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0) / steps;
}

function deviation(values: number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
