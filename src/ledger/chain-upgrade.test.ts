// A ledger from before there were partitions: the migration seals what was left, and the chain goes on from there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createEmptyDatabase } from '../../test/database.ts';
import { createTestContext, PATIENCE } from '../../test/harness.ts';
import { connectDatabase } from '../platform/db.ts';
import { createUuid } from '../platform/ids.ts';
import { createMemory } from '../platform/memory.ts';
import { admitServiceLogin, migrate } from '../platform/migrate.ts';
import { extendChain, newestHead } from './chain.ts';
import { post } from './ledger.ts';
import { collectionSucceeded } from './postings.ts';
import { verifyLedger } from './verify.ts';

const LAST_WITHOUT_PARTITIONS = 66;
const PARTITIONS = new URL('../../migrations/0067_ledger_partitions.sql', import.meta.url);

const OLD_LEDGER = `
  insert into holders (name, created_at, updated_at) values ('Shop', '2026-01-01', '2026-01-01');
  insert into wallets (holder_id, currency, created_at) values (1, 'XOF', '2026-01-01');
  insert into ledger_accounts (holder_id, key, kind, rail, currency, may_go_negative, wallet_account, updated_at) values
    (1, 'clearing:1:sandbox:XOF', 'operator_clearing', 'sandbox', 'XOF', true, null, '2026-01-01'),
    (1, 'wallet:1:XOF:available', 'wallet_available', null, 'XOF', false, 1001, '2026-01-01'),
    (1, 'wallet:1:XOF:reserved', 'wallet_reserved', null, 'XOF', false, 1001, '2026-01-01');
  select post_transfers('{1,1}', '{1,1}', '{2,2}', '{500,700}', '{-500,-1200}', '{500,1200}',
    array[gen_random_uuid(), gen_random_uuid()], '{collection,collection}', '{XOF,XOF}', '2026-01-02');
  insert into ledger_blocks (number, after_id, last_id, transfers, previous_hash, hash, sealed_at)
  select 1, 0, 1, 1, zero, sha256(zero || convert_to(concat_ws('|', id, batch, holder_id, debit_account, credit_account, amount, currency,
    kind, transaction_id, (extract(epoch from posted_at) * 1000000)::bigint, debit_balance, credit_balance), 'UTF8')), '2026-01-02'
  from ledger_transfers, (select decode(repeat('00', 32), 'hex') as zero) as genesis where id = 1`;

test('a ledger of the version before is sealed to its end, and goes on in partitions', async () => {
  const database = await createEmptyDatabase();
  await migrate(database.url, undefined, undefined, LAST_WITHOUT_PARTITIONS);
  const owner = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
  await owner.transaction(async (tx) => {
    for (const statement of OLD_LEDGER.split(';\n')) await tx.query(statement);
  });
  await migrate(database.url);
  await admitServiceLogin(database.url, database.url);
  const base = await createTestContext();
  const db = connectDatabase({ url: database.url, poolSize: 2 });
  const ctx = { ...base, db, memory: createMemory() };
  try {
    const before = await verifyLedger(ctx);
    assert.deepEqual(before.differences, []);
    assert.deepEqual([before.checked.transfers, before.checked.blocks, before.checked.unsealed], [2, 2, 0]);
    // A process of the version before goes on for a while: its block is not kept.
    await owner.query(
      `insert into ledger_blocks (number, after_id, last_id, transfers, previous_hash, hash, sealed_at)
       values (3, 2, 9, 7, '', '', now())`,
    );
    const paid = collectionSucceeded({
      holderId: 1n,
      currency: 'XOF',
      rail: 'sandbox',
      amount: 5_00n,
      fee: 0n,
      transactionId: createUuid(ctx.clock.millis()),
    });
    await db.transaction((tx) => post(tx, paid, ctx.clock.now()));
    assert.equal(await extendChain(ctx, { partial: true }), 1);
    const after = await verifyLedger(ctx, { knownHeads: before.checked.head ? [before.checked.head] : [] });
    assert.deepEqual(after.differences, []);
    assert.deepEqual([after.checked.transfers, after.checked.blocks, after.checked.heads], [3, 3, 1]);
    assert.equal((await newestHead(db))?.number, 3n);
  } finally {
    await db.close();
    await owner.close();
    await base.close();
    await database.drop();
  }
});

test('a posting that waits while the table is changed has a position too', async () => {
  const database = await createEmptyDatabase();
  await migrate(database.url, undefined, undefined, LAST_WITHOUT_PARTITIONS);
  const owner = connectDatabase({ ...PATIENCE, url: database.url, as: 'owner', poolSize: 2 });
  const poster = connectDatabase({ ...PATIENCE, url: database.url, as: 'owner', poolSize: 1 });
  try {
    await owner.transaction(async (tx) => {
      for (const statement of OLD_LEDGER.split(';\n')) await tx.query(statement);
    });
    let late: Promise<unknown> = Promise.resolve();
    await owner.transaction(async (tx) => {
      await tx.query('lock table ledger_transfers in access exclusive mode');
      late = poster.query(
        `select post_transfers('{1,1}', '{1,1}', '{2,2}', '{100,200}', '{-1300,-1500}', '{1300,1500}',
           array[gen_random_uuid(), gen_random_uuid()], '{collection,collection}', '{XOF,XOF}', '2026-01-03')`,
      );
      const isWaiting = `select from pg_locks where not granted and relation = 'ledger_transfers'::regclass`;
      while ((await owner.query(isWaiting)).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      await tx.query(readFileSync(PARTITIONS, 'utf8'));
    });
    await late;
    const rows = await owner.query<{ position: bigint | null }>('select position from ledger_transfers order by id');
    assert.deepEqual(
      rows.map(({ position }) => position),
      [null, null, 1n, 2n],
    );
  } finally {
    await owner.close();
    await poster.close();
    await database.drop();
  }
});
