// The migration that ties tokens to secrets, on a database that was in use before it.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEmptyDatabase } from '../../test/database.ts';
import { connectDatabase } from '../platform/db.ts';
import { migrate } from '../platform/migrate.ts';
import { MIGRATIONS_FOLDER } from '../platform/migration-files.ts';

const FIRST_WITH_KEYS = 22;
const TOKEN = `insert into tokens (integration_id, secret_hash, created_at, expires_at) values (1, '\\x00', $1, '2099-01-01')`;

test('after the upgrade an older token belongs to the oldest live secret of its time, or is gone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-before-keys-'));
  const database = await createEmptyDatabase();
  const db = connectDatabase({ url: database.url, as: 'owner' });
  try {
    for (const file of readdirSync(MIGRATIONS_FOLDER).filter((name) => Number(name.slice(0, 4)) < FIRST_WITH_KEYS))
      cpSync(join(MIGRATIONS_FOLDER, file), join(folder, file));
    await migrate(database.url, undefined, folder);
    await db.query(`insert into holders (name, created_at, updated_at) values ('Old', now(), now())`);
    await db.query(
      `insert into integrations (holder_id, client_id, title, created_at, updated_at) values (1, 'client_old', 'Old', now(), now())`,
    );
    // A secret in its overlap and the one that replaces it.
    await db.query(
      `insert into integration_secrets (integration_id, kind, slot, sealed, created_at, expires_at) values
         (1, 'api', 1, '\\x01', '2026-01-01', '2099-01-01'), (1, 'api', 2, '\\x01', '2026-02-01', null)`,
    );
    for (const made of ['2025-12-01', '2026-01-15', '2026-02-15']) await db.query(TOKEN, [made]);
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
    await migrate(database.url, undefined, folder);
    const tokens = await db.query<{ made: string; slot: number; name: string; scopes: string[] }>(
      `select to_char(t.created_at, 'YYYY-MM-DD') as made, s.slot, s.name, s.scopes
       from tokens t join integration_secrets s on s.id = t.secret_id order by t.id`,
    );
    const access = { name: 'default', scopes: ['collect', 'read', 'refund', 'links'] };
    assert.deepEqual(tokens, [
      { made: '2026-01-15', slot: 1, ...access },
      { made: '2026-02-15', slot: 1, ...access },
    ]);
  } finally {
    await db.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
});
