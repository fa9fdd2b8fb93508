// ledger verify over many transactions: its time by stage, and the memory of the process while it runs. Run by hand:
// node bench/verify.ts --transactions 1000000. It makes its own database and removes it.

import { parseArgs } from 'node:util';
import { verifyBooks } from '../src/payments/verify-books.ts';
import { addVerifyRun } from '../src/payments/verify-runs.ts';
import { createTestContext } from '../test/harness.ts';
import { createMerchants, writePaymentRows } from './payment-rows.ts';

const { values } = parseArgs({ options: { transactions: { type: 'string', default: '1000000' } } });
const TRANSACTIONS = Number(values.transactions);
const HOLDERS = 20;
const DAYS = 60;
const MEGABYTE = 2 ** 20;

const ctx = await createTestContext();
const db = ctx.ownerDb;
const merchants = await createMerchants(ctx, HOLDERS);
console.error(`Writing ${TRANSACTIONS} transactions of ${HOLDERS} holders…`);
await writePaymentRows(ctx, ctx.databaseUrl, { payments: TRANSACTIONS, merchants, days: DAYS, until: ctx.clock.now() });

console.error('Verifying…');
const seconds = new Map<string, number>();
const memory: number[] = [];
let last = performance.now();
const started = last;
const run = await verifyBooks(
  ctx,
  await addVerifyRun(db, { by: 'bench', since: null, inBackground: false }, ctx.clock.now()),
  {
    onProgress(stage) {
      const now = performance.now();
      seconds.set(stage, (seconds.get(stage) ?? 0) + (now - last) / 1000);
      last = now;
      memory.push(process.memoryUsage().rss / MEGABYTE);
    },
  },
);
const quarter = Math.ceil(memory.length / 4);
const peak = (part: number[]) => `${Math.round(Math.max(...part))} MB`;
console.table(
  [...seconds].map(([stage, time]) => ({
    stage,
    rows: run.checked[stage] ?? run.checked.ledger_transfers,
    seconds: time.toFixed(1),
  })),
);
console.log(
  `${TRANSACTIONS} transactions in ${((performance.now() - started) / 1000).toFixed(1)} s, ${run.differences} differences.`,
);
console.log(
  `Memory: ${peak(memory.slice(0, quarter))} in the first quarter, ${peak(memory.slice(-quarter))} in the last.`,
);
for (const finding of run.findings.slice(0, 5)) console.log(finding.sentence);
await ctx.close();
process.exitCode = run.differences === 0n ? 0 : 1;
