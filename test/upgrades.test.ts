// Every migration since the last release can be applied while that release is running, and released ones never change.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { applyMigration, applyPrivileges, prepareRecord } from '../src/platform/apply-migration.ts';
import { requireRoles, withTurns } from '../src/platform/migrate.ts';
import { checkMigrations } from '../src/platform/migration-check.ts';
import { type Privileges, readMigrations, readPrivileges } from '../src/platform/migration-files.ts';
import { readRights } from '../src/platform/schema-facts.ts';
import { createEmptyDatabase } from './database.ts';
import { checksumUpTo, fileOfReleased, readReleased } from './upgrade/released.ts';

const SOURCE = resolve(import.meta.dirname, '../src');
/** A statement with a name, which is prepared once for each connection. */
const NAMED = /name: ['`](\w+)[^'`]*['`],\s*text: ?(?:`([^`]*)`|'([^']*)')/g;
const EVERY_COLUMN = /returning \*|select \* from (\w+)\b(?!\()/g;

const released = readReleased();

/** What the roles of the service may do in the released version; null without its history. */
async function releasedRights(): Promise<string[] | null> {
  const text = fileOfReleased(released, 'migrations/privileges.sql');
  if (text === null) return null;
  const privileges: Privileges = { sql: text, checksum: '' };
  const database = await createEmptyDatabase();
  try {
    return await withTurns(
      database.url,
      () => undefined,
      async (turns) => {
        await prepareRecord(turns);
        await requireRoles(turns.client, null);
        for (const migration of await readMigrations())
          if (migration.version <= released.migration) await applyMigration(turns, migration);
        await applyPrivileges(turns, privileges);
        return await readRights(turns.client);
      },
    );
  } finally {
    await database.drop();
  }
}

describe('a statement that is prepared', () => {
  test('names its columns: with "*" it fails once a migration has added one', () => {
    const schema = readFileSync(join(SOURCE, '../migrations/schema.sql'), 'utf8');
    const tables = new Set([...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table]) => table));
    const wrong = globSync('**/*.ts', { cwd: SOURCE }).flatMap((file) =>
      [...readFileSync(join(SOURCE, file), 'utf8').matchAll(NAMED)].flatMap(([, name, long, short]) =>
        [...(long ?? short ?? '').matchAll(EVERY_COLUMN)]
          .filter(([, table]) => table === undefined || tables.has(table))
          .map(([text]) => `${file}, ${name}: ${text}`),
      ),
    );
    assert.deepEqual(wrong, []);
  });
});

describe('migrations since the last release', () => {
  test('those of the release are unchanged', async () => {
    assert.equal(checksumUpTo(await readMigrations(), released.migration), released.checksum);
  });

  test('live beside it: what one of them may not do, and how to do it, is in the report', async () => {
    const migrations = await readMigrations();
    const database = await createEmptyDatabase();
    try {
      const findings = await checkMigrations(database.url, {
        migrations,
        pending: migrations.filter(({ version }) => version > released.migration),
        privileges: await readPrivileges(),
        running: released.migration,
        hasRows: () => true,
        rights: await releasedRights(),
      });
      assert.deepEqual(findings, []);
    } finally {
      await database.drop();
    }
  });
});
