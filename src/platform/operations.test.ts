// The two ways of an operation: whatever is asked, both answer the same, log the same and count the same.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createCallerAdmission, refuseQuickly } from './admission.ts';
import { noteCommit } from './commit-tracking.ts';
import { Problem } from './errors.ts';
import { createHttpServer, type HttpServer } from './http.ts';
import { type AnsweredRequest, addOperation, whenAnswered } from './operations.ts';
import { createPlaces } from './places.ts';
import type { Peer } from './plain-connections.ts';
import { createPlainService } from './plain-operations.ts';
import { createRefusalPace } from './refusal-pace.ts';

type OpenContext = Awaited<ReturnType<typeof createTestContext>>;
type Asked = { path?: string; body?: string; headers?: Record<string, string> };
type Answered = { status: number; headers: IncomingHttpHeaders; body: Record<string, unknown> };

const PAY = '/api/v3/pay';
const JSON_HEADERS = { 'content-type': 'application/json' };

/** What each request asked for is what its operation does. */
async function perform(what: unknown): Promise<object> {
  switch (what) {
    case 'problem':
      throw new Problem('invalid_params', { message: 'Not so.', errors: { amount: ['Too much.'] } });
    case 'wait':
      throw new Problem('rate_limited', { retryAfterSeconds: 3, headers: { RateLimit: '"integration";r=0;t=3' } });
    case 'stranger':
      throw new Problem('unauthenticated');
    case 'defect':
      throw new Error('secret_key=sk_leak');
    case 'after a commit':
      noteCommit();
      throw new Problem('overloaded');
    default:
      return { success: true, message: 'Paid – merci.', data: what ?? null };
  }
}

type Opened = {
  ctx: OpenContext;
  app: HttpServer;
  answered: AnsweredRequest[];
  isFastify: () => boolean;
  /** Ends the requests that wait. */
  letGo: () => void;
};

async function openApp(settings: Record<string, string> = {}): Promise<Opened> {
  const ctx = await createTestContext({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0', ...settings });
  const app = createHttpServer(ctx);
  const answered: AnsweredRequest[] = [];
  const waiting: (() => void)[] = [];
  let isFastify = false;
  whenAnswered(app, (one) => answered.push(one));
  const problemBody = (body: Record<string, unknown>) => ({ ...body, success: 'false', data: [] });
  for (const [url, config] of [
    [PAY, {}],
    ['/api/v3/balance', { problemBody }],
  ] as const)
    addOperation(app, url, { config }, (request, reply) => {
      isFastify = 'server' in request;
      request.logged.client_id = 'ci_1';
      const { what, header = 'true' } = request.body as { what?: unknown; header?: string };
      reply.headers({ 'Idempotent-Replayed': header });
      return perform(what);
    });
  addOperation(app, '/api/v3/wait', {}, () => new Promise((resolve) => waiting.push(() => resolve({}))));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const letGo = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { ctx, app, answered, isFastify: () => isFastify, letGo };
}

async function close({ app, ctx }: Opened): Promise<void> {
  await app.close();
  await ctx.close();
}

/** Through a socket, on which it is a plain request. */
async function ask({ app }: Opened, { path = PAY, body = '{}', headers = JSON_HEADERS }: Asked): Promise<Answered> {
  const { port } = app.server.address() as AddressInfo;
  const request = send({ port, host: '127.0.0.1', path, method: 'POST', headers });
  request.end(body);
  const [response] = await once(request, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode,
    headers: response.headers,
    body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
  };
}

/** Not through a socket, so always through Fastify. */
async function inject({ app }: Opened, { path = PAY, body = '{}', headers = JSON_HEADERS }: Asked): Promise<Answered> {
  const response = await app.inject({ method: 'POST', url: path, headers, payload: body });
  return { status: response.statusCode, headers: response.headers as IncomingHttpHeaders, body: response.json() };
}

/** Without what differs between any two requests. */
function comparable({ status, headers, body }: Answered): object {
  const { date: _, connection: __, 'keep-alive': ___, 'x-request-id': id, 'content-length': length, ...rest } = headers;
  assert.match(String(id), /^req_/);
  if ('request_id' in body) assert.equal(body.request_id, id);
  assert.ok(Number(length) > 0);
  return { status, headers: rest, body: { ...body, request_id: null } };
}

describe('an operation', () => {
  let opened: Opened;
  before(async () => {
    opened = await openApp();
  });
  after(() => close(opened));

  const requests: [what: string, asked: Asked][] = [
    ['a success', { body: '{"what":"é"}' }],
    ['wrong params', { body: '{"what":"problem"}' }],
    ['a limit', { body: '{"what":"wait"}' }],
    ['a caller without credentials', { body: '{"what":"stranger"}' }],
    ['a defect of ours', { body: '{"what":"defect"}' }],
    ['a failure after a commit', { body: '{"what":"after a commit"}' }],
    ['what is not JSON', { body: '{"a":1,"a":2}' }],
    ['what is not UTF-8', { body: 'caf\u00e9' }],
    ['another content type', { headers: { 'content-type': 'text/plain' } }],
    ['no content type', { headers: {} }],
    ['its own shape of errors', { path: '/api/v3/balance', body: '{"what":"problem"}' }],
    ['its own shape for a body that is not JSON', { path: '/api/v3/balance', body: '{' }],
  ];
  for (const [what, asked] of requests)
    test(`answers, logs and counts ${what} in the same way, whichever way it came`, async () => {
      const { ctx, answered } = opened;
      const refusals = async () => JSON.stringify((await ctx.metrics.refusals.get()).values);
      const seen = [];
      for (const way of [inject, ask]) {
        ctx.metrics.refusals.reset();
        answered.length = 0;
        const answer = comparable(await way(opened, asked));
        const lines = answered.map(({ id: _id, ms: _ms, ...line }) => line);
        seen.push({ answer, lines, refusals: await refusals() });
      }
      assert.deepEqual(seen[1], seen[0]);
    });

  test('is reached by both ways in these tests', async () => {
    await inject(opened, {});
    assert.equal(opened.isFastify(), true);
    await ask(opened, {});
    assert.equal(opened.isFastify(), false);
    assert.equal((await ask(opened, { headers: { ...JSON_HEADERS, expect: '100-continue' } })).status, 200);
    assert.equal(opened.isFastify(), true, 'what is not plain');
  });

  test('refuses a header whose value would begin another one', async () => {
    const { status, headers } = await ask(opened, { body: '{"header":"a\\r\\nX-Other: b"}' });
    assert.deepEqual([status, headers['x-other']], [500, undefined]);
  });
});

describe('limits of plain requests', () => {
  test('one address has its rate, as behind a trusted proxy', async () => {
    const opened = await openApp({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '2', TRUSTED_PROXIES: '127.0.0.1' });
    const from = (address: string) => ask(opened, { headers: { ...JSON_HEADERS, 'x-forwarded-for': address } });
    try {
      const statuses: number[] = [];
      for (let count = 0; count < 5; count++) statuses.push((await from('192.0.2.7')).status);
      assert.deepEqual(statuses, [200, 200, 200, 200, 429]);
      assert.equal((await from('192.0.2.8')).status, 200);
      assert.equal((await from('192.0.2.7, 192.0.2.9')).status, 200, 'the address that the proxy saw');
      assert.deepEqual(
        opened.answered.slice(-2).map(({ ip }) => ip),
        ['192.0.2.8', '192.0.2.9'],
      );
    } finally {
      await close(opened);
    }
  });

  test('those over MAX_IN_FLIGHT are refused, and served when there is room again', async () => {
    const opened = await openApp({ MAX_IN_FLIGHT: '3' });
    try {
      const held: Promise<Answered>[] = [];
      let refused: Answered | null = null;
      while (refused === null) {
        const asked = ask(opened, { path: '/api/v3/wait' });
        const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), 100));
        refused = await Promise.race([asked, late]);
        if (refused === null) held.push(asked);
      }
      assert.deepEqual([refused.status, refused.body.code], [503, 'overloaded']);
      assert.equal(refused.headers['retry-after'], '1');
      assert.match(String(refused.headers.link), /\/docs\/errors\/overloaded>; rel="help"$/);
      assert.match(String(refused.headers['x-request-id']), /^req_\w{26}$/);
      assert.deepEqual(Object.keys(refused.body), ['success', 'message', 'code', 'request_id']);
      assert.equal(refused.body.request_id, refused.headers['x-request-id']);
      const ofBalance = await ask(opened, { path: '/api/v3/balance' });
      assert.deepEqual([ofBalance.status, ofBalance.body.success, ofBalance.body.data], [503, 'false', []]);
      assert.equal((await opened.ctx.metrics.shed.get()).values[0]?.value, 2);
      opened.letGo();
      for (const answer of await Promise.all(held)) assert.equal(answer.status, 200);
      assert.equal((await ask(opened, {})).status, 200);
    } finally {
      await close(opened);
    }
  });

  test('after a flood of refusals those on connections that Node reads are answered later', async () => {
    const ctx = await createTestContext();
    let answered = 0;
    const places = { ...createPlaces(1), isFull: () => true };
    const refuse = refuseQuickly(ctx, places, createCallerAdmission(ctx), createRefusalPace(), {});
    const request = { url: '/api/v3/pay', socket: {}, resume: () => undefined } as unknown as IncomingMessage;
    const response = { writeHead: () => undefined, end: () => answered++ } as unknown as ServerResponse;
    try {
      for (let count = 0; count < 2_000; count++) assert.ok(refuse(request, response));
      assert.ok(answered >= 100 && answered < 2_000, `${answered} are answered at once`);
      while (answered < 2_000) await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await ctx.close();
    }
  });

  test('after a flood of refusals connections are read later, and those of a proxy are answered later', async () => {
    const ctx = await createTestContext({ RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0', TRUSTED_PROXIES: '192.0.2.1' });
    const operation = { url: PAY, handler: () => Promise.reject(new Error('not called')), problemBody: undefined };
    const service = createPlainService(ctx, {
      operations: { byPath: new Map([[PAY, operation]]), listeners: [] },
      places: { ...createPlaces(1), isFull: () => true },
      callers: createCallerAdmission(ctx),
      pace: createRefusalPace(),
      addressOf: () => '',
      refuseAddress: () => undefined,
      common: {},
      keepAliveMs: 1_000,
    });
    const floodFrom = (remoteAddress: string) => {
      const pauses: number[] = [];
      const peer: Peer = {
        socket: { remoteAddress } as Socket,
        lasts: () => true,
        answer: (text, _, pauseMs = 0) => {
          assert.match(text, /^HTTP\/1\.1 503 .*retry-after: 1\r\n/s);
          pauses.push(pauseMs);
        },
      };
      const head = { bytes: Buffer.alloc(0), path: PAY, headers: {}, bodyLength: 2 };
      for (let count = 0; count < 2_000; count++) service.serve({ head, body: Buffer.from('{}') }, peer);
      return pauses;
    };
    try {
      const pauses = floodFrom('192.0.2.2');
      assert.equal(pauses.length, 2_000);
      assert.ok(pauses.slice(0, 100).every((pause) => pause === 0));
      assert.equal(pauses.at(-1), 1_000);
      const proxied = floodFrom('192.0.2.1');
      assert.equal(proxied.length, 0, 'the flood before took all turns of a second');
      while (proxied.length < 2_000) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.ok(proxied.every((pause) => pause === 0));
    } finally {
      await ctx.close();
    }
  });
});
