// The gateway behind a pooler that lends a connection for one transaction only: nothing may be left on a connection, and nothing
// asked for when it opens.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { runCommand } from '../src/cli.ts';
import { readConfig } from '../src/platform/config.ts';
import { connectDatabase, type Database, type Reader } from '../src/platform/db.ts';
import { Problem } from '../src/platform/errors.ts';
import { migrate } from '../src/platform/migrate.ts';
import { type Server, startServer } from '../src/server.ts';
import { csrfOf } from './console-harness.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './database.ts';
import { hasPgBouncer, type Pooler, pooled, startPgBouncer, startPooler } from './pooler.ts';
import { reservePort } from './ports.ts';
import { signBody } from './shop.ts';

const POOLERS = [
  { name: 'the pooler of these tests', start: startPooler, skip: false },
  { name: 'PgBouncer', start: startPgBouncer, skip: hasPgBouncer ? false : 'PgBouncer is not installed' },
];
const COLLECTIONS = 300;
const AT_ONCE = 20;
const WITHOUT_LIMITS = {
  RATE_LIMIT_PER_SECOND: '0',
  HOLDER_RATE_LIMIT_PER_SECOND: '0',
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
};

type Settings = { role: string; statement: string; lock: string; idle: string };
const SETTINGS = `select current_user::text as role, current_setting('statement_timeout') as statement,
  current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`;
const OF_THE_SERVICE = { role: 'simbi_service', statement: '8s', lock: '4s', idle: '10s' };

/** Several looks at connections of the pool, as a stranger is lent them. */
async function looks(url: string): Promise<object[]> {
  const clients = Array.from({ length: 3 }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  const look = `select current_user = session_user as own, current_setting('statement_timeout') as timeout,
    (select count(*)::int from pg_prepared_statements) as prepared, pg_sleep(0.02) is null as slept,
    (select count(*)::int from pg_locks where locktype = 'advisory' and database =
       (select oid from pg_database where datname = current_database())) as locks`;
  const found = await Promise.all(clients.map((client) => client.query<object>(look)));
  await Promise.all(clients.map((client) => client.end()));
  return found.flatMap(({ rows }) => rows);
}
const CLEAN = { own: true, timeout: '0', prepared: 0, slept: false, locks: 0 };

for (const { name, start, skip } of POOLERS)
  describe(`a database behind ${name}`, { skip }, () => {
    let database: TestDatabase;
    let pooler: Pooler;
    let db: Database;
    before(async () => {
      database = await createTestDatabase();
      pooler = await start(database.url);
      db = connectDatabase({ url: pooled(pooler.url), poolSize: 8 });
    });
    after(async () => {
      await db.close();
      await pooler.close();
      await database.drop();
    });

    test('role and time-outs are in force in every kind of statement, and end with it', async () => {
      const read = async (reader: Reader) => (await reader.query<Settings>(SETTINGS))[0];
      assert.deepEqual(await read(db), OF_THE_SERVICE);
      assert.deepEqual(await db.single((tx) => read(tx)), OF_THE_SERVICE);
      assert.deepEqual(await db.transaction((tx) => read(tx)), OF_THE_SERVICE);
      assert.deepEqual(await db.snapshot((reader) => read(reader)), OF_THE_SERVICE);
      assert.deepEqual((await db.unflushed<Settings>(SETTINGS))[0], OF_THE_SERVICE);
      assert.deepEqual(await read(db.forHolder(7n)), { ...OF_THE_SERVICE, role: 'simbi_tenant' });
      const [holder] = await db.forHolder(7n).query(`select current_setting('simbi.holder_id') as id`);
      assert.deepEqual(holder, { id: '7' });
      assert.deepEqual(await looks(pooler.url), [CLEAN, CLEAN, CLEAN]);
    });

    test('statements with names, of many callers at once, are each answered by their own rows', async () => {
      const echo = (number: number) => ({
        name: `echo_${number % 3}`,
        text: `select $1::int as number, ${number % 3} as kind`,
      });
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, number) =>
          number % 2 === 0
            ? db.query(echo(number), [number])
            : db.transaction((tx) => tx.query(echo(number), [number])),
        ),
      );
      assert.deepEqual(
        answers.flat(),
        answers.map((_, number) => ({ number, kind: number % 3 })),
      );
      assert.deepEqual(await looks(pooler.url), [CLEAN, CLEAN, CLEAN]);
    });

    test('a statement that fails, alone or in a transaction, leaves the connection in order', async () => {
      await assert.rejects(db.query('select 1 / 0'), /division by zero/);
      await assert.rejects(
        db.transaction((tx) => tx.query('select 1 / 0')),
        /division by zero/,
      );
      await assert.rejects(db.forHolder(7n).query('select 1 / 0'), /division by zero/);
      assert.deepEqual(await looks(pooler.url), [CLEAN, CLEAN, CLEAN]);
    });

    test('a lock keeps other processes out while the work goes on, and ends with it', async () => {
      const order: string[] = [];
      const started = Promise.withResolvers<void>();
      const letGo = Promise.withResolvers<void>();
      const first = db.withLock(5n, async () => {
        started.resolve();
        await letGo.promise;
        order.push('first');
      });
      await started.promise;
      assert.equal(
        await db.withLock(
          5n,
          async () => 'ours',
          () => 'taken',
        ),
        'taken',
      );
      const second = db.withLock(5n, async () => void order.push('second'));
      letGo.resolve();
      await Promise.all([first, second]);
      assert.deepEqual(order, ['first', 'second']);
      assert.deepEqual(await looks(pooler.url), [CLEAN, CLEAN, CLEAN]);
    });
  });

for (const { name, start, skip } of POOLERS)
  describe(`a gateway behind ${name}`, { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'simbi-pooling-'));
    let database: TestDatabase;
    let pooler: Pooler;
    let servers: Server[] = [];
    before(async () => {
      database = await createEmptyDatabase();
      pooler = await start(database.url, { connections: 6 });
    });
    after(async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await pooler.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    const settings = () => ({
      ...WITHOUT_LIMITS,
      DATABASE_URL: pooled(pooler.url),
      DATA_DIR: folder,
      LOG_LEVEL: 'silent',
    });
    const startGateway = (more: Record<string, string>) => startServer(readConfig({ ...settings(), ...more }));

    test('a start that does not know of the pooler says what to set', async () => {
      const refused = { name: 'StartError', exitCode: 2, message: /add pooler=transaction to DATABASE_URL/ };
      await assert.rejects(startGateway({ DATABASE_URL: pooler.url, PORT: '0' }), refused);
      const silent = await start(database.url, { ignoresParameters: true });
      await assert.rejects(startGateway({ DATABASE_URL: silent.url, PORT: '0' }), refused);
      await silent.close();
    });

    test('two start at once, a third start waits for nobody', async () => {
      const ports = [await reservePort(), await reservePort()];
      servers = await Promise.all(ports.map((port) => startGateway({ PORT: String(port) })));
      const demos = new Set(servers.map(({ demo }) => demo?.file.client_id));
      assert.equal(demos.size, 1);
      const said: string[] = [];
      assert.deepEqual(await migrate(pooled(pooler.url), (sentence) => said.push(sentence)), []);
      assert.deepEqual(said, []);
    });

    const clientOf = () => {
      const file = servers[0]?.demo?.file;
      assert.ok(file);
      return { clientId: file.client_id, title: file.sender, secretKey: file.secret_key ?? '' };
    };

    async function collect(index: number): Promise<number> {
      const params = { amount: 1_000, country_id: 11, currency: 'UGX', mobile: '256772123000' };
      const answer = await fetch(`${servers[index % 2]?.url}/api/v3/service-unified-collections`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': `pooling-${index}` },
        body: JSON.stringify(signBody(clientOf(), Date.now(), params)),
      });
      await answer.arrayBuffer();
      // On a busy machine a client tries again.
      return answer.status === 503 ? collect(index) : answer.status;
    }

    /** Looks again until there is nothing left to do. */
    async function until(sql: string, expected: object): Promise<void> {
      const reader = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
      try {
        for (let tries = 0; tries < 1_200; tries++) {
          // On a busy machine a connection may take longer than a request waits for it.
          const [row] = await reader.query(sql).catch((error: unknown) => {
            assert.ok(error instanceof Problem && error.code === 'database_unavailable', String(error));
            return [];
          });
          if (JSON.stringify(row) === JSON.stringify(expected)) return;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        assert.deepEqual((await reader.query(sql))[0], expected);
      } finally {
        await reader.close();
      }
    }

    test('collections are accepted, paid and reported by callbacks', async () => {
      const statuses: number[] = [];
      for (let index = 0; index < COLLECTIONS; index += AT_ONCE)
        statuses.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, lane) => collect(index + lane)))));
      assert.deepEqual(new Set(statuses), new Set([200]));
      await until(`select count(*)::int as paid from transactions where status = 'success'`, { paid: COLLECTIONS });
      await until(
        `select count(distinct event_id)::int as reported, (select count(*)::int from callback_deliveries) as waiting
         from callback_attempts where delivered`,
        { reported: COLLECTIONS, waiting: 0 },
      );
    });

    async function command(...args: string[]): Promise<{ code: number; out: string; said: string }> {
      const printed = { out: '', said: '' };
      const terminal = {
        environment: { ...settings(), PORT: String(servers[0]?.ctx.config.port) },
        interactive: false,
        out(text: string) {
          printed.out += text;
        },
        say(text: string) {
          printed.said += text;
        },
        bold: (text: string) => text,
        readInput: () => Promise.resolve(null),
      };
      const code = await runCommand(terminal, args);
      process.exitCode = 0;
      return { code, ...printed };
    }

    test('commands order payouts, make a backup and find the ledger right', async () => {
      for (let each = 0; each < 3; each++) {
        const ordered = await command('payout', 'create', `${500 + each}`, 'UGX', '--phone', '0772123000', '--yes');
        assert.equal(ordered.code, 0, ordered.said);
      }
      await until(`select count(*)::int as paid from transactions where direction = 'payout' and status = 'success'`, {
        paid: 3,
      });
      const backup = await command('backup', join(folder, 'backup.simbi'), '--unencrypted', '--yes');
      assert.equal(backup.code, 0, backup.said);
      const verified = await command('ledger', 'verify', '--json');
      assert.equal(verified.code, 0, verified.said);
      assert.equal((JSON.parse(verified.out) as { ok: boolean }).ok, true);
    });

    test('a person signs in to the console', async () => {
      const link = servers[0]?.demo?.file.login_link ?? '';
      const page = await fetch(link);
      const cookies = page.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
      const signedIn = await fetch(link, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: new URL(link).origin, cookie: cookies.join('; ') },
        body: new URLSearchParams({ csrf: csrfOf(await page.text()) }),
      });
      assert.equal(signedIn.status, 303);
      const session = signedIn.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
      const home = await fetch(`${new URL(link).origin}/console`, { headers: { cookie: session.join('; ') } });
      assert.equal(home.status, 200);
      assert.match(await home.text(), /Demo shop/);
    });

    test('nothing was left on any connection', async () => {
      await Promise.all(servers.map((server) => server.stop()));
      servers = [];
      assert.deepEqual(await looks(pooler.url), [CLEAN, CLEAN, CLEAN]);
    });
  });
