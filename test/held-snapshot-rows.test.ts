// A backup or a long report keeps a snapshot open, and until it ends no old version of a row is cleaned away. The rows that change with
// every payment must then be found without reading all of them.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { recordEvents } from '../src/callbacks/events.ts';
import { post } from '../src/ledger/ledger.ts';
import { collectionSucceeded, reserveHeld } from '../src/ledger/postings.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createUuid } from '../src/platform/ids.ts';
import { createTestContext } from './harness.ts';

const PAYMENTS = 300;
const COUNTED = 20;

// A plan is kept while the tables grow: one that was made for small tables, and one for tables that were never measured.
for (const tables of ['small', 'unknown']) measureRows(tables);

function measureRows(tables: string): void {
  describe(`rows under a snapshot that is held open, of tables that are ${tables} to the planner`, () => {
    let ctx: Awaited<ReturnType<typeof createTestContext>>;
    let db: Database;
    let snapshot: pg.Client;
    let holderId: bigint;
    before(async () => {
      ctx = await createTestContext();
      const [holder] = await ctx.db.query<{ id: bigint }>(
        `insert into holders (name, created_at, updated_at) values ('Shop', $1, $1) returning id`,
        [ctx.clock.now()],
      );
      assert.ok(holder);
      holderId = holder.id;
      // One connection, whose counters are those of all that is done.
      db = connectDatabase({ url: ctx.databaseUrl, poolSize: 1 });
      snapshot = new pg.Client(ctx.databaseUrl);
      await snapshot.connect();
      await snapshot.query('begin isolation level repeatable read');
      await snapshot.query('select count(*) from holders');
    });
    after(async () => {
      await snapshot.end();
      await db.close();
      await ctx.close();
    });

    async function complete(payments: number): Promise<void> {
      for (let payment = 0; payment < payments; payment++) {
        const transactionId = createUuid(ctx.clock.millis());
        const fact = { holderId, transactionId, currency: 'XOF', amount: 100n, fee: 1n, rail: 'mtn_bj' };
        const event = { holderId, integrationId: null, transactionId, data: {}, url: null };
        await db.transaction(async (tx) => {
          await post(tx, [...collectionSucceeded(fact), ...reserveHeld({ ...fact, amount: 10n })], ctx.clock.now());
          await recordEvents(tx, [{ ...event, type: 'collection.success' }], ctx.clock.now());
        });
      }
    }

    async function pagesRead(): Promise<Record<string, number>> {
      await db.query('select pg_stat_force_next_flush()');
      const rows = await db.query<{ name: string; pages: number }>(
        `select relname as name, (heap_blks_read + heap_blks_hit)::int as pages from pg_statio_user_tables
       where relname in ('ledger_accounts', 'ledger_positions', 'event_feeds')`,
      );
      return Object.fromEntries(rows.map(({ name, pages }) => [name, pages]));
    }

    async function pagesOfAPayment(): Promise<Record<string, number>> {
      const before = await pagesRead();
      await complete(COUNTED);
      const now = await pagesRead();
      return Object.fromEntries(
        Object.entries(now).map(([name, pages]) => [name, (pages - (before[name] ?? 0)) / COUNTED]),
      );
    }

    test(`the ${PAYMENTS}th payment reads about as many pages of balances and positions as the first`, async () => {
      await complete(1);
      if (tables === 'small') await ctx.ownerDb.query('analyze ledger_accounts, ledger_positions, event_feeds');
      await complete(COUNTED);
      const first = await pagesOfAPayment();
      await complete(PAYMENTS);
      const last = await pagesOfAPayment();
      // A version that finds no room beside the old ones is compared with them when its index entries are made: some more are read.
      for (const [table, pages] of Object.entries(last))
        assert.ok(pages < 2 * (first[table] ?? 0), `${pages} pages of ${table} a payment, ${first[table]} at first`);
    });
  });
}
