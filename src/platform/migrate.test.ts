import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { connectDatabase, type Database } from './db.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { MigrationError, readMigrations } from './migration-files.ts';

describe('migrations', () => {
  let folder: string;
  let database: TestDatabase;
  let db: Database;
  const opened: { db: Database; database: TestDatabase }[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'simbi-migrations-'));
  });

  beforeEach(async () => {
    await rm(folder, { recursive: true, force: true });
    folder = await mkdtemp(join(tmpdir(), 'simbi-migrations-'));
    await writeFile(join(folder, '0001_fruits.sql'), 'create table fruits (name text primary key);');
    await writeFile(join(folder, '0002_apple.sql'), `insert into fruits values ('apple');\nselect pg_sleep(0.05);`);
    database = await createEmptyDatabase();
    db = connectDatabase({ url: database.url, as: 'owner' });
    opened.push({ db, database });
  });

  after(async () => {
    for (const each of opened) {
      await each.db.close();
      await each.database.drop();
    }
    await rm(folder, { recursive: true, force: true });
  });

  test('five starters at once apply each migration exactly once', async () => {
    const sentences: string[] = [];
    const results = await Promise.all(
      Array.from({ length: 5 }, () => migrate(database.url, (sentence) => sentences.push(sentence), folder)),
    );
    assert.deepEqual(results.flat().sort(), ['0001_fruits.sql', '0002_apple.sql']);
    assert.deepEqual(await db.query('select name from fruits'), [{ name: 'apple' }]);
    assert.ok(sentences.includes('Another process is migrating the database; waiting for it'));
  });

  test('a second run applies only what is new', async () => {
    await migrate(database.url, undefined, folder);
    await writeFile(join(folder, '0003_pear.sql'), `insert into fruits values ('pear')`);
    assert.deepEqual(await pendingMigrations(db, folder), ['0003_pear.sql']);
    assert.deepEqual(await migrate(database.url, undefined, folder), ['0003_pear.sql']);
    assert.deepEqual(await pendingMigrations(db, folder), []);
  });

  test('everything is pending on an empty database', async () => {
    assert.deepEqual(await pendingMigrations(db, folder), ['0001_fruits.sql', '0002_apple.sql']);
  });

  test('a migration that was changed after it was applied is refused', async () => {
    await migrate(database.url, undefined, folder);
    await writeFile(join(folder, '0002_apple.sql'), `insert into fruits values ('plum')`);
    const refusal = { name: 'MigrationError', message: /0002_apple\.sql was changed after it was applied/ };
    await assert.rejects(migrate(database.url, undefined, folder), refusal);
    await assert.rejects(pendingMigrations(db, folder), refusal);
  });

  test('Windows line ends do not change a checksum', async () => {
    await migrate(database.url, undefined, folder);
    await writeFile(join(folder, '0002_apple.sql'), `insert into fruits values ('apple');\r\nselect pg_sleep(0.05);`);
    assert.deepEqual(await migrate(database.url, undefined, folder), []);
  });

  test('the version before starts on a database that newer migrations only added to', async () => {
    await writeFile(join(folder, '0003_pear.sql'), 'alter table fruits add column colour text');
    await migrate(database.url, undefined, folder);
    await rm(join(folder, '0003_pear.sql'));
    assert.deepEqual(await migrate(database.url, undefined, folder), []);
    assert.deepEqual(await pendingMigrations(db, folder), []);
  });

  test('it does not start where a newer migration took away what it uses', async () => {
    await writeFile(join(folder, '0003_colour.sql'), 'alter table fruits add column colour text');
    await writeFile(
      join(folder, '0004_name.sql'),
      '-- contract: after 0003: names\nalter table fruits drop column name',
    );
    await migrate(database.url, undefined, folder);
    await rm(join(folder, '0004_name.sql'));
    assert.deepEqual(await migrate(database.url, undefined, folder), [], 'this version knows migration 3');
    await rm(join(folder, '0003_colour.sql'));
    const refusal =
      /newer than this version of Simbi: its migration 4 \(name\) needs a version with migration 3, .* ends at 2/;
    await assert.rejects(migrate(database.url, undefined, folder), refusal);
    await assert.rejects(pendingMigrations(db, folder), refusal);
  });

  test('a database with a migration of another line of development is refused', async () => {
    await writeFile(join(folder, '0003_pear.sql'), 'select 1');
    await migrate(database.url, undefined, folder);
    await rm(join(folder, '0003_pear.sql'));
    await writeFile(join(folder, '0004_plum.sql'), 'select 1');
    const refusal = /does not belong to this version of Simbi: it has migration 3 \(pear\)/;
    await assert.rejects(migrate(database.url, undefined, folder), refusal);
    await assert.rejects(pendingMigrations(db, folder), refusal);
  });

  test('a mark that cannot be read is refused', async () => {
    await writeFile(join(folder, '0003_pear.sql'), '-- contract: the names\nalter table fruits drop column name');
    await assert.rejects(readMigrations(folder), /0003_pear\.sql cannot be read: "-- contract: the names"/);
  });

  test('an index is built while the table is in use, and again after a build that failed', async () => {
    await migrate(database.url, undefined, folder);
    await db.query('alter table fruits add column colour text');
    await db.query(`insert into fruits values ('pear', 'green'), ('plum', 'green')`);
    const indexes = [
      'create index concurrently fruits_by_name on fruits (name text_pattern_ops);',
      'create unique index concurrently fruit_colour_once on fruits (colour);',
      'drop index concurrently if exists fruits_by_weight;',
    ];
    await writeFile(join(folder, '0003_indexes.sql'), indexes.join('\n'));
    await assert.rejects(
      migrate(database.url, undefined, folder),
      /0003_indexes\.sql failed at line 2: .*Indexes before it/,
    );
    assert.deepEqual(await pendingMigrations(db, folder), ['0003_indexes.sql']);
    await db.query(`update fruits set colour = 'blue' where name = 'plum'`);
    assert.deepEqual(await migrate(database.url, undefined, folder), ['0003_indexes.sql']);
    const built = await db.query(
      `select i.indexrelid::regclass::text as name from pg_index i
       where i.indrelid = 'fruits'::regclass and i.indisvalid and not i.indisprimary order by 1`,
    );
    assert.deepEqual(built, [{ name: 'fruit_colour_once' }, { name: 'fruits_by_name' }]);
  });

  test('an index that is built outside a transaction has a migration of its own', async () => {
    const sql =
      'alter table fruits add column colour text;\ncreate index concurrently fruits_by_colour on fruits (colour);';
    await writeFile(join(folder, '0003_colour.sql'), sql);
    await assert.rejects(migrate(database.url, undefined, folder), /statement in line 1 that must be in another file/);
    assert.deepEqual(await pendingMigrations(db, folder), ['0003_colour.sql']);
  });

  test('a migration that waits for a table lets the others go first', async () => {
    await migrate(database.url, undefined, folder);
    await writeFile(join(folder, '0003_colour.sql'), 'alter table fruits add column colour text');
    let migrated: Promise<string[]> | undefined;
    await db.transaction(async (tx) => {
      await tx.query('select from fruits');
      migrated = migrate(database.url, undefined, folder);
      const waiting = `select from pg_locks where relation = 'fruits'::regclass and mode = 'AccessExclusiveLock' and not granted`;
      while ((await db.query(waiting)).length === 0);
      assert.equal(
        (await db.query('select name from fruits')).length,
        1,
        'answered while the first transaction is open',
      );
    });
    assert.deepEqual(await migrated, ['0003_colour.sql']);
  });

  test('a migration that fails leaves nothing of itself and names its line', async () => {
    await writeFile(join(folder, '0003_broken.sql'), `insert into fruits values ('fig');\n\nselect missing;`);
    await assert.rejects(migrate(database.url, undefined, folder), (error) => {
      assert.ok(error instanceof MigrationError);
      assert.match(error.message, /0003_broken\.sql failed at line 3: column "missing" does not exist/);
      return true;
    });
    assert.deepEqual(await db.query('select name from fruits'), [{ name: 'apple' }]);
    assert.deepEqual(await pendingMigrations(db, folder), ['0003_broken.sql']);
  });

  test('two migrations with one number are refused', async () => {
    await writeFile(join(folder, '0002_banana.sql'), 'select 1');
    await assert.rejects(
      readMigrations(folder),
      /Two migrations have the number 2: 0002_apple\.sql and 0002_banana\.sql/,
    );
  });

  test('test databases are cloned with every migration', async () => {
    const clone = await createTestDatabase();
    const reader = connectDatabase({ url: clone.url, as: 'owner' });
    opened.push({ db: reader, database: clone });
    assert.deepEqual(await pendingMigrations(reader), []);
  });
});
