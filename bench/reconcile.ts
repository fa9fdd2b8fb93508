// A statement of one day against all payments: its time by stage, the peak memory of the process, and whether each discrepancy that was
// put into it is found with its kind, and nothing else. Run by hand: node bench/reconcile.ts --transactions 1000000. It makes its
// own database and removes it.

import { parseArgs } from 'node:util';
import { listBreaks } from '../src/books/breaks.ts';
import { reconcile } from '../src/books/matching.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { addDays } from '../src/platform/time-zones.ts';
import { createTestContext } from '../test/harness.ts';
import { createMerchants, writePaymentRows } from './payment-rows.ts';
import { writeStatement } from './statement-rows.ts';

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '9' },
    discrepancies: { type: 'string', default: '200' },
  },
});
const TRANSACTIONS = Number(values.transactions);
const DAYS = Number(values.days);
/** Seven kinds, and half as many more: what is paid there and failed here. */
const PER_KIND = Math.ceil(Number(values.discrepancies) / 7.5 / 2) * 2;
const MEGABYTE = 2 ** 20;

const ctx = await createTestContext();
const until = new Date('2026-03-02T00:00:00Z');
console.error(`Writing ${TRANSACTIONS} transactions…`);
const merchants = await createMerchants(ctx, 20);
await writePaymentRows(ctx, ctx.databaseUrl, {
  payments: TRANSACTIONS,
  merchants,
  days: DAYS,
  until,
  onProgress: (written) => console.error(`  ${written}`),
});
const day = addDays('2026-03-02', -Math.ceil(DAYS / 2));
const { connection, lines, injected } = await writeStatement(ctx.ownerDb, day, PER_KIND);

console.error(`Comparing ${lines} lines with ${injected.length} discrepancies…`);
const seconds = new Map<string, number>();
const started = performance.now();
let last = started;
let peak = 0;
const span = { from: new Date(`${day}T00:00:00Z`), to: new Date(`${addDays(day, 1)}T00:00:00Z`) };
// Longer than a request may take, so that a machine with other work ends with a time and not with an error.
const db = connectDatabase({
  url: ctx.databaseUrl,
  poolSize: 4,
  statementTimeoutMs: 120_000,
  acquireTimeoutMs: 60_000,
});
const processor = process.cpuUsage();
const result = await reconcile(
  { ...ctx, db },
  {
    connection,
    ...span,
    onProgress(stage) {
      const now = performance.now();
      seconds.set(stage, (seconds.get(stage) ?? 0) + (now - last) / 1000);
      last = now;
      peak = Math.max(peak, process.memoryUsage().rss / MEGABYTE);
    },
  },
);
const elapsed = (performance.now() - started) / 1000;
const used = process.cpuUsage(processor).user / 1_000_000;
const open = await listBreaks(ctx.db, { connection, status: 'open' }, 100_000);
const found = open.map(({ kind, transaction_id: id, line_key: key }) => `${kind} ${id ?? key?.toString('hex')}`);
const missed = injected.filter((text) => !found.includes(text));
const more = found.filter((text) => !injected.includes(text));

console.table([...seconds].map(([stage, time]) => ({ stage, seconds: time.toFixed(1) })));
console.table(result.rules);
console.log(
  `${result.lines} lines against ${TRANSACTIONS} transactions in ${elapsed.toFixed(1)} s ` +
    `(processor time of this process ${used.toFixed(1)} s), peak memory ${Math.round(peak)} MB.`,
);
console.log(`${injected.length} discrepancies: ${missed.length} not found, ${more.length} reported that are none.`);
for (const text of [...missed, ...more].slice(0, 10)) console.log(text);
await db.close();
await ctx.close();
process.exitCode = missed.length + more.length === 0 ? 0 : 1;
