// ledger verify over many transactions: its time by stage, and the memory of the process while it runs. Run by hand:
// node bench/verify.ts --transactions 1000000. It makes its own database and removes it.

import { parseArgs } from 'node:util';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { extendChain } from '../src/ledger/chain.ts';
import { verifyBooks } from '../src/payments/verify-books.ts';
import { addVerifyRun } from '../src/payments/verify-runs.ts';
import { createTestContext } from '../test/harness.ts';

const { values } = parseArgs({ options: { transactions: { type: 'string', default: '1000000' } } });
const TRANSACTIONS = Number(values.transactions);
const HOLDERS = 20;
const PIECE = 10_000;
const MEGABYTE = 2 ** 20;
const GUARDED = ['ledger_transfers', 'ledger_accounts'];

const ctx = await createTestContext();
const db = ctx.ownerDb;
const holders: bigint[] = [];
for (let number = 1; number <= HOLDERS; number++)
  holders.push((await createHolder(ctx, COMMAND_LINE, `Holder ${number}`)).id);

// Each holder has its n-th payment of 1,000 with a fee of 10, so every balance follows from n. Those of the last holder fail.
const PAYMENTS = `
  select n, h.holder_id, n / ${HOLDERS} + 1 as nth, h.holder_id <> $4 as paid,
    (lpad(to_hex($3::bigint - (${TRANSACTIONS} - n)), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
      || substr(md5(n::text), 4, 8) || lpad(to_hex(h.holder_id), 7, '0'))::uuid as id
  from generate_series($1::bigint, $2::bigint) n
  join unnest($5::bigint[]) with ordinality as h (holder_id, place) on h.place = n % ${HOLDERS} + 1`;

const STATEMENTS = [
  `insert into transactions (holder_id, id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
     verification, receipt, created_at, updated_at, settled_at)
   select holder_id, id, 'collection', case when paid then 'success' else 'failed' end, 100000, 1000, 'KES', 1, 'MPESA_KEN', 'sandbox',
     '254712345678', 'prompt', 'R' || n, to_timestamp($3 / 1000.0), to_timestamp($3 / 1000.0), to_timestamp($3 / 1000.0)
   from (${PAYMENTS}) p`,
  `insert into ledger_transfers (holder_id, debit_account, credit_account, amount, debit_balance, credit_balance, posted_at,
     transaction_id, kind, currency)
   select p.holder_id, c.id, a.id, amount, debit, credit, to_timestamp($3 / 1000.0), p.id, x.kind, 'KES'
   from (${PAYMENTS}) p
   cross join lateral (values (1, 'collection'::transfer_kind, 'wallet_available', 99000, -100000 * nth + 1000, 99000 * nth),
                              (2, 'collection_fee', 'fee_income', 1000, -100000 * nth, 1000 * nth))
     as x (place, kind, account, amount, debit, credit)
   join ledger_accounts c on c.holder_id = p.holder_id and c.kind = 'operator_clearing'
   join ledger_accounts a on a.holder_id = p.holder_id and a.kind = x.account
   where paid order by p.n, x.place`,
  `insert into operator_receipts (rail, receipt, holder_id, transaction_id, at)
   select 'sandbox', 'R' || n, holder_id, id, to_timestamp($3 / 1000.0) from (${PAYMENTS}) p where paid`,
  `insert into events (holder_id, transaction_id, type, sequence, id, position, body, created_at)
   select holder_id, id, case when paid then 'collection.success' else 'collection.failed' end, 1, id, nth, '', to_timestamp($3 / 1000.0)
   from (${PAYMENTS}) p`,
];

async function writeAccounts(): Promise<void> {
  const at = ctx.clock.now();
  await db.query(`insert into wallets (holder_id, currency, created_at) select unnest($1::bigint[]), 'KES', $2`, [
    holders,
    at,
  ]);
  const paid = Math.floor(TRANSACTIONS / HOLDERS);
  await db.query(
    `insert into ledger_accounts (holder_id, key, kind, rail, wallet_account, currency, may_go_negative, balance, updated_at)
     select w.holder_id, format(x.key, w.holder_id), x.kind, x.rail, case when x.key like 'wallet%' then w.wallet_account end, 'KES',
       x.rail is not null, case when w.holder_id = $3 then 0 else x.each * $2::bigint end, $1
     from wallets w cross join (values ('wallet:%s:KES:available', 'wallet_available', null, 99000),
       ('wallet:%s:KES:reserved', 'wallet_reserved', null, 0), ('fees:%s:KES', 'fee_income', null, 1000),
       ('clearing:%s:sandbox:KES', 'operator_clearing', 'sandbox', -100000)) as x (key, kind, rail, each)`,
    [at, paid, holders.at(-1)],
  );
  await db.query('insert into event_feeds (holder_id, last_position) select unnest($1::bigint[]), $2', [holders, paid]);
}

console.error(`Writing ${TRANSACTIONS} transactions of ${HOLDERS} holders…`);
for (const table of GUARDED) await db.query(`alter table ${table} disable trigger user`);
await writeAccounts();
for (let from = 0; from < TRANSACTIONS; from += PIECE)
  for (const statement of STATEMENTS)
    await db.query(statement, [
      from,
      Math.min(from + PIECE, TRANSACTIONS) - 1,
      ctx.clock.millis(),
      holders.at(-1),
      holders,
    ]);
for (const table of GUARDED) await db.query(`alter table ${table} enable trigger user`);
await db.withConnection(async (connection) => {
  await connection.query('set statement_timeout = 0');
  await connection.query('vacuum analyze');
  await connection.query('reset statement_timeout');
});
while ((await extendChain(ctx, { partial: true })) > 0);

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
