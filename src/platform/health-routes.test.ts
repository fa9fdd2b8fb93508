// What the ops team asks: alive, ready with the reasons when not, and numbers that strangers do not get.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { systemClock } from './clock.ts';
import { readConfig } from './config.ts';
import type { Context } from './context.ts';
import { createDatabaseTime } from './database-time.ts';
import { connectDatabase } from './db.ts';
import { type Backlogs, healthRoutes } from './health-routes.ts';
import { createHttpServer } from './http.ts';
import { createMemory } from './memory.ts';
import { stopState } from './stop-state.ts';

describe('health', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  async function ask(
    changes: Partial<Context>,
    url: string,
    headers = {},
    remoteAddress = '127.0.0.1',
    backlogs: Backlogs = {},
  ) {
    const whole = { ...ctx, clock: systemClock, ...changes };
    const changed = { ...whole, databaseTime: createDatabaseTime(whole.db, whole.clock) };
    const app = createHttpServer(changed);
    healthRoutes(app, changed, backlogs);
    return await app.inject({ url, headers, remoteAddress });
  }

  test('alive and ready, with the backlog', async () => {
    for (const path of ['/livez', '/healthz']) assert.equal((await ask({}, path)).statusCode, 200);
    const ready = await ask({}, '/readyz', {}, '127.0.0.1', { outbox: async () => 7 });
    assert.equal(ready.statusCode, 200);
    assert.deepEqual(ready.json().data.backlog, { outbox: 7 });
    const metrics = await ask({}, '/metrics');
    assert.match(metrics.body, /simbi_backlog\{queue="outbox"\} 7/);
    assert.match(String(metrics.headers['content-type']), /^text\/plain/);
  });

  test('about to stop: not ready, unless another process took over, and each answer ends its connection', async () => {
    const memory = createMemory();
    const state = stopState({ ...ctx, memory });
    const changed = { ...ctx, memory, clock: systemClock, databaseTime: createDatabaseTime(ctx.db, systemClock) };
    const app = createHttpServer(changed);
    healthRoutes(app, changed);
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const statusOf = async (path: string) => {
      const answer = await fetch(`${url}${path}`);
      await answer.arrayBuffer();
      return `${answer.status} ${answer.headers.get('connection')}`;
    };
    assert.equal(await statusOf('/readyz'), '200 keep-alive');
    Object.assign(state, { endsConnections: true, isReady: false });
    assert.equal(await statusOf('/readyz'), '503 close');
    assert.deepEqual(Object.keys((await ask({ memory }, '/readyz')).json().errors), ['process']);
    assert.equal(await statusOf('/livez'), '200 close');
    state.isReady = true;
    assert.equal(await statusOf('/readyz'), '200 close');
    await app.close();
  });

  test('not ready: clocks apart', async () => {
    const answer = await ask({ clock: ctx.clock }, '/readyz');
    assert.equal(answer.statusCode, 503);
    assert.deepEqual(Object.keys(answer.json().errors), ['clock']);
    assert.equal(answer.json().code, 'not_ready');
  });

  test('not ready: a migration is missing', async () => {
    const [last] = await ctx.ownerDb.query<{ version: number }>(
      'delete from schema_migrations where version = (select max(version) from schema_migrations) returning version',
    );
    const answer = await ask({}, '/readyz');
    assert.deepEqual([answer.statusCode, Object.keys(answer.json().errors)], [503, ['migrations']]);
    assert.match(answer.json().message, /npx simbi migrate/);
    await ctx.ownerDb.query(`insert into schema_migrations values (9999, 'from_the_future', 'x', now(), 9999)`);
    const newer = await ask({}, '/readyz');
    assert.match(newer.json().message, /newer than this version/);
    assert.ok(last);
  });

  test('not ready: the database is away; still alive, and nothing leaks', async () => {
    const db = connectDatabase({ url: 'postgres://nobody:secretword@127.0.0.1:1/nothing' });
    const answer = await ask({ db }, '/readyz');
    assert.equal(answer.statusCode, 503);
    assert.deepEqual(answer.json().errors, { database: ['The database does not answer.'] });
    assert.ok(!answer.body.includes('secretword'));
    assert.equal((await ask({ db }, '/healthz')).statusCode, 200);
    assert.equal((await ask({ db }, '/metrics')).statusCode, 200);
    await db.close();
  });

  test('in live mode only the ranges of the setting read the metrics, this machine too', async () => {
    const live = {
      MODE: 'live',
      MASTER_KEY: randomBytes(32).toString('hex'),
      PUBLIC_URL: 'https://pay.example.org',
      DATABASE_URL: ctx.databaseUrl,
      METRICS_ALLOWED_RANGES: '10.1.0.0/16',
    };
    const config = readConfig(live);
    const status = async (address: string, headers = {}, changed = config) =>
      (await ask({ config: changed }, '/metrics', headers, address)).statusCode;
    assert.equal(await status('127.0.0.1'), 404);
    const open = readConfig({ ...live, METRICS_ALLOWED_RANGES: '127.0.0.1' });
    assert.equal(await status('127.0.0.1', {}, open), 200);
    assert.equal(await status('10.1.2.3'), 200);
    assert.equal(await status('192.0.2.1'), 404);
    const unknownProxy = await status('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, open);
    assert.equal(unknownProxy, 404, 'through a proxy we do not know');
    const behind = readConfig({ ...live, TRUSTED_PROXIES: '127.0.0.1' });
    assert.equal(await status('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, behind), 404);
    assert.equal(await status('127.0.0.1', { 'x-forwarded-for': '10.1.2.3' }, behind), 200);
  });
});
