// One call to a key service over HTTPS: bounded in time and size, tried again once when it does not answer. Its failures
// become sentences for the person who runs the gateway; what was sent is never part of them.

import { type ExchangeAnswer, exchangeBounded } from './bounded-exchange.ts';
import { KeyWrapperError } from './key-wrapper.ts';
import { Pool } from './pool.ts';

const TIMEOUT_MS = 5_000;
const TRIES = 2;
const PAUSE_MS = 250;
const MAX_ANSWER_BYTES = 64 * 1024;

export type KeyServiceCall = {
  /** As people know it: "AWS KMS". */
  service: string;
  origin: string;
  path: string;
  /** Made for each try: a signature is bound to its time. */
  headers(): Record<string, string>;
  body: string;
  timeoutMs?: number;
};

/** The JSON object of a 200 answer; everything else is an error that says what to do. */
export async function callKeyService(
  call: KeyServiceCall,
  reasonOf: (answer: Record<string, unknown>) => string,
): Promise<Record<string, unknown>> {
  const pool = new Pool(call.origin, { connections: 1 });
  try {
    for (let tried = 1; ; tried++) {
      const result = await attempt(pool, call);
      if (typeof result === 'string') {
        if (tried === TRIES) throw awayError(call, result);
      } else if (result.status === 200) {
        return readObject(result.body) ?? fail(call, 'the answer is not JSON');
      } else if (result.status < 500 && result.status !== 429) {
        return fail(call, `${result.status} ${reasonOf(readObject(result.body) ?? {})}`.trim());
      } else if (tried === TRIES) {
        throw awayError(call, `it answered ${result.status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } finally {
    void pool.destroy();
  }
}

/** The answer, or why there is none. */
async function attempt(pool: Pool, call: KeyServiceCall): Promise<ExchangeAnswer | string> {
  const limits = { timeoutMs: call.timeoutMs ?? TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES };
  const { path, body } = call;
  try {
    return await exchangeBounded(pool, { method: 'POST', path, headers: call.headers(), body }, limits);
  } catch (error) {
    if (error instanceof KeyWrapperError) throw error;
    return error instanceof Error && error.message ? error.message : 'the connection failed';
  }
}

function awayError({ service, origin }: KeyServiceCall, reason: string): KeyWrapperError {
  return new KeyWrapperError(
    `${service} at ${origin} does not answer (${reason}). Without it the keys of this database cannot be opened.`,
    true,
  );
}

function fail({ service, origin }: KeyServiceCall, reason: string): never {
  throw new KeyWrapperError(
    `${service} at ${origin} refused: ${reason.slice(0, 300)}. Check the key, the credentials and its policy.`,
  );
}

function readObject(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Base 64 of an answer, decoded; a missing member is an error. */
export function requireBytes(service: string, value: unknown, name: string): Buffer {
  if (typeof value === 'string' && value !== '') return Buffer.from(value, 'base64');
  throw new KeyWrapperError(`${service} answered without ${name}.`);
}
