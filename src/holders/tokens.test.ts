// Tokens: what buys one, what does not, and that a refusal never tells more than "no".

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { DAY_MS } from '../platform/clock.ts';
import { createHttpServer, type HttpServer } from '../platform/http.ts';
import { sha256 } from '../platform/secrets.ts';
import type { JsonObject, JsonValue } from '../platform/strict-json.ts';
import { COMMAND_LINE, listAudit } from './audit.ts';
import { signatureOf } from './envelope.ts';
import { rotateSecret, updateIntegration } from './integrations.ts';
import { holderRoutes } from './routes.ts';
import { revokeToken } from './tokens.ts';

const GET_TOKEN = '/api/integration/get-token';
const SIGN = '/api/service-signature';

describe('tokens', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let app: HttpServer;
  let shop: Shop;
  let addresses = 0;

  before(async () => {
    ctx = await createTestContext({ RATE_LIMIT_PER_SECOND: '0', RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
    app = createHttpServer(ctx);
    holderRoutes(app, ctx);
    shop = await createShop(ctx);
  });
  after(() => ctx.close());

  async function post(url: string, payload: unknown, headers: Record<string, string> = {}, remoteAddress?: string) {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(payload),
      remoteAddress: remoteAddress ?? nextAddress(),
    });
    const body = response.json() as {
      success: boolean;
      message: string;
      code: string;
      data: Record<string, string>;
      errors?: unknown;
    };
    return { status: response.statusCode, headers: response.headers, body };
  }
  /** Failures are counted per address: each test comes from elsewhere. */
  const nextAddress = () => `198.51.${Math.floor(++addresses / 250)}.${addresses % 250}`;
  const credentials = (changes: JsonObject = {}) => ({
    client_id: shop.clientId,
    secret_key: shop.secretKey,
    ...changes,
  });
  const buy = async () => (await post(GET_TOKEN, credentials())).body.data.token ?? '';
  const sign = (
    token: string | undefined,
    body: unknown = { client_id: shop.clientId, sender: shop.title, params: {} },
  ) => post(SIGN, body, token === undefined ? {} : { authorization: token });

  test('the right credentials buy a token of the specified form; only its hash is kept', async () => {
    const { status, body } = await post(GET_TOKEN, credentials());
    assert.equal(status, 200);
    assert.deepEqual([body.success, body.message, body.data.token_type], [true, 'Credentials verified.', 'Bearer']);
    assert.match(body.data.token ?? '', /^[1-9]\d*\|[A-Za-z0-9_-]{40,}$/);
    assert.equal(Date.parse(body.data.expires_at ?? '') - ctx.clock.millis(), DAY_MS);
    assert.match(body.data.expires_at ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const [id, secret] = (body.data.token ?? '').split('|');
    const [row] = await ctx.db.query<{ text: string; secret_hash: Buffer }>(
      'select t::text as text, secret_hash from tokens t where id = $1',
      [id],
    );
    assert.deepEqual(row?.secret_hash, sha256(secret ?? ''));
    assert.ok(!row?.text.includes(secret ?? ''));
  });

  test('a 401 names the scheme that the caller must use, and whether the token was wrong', async () => {
    const challenge = async (reply: ReturnType<typeof post>) => {
      const { status, headers } = await reply;
      return [status, headers['www-authenticate']];
    };
    assert.deepEqual(await challenge(sign(undefined)), [401, 'Bearer']);
    assert.deepEqual(await challenge(sign('Basic dXNlcjpwYXNz')), [401, 'Bearer']);
    for (const token of ['1|nobody', 'malformed', `${2n ** 70n}|x`])
      assert.deepEqual(await challenge(sign(`Bearer ${token}`)), [401, 'Bearer error="invalid_token"'], token);
    assert.deepEqual(await challenge(post(GET_TOKEN, credentials({ secret_key: 'no' }))), [401, 'Bearer']);
    assert.equal((await sign(`Bearer ${await buy()}`)).headers['www-authenticate'], undefined);
  });

  test('several live at once, for 24 hours, unless revoked', async () => {
    const [first, second] = [await buy(), await buy()];
    assert.equal((await sign(`Bearer ${first}`)).status, 200);
    assert.equal((await sign(`bearer ${second}`)).status, 200, 'the scheme is not case sensitive');
    const id = BigInt(first.split('|')[0] ?? '');
    assert.deepEqual(await revokeToken(ctx, COMMAND_LINE, id), { clientId: shop.clientId, at: ctx.clock.now() });
    assert.equal((await sign(`Bearer ${first}`)).status, 401);
    await assert.rejects(revokeToken(ctx, COMMAND_LINE, id), { code: 'not_found' });
    const [entry] = await listAudit(ctx.db, shop.holderId, 1);
    assert.deepEqual([entry?.action, entry?.subject], ['token.revoked', String(id)]);
    ctx.clock.advance(DAY_MS - 1);
    assert.equal((await sign(`Bearer ${second}`)).status, 200);
    ctx.clock.advance(1);
    assert.equal((await sign(`Bearer ${second}`)).status, 401);
  });

  test('a token of a revoked integration is dead, and either live secret buys one', async () => {
    const other = await createShop(ctx, 'Rotated');
    const pair = (secret: string) => ({ client_id: other.clientId, secret_key: secret });
    const { secret } = await rotateSecret(ctx, COMMAND_LINE, other.holderId, other.id, 'api');
    assert.equal((await post(GET_TOKEN, pair(other.secretKey))).status, 200);
    const token = (await post(GET_TOKEN, pair(secret))).body.data.token;
    await updateIntegration(ctx, COMMAND_LINE, other.holderId, other.id, { status: 'revoked' });
    ctx.clock.advance(1_000);
    assert.equal((await sign(`Bearer ${token}`)).status, 401);
    assert.equal((await post(GET_TOKEN, pair(secret))).status, 401);
  });

  test('an unknown client and a wrong secret are the same refusal: status, body and headers', async () => {
    const ask = async (body: JsonObject) => {
      const { status, headers, body: answer } = await post(GET_TOKEN, body);
      const { request_id: _, ...rest } = answer as unknown as Record<string, unknown>;
      const { date: _date, 'x-request-id': _id, ...shown } = headers;
      return { status, rest, shown };
    };
    const unknown = await ask(credentials({ client_id: `client_${'0'.repeat(24)}` }));
    const wrong = await ask(credentials({ secret_key: `sk_${'0'.repeat(43)}` }));
    assert.deepEqual(unknown, wrong);
    assert.deepEqual(unknown.rest, {
      success: false,
      message: 'Credentials were not verified.',
      code: 'credentials_not_verified',
    });
    assert.equal(unknown.status, 401);
  });

  test('an unknown client and a wrong secret cost the same statements', async () => {
    // The fewest of some: what goes on in the background adds its own.
    const statementsFor = async (changes: JsonObject) => {
      const counts: number[] = [];
      for (let tries = 0; tries < 4; tries++) {
        const before = ctx.db.counters.statements;
        assert.equal((await post(GET_TOKEN, credentials(changes))).status, 401);
        counts.push(ctx.db.counters.statements - before);
      }
      return Math.min(...counts);
    };
    const unknown = await statementsFor({ client_id: `client_${'0'.repeat(24)}` });
    const wrong = await statementsFor({ secret_key: `sk_${'0'.repeat(43)}` });
    assert.ok(unknown > 0, 'neither is answered from a cache');
    assert.equal(unknown, wrong);
  });

  test('ten failures a minute for one client, fifty for one address; nobody locks out another', async () => {
    const here = nextAddress();
    const wrong = credentials({ secret_key: 'sk_wrong' });
    for (let tries = 0; tries < 10; tries++) assert.equal((await post(GET_TOKEN, wrong, {}, here)).status, 401);
    const refused = await post(GET_TOKEN, credentials(), {}, here);
    assert.deepEqual([refused.status, refused.body.code, refused.headers['retry-after']], [429, 'rate_limited', '60']);
    assert.deepEqual(
      [refused.headers.ratelimit, refused.headers['ratelimit-policy']],
      ['"credentials";r=0;t=60', '"credentials";q=10'],
    );
    assert.equal((await post(GET_TOKEN, credentials())).status, 200, 'the rightful caller elsewhere is not locked out');
    for (let tries = 10; tries < 50; tries++)
      assert.equal((await post(GET_TOKEN, credentials({ client_id: `client_${tries}` }), {}, here)).status, 401);
    assert.equal((await post(GET_TOKEN, credentials({ client_id: 'client_fresh' }), {}, here)).status, 429);
    ctx.clock.advance(60_000);
    assert.equal((await post(GET_TOKEN, credentials(), {}, here)).status, 200);
  });

  test('security S13: the addresses of one /64 share the failures of get-token', async () => {
    const wrong = credentials({ secret_key: 'sk_wrong' });
    const statuses: number[] = [];
    for (let n = 1; n <= 12; n++) statuses.push((await post(GET_TOKEN, wrong, {}, `2001:db8:7:7::${n}`)).status);
    assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429]);
    assert.equal((await post(GET_TOKEN, credentials(), {}, '2001:db8:7:8::1')).status, 200);
    ctx.clock.advance(60_000);
  });

  test('a request without credentials learns what is missing', async () => {
    for (const body of [
      {},
      { client_id: 1 },
      { client_id: '', secret_key: '' },
      [],
      null,
      { client_id: 'x'.repeat(300) },
    ]) {
      const { status, body: answer } = await post(GET_TOKEN, body);
      assert.deepEqual([status, answer.code], [400, 'invalid_params']);
      assert.ok(answer.errors);
    }
  });

  test('every malformed token is the same 401', async () => {
    const good = await buy();
    const [id, secret] = good.split('|');
    const forms = [
      '1', '|x', '1|', `0${id}|${secret}`, `+${id}|${secret}`, `9223372036854775808|${secret}`, `9223372036854775807|${secret}`,
      `${id}|${secret}|y`, `${id}|${secret}x`, `${id}|${secret?.slice(1)}`, `-${id}|${secret}`, `${id}.0|${secret}`,
      `१|${encodeURIComponent('१')}`,
      `${id}|${'x'.repeat(8_000)}`, `99999999999999999999|${secret}`, `${id}%7C${secret}`, `${Number(id) + 1_000}|${secret}`,
    ]; // biome-ignore format: a list of forms
    for (const form of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `Basic ${good}`,
      good,
      `Bearer  ${good}`,
      ...forms.map((form) => `Bearer ${encodeURI(form).replaceAll('%7C', '|')}`),
    ]) {
      const { status, body } = await sign(form);
      const { request_id: _, ...rest } = body as unknown as Record<string, unknown>;
      assert.equal(status, 401, String(form).slice(0, 60));
      assert.deepEqual(rest, { success: false, message: 'Unauthenticated.', code: 'unauthenticated' });
    }
    assert.equal((await sign(`Bearer ${good}`)).status, 200);
  });

  test('the signing endpoint signs what the server will accept, fills in what is left out, and spends nothing', async () => {
    const token = `Bearer ${await buy()}`;
    const asked = { client_id: shop.clientId, sender: shop.title, params: { id: 'TX_1', note: 'é' }, extra: 1 };
    const { status, body } = await sign(token, asked);
    assert.deepEqual([status, body.message], [200, 'Signature generated.']);
    const { signature, timestamp, salt, envelope } = body.data as unknown as { [key: string]: never };
    assert.deepEqual(Object.keys(body.data), ['signature', 'timestamp', 'salt', 'envelope']);
    assert.deepEqual(envelope, { ...asked, timestamp, salt, signature });
    assert.equal(signature, signatureOf(shop.secretKey, envelope));
    const again = await sign(token, { ...asked, timestamp, salt });
    assert.equal(again.body.data.signature, signature);
  });

  test('review: a stolen token signs nothing that is valid only after it was revoked', async () => {
    const token = `Bearer ${await buy()}`;
    const now = Math.floor(ctx.clock.millis() / 1_000);
    const ask = (timestamp: number) =>
      sign(token, { client_id: shop.clientId, sender: shop.title, params: {}, timestamp });
    assert.equal((await ask(now + 300)).status, 200);
    for (const timestamp of [now + 301, now + 86_400, 9_007_199_254_740_991]) {
      const { status, body } = await ask(timestamp);
      assert.deepEqual([status, body.code], [403, 'timestamp_out_of_range']);
    }
  });

  test('the signing endpoint signs only for its own integration', async () => {
    const token = `Bearer ${await buy()}`;
    const other = await createShop(ctx, 'Stranger');
    const refusals: [JsonValue, number, string][] = [
      [[], 400, 'invalid_envelope'],
      [{ sender: shop.title, params: {} }, 400, 'invalid_envelope'],
      [{ client_id: shop.clientId, params: {} }, 400, 'invalid_envelope'],
      [{ client_id: 5, sender: shop.title, params: {} }, 400, 'invalid_envelope'],
      [{ client_id: other.clientId, sender: other.title, params: {} }, 403, 'integration_not_found'],
      [{ client_id: shop.clientId, sender: other.title, params: {} }, 403, 'client_mismatch'],
      [{ client_id: shop.clientId, sender: shop.title }, 400, 'invalid_envelope'],
      [{ client_id: shop.clientId, sender: shop.title, params: [] }, 400, 'invalid_envelope'],
      [{ client_id: shop.clientId, sender: shop.title, params: {}, salt: '' }, 400, 'invalid_envelope'],
      [{ client_id: shop.clientId, sender: shop.title, params: {}, timestamp: '1' }, 400, 'invalid_envelope'],
    ];
    for (const [body, status, code] of refusals) {
      const signed = await sign(token, body);
      assert.deepEqual([signed.status, signed.body.code], [status, code]);
    }
  });
});
