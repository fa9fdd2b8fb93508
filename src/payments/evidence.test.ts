// Evidence by month: a database from before the partitions keeps every row and its guards, and new months get partitions.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createEmptyDatabase, type TestDatabase } from '../../test/database.ts';
import { createTestContext } from '../../test/harness.ts';
import { connectDatabase, type Database } from '../platform/db.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { admitServiceLogin, migrate } from '../platform/migrate.ts';
import { keepEvidenceMonths, listEvidence, recordEvidence } from './evidence.ts';

const LAST_BEFORE = 47;
const INSERT = `insert into evidence (holder_id, transaction_id, at, source, state, effect, raw)
                values ($1, $2, $3, 'poll', 'pending', 'ignored', $4)`;

describe('a database with evidence from before the partitions', () => {
  let database: TestDatabase;
  let owner: Database;
  let service: Database;
  const old = createHolderUuid(Date.parse('2021-05-06T07:08:09Z'), 1n);
  /** Of a process whose clock was ahead. */
  const ahead = createHolderUuid(Date.now() + 70 * 86_400_000, 0n);

  before(async () => {
    database = await createEmptyDatabase();
    await migrate(database.url, undefined, undefined, LAST_BEFORE);
    owner = connectDatabase({ url: database.url, as: 'owner', poolSize: 2 });
    await owner.query(`insert into holders (name, created_at, updated_at) values ('Old shop', now(), now())`);
    for (const [holder, id] of [
      [1n, old],
      [0n, ahead],
    ] as const)
      await owner.query(INSERT, [holder, id, new Date(), 'from before']);
    await migrate(database.url);
    await admitServiceLogin(database.url, database.url);
    service = connectDatabase({ url: database.url, poolSize: 2 });
  });
  after(async () => {
    await service.close();
    await owner.close();
    await database.drop();
  });

  test('no row is copied, and each is read as before', async () => {
    const rows = await owner.query<{ name: string }>('select tableoid::regclass::text as name from evidence');
    assert.deepEqual(new Set(rows.map(({ name }) => name)), new Set(['evidence_before']));
    for (const [holder, id] of [
      [1n, old],
      [0n, ahead],
    ] as const)
      assert.deepEqual(
        (await listEvidence(service, holder, id)).entries.map(({ raw }) => raw),
        ['from before'],
      );
  });

  test('new rows continue the order, in the first partition until its end and in months after it', async () => {
    await service.query(INSERT, [1n, old, new Date(), 'later']);
    assert.deepEqual(
      (await listEvidence(service, 1n, old)).entries.map(({ raw }) => raw),
      ['from before', 'later'],
    );
    const [rule] = await owner.query<{ since: Date }>(`select since from partition_rules where parent = 'evidence'`);
    assert.ok(rule && rule.since.getTime() > Date.now() + 70 * 86_400_000);
    const create = (at: Date) => service.query(`select create_partition('evidence', $1) as created`, [at]);
    assert.deepEqual(await create(new Date()), [{ created: false }], 'the first partition has the present month');
    assert.deepEqual(await create(rule.since), [{ created: true }]);
    await service.query(INSERT, [1n, createHolderUuid(rule.since.getTime(), 1n), new Date(), 'new month']);
    const [row] = await owner.query<{ name: string }>(
      `select tableoid::regclass::text as name from evidence where raw = 'new month'`,
    );
    assert.match(row?.name ?? '', /^evidence_\d{4}_\d{2}$/);
  });

  test('nobody changes it, and the service does not reach the first partition past its parent', async () => {
    await assert.rejects(owner.query(`update evidence set raw = ''`), /append-only/);
    await assert.rejects(owner.query('delete from evidence'), /append-only/);
    await assert.rejects(service.query('select * from evidence_before'), /permission denied/);
    await assert.rejects(
      service.query(`select drop_partition('evidence', '2021-05-01Z', '2021-07-01Z')`),
      /too young to be dropped/,
    );
    await assert.rejects(service.query(`select trim_default_partition('evidence', '2021-07-01Z')`), /too young/);
  });
});

describe('months of evidence', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('rows that came before their month are moved there, and partitions have the settings of rows that are only added', async () => {
    const id = createHolderUuid(ctx.clock.millis(), 1n);
    const observation = { state: 'pending' } as const;
    await ctx.db.transaction((tx) =>
      recordEvidence(
        tx,
        [{ transactionId: id, source: 'poll', observation, raw: '{}', effect: 'ignored' }],
        new Date(),
      ),
    );
    assert.equal(await keepEvidenceMonths(ctx), 4);
    assert.equal(await keepEvidenceMonths(ctx), 0);
    assert.deepEqual(
      await ctx.ownerDb.query(
        `select e.tableoid::regclass::text as name, 'autovacuum_freeze_min_age=0' = any (c.reloptions) as frozen
         from evidence e join pg_class c on c.oid = e.tableoid`,
      ),
      [{ name: 'evidence_2026_03', frozen: true }],
    );
    assert.equal((await listEvidence(ctx.db, 1n, id)).entries.length, 1);
  });
});
