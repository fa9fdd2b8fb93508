// What it costs to read as a holder, under row-level security, instead of as the service: statements on the wire, and the time
// of one read, both ways in turns in one run. Run by hand: node bench/row-security.ts. It makes its own database and removes it.

import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import type { Database } from '../src/platform/db.ts';
import { createTestContext } from '../test/harness.ts';
import { median } from './load.ts';

const HOLDERS = 20;
const ROWS = 100_000;
const ROUNDS = 9;
const READS = 120;

const ctx = await createTestContext({ DATABASE_POOL_SIZE: '8' });
const holders: bigint[] = [];
for (let number = 1; number <= HOLDERS; number++)
  holders.push((await createHolder(ctx, COMMAND_LINE, `Holder ${number}`)).id);
await ctx.db.query(
  `insert into transactions (id, holder_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
     detail, verification, receipt, created_at, updated_at, settled_at)
   select (lpad(to_hex(1770000000000 + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 8)
       || lpad(to_hex(h), 7, '0'))::uuid,
     h, 'collection', 'success', 100, 1, 'KES', 1, 'MPESA_KEN', 'sandbox', '254712345678', '', 'prompt', 'R' || n, now(), now(), now()
   from (select n, ($1::bigint[])[1 + n % ${HOLDERS}] as h from generate_series(1, ${ROWS}) n) s`,
  [holders],
);
await ctx.ownerDb.query('vacuum analyze transactions');
const [sample] = await ctx.db.query<{ id: string }>('select id from transactions where holder_id = $1 limit 1', [
  holders[0],
]);

const ONE = { name: 'bench_one', text: 'select * from transactions where holder_id = $1 and id = $2' };
const LIST = 'select * from transactions where holder_id = $1 order by id desc limit 50';
const WAYS: [string, (db: Database) => Promise<unknown>][] = [
  ['one row, prepared', (db) => db.query(ONE, [holders[0], sample?.id])],
  ['a page of 50 rows', (db) => db.query(LIST, [holders[0]])],
];

async function time(read: () => Promise<unknown>, atOnce: number): Promise<number> {
  const started = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let done = 0; done < READS / atOnce; done++) await read();
    }),
  );
  return ((performance.now() - started) * 1000) / READS;
}

const own = ctx.db.forHolder(holders[0] ?? 0n);
for (const [name, read] of WAYS)
  for (const atOnce of [1, 8]) {
    const service: number[] = [];
    const tenant: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      service.push(await time(() => read(ctx.db), atOnce));
      tenant.push(await time(() => read(own), atOnce));
    }
    const [before, after] = [median(service), median(tenant)];
    console.log(
      `${name}, ${atOnce} at once: ${before.toFixed(0)} µs as the service, ${after.toFixed(0)} µs as the holder, ` +
        `ratio ${(after / before).toFixed(2)}`,
    );
  }
await ctx.close();
