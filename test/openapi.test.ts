// The OpenAPI document is true: it is not stale, its examples work when sent, answers fit their schemas, refusals are
// documented and plain, and no operation takes what its schema refuses. Also the pages that show it.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { generatedFiles, readApi } from '../scripts/openapi.ts';
import type { ApiDocument, OperationObject, SchemaObject } from '../src/docs/openapi.ts';
import { listOperations } from '../src/docs/reference.ts';
import { signatureOf } from '../src/holders/envelope.ts';
import { EXAMPLE_INTEGRATION } from '../src/holders/schemas.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import { PROBLEMS } from '../src/platform/errors.ts';
import type { JsonObject, JsonValue } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS, type Reply, send, textOf, ugandanCollection } from './client.ts';
import { eventsOfTransaction } from './events.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { tokenOf } from './shop.ts';

const JSON_TYPE = 'application/json';
const RUNS = 150;

type ObjectSchema = { properties: Record<string, SchemaObject> };

let gateway: TestGateway;
let client: Client;
let api: ApiDocument;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway, EXAMPLE_INTEGRATION.sender);
  api = (await send(gateway.app, 'GET', '/openapi.json')).body as unknown as ApiDocument;
});
after(() => gateway.close());

const operations = listOperations(await readApi());

/**
 * A schema of the document with its references resolved, ready to check values. `closed` refuses members that the
 * schema does not name, so that nothing is answered which the client's types do not know.
 */
function checkerOf(schema: SchemaObject, closed = false): (value: unknown) => boolean {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const ref = (value as SchemaObject).$ref;
    if (typeof ref === 'string')
      return resolve(
        ref
          .slice(2)
          .split('/')
          .reduce<unknown>((at, key) => (at as SchemaObject)[key.replaceAll('~1', '/')], api),
      );
    const resolved = Object.fromEntries(entries.map(([key, inner]) => [key, resolve(inner)]));
    return closed && 'properties' in value ? { additionalProperties: false, ...resolved } : resolved;
  };
  const compiled = Compile(resolve(schema) as SchemaObject);
  return (value) => compiled.Check(value);
}

function assertFits(operation: OperationObject, reply: Reply): void {
  const media = operation.responses[reply.status]?.content?.[JSON_TYPE];
  assert.ok(media?.schema, `${operation.operationId} does not document ${reply.status}`);
  const check = checkerOf(media.schema, reply.status === 200);
  assert.ok(check(reply.body), `${operation.operationId}: ${JSON.stringify(reply.body)}`);
}

async function otpCollection(): Promise<{ id: string; token: string }> {
  const created = await client.signed(PATHS.collect, ugandanCollection('012'));
  await gateway.settle();
  const sms = (await gateway.services.operator?.phone.view('256772123012'))?.messages[0];
  return { id: textOf(created.data.ref), token: /\d{6}/.exec(textOf(sms?.text))?.[0] ?? '' };
}

async function paidCollection(changes: JsonObject = {}): Promise<string> {
  const created = await client.signed(PATHS.collect, ugandanCollection('000', changes));
  await gateway.settle();
  return textOf(created.data.ref);
}

/** What an example cannot know: references of this gateway, credentials of this integration. */
const today: Record<string, () => Promise<JsonObject>> = {
  verifyCollection: otpCollection,
  resendCollectionToken: async () => {
    const { id } = await otpCollection();
    gateway.ctx.clock.advance(30_000);
    return { id };
  },
  getStatus: async () => ({ id: await paidCollection() }),
  getStatusV2: async () => ({ id: await paidCollection() }),
  createRefund: async () => ({ id: await paidCollection() }),
  getRefundStatus: async () => {
    const refund = await client.signed(PATHS.refund, { id: await paidCollection() });
    await gateway.settle();
    return { id: textOf(refund.data.ref) };
  },
  getStatement: async () => {
    await paidCollection();
    return { query: 'currency=UGX&from=2026-03-01&to=2026-03-31' };
  },
  getToken: async () => ({ client_id: client.shop.clientId, secret_key: client.shop.secretKey }),
  createSignature: async () => ({ client_id: client.shop.clientId }),
  revokeToken: async () => ({ id: (await tokenOf(gateway.ctx, client.shop)).split('|')[0] ?? '' }),
  resendEvent: async () => {
    const ref = await paidCollection({ callback_url: 'http://127.0.0.1:9/nobody' });
    const [event] = await eventsOfTransaction(gateway.ctx.db, idFromRef(ref) ?? '');
    return { id: event?.publicId ?? '' };
  },
};

async function sendExample(path: string, method: string, operation: OperationObject): Promise<Reply> {
  const example = operation.requestBody?.content[JSON_TYPE]?.example as JsonObject | undefined;
  const changes = (await today[operation.operationId]?.()) ?? {};
  const query = changes.query === undefined ? '' : `?${textOf(changes.query)}`;
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => textOf(changes[name])) + query;
  if (method === 'GET') return client.get(url);
  if (method === 'DELETE') return client.deleteWithToken(url);
  const params = example?.params;
  if (example?.signature !== undefined) return client.signed(url, { ...(params as JsonObject), ...changes });
  return client.postWithToken(url, url === path ? { ...example, ...changes } : (example ?? {}));
}

describe('the OpenAPI document', () => {
  test('is committed as it is served, and so is the guide to errors', async () => {
    for (const { path, text } of await generatedFiles())
      assert.equal(readFileSync(path, 'utf8'), text, `${path} is stale; write it anew with: node scripts/openapi.ts`);
  });

  test('is OpenAPI 3.1 on the address of this gateway, with both security schemes', () => {
    assert.match(api.openapi, /^3\.1\./);
    assert.equal(api.servers[0]?.url, `http://localhost:${gateway.ctx.config.port}`);
    assert.deepEqual(Object.keys(api.components.securitySchemes).sort(), ['apiKeyAuth', 'bearerAuth']);
    const { security } = api.paths[PATHS.statusV2]?.post ?? {};
    assert.deepEqual(security, [{ apiKeyAuth: [] }, {}]);
  });

  test('names every route of the API, each once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const path of Object.values(PATHS)) assert.ok(api.paths[path], path);
  });

  for (const { path, method, operation } of operations) {
    if (!path.startsWith('/api/')) continue;
    describe(`${method} ${path}`, () => {
      test('has a summary, a description of success, and examples that fit their schemas', () => {
        assert.ok(operation.summary && operation.tags?.length === 1 && operation.operationId);
        const request = operation.requestBody?.content[JSON_TYPE];
        if (request) {
          assert.ok(request.schema && request.example !== undefined, 'no request example');
          assert.ok(checkerOf(request.schema)(request.example), 'the request example does not fit');
        }
        for (const [status, { content, description }] of Object.entries(operation.responses)) {
          // A file has a type of its own; refusals of it are JSON.
          const media = content?.[JSON_TYPE] ?? (status === '200' ? Object.values(content ?? {})[0] : undefined);
          assert.ok(media?.schema && description.length > 5, status);
          const examples = [media.example, ...Object.values(media.examples ?? {}).map(({ value }) => value)];
          for (const example of examples.filter((value) => value !== undefined))
            assert.ok(checkerOf(media.schema)(example), `${status}: ${JSON.stringify(example)}`);
        }
      });

      const files = Object.keys(operation.responses[200]?.content ?? {}).filter((type) => type !== JSON_TYPE);
      if (files.length > 0)
        test('answers files of the types that it documents', async () => {
          await paidCollection();
          const headers = { authorization: `Bearer ${await client.token()}` };
          for (const format of ['csv', 'xlsx', 'pdf']) {
            const url = `${path}?currency=UGX&from=2026-03-01&to=2026-03-31&format=${format}`;
            const reply = await gateway.app.inject({ url, headers });
            const type = String(reply.headers['content-type']).split(';')[0] ?? '';
            assert.deepEqual([reply.statusCode, files.includes(type)], [200, true], `${format}: ${type}`);
          }
        });
      else
        test('the example works when it is sent, and the answer fits the schema', async () => {
          const reply = await sendExample(path, method, operation);
          assert.equal(reply.status, 200, JSON.stringify(reply.body));
          assertFits(operation, reply);
        });

      test('its refusals are documented, to the letter', async () => {
        const body: JsonObject = operation.requestBody ? { client_id: 'x' } : {};
        const replies = [
          await send(gateway.app, method as 'GET' | 'POST' | 'DELETE', path, method === 'POST' ? body : undefined),
          ...(operation.requestBody ? [await client.post(path, 5)] : []),
          ...(operation.requestBody ? [await client.signed(path, { id: 5 }, {}, { client_id: 'nobody' })] : []),
          ...(operation.requestBody ? [await client.signed(path, { id: 5, currency: 5 })] : []),
        ];
        for (const reply of replies) {
          if (reply.status === 200) continue;
          assertFits(operation, reply);
          const known = operation.responses[reply.status]?.content?.[JSON_TYPE]?.examples?.[textOf(reply.body.code)];
          assert.equal((known?.value as JsonObject | undefined)?.message, reply.body.message, textOf(reply.body.code));
        }
      });
    });
  }

  test('a resend that is refused has the message of its example', async () => {
    const reply = await client.signed(`${PATHS.collect}/resend`, { id: await paidCollection() });
    const operation = operations.find((one) => one.operation.operationId === 'resendCollectionToken')?.operation;
    const example = operation?.responses[400]?.content?.[JSON_TYPE]?.examples?.verification_failed?.value as JsonObject;
    assert.equal(example.message, reply.body.message);
  });

  test('a payment whose operator asks for a code says so in its status, as the schema and the guide do', async () => {
    const created = await client.signed(PATHS.collect, ugandanCollection('005'));
    await gateway.settle();
    const ref = textOf(created.data.ref);
    await gateway.ctx.db.query(
      'insert into payer_steps (holder_id, transaction_id, step, at) values ($1, $2, $3, $4)',
      [
        client.shop.holderId,
        idFromRef(ref),
        JSON.stringify({ kind: 'code', text: 'Dial *110# for a voucher' }),
        gateway.ctx.clock.now(),
      ],
    );
    const status = operations.find((one) => one.operation.operationId === 'getStatus');
    const reply = await client.signed(status?.path ?? '', { id: ref });
    assertFits(status?.operation ?? assert.fail(), reply);
    assert.equal((reply.data.next_step as JsonObject).kind, 'code');
    assert.match(readFileSync('docs/collections.md', 'utf8'), /`next_step.kind` is `code`[^.]*`verify`/);
  });

  test('names the refusals after which a caller must ask again: the outcome, the clock, a slow body', () => {
    const isNamed = ({ responses }: OperationObject, status: number, code: string) =>
      responses[status]?.content?.[JSON_TYPE]?.examples?.[code] !== undefined;
    for (const { method, operation } of operations) {
      assert.equal(isNamed(operation, 503, 'outcome_unknown'), method !== 'GET', operation.operationId);
      assert.equal(isNamed(operation, 408, 'request_timeout'), method === 'POST', operation.operationId);
      const writesMoney = ['createCollection', 'createRefund'].includes(operation.operationId);
      assert.equal(isNamed(operation, 503, 'clock_skewed'), writesMoney, operation.operationId);
    }
  });

  test('an Idempotency-Key is taken exactly where its schema takes it', async () => {
    const { parameters = [] } = api.paths[PATHS.collect]?.post ?? {};
    const check = checkerOf(parameters.find(({ name }) => name === 'Idempotency-Key')?.schema ?? {});
    for (const key of ['order-1042', '!~', 'x'.repeat(128), 'x'.repeat(129), 'order 1042', 'caf\u00e9']) {
      const { status } = await client.signed(PATHS.collect, ugandanCollection(), { 'idempotency-key': key });
      assert.equal(status === 200, check(key), key);
    }
  });

  test('every code of the table is one that something answers', () => {
    const files = globSync('src/**/*.ts').filter((file) => !/\.test\.ts$|platform\/errors\.ts$/.test(file));
    const sources = files.map((file) => readFileSync(file, 'utf8')).join('\n');
    const never = Object.keys(PROBLEMS).filter((code) => !sources.includes(`'${code}'`));
    assert.deepEqual(never, []);
  });

  test('names every member that a refusal has, those of the sandbox too', async () => {
    const otp = await otpCollection();
    const wrong = otp.token === '000000' ? '000001' : '000000';
    const broken = await gateway.app.inject({
      method: 'POST',
      url: PATHS.balance,
      headers: { 'content-type': JSON_TYPE },
      payload: '{"a":',
    });
    const refusals = [
      [PATHS.balance, broken.json() as JsonObject, 'position'],
      [PATHS.balance, (await client.signed(PATHS.balance, {}, {}, { timestamp: 1 })).body, 'debug'],
      [PATHS.collect, (await client.post(PATHS.collect, { ...client.envelope(), salt: 'x' })).body, 'debug'],
      [PATHS.verify, (await client.signed(PATHS.verify, { id: otp.id, token: wrong })).body, 'tries_left'],
    ] as const;
    for (const [path, body, member] of refusals) {
      assert.ok(Object.hasOwn(body, member), JSON.stringify(body));
      const schema = path === PATHS.balance ? 'BalanceProblem' : 'Problem';
      assert.ok(checkerOf(api.components.schemas[schema] ?? {}, true)(body), JSON.stringify(body));
    }
  });

  test('every refusal of a param says what the param must be', async () => {
    const odd: JsonValue[] = [5, -1, true, [], {}, '?', '?'.repeat(5_000)];
    for (const { path, method, operation } of operations) {
      const schema = operation.requestBody?.content[JSON_TYPE]?.schema as ObjectSchema | undefined;
      if (!schema || method !== 'POST') continue;
      const { params } = schema.properties;
      const names = Object.keys((params?.properties ?? schema.properties) as object);
      for (const value of odd) {
        const all = Object.fromEntries(names.map((name) => [name, value]));
        const reply = params?.properties ? await client.signed(path, all) : await client.postWithToken(path, all);
        for (const sentence of Object.values((reply.body.errors ?? {}) as Record<string, string[]>).flat())
          assert.ok(!sentence.endsWith('is not valid.'), `${path}: ${sentence}`);
      }
    }
  });

  test('the signatures of the examples can be checked with the published secret', () => {
    for (const { operation } of operations) {
      const example = operation.requestBody?.content[JSON_TYPE]?.example as JsonObject | undefined;
      if (example?.signature === undefined) continue;
      assert.equal(example.signature, signatureOf(EXAMPLE_INTEGRATION.secretKey, example), operation.operationId);
    }
  });
});

describe('schemas and operations do not drift: what an operation takes, its schema takes', () => {
  const odd = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<unknown>(null, '', 0, -1, 1.5, true, [], {}, 'x', '11', 11) },
    fc.jsonValue({ maxDepth: 1 }),
  );
  const text = fc.oneof(fc.string({ maxLength: 140 }), fc.string({ unit: 'grapheme', minLength: 120, maxLength: 130 }));
  const sometimes = (good: fc.Arbitrary<unknown>) => fc.oneof({ weight: 6, arbitrary: good }, odd);
  const optional = (good: fc.Arbitrary<unknown>) => fc.option(sometimes(good), { nil: undefined, freq: 1 });

  async function assertNoDrift(
    path: string,
    given: fc.Arbitrary<object>,
    ask: (params: JsonObject) => Promise<boolean>,
    part: (schema: SchemaObject) => SchemaObject,
  ): Promise<number> {
    const check = checkerOf(part(api.paths[path]?.post?.requestBody?.content[JSON_TYPE]?.schema ?? {}));
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(given, async (made) => {
        const params = JSON.parse(JSON.stringify(made)) as JsonObject;
        if (!(await ask(params))) return;
        taken++;
        assert.ok(check(params), `taken, but the schema refuses ${JSON.stringify(params)}`);
      }),
      { numRuns: RUNS },
    );
    return taken;
  }

  const paramsOf = (schema: SchemaObject) => (schema.properties as Record<string, SchemaObject>).params ?? {};
  const takes = (path: string) => async (params: JsonObject) => (await client.signed(path, params)).status === 200;

  const amounts = fc.constantFrom<unknown>(
    2500,
    '2500',
    '2500.50',
    500.25,
    5000000,
    '0',
    '02500',
    '2500.',
    '+2500',
    1e6,
    ' 2500',
  );
  const mobiles = fc.constantFrom('256772123456', '+256772123456', '0772123456', '772123456', '0772 123456', '12');

  test('collections', async () => {
    const given = fc.record({
      amount: sometimes(amounts),
      mobile: sometimes(mobiles),
      country_id: sometimes(fc.constant(11)),
      currency: sometimes(fc.constant('UGX')),
      payment_method_type: optional(fc.constantFrom('MTN MoMo', 'mtn_momo_uga', 'Airtel', '')),
      callback_url: optional(
        fc.constantFrom('https://shop.example/cb', '', 'ftp://x', `https://shop.example/${'x'.repeat(2_040)}`),
      ),
      third_party_reference_1: optional(text),
      third_party_reference_2: optional(text),
    });
    assert.ok((await assertNoDrift(PATHS.collect, given, takes(PATHS.collect), paramsOf)) > 5);
  });

  test('status v2, status v3 and balance', async () => {
    const ref = await paidCollection();
    const ids = fc.constantFrom(ref, ref.toLowerCase(), 'TX_1');
    const status = fc.record({ id: sometimes(ids), type: optional(fc.constantFrom('payin', 'payout')) });
    assert.ok((await assertNoDrift(PATHS.statusV3, status, takes(PATHS.statusV3), paramsOf)) > 5);
    assert.ok(
      (await assertNoDrift(PATHS.statusV2, fc.record({ id: sometimes(ids) }), takes(PATHS.statusV2), paramsOf)) > 5,
    );
    const balance = fc.record({ wallet_account: optional(fc.constant(1)), currency: optional(fc.constant('UGX')) });
    assert.ok((await assertNoDrift(PATHS.balance, balance, takes(PATHS.balance), paramsOf)) > 5);
  });

  test('preflight', async () => {
    const given = fc.record({
      amount: sometimes(amounts),
      mobile: sometimes(mobiles),
      currency: sometimes(fc.constant('UGX')),
      country_id: optional(fc.constant(11)),
      payment_method_type: optional(fc.constantFrom('MTN MoMo', 'nothing')),
      direction: optional(fc.constantFrom('collection', 'payout')),
    });
    const ask = async (body: JsonObject) =>
      (await client.postWithToken(PATHS.preflight, body)).data.would_be_accepted === true;
    assert.ok((await assertNoDrift(PATHS.preflight, given, ask, (schema) => schema)) > 5);
  });

  test('payment links', async () => {
    const given = fc.record({
      country_id: sometimes(fc.constant(11)),
      currency: sometimes(fc.constant('UGX')),
      amount: optional(amounts),
      business_name: optional(text),
      callback_url: optional(fc.constantFrom('https://shop.example/cb', 'ftp://x')),
      redirection_url: optional(fc.constantFrom('https://shop.example/cb', 'x')),
      currency_country_id: optional(fc.constant(11)),
      email: optional(fc.constantFrom('a@example.org', 'a')),
      phone: optional(mobiles),
      expires_at: optional(fc.constantFrom('2027-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'x')),
      reusable: optional(fc.boolean()),
    });
    assert.ok((await assertNoDrift(PATHS.createLink, given, takes(PATHS.createLink), paramsOf)) > 5);
  });

  test('the envelope', async () => {
    const good = { client_id: client.shop.clientId, sender: client.shop.title, params: {} };
    const given = fc.record({
      timestamp: sometimes(
        fc.integer({ min: -300, max: 300 }).map((shift) => Math.floor(gateway.ctx.clock.millis() / 1000) + shift),
      ),
      salt: sometimes(text),
      extra: optional(text),
    });
    const ask = async (changes: JsonObject) =>
      (await client.post(PATHS.balance, client.envelope({}, { ...good, ...changes }))).status === 200;
    const check = checkerOf(api.paths[PATHS.balance]?.post?.requestBody?.content[JSON_TYPE]?.schema ?? {});
    await fc.assert(
      fc.asyncProperty(given, async (made) => {
        const changes = JSON.parse(JSON.stringify(made)) as JsonObject;
        if (await ask(changes)) assert.ok(check(client.envelope({}, { ...good, ...changes })), JSON.stringify(changes));
      }),
      { numRuns: RUNS },
    );
  });
});

describe('the pages', () => {
  const page = (url: string, accept = 'text/html') => gateway.app.inject({ url, headers: { accept } });

  test('pages are served from our own origin under a strict policy, within 60 kB', async () => {
    for (const url of [
      '/docs',
      '/docs/reference',
      '/docs/reference/collections',
      '/docs/signing',
      '/docs/errors',
      '/docs/quickstart',
      '/docs/errors/signature_mismatch',
    ]) {
      const reply = await page(url);
      assert.equal(reply.statusCode, 200, url);
      assert.match(textOf(reply.headers['content-type']), /^text\/html/);
      assert.match(textOf(reply.headers['content-security-policy']), /default-src 'none'.*script-src 'sha256-/);
      assert.ok(
        !/javascript:|<[^>]+ on\w+=|<(?:img|link|iframe|script)[^>]+(?:src|href)="https?:/i.test(reply.body),
        url,
      );
      assert.ok(brotliCompressSync(reply.body).length < 60_000, url);
    }
  });

  test('the reference shows every operation with its members, example and refusals', async () => {
    const text = (await page('/docs/reference.md')).body;
    for (const { path, method, operation } of operations) {
      assert.ok(text.includes(`### ${method} ${path}\n`), path);
      const params = (
        operation.requestBody?.content[JSON_TYPE]?.schema?.properties as Record<string, SchemaObject> | undefined
      )?.params;
      for (const name of Object.keys((params?.properties as object | undefined) ?? {}))
        assert.ok(text.includes(`| \`${name}\``), name);
    }
  });

  test('the curl command of every GET of the reference is answered as it stands', async () => {
    await paidCollection();
    const text = (await page('/docs/reference.md')).body;
    for (const { path, method } of operations) {
      if (method !== 'GET' || !path.startsWith('/api/')) continue;
      const section = text.slice(text.indexOf(`### GET ${path}\n`));
      const url = new URL(/curl -sS '([^']+)'/.exec(section)?.[1] ?? '');
      const headers = { authorization: `Bearer ${await client.token()}` };
      const reply = await gateway.app.inject({ url: url.pathname + url.search, headers });
      assert.equal(reply.statusCode, 200, `${url.href}: ${reply.body.slice(0, 200)}`);
    }
    assert.match(text, /\| `from` \| query \| string \| yes \|/);
    assert.match(text, /\| `limit` \| query \| integer \| no \|/);
  });

  test('the curl commands for a token and for a signature work with the keys of the reader', async () => {
    const text = (await page('/docs/reference.md')).body;
    const bodyOf = (path: string) => {
      const section = text.slice(text.indexOf(`### POST ${path}\n`));
      const { clientId, secretKey } = client.shop;
      const filled = (/-d '([^']+)'/.exec(section)?.[1] ?? '')
        .replace('YOUR_CLIENT_ID', clientId)
        .replace('YOUR_SECRET_KEY', secretKey)
        .replace('YOUR_SENDER', EXAMPLE_INTEGRATION.sender);
      return JSON.parse(filled) as JsonObject;
    };
    const token = await client.post(PATHS.token, bodyOf(PATHS.token));
    assert.equal(token.status, 200, JSON.stringify(token.body));
    const signed = await client.postWithToken('/api/service-signature', bodyOf('/api/service-signature'));
    assert.equal(signed.status, 200, JSON.stringify(signed.body));
    const { envelope } = signed.body.data as { envelope: JsonObject };
    const used = await client.post('/api/v3/get-unified-transaction-status', envelope);
    assert.equal(used.body.code, 'transaction_not_found', 'the signature is accepted, only the example does not exist');
  });

  test('every error has a page with cause and fix: HTML for browsers, JSON and Markdown for programs', async () => {
    for (const [code, { cause, fix, status }] of Object.entries(PROBLEMS)) {
      const html = await page(`/docs/errors/${code}`);
      assert.equal(html.statusCode, 200, code);
      assert.match(html.body, new RegExp(`<h1[^>]*>${code}</h1>`));
      const markdown = (await page(`/docs/errors/${code}.md`)).body;
      assert.ok(markdown.includes(cause) && markdown.includes(fix), code);
      const json = (await page(`/docs/errors/${code}`, 'application/json')).json() as { data: object };
      assert.deepEqual(json.data, { code, ...PROBLEMS[code as keyof typeof PROBLEMS] });
      assert.equal((json.data as { status: number }).status, status);
    }
    assert.equal((await page('/docs/errors/nothing')).statusCode, 404);
  });

  test('llms.txt names every page as Markdown, and each of them is there', async () => {
    const text = (await page('/llms.txt', 'text/plain')).body;
    const urls = [...text.matchAll(/\]\((http[^)]+)\)/g)].map(([, url = '']) => new URL(url).pathname);
    assert.ok(urls.length >= 5);
    for (const url of urls) {
      const reply = await page(url);
      assert.equal(reply.statusCode, 200, url);
      if (url.endsWith('.md')) assert.match(textOf(reply.headers['content-type']), /^text\/markdown/);
    }
  });

  test('links between pages lead somewhere, to the heading they name', async () => {
    const pages = new Map<string, string>([['/docs', '']]);
    const headings: [from: string, page: string, anchor: string][] = [];
    for (const url of pages.keys()) {
      const reply = await page(url);
      assert.equal(reply.statusCode, 200, url);
      pages.set(url, reply.body);
      if (!textOf(reply.headers['content-type']).startsWith('text/html')) continue;
      for (const [, path = '', anchor] of reply.body.matchAll(
        /href="(\/(?:docs|openapi|llms)[^"#]*)?(?:#([^"]*))?"/g,
      )) {
        if (path !== '' && !pages.has(path)) pages.set(path, '');
        if (anchor !== undefined) headings.push([url, path || url, anchor]);
      }
    }
    assert.ok(pages.size > Object.keys(PROBLEMS).length);
    for (const [from, path, anchor] of headings)
      assert.ok(pages.get(path)?.includes(`id="${anchor}"`), `${from} links to ${path}#${anchor}`);
  });
});
