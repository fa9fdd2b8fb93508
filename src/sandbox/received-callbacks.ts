// The callbacks that the built-in receiver took, the newest first, in memory: of this process, or of the one that runs the
// simulated operator.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../platform/clock.ts';
import { Pool } from '../platform/pool.ts';

export const CALLBACKS_PATH = '/sandbox/callbacks';
export const RECEIVED_LIMIT_BYTES = 256 * 1024;
const MAX_KEPT = 200;
const MAX_KEPT_BODY_BYTES = 65_536;
const SHOWN = 50;

export type ReceivedRequest = { headers: Record<string, string>; body: Buffer };

export type ReceivedCallback = {
  /** Counts up, so that a client can ask for what is new. */
  number: number;
  at: Date;
  headers: Record<string, string>;
  body: string;
  verdict: CallbackVerdict;
};

export type CallbackVerdict = { verified: true } | { verified: false; why: string };

/** Verifies the signature of a callback. Given by app.ts: the sandbox knows neither events nor secrets. */
export type CheckCallback = (request: ReceivedRequest) => Promise<CallbackVerdict>;

export interface ReceivedCallbacks {
  receive(request: ReceivedRequest): Promise<{ number: number; verified: boolean }>;
  /** The newest that came after this number and contain the text. */
  list(after: number, text: string): Promise<ReceivedCallback[]>;
}

export function createReceivedCallbacks(clock: Clock, check: CheckCallback): ReceivedCallbacks {
  const received: ReceivedCallback[] = [];
  let count = 0;
  return {
    async receive({ headers, body }) {
      const verdict = await check({ headers, body });
      const text = body.subarray(0, MAX_KEPT_BODY_BYTES).toString('utf8');
      const number = ++count;
      received.unshift({ number, at: clock.now(), headers, body: text, verdict });
      if (received.length > MAX_KEPT) received.pop();
      return { number, verified: verdict.verified };
    },
    list: (after, text) =>
      Promise.resolve(received.filter(({ number, body }) => number > after && body.includes(text)).slice(0, SHOWN)),
  };
}

/** Serves them to the process of the gateway. Bare node:http, as the rest of the simulated operator. */
export async function serveReceived(
  callbacks: ReceivedCallbacks,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): Promise<void> {
  const answer =
    request.method === 'POST'
      ? { received: true, ...(await callbacks.receive({ headers: readHeaders(request), body })) }
      : await listFor(callbacks, request.url ?? '');
  const text = JSON.stringify(answer);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(200, headers).end(text);
}

function listFor(callbacks: ReceivedCallbacks, url: string): Promise<ReceivedCallback[]> {
  const query = new URL(url, 'http://receiver').searchParams;
  return callbacks.list(Number(query.get('after')), query.get('q') ?? '');
}

/** Every header as one text, by its lower-case name. */
export function readHeaders(request: Pick<IncomingMessage, 'headers'>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  return headers;
}

/** Those of another process; what the gateway delivers goes there directly. */
export function remoteReceivedCallbacks(url: string): ReceivedCallbacks & { close(): Promise<void> } {
  const pool = new Pool(url);
  return {
    async receive({ headers, body }) {
      const kept = Object.entries(headers).filter(([name]) => !CONNECTION_HEADERS.has(name));
      const sent = { method: 'POST', path: CALLBACKS_PATH, headers: Object.fromEntries(kept), body } as const;
      const answer = await pool.request(sent);
      return (await answer.body.json()) as { number: number; verified: boolean };
    },
    async list(after, text) {
      const path = `${CALLBACKS_PATH}?after=${after}&q=${encodeURIComponent(text)}`;
      const answer = await pool.request({ method: 'GET', path });
      const listed = (await answer.body.json()) as (Omit<ReceivedCallback, 'at'> & { at: string })[];
      return listed.map((callback) => ({ ...callback, at: new Date(callback.at) }));
    },
    close: () => pool.destroy(),
  };
}

/** They concern the connection that a callback came on, not the callback. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
