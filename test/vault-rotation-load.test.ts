// The keys are replaced while two processes answer requests: no request with a live secret is refused, one with a dead secret
// is refused a second later, and every process may be restarted at any step.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { rotateSecret } from '../src/holders/integrations.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { createLogger } from '../src/platform/log.ts';
import { PATHS } from './client.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type RunningProcess, type Settings, simbi } from './processes.ts';
import { createShop, type Shop, signBody } from './shop.ts';
import { vaultTools } from './vault-harness.ts';

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
const { settingsWith, command } = vaultTools(folder, () => database.url);

before(async () => {
  database = await createTestDatabase();
});

after(async () => {
  for (const each of running) each.child.kill('SIGKILL');
  await Promise.all([...running].map((each) => each.ended));
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
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
