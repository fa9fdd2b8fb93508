// One bounded HTTP exchange with an operator over kept-alive connections. It answers a value for everything that
// can go wrong on the wire, because none of it says what the operator did.

import { type Dispatcher, Pool } from 'undici';
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES } from './rail.ts';

const MAX_CONNECTIONS = 64;
const KEEP_ALIVE_MS = 30_000;

export type ExchangeRequest = { method: 'GET' | 'POST'; path: string; body?: string };

export type Exchange =
  /** The operator answered, completely and within the bounds. */
  { answered: true; status: number; body: string } | { answered: false; reason: string };

export interface OperatorConnection {
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}

export type OperatorConnectionOptions = {
  /** Asked before each call: the address may only be known after the operator's own start. Null: not reachable. */
  url: () => string | null;
  headers: Record<string, string>;
  /** The whole exchange, from the first byte sent to the last byte read. */
  timeoutMs?: number;
};

export function connectOperator(options: OperatorConnectionOptions): OperatorConnection {
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  let pool: { url: string; pool: Pool } | null = null;

  function poolFor(url: string): Pool {
    if (pool?.url === url) return pool.pool;
    void pool?.pool.close().catch(() => undefined);
    pool = {
      url,
      pool: new Pool(url, {
        connections: MAX_CONNECTIONS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        // One deadline over everything is kept below; undici's own would restart with every byte.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: timeoutMs },
      }),
    };
    return pool.pool;
  }

  return {
    exchange(request) {
      const url = options.url();
      if (url === null) return Promise.resolve({ answered: false, reason: 'the operator has no address' });
      return new Promise<Exchange>((resolve) => {
        const handler = createHandler(timeoutMs, resolve);
        try {
          const { method, path, body = null } = request;
          poolFor(url).dispatch({ method, path, body, headers: options.headers }, handler);
        } catch (error) {
          handler.onResponseError(null, error);
        }
      });
    },
    close: async () => {
      await pool?.pool.destroy();
      pool = null;
    },
  };
}

/**
 * Gathers one answer. Written against undici's handler rather than its `request`, because the stream that `request`
 * makes of every body costs more than the exchange itself.
 */
function createHandler(timeoutMs: number, resolve: (exchange: Exchange) => void) {
  const chunks: Buffer[] = [];
  let length = 0;
  let status = 0;
  let running: Dispatcher.DispatchController | null = null;
  let isOver = false;
  const deadline = setTimeout(() => giveUp('timed out'), timeoutMs);

  function finish(exchange: Exchange): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(deadline);
    resolve(exchange);
  }

  function giveUp(reason: string): void {
    finish({ answered: false, reason });
    running?.abort(new Error(reason));
  }

  return {
    onRequestStart(controller: Dispatcher.DispatchController) {
      running = controller;
      // Its time was over before a connection was free: then it is not sent at all.
      if (isOver) controller.abort(new Error('timed out'));
    },
    onResponseStart(_: Dispatcher.DispatchController, statusCode: number) {
      status = statusCode;
    },
    onResponseData(_: Dispatcher.DispatchController, chunk: Buffer) {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) giveUp('the answer is too large');
      else chunks.push(chunk);
    },
    onResponseEnd() {
      const [first] = chunks;
      const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks);
      finish({ answered: true, status, body: bytes.toString('utf8') });
    },
    onResponseError(_: Dispatcher.DispatchController | null, error: unknown) {
      finish({ answered: false, reason: describe(error) });
    },
  };
}

/** The name of a network fault, without addresses or content. */
function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}
