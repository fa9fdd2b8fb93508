// How a request of the fuzzer is sent: most through the server's own entry, which is several times faster, some over a real
// socket, where the bytes are exactly those that were chosen.

import { connect } from 'node:net';
import type { TestGateway } from '../gateway.ts';

export type FuzzRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** Who asks: an admin and the public pages may show what belongs to others. */
  readonly caller: 'program' | 'person' | 'admin' | 'anyone';
  readonly way: 'entry' | 'socket';
  readonly address: string;
};

export type FuzzAnswer = { status: number; headers: Record<string, string>; text: string };

const ANSWER_MS = 10_000;
/** Node's limit of a head. */
const MAX_HEAD_BYTES = 16_384;
/** Pages that wait for news are left after this long. */
const PATIENCE_MS = 40;
const WAITS = /^\/sandbox\/phone\/[^/]+(?:\/news|\?.*version)|[?&]check=/;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

/** Null: the page waits for news, and was left, or the head was too long to be read. */
export function sendRequest(gateway: TestGateway, request: FuzzRequest): Promise<FuzzAnswer | null> {
  return request.way === 'socket' ? sendBySocket(gateway.url, request) : sendToEntry(gateway, request);
}

async function sendToEntry({ app }: TestGateway, request: FuzzRequest): Promise<FuzzAnswer | null> {
  const waits = WAITS.test(request.url);
  const method = METHODS.find((known) => known === request.method) ?? 'GET';
  try {
    const answer = await app.inject({
      method,
      url: request.url,
      headers: request.headers,
      remoteAddress: request.address,
      ...(request.body === null ? {} : { payload: request.body }),
      ...(waits ? { signal: AbortSignal.timeout(PATIENCE_MS) } : {}),
    });
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return { status: answer.statusCode, headers: Object.fromEntries(headers), text: answer.payload };
  } catch (error) {
    if (waits && error instanceof Error && /abort|timeout/i.test(`${error.name} ${error.message}`)) return null;
    throw error;
  }
}

function sendBySocket(url: string, request: FuzzRequest): Promise<FuzzAnswer | null> {
  const { hostname, port, host } = new URL(url);
  const lines = [
    `${request.method} ${request.url} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    ...(request.body === null ? [] : [`Content-Length: ${request.body.length}`]),
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const waits = WAITS.test(request.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const parts: Buffer[] = [];
    socket.setTimeout(waits ? PATIENCE_MS : ANSWER_MS, () => {
      socket.destroy();
      if (waits) resolve(null);
      else reject(new Error(`no answer within ${ANSWER_MS} ms`));
    });
    socket.on('data', (part) => parts.push(part));
    const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
    socket.on('error', (error) => {
      // The server does not read the rest of a head that is too long; the reset may overtake its answer.
      if (head.length > MAX_HEAD_BYTES && 'code' in error && error.code === 'ECONNRESET') resolve(null);
      else reject(error);
    });
    socket.on('close', () => resolve(readAnswer(Buffer.concat(parts))));
    socket.write(Buffer.concat([head, request.body ?? Buffer.alloc(0)]));
  });
}

function readAnswer(bytes: Buffer): FuzzAnswer {
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = bytes.subarray(end + 4);
  const whole = headers['transfer-encoding'] === 'chunked' ? joinChunks(body) : body;
  return { status: Number(first.split(' ')[1] ?? 0), headers, text: whole.toString('utf8') };
}

function joinChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, line).toString('latin1'), 16);
    if (!(size > 0)) break;
    parts.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
