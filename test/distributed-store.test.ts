// What only a store on several servers shows: run with CITUS_URL (docs/sharding.md).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { oldestDueDelivery } from '../src/callbacks/endpoints.ts';
import { extendChain } from '../src/ledger/chain.ts';
import { post } from '../src/ledger/ledger.ts';
import { collectionSucceeded } from '../src/ledger/postings.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { Problem } from '../src/platform/errors.ts';
import { createUuid } from '../src/platform/ids.ts';
import { migrate } from '../src/platform/migrate.ts';
import { createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const HOLDERS = 5;

describe('a store on several servers', {
  skip: process.env.CITUS_URL ? false : 'needs a Citus cluster in CITUS_URL',
}, () => {
  let gateway: TestGateway;
  const refs: string[] = [];

  before(async () => {
    gateway = await createTestGateway();
    for (let index = 0; index < HOLDERS; index++) {
      const client = await createClient(gateway, `Shop ${index}`);
      const collection = ugandanCollection('000', { callback_url: 'http://127.0.0.1:9/x' });
      refs.push(textOf((await client.signed(PATHS.collect, collection)).data.ref));
    }
    await gateway.settle();
  });
  after(() => gateway.close());

  const paid = (amount: bigint) =>
    collectionSucceeded({
      holderId: 1n,
      currency: 'UGX',
      rail: 'sandbox',
      amount,
      fee: 0n,
      transactionId: createUuid(gateway.ctx.clock.millis()),
    });

  test('holds the payments of every holder, sealed and in order', async () => {
    const { ctx } = gateway;
    const rows = await ctx.db.query<{ status: string }>('select status from transactions order by id');
    assert.deepEqual(
      rows.map(({ status }) => status),
      refs.map(() => 'success'),
    );
    while ((await extendChain(ctx, { partial: true })) > 0);
    const { differences, checked } = await verifyLedger(ctx);
    assert.deepEqual(differences, []);
    assert.equal(checked.unsealed, 0);
    assert.ok(checked.transfers >= HOLDERS && checked.blocks > 0);
  });

  test('says since when a callback is due', async () => {
    const { ctx } = gateway;
    assert.ok(await oldestDueDelivery(ctx.db, new Date(ctx.clock.millis() + 86_400_000)));
    assert.equal(await oldestDueDelivery(ctx.db, new Date(0)), null);
  });

  test('refuses a posting ahead of the clock by its name', async () => {
    const { ctx } = gateway;
    const [row] = await ctx.db.query<{ ahead: Date }>(`select now() + interval '1 hour' as ahead`);
    assert.ok(row);
    await assert.rejects(
      ctx.db.transaction((tx) => post(tx, paid(100n), row.ahead)),
      (error) => error instanceof Problem && error.code === 'clock_skewed',
    );
  });

  test('posts after the grants were applied again, as every update does', async () => {
    const { ctx } = gateway;
    await ctx.ownerDb.query(`update applied_privileges set checksum = 'of the version before'`);
    await ctx.ownerDb.query(
      `do $$ begin execute (select string_agg(format('alter function %s security definer;', oid::regprocedure), ' ') from pg_proc
       where proname = 'post_transfers'); end $$`,
    );
    await migrate(ctx.databaseUrl);
    const [transfer] = await ctx.db.transaction((tx) => post(tx, paid(700n), ctx.clock.now()));
    assert.equal(transfer?.amount, 700n);
  });
});
