// Callbacks as a receiver meets them: verified on the raw bytes first, parsed afterwards. Signing is for the
// tests of a receiver.

import { SimbiError } from './error.ts';
import { utf8 } from './hmac.ts';
import type { SimbiEvent } from './types.ts';
import { matchesParts, signParts, v1Entries } from './webhook-signature.ts';

const TOLERANCE_SECONDS = 300;
const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
const HOW_TO_GET_BYTES =
  'Verify the raw bytes, before any JSON parser: express.raw({ type: "application/json" }) in Express, ' +
  'await request.text() where there is a Request.';

export type RawBody = string | Uint8Array | ArrayBuffer;
/** Of Node, of a framework, or a Headers object. Capitals do not matter. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

export type VerifyOptions = {
  /** How far `webhook-timestamp` may be from now, either side; 300 unless told. */
  toleranceSeconds?: number;
  /** Milliseconds since the epoch, for tests. */
  now?: number;
};

export type Webhooks = {
  /** The event, or a SimbiError whose code begins with `webhook_` and whose message says what is wrong. */
  verify(
    rawBody: RawBody,
    headers: WebhookHeaders,
    secrets: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<SimbiEvent>;
  /** What the gateway would send: for the tests of your receiver. */
  sign(
    body: SimbiEvent | string,
    secrets: string | readonly string[],
    options?: { id?: string; now?: number },
  ): Promise<{ rawBody: string; headers: Record<(typeof HEADERS)[number] | 'content-type', string> }>;
};

export const webhooks: Webhooks = {
  async verify(rawBody, headers, secrets, options = {}) {
    const body = bytesOf(rawBody);
    const { id, timestamp, signature } = readHeaders(headers);
    checkAge(timestamp, options);
    if (v1Entries(signature).length === 0)
      throw refusal('webhook_signature_mismatch', 'webhook-signature holds no v1 signature.');
    const known = typeof secrets === 'string' ? [secrets] : secrets;
    const text = new TextDecoder().decode(body);
    if (await matchesParts(known, signature, { id, timestamp, body })) return JSON.parse(text) as SimbiEvent;
    const rewritten = rewrite(text);
    if (rewritten !== text && (await matchesParts(known, signature, { id, timestamp, body: utf8(rewritten) })))
      throw refusal(
        'webhook_body_parsed',
        `The body was parsed and written again before it was verified: its spaces are not those that were sent. ${HOW_TO_GET_BYTES}`,
      );
    throw refusal(
      'webhook_signature_mismatch',
      `The signature does not match: it was made with another secret, or the body was changed on the way. ${HOW_TO_GET_BYTES}`,
    );
  },

  async sign(body, secrets, options = {}) {
    const rawBody = typeof body === 'string' ? body : JSON.stringify(body);
    const id = options.id ?? (typeof body === 'string' ? 'evt_test' : body.id);
    const timestamp = String(Math.floor((options.now ?? Date.now()) / 1000));
    const known = typeof secrets === 'string' ? [secrets] : secrets;
    return {
      rawBody,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': await signParts(known, { id, timestamp, body: utf8(rawBody) }),
      },
    };
  },
};

function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return utf8(rawBody);
  if (rawBody instanceof Uint8Array) return rawBody;
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  const type = typeof rawBody === 'object' ? 'an object' : `a value of type ${typeof rawBody}`;
  const given = rawBody === null ? 'null' : type;
  throw refusal(
    'webhook_body_parsed',
    `The body was parsed before it was verified: verify() was given ${given}, not bytes or text. ${HOW_TO_GET_BYTES}`,
  );
}

function readHeaders(headers: WebhookHeaders): { id: string; timestamp: string; signature: string } {
  const values = HEADERS.map((name) => headerOf(headers, name));
  const missing = HEADERS.filter((_, index) => !values[index]);
  if (missing.length > 0)
    throw refusal('webhook_headers_missing', `The request has no ${missing.join(', no ')}: is it a callback at all?`);
  const [id = '', timestamp = '', signature = ''] = values;
  return { id, timestamp, signature };
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : Array.isArray(found) ? String(found[0]) : undefined;
}

function checkAge(timestamp: string, options: VerifyOptions): void {
  const tolerance = options.toleranceSeconds ?? TOLERANCE_SECONDS;
  const now = Math.floor((options.now ?? Date.now()) / 1000);
  // Digits only: a timestamp that is not a number would be neither too old nor too new.
  const age = /^\d{1,12}$/.test(timestamp) ? now - Number(timestamp) : Number.NaN;
  if (Math.abs(age) <= tolerance) return;
  const why = Number.isNaN(age)
    ? 'is not a whole number of Unix seconds'
    : age > 0
      ? `is ${age} s old, and more than ${tolerance} s is refused, so that an old request cannot be replayed`
      : `is ${-age} s in the future; is the clock of this machine right`;
  throw refusal('webhook_timestamp_out_of_range', `webhook-timestamp ${why}.`);
}

/** The body as the gateway writes JSON: without spaces. */
function rewrite(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function refusal(code: string, message: string): SimbiError {
  return new SimbiError(message, { code });
}
