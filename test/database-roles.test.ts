// Two logins: migrations run as the owner of the tables, the service as a login that owns nothing.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { migrateDatabase } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import { asRole } from '../src/platform/database-url.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { admitServiceLogin, withClient } from '../src/platform/migrate.ts';
import { readRoleFacts } from '../src/platform/role-facts.ts';
import { startServer } from '../src/server.ts';
import { startTestPostgres } from './database.ts';
import { reservePort } from './ports.ts';

/** The server reads its files when it gets to it. */
async function untilTrusted(ask: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      return void (await ask());
    } catch (error) {
      if (!(error instanceof Error && /password|no pg_hba/.test(error.message))) throw error;
    }
}

describe('two logins', () => {
  let postgres: Awaited<ReturnType<typeof startTestPostgres>>;
  before(async () => {
    postgres = await startTestPostgres();
  });
  after(() => postgres.stop());

  const masterKey = randomBytes(32).toString('hex');
  async function start(settings: Record<string, string>) {
    const common = { DATA_DIR: postgres.folder, MASTER_KEY: masterKey, LOG_LEVEL: 'silent' };
    return await startServer(readConfig({ ...common, PORT: String(await reservePort()), ROLE: 'worker', ...settings }));
  }

  test('the login of the service cannot migrate, and says what can', async () => {
    await assert.rejects(
      start({ DATABASE_URL: postgres.serviceUrl }),
      /must be migrated, and the login "simbi_service" does not own its tables\. Set MIGRATION_DATABASE_URL/,
    );
  });

  test('with the owner’s login beside it the service migrates; then it starts alone', async () => {
    const both = { DATABASE_URL: postgres.serviceUrl, MIGRATION_DATABASE_URL: postgres.url };
    await (await start(both)).stop();
    const server = await start({ DATABASE_URL: postgres.serviceUrl });
    const facts = await readRoleFacts(server.ctx.db);
    assert.deepEqual(facts, {
      login: 'simbi_service',
      isSuperuser: false,
      owned: 0,
      unguarded: [],
      bypasses: true,
      mayCreate: false,
      mayChange: [],
    });
    for (const role of ['none', 'simbi', 'postgres'])
      await assert.rejects(
        server.ctx.db.transaction(async (tx) => {
          await tx.query(`set role ${role}`);
          await tx.query('drop table evidence');
        }),
        /permission denied|must be owner/,
        role,
      );
    await server.stop();
  });

  test('the owner’s login alone gives up its rights on every connection', async () => {
    const db = connectDatabase({ url: postgres.url, poolSize: 2 });
    await assert.rejects(db.query('create table mine (n int)'), /permission denied/);
    assert.ok((await readRoleFacts(db)).owned > 0, 'doctor sees that it could take them back');
    await db.close();
  });

  test('options of the URL are kept beside the role', async () => {
    const url = new URL(postgres.url);
    url.searchParams.set('options', '-c work_mem=7MB');
    assert.match(decodeURIComponent(asRole(url.href, 'simbi_service')), /work_mem=7MB\+-c\+role=simbi_service/);
    const db = connectDatabase({ url: url.href, poolSize: 1 });
    const [row] = await db.query(`select current_user::text as name, current_setting('work_mem') as memory`);
    assert.deepEqual(row, { name: 'simbi_service', memory: '7MB' });
    await db.close();
  });

  test('a login that may not be let in is told what an administrator must run', async () => {
    const stranger = postgres.url.replace('//simbi:', '//pg_monitor:');
    await assert.rejects(
      admitServiceLogin(postgres.url, stranger),
      /Run as an administrator of PostgreSQL: grant simbi_service to "pg_monitor";/,
    );
  });
});

describe('a server on which nothing is prepared', () => {
  let postgres: Awaited<ReturnType<typeof startTestPostgres>>;
  const as = (login: string, database: string) => `postgres://${login}@127.0.0.1:${postgres.port}/${database}`;
  const admin = (sql: string) => withClient(as('postgres', 'postgres'), (client) => client.query(sql));

  before(async () => {
    postgres = await startTestPostgres();
    writeFileSync(join(postgres.folder, 'postgres/cluster/pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n');
    process.kill(postgres.pid, 'SIGHUP');
    await untilTrusted(() => admin('select 1'));
    await admin('alter role simbi_service rename to not_ours');
    await admin('alter role simbi_tenant rename to not_ours_either');
    await admin('create role keeper login; create role app login');
    await admin('create database empty');
  });
  after(() => postgres.stop());

  test('what is missing is said at once, and is all that is missing', async () => {
    const open = { url: as('app', 'empty'), ownerUrl: as('keeper', 'empty'), close: async () => undefined };
    const refused = await migrateDatabase(open, () => undefined).then(String, (error: Error) => error.message);
    assert.match(refused, /must be migrated, and the login "keeper" does not own .*MIGRATION_DATABASE_URL/);
    const statements = /Run as an administrator of PostgreSQL: (.*)$/.exec(refused)?.[1] ?? '';
    assert.equal(
      statements,
      'alter database "empty" owner to "keeper"; create role simbi_tenant nologin; ' +
        'create role simbi_service nologin noinherit bypassrls; grant simbi_tenant to simbi_service; grant simbi_service to "app";',
    );
    await admin(statements);
    assert.ok((await migrateDatabase(open, () => undefined)).length > 0);
    const db = connectDatabase({ url: open.url, poolSize: 1 });
    assert.deepEqual(await db.query('select current_user::text as name'), [{ name: 'simbi_service' }]);
    await db.close();
  });
});
