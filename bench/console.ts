// A merchant with a million payments: the time of every list, filter, search and home page of the console, and the memory that an
// export of all rows takes. Run by hand: node bench/console.ts [rows]. It makes its own database and removes it. Pages above the
// limit end it with an error.

import { spawn } from 'node:child_process';
import { createApp } from '../src/app.ts';
import { receiptCode } from '../src/checkout/receipt-codes.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { addMember, createSession } from '../src/holders/members.ts';
import { refOf, type Transaction } from '../src/payments/transactions.ts';
import { shortId } from '../src/platform/ids.ts';
import { createServices } from '../src/services.ts';
import { createTestContext } from '../test/harness.ts';
import { createMerchants, writePaymentRows } from './payment-rows.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const DAYS = 60;
const ROUNDS = 20;
const LIMIT_MS = 100;
const MEMORY_LIMIT_MB = 200;
const METHOD = 'MTN_MOMO_UGA';

const base = await createTestContext({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
const gateway = await createServices(base);
const app = createApp(gateway);
const url = await app.listen({ port: 0, host: '127.0.0.1' });
const { ctx } = gateway;
const [merchant] = await createMerchants(ctx, 1);
if (!merchant) throw new Error('there is no merchant');
const { holderId } = merchant;
const person = { email: 'bench@example.org', name: 'Bench', holderId, role: 'owner' } as const;
const member = await addMember(ctx, COMMAND_LINE, person);
await base.ownerDb.query('update members set is_admin = true where id = $1', [member.id]);
const { token } = await createSession(ctx, member.id, { userAgent: '', address: '' });
const cookie = `simbi_session=${token}`;

console.error(`Writing ${ROWS} payments of one merchant over ${DAYS} days…`);
const writing = { payments: ROWS, merchants: [merchant], days: DAYS, until: ctx.clock.now() };
await writePaymentRows(ctx, base.databaseUrl, writing);

const day = (back: number) => new Date(ctx.clock.millis() - back * 86_400_000).toISOString().slice(0, 10);
const [middle] = await ctx.db.query<Transaction>(
  "select * from transactions where holder_id = $1 and status = 'success' order by id desc offset $2 limit 1",
  [holderId, Math.floor(ROWS / 2)],
);
if (!middle) throw new Error('there is no payment in the middle');
const receipt = await receiptCode(ctx, middle);
const number = middle.msisdn ?? '';
/** As people say it, and with the country code. */
const local = `0${number.slice(3)}`;

const list = (query = '') => `/console/transactions${query}`;
const search = (q: string) => `/console/search?q=${encodeURIComponent(q)}`;
const typing = (q: string) => `/console/search/suggestions?q=${encodeURIComponent(q)}`;
const SEARCHES: [name: string, q: string][] = [
  ['own reference', middle.reference_1 ?? ''],
  ['number as spoken', local],
  ['number with country', number],
  ['part of a number', local.slice(0, 7)],
  ['end of a number', number.slice(-7)],
  ['short reference', shortId(refOf(middle))],
  ['receipt code', receipt],
  ['operator receipt', middle.receipt ?? ''],
  ['amount', '2500'],
  ['name', 'wanjiku'],
  ['page', 'payouts'],
  ['nothing', 'nowhere-to-be-found'],
];
const PAGES: [name: string, path: string][] = [
  ['home', '/console'],
  ['home: today', '/console?range=today'],
  ['home: 7 days', '/console?range=7d'],
  ['home: 60 days', '/console?range=60d'],
  ['home: month', '/console?range=month'],
  ['list', list()],
  ['list: deep page', list(`?after=${middle.id}`)],
  ['list: oldest first', list('?sort=oldest')],
  ['list: largest first', list('?sort=largest')],
  ['list: smallest first', list('?sort=smallest')],
  ...['succeeded', 'failed', 'waiting', 'refunded'].map((tab): [string, string] => [
    `tab: ${tab}`,
    list(`?status=${tab}`),
  ]),
  ...['today', 'week', 'fortnight', 'month', 'last-month'].map((range): [string, string] => [
    `range: ${range}`,
    list(`?range=${range}`),
  ]),
  ['filter: expired', list('?status=expired')],
  ['filter: payouts', list('?type=payout')],
  ['filter: method and country', list(`?method=${METHOD}&country=11`)],
  ['filter: integration', list(`?integration=${merchant.integrationId}`)],
  ['filter: days', list(`?from=${day(40)}&to=${day(38)}`)],
  ['filter: days, failed, largest', list(`?from=${day(40)}&to=${day(20)}&status=failed&sort=largest`)],
  ['filter: amount', list('?least=2500&most=2500')],
  ['filter: reference', list(`?reference=${middle.reference_1}`)],
  ['filter: number', list(`?number=${local}`)],
  ['filter: text', list('?text=nothing-has-this')],
  ['filter panel', list('?open=filter&range=month')],
  ...SEARCHES.map(([name, q]): [string, string] => [`search: ${name}`, search(q)]),
  ...SEARCHES.map(([name, q]): [string, string] => [`typing: ${name}`, typing(q)]),
  ['transaction', `/console/transactions/${refOf(middle)}`],
  ['refund', `/console/transactions/${refOf(middle)}/refund`],
  ['links', '/console/links'],
  ['links: active', '/console/links?status=active'],
  ['payouts', '/console/payouts'],
  ['payouts: failed', '/console/payouts?show=failed'],
  ['balances', '/console/balances'],
  ['statement', '/console/balances/UGX'],
  ['statement: a day', `/console/balances/UGX?day=${day(30)}`],
  ['cases', '/console/cases'],
  ['callbacks', '/console/callbacks'],
  ['callbacks: delivered', '/console/callbacks?status=delivered'],
  ['callbacks: failed', '/console/callbacks?status=failed'],
  ['requests', '/console/requests'],
  ['integrations', '/console/integrations'],
  ['team', '/console/team'],
  ['audit', '/console/audit'],
  ['settings', '/console/settings'],
  ['notifications', '/console/notifications'],
  ['account', '/console/account'],
  ['staff: merchants', '/console/admin'],
  ['staff: merchant', `/console/admin/holders/${holderId}`],
  ['staff: operators', '/console/admin/rails'],
  ['staff: cases', '/console/admin/cases'],
  ['staff: reports', '/console/admin/reports'],
  ['staff: debts', '/console/admin/debts'],
  ['staff: ledger', '/console/admin/ledger'],
  ['staff: limits', '/console/admin/limits'],
];

async function timeOf(path: string): Promise<number> {
  const started = performance.now();
  const answer = await fetch(url + path, { headers: { cookie } });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return performance.now() - started;
}

const shown = (time: number) => `${time.toFixed(1).padStart(9)}`;
console.log(`${'milliseconds'.padEnd(32)} ${'median'.padStart(9)} ${'p95'.padStart(9)} ${'first'.padStart(9)}`);
let slow = 0;
for (const [name, path] of PAGES) {
  // The first look at the home page counts the days; every later one reads them.
  const first = await timeOf(path);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await timeOf(path));
  times.sort((left, right) => left - right);
  const p95 = times[Math.ceil(ROUNDS * 0.95) - 1] ?? 0;
  if (p95 > LIMIT_MS) slow++;
  const mark = p95 > LIMIT_MS ? '  above the limit' : '';
  console.log(`${name.padEnd(32)} ${shown(times[ROUNDS >> 1] ?? 0)} ${shown(p95)} ${shown(first)}${mark}`);
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
const isSmall = megabytes(most - before) <= MEMORY_LIMIT_MB;
console.log(
  slow === 0
    ? `Every page within ${LIMIT_MS} ms at p95.`
    : `${slow} of ${PAGES.length} pages above ${LIMIT_MS} ms at p95.`,
);
if (!isSmall) console.log(`The export took more than ${MEMORY_LIMIT_MB} MB.`);
process.exitCode = slow === 0 && isSmall ? 0 : 1;
await app.close();
await gateway.stop();
await base.close();
