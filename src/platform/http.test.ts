// The door: what is refused before any operation sees it, always as JSON, and never with a word too much.

import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { createTestContext } from '../../test/harness.ts';
import { noteCommit } from './commit-tracking.ts';
import { Problem } from './errors.ts';
import { createHttpServer, type HttpServer } from './http.ts';
import { createLogger } from './log.ts';

type OpenContext = Awaited<ReturnType<typeof createTestContext>>;

/** An app with an echo, an error and a request that waits until it is let go. */
function createEcho(ctx: OpenContext): { app: HttpServer; letGo: () => void } {
  const app = createHttpServer(ctx);
  const waiting: (() => void)[] = [];
  app.post('/api/v3/echo', async () => ({ success: true, message: 'Echo.' }));
  const problemBody = (body: Record<string, unknown>) => ({ ...body, success: 'false', data: [] });
  app.post('/api/v3/get-unified-balance', { config: { problemBody } }, async () => ({
    success: 'true',
    message: 'Echo.',
  }));
  app.post('/echo', async (request) => ({ success: true, message: 'Echo.', data: request.body ?? null }));
  app.get('/items/:id', async (request) => ({ success: true, message: 'Item.', data: request.params }));
  app.put('/items/:id', async () => ({ success: true, message: 'Put.' }));
  app.delete('/tokens/:id', { schema: { params: {} } }, async () => ({ success: true, message: 'Deleted.' }));
  app.post('/tokens', { schema: { body: {} } }, async () => ({ success: true, message: 'Made.' }));
  app.get('/broken', async () => {
    throw new Error('secret_key=sk_leak at /home/x/file.ts, select * from tokens');
  });
  app.get('/wait', () => new Promise((resolve) => waiting.push(() => resolve({ success: true, message: 'Waited.' }))));
  app.get('/always', { config: { unlimited: true } }, async () => ({ success: true, message: 'Always.' }));
  return {
    app,
    letGo: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

async function ask(app: HttpServer, options: InjectOptions) {
  const response = await app.inject(options);
  assert.match(String(response.headers['content-type']), /^application\/json/, 'every answer is JSON');
  const body = response.json() as { [key: string]: unknown };
  assert.equal(typeof body.success, 'boolean');
  assert.equal(typeof body.message, 'string');
  return { status: response.statusCode, headers: response.headers, body };
}

const post = (app: HttpServer, payload: string | Buffer, headers: Record<string, string> = {}) =>
  ask(app, { method: 'POST', url: '/echo', headers: { 'content-type': 'application/json', ...headers }, payload });

const JSON_HEADERS = { 'content-type': 'application/json' };

describe('the door', () => {
  let ctx: OpenContext;
  let app: HttpServer;
  let letGo: () => void;
  before(async () => {
    ctx = await createTestContext({ MAX_IN_FLIGHT: '3', RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
    ({ app, letGo } = createEcho(ctx));
  });
  after(async () => {
    await app.close();
    await ctx.close();
  });

  test('what is not strict JSON is 400 invalid_json with the position', async () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    const bodies: (string | Buffer)[] = [
      '{"a":1,"a":2}',
      '{"amount":1,"\\u0061mount":2}',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
      Buffer.from('\ufeff{}'),
      Buffer.from('{}', 'utf16le'),
      '{"a":"\\ud800"}',
      '{"a":"\\u0000"}',
      '{"__proto__":{}}',
      '{"\\u005f_proto__":{}}',
      '{"constructor":{"prototype":{}}}',
      deep(33),
      deep(1_000),
      deep(30_000),
      `{${Array.from({ length: 257 }, (_, index) => `"k${index}":0`).join(',')}}`,
      '{"a":9007199254740993}',
      '{"a":1e400}',
      '{"a":NaN}',
      '{"a":Infinity}',
      '{"a":0x10}',
      '{"a":+1}',
      '{"a":01}',
      "{'a':1}",
      '{"a":1,}',
      '{} {}',
      '{"a":1',
      '',
    ];
    for (const body of bodies) {
      const { status, body: answer } = await post(app, body);
      const shown = body.toString().slice(0, 40);
      assert.deepEqual([status, answer.code], [400, 'invalid_json'], shown);
      assert.equal(typeof answer.position, 'number', shown);
      assert.match(String(answer.message), /position \d+\.$/);
    }
    assert.equal((await post(app, deep(32))).status, 200);
    assert.equal((await post(app, '{"a":{"b":[1,2.50,"é"]}}')).status, 200);
  });

  test('only application/json in UTF-8, uncompressed', async () => {
    for (const type of [
      'text/plain',
      'application/json; charset=utf-16',
      'application/json;x=y',
      'application/json\t;x',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/vnd.api+json',
      'text/json',
    ]) {
      const { status, body } = await post(app, '{}', { 'content-type': type });
      assert.deepEqual([status, body.code], [415, 'unsupported_media_type'], type);
    }
    const typeless = await ask(app, { method: 'POST', url: '/echo', payload: Buffer.from('{}') });
    assert.deepEqual([typeless.status, typeless.body.code], [415, 'unsupported_media_type']);
    for (const encoding of ['gzip', 'br', 'deflate', 'x']) {
      const { status, body } = await post(app, '{}', { 'content-encoding': encoding });
      assert.equal(status, 415, encoding);
      assert.match(String(body.message), /UTF-8, uncompressed/);
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])
      assert.equal((await post(app, '{}', { 'content-type': type })).status, 200, type);
  });

  test('a route that takes no body takes an empty one, whatever type the client names', async () => {
    const call = (method: 'DELETE' | 'POST', url: string, payload = '') =>
      ask(app, { method, url, headers: JSON_HEADERS, payload });
    assert.equal((await call('DELETE', '/tokens/1')).status, 200);
    assert.equal((await call('DELETE', '/tokens/1', '{')).body.code, 'invalid_json');
    assert.equal((await call('POST', '/tokens')).body.code, 'invalid_json');
  });

  test('64 kB pass, one byte more does not', async () => {
    const body = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
    assert.equal((await post(app, body(65_536))).status, 200);
    const { status, body: answer } = await post(app, body(65_537));
    assert.deepEqual([status, answer.code], [413, 'body_too_large']);
  });

  test('an unknown path is 404, a wrong method 405 with Allow', async () => {
    const missing = await ask(app, { method: 'GET', url: '/nothing?x=1' });
    assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
    assert.match(String(missing.body.request_id), /^req_[0-9A-Z]{26}$/);
    assert.match(String(missing.headers.link), /^<.+\/docs\/errors\/not_found>; rel="help"$/);
    const wrong = await ask(app, { method: 'DELETE', url: '/items/1?x=1' });
    assert.deepEqual([wrong.status, wrong.body.code], [405, 'method_not_allowed']);
    assert.equal(wrong.headers.allow, 'GET, HEAD, PUT');
    assert.equal((await ask(app, { method: 'GET', url: '/echo' })).headers.allow, 'POST');
    for (const url of [
      '/%',
      '/%ff',
      '/items/%c0%af',
      '/../etc/passwd',
      '/items/..%2f..',
      `/${'x'.repeat(9_000)}`,
      `/items/${'x'.repeat(9_000)}`,
      '//',
    ])
      assert.ok((await ask(app, { method: 'GET', url })).status < 500, url);
  });

  test('an unhandled error shows only its request id; the log has the details', async () => {
    const lines: string[] = [];
    const log = createLogger('info', { write: (line: string) => void lines.push(line) });
    const { app: logged } = createEcho({ ...ctx, log });
    const { status, body } = await ask(logged, { method: 'GET', url: '/broken' });
    assert.equal(status, 500);
    assert.deepEqual(Object.keys(body), ['success', 'message', 'code', 'request_id']);
    assert.deepEqual([body.message, body.code], ['Something went wrong on our side.', 'internal']);
    const line = lines.find((each) => each.includes('unhandled error'));
    assert.ok(line?.includes(String(body.request_id)) && line.includes('file.ts'));
    assert.equal(lines.filter((line) => line.includes('"msg":"request"')).length, 1, 'one line a request');
  });

  test('what is over the limit of work in flight is shed at once, and the ops routes still answer', async () => {
    const held = [1, 2, 3].map(() => app.inject('/wait'));
    await new Promise((resolve) => setImmediate(resolve));
    const { status, headers, body } = await post(app, '{"a":');
    assert.deepEqual([status, body.code, headers['retry-after']], [503, 'overloaded', '1']);
    assert.equal((await ask(app, { method: 'GET', url: '/always' })).status, 200);
    letGo();
    assert.deepEqual(
      (await Promise.all(held)).map((response) => response.statusCode),
      [200, 200, 200],
    );
    assert.equal((await post(app, '{}')).status, 200);
  });

  test('a refused call of the API has the shape of every refusal, though no route has seen it', async () => {
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const held = [1, 2, 3].map(() => fetch(`${url}/wait`));
    const call = () => fetch(`${url}/api/v3/echo`, { method: 'POST', body: '{}', headers: JSON_HEADERS });
    let refused = await call();
    while (refused.status !== 503) refused = await call();
    const body = (await refused.json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(body), ['success', 'message', 'code', 'request_id']);
    assert.deepEqual(
      [body.success, body.code, body.request_id],
      [false, 'overloaded', refused.headers.get('x-request-id')],
    );
    assert.equal(refused.headers.get('retry-after'), '1');
    const ordinary = await fetch(`${url}/nothing`);
    for (const name of ['x-simbi-mode', 'x-content-type-options', 'strict-transport-security'])
      assert.equal(refused.headers.get(name), ordinary.headers.get(name), name);
    assert.match(refused.headers.get('link') ?? '', /\/docs\/errors\/overloaded>; rel="help"$/);
    letGo();
    await Promise.all(held);
    assert.equal((await call()).status, 200);
  });

  test('the balance keeps its own shape when it is refused for too much work', async () => {
    const { port } = app.server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const held = [1, 2, 3].map(() => fetch(`${url}/wait`));
    const call = () =>
      fetch(`${url}/api/v3/get-unified-balance`, { method: 'POST', body: '{}', headers: JSON_HEADERS });
    let refused = await call();
    while (refused.status !== 503) refused = await call();
    letGo();
    await Promise.all(held);
    const { success, code, data } = (await refused.json()) as Record<string, unknown>;
    assert.deepEqual([success, code, data], ['false', 'overloaded', []]);
    assert.equal(refused.headers.get('retry-after'), '1');
  });

  test('sandbox answers say that they are, refusals too', async () => {
    const refused = [
      await post(app, '{'),
      await post(app, '{}', { 'content-encoding': 'gzip' }),
      await ask(app, { method: 'GET', url: '/nothing' }),
      await ask(app, { method: 'GET', url: '/%' }),
    ];
    for (const { headers } of refused) assert.equal(headers['x-simbi-mode'], 'sandbox');
  });
});

describe('one address', () => {
  test('gets its burst and then 429; a forwarded address counts only from a trusted proxy', async () => {
    const ctx = await createTestContext({
      RATE_LIMIT_PER_ADDRESS_PER_SECOND: '2',
      TRUSTED_PROXIES: '10.0.0.1',
    });
    const { app } = createEcho(ctx);
    const from = (remoteAddress: string, forwarded: string) =>
      ask(app, { method: 'GET', url: '/items/1', remoteAddress, headers: { 'x-forwarded-for': forwarded } });
    try {
      // A liar from one address stays one address.
      const statuses = [];
      for (let count = 0; count < 5; count++) statuses.push((await from('192.0.2.1', `203.0.113.${count}`)).status);
      assert.deepEqual(statuses, [200, 200, 200, 200, 429]);
      const refused = await from('192.0.2.1', '');
      assert.equal(refused.headers['retry-after'], '1');
      assert.match(String(refused.headers.ratelimit), /^"address";r=0;t=1$/);
      // People behind the proxy are distinguished.
      for (let count = 0; count < 6; count++) assert.equal((await from('10.0.0.1', `203.0.113.${count}`)).status, 200);
      ctx.clock.advance(500);
      assert.equal((await from('192.0.2.1', '')).status, 200);
    } finally {
      await app.close();
      await ctx.close();
    }
  });
});

describe('a request that waits for the share of its address', () => {
  test('counts what it commits as its own', async () => {
    const ctx = await createTestContext({ MAX_IN_FLIGHT: '100', RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0' });
    const { app, letGo } = createEcho(ctx);
    app.post('/committed', async () => {
      noteCommit();
      throw new Problem('overloaded');
    });
    const from = (options: InjectOptions) => app.inject({ ...options, remoteAddress: '192.0.2.1' });
    try {
      const held = Array.from({ length: 10 }, () => from({ url: '/wait' }));
      await new Promise((resolve) => setImmediate(resolve));
      const waiting = from({ method: 'POST', url: '/committed', headers: JSON_HEADERS, payload: '{}' });
      await new Promise((resolve) => setTimeout(resolve, 50));
      letGo();
      await Promise.all(held);
      assert.equal((await waiting).json().code, 'outcome_unknown');
    } finally {
      await app.close();
      await ctx.close();
    }
  });
});

describe('headers of every answer', () => {
  test('nosniff always; Strict-Transport-Security when PUBLIC_URL is https, whatever the proxy says', async () => {
    for (const [publicUrl, expected] of [
      ['https://pay.example.org', 'max-age=31536000'],
      ['http://pay.example.org', undefined],
    ] as const) {
      const ctx = await createTestContext({ PUBLIC_URL: publicUrl });
      const { app } = createEcho(ctx);
      try {
        for (const url of ['/items/1', '/nothing', '/broken', '/%']) {
          const { headers } = await ask(app, { method: 'GET', url });
          assert.equal(headers['x-content-type-options'], 'nosniff', url);
          assert.equal(headers['strict-transport-security'], expected, url);
        }
      } finally {
        await app.close();
        await ctx.close();
      }
    }
  });
});

describe('the socket', () => {
  let ctx: OpenContext;
  let app: HttpServer;
  let port: number;
  before(async () => {
    ctx = await createTestContext();
    ({ app } = createEcho(ctx));
    assert.deepEqual([app.server.headersTimeout, app.server.requestTimeout], [5_000, 10_000]);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const address = app.server.address();
    port = typeof address === 'object' && address ? address.port : 0;
  });
  after(async () => {
    await app.close();
    await ctx.close();
  });

  /** Sends raw bytes, and more every 100 ms when asked to; answers all that came back once the server hangs up. */
  function raw(text: string, drip = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      let dripping: NodeJS.Timeout | undefined;
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(text);
        if (drip) dripping = setInterval(() => socket.writable && socket.write(drip), 100);
      });
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => error.code !== 'ECONNRESET' && reject(error));
      socket.setTimeout(30_000, () => reject(new Error('the server keeps the connection')));
      socket.on('close', () => {
        clearInterval(dripping);
        resolve(answer);
      });
    });
  }

  const HEAD = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

  test('headers and bodies that drip are cut off, and others are served meanwhile', async () => {
    // The same clockwork, made quick: Node looks once a second.
    Object.assign(app.server, { headersTimeout: 300, requestTimeout: 600 });
    const slow = [
      raw('GET /items/1 HTTP/1.1\r\nHost: x\r\n', 'X-A: b\r\n'),
      raw(`${HEAD}Content-Length: 1000\r\n\r\n{`, ' '),
    ];
    const healthy = await fetch(`http://127.0.0.1:${port}/items/1`);
    assert.equal(healthy.status, 200);
    const answers = await Promise.all(slow);
    for (const answer of answers) if (answer) assert.match(answer, /^HTTP\/1\.1 408 .*"request_timeout"/s);
    Object.assign(app.server, { headersTimeout: 5_000, requestTimeout: 10_000 });
  });

  test('ambiguous framing is 400 and the connection ends', async () => {
    const requests = [
      `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      `${HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      `${HEAD}Content-Length: 2, 2\r\n\r\n{}`,
      `${HEAD}Content-Length: -2\r\n\r\n{}`,
      `${HEAD}X-A: b\r\n folded\r\nContent-Length: 2\r\n\r\n{}`,
      'POST /echo HTTP/1.1\nHost: x\nContent-Length: 0\n\n',
      'GET /items/1 HTTP/1.1\r\nHost : x\r\n\r\n',
      'GET /items/1 HTTP/1.1\r\n\r\n',
      'nonsense\r\n\r\n',
    ];
    for (const request of requests) {
      const answer = await raw(request);
      assert.match(answer, /^HTTP\/1\.1 400 /, JSON.stringify(request));
      assert.match(answer, /connection: close/i);
    }
    const large = await raw(`GET /items/1 HTTP/1.1\r\nHost: x\r\nX-A: ${'b'.repeat(20_000)}\r\n\r\n`);
    assert.match(large, /^HTTP\/1\.1 431 .*"not_acceptable_request"/s);
  });

  test('two hosts, none, or a whole address instead of a path are 400 as JSON, and the connection ends', async () => {
    const requests = [
      'GET /items/1 HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n',
      'GET /items/1 HTTP/1.1\r\nHost: x\r\nHOST: y\r\n\r\n',
      'GET /items/1 HTTP/1.1\r\nX-A: b\r\n\r\n',
      'GET http://x/items/1 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET https://y/items/1 HTTP/1.1\r\nHost: x\r\n\r\n',
      'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
    ];
    for (const request of requests) {
      const answer = await raw(request);
      assert.match(answer, /^HTTP\/1\.1 400 .*"not_acceptable_request"/s, JSON.stringify(request));
      assert.match(answer, /x-content-type-options: nosniff/i);
    }
    assert.match(await raw('GET /items/1 HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /, 'HTTP/1.0 has no Host');
  });

  test('an expectation that is not 100-continue is refused as JSON', async () => {
    const answer = await raw(`${HEAD}Expect: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`);
    assert.match(answer, /^HTTP\/1\.1 417 .*"not_acceptable_request"/s);
  });

  test('a body that claims to be huge or never ends is refused without being gathered', async () => {
    const claimed = await raw(`${HEAD}Content-Length: 1000000000\r\nConnection: close\r\n\r\n{`);
    assert.match(claimed, /^HTTP\/1\.1 413 .*"body_too_large"/s);
    const chunk = `${(16_384).toString(16)}\r\n${'x'.repeat(16_384)}\r\n`;
    const endless = await raw(`${HEAD}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk.repeat(8)}`);
    assert.match(endless, /^HTTP\/1\.1 413 /);
  });
});
