// Who gets in: the order of the checks, with the exact words, and the rule that a signature works once.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { createShop, PROBE_MESSAGES, probeRoute, type Shop, signBody } from '../../test/shop.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import type { Context } from '../platform/context.ts';
import { connectDatabase } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHttpServer, type HttpServer } from '../platform/http.ts';
import { createMemory } from '../platform/memory.ts';
import { createMetrics } from '../platform/metrics.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { COMMAND_LINE } from './audit.ts';
import { signedCall } from './authentication.ts';
import { handleSigned } from './envelope.ts';
import { rotateSecret, updateIntegration } from './integrations.ts';
import { maintainSignatures } from './signatures.ts';

type EnvelopeApp = { ctx: TestContext & { close(): Promise<void> }; app: HttpServer; shop: Shop };

async function createEnvelopeApp(settings: Record<string, string> = {}): Promise<EnvelopeApp> {
  const ctx = await createTestContext({ RATE_LIMIT_PER_SECOND: '0', ...settings });
  const app = createApp(ctx);
  return { ctx, app, shop: await createShop(ctx) };
}

function createApp(ctx: Context): HttpServer {
  const app = createHttpServer(ctx);
  probeRoute(app, ctx);
  app.post('/refuse', (request, reply) =>
    handleSigned(ctx, PROBE_MESSAGES, signedCall(request, reply), async () => {
      throw new Problem('invalid_params', { message: PROBE_MESSAGES.badParams });
    }),
  );
  app.post('/fail', (request, reply) =>
    handleSigned(ctx, PROBE_MESSAGES, signedCall(request, reply), async () => {
      throw new Error('a fault of ours');
    }),
  );
  return app;
}

async function post(app: HttpServer, body: unknown, path = '/probe', remoteAddress = '127.0.0.1') {
  const response = await app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json' },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    remoteAddress,
  });
  const answer = response.json() as { success: boolean; message: string; code?: string; [key: string]: unknown };
  return { status: response.statusCode, headers: response.headers, answer };
}

/** `[status, message, code]`, to compare with a table. */
async function verdict(app: HttpServer, body: unknown, path?: string, address?: string) {
  const { status, answer } = await post(app, body, path, address);
  return [status, answer.message, answer.code];
}

const OK = [200, 'Probed.', undefined];
const NOT_VERIFIED = (code: string) => [403, 'Request was not verified.', code];

describe('the order of the checks', () => {
  let opened: EnvelopeApp;
  before(async () => {
    opened = await createEnvelopeApp();
  });
  after(() => opened.ctx.close());

  /** A body in which everything from `step` on is wrong: each check must win over all later ones. */
  function wrongFrom(step: number): JsonObject {
    const { ctx, shop } = opened;
    const body = signBody(shop, ctx.clock.millis());
    if (step <= 6) body.signature = '0'.repeat(64);
    if (step <= 5) body.timestamp = 1;
    if (step <= 3) body.sender = 'Somebody else';
    if (step <= 2) body.client_id = 'client_unknown';
    if (step <= 1) body.params = null;
    return body;
  }

  test('the first check that fails answers, with its own message and code', async () => {
    const { ctx, app, shop } = opened;
    await updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { allowedAddresses: ['203.0.113.0/24'] });
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    const inside = '203.0.113.9';
    assert.deepEqual(await verdict(app, wrongFrom(1)), [400, 'Bad params.', 'invalid_envelope']);
    assert.deepEqual(await verdict(app, wrongFrom(2)), [
      403,
      'Entity integration record not found',
      'integration_not_found',
    ]);
    assert.deepEqual(await verdict(app, wrongFrom(3)), [403, 'Client id not matched', 'client_mismatch']);
    assert.deepEqual(await verdict(app, wrongFrom(4)), NOT_VERIFIED('address_not_allowed'));
    assert.deepEqual(await verdict(app, wrongFrom(5), '/probe', inside), NOT_VERIFIED('timestamp_out_of_range'));
    assert.deepEqual(await verdict(app, wrongFrom(6), '/probe', inside), NOT_VERIFIED('signature_mismatch'));
    const signed = signBody(shop, ctx.clock.millis());
    assert.deepEqual(await verdict(app, signed, '/probe', inside), [
      400,
      'Service user not found',
      'account_suspended',
    ]);
    // Refused without effect, so not spent: the same request works once the account is back.
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'active');
    ctx.clock.advance(1_000);
    assert.deepEqual(await verdict(app, signed, '/probe', inside), OK);
    // Used before wins over the account.
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    ctx.clock.advance(1_000);
    assert.deepEqual(await verdict(app, signed, '/probe', inside), NOT_VERIFIED('signature_reused'));
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed');
    ctx.clock.advance(1_000);
    const late = signBody(shop, ctx.clock.millis());
    assert.deepEqual(await verdict(app, late, '/probe', inside), [400, 'User not found!', 'account_not_found']);
  });

  test('a revoked integration is not found, within a second also in a process that had it in memory', async () => {
    const { ctx, app } = opened;
    const shop = await createShop(ctx, 'Short-lived');
    assert.deepEqual(await verdict(app, signBody(shop, ctx.clock.millis())), OK);
    await updateIntegration(ctx, COMMAND_LINE, shop.holderId, shop.id, { status: 'revoked' });
    ctx.clock.advance(1_000);
    assert.deepEqual(await verdict(app, signBody(shop, ctx.clock.millis())), [
      403,
      'Entity integration record not found',
      'integration_not_found',
    ]);
  });
});

describe('what is signed', () => {
  let opened: EnvelopeApp;
  before(async () => {
    opened = await createEnvelopeApp();
  });
  after(() => opened.ctx.close());
  const fresh = (changes: JsonObject = {}, params: JsonObject = { id: 'TX_1', n: 1.5 }) =>
    signBody(opened.shop, opened.ctx.clock.millis(), params, changes);

  test('one changed byte anywhere is refused', async () => {
    const text = JSON.stringify(fresh());
    let refused = 0;
    for (let index = 0; index < text.length; index++) {
      const bytes = Buffer.from(text);
      bytes[index] = (bytes[index] ?? 0) ^ 1;
      const { status, answer } = await post(opened.app, bytes.toString('latin1'));
      assert.ok(status === 400 || status === 403, `byte ${index}: ${status} ${answer.message}`);
      refused++;
    }
    assert.equal(refused, text.length);
    // None of those attempts spent anything.
    assert.deepEqual(await verdict(opened.app, text), OK);
  });

  test('the order of members and the spelling of the JSON do not matter; the values do', async () => {
    const body = fresh({}, { name: 'é/"', amount: 100, list: [] });
    const { signature, params, ...rest } = body;
    const spelled = `{ "params": {"list":[],"amount":1e2,"name":"\\u00e9\\/\\""}, ${JSON.stringify({ signature, ...rest }).slice(1)}`;
    assert.deepEqual(await verdict(opened.app, spelled), OK);
    assert.ok(params);
  });

  test('an extra member is covered by the signature and otherwise ignored', async () => {
    assert.deepEqual(await verdict(opened.app, fresh({ note: 'ours' })), OK);
    assert.deepEqual(
      await verdict(opened.app, { ...fresh(), note: 'added later' }),
      NOT_VERIFIED('signature_mismatch'),
    );
  });

  test('signatures of another form are refused, never a fault', async () => {
    const body = fresh();
    const right = body.signature;
    const forms: [unknown, string][] = [
      ['', 'signature_mismatch'],
      [right.toUpperCase(), 'signature_mismatch'],
      [right.slice(1), 'signature_mismatch'],
      [`${right}0`, 'signature_mismatch'],
      [Buffer.from(right, 'hex').toString('base64'), 'signature_mismatch'],
      [` ${right}`, 'signature_mismatch'],
      ['\u{1F600}'.repeat(16), 'signature_mismatch'],
      [[right], 'invalid_envelope'],
      [1, 'invalid_envelope'],
      [null, 'invalid_envelope'],
      ['a'.repeat(10_000), 'invalid_envelope'],
    ];
    for (const [signature, code] of forms)
      assert.equal((await post(opened.app, { ...body, signature })).answer.code, code, String(signature));
    assert.deepEqual(await verdict(opened.app, body), OK);
  });

  test("another client's key, and a key whose overlap has ended, do not sign", async () => {
    const { ctx, app, shop } = opened;
    const other = await createShop(ctx, 'Other shop');
    const stolen = signBody({ ...shop, secretKey: other.secretKey }, ctx.clock.millis());
    assert.deepEqual(await verdict(app, stolen), NOT_VERIFIED('signature_mismatch'));
    const { secret } = await rotateSecret(ctx, COMMAND_LINE, other.holderId, other.id, 'api', 60);
    ctx.clock.advance(1_000);
    assert.deepEqual(await verdict(app, signBody(other, ctx.clock.millis())), OK);
    assert.deepEqual(await verdict(app, signBody({ ...other, secretKey: secret }, ctx.clock.millis())), OK);
    ctx.clock.advance(60_000);
    assert.deepEqual(await verdict(app, signBody(other, ctx.clock.millis())), NOT_VERIFIED('signature_mismatch'));
    assert.deepEqual(await verdict(app, signBody({ ...other, secretKey: secret }, ctx.clock.millis())), OK);
  });

  test('timestamps: 300 s on either side pass, 301 do not; other forms are refused', async () => {
    const { ctx, app } = opened;
    const now = Math.floor(ctx.clock.millis() / 1000);
    for (const [timestamp, expected] of [
      [now - 299, OK],
      [now - 300, OK],
      [now + 300, OK],
      [now - 301, NOT_VERIFIED('timestamp_out_of_range')],
      [now + 301, NOT_VERIFIED('timestamp_out_of_range')],
      [now * 1000, NOT_VERIFIED('timestamp_out_of_range')],
      [0, NOT_VERIFIED('timestamp_out_of_range')],
      [-now, NOT_VERIFIED('timestamp_out_of_range')],
      [9_007_199_254_740_991, NOT_VERIFIED('timestamp_out_of_range')],
    ] as const)
      assert.deepEqual(await verdict(app, fresh({ timestamp })), expected, String(timestamp));
    for (const timestamp of [String(now), now + 0.5, null, true, [now]])
      assert.deepEqual(await verdict(app, fresh({ timestamp })), [400, 'Bad params.', 'invalid_envelope']);
    const huge = JSON.stringify(fresh()).replace(/"timestamp":\d+/, '"timestamp":9223372036854775808');
    assert.equal((await post(app, huge)).status, 400);
  });

  test('salts: 1 to 128 characters, and using one again is allowed', async () => {
    const { ctx, app } = opened;
    assert.deepEqual(await verdict(app, fresh({ salt: 'same' }, { n: 1 })), OK);
    assert.deepEqual(await verdict(app, fresh({ salt: 'same' }, { n: 2 })), OK);
    const other = await createShop(ctx, 'Same salt');
    assert.deepEqual(await verdict(app, signBody(other, ctx.clock.millis(), {}, { salt: 'same' })), OK);
    assert.deepEqual(await verdict(app, fresh({ salt: 'x'.repeat(128) })), OK);
    for (const salt of ['', 'x'.repeat(129), 'x'.repeat(10_000), 7, null])
      assert.equal((await post(app, fresh({ salt }))).answer.code, 'invalid_envelope');
  });

  test('a member that is missing, misplaced or misspelled makes the envelope incomplete, and is named', async () => {
    const { app } = opened;
    for (const name of ['client_id', 'sender', 'timestamp', 'salt', 'signature', 'params']) {
      const { [name]: _, ...without } = fresh();
      const { status, answer } = await post(app, without);
      assert.deepEqual([status, answer.message, answer.code], [400, 'Bad params.', 'invalid_envelope']);
      const errors = answer.errors as Record<string, string[]>;
      assert.deepEqual(Object.keys(errors), [name]);
      assert.match(errors[name]?.[0] ?? '', new RegExp(`^${name} is required[.:]`));
    }
    const { sender, ...rest } = fresh();
    assert.equal((await post(app, { ...rest, params: { sender } })).answer.code, 'invalid_envelope');
    assert.equal((await post(app, { ...rest, Sender: sender })).answer.code, 'invalid_envelope');
    for (const params of [null, [], 'x', 1, true])
      assert.equal((await post(app, fresh({ params }))).answer.code, 'invalid_envelope');
    for (const body of ['[]', 'null', '"x"', '1', '']) assert.equal((await post(app, body)).status, 400, body);
  });

  test('sandbox mode explains a mismatch without giving the signature away; live mode says nothing', async () => {
    const wrong = { ...fresh(), signature: '0'.repeat(64) };
    const { answer } = await post(opened.app, wrong);
    const debug = answer.debug as Record<string, unknown>;
    const { signature: _, ...unsigned } = wrong;
    assert.deepEqual(JSON.parse(String(debug.canonical)), unsigned);
    assert.equal(debug.skew_seconds, 0);
    assert.equal(typeof debug.server_time, 'string');
    const live = await createEnvelopeApp({
      MODE: 'live',
      MASTER_KEY: randomBytes(32).toString('hex'),
      PUBLIC_URL: 'https://pay.example.org',
    });
    try {
      const body = { ...signBody(live.shop, live.ctx.clock.millis()), signature: '0'.repeat(64) };
      const refused = await post(live.app, body);
      assert.deepEqual(Object.keys(refused.answer), ['success', 'message', 'code', 'request_id']);
      assert.equal(refused.headers['x-simbi-mode'], undefined);
    } finally {
      await live.ctx.close();
    }
  });
});

describe('a signature works once', () => {
  let opened: EnvelopeApp;
  before(async () => {
    opened = await createEnvelopeApp();
  });
  after(() => opened.ctx.close());

  /** A second process on the same database: its own pool, its own memory. */
  function secondProcess(): { app: HttpServer; close(): Promise<void> } {
    const db = connectDatabase({ url: opened.ctx.databaseUrl });
    return {
      app: createApp({ ...opened.ctx, db, metrics: createMetrics(), memory: createMemory() }),
      close: () => db.close(),
    };
  }

  test('again, on another path, in another process, after a restart: refused', async () => {
    const { ctx, app, shop } = opened;
    const body = signBody(shop, ctx.clock.millis());
    assert.deepEqual(await verdict(app, body), OK);
    assert.deepEqual(await verdict(app, body), NOT_VERIFIED('signature_reused'));
    assert.deepEqual(await verdict(app, body, '/refuse'), NOT_VERIFIED('signature_reused'));
    const second = secondProcess();
    assert.deepEqual(await verdict(second.app, body), NOT_VERIFIED('signature_reused'));
    await second.close();
    // To the very end of the tolerance, housekeeping included; after that the timestamp refuses it.
    ctx.clock.advance(300_000);
    await maintainSignatures(ctx);
    assert.deepEqual(await verdict(app, body), NOT_VERIFIED('signature_reused'));
    ctx.clock.advance(1_000);
    assert.deepEqual(await verdict(app, body), NOT_VERIFIED('timestamp_out_of_range'));
  });

  test('of 50 at once over two processes exactly one passes', async () => {
    const { ctx, app, shop } = opened;
    const second = secondProcess();
    const body = signBody(shop, ctx.clock.millis());
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => post(index % 2 ? app : second.app, body)),
    );
    await second.close();
    const refused = results.filter((result) => result.answer.code === 'signature_reused');
    assert.deepEqual([refused.length, results.filter((result) => result.status === 200).length], [49, 1]);
  });

  test('a request refused for its params or failed by us had no effect and spends none', async () => {
    const { ctx, app, shop } = opened;
    const body = signBody(shop, ctx.clock.millis());
    assert.deepEqual(await verdict(app, body, '/refuse'), [400, 'Bad params.', 'invalid_params']);
    assert.deepEqual(await verdict(app, body, '/fail'), [500, 'Something went wrong on our side.', 'internal']);
    assert.deepEqual(await verdict(app, body), OK);
  });

  test('partitions follow the clock: made on demand after a jump, dropped when nothing in them can matter', async () => {
    const { ctx, app, shop } = opened;
    const names = async () =>
      (
        await ctx.db.query<{ name: string }>(
          `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'spent_signatures'::regclass order by 1`,
        )
      ).map((row) => row.name);
    ctx.clock.advance(48 * 3_600_000);
    const before = await names();
    assert.deepEqual(await verdict(app, signBody(shop, ctx.clock.millis())), OK);
    assert.notDeepEqual(await names(), before);
    await maintainSignatures(ctx);
    const hour = (offset: number) =>
      `spent_signatures_${new Date(ctx.clock.millis() + offset * 3_600_000).toISOString().slice(0, 13).replace(/\D/g, '')}`;
    const present = await names();
    for (const offset of [-1, 0, 1, 6]) assert.ok(present.includes(hour(offset)), hour(offset));
    assert.ok(present.every((name) => name >= hour(-5)));
    const [kind] = await ctx.db.query<{ kept: boolean }>(
      `select bool_and(relpersistence = 'p') as kept from pg_class where relname like 'spent_signatures%'`,
    );
    assert.equal(kind?.kept, true, 'a table that a crash empties would let old signatures in');
  });
});

describe('rate limits', () => {
  test('an integration gets its burst, headers that count down, then 429 with the time to wait', async () => {
    const { ctx, app, shop } = await createEnvelopeApp({ RATE_LIMIT_PER_SECOND: '5' });
    try {
      const other = await createShop(ctx, 'Neighbour');
      for (let left = 9; left >= 0; left--) {
        const { status, headers } = await post(app, signBody(shop, ctx.clock.millis()));
        assert.equal(status, 200);
        assert.match(String(headers.ratelimit), new RegExp(`^"integration";r=${left};t=\\d+$`));
        assert.equal(headers['ratelimit-policy'], '"integration";q=10');
      }
      const refused = signBody(shop, ctx.clock.millis());
      const { status, headers, answer } = await post(app, refused);
      assert.deepEqual([status, answer.code, headers['retry-after']], [429, 'rate_limited', '1']);
      assert.match(String(headers.ratelimit), /r=0/);
      assert.deepEqual(await verdict(app, signBody(other, ctx.clock.millis())), OK);
      ctx.clock.advance(1_000);
      assert.deepEqual(await verdict(app, refused), OK, 'a request refused for its rate spent nothing');
    } finally {
      await ctx.close();
    }
  });

  test('what is not signed by the integration does not use up its allowance', async () => {
    const { ctx, app, shop } = await createEnvelopeApp({ RATE_LIMIT_PER_SECOND: '1' });
    try {
      for (let tries = 0; tries < 20; tries++)
        await post(app, { ...signBody(shop, ctx.clock.millis()), signature: '0'.repeat(64) });
      assert.deepEqual(await verdict(app, signBody(shop, ctx.clock.millis())), OK);
    } finally {
      await ctx.close();
    }
  });
});
