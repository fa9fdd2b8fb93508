// The keys are replaced while two processes answer requests: no request with a live secret is refused, one with a dead secret
// is refused a second later, and every process may be restarted at any step.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { runCommand } from '../src/cli.ts';
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
import { PATHS } from './client.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type RunningProcess, type Settings, simbi } from './processes.ts';
import { createShop, type Shop, signBody } from './shop.ts';

/** A busy machine; the next try is answered. */
const BUSY = ['database_unavailable', 'overloaded', 'outcome_unknown'];
const SENDERS = 4;
/** Of a sender, after each answer. */
const PAUSE_MS = 10;
/** A change of a secret is known everywhere by then. */
const KNOWN_MS = 1_000;

const folder = mkdtempSync(join(tmpdir(), 'simbi-rotation-'));
const [oldMaster, newMaster] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const running = new Set<RunningProcess>();
let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});

after(async () => {
  for (const each of running) each.child.kill('SIGKILL');
  await Promise.all([...running].map((each) => each.ended));
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const settingsWith = (masters: Settings): Settings => ({
  DATABASE_URL: database.url,
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  LOG_LEVEL: 'silent',
  RATE_LIMIT_PER_SECOND: '0',
  RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  ...masters,
});

type Gateway = { process: RunningProcess; url: string };

async function startGateway(masters: Settings): Promise<Gateway> {
  const process = simbi(['serve'], settingsWith(masters));
  running.add(process);
  return { process, url: (await process.printed(/Listening: (\S+)/))[1] ?? '' };
}

async function stopGateway({ process }: Gateway): Promise<void> {
  process.child.kill('SIGTERM');
  assert.equal((await process.ended).code, 0);
  running.delete(process);
}

/** Runs a command in this process, as a person would type it beside the service. */
async function runIn(masters: Settings, args: string[]): Promise<{ code: number; out: string; messages: string }> {
  let [out, messages] = ['', ''];
  const code = await runCommand(
    {
      environment: settingsWith(masters),
      interactive: false,
      out: (text) => {
        out += text;
      },
      say: (text) => {
        messages += `${text}\n`;
      },
      bold: (text) => text,
      readInput: () => Promise.resolve(null),
    },
    [...args, '--json'],
  );
  return { code, out, messages };
}

async function command<T>(masters: Settings, ...args: string[]): Promise<T> {
  const { code, out, messages } = await runIn(masters, args);
  assert.equal(code, 0, messages);
  return JSON.parse(out) as T;
}

async function refused(expected: number, masters: Settings, pattern: RegExp, ...args: string[]): Promise<void> {
  const { code, messages } = await runIn(masters, args);
  assert.equal(code, expected, messages);
  assert.match(messages, pattern);
}

async function ask(url: string, shop: Shop, secretKey: string): Promise<{ status: number; code: string }> {
  for (;;) {
    // A new one each time: of a request whose end is not known the signature may be used.
    const body = JSON.stringify(signBody({ ...shop, secretKey }, Date.now()));
    const response = await fetch(`${url}${PATHS.balance}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { code = '' } = (await response.json()) as { code?: string };
    if (!BUSY.includes(code)) return { status: response.status, code };
    await wait(50);
  }
}

/** Some hundred requests a second to the gateways of the list, with the secret that is live, until `stop`. */
function startLoad(gateways: Gateway[], shop: Shop) {
  const state = { secretKey: shop.secretKey, answered: 0, refused: [] as string[] };
  let over = false;
  const senders = Array.from({ length: SENDERS }, async (_, number) => {
    for (let round = number; !over; round++) {
      const gateway = gateways[round % gateways.length];
      if (!gateway) continue;
      const { status, code } = await ask(gateway.url, shop, state.secretKey).catch((error: unknown) => ({
        status: 0,
        code: String(error),
      }));
      // A process that is being restarted closes its connections; it is no longer in the list.
      if (status === 0 && !gateways.includes(gateway)) continue;
      state.answered++;
      if (status !== 200) state.refused.push(`${status} ${code}`);
      await wait(PAUSE_MS);
    }
  });
  return {
    state,
    async stop() {
      over = true;
      await Promise.all(senders);
    },
  };
}

describe('key rotation under load, two processes', () => {
  test('security vault: no request with a live secret is refused; a dead one is refused a second later', async () => {
    const old = { MASTER_KEY: oldMaster };
    const ctx = await createContext(readConfig(settingsWith(old)), database.url, createLogger('silent'));
    const shop = await createShop(ctx);
    const gateways = await Promise.all([startGateway(old), startGateway(old)]);
    const load = startLoad(gateways, shop);
    try {
      await rotateKeys(old, ctx, load.state);
      await rotateSecrets(ctx, gateways, shop, load.state);
      await replaceMaster(gateways, load.state);
    } finally {
      await load.stop();
      await ctx.db.close();
    }
    assert.deepEqual(load.state.refused, []);
    assert.ok(load.state.answered > 50, `${load.state.answered} requests were answered`);
    for (const gateway of gateways) await stopGateway(gateway);
  });

  type Load = ReturnType<typeof startLoad>['state'];

  /** Waits until the senders got this many more answers. */
  async function answers(load: Load, count: number): Promise<void> {
    for (const from = load.answered; load.answered < from + count; ) await wait(20);
  }

  async function rotateKeys(masters: Settings, ctx: Context, load: Load): Promise<void> {
    for (const expected of [2, 3, 4]) {
      const { version } = await command<{ version: number }>(masters, 'keys', 'rotate');
      assert.equal(version, expected);
      await answers(load, 10);
    }
    const { older_values } = await command<{ older_values: number }>(masters, 'keys', 'reseal');
    assert.equal(older_values, 0);
    await answers(load, 10);
    const rows = await ctx.db.query<{ sealed: Buffer }>('select sealed from integration_secrets');
    assert.deepEqual(new Set(rows.map(({ sealed }) => sealed.readUInt32BE(1))), new Set([4]));
  }

  /** A new secret, sealed by a process that has the newest key, is accepted by both; the old one dies at once. */
  async function rotateSecrets(ctx: Context, gateways: Gateway[], shop: Shop, load: Load): Promise<void> {
    const kept = await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api', 3_600);
    await wait(KNOWN_MS);
    const former = load.secretKey;
    load.secretKey = kept.secret;
    await answers(load, 10);
    for (const { url } of gateways) assert.equal((await ask(url, shop, former)).status, 200, 'it is live for an hour');
    // The senders use the newest secret before the one before it ends.
    const next = await rotateSecret(ctx, COMMAND_LINE, shop.holderId, shop.id, 'api', 3_600);
    await wait(KNOWN_MS);
    load.secretKey = next.secret;
    await answers(load, SENDERS * 2);
    await ctx.db.query(
      `update integration_secrets set expires_at = now() where integration_id = $1 and expires_at is not null`,
      [shop.id],
    );
    await wait(KNOWN_MS);
    for (const { url } of gateways)
      for (const dead of [former, kept.secret]) {
        const answer = await ask(url, shop, dead);
        assert.deepEqual([answer.status, answer.code], [403, 'signature_mismatch']);
      }
  }

  /** The documented steps: both keys to every process, one after the other; move the keys; then the new key alone. */
  async function replaceMaster(gateways: Gateway[], load: Load): Promise<void> {
    const both = { MASTER_KEY: newMaster, MASTER_KEY_PREVIOUS: oldMaster };
    for (let count = gateways.length; count > 0; count--) await replaceFirst(gateways, both);
    await answers(load, 10);
    const moved = await command<{ versions: number }>(both, 'keys', 'rotate', '--master');
    assert.equal(moved.versions, 5, 'versions 0 to 4');
    const { version } = await command<{ version: number }>(both, 'keys', 'rotate');
    assert.equal(version, 5);
    await answers(load, 10);
    await replaceFirst(gateways, { MASTER_KEY: newMaster });
    await answers(load, 10);
    const late = simbi(['serve'], settingsWith({ MASTER_KEY: oldMaster }));
    const { code, stderr } = await late.ended;
    assert.equal(code, 2);
    assert.match(stderr, /encrypted with another master key\. Set MASTER_KEY/);
  }

  async function replaceFirst(gateways: Gateway[], masters: Settings): Promise<void> {
    const next = await startGateway(masters);
    const former = gateways.shift();
    gateways.push(next);
    if (former) await stopGateway(former);
  }
});

describe('sealed values', () => {
  const shops: Shop[] = [];
  let ctx: Context;

  before(async () => {
    const config = readConfig(settingsWith({ MASTER_KEY: newMaster }));
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
    await command({ MASTER_KEY: newMaster }, 'keys', 'rotate');
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
  const masters = { MASTER_KEY: newMaster };
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
    const away = { ...rest, MASTER_KEY: newMaster, KEY_PROVIDER_PREVIOUS: KEY_PROVIDER };
    assert.equal((await command<{ versions: number }>(away, 'keys', 'rotate', '--master')).versions, 3);
    await command({ ...rest, MASTER_KEY: newMaster }, 'keys', 'list');
    const back = { ...service, MASTER_KEY_PREVIOUS: newMaster };
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
