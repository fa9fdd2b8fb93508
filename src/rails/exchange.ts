// One bounded HTTP exchange with an operator over kept-alive connections. Everything that can go wrong on the network is
// returned as a value, because none of it says what the operator did.

import { ExchangeTimeoutError, exchangeBounded } from '../platform/bounded-exchange.ts';
import { Pool } from '../platform/pool.ts';
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES } from './rail.ts';

const MAX_CONNECTIONS = 64;
const KEEP_ALIVE_MS = 30_000;

export type ExchangeRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  /** An object is sent as JSON, URLSearchParams as a form, a text as it is. */
  body?: object | URLSearchParams | string;
  /** Besides those of the connection. */
  headers?: Record<string, string>;
  /** Another time than the connection's, for a call that somebody waits for or that takes long. */
  timeoutMs?: number;
};

export type Exchange =
  /** The operator answered, completely and within the limits. */
  | { answered: true; status: number; headers: Readonly<Record<string, string | string[] | undefined>>; body: string }
  | { answered: false; reason: string };

/** One call as the page of a connection shows it: the request and the answer are scrubbed by the rail's evidence. */
export type OperatorCall = {
  at: Date;
  method: string;
  path: string;
  /** Null: no answer; `answer` is the reason then. */
  status: number | null;
  ms: number;
  request: string;
  answer: string;
};

export interface OperatorConnection {
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}

export type OperatorConnectionOptions = {
  /** Read before each call: the address may only be known after the operator has started. Null: not reachable. */
  url: () => string | null;
  headers?: Record<string, string>;
  /** The whole exchange, from the first byte sent to the last byte read. */
  timeoutMs?: number;
  /** Called after each exchange with what was sent and what came back, before anything is scrubbed. */
  onExchange?: (request: ExchangeRequest & { sentBody: string }, answer: Exchange, ms: number) => void;
};

export function connectOperator(options: OperatorConnectionOptions): OperatorConnection {
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  let current: { url: string; pool: Pool; prefix: string } | null = null;

  function poolFor(url: string): { pool: Pool; prefix: string } {
    if (current?.url === url) return current;
    void current?.pool.close().catch(() => undefined);
    const { origin, pathname } = new URL(url);
    const pool = new Pool(origin, {
      connections: MAX_CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The exchange has one deadline, so undici's two timers stay off.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: timeoutMs },
    });
    current = { url, pool, prefix: pathname.replace(/\/$/, '') };
    return current;
  }

  async function exchange(request: ExchangeRequest, sent: SentBody): Promise<Exchange> {
    const url = options.url();
    if (url === null) return { answered: false, reason: 'the operator has no address' };
    try {
      const { pool, prefix } = poolFor(url);
      const headers = { ...sent.headers, ...options.headers, ...request.headers };
      const answer = await exchangeBounded(
        pool,
        { method: request.method, path: `${prefix}${request.path}`, body: sent.text, headers },
        { timeoutMs: request.timeoutMs ?? timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES },
      );
      if (answer.truncated) return { answered: false, reason: 'the answer is too large' };
      return { answered: true, status: answer.status, headers: answer.headers, body: answer.body.toString('utf8') };
    } catch (error) {
      return { answered: false, reason: describe(error) };
    }
  }

  return {
    async exchange(request) {
      const sent = encodeBody(request.body);
      const startedAt = performance.now();
      const answer = await exchange(request, sent);
      options.onExchange?.({ ...request, sentBody: sent.text ?? '' }, answer, performance.now() - startedAt);
      return answer;
    },
    close: async () => {
      await current?.pool.destroy();
      current = null;
    },
  };
}

type SentBody = { text: string | null; headers: Record<string, string> };

function encodeBody(body: ExchangeRequest['body']): SentBody {
  if (body === undefined) return { text: null, headers: {} };
  if (typeof body === 'string') return { text: body, headers: {} };
  if (body instanceof URLSearchParams)
    return { text: body.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  return { text: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** The name of a network error, without addresses or content. */
function describe(error: unknown): string {
  if (error instanceof ExchangeTimeoutError) return 'timed out';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}
