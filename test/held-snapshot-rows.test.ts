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
    before(async () => {
      ctx = await createTestContext();
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

    async function createHolders(count: number): Promise<bigint[]> {
      const rows = await ctx.db.query<{ id: bigint }>(
        `insert into holders (name, created_at, updated_at)
         select 'Shop ' || number, $1, $1 from generate_series(1, $2::int) as number returning id`,
        [ctx.clock.now(), count],
      );
      return rows.map(({ id }) => id);
    }

    /** One transaction after another, each with a payment of each of its holders. */
    async function complete(batches: readonly bigint[][], by = db): Promise<void> {
      for (const holders of batches) {
        const facts = holders.map((holderId) => {
          const transactionId = createUuid(ctx.clock.millis());
          return { holderId, transactionId, currency: 'XOF', amount: 100n, fee: 1n, rail: 'mtn_bj' };
        });
        const transfers = facts.map((fact) => [...collectionSucceeded(fact), ...reserveHeld({ ...fact, amount: 10n })]);
        const success = { integrationId: null, type: 'collection.success', data: {}, url: null } as const;
        const events = facts.map(({ holderId, transactionId }) => ({ holderId, transactionId, ...success }));
        await by.transaction(async (tx) => {
          await post(tx, transfers.flat(), ctx.clock.now());
          await recordEvents(tx, events, ctx.clock.now());
        });
      }
    }

    async function pagesRead(by = db): Promise<Record<string, number>> {
      await by.query('select pg_stat_force_next_flush()');
      const rows = await by.query<{ name: string; pages: number }>(
        `select relname as name, (heap_blks_read + heap_blks_hit)::int as pages from pg_statio_user_tables
       where relname in ('ledger_accounts', 'ledger_positions', 'event_feeds')`,
      );
      return Object.fromEntries(rows.map(({ name, pages }) => [name, pages]));
    }

    async function pagesOfATransaction(batches: readonly bigint[][]): Promise<Record<string, number>> {
      const before = await pagesRead();
      await complete(batches);
      const now = await pagesRead();
      return Object.fromEntries(
        Object.entries(now).map(([name, pages]) => [name, (pages - (before[name] ?? 0)) / batches.length]),
      );
    }

    function compare(first: Record<string, number>, last: Record<string, number>): void {
      // A version that finds no room beside the old ones is compared with them when its index entries are made: some more are read.
      for (const [table, pages] of Object.entries(last))
        assert.ok(pages < 2 * (first[table] ?? 0), `${pages} pages of ${table}, ${first[table]} at first`);
    }

    test(`the ${PAYMENTS}th payment reads about as many pages of balances and positions as the first`, async () => {
      const holder = await createHolders(1);
      const payments = (count: number) => Array.from({ length: count }, () => holder);
      await complete(payments(1));
      if (tables === 'small') await ctx.ownerDb.query('analyze ledger_accounts, ledger_positions, event_feeds');
      await complete(payments(COUNTED));
      const first = await pagesOfATransaction(payments(COUNTED));
      await complete(payments(PAYMENTS));
      compare(first, await pagesOfATransaction(payments(COUNTED)));
    });

    test('also together with payments of holders that the process has not seen', async () => {
      const [popular = 0n, ...others] = await createHolders(1 + 2 * COUNTED);
      // Their accounts were made by another process, whose pages are counted before ours.
      const other = connectDatabase({ url: ctx.databaseUrl, poolSize: 1 });
      await complete([others], other);
      await pagesRead(other);
      await other.close();
      // As autovacuum does soon after so many changes.
      await ctx.ownerDb.query('analyze ledger_accounts, ledger_positions, event_feeds');
      await complete([[popular], [popular]]);
      const together = others.map((other) => [popular, other]);
      const first = await pagesOfATransaction(together.slice(0, COUNTED));
      await complete(Array.from({ length: PAYMENTS }, () => [popular]));
      compare(first, await pagesOfATransaction(together.slice(COUNTED)));
    });
  });
}
