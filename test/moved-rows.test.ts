// Each process looks for balances, positions and feeds where it last saw them (decision 65). Here two of them post to the same holders
// while the tables are written anew again and again, so that a place has another row, or none, the next time.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { recordEvents } from '../src/callbacks/events.ts';
import { postEach } from '../src/ledger/ledger.ts';
import { collectionSucceeded } from '../src/ledger/postings.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createUuid } from '../src/platform/ids.ts';
import { createTestContext } from './harness.ts';

// A server to itself: PostgreSQL takes the age of a snapshot from the transactions of all databases, so one that has written in another
// database keeps old versions here until it ends. The tests beside this one would decide whether pages can be cleaned.
delete process.env.TEST_POSTGRES_URL;

const HOLDERS = 8;
const WRITERS = 6;
const BATCHES = 30;
/** More than a page has room for. */
const VERSIONS = 150;
/** Each orders the rows in another way than the one before. */
const REWRITES = [
  'cluster ledger_accounts using account_id',
  'cluster ledger_accounts using account_key_unique',
  'vacuum full ledger_accounts',
  'vacuum full ledger_positions',
  'vacuum full event_feeds',
];

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let other: Database;
before(async () => {
  ctx = await createTestContext({ DATABASE_POOL_SIZE: '8' });
  other = connectDatabase({ url: ctx.databaseUrl, poolSize: 8 });
});
after(async () => {
  await other.close();
  await ctx.close();
});

describe('tables that are written anew while two processes post', () => {
  test('every payment is posted and told once, in order, and the balances are those of the transfers', async (t) => {
    if (ctx.db.isDistributed()) return t.skip('on several servers nothing is looked up by its place');
    const rows = await ctx.db.query<{ id: bigint }>(
      `insert into holders (name, created_at, updated_at)
       select 'Shop ' || number, $1, $1 from generate_series(1, ${HOLDERS}) as number returning id`,
      [ctx.clock.now()],
    );
    const holders = rows.map(({ id }) => id);
    let working = true;
    const rewriting = (async () => {
      let done = 0;
      for (; working; done++) await ctx.ownerDb.query(REWRITES[done % REWRITES.length] ?? '');
      return done;
    })();
    const paid = new Map(holders.map((id) => [id, 0]));
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const db = writer % 2 === 0 ? ctx.db : other;
      for (let turn = 0; turn < BATCHES; turn++) {
        // Some of the holders, in turns: the other process has moved the rows of these meanwhile.
        const batch = holders.filter((_id, index) => (index + turn + writer) % 3 !== 0);
        await complete(db, batch);
        for (const id of batch) paid.set(id, (paid.get(id) ?? 0) + 1);
      }
    });
    await Promise.all(writers);
    working = false;
    assert.ok((await rewriting) >= REWRITES.length);
    const { ok, differences } = await verifyLedger(ctx);
    assert.deepEqual(differences, []);
    assert.ok(ok);
    for (const [holderId, payments] of paid) {
      assert.deepEqual(await positionsOf('ledger_transfers', holderId), numbersTo(2 * payments));
      assert.deepEqual(await positionsOf('events', holderId), numbersTo(payments));
    }
  });
});

describe('rows that are changed again and again', () => {
  test('stay on their pages, whose old versions are cleaned away', async (t) => {
    if (ctx.db.isDistributed()) return t.skip('on several servers nothing is looked up by its place');
    const rows = await ctx.db.query<{ id: bigint }>(
      `insert into holders (name, created_at, updated_at)
       select 'Busy shop ' || number, $1, $1 from generate_series(1, ${HOLDERS}) as number returning id`,
      [ctx.clock.now()],
    );
    const holders = rows.map(({ id }) => id);
    const pages = () =>
      ctx.db.query<{ row: string; page: string }>(
        `select 'account ' || id as row, split_part(ctid::text, ',', 1) as page from ledger_accounts where holder_id = any ($1)
         union all
         select 'feed ' || holder_id, split_part(ctid::text, ',', 1) from event_feeds where holder_id = any ($1)
         order by row`,
        [holders],
      );
    await complete(ctx.db, holders);
    const first = await pages();
    for (let payment = 0; payment < VERSIONS; payment++) await complete(ctx.db, holders);
    const last = await pages();
    const moved = last.filter(({ page }, index) => page !== first[index]?.page).map(({ row }) => row);
    assert.ok(moved.length < last.length / 4, `on another page: ${moved.join(', ')}`);
  });
});

async function complete(db: Database, holders: readonly bigint[]): Promise<void> {
  const facts = holders.map((holderId) => {
    const transactionId = createUuid(ctx.clock.millis());
    return { holderId, transactionId, currency: 'XOF', amount: 100n, fee: 1n, rail: 'mtn_bj' };
  });
  const events = facts.map(({ holderId, transactionId }) => ({ holderId, transactionId }));
  const success = { integrationId: null, type: 'collection.success', data: {}, url: null } as const;
  await db.transaction(async (tx) => {
    const now = ctx.clock.now();
    const posted = await postEach(
      tx,
      facts.map((fact) => collectionSucceeded(fact)),
      now,
    );
    assert.ok(posted.every((result) => result.ok));
    await recordEvents(
      tx,
      events.map((event) => ({ ...event, ...success })),
      now,
    );
  });
}

async function positionsOf(table: 'ledger_transfers' | 'events', holderId: bigint): Promise<number[]> {
  const rows = await ctx.db.query<{ position: bigint }>(
    `select position from ${table} where holder_id = $1 order by position`,
    [holderId],
  );
  return rows.map(({ position }) => Number(position));
}

function numbersTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
