// Ten thousand requests that are almost right, from a fixed seed: nothing breaks, nothing hangs, and a client that
// cannot sign writes nothing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { createApp } from '../src/app.ts';
import type { Reader } from '../src/platform/db.ts';
import type { HttpServer } from '../src/platform/http.ts';
import { createServices, type Services } from '../src/services.ts';
import { createTestContext } from './harness.ts';
import { createShop, type Shop, signBody } from './shop.ts';

const SEED = 20_260_302;
const REQUESTS = 10_000;
const AT_ONCE = 50;

type Random = { below(limit: number): number; pick<T>(items: readonly T[]): T };

/** mulberry32: small, fast, and the same on every machine. */
function createRandom(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (items) => items[below(items.length)] as never };
}

const FRAGMENTS = [
  '{', '}', '[', ']', '"', ',', ':', '\\', '\\u0000', '\\ud800', '\u0000', '\n',
  'null', 'true', '1e400', '-0', '9007199254740993',
  '"__proto__":{},', '"constructor":1,', '"params":{},', '"client_id":"x",', '[[[[[[[[', '{"a":'.repeat(40),
  '\u{1F600}', '\ufeff', "'; drop table tokens; --",
]; // biome-ignore format: a list of fragments
const VALUES = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  'x'.repeat(300),
  [],
  {},
  [[]],
  { a: { b: 1 } },
  '0'.repeat(64),
  Number.MAX_SAFE_INTEGER,
  '\u0000',
];
const METHODS = ['POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;
const TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'text/plain',
  'application/json; charset=utf-16',
  '',
  '*/*',
];
const TOKENS = [
  '',
  'Bearer',
  'Bearer 1|x',
  `Bearer 1|${'a'.repeat(48)}`,
  `Bearer 9223372036854775808|${'a'.repeat(48)}`,
  'Basic eDp4',
];

const PATHS = [
  '/api/v3/service-unified-collections',
  '/api/v3/service-unified-collections/verify',
  '/api/v3/payment-link-api/create',
  '/api/v2/get-unified-transaction-status',
  '/api/v3/get-unified-transaction-status',
  '/api/v3/get-unified-balance',
  '/api/payment-link-api/list',
  '/api/integration/get-token',
  '/api/integration/get-token',
  '/api/service-signature',
  '/api/v3/get-unified-balance/',
  '/%',
  '/healthz',
];

function mutateMembers(random: Random, body: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(body);
  const name = random.pick(names);
  switch (random.below(4)) {
    case 0:
      return Object.fromEntries(Object.entries(body).filter(([key]) => key !== name));
    case 1:
      return { ...body, [name]: random.pick(VALUES) };
    case 2:
      return { ...body, [`${name} `]: body[name], [name.toUpperCase()]: random.pick(VALUES) };
    default:
      return { ...body, params: { ...(body.params as object), [random.pick(names)]: random.pick(VALUES) } };
  }
}

function mutateBytes(random: Random, text: string): Buffer {
  let bytes = Buffer.from(text);
  for (let count = random.below(4); count >= 0; count--) {
    const at = random.below(bytes.length + 1);
    switch (random.below(4)) {
      case 0:
        bytes = bytes.subarray(0, at);
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(FRAGMENTS)), bytes.subarray(at)]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(8))]);
        break;
      default:
        if (at < bytes.length) bytes[at] = random.below(256);
    }
  }
  return bytes;
}

describe('mutated requests', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let gateway: Services;
  let app: HttpServer;
  let shop: Shop;
  before(async () => {
    ctx = await createTestContext({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
    gateway = await createServices(ctx);
    app = createApp(gateway);
    shop = await createShop(ctx);
  });
  after(async () => {
    await app.close();
    await gateway.stop();
    await ctx.close();
  });

  function createRequest(random: Random): InjectOptions {
    // Signed with a secret that is not theirs: even what no mutation touched must be refused.
    const forged = { ...shop, secretKey: 'sk_not_theirs' };
    const path = random.pick(PATHS);
    const body: Record<string, unknown> = path.includes('get-token')
      ? { client_id: random.pick([shop.clientId, 'client_x']), secret_key: 'sk_guess' }
      : signBody(forged, ctx.clock.millis(), { id: 'TX_1', amount: 100, note: 'é' });
    const changed = random.below(2) ? mutateMembers(random, body) : body;
    const text = JSON.stringify(changed);
    return {
      method: random.pick(METHODS),
      url: path,
      remoteAddress: `198.51.100.${random.below(250)}`,
      headers: { 'content-type': random.pick(TYPES), authorization: random.pick(TOKENS) },
      payload: random.below(3) ? mutateBytes(random, text) : text,
    };
  }

  test(`${REQUESTS} of them: no 5xx, nothing is written`, async () => {
    const random = createRandom(SEED);
    const before = await countRows(ctx.ownerDb);
    const statuses = new Map<number, number>();
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      const requests = Array.from({ length: AT_ONCE }, () => createRequest(random));
      const responses = await Promise.all(requests.map((request) => app.inject(request)));
      for (const [index, response] of responses.entries()) {
        const { statusCode: status } = response;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const open = requests[index]?.url === '/healthz';
        assert.ok(open || (status >= 400 && status < 500), `${status} to ${JSON.stringify(requests[index])}`);
        // One operation says it as a string, as the specification has it.
        if (requests[index]?.method !== 'HEAD') assert.match(String(response.json().success), /^(true|false)$/);
      }
      // Otherwise the counters of failed credentials would refuse everything early.
      ctx.clock.advance(60_000);
    }
    assert.deepEqual(await countRows(ctx.ownerDb), before);
    for (const status of [400, 401, 403, 404, 405, 415])
      assert.ok((statuses.get(status) ?? 0) > 10, `the mutations reach ${status}: ${JSON.stringify([...statuses])}`);
    const answer = await app.inject({
      method: 'POST',
      url: '/api/v3/get-unified-balance',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(signBody(shop, ctx.clock.millis())),
    });
    assert.equal(answer.statusCode, 200, 'and the rightful caller is served as ever');
  });
});

async function countRows(reader: Reader): Promise<Record<string, number>> {
  const tables = await reader.query<{ name: string }>(
    // The log of requests is about refusals too, and so are the list of those that nobody signed and the counts of wrong keys that
    // processes share.
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'request\\_log%'
       and relname not in ('unverified_requests', 'limit_buckets', 'limit_sharers') order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await reader.query<{ rows: bigint }>(`select count(*) as rows from "${name}"`);
    counts[name] = Number(row?.rows);
  }
  return counts;
}
