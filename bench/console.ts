// A holder with a million transactions: the time of every list, filter and search page of the console, and the memory that
// an export of all rows takes. Run by hand: node bench/console.ts [rows]. It makes its own database and removes it.

import { spawn } from 'node:child_process';
import { createApp } from '../src/app.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { addMember, createSession } from '../src/holders/members.ts';
import { createServices } from '../src/services.ts';
import { createTestContext } from '../test/harness.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 20;
const LIMIT_MS = 150;
const MEMORY_LIMIT_MB = 200;
const PIECE = 50_000;

const base = await createTestContext({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
const gateway = await createServices(base);
const app = createApp(gateway);
const url = await app.listen({ port: 0, host: '127.0.0.1' });
const { ctx } = gateway;
const holder = await createHolder(ctx, COMMAND_LINE, 'A million');
await createIntegration(ctx, COMMAND_LINE, holder.id, 'A million');
const member = await addMember(ctx, COMMAND_LINE, {
  email: 'bench@example.org',
  name: 'Bench',
  holderId: holder.id,
  role: 'owner',
});
const { token } = await createSession(ctx, member.id, { userAgent: '', address: '' });
const cookie = `simbi_session=${token}`;

console.error(`Writing ${ROWS} transactions of one holder over 60 days…`);
const now = ctx.clock.millis();
for (let from = 0; from < ROWS; from += PIECE)
  await ctx.db.query(
    `insert into transactions (
       id, holder_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
       reference_1, detail, verification, receipt, created_at, updated_at, settled_at)
     select (lpad(to_hex(at), 12, '0') || '7' || substr(md5(n::text), 1, 3)
              || '8' || substr(md5(n::text), 4, 8) || lpad(to_hex($1::bigint), 7, '0'))::uuid,
            $1, 'collection',
            case when n % 10 = 0 then 'failed' when n % 997 = 0 then 'expired' else 'success' end,
            100 + (n::bigint * 7919) % 5000000, 100, 'KES', 1, 'MPESA_KEN', 'sandbox',
            '2547' || lpad(((n::bigint * 48271) % 100000000)::text, 8, '0'),
            'order-' || n, 'Collection', 'prompt', 'RC' || n,
            to_timestamp(at / 1000.0), to_timestamp(at / 1000.0), to_timestamp(at / 1000.0)
     from (select n, ($2::bigint - n::bigint * 5184000000 / $5) as at from generate_series($3::int, $4::int) n) s`,
    [holder.id, now, from, Math.min(from + PIECE, ROWS) - 1, ROWS],
  );
await base.ownerDb.query('analyze transactions');

const day = (back: number) => new Date(now - back * 86_400_000).toISOString().slice(0, 10);
const middle = Math.floor(ROWS / 2);
const [deep] = await ctx.db.query<{ id: string }>(
  'select id from transactions where holder_id = $1 order by id desc offset $2 limit 1',
  [holder.id, middle],
);
const PAGES: [name: string, path: string][] = [
  ['home', '/console'],
  ['list', '/console/transactions'],
  ['list, deep page', `/console/transactions?after=${deep?.id}`],
  ['filter: common status', '/console/transactions?status=failed'],
  ['filter: rare status', '/console/transactions?status=expired'],
  ['filter: nothing fits', '/console/transactions?type=payout'],
  ['filter: method and country', '/console/transactions?method=MPESA_KEN&country=1'],
  ['filter: days', `/console/transactions?from=${day(40)}&to=${day(38)}`],
  ['filter: amount', '/console/transactions?least=123.45&most=123.50'],
  ['filter: reference', `/console/transactions?reference=order-${middle}`],
  ['filter: number', `/console/transactions?number=2547${String((middle * 48271) % 100_000_000).padStart(8, '0')}`],
  ['filter: text', '/console/transactions?text=nothing-has-this'],
  ['search: reference', `/console/search?q=order-${middle}`],
  ['search: number', `/console/search?q=2547${String((middle * 48271) % 100_000_000).padStart(8, '0')}`],
  ['search: part of a number', '/console/search?q=9999999'],
  ['search: nothing', '/console/search?q=nowhere-to-be-found'],
  ['balances', '/console/balances'],
  ['requests', '/console/requests'],
  ['callbacks', '/console/callbacks'],
  ['payouts', '/console/payouts'],
  ['links', '/console/links'],
  ['cases', '/console/cases'],
];

async function timeOf(path: string): Promise<number> {
  const started = performance.now();
  const answer = await fetch(url + path, { headers: { cookie } });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return performance.now() - started;
}

let slow = 0;
for (const [name, path] of PAGES) {
  // The first look at the home page counts the days; every later one reads them.
  const first = await timeOf(path);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await timeOf(path));
  times.sort((left, right) => left - right);
  const p95 = times[Math.ceil(ROUNDS * 0.95) - 1] ?? 0;
  if (p95 > LIMIT_MS) slow++;
  const shown = (time: number) => `${time.toFixed(1).padStart(7)} ms`;
  const median = times[ROUNDS >> 1] ?? 0;
  console.log(`${name.padEnd(28)} p95 ${shown(p95)}   median ${shown(median)}   first ${shown(first)}`);
}

// Read by another process, so that only the server's memory is measured.
const reader = spawn(process.execPath, [
  '-e',
  `fetch(process.argv[1], { headers: { cookie: process.argv[2] } }).then(async (answer) => {
     let bytes = 0;
     for await (const chunk of answer.body) bytes += chunk.length;
     console.log(bytes);
   })`,
  `${url}/console/transactions.csv`,
  cookie,
]);
const started = performance.now();
const before = process.memoryUsage().rss;
let most = before;
const watch = setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss);
}, 20);
let bytes = 0;
reader.stdout.on('data', (chunk: Buffer) => {
  bytes = Number(chunk.toString());
});
await new Promise((resolve) => reader.once('close', resolve));
clearInterval(watch);
const megabytes = (value: number) => Math.round(value / 1024 / 1024);
const exportSeconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  `export: ${ROWS} rows, ${megabytes(bytes)} MB in ${exportSeconds} s; ` +
    `memory ${megabytes(before)} → ${megabytes(most)} MB at most`,
);
console.log(
  slow === 0 && megabytes(most - before) <= MEMORY_LIMIT_MB
    ? `Every page within ${LIMIT_MS} ms at p95.`
    : `${slow} pages above ${LIMIT_MS} ms at p95.`,
);
await app.close();
await gateway.stop();
await base.close();
