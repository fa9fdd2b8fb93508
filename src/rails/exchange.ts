// One bounded HTTP exchange with an operator over kept-alive connections. Everything that can go wrong on the network is
// returned as a value, because none of it says what the operator did.

import { Pool } from 'undici';
import { ExchangeTimeoutError, exchangeBounded } from '../platform/bounded-exchange.ts';
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES } from './rail.ts';

const MAX_CONNECTIONS = 64;
const KEEP_ALIVE_MS = 30_000;

export type ExchangeRequest = {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  /** Less time than the connection's, for a call that somebody waits for. */
  timeoutMs?: number;
};

export type Exchange =
  /** The operator answered, completely and within the limits. */
  { answered: true; status: number; body: string } | { answered: false; reason: string };

export interface OperatorConnection {
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}

export type OperatorConnectionOptions = {
  /** Read before each call: the address may only be known after the operator has started. Null: not reachable. */
  url: () => string | null;
  headers: Record<string, string>;
  /** The whole exchange, from the first byte sent to the last byte read. */
  timeoutMs?: number;
};

export function connectOperator(options: OperatorConnectionOptions): OperatorConnection {
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  let current: { url: string; pool: Pool } | null = null;

  function poolFor(url: string): Pool {
    if (current?.url === url) return current.pool;
    void current?.pool.close().catch(() => undefined);
    const pool = new Pool(url, {
      connections: MAX_CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The exchange has one deadline, so undici's two timers stay off.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: timeoutMs },
    });
    current = { url, pool };
    return pool;
  }

  return {
    async exchange({ method, path, body, timeoutMs: shorter }) {
      const url = options.url();
      if (url === null) return { answered: false, reason: 'the operator has no address' };
      try {
        const answer = await exchangeBounded(
          poolFor(url),
          { method, path, body: body ?? null, headers: options.headers },
          { timeoutMs: Math.min(timeoutMs, shorter ?? timeoutMs), maxAnswerBytes: MAX_ANSWER_BYTES },
        );
        if (answer.truncated) return { answered: false, reason: 'the answer is too large' };
        return { answered: true, status: answer.status, body: answer.body.toString('utf8') };
      } catch (error) {
        return { answered: false, reason: describe(error) };
      }
    },
    close: async () => {
      await current?.pool.destroy();
      current = null;
    },
  };
}

/** The name of a network error, without addresses or content. */
function describe(error: unknown): string {
  if (error instanceof ExchangeTimeoutError) return 'timed out';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}
