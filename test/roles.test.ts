// One process that answers requests and one that does the work, on one database.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readConfig } from '../src/platform/config.ts';
import { type Server, startServer } from '../src/server.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { createShop, signBody } from './shop.ts';

describe('an API process and a worker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-roles-'));
  let database: TestDatabase;
  let worker: Server;
  let api: Server;

  before(async () => {
    database = await createTestDatabase();
    const masterKey = randomBytes(32).toString('hex');
    const start = async (role: string) => {
      const port = String(await reservePort());
      const settings = {
        DATABASE_URL: database.url,
        DATA_DIR: join(folder, role),
        MASTER_KEY: masterKey,
        LOG_LEVEL: 'silent',
      };
      return startServer(readConfig({ ...settings, PORT: port, ROLE: role }));
    };
    worker = await start('worker');
    api = await start('api');
  });
  after(async () => {
    await api?.stop();
    await worker?.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a payment that the operator decides later is reported to the worker, which settles it', async () => {
    const { ctx } = api;
    const shop = await createShop(ctx);
    const params = { amount: 1000, country_id: 11, currency: 'UGX', mobile: '256772123006' };
    const answer = await fetch(`${api.url}/api/v3/service-unified-collections`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(signBody(shop, ctx.clock.millis(), params)),
    });
    assert.equal(answer.status, 200);
    const sources = `select e.source, t.status from evidence e join transactions t on t.holder_id = e.holder_id and t.id = e.transaction_id
                     where e.holder_id = $1 and e.source = 'callback'`;
    for (let tries = 0; ; tries++) {
      const [row] = await ctx.db.query<{ status: string }>(sources, [shop.holderId]);
      if (row?.status === 'success') break;
      assert.ok(tries < 1_200, 'the report of the operator was taken');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});
