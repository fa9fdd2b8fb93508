// What is sealed: where it opens, that all of it is sealed again, when a version of the keys is retired, and where the master key
// is kept. vault-rotation-load.test.ts replaces the keys under load.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { loadLiveIntegration, rotateSecret } from '../src/holders/integrations.ts';
import { createContext, StartError } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { replaceKeyFile } from '../src/platform/master-key.ts';
import { createMemory } from '../src/platform/memory.ts';
import { countOlderValues, resealPass } from '../src/platform/reseal.ts';
import { SEALED_COLUMNS } from '../src/services.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import type { Settings } from './processes.ts';
import { createShop, type Shop } from './shop.ts';
import { vaultTools } from './vault-harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'simbi-rotation-'));
const MASTER = randomBytes(32).toString('hex');
let database: TestDatabase;
const { settingsWith, command, refused } = vaultTools(folder, () => database.url);

before(async () => {
  database = await createTestDatabase();
});

after(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

describe('sealed values', () => {
  const shops: Shop[] = [];
  let ctx: Context;

  before(async () => {
    const config = readConfig(settingsWith({ MASTER_KEY: MASTER }));
    ctx = await createContext(config, database.url, createLogger('silent'));
    shops.push(await createShop(ctx, 'One'), await createShop(ctx, 'Two'));
  });
  after(() => ctx?.db.close());

  const secretsOf = async (shop: Shop) =>
    (await loadLiveIntegration({ ...ctx, memory: createMemory() }, { id: shop.id }))?.keys.map(({ secret }) =>
      secret.export().toString(),
    );

  test('security vault: a sealed secret opens in its own row only', async () => {
    const [one, two] = shops;
    assert.ok(one && two);
    const swap = (where: string) =>
      ctx.db.query(
        `update integration_secrets s set sealed = o.sealed from integration_secrets o
         where s.integration_id = $1 and s.kind = 'api' and s.slot = 1 and ${where}`,
        [one.id, two.id],
      );
    const [row] = await ctx.db.query<{ sealed: Buffer }>(
      `select sealed from integration_secrets where integration_id = $1 and kind = 'api' and slot = 1`,
      [one.id],
    );
    const put = () =>
      ctx.db.query(
        `update integration_secrets set sealed = $2 where integration_id = $1 and kind = 'api' and slot = 1`,
        [one.id, row?.sealed],
      );
    await swap(`o.integration_id = $2 and o.kind = 'api'`);
    await assert.rejects(secretsOf(one), 'the secret of another integration');
    await put();
    await swap(`$2::bigint is not null and o.integration_id = $1 and o.kind = 'callback'`);
    await assert.rejects(secretsOf(one), 'the other kind');
    await put();
    await rotateSecret(ctx, COMMAND_LINE, one.holderId, one.id, 'api', 3_600);
    await swap(`$2::bigint is not null and o.integration_id = $1 and o.kind = 'api' and o.slot = 2`);
    await assert.rejects(secretsOf(one), 'the other slot');
    await put();
    await ctx.db.query('update integrations set holder_id = $2 where id = $1', [one.id, two.holderId]);
    await assert.rejects(secretsOf(one), 'the integration under another holder');
    await ctx.db.query('update integrations set holder_id = $2 where id = $1', [one.id, one.holderId]);
    assert.equal((await secretsOf(one))?.length, 2);
  });

  test('every column with sealed values is in the list that is sealed again', async () => {
    const columns = await ctx.db.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = current_schema() and data_type = 'bytea' and (column_name like '%sealed%' or column_name like '%pending%')`,
    );
    const listed = SEALED_COLUMNS.flatMap((each) => each.columns);
    assert.deepEqual(columns.map(({ name }) => name).sort(), listed.toSorted());
  });

  test('second factors are sealed again with the secrets, and one that does not open stays as it is', async () => {
    const insert = (email: string, sealed: Buffer) =>
      ctx.db.query(`insert into members (email, name, created_at, totp_sealed) values ($1, $1, now(), $2)`, [
        email,
        sealed,
      ]);
    await insert('moved@example.org', ctx.vault.seal('text', 'second-factor:0'));
    await command({ MASTER_KEY: MASTER }, 'keys', 'rotate');
    const other = await createContext(ctx.config, database.url, createLogger('silent'));
    try {
      while ((await resealPass(other, SEALED_COLUMNS)) > 0);
      assert.equal(await countOlderValues(other, SEALED_COLUMNS), 1);
    } finally {
      await other.db.close();
    }
    for (const shop of shops) assert.ok(((await secretsOf(shop))?.length ?? 0) > 0);
    const owner = connectDatabase({ url: database.url, as: 'owner', poolSize: 1 });
    await owner.query(`delete from members where email = 'moved@example.org'`);
    await owner.close();
  });
});

describe('retiring', () => {
  const masters = { MASTER_KEY: MASTER };
  const age = (ctx: Context) => ctx.db.query(`update vault_keys set created_at = created_at - interval '2 days'`);

  test('a version is retired when nothing stored needs it and its successor is a day old, and never before', async () => {
    const ctx = await createContext(readConfig(settingsWith(masters)), database.url, createLogger('silent'));
    try {
      const shop = await createShop(ctx, 'Kept');
      const before = ctx.vault.seal('text', 'purpose');
      const old = before.readUInt32BE(1);
      const retire = (...more: string[]) => ['keys', 'retire', String(old), '--yes', ...more];
      await command(masters, 'keys', 'rotate');
      await refused(5, masters, /stored values are sealed with an older version/, ...retire());
      await command(masters, 'keys', 'reseal');
      await refused(5, masters, /successor is younger/, ...retire());
      await age(ctx);
      await command(masters, ...retire());
      await refused(5, masters, /was not retired/, ...retire());
      const { versions } = await command<{ versions: { version: number; state: string }[] }>(masters, 'keys', 'list');
      assert.equal(versions.find(({ version }) => version === old)?.state, 'retired');
      assert.equal(versions[0]?.state, 'seals');
      const next = await createContext(ctx.config, database.url, createLogger('silent'));
      assert.ok(await loadLiveIntegration(next, { id: shop.id }));
      await assert.rejects(next.vault.open(before, 'purpose'), /retired/);
      await next.db.close();
      const [entry] = await ctx.db.query(`select 1 from audit_log where action = 'keys.retired' and subject = $1`, [
        `version ${old}`,
      ]);
      assert.ok(entry, 'it is in the audit log');
    } finally {
      await ctx.db.close();
    }
  });
});

describe('the master key in a file', () => {
  test('is replaced by the command; a crash in between is made good by repeating it', async () => {
    const own = await createTestDatabase();
    const settings = { DATABASE_URL: own.url, DATA_DIR: join(folder, 'file'), MASTER_KEY: '' };
    const [key, previous] = [join(folder, 'file/master.key'), join(folder, 'file/master.key.previous')];
    const open = () => createContext(readConfig(settingsWith(settings)), own.url, createLogger('silent'));
    try {
      const first = await open();
      const shop = await createShop(first);
      const before = readFileSync(key, 'utf8');
      await command(settings, 'keys', 'rotate', '--master');
      assert.notEqual(readFileSync(key, 'utf8'), before);
      assert.equal(existsSync(previous), false);
      await command(settings, 'keys', 'rotate');
      assert.ok(await loadLiveIntegration(first, { id: shop.id }), 'the process from before finds the new file');
      await command(settings, 'keys', 'reseal');
      assert.ok(await loadLiveIntegration({ ...first, memory: createMemory() }, { id: shop.id }));
      const second = await open();
      assert.ok(await loadLiveIntegration(second, { id: shop.id }));
      // As after a crash between the new file and the keys: both files are there, and the keys need the old one.
      replaceKeyFile(readConfig(settingsWith(settings)));
      assert.ok(existsSync(previous));
      const third = await open();
      assert.ok(await loadLiveIntegration(third, { id: shop.id }));
      const waiting = readFileSync(key, 'utf8');
      await command(settings, 'keys', 'rotate', '--master');
      assert.equal(readFileSync(key, 'utf8'), waiting, 'it goes on with the key that is there');
      assert.equal(existsSync(previous), false);
      // As after a crash when the keys were stored: only the old file is left over.
      writeFileSync(previous, before);
      await command(settings, 'keys', 'rotate', '--master');
      assert.equal(existsSync(previous), false);
      assert.equal(readFileSync(key, 'utf8'), waiting, 'the replacement was done already');
      await command(settings, 'keys', 'rotate', '--master');
      assert.notEqual(readFileSync(key, 'utf8'), waiting, 'the next one is a replacement of its own');
      const fourth = await open();
      assert.ok(await loadLiveIntegration(fourth, { id: shop.id }));
      await Promise.all([first, second, third, fourth].map(({ db }) => db.close()));
    } finally {
      await own.drop();
    }
  });
});

describe('a key service', () => {
  /** The transit engine of HashiCorp Vault, as its documentation has it; the "encryption" is only for this test. */
  async function startTransit() {
    const calls: string[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += String(chunk);
      });
      request.on('end', () => {
        calls.push(String(request.url).split('/')[3] ?? '');
        const { plaintext, ciphertext } = JSON.parse(body) as Record<string, string>;
        const flipped = (text: string) => Buffer.from(text, 'base64').map((byte) => byte ^ 0x5a);
        const data = plaintext
          ? { ciphertext: `vault:v1:${Buffer.from(flipped(plaintext)).toString('base64')}` }
          : { plaintext: Buffer.from(flipped(ciphertext?.slice(9) ?? '')).toString('base64') };
        response.end(JSON.stringify({ data }));
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return { server, calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  /** To a master key of this machine, and to the service again; each time the processes have both settings first. */
  async function moveAwayAndBack(service: Settings): Promise<void> {
    const { KEY_PROVIDER, ...rest } = service;
    const away = { ...rest, MASTER_KEY: MASTER, KEY_PROVIDER_PREVIOUS: KEY_PROVIDER };
    assert.equal((await command<{ versions: number }>(away, 'keys', 'rotate', '--master')).versions, 3);
    await command({ ...rest, MASTER_KEY: MASTER }, 'keys', 'list');
    const back = { ...service, MASTER_KEY_PREVIOUS: MASTER };
    assert.equal((await command<{ versions: number }>(back, 'keys', 'rotate', '--master')).versions, 3);
    await command(service, 'keys', 'list');
  }

  test('is asked at start and for new versions only; without it the service starts not, but goes on', async () => {
    const own = await createTestDatabase();
    const transit = await startTransit();
    const settings = {
      DATABASE_URL: own.url,
      KEY_PROVIDER: 'vault-transit://transit/simbi',
      VAULT_ADDR: transit.url,
      VAULT_TOKEN: 'hvs.token',
    };
    const open = () => createContext(readConfig(settingsWith(settings)), own.url, createLogger('silent'));
    try {
      const ctx = await open();
      assert.deepEqual(transit.calls.splice(0), ['encrypt', 'encrypt', 'decrypt', 'decrypt']);
      const shop = await createShop(ctx);
      for (let time = 0; time < 50; time++)
        assert.ok(await loadLiveIntegration({ ...ctx, memory: createMemory() }, { id: shop.id }));
      assert.deepEqual(transit.calls, []);
      await command(settings, 'keys', 'rotate');
      transit.calls.length = 0;
      await command(settings, 'keys', 'reseal');
      transit.calls.length = 0;
      assert.ok(await loadLiveIntegration(ctx, { id: shop.id }));
      assert.deepEqual(transit.calls, ['decrypt'], 'the one version that this process did not have');
      await moveAwayAndBack(settings);
      transit.server.close();
      transit.server.closeAllConnections();
      assert.ok(await loadLiveIntegration({ ...ctx, memory: createMemory() }, { id: shop.id }));
      await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api');
      await assert.rejects(open(), (error: unknown) => {
        assert.ok(error instanceof StartError);
        assert.equal(error.exitCode, 6);
        assert.match(error.message, /^HashiCorp Vault at http:\/\/127\.0\.0\.1:\d+ does not answer/);
        return true;
      });
      await ctx.db.close();
    } finally {
      transit.server.close();
      await own.drop();
    }
  });
});
