// Rotation and revocation while requests run, through two real processes on one database: no request with a live key is refused,
// none with a dead one is accepted a second later.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { rotateSecret } from '../src/holders/integrations.ts';
import { addKey, revokeKey } from '../src/holders/keys.ts';
import { exchangeCredentials, revokeToken } from '../src/holders/tokens.ts';
import { createContext } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { createLogger } from '../src/platform/log.ts';
import { SCOPES } from '../src/platform/scopes.ts';
import { PATHS, ugandanCollection } from './client.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type RunningProcess, simbi } from './processes.ts';
import { createShop, type Shop, signBody } from './shop.ts';

const ROUNDS = 6;
const LANES = 6;
const OVERLAP_MS = 1_000;
/** A dead credential must be refused this long after its end. */
const GRACE_MS = 1_000;
/** How long dead credentials are still tried. */
const TRIED_AFTER_END_MS = 2_500;
const PAUSE_MS = 5;

/** A secret or a token, and when it lives, in milliseconds of this process. */
type Credential = { kind: 'secret' | 'token'; value: string; from: number; until: number };
type Attempt = { credential: Credential; sentAt: number; answeredAt: number; status: number; code: string | undefined };

const folder = mkdtempSync(join(tmpdir(), 'simbi-rotation-'));
let database: TestDatabase;
let ctx: Context;
let shop: Shop;
let processes: RunningProcess[] = [];
let urls: string[] = [];

before(async () => {
  database = await createTestDatabase();
  const settings = {
    DATABASE_URL: database.url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
  };
  processes = ['one', 'two'].map((name) => simbi(['serve'], { ...settings, DATA_DIR: join(folder, name) }));
  urls = await Promise.all(processes.map(async (each) => (await each.printed(/Listening: (\S+)/))[1] ?? ''));
  const config = readConfig({ ...settings, DATA_DIR: join(folder, 'here') });
  ctx = await createContext(config, database.url, createLogger('silent'));
  shop = await createShop(ctx, 'Rotated under load');
});
after(async () => {
  for (const each of processes) each.child.kill('SIGTERM');
  for (const each of processes) await each.ended;
  await ctx.db.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const live = (kind: Credential['kind'], value: string): Credential => ({
  kind,
  value,
  from: Date.now(),
  until: Number.POSITIVE_INFINITY,
});

async function send(url: string, { kind, value }: Credential, n: number): Promise<{ status: number; code?: string }> {
  const signed = signBody({ ...shop, secretKey: value }, Date.now(), n % 3 === 0 ? ugandanCollection() : {});
  const response = await fetch(
    `${url}${kind === 'token' ? PATHS.countries : n % 3 === 0 ? PATHS.collect : PATHS.balance}`,
    kind === 'token'
      ? { headers: { authorization: `Bearer ${value}` } }
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(signed) },
  );
  const { code } = (await response.json()) as { code?: string };
  return { status: response.status, ...(code === undefined ? {} : { code }) };
}

/** Requests without a pause, each with another credential and process, until the signal. */
async function runLane(lane: number, credentials: Credential[], stop: AbortSignal): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (let n = lane; !stop.aborted; n++) {
    const tried = credentials.filter(({ until }) => Date.now() < until + TRIED_AFTER_END_MS);
    const credential = tried[n % tried.length];
    await wait(PAUSE_MS);
    if (!credential) continue;
    const sentAt = Date.now();
    // A busy machine answers 503, or closes; that says nothing about keys.
    const answer = await send(urls[n % 2] ?? '', credential, n).catch(() => ({ status: 503, code: undefined }));
    attempts.push({ credential, sentAt, answeredAt: Date.now(), status: answer.status, code: answer.code });
  }
  return attempts;
}

/** Rotates, adds and revokes; notes from when to when each credential lives. */
async function changeKeys(credentials: Credential[]): Promise<void> {
  const { holderId, id, clientId } = shop;
  const buy = async (secret: string) => {
    const token = live('token', (await exchangeCredentials(ctx, clientId, secret, '127.0.0.1')).token);
    token.from = Date.now();
    credentials.push(token);
    return token;
  };
  const end = (until: number, ...ended: Credential[]) => {
    for (const each of ended) each.until = Math.min(each.until, until);
  };
  let current = live('secret', shop.secretKey);
  credentials.push(current);
  let token = await buy(current.value);
  for (let round = 0; round < ROUNDS; round++) {
    const name = `key-${round}`;
    const added = live(
      'secret',
      (await addKey(ctx, COMMAND_LINE, holderId, id, { name, scopes: SCOPES, allowedAddresses: [] })).secret,
    );
    added.from = Date.now();
    credentials.push(added);
    const [ofAdded, single] = [await buy(added.value), await buy(added.value)];
    await wait(300);
    await revokeToken(ctx, COMMAND_LINE, BigInt(single.value.split('|')[0] ?? 0));
    end(Date.now(), single);
    // Every other rotation without an overlap.
    const overlapMs = round % 2 === 0 ? 0 : OVERLAP_MS;
    const rotated = await rotateSecret(ctx, COMMAND_LINE, holderId, id, 'api', overlapMs / 1000);
    end(rotated.previousExpiresAt.getTime(), current, token);
    current = live('secret', rotated.secret);
    credentials.push(current);
    token = await buy(current.value);
    await wait(300);
    await revokeKey(ctx, COMMAND_LINE, holderId, id, name);
    end(Date.now(), added, ofAdded);
    await wait(600);
  }
  await wait(TRIED_AFTER_END_MS);
}

test('security S3: rotation and revocation under load in two processes: live keys pass, dead ones end in a second', async () => {
  const credentials: Credential[] = [];
  const stop = new AbortController();
  const lanes = Array.from({ length: LANES }, (_, lane) => runLane(lane, credentials, stop.signal));
  try {
    await changeKeys(credentials);
  } finally {
    stop.abort();
  }
  const attempts = (await Promise.all(lanes)).flat();
  const shown = ({ credential, status, code, sentAt }: Attempt) =>
    [
      `${credential.kind} ${status} ${code}`,
      `sent ${sentAt - credential.from} ms after its start, ${sentAt - credential.until} ms after its end`,
    ].join(', ');
  const whileLive = attempts.filter(
    ({ credential, sentAt, answeredAt }) => sentAt >= credential.from && answeredAt < credential.until,
  );
  const afterEnd = attempts.filter(({ credential, sentAt }) => sentAt >= credential.until + GRACE_MS);
  const refused = ({ status }: Attempt) => status === 401 || status === 403;
  assert.deepEqual(whileLive.filter(refused).map(shown), [], 'a live credential was refused');
  assert.deepEqual(afterEnd.filter(({ status }) => status === 200).map(shown), [], 'a dead credential was accepted');
  for (const [name, some] of Object.entries({ whileLive, afterEnd }))
    for (const kind of ['secret', 'token'])
      assert.ok(
        some.filter(({ credential }) => credential.kind === kind).length > 20,
        `${name}, ${kind}: ${some.length}`,
      );
  const answered = whileLive.filter(({ status }) => status === 200).length;
  assert.ok(answered > whileLive.length / 2, `${answered} of ${whileLive.length} were answered`);
});
