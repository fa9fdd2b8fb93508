// One request to the gateway: signed or with a token, with a time-out, and tried again where that is safe. A retry
// keeps the idempotency key and is signed anew, because a signature works once.

import { canonicalJson, type Json } from './canonical-json.ts';
import { type LastResponse, SimbiError } from './error.ts';
import { hex, hmac, importKey, randomHex, utf8 } from './hmac.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
const MAX_RETRY_AFTER_MS = 60_000;
const SALT_BYTES = 16;

const RETRYABLE_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Refusals that say: nothing was done. After these even a call that must not happen twice may be repeated. */
const NOTHING_DONE = new Set(['rate_limited', 'overloaded', 'database_unavailable', 'operator_unavailable']);
/** Waiting half a minute or longer unasked would surprise: the caller decides. */
const NOT_BY_ITSELF = new Set(['resend_too_soon', 'number_limited']);

/** What the machine gives us; tests and unusual runtimes give their own. */
export type Runtime = {
  fetch: (url: string, request: RequestInit) => Promise<Response>;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Resolves after the time, or as soon as the signal is aborted. */
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  random: () => number;
};

export type Settings = {
  baseUrl: string;
  authUrl: string;
  clientId: string;
  secretKey: string;
  sender: string;
  timeoutMs?: number;
  maxRetries?: number;
  runtime: Runtime;
};

/** Of one call; what is left out is as the client was made. */
export type CallOptions = { signal?: AbortSignal; timeoutMs?: number; maxRetries?: number };

export type Call = {
  path: string;
  /** Without it: POST when there is a body, else GET. */
  method?: 'DELETE';
  /** Sent as the envelope's params (signed), or as the body itself. Neither: a GET. */
  params?: object;
  body?: object;
  query?: Record<string, string | number | null | undefined>;
  token?: TokenSource;
  /** False for what must not happen twice and has no key: repeated only when the gateway did nothing. */
  repeatable: boolean;
  idempotencyKey?: string;
  onAuthUrl?: boolean;
};

export type TokenSource = { get(options: CallOptions): Promise<string>; forget(): void };

export type Answer = { body: Record<string, unknown>; response: LastResponse };

export type Transport = { send(call: Call, options?: CallOptions): Promise<Answer> };

export const machine: Runtime = {
  fetch: (url, request) => fetch(url, request),
  now: () => Date.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal?.addEventListener('abort', done);
    }),
  random: () => Math.random(),
};

export function createTransport(settings: Settings): Transport {
  const { runtime } = settings;
  const key = importKey(utf8(settings.secretKey));
  // Who never signs (a receiver of callbacks) must not meet an unhandled rejection.
  key.catch(() => undefined);
  /** How far the gateway's clock is ahead of ours, as its answers say. */
  let clockAheadMs = 0;

  async function envelope(params: object): Promise<string> {
    // What is signed is what JSON makes of the params: no undefined members, dates as text.
    const unsigned = JSON.parse(
      JSON.stringify({
        client_id: settings.clientId,
        sender: settings.sender,
        timestamp: Math.floor((runtime.now() + clockAheadMs) / 1000),
        salt: randomHex(SALT_BYTES),
        params,
      }),
    ) as { [key: string]: Json };
    const signature = hex(await hmac(await key, utf8(canonicalJson(unsigned))));
    return JSON.stringify({ ...unsigned, signature });
  }

  async function attempt(call: Call, options: CallOptions, attempts: number, token?: string): Promise<Answer> {
    const headers: Record<string, string> = { accept: 'application/json' };
    const body = call.params ? await envelope(call.params) : call.body && JSON.stringify(call.body);
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const url = (call.onAuthUrl ? settings.authUrl : settings.baseUrl) + call.path + queryText(call.query);
    const request: RequestInit = {
      method: call.method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      // A signed request belongs to one gateway: it is not carried elsewhere.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    };
    const { response, text } = await exchange(settings, url, request, options, call);
    return readAnswer(settings, call, response, text, attempts);
  }

  /** True when the answer has a time that differs from the one assumed. */
  function learnClock(error: SimbiError): boolean {
    const serverTime = Date.parse(textOrNull(error.debug?.server_time) ?? error.lastResponse?.headers.date ?? '');
    if (Number.isNaN(serverTime)) return false;
    clockAheadMs = serverTime - runtime.now();
    return true;
  }

  async function send(call: Call, options: CallOptions = {}): Promise<Answer> {
    const most = options.maxRetries ?? settings.maxRetries ?? DEFAULT_RETRIES;
    let attempts = 0;
    let retries = 0;
    let clockCorrected = false;
    let tokenRenewed = false;
    for (;;) {
      // Outside of the net below: getting a token has retries of its own.
      const token = await call.token?.get(options);
      try {
        return await attempt(call, options, ++attempts, token);
      } catch (error) {
        if (!(error instanceof SimbiError)) throw error;
        if (error.code === 'timestamp_out_of_range' && !clockCorrected && learnClock(error)) {
          clockCorrected = true;
          continue;
        }
        if (error.code === 'unauthenticated' && call.token && !tokenRenewed) {
          tokenRenewed = true;
          call.token.forget();
          continue;
        }
        if (retries >= most || !mayRepeat(call, error)) throw error;
        await runtime.sleep(delayBefore(runtime, retries++, error), options.signal);
        if (options.signal?.aborted) throw abortedError(call, options.signal.reason);
      }
    }
  }

  return { send };
}

function mayRepeat(call: Call, error: SimbiError): boolean {
  if (!error.retryable || NOT_BY_ITSELF.has(error.code)) return false;
  return call.repeatable || call.idempotencyKey !== undefined || NOTHING_DONE.has(error.code);
}

/** Twice as long each time, between half and all of it, so that clients do not come back in waves. */
function delayBefore(runtime: Runtime, retry: number, error: SimbiError): number {
  const whole = Math.min(FIRST_DELAY_MS * 2 ** retry, MAX_DELAY_MS);
  const own = whole * (0.5 + runtime.random() / 2);
  return Math.max(own, Math.min(retryAfterMs(runtime, error), MAX_RETRY_AFTER_MS));
}

function retryAfterMs(runtime: Runtime, error: SimbiError): number {
  const text = error.lastResponse?.headers['retry-after'];
  if (!text) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? 0 : Math.max(0, moment - runtime.now());
}

function queryText(query: Call['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) given.set(name, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** Sends and reads everything within the time-out. */
async function exchange(
  settings: Settings,
  url: string,
  request: RequestInit,
  options: CallOptions,
  call: Call,
): Promise<{ response: Response; text: string }> {
  const timeoutMs = options.timeoutMs ?? settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const { signal } = options;
  if (signal?.aborted) throw abortedError(call, signal.reason);
  const stop = new AbortController();
  let late = false;
  const abort = () => stop.abort();
  const timer = setTimeout(() => {
    late = true;
    stop.abort();
  }, timeoutMs);
  signal?.addEventListener('abort', abort);
  try {
    const response = await settings.runtime.fetch(url, { ...request, signal: stop.signal });
    return { response, text: await response.text() };
  } catch (cause) {
    if (signal?.aborted) throw abortedError(call, signal.reason);
    const idempotencyKey = call.idempotencyKey ?? null;
    if (late)
      throw new SimbiError(`${call.path} gave no answer within ${timeoutMs} ms.`, {
        code: 'timeout',
        retryable: true,
        idempotencyKey,
        cause,
      });
    throw new SimbiError(`${new URL(url).origin} could not be reached: ${reasonOf(cause)}.`, {
      code: 'network_error',
      retryable: true,
      idempotencyKey,
      cause,
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** fetch says "fetch failed"; what happened stands in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : error.message);
  return error.message;
}

export function abortedError(call: { path: string; idempotencyKey?: string }, cause: unknown): SimbiError {
  return new SimbiError(`The call of ${call.path} was aborted.`, {
    code: 'aborted',
    idempotencyKey: call.idempotencyKey ?? null,
    cause,
  });
}

function readAnswer(settings: Settings, call: Call, answer: Response, text: string, attempts: number): Answer {
  const headers: Record<string, string> = {};
  answer.headers.forEach((value, name) => {
    headers[name] = value;
  });
  const body = parseObject(text);
  const response: LastResponse = {
    status: answer.status,
    requestId: textOrNull(body?.request_id) ?? headers['x-request-id'] ?? null,
    headers,
    idempotencyKey: call.idempotencyKey ?? null,
    replayed: headers['idempotent-replayed'] === 'true',
    attempts,
  };
  const common = { lastResponse: response, idempotencyKey: response.idempotencyKey };
  // One operation writes `success` as a string.
  if (answer.ok && (body?.success === true || body?.success === 'true')) return { body, response };
  const retryable = RETRYABLE_STATUS.has(answer.status);
  const code = textOrNull(body?.code);
  if (!body || code === null)
    throw new SimbiError(
      `${call.path} answered ${answer.status}, but not as the gateway does. Is baseUrl right, and does a proxy stand between?`,
      { code: 'invalid_response', retryable, ...common },
    );
  const fields = (body.errors ?? {}) as Record<string, string[]>;
  const sentences = Object.values(fields).flat();
  const message = [`${textOrNull(body.message) ?? 'Refused.'} (${code})`, ...sentences].join(' ');
  throw new SimbiError(message, {
    code,
    retryable,
    docs: `${settings.baseUrl}/docs/errors/${code}`,
    fields,
    ...(body.debug ? { debug: body.debug as Record<string, unknown> } : {}),
    ...common,
  });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
