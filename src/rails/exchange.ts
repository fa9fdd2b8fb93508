// One bounded HTTP exchange with an operator over kept-alive connections. It answers a value for everything that
// can go wrong on the wire, because none of it says what the operator did.

import { Pool } from 'undici';
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES } from './rail.ts';

const MAX_CONNECTIONS = 64;
const KEEP_ALIVE_MS = 30_000;

export type ExchangeRequest = { method: 'GET' | 'POST'; path: string; body?: string };

export type Exchange =
  /** The operator answered, completely and within the bounds. */
  { answered: true; status: number; body: string } | { answered: false; reason: string };

export interface Operator {
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}

export type OperatorOptions = {
  /** Asked before each call: the address may only be known after the operator's own start. Null: not reachable. */
  url: () => string | null;
  headers: Record<string, string>;
  /** The whole exchange, from the first byte sent to the last byte read. */
  timeoutMs?: number;
};

export function connectOperator(options: OperatorOptions): Operator {
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
    async exchange(request) {
      const url = options.url();
      if (url === null) return { answered: false, reason: 'the operator has no address' };
      const abort = new AbortController();
      const deadline = setTimeout(() => abort.abort(), timeoutMs);
      try {
        const response = await poolFor(url).request({
          method: request.method,
          path: request.path,
          headers: options.headers,
          signal: abort.signal,
          ...(request.body === undefined ? {} : { body: request.body }),
        });
        const chunks: Buffer[] = [];
        let length = 0;
        for await (const chunk of response.body as AsyncIterable<Buffer>) {
          length += chunk.length;
          // Leaving the loop destroys the body, and with it the connection.
          if (length > MAX_ANSWER_BYTES) return { answered: false, reason: 'the answer is too large' };
          chunks.push(chunk);
        }
        const body = chunks.length === 1 ? (chunks[0]?.toString('utf8') ?? '') : Buffer.concat(chunks).toString('utf8');
        return { answered: true, status: response.statusCode, body };
      } catch (error) {
        return { answered: false, reason: abort.signal.aborted ? 'timed out' : describe(error) };
      } finally {
        clearTimeout(deadline);
      }
    },
    close: async () => {
      await pool?.pool.destroy();
      pool = null;
    },
  };
}

/** The name of a network fault, without addresses or content. */
function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}
