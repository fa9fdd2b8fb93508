// One process that answers requests and one that does the work, on one database.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../src/cli.ts';
import { PAYMENTS_JOB } from '../src/payments/context.ts';
import { readConfig } from '../src/platform/config.ts';
import { listenForWork } from '../src/platform/work-signal.ts';
import { type Server, startServer } from '../src/server.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { patiently } from './processes.ts';
import { createShop, signBody } from './shop.ts';

describe('an API process and a worker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-roles-'));
  let database: TestDatabase;
  const masterKey = randomBytes(32).toString('hex');
  let worker: Server;
  let api: Server;

  before(async () => {
    database = await createTestDatabase();
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
    const answer = await patiently(() =>
      fetch(`${api.url}/api/v3/service-unified-collections`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'decided-later' },
        body: JSON.stringify(signBody(shop, ctx.clock.millis(), params)),
      }),
    );
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

  /** As the demo account, whose credentials are in the folder of the API process. */
  async function command(...args: string[]): Promise<void> {
    let said = '';
    const environment = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'api'), MASTER_KEY: masterKey };
    const terminal = {
      environment: { ...environment, LOG_LEVEL: 'silent', PORT: String(api.ctx.config.port) },
      interactive: false,
      out: () => undefined,
      say(text: string) {
        said += text;
      },
      bold: (text: string) => text,
      readInput: () => Promise.resolve(null),
    };
    assert.equal(await runCommand(terminal, args), 0, said);
  }

  test('workers hear of a payout that a command ordered', async () => {
    await command('topup', '100000', 'UGX');
    const listening = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<void>();
    const listener = listenForWork(database.url, api.ctx.log, (job) => {
      if (job === null) listening.resolve();
      if (job === PAYMENTS_JOB) heard.resolve();
    });
    await listening.promise;
    await command('payout', 'create', '5000', 'UGX', '--phone', '0772123000', '--yes');
    await heard.promise;
    await listener.stop();
  });
});
