// An operator that does not answer: what the process that calls it finds out holds for all processes on the database.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createApp } from '../src/app.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import type { HttpServer } from '../src/platform/http.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createSharedHealth } from '../src/rails/shared-health.ts';
import { createServices, type Services } from '../src/services.ts';
import { PATHS, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop, signBody } from './shop.ts';

const RAIL = 'sandbox';
const MTN = 'MTN_MOMO_UGA';
const PROBE_MS = 5_000;

describe('operator health of two processes', () => {
  let worker: TestGateway;
  let api: Services;
  let apiDb: Database;
  let app: HttpServer;
  let shop: Shop;

  before(async () => {
    worker = await createTestGateway();
    apiDb = connectDatabase({ url: worker.ctx.databaseUrl });
    const config = { ...worker.ctx.config, role: 'api' as const };
    api = await createServices({ ...worker.ctx, config, db: apiDb, memory: createMemory() });
    app = createApp(api);
    shop = await createShop(worker.ctx);
  });
  after(async () => {
    await app.close();
    await api.stop();
    await apiDb.close();
    await worker.close();
  });
  beforeEach(async () => {
    worker.ctx.rails.health.record(RAIL, MTN, 'answered', 20);
    await exchange();
    // What a process saw by itself more than a minute ago does not count.
    worker.ctx.clock.advance(61_000);
  });

  /** Each process does this several times a second by itself. */
  async function exchange(): Promise<void> {
    await worker.ctx.rails.refresh();
    await api.ctx.rails.refresh();
  }

  const silence = (times: number, { ctx }: Pick<Services, 'ctx'> = worker) => {
    for (let each = 0; each < times; each++) ctx.rails.health.record(RAIL, MTN, 'unknown', 30_000);
  };

  async function collect(): Promise<[status: number, sentence: unknown, retryAfter: unknown]> {
    const reply = await app.inject({
      method: 'POST',
      url: PATHS.collect,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(signBody(shop, worker.ctx.clock.millis(), ugandanCollection())),
    });
    const { errors } = reply.json<{ errors?: { payment_method_type?: string[] } }>();
    return [reply.statusCode, errors?.payment_method_type?.[0], reply.headers['retry-after']];
  }

  const rows = () => worker.ctx.db.query('select connection, method from open_breakers');

  test('a process that calls nobody refuses while the breaker of the worker is open, and takes again after an answer', async () => {
    silence(5);
    assert.equal((await collect())[0], 200, 'it does not know yet');
    await exchange();
    assert.deepEqual(await collect(), [503, 'MTN MoMo does not answer at the moment.', '5']);
    worker.ctx.rails.health.record(RAIL, MTN, 'answered', 20);
    await exchange();
    assert.equal((await collect())[0], 200);
    assert.deepEqual(await rows(), []);
  });

  test('some seconds after the last probe it takes new work, which is the next probe, and refuses again when that fails', async () => {
    silence(5);
    await exchange();
    worker.ctx.clock.advance(PROBE_MS);
    assert.equal((await collect())[0], 200);
    assert.equal(worker.ctx.rails.health.mayCall(RAIL, MTN), true, 'the worker makes the probe');
    await exchange();
    assert.equal((await collect())[0], 503);
    silence(1);
    worker.ctx.clock.advance(PROBE_MS);
    await exchange();
    assert.equal((await collect())[0], 200, 'the worker that knew may have ended: its row is old');
  });

  test('the answer that another process gets closes it for all, and a process that was just answered goes by that', async () => {
    silence(5);
    api.ctx.rails.health.record(RAIL, MTN, 'succeeded', 20);
    await exchange();
    assert.equal(api.ctx.rails.health.wouldCall(RAIL, MTN), true);
    api.ctx.rails.health.record(RAIL, MTN, 'succeeded', 20);
    await api.ctx.rails.refresh();
    assert.deepEqual(await rows(), []);
  });

  test('the metric of a process that had no call since then ends with the answer of another, or when nobody asks', async () => {
    const { db, clock } = worker.ctx;
    const states: string[] = [];
    const idle = createSharedHealth(
      { db, clock },
      { onState: (_, method, state) => states.push(`${method} ${state}`) },
    );
    const busy = createSharedHealth({ db, clock });
    for (let each = 0; each < 5; each++) idle.record(RAIL, 'IDLE', 'unknown', 30_000);
    await idle.exchange();
    await busy.exchange();
    assert.deepEqual(states, ['IDLE open']);
    busy.record(RAIL, 'IDLE', 'answered', 20);
    await busy.exchange();
    await idle.exchange();
    assert.deepEqual(states, ['IDLE open', 'IDLE closed']);
    // A connection that was paused or removed gets no call any more.
    for (let each = 0; each < 5; each++) idle.record(RAIL, 'PAUSED', 'unknown', 30_000);
    await idle.exchange();
    clock.advance(9 * 60_000);
    await idle.exchange();
    assert.equal(states.at(-1), 'PAUSED open');
    clock.advance(2 * 60_000);
    await idle.exchange();
    assert.equal(states.at(-1), 'PAUSED closed');
    await idle.exchange();
    assert.equal(states.length, 4);
  });

  test('nothing is written for calls that change nothing', async () => {
    await exchange();
    const before = worker.ctx.db.counters.statements;
    await worker.ctx.rails.refresh();
    const perRefresh = worker.ctx.db.counters.statements - before;
    silence(4);
    for (let each = 0; each < 100; each++) worker.ctx.rails.health.record(RAIL, 'AIRTEL_OAPI_UGA', 'succeeded', 20);
    await worker.ctx.rails.refresh();
    assert.equal(worker.ctx.db.counters.statements - before, 2 * perRefresh);
    worker.ctx.rails.health.record(RAIL, MTN, 'answered', 20);
  });

  test('the console of a process that calls nobody shows that the operator is down', async () => {
    silence(5);
    await exchange();
    const [health] = api.ctx.rails.health.snapshot().filter(({ operator }) => operator === MTN);
    assert.deepEqual([health?.state, health?.openedAt], ['open', worker.ctx.clock.now()]);
  });
});
