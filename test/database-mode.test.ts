// Sandbox or live, for ever: what a penetration test did with a database of the sandbox, and the other ways to mix the two.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { balancesOf } from '../src/ledger/ledger.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { readConfig } from '../src/platform/config.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { startServer } from '../src/server.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './database.ts';
import { createTestGateway } from './gateway.ts';
import { reservePort } from './ports.ts';
import { simbi } from './processes.ts';

const MASTER_KEY = randomBytes(32).toString('hex');
const LIVE = { MODE: 'live', PUBLIC_URL: 'https://pay.example.org' };
const SANDBOX_REFUSED = /database of a sandbox.*never be used with MODE=live.*another DATABASE_URL or DATA_DIR/;
const LIVE_REFUSED = /database of a live gateway.*never be used with MODE=sandbox.*Set MODE=live/;

describe('the mode of a database', () => {
  let folder: string;
  let database: TestDatabase;
  let owner: Database;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'simbi-mode-'));
    database = await createTestDatabase();
    owner = connectDatabase({ url: database.url, as: 'owner', poolSize: 2 });
  });
  after(async () => {
    await owner.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const settingsOf = ({ url }: TestDatabase, more: Record<string, string> = {}) => ({
    DATABASE_URL: url,
    DATA_DIR: folder,
    MASTER_KEY,
    LOG_LEVEL: 'silent',
    ...more,
  });

  async function start(of: TestDatabase, more: Record<string, string> = {}) {
    const PORT = String(await reservePort());
    return await startServer(readConfig(settingsOf(of, { PORT, ...more })));
  }

  /** As a database from before the mark is. */
  async function removeMark(of: Database): Promise<void> {
    await of.query(`alter table gateway_mode disable trigger user; delete from gateway_mode;
      alter table gateway_mode enable trigger user`);
  }

  test('security S8: live mode is refused on a sandbox database with a top-up, marked or not', async () => {
    const server = await start(database);
    const holder = await createHolder(server.ctx, COMMAND_LINE, 'Pretend');
    await topUpSandbox(server.ctx as Parameters<typeof topUpSandbox>[0], COMMAND_LINE, holder.id, 'KES', 5_000_000n);
    await server.stop();
    await assert.rejects(start(database, LIVE), SANDBOX_REFUSED);
    assert.equal((await balancesOf(owner, holder.id))[0]?.available, 5_000_000n);
    await removeMark(owner);
    await assert.rejects(start(database, LIVE), SANDBOX_REFUSED);
    assert.deepEqual(await owner.query('select mode from gateway_mode'), [{ mode: 'sandbox' }]);
    await (await start(database)).stop();
  });

  test('security S8: the mark cannot be changed, by the service or by the owner of the tables', async () => {
    const service = connectDatabase({ url: database.url, poolSize: 1 });
    for (const sql of [`update gateway_mode set mode = 'live'`, 'delete from gateway_mode', 'truncate gateway_mode']) {
      await assert.rejects(service.query(sql), /permission denied/);
      await assert.rejects(owner.query(sql), /append-only/);
    }
    await service.close();
  });

  test('security S8: commands and doctor say the mode; a command of the other mode does nothing', async () => {
    const doctor = await simbi(['doctor', '--json'], settingsOf(database)).ended;
    assert.match(doctor.out, /"check": "mode",\s+"ok": true,\s+"detail": "sandbox/);
    const live = settingsOf(database, LIVE);
    const refused = await simbi(['doctor', '--json'], live).ended;
    assert.match(refused.out, /"check": "mode",\s+"ok": false/);
    assert.match(refused.out, SANDBOX_REFUSED);
    const command = await simbi(['holder', 'create', 'Real'], live).ended;
    assert.equal(command.code, 2);
    assert.match(command.stderr, SANDBOX_REFUSED);
  });

  test('doctor does not mark a database: only a start does, for ever', async () => {
    const unused = await createTestDatabase();
    try {
      const { out } = await simbi(['doctor', '--json'], settingsOf(unused)).ended;
      assert.match(out, /"check": "mode",\s+"ok": true,\s+"detail": "not marked yet: the first start .* sandbox/);
      await (await start(unused, LIVE)).stop();
    } finally {
      await unused.drop();
    }
  });

  test('security S8: a live database is refused in sandbox mode; its backup is only restored in live mode', async () => {
    const [real, target] = [await createTestDatabase(), await createEmptyDatabase()];
    try {
      await (await start(real, LIVE)).stop();
      await assert.rejects(start(real), LIVE_REFUSED);
      const file = join(folder, 'live.backup');
      // MODE is not set: the mark of the database counts.
      const backup = await simbi(['backup', file], settingsOf(real)).ended;
      assert.equal(backup.code, 0, backup.stderr);
      const wrong = await simbi(['restore', file], settingsOf(target)).ended;
      assert.equal(wrong.code, 2, wrong.stderr);
      assert.match(wrong.stderr, LIVE_REFUSED);
      const right = await simbi(['restore', file], settingsOf(target, LIVE)).ended;
      assert.equal(right.code, 0, right.stderr);
      await assert.rejects(start(target), LIVE_REFUSED);
      await (await start(target, LIVE)).stop();
    } finally {
      await real.drop();
      await target.drop();
    }
  });
});

test('security S8: in live mode the pretend operator has no address, also with its key', async () => {
  const gateway = await createTestGateway({ ...LIVE, MASTER_KEY });
  try {
    const body = JSON.stringify({ event: 'payment', amount: 100_000_000, currency: 'KES' });
    const signature = createHmac('sha256', gateway.ctx.vault.deriveKey('sandbox operator')).update(body).digest('hex');
    const answer = await fetch(`${gateway.url}/operators/sandbox`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-sandbox-signature': signature },
    });
    assert.equal(answer.status, 404);
    const rows = await gateway.ctx.db.query('select 1 from operator_inbox union all select 1 from rejected_callbacks');
    assert.deepEqual(rows, []);
  } finally {
    await gateway.close();
  }
});
