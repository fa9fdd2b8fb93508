// The database under stress: nothing hangs, nothing doubtful is called done, and what broke comes back.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, mock, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { createTestContext } from '../../test/harness.ts';
import { createShop, probeRoute, signBody } from '../../test/shop.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/server.ts';
import { columns } from './columns.ts';
import { OvertakenError } from './database-errors.ts';
import { connectDatabase, type Database, isDataError, type Reader, type Tx, violatedConstraint } from './db.ts';
import { createHttpServer } from './http.ts';
import { migrate } from './migrate.ts';

describe('the database', () => {
  let database: TestDatabase;
  let db: Database;
  before(async () => {
    database = await createTestDatabase();
    db = connectDatabase({ url: database.url, as: 'owner', poolSize: 3 });
    await db.query('create table things (id int constraint things_once primary key, n bigint not null)');
    await db.query('insert into things values (1, 0), (2, 0), (3, 0)');
  });
  after(async () => {
    await db.close();
    await database.drop();
  });

  test('columns of odd values arrive as they were written', async () => {
    const texts = ['', 'NULL', 'null', ' a ', 'a,b', '{x}', '"', '\\', '\\"', "it's", '\n\t', 'é€😀', '\\x00', null];
    const rows = texts.map((text, index) => ({
      text,
      number: index === 0 ? null : BigInt(index) * -9_007_199_254_740_993n,
      moment: index === 1 ? null : new Date(Date.UTC(1970 + index * 20, 1, 3, 4, 5, 6, 789)),
      bytes: index === 2 ? null : Buffer.from(Array.from({ length: index }, (_, at) => 255 - at)),
      body: index === 3 ? null : { text, list: ['\\', '"', index] },
      flag: index % 2 === 0,
      real: index / 4,
    }));
    const types = { text: 'text', number: 'bigint', moment: 'timestamptz', bytes: 'bytea', body: 'jsonb' };
    const list = columns<(typeof rows)[number]>(1, { ...types, flag: 'boolean', real: 'real' });
    const read = await db.query(`select ${list.names} from ${list.rows}`, list.arrays(rows));
    assert.deepEqual(read, rows);
    assert.deepEqual(await db.query(`select ${list.names} from ${list.rows}`, list.arrays([])), []);
  });

  test('bytes may also be given as their hexadecimal digits, in a list and alone', async () => {
    const rows = ['', '00ff5c22', null].map((digits) => ({ digits }));
    const read = rows.map(({ digits }) => ({ digits: digits === null ? null : Buffer.from(digits, 'hex') }));
    const list = columns<(typeof rows)[number]>(1, { digits: 'bytea' });
    assert.deepEqual(await db.query(`select ${list.names} from ${list.rows}`, list.arrays(rows)), read);
    for (const [index, row] of rows.entries())
      assert.deepEqual(await db.query(list.row, list.values(row)), read.slice(index, index + 1));
  });

  test('a transaction is all or nothing, and numbers come back as they went', async () => {
    const failed = db.transaction(async (tx) => {
      await tx.query('insert into things values (10, 1)');
      throw new Error('changed my mind');
    });
    await assert.rejects(failed, /changed my mind/);
    assert.deepEqual(await db.query('select * from things where id = 10'), []);
    const [row] = await db.query('select 9223372036854775807::bigint as n, now() as at');
    assert.equal(row?.n, 9_223_372_036_854_775_807n);
    assert.ok(row?.at instanceof Date);
  });

  test('a constraint that refuses is told by its name', async () => {
    const error: unknown = await db.query('insert into things values (1, 1)').catch((cause: unknown) => cause);
    assert.equal(violatedConstraint(error), 'things_once');
    assert.equal(isDataError(error), true);
    assert.equal(violatedConstraint(new Error('x')), null);
  });

  test('a constraint on another server is told by its name too', () => {
    // What Citus 13 answers when a server refuses a row that was copied to it: no field but the message says what happened.
    const message = 'duplicate key value violates unique constraint "transfer_posted_once_102090"';
    const error = Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code: 'XX000' });
    assert.equal(violatedConstraint(error), 'transfer_posted_once');
    assert.equal(isDataError(error), true);
    const other = Object.assign(new pg.DatabaseError('could not read block 7', 22, 'error'), { code: 'XX000' });
    assert.equal(violatedConstraint(other), null);
    assert.equal(isDataError(other), false);
  });

  test('a connection that a burst needed is still there for the next one', async () => {
    const burst = connectDatabase({ url: database.url, as: 'owner', poolSize: 3, applicationName: 'burst' });
    // Not the one that was used before: real timers of it, which nobody could end now, would keep this process for minutes.
    const watch = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
    const processes = async () =>
      (
        await watch.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'burst' order by pid`,
        )
      ).map(({ pid }) => pid);
    const query = () => burst.query('select pg_sleep(0.05)');
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      await Promise.all([query(), query(), query()]);
      const first = await processes();
      assert.equal(first.length, 3);
      mock.timers.tick(4 * 60_000);
      await Promise.all([query(), query(), query()]);
      assert.deepEqual(await processes(), first);
    } finally {
      mock.timers.reset();
      await burst.close();
      await watch.close();
    }
  });

  test('a deadlock is tried again: both transactions end well', async () => {
    const bothHaveOne = Promise.withResolvers<void>();
    let holding = 0;
    const swap = (first: number, second: number) =>
      db.transaction(async (tx: Tx) => {
        await tx.query('update things set n = n + 1 where id = $1', [first]);
        if (++holding === 2) bothHaveOne.resolve();
        await bothHaveOne.promise;
        await tx.query('update things set n = n + 1 where id = $1', [second]);
      });
    await Promise.all([swap(1, 2), swap(2, 1)]);
    assert.deepEqual(await db.query('select n from things where id < 3'), [{ n: 2n }, { n: 2n }]);
  });

  test('what another transaction overtook is tried again, and is busy when it is overtaken each time', async () => {
    let tries = 0;
    const overtaken = (times: number) =>
      db.transaction(async (tx) => {
        await tx.query('update things set n = n + 1 where id = 3');
        if (++tries <= times) throw new OvertakenError('taken meanwhile');
        return tries;
      });
    assert.equal(await overtaken(1), 2);
    assert.deepEqual(await db.query('select n from things where id = 3'), [{ n: 1n }]);
    await assert.rejects(overtaken(Number.POSITIVE_INFINITY), { code: 'overloaded', status: 503 });
  });

  test('while every connection is in use the next caller gets 503, and later ones are served', async () => {
    const small = connectDatabase({ url: database.url, as: 'owner', poolSize: 1, acquireTimeoutMs: 1_000 });
    const letGo = Promise.withResolvers<void>();
    // On a busy machine the first connection may take longer than that.
    while (!(await small.query('select 1').catch(() => null)));
    const holder = small.snapshot(() => letGo.promise);
    await assert.rejects(small.query('select 1'), { code: 'database_unavailable', status: 503 });
    letGo.resolve();
    await holder;
    assert.equal((await small.query('select 1')).length, 1);
    await small.close();
  });

  test('a connection ended under a transaction is 503 before the commit, and the pool recovers', async () => {
    const failed = db.transaction(async (tx) => {
      const [mine] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await db.query('select pg_terminate_backend($1)', [mine?.pid]);
      await tx.query('select 1');
    });
    await assert.rejects(failed, { code: 'database_unavailable' });
    assert.equal((await db.query('select 1')).length, 1);
  });

  test('a transaction that has ended refuses further statements, so none can run in another one', async () => {
    const one = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
    try {
      let committed: Tx | undefined;
      await one.transaction(async (tx) => {
        committed = tx;
        await tx.query('select 1');
      });
      await assert.rejects(async () => committed?.query('select 1'), /has ended/);

      // A branch of a Promise.all that goes on after its sibling has failed.
      const afterTheEnd = Promise.withResolvers<void>();
      let stray: Promise<unknown> = Promise.resolve();
      const failed = one.transaction(async (tx) => {
        stray = afterTheEnd.promise.then(() => tx.query('insert into things values (20, 0)'));
        await Promise.all([stray, tx.query('select 1 / 0')]);
      });
      await assert.rejects(failed, /division by zero/);
      await one.transaction(async (tx) => {
        await tx.query('select 1');
        afterTheEnd.resolve();
        await assert.rejects(stray, /has ended/);
      });
      let connection: Reader | undefined;
      await one.snapshot(async (lent) => {
        connection = lent;
      });
      await assert.rejects(async () => connection?.query('select 1'), /has ended/);
      assert.deepEqual(await one.query('select id from things where id = 20'), []);
    } finally {
      await one.close();
    }
  });

  test('statements sent but not awaited when the work fails are rolled back with it', async () => {
    const one = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
    try {
      const unawaited: Promise<unknown>[] = [];
      const failed = one.transaction(async (tx) => {
        unawaited.push(tx.query('select pg_sleep(0.05)'), tx.query('insert into things values (21, 0)'));
        throw new Error('changed my mind');
      });
      await assert.rejects(failed, /changed my mind/);
      await Promise.all(unawaited);
      assert.deepEqual(await one.query('select id from things where id = 21'), []);
    } finally {
      await one.close();
    }
  });

  test('a transaction whose statement failed is never reported as committed', async () => {
    const work = db.transaction(async (tx) => {
      await tx.query('insert into things values (22, 0)');
      await tx.query('select 1 / 0').catch(() => undefined);
      return 'done';
    });
    await assert.rejects(work, /was rolled back/);
    assert.deepEqual(await db.query('select id from things where id = 22'), []);
  });
});

describe('a database that is killed', () => {
  test('requests get 503 while it is away and work again after; nothing acknowledged is lost', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'simbi-killed-'));
    const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    let postgres = await start();
    const opened = await createTestContext();
    const db = connectDatabase({ url: postgres.url, as: 'owner' });
    try {
      await migrate(postgres.url);
      const ctx = { ...opened, db };
      const app = createHttpServer(ctx);
      probeRoute(app, ctx);
      const shop = await createShop(ctx);
      const post = (body: object) =>
        app.inject({
          method: 'POST',
          url: '/probe',
          headers: { 'content-type': 'application/json' },
          payload: JSON.stringify(body),
        });
      const acknowledged = [signBody(shop, ctx.clock.millis())];
      assert.equal((await post(acknowledged[0] ?? {})).statusCode, 200);
      process.kill(postgres.pid, 'SIGKILL');
      // The backends outlive their parent for a moment, and what they answer counts.
      let away = await post(signBody(shop, ctx.clock.millis()));
      for (let tries = 0; tries < 1_000 && away.statusCode === 200; tries++) {
        const body = signBody(shop, ctx.clock.millis());
        away = await post(body);
        if (away.statusCode === 200) acknowledged.push(body);
      }
      assert.equal(away.statusCode, 503);
      assert.equal(away.headers['retry-after'], '1');
      assert.match(away.json().code, /^(database_unavailable|outcome_unknown)$/);
      postgres = await start();
      for (const body of acknowledged)
        assert.equal((await post(body)).json().code, 'signature_reused', 'what was answered is on the disk');
      assert.equal((await post(signBody(shop, ctx.clock.millis()))).statusCode, 200);
    } finally {
      await db.close();
      await opened.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
