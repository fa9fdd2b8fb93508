import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { connectDatabase, type Database } from './db.ts';
import { MigrationError, migrate, pendingMigrations, readMigrations } from './migrate.ts';

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

  test('a database that is newer than the code is refused', async () => {
    await writeFile(join(folder, '0003_pear.sql'), `insert into fruits values ('pear')`);
    await migrate(database.url, undefined, folder);
    await rm(join(folder, '0003_pear.sql'));
    await assert.rejects(migrate(database.url, undefined, folder), /newer than this version of Simbi.*3 \(pear\)/);
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
