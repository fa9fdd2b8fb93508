// Weaknesses of tokens and keys that an audit found, each as the attack that worked: tokens that outlived their secret, token
// routes without the allow-list, and strangers who filled the request log of an integration.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { requireToken, signedCall } from '../src/holders/authentication.ts';
import { handleSigned } from '../src/holders/envelope.ts';
import { purgeExpired } from '../src/holders/housekeeping.ts';
import { rotateSecret, updateIntegration } from '../src/holders/integrations.ts';
import { listKeys } from '../src/holders/keys.ts';
import { keepRequestLog, type RequestLog } from '../src/holders/request-log.ts';
import { listTokens } from '../src/holders/tokens.ts';
import { listUnverified, writeUnverified } from '../src/holders/unverified-requests.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { Problem } from '../src/platform/errors.ts';
import { createHttpServer, type HttpServer } from '../src/platform/http.ts';
import { createUuid, publicId } from '../src/platform/ids.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { PROBE_MESSAGES } from './shop.ts';

const SECOND_MS = 1_000;

let gateway: TestGateway;

before(async () => {
  gateway = await createTestGateway({ TRUSTED_PROXIES: '127.0.0.1' });
});
after(() => gateway.close());

type Answer = { status: number; code: string | undefined; body: JsonObject; headers: Headers };

/** Sends over a real socket, as if from `address`. */
async function call(
  path: string,
  { body, token, address, method }: { body?: JsonObject; token?: string; address?: string; method?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(address ? { 'x-forwarded-for': address } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = (await response.json()) as JsonObject;
  const code = typeof answer.code === 'string' ? answer.code : undefined;
  return { status: response.status, code, body: answer, headers: response.headers };
}

const credentialsOf = ({ shop }: Client) => ({ client_id: shop.clientId, secret_key: shop.secretKey });
const toSign = ({ shop }: Client, params: JsonObject = {}) => ({
  client_id: shop.clientId,
  sender: shop.title,
  params,
});

describe('tokens and secrets', () => {
  test('security S3: a token ends with the secret that made it, and the new secret signs nothing for it', async () => {
    const { ctx } = gateway;
    const client = await createClient(gateway, 'Leaked');
    const token = await client.token();
    const collection = toSign(client, ugandanCollection());
    assert.equal((await call(PATHS.sign, { body: collection, token })).status, 200);
    await rotateSecret(ctx, COMMAND_LINE, client.shop.holderId, client.shop.id, 'api', 0);
    ctx.clock.advance(SECOND_MS);
    const signed = await call(PATHS.sign, { body: collection, token });
    assert.deepEqual([signed.status, signed.code], [401, 'unauthenticated']);
    for (const path of [PATHS.listLinks, PATHS.events, PATHS.countries])
      assert.equal((await call(path, { token })).status, 401, path);
  });

  test('security S3: a token of the secret before it lives and signs with it until the overlap ends', async () => {
    const { ctx } = gateway;
    const client = await createClient(gateway, 'Overlap');
    const token = await client.token();
    await rotateSecret(ctx, COMMAND_LINE, client.shop.holderId, client.shop.id, 'api', 60);
    ctx.clock.advance(SECOND_MS);
    const { body } = await call(PATHS.sign, { body: toSign(client, ugandanCollection()), token });
    const { envelope } = body.data as { envelope: JsonObject };
    const { signature: _, ...unsigned } = envelope;
    assert.equal(
      envelope.signature,
      client.envelope({}, unsigned).signature,
      'signed with its own secret, not the new one',
    );
    ctx.clock.advance(59 * SECOND_MS);
    assert.equal((await call(PATHS.sign, { body: toSign(client), token })).status, 401);
    assert.equal((await call(PATHS.collect, { body: envelope })).status, 403);
  });

  test('security S3: token and signature are stored by no cache', async () => {
    const client = await createClient(gateway, 'Cached');
    const bought = await call(PATHS.token, { body: credentialsOf(client) });
    const { token } = bought.body.data as { token: string };
    const signed = await call(PATHS.sign, { body: toSign(client), token });
    for (const { status, headers } of [bought, signed])
      assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store']);
  });

  test('security S12: the allow-list holds for get-token and for every route with a token', async () => {
    const { ctx } = gateway;
    const client = await createClient(gateway, 'Listed');
    const token = await client.token();
    await updateIntegration(ctx, COMMAND_LINE, client.shop.holderId, client.shop.id, {
      allowedAddresses: ['203.0.113.7'],
    });
    ctx.clock.advance(SECOND_MS);
    const calls: [string, { body?: JsonObject; token?: string }][] = [
      [PATHS.token, { body: credentialsOf(client) }],
      [PATHS.sign, { body: toSign(client), token }],
      [PATHS.events, { token }],
      [PATHS.listLinks, { token }],
      [PATHS.countries, { token }],
      [PATHS.preflight, { body: ugandanCollection(), token }],
    ];
    for (const [path, options] of calls) {
      const foreign = await call(path, { ...options, address: '198.51.100.9' });
      assert.deepEqual([foreign.status, foreign.code], [403, 'address_not_allowed'], path);
      assert.equal((await call(path, { ...options, address: '203.0.113.7' })).status, 200, path);
    }
    const wrong = { ...credentialsOf(client), secret_key: 'sk_wrong' };
    const guess = await call(PATHS.token, { body: wrong, address: '198.51.100.9' });
    assert.equal(guess.code, 'credentials_not_verified', 'a stranger does not learn that there is a list');
  });
});

describe('the request log', () => {
  let app: HttpServer;
  let log: RequestLog;

  before(() => {
    app = createHttpServer(gateway.ctx);
    log = keepRequestLog(app, gateway.ctx);
    app.post('/api/v3/test', (request, reply) =>
      handleSigned(gateway.ctx, PROBE_MESSAGES, signedCall(request, reply), async (signed) => {
        if (signed.params.refuse === true) throw new Problem('invalid_params');
        return { success: true };
      }),
    );
  });
  after(() => app.close());

  const post = (payload: JsonObject, remoteAddress: string) =>
    app.inject({ method: 'POST', url: '/api/v3/test', payload, remoteAddress });
  const codesIn = async (table: string, { shop }: Client) =>
    (
      await gateway.ctx.db.query<{ code: string | null; address: string }>(
        `select code, address from ${table} where integration_id = $1 order by at, address`,
        [shop.id],
      )
    ).map(({ code, address }) => `${address} ${code}`);

  test('security S3: a token shows when and from where it was last used, written at most once a minute', async () => {
    const { ctx } = gateway;
    app.get('/api/v3/test-token', async (request, reply) => ({
      id: (await requireToken(ctx, request, reply)).integration.id.toString(),
    }));
    const client = await createClient(gateway, 'Used');
    const token = await client.token();
    const use = async (remoteAddress: string) => {
      const headers = { authorization: `Bearer ${token}` };
      await app.inject({ url: '/api/v3/test-token', headers, remoteAddress });
      await log.flush();
      const [listed] = await listTokens(ctx.db, { integrationId: client.shop.id }, { now: ctx.clock.now(), limit: 10 });
      return [listed?.last_used_at?.getTime(), listed?.last_address];
    };
    const first = ctx.clock.millis();
    assert.deepEqual(await use('203.0.113.7'), [first, '203.0.113.7']);
    ctx.clock.advance(59 * SECOND_MS);
    assert.deepEqual(await use('203.0.113.8'), [first, '203.0.113.7']);
    ctx.clock.advance(SECOND_MS);
    assert.deepEqual(await use('203.0.113.8'), [first + 60 * SECOND_MS, '203.0.113.8']);
    const [key] = await listKeys(ctx.db, client.shop.holderId, client.shop.id, ctx.clock.now());
    assert.equal(key?.lastUsedAt?.getTime(), first + 60 * SECOND_MS);
  });

  test('security S19: a stranger who knows a client_id writes nothing into its request log', async () => {
    const client = await createClient(gateway, 'Flooded');
    for (let n = 0; n < 300; n++) await post({ ...client.envelope(), signature: '0'.repeat(64) }, '198.51.100.1');
    await post({ ...client.envelope(), sender: 'Somebody else' }, '198.51.100.1');
    assert.equal((await post(client.envelope({ refuse: true }), '203.0.113.7')).statusCode, 400);
    await log.flush();
    assert.deepEqual(await codesIn('request_log', client), ['203.0.113.7 invalid_params']);
  });

  test('a flush writes a request that came while others were being written', async () => {
    const client = await createClient(gateway, 'Flushed');
    await post(client.envelope({ refuse: true }), '203.0.113.7');
    let flushed = Promise.resolve(0);
    await gateway.ctx.ownerDb.transaction(async (tx) => {
      await tx.query('lock table request_log in share mode');
      void log.flush();
      await post(client.envelope({ refuse: true }), '203.0.113.8');
      flushed = log.flush();
    });
    await flushed;
    assert.deepEqual((await codesIn('request_log', client)).sort(), [
      '203.0.113.7 invalid_params',
      '203.0.113.8 invalid_params',
    ]);
  });

  test('security S19: a developer finds a wrong signature, however many strangers send', async () => {
    const client = await createClient(gateway, 'Debugged');
    const before = await countUnverified();
    for (let n = 0; n < 300; n++) await post({ ...client.envelope(), signature: '0'.repeat(64) }, '198.51.100.1');
    const wrong = await post({ ...client.envelope(), signature: '0'.repeat(64) }, '203.0.113.7');
    const { request_id } = wrong.json<{ request_id: string }>();
    await log.flush();
    const kept = await listUnverified(gateway.ctx.db, client.shop.holderId, {}, 1_000);
    assert.deepEqual(
      kept.filter(({ address }) => address === '203.0.113.7').map(({ id, code }) => [publicId('req', id), code]),
      [[request_id, 'signature_mismatch']],
    );
    assert.equal(kept.length, 11, 'ten a minute of one address');
    assert.equal((await countUnverified()) - before, 301, 'all are counted');
  });

  test('security S19: what is kept is bounded over days, for each integration and each address, and purged', async () => {
    const { ctx } = gateway;
    const client = await createClient(gateway, 'Watched');
    const { holderId, id: integrationId } = client.shop;
    const rowsOf = (address: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({
        holderId,
        integrationId,
        at: new Date(ctx.clock.millis() + n),
        id: createUuid(ctx.clock.millis()),
        status: 403,
        route: 'POST /api/v3/test',
        address,
        code: 'signature_mismatch',
      }));
    await writeUnverified(ctx, rowsOf('203.0.113.7', 1));
    await writeUnverified(ctx, rowsOf('198.51.100.1', 1_500));
    const addresses = async () => (await codesIn('unverified_requests', client)).map((line) => line.split(' ')[0]);
    assert.equal((await addresses()).length, 201);
    assert.ok((await addresses()).includes('203.0.113.7'), 'one address does not push out another');
    for (let host = 2; host < 9; host++) await writeUnverified(ctx, rowsOf(`198.51.100.${host}`, 300));
    assert.equal((await addresses()).length, 1_000);
    ctx.clock.advance(8 * DAY_MS);
    while ((await purgeExpired(ctx)) > 0);
    assert.deepEqual(await addresses(), []);
  });

  async function countUnverified(): Promise<number> {
    const { values } = await gateway.ctx.metrics.unverifiedRequests.get();
    return values.reduce((sum, { value }) => sum + value, 0);
  }
});
