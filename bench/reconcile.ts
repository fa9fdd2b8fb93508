// A statement of one day against all payments: its time by stage, the peak memory of the process, and whether each discrepancy that was
// put into it is found with its kind, and nothing else. It makes its own database and removes it. In `npm run bench -- --books`, and
// alone: node bench/reconcile.ts --transactions 1000000.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { listBreaks } from '../src/books/breaks.ts';
import { reconcile } from '../src/books/matching.ts';
import { systemClock } from '../src/platform/clock.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { addDays } from '../src/platform/time-zones.ts';
import { createTestContext } from '../test/harness.ts';
import { createMeasures, type Measures, say } from './measures.ts';
import { createMerchants, writePaymentRows } from './payment-rows.ts';
import { writeStatement } from './statement-rows.ts';

const MEGABYTE = 2 ** 20;
const SAMPLE_MS = 20;
/** A page of lines and payments needs a part of it; a million payments would not fit. */
const HEAP_MEGABYTES = 96;
/** Longer than a request may take, so that a machine with other work ends with a time and not with an error. */
const PATIENCE = { statementTimeoutMs: 120_000, acquireTimeoutMs: 60_000 } as const;

export type ReconciliationSize = {
  transactions: number;
  /** Over which they are spread; the statement is of one of them. */
  days: number;
  discrepancies: number;
};

export const RECONCILIATION: ReconciliationSize = { transactions: 1_000_000, days: 9, discrepancies: 200 };

/** Returns false where a discrepancy was not found, or one was reported that is none. */
export async function measureReconciliation(size: ReconciliationSize, measures: Measures): Promise<boolean> {
  const ctx = await createTestContext();
  try {
    const written = await writeDay(ctx, size);
    const { result, ...run } = await compare(ctx, written);
    const open = await listBreaks(ctx.db, { connection: written.connection, status: 'open' }, 100_000);
    const found = open.map(({ kind, transaction_id: id, line_key: key }) => `${kind} ${id ?? key?.toString('hex')}`);
    const missed = written.injected.filter((text) => !found.includes(text));
    const more = found.filter((text) => !written.injected.includes(text));
    say(run.stages.map(([stage, seconds]) => `${stage} ${seconds.toFixed(1)} s`).join(', '));
    say(JSON.stringify(result.rules));
    for (const text of [...missed, ...more].slice(0, 10)) say(text);
    const about = `${result.lines} lines, ${size.transactions} transactions`;
    measures.add({ name: `books: matching (${about})`, value: run.seconds, unit: 's' });
    measures.add({ name: 'books: processor time of it in the gateway', value: run.processorSeconds, unit: 's' });
    measures.add({ name: 'books: peak memory while matching', value: run.peakMegabytes, unit: 'MB' });
    const note = `of ${written.injected.length} that were put in; ${more.length} reported that are none`;
    measures.add({ name: 'books: discrepancies not found', value: missed.length, unit: '', note });
    return missed.length + more.length === 0;
  } finally {
    await ctx.close();
  }
}

type BenchContext = Awaited<ReturnType<typeof createTestContext>>;
type WrittenDay = Awaited<ReturnType<typeof writeStatement>> & { day: string };

async function writeDay(
  ctx: BenchContext,
  { transactions, days, discrepancies }: ReconciliationSize,
): Promise<WrittenDay> {
  say(`writing ${transactions} transactions`);
  const merchants = await createMerchants(ctx, 20);
  await writePaymentRows(ctx, ctx.databaseUrl, {
    payments: transactions,
    merchants,
    days,
    until: new Date('2026-03-02T00:00:00Z'),
    onProgress: (written) => say(String(written)),
  });
  const day = addDays('2026-03-02', -Math.ceil(days / 2));
  // Seven kinds, and half as many more: what is paid there and failed here.
  const perKind = Math.ceil(discrepancies / 7.5 / 2) * 2;
  const owner = connectDatabase({ url: ctx.databaseUrl, as: 'owner', poolSize: 1, ...PATIENCE });
  try {
    return { day, ...(await writeStatement(owner, day, perKind)) };
  } finally {
    await owner.close();
  }
}

type Comparison = {
  result: Awaited<ReturnType<typeof reconcile>>;
  stages: [stage: string, seconds: number][];
  seconds: number;
  processorSeconds: number;
  peakMegabytes: number;
};
type ComparedDay = { url: string; connection: string; day: string };

/** In a process of its own with a small heap: this one was large already when it wrote the payments. */
async function compare(ctx: BenchContext, { day, connection, lines, injected }: WrittenDay): Promise<Comparison> {
  say(`comparing ${lines} lines with ${injected.length} discrepancies in a heap of ${HEAP_MEGABYTES} MB`);
  const execArgv = [...process.execArgv, `--max-old-space-size=${HEAP_MEGABYTES}`];
  const child = fork(import.meta.filename, ['--child'], { execArgv, serialization: 'advanced' });
  child.send({ url: ctx.databaseUrl, connection, day } satisfies ComparedDay);
  const [answer] = await Promise.race([
    once(child, 'message') as Promise<[Comparison]>,
    once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the comparison ended with ${code ?? signal}`);
    }),
  ]);
  return answer;
}

async function compareHere({ url, connection, day }: ComparedDay): Promise<Comparison> {
  const stages = new Map<string, number>();
  let peak = 0;
  const sample = () => {
    peak = Math.max(peak, process.memoryUsage.rss() / MEGABYTE);
  };
  const db = connectDatabase({ url, poolSize: 4, ...PATIENCE });
  const sampler = setInterval(sample, SAMPLE_MS);
  const processor = process.cpuUsage();
  const started = performance.now();
  let last = started;
  const span = { from: new Date(`${day}T00:00:00Z`), to: new Date(`${addDays(day, 1)}T00:00:00Z`) };
  const onProgress = (stage: string) => {
    const now = performance.now();
    stages.set(stage, (stages.get(stage) ?? 0) + (now - last) / 1000);
    last = now;
    sample();
  };
  try {
    const result = await reconcile({ db, clock: systemClock }, { connection, ...span, onProgress });
    const seconds = (performance.now() - started) / 1000;
    const processorSeconds = process.cpuUsage(processor).user / 1_000_000;
    return { result, stages: [...stages], seconds, processorSeconds, peakMegabytes: Math.round(peak) };
  } finally {
    clearInterval(sampler);
    await db.close();
  }
}

if (import.meta.main && process.argv.includes('--child')) {
  const [day] = (await once(process, 'message')) as [ComparedDay];
  process.send?.(await compareHere(day), () => process.disconnect());
} else if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      transactions: { type: 'string', default: String(RECONCILIATION.transactions) },
      days: { type: 'string', default: String(RECONCILIATION.days) },
      discrepancies: { type: 'string', default: String(RECONCILIATION.discrepancies) },
    },
  });
  const { transactions, days, discrepancies } = values;
  const size = { transactions: Number(transactions), days: Number(days), discrepancies: Number(discrepancies) };
  process.exitCode = (await measureReconciliation(size, createMeasures())) ? 0 : 1;
}
