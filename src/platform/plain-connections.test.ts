// Which requests are answered straight from their connection, and that all others mean to Node what they always meant.

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Peer, type PlainService, servePlainRequests } from './plain-connections.ts';

const PATH = '/api/v3/pay';
const KEEP_ALIVE_MS = 65_000;
const RUNS = 300;
/** Long enough for a busy machine. */
const ARRIVAL_MS = 30_000;
const HEAD = `POST ${PATH} HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\n`;
const REQUEST = `${HEAD}Content-Length: 7\r\n\r\n{"a":1}`;
const answerText = (body: string, connection = 'keep-alive') =>
  `HTTP/1.1 200 OK\r\nconnection: ${connection}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Servers of one test, closed after it. */
type Options = {
  firstBytesMs?: number;
  arrivalMs?: number;
  keepAliveMs?: number;
  isEnding?: () => boolean;
  headersTimeout?: number;
  understood?: string[];
};

/** What a request says, as text: the same for both ways. */
function echoOf(way: string, path: string, headers: object, body: string): string {
  const { connection: _, ...said } = headers as Record<string, unknown>;
  return JSON.stringify({
    way,
    path,
    headers: Object.fromEntries(Object.entries(said).sort(([left], [right]) => (left < right ? -1 : 1))),
    body,
  });
}

const plainEcho: PlainService = {
  isServed: (path) => path === PATH,
  serve: ({ head, body }, peer) =>
    peer.answer(answerText(echoOf('plain', head.path, head.headers, body.toString('latin1'))), 'utf8'),
};

/** `service` null: Node alone. */
async function listen(service: PlainService | null, options: Options = {}): Promise<Server> {
  const {
    firstBytesMs = ARRIVAL_MS,
    arrivalMs = ARRIVAL_MS,
    keepAliveMs = KEEP_ALIVE_MS,
    isEnding = () => false,
    headersTimeout = 5_000,
    understood = [],
  } = options;
  const server = createServer({ headersTimeout, connectionsCheckingInterval: 50 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = echoOf('node', request.url ?? '', request.headers, Buffer.concat(chunks).toString('latin1'));
      understood.push(text);
      response.setHeader('content-length', Buffer.byteLength(text)).end(text);
    });
  });
  if (service)
    servePlainRequests(server, service, {
      firstBytesMs,
      arrivalMs,
      keepAliveMs,
      isEnding,
      answerHalf: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

type Client = {
  socket: Socket;
  text: () => string;
  until: (pattern: RegExp) => Promise<string>;
  closed: Promise<string>;
};

function open(server: Server): Client {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const look of waiting.splice(0)) look();
  };
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  void closed.then(wake);
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = () => {
        if (pattern.test(text)) resolve(text);
        else if (socket.destroyed) reject(new Error(`closed after ${JSON.stringify(text)}`));
        else waiting.push(look);
      };
      look();
    });
  return { socket, text: () => text, until, closed };
}

/** Which way each answer came. */
const waysOf = (text: string) => [...text.matchAll(/"way":"(\w+)"/g)].map(([, way]) => way);

describe('a connection', () => {
  let server: Server;
  before(async () => {
    server = await listen(plainEcho);
  });
  after(() => close(server));

  test('is not read during a pause, and read before it is closed', async () => {
    const served: string[] = [];
    const paused = await listen({
      isServed: (path) => path === PATH,
      serve({ body }, peer) {
        served.push(body.toString());
        peer.answer(answerText(`{"n":${served.length}}`), 'utf8', served.length === 1 ? 3_600_000 : 0);
      },
    });
    try {
      const client = open(paused);
      client.socket.write(REQUEST);
      await client.until(/\{"n":1\}$/);
      client.socket.write(REQUEST);
      // The answer on another connection comes after the time in which this one would have been read.
      const other = open(paused);
      other.socket.write(REQUEST);
      await other.until(/\{"n":2\}$/);
      assert.deepEqual([served.length, waysOf(client.text()).length], [2, 0]);
      paused.closeIdleConnections();
      await client.until(/\{"n":3\}$/);
      paused.closeIdleConnections();
      await client.closed;
    } finally {
      await close(paused);
    }
  });

  test('has its plain requests answered one after the other', async () => {
    const client = open(server);
    client.socket.write(REQUEST);
    await client.until(/"body":"\{\\"a\\":1\}"\}$/);
    client.socket.write(REQUEST.replace(':1}', ':2}'));
    const text = await client.until(/:2\}"\}$/);
    assert.deepEqual(waysOf(text), ['plain', 'plain']);
    assert.match(text, /"host":"shop"/);
    client.socket.destroy();
  });

  test('that brings a request in two pieces has it answered all the same', async () => {
    const client = open(server);
    client.socket.setNoDelay();
    await new Promise<void>((resolve) => void client.socket.write(REQUEST.slice(0, 40), () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
    client.socket.write(REQUEST.slice(40));
    assert.deepEqual(waysOf(await client.until(/\}$/)), ['plain']);
    client.socket.destroy();
  });

  test('on which half a request waits is given to Node, which gets all of it', async () => {
    const impatient = await listen(plainEcho, { arrivalMs: 20 });
    const client = open(impatient);
    client.socket.write(REQUEST.slice(0, -3));
    await new Promise((resolve) => setTimeout(resolve, 400));
    client.socket.write(REQUEST.slice(-3));
    const text = await client.until(/\}$/);
    assert.deepEqual(waysOf(text), ['node']);
    assert.match(text, /"body":"\{\\"a\\":1\}"/);
    await close(impatient);
  });

  test('on which nothing arrives for a while is not Node’s for that', async () => {
    const impatient = await listen(plainEcho, { arrivalMs: 1 });
    const client = open(impatient);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.write(REQUEST);
    assert.deepEqual(waysOf(await client.until(/\}$/)), ['plain']);
    await close(impatient);
  });

  test('on which anything else arrives is Node’s from then on', async () => {
    const client = open(server);
    client.socket.write(REQUEST);
    await client.until(/plain.*\}$/s);
    client.socket.write('GET /page HTTP/1.1\r\nHost: shop\r\n\r\n');
    await client.until(/"path":"\/page".*\}$/s);
    client.socket.write(REQUEST);
    const text = await client.until(/node.*node.*\}$/s);
    assert.deepEqual(waysOf(text), ['plain', 'node', 'node']);
    client.socket.destroy();
  });

  test('that brings two requests at once has both answered by Node, in order', async () => {
    const client = open(server);
    client.socket.write(REQUEST + REQUEST.replace(':1}', ':2}'));
    const text = await client.until(/:2\}"\}$/);
    assert.deepEqual(waysOf(text), ['node', 'node']);
    assert.ok(text.indexOf(':1}') < text.indexOf(':2}'));
    client.socket.destroy();
  });

  test('whose other side sends nothing more gets its answer, then the end', async () => {
    const client = open(server);
    client.socket.end(REQUEST);
    assert.deepEqual(waysOf(await client.closed), ['plain']);
  });

  test('that ends after half a request is told so', async () => {
    const client = open(server);
    client.socket.end(REQUEST.slice(0, -3));
    assert.match(await client.closed, /^HTTP\/1\.1 400 /);
  });

  test('that ends without a request just ends', async () => {
    const client = open(server);
    client.socket.end();
    assert.equal(await client.closed, '');
  });
});

describe('a server of plain requests', () => {
  /** Requests wait here until the test answers them. */
  function createWaiting(): { service: PlainService; asked: Peer[]; until: (count: number) => Promise<void> } {
    const asked: Peer[] = [];
    const waiting: (() => void)[] = [];
    return {
      asked,
      service: {
        isServed: () => true,
        serve: (_request, peer) => {
          asked.push(peer);
          for (const look of waiting.splice(0)) look();
        },
      },
      until: (count) =>
        new Promise((resolve) => {
          const look = () => (asked.length >= count ? resolve() : waiting.push(look));
          look();
        }),
    };
  }

  test('answers the next request of a connection after the one before', async () => {
    const { service, asked, until } = createWaiting();
    const server = await listen(service);
    const client = open(server);
    client.socket.write(REQUEST);
    await until(1);
    client.socket.write(REQUEST);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(asked.length, 1, 'the second one waits');
    asked[0]?.answer(answerText('first'), 'latin1');
    await until(2);
    asked[1]?.answer(answerText('second'), 'latin1');
    assert.match(await client.until(/second/), /first.*second/s);
    await close(server);
  });

  test('sends nothing to a client that is gone, and nothing twice', async () => {
    const { service, asked, until } = createWaiting();
    const server = await listen(service);
    const client = open(server);
    client.socket.write(REQUEST);
    await until(1);
    client.socket.destroy();
    await client.closed;
    await new Promise((resolve) => setTimeout(resolve, 20));
    asked[0]?.answer(answerText('late'), 'latin1');
    const next = open(server);
    next.socket.write(REQUEST);
    await until(2);
    asked[1]?.answer(answerText('own'), 'latin1');
    assert.match(await next.until(/own/), /\r\n\r\nown$/);
    await close(server);
  });

  test('waits for a client that does not read its answers', async () => {
    let served = 0;
    const large = answerText('x'.repeat(1024 * 1024));
    const server = await listen({
      isServed: () => true,
      serve: (_request, peer) => {
        served++;
        peer.answer(large, 'latin1');
      },
    });
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    for (let count = 0; count < 200; count++) {
      socket.write(REQUEST);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.ok(served < 50, `${served} answers of a megabyte wait for a client that reads none`);
    socket.destroy();
    await close(server);
  });

  test('closes connections that are not used, and lets the others end with their answer', async () => {
    const { service, asked, until } = createWaiting();
    let isEnding = false;
    const server = await listen(service, { isEnding: () => isEnding });
    const [idle, busy] = [open(server), open(server)];
    busy.socket.write(REQUEST);
    await until(1);
    isEnding = true;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    assert.equal(await idle.closed, '');
    assert.equal(asked[0]?.lasts(), false);
    asked[0]?.answer(answerText('last', 'close'), 'latin1');
    assert.match(await busy.closed, /last$/);
    await closed;
  });

  test('closes a connection that was not used for long', async () => {
    const server = await listen(plainEcho, { keepAliveMs: 100 });
    const client = open(server);
    client.socket.write(REQUEST);
    assert.deepEqual(waysOf(await client.closed), ['plain']);
    await close(server);
  });

  test('leaves a connection that says nothing, or drips, to the limits of Node', async () => {
    const server = await listen(plainEcho, { firstBytesMs: 20, arrivalMs: 20, headersTimeout: 100 });
    const [silent, dripping] = [open(server), open(server)];
    let at = 0;
    const drip = setInterval(() => dripping.socket.writable && dripping.socket.write(HEAD.charAt(at++)), 20);
    assert.match(await silent.closed, /^HTTP\/1\.1 408 /);
    assert.match(await dripping.closed, /^HTTP\/1\.1 408 /);
    clearInterval(drip);
    await close(server);
  });
});

describe('what a request means', () => {
  const names = ['Host', 'Content-Type', 'X-A', 'X-a', 'Idempotency-Key', 'X-Forwarded-For', 'Accept', 'constructor'];
  const odd = [
    'Transfer-Encoding: chunked',
    'Transfer-Encoding : chunked',
    'transfer-encoding: \tidentity',
    'Connection: close',
    'Connection: keep-alive',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Expect: 100-continue',
    'Content-Length: 7',
    'Content-Length: 07',
    'Content-Length: +7',
    'Content-Length: 7, 7',
    'Content-Length: 0x7',
    'Content-Length:',
    'Content-Length: 3',
    'Content-Length: 99',
    ' folded: value',
    'no colon',
    'bad name: x',
    'X-NUL: a\0b',
    'X-CR: a\rb',
    'X-LF: a\nb',
    'X-Tab:\tvalue\t',
    'X-Space:   value   ',
    'X-High: caf\u00e9',
    'X-Empty:',
    ': nameless',
  ];
  const value = fc.constantFrom('a', 'application/json', '1, 2', '', 'x y', '"q"', '\u00ff');
  const header = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.constantFrom(...names), value).map(([name, text]) => `${name}: ${text}`) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
  );
  const line = fc.oneof(
    { weight: 8, arbitrary: fc.constant(`POST ${PATH} HTTP/1.1`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        `POST ${PATH}?a=1 HTTP/1.1`,
        `POST ${PATH}/ HTTP/1.1`,
        `POST /api/v3/PAY HTTP/1.1`,
        `POST  ${PATH} HTTP/1.1`,
        `POST ${PATH} HTTP/1.0`,
        `POST http://shop${PATH} HTTP/1.1`,
        `post ${PATH} HTTP/1.1`,
        `PUT ${PATH} HTTP/1.1`,
        `POST ${PATH}`,
      ),
    },
  );
  const request = fc
    .record({
      line,
      headers: fc.array(header, { maxLength: 4 }),
      length: fc.constantFrom('Content-Length: 7', 'Content-Length: 7', 'Content-Length: 7', ''),
      end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\n'),
      body: fc.constantFrom('{"a":1}', '{"a":1}', '{"a":1}', '{"a"', '{"a":1}x', '0\r\n\r\n', ''),
    })
    .map(({ line, headers, length, end, body }) =>
      [line, 'Host: shop', ...headers, ...(length ? [length] : []), '', body].join(end),
    );
  const connection = fc.record({
    requests: fc.array(request, { minLength: 1, maxLength: 3 }),
    cuts: fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 3 }),
  });

  type Conversation = { understood: string[]; answers: string[] };

  /** What the server understood, and what came back, without what only says which way. */
  async function converse(service: PlainService | null, bytes: Buffer, cuts: readonly number[]): Promise<Conversation> {
    const understood: string[] = [];
    const server = await listen(service, { understood });
    const client = open(server);
    client.socket.setNoDelay();
    let from = 0;
    for (const cut of [...cuts].sort((left, right) => left - right)) {
      client.socket.write(bytes.subarray(from, cut));
      from = Math.max(from, cut);
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.end(bytes.subarray(from));
    const text = (await client.closed).replaceAll('"way":"plain"', '"way":"node"');
    await close(server);
    const answers = text.split(/(?=HTTP\/1\.1 )/);
    return {
      understood,
      answers: answers.map((answer) => `${answer.slice(9, 12)} ${answer.slice(answer.indexOf('\r\n\r\n') + 4)}`),
    };
  }

  /** Where nonsense follows a request at once, the connection may end before the request was read or answered. */
  function sameOrShorter(left: string[], right: string[], mayBeCut: boolean): void {
    const length = mayBeCut ? Math.min(left.length, right.length) : Math.max(left.length, right.length);
    assert.deepEqual(left.slice(0, length), right.slice(0, length));
  }

  const isAnswered = (answer: string) => answer.startsWith('200');
  const isRefused = (answer: string) => answer.startsWith('4');

  test('is the same as to Node alone, whatever the bytes and however they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(connection, async ({ requests, cuts }) => {
        const bytes = Buffer.from(requests.join(''), 'latin1');
        const plain: string[] = [];
        const service: PlainService = {
          ...plainEcho,
          serve(request, peer) {
            plain.push(echoOf('node', request.head.path, request.head.headers, request.body.toString('latin1')));
            plainEcho.serve(request, peer);
          },
        };
        const both = await converse(service, bytes, cuts);
        const alone = await converse(null, bytes, cuts);
        // A connection is plain first, and Node's afterwards.
        both.understood.unshift(...plain);
        const refusals = alone.answers.filter(isRefused);
        assert.deepEqual(both.answers.filter(isRefused), refusals);
        const answered = ({ answers }: Conversation) => answers.filter(isAnswered);
        sameOrShorter(both.understood, alone.understood, refusals.length > 0);
        sameOrShorter(answered(both), answered(alone), refusals.length > 0);
      }),
      { numRuns: RUNS },
    );
  });
});
