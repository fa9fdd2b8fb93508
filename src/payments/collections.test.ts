// Collections through HTTP: created once per key, from any number of processes; and an operator that never answers.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createShop, type Shop, signBody } from '../../test/shop.ts';
import { createApp } from '../app.ts';
import { connectDatabase, type Database } from '../platform/db.ts';
import type { HttpServer } from '../platform/http.ts';
import { createMemory } from '../platform/memory.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createServices, type Services } from '../services.ts';

const PATH = '/api/v3/service-unified-collections';
const SAME_REQUESTS = 1_000;

type Answer = { status: number; replayed: boolean; body: JsonObject & { data: JsonObject; code?: string } };

function params(mobile: string, amount = 1_000): JsonObject {
  return { amount, mobile, country_id: 11, currency: 'UGX', payment_method_type: 'MTN' };
}

describe('two processes on one database', () => {
  let first: TestGateway;
  let second: Services;
  let secondDb: Database;
  let shop: Shop;
  let apps: HttpServer[];

  before(async () => {
    first = await createTestGateway({ MAX_IN_FLIGHT: '5000' });
    // Another process: its own connections, caches, batches and engine.
    secondDb = connectDatabase({ url: first.ctx.databaseUrl });
    second = await createServices({ ...first.ctx, db: secondDb, memory: createMemory() });
    apps = [first.app, createApp(second)];
    shop = await createShop(first.ctx);
  });
  after(async () => {
    await apps[1]?.close();
    await second.stop();
    await secondDb.close();
    await first.close();
  });

  async function create(index: number, body: JsonObject, key: string): Promise<Answer> {
    const app = apps[index % apps.length] as HttpServer;
    const reply = await app.inject({
      method: 'POST',
      url: PATH,
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      payload: JSON.stringify(signBody(shop, first.ctx.clock.millis(), body)),
    });
    return {
      status: reply.statusCode,
      replayed: reply.headers['idempotent-replayed'] === 'true',
      body: JSON.parse(reply.body) as Answer['body'],
    };
  }

  /** Like a client: when the answer is to retry later, it retries with a new signature and the same key. */
  async function createPatiently(index: number, body: JsonObject, key: string): Promise<Answer> {
    for (let tries = 0; tries < 20; tries++) {
      const answer = await create(index + tries, body, key);
      if (answer.status !== 503) return answer;
    }
    throw new Error('refused twenty times');
  }

  test(`${SAME_REQUESTS} identical creates with one key: one transaction, and all answers are the same`, async () => {
    const body = params('256772345000');
    const answers = await Promise.all(
      Array.from({ length: SAME_REQUESTS }, (_, index) => createPatiently(index, body, 'one-key')),
    );
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body.data))).size, 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    const rows = await first.ctx.db.query('select from transactions where holder_id = $1', [shop.holderId]);
    assert.equal(rows.length, 1);
    await first.settle();
    const transfers = await first.ctx.db.query(`select from ledger_transfers where kind = 'collection'`);
    assert.equal(transfers.length, 1);
  });

  test('the same key with other params is refused, from either process, and changes nothing', async () => {
    const before = await first.ctx.db.query('select id from transactions');
    for (const index of [0, 1]) {
      const answer = await create(index, params('256772345000', 2_000), 'one-key');
      assert.equal(answer.status, 409);
      assert.equal(answer.body.code, 'idempotency_conflict');
    }
    assert.equal((await first.ctx.db.query('select id from transactions')).length, before.length);
  });

  test('a key can be used again after 24 hours, whether or not it was purged', async () => {
    const before = await create(0, params('256772123000'), 'yesterday');
    assert.equal(before.status, 200);
    first.ctx.clock.advance(24 * 3_600_000 + 1);
    const after = await create(1, params('256772123000', 2_000), 'yesterday');
    assert.equal(after.status, 200);
    assert.notEqual(after.body.data.ref, before.body.data.ref);
    assert.equal((await create(0, params('256772123000', 2_000), 'yesterday')).replayed, true);
  });

  test('money 16: a process whose clock is wrong accepts nothing; the request can be sent again', async () => {
    const key = 'clock';
    for (const skewMs of [31_000, -31_000, 7_200_000]) {
      first.ctx.databaseTime.setSkew(skewMs);
      const refused = await create(0, params('256772123000', 5_000), key);
      assert.deepEqual([refused.status, refused.body.code], [503, 'clock_skewed']);
    }
    first.ctx.databaseTime.setSkew(30_000);
    assert.equal((await create(0, params('256772123000', 5_000), key)).status, 200);
    first.ctx.databaseTime.setSkew(0);
  });

  test('a hundred keys, ten times each, at once: a hundred transactions', async () => {
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        createPatiently(index, params('256772345000', 1_000 + (index % 100)), `key-${index % 100}`),
      ),
    );
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
    assert.equal(new Set(answers.map((answer) => answer.body.data.ref)).size, 100);
  });
});

describe('an operator that never answers', () => {
  test('every submit and every query times out: none has failed, all are processing and asked about again', async (t) => {
    const gateway = await createTestGateway({}, { railTimeoutMs: 100, operator: { silenceMs: 300 } });
    t.after(() => gateway.close());
    const shop = await createShop(gateway.ctx);
    gateway.services.operator?.scripts.add({ call: 'any', fault: 'timeout' });
    const create = async (index: number) => {
      const mobile = `2567723${String(index).padStart(2, '0')}000`;
      const payload = signBody(shop, gateway.ctx.clock.millis(), params(mobile));
      const reply = await gateway.app.inject({ method: 'POST', url: PATH, payload });
      return { status: reply.statusCode, body: JSON.parse(reply.body) as Answer['body'] };
    };
    const accepted = await Promise.all(Array.from({ length: 60 }, (_, index) => create(index)));
    assert.deepEqual([...new Set(accepted.map((answer) => answer.status))], [200]);
    await gateway.services.payments.engine.idle();
    // The time-outs opened the breaker: new collections are refused, not accepted and left open.
    assert.equal((await create(60)).body.code, 'operator_unavailable');
    for (let round = 0; round < 8; round++) {
      gateway.ctx.clock.advance(round < 5 ? 60_000 : 6 * 3_600_000);
      await gateway.settle();
    }
    const rows = await gateway.ctx.db.query<{ status: string; count: bigint; jobs: bigint }>(
      `select status, count(*), count(j.transaction_id) as jobs
       from transactions t left join payment_jobs j on j.transaction_id = t.id group by status`,
    );
    assert.deepEqual(
      rows.filter((row) => row.status !== 'pending' && row.status !== 'processing'),
      [],
    );
    assert.equal(
      rows.reduce((sum, row) => sum + Number(row.jobs), 0),
      accepted.length,
    );
    assert.equal((await gateway.ctx.db.query('select from events')).length, 0);
    // It comes back, and says how each of them ended. On a busy machine some of its answers come too late, and are asked for again.
    gateway.services.operator?.scripts.clear();
    const open = () => gateway.ctx.db.query(`select from transactions where status <> 'success'`);
    for (let round = 0; round < 60 && (await open()).length > 0; round++) {
      gateway.ctx.clock.advance(6 * 3_600_000);
      await gateway.settle();
    }
    assert.equal((await open()).length, 0);
  });
});
