// The signature of callbacks: Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature). The deliverer
// signs; the built-in receiver verifies and gives the reason of a failure.

import { HmacKey } from '../platform/hmac.ts';
import { memoize } from '../platform/memoize.ts';
import { constantTimeEqual } from '../platform/secrets.ts';

const TOLERANCE_SECONDS = 300;
const SECRET_PREFIX = 'whsec_';
const MAX_CACHED_KEYS = 10_000;
const USER_AGENT = 'Simbi-Callbacks/1';

function keyOf(secret: string): HmacKey {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  return new HmacKey(Buffer.from(text, 'base64'));
}

/** Keeps the keys of secrets: making one takes longer than using it. */
export function createKeyCache(): (secret: string) => HmacKey {
  return memoize(keyOf, MAX_CACHED_KEYS);
}

function digest(key: HmacKey, id: string, timestamp: string, body: Buffer): string {
  return key.sign('base64', `${id}.${timestamp}.`, body);
}

/** The value of webhook-signature: one entry for each live secret, so that a secret can be changed without a gap. */
export function signCallback(
  secrets: readonly string[],
  id: string,
  unixSeconds: number,
  body: Buffer,
  toKey = keyOf,
): string {
  return secrets.map((secret) => `v1,${digest(toKey(secret), id, String(unixSeconds), body)}`).join(' ');
}

/** All headers of a callback. */
export function callbackHeaders(id: string, unixSeconds: number, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': String(unixSeconds),
    'webhook-signature': signature,
  };
}

export type SignatureCheck = { verified: true } | { verified: false; why: string };

/**
 * Checks a received callback as a receiver should. `sentBody` is the body that was sent under that id, if known: only then
 * can the reason tell a changed body from a wrong secret.
 */
export function verifyCallback(arrival: {
  headers: Record<string, string | undefined>;
  body: Buffer;
  secrets: readonly string[];
  nowSeconds: number;
  sentBody?: Buffer | null;
}): SignatureCheck {
  const { headers, body, secrets } = arrival;
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signature = headers['webhook-signature'];
  const missing = Object.entries({ 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature })
    .filter(([, value]) => !value)
    .map(([name]) => name);
  if (!id || !timestamp || !signature) return refuse(`The request has no ${missing.join(', no ')} header.`);
  if (!/^\d{1,12}$/.test(timestamp)) return refuse('webhook-timestamp is not a whole number of Unix seconds.');
  const age = arrival.nowSeconds - Number(timestamp);
  if (age > TOLERANCE_SECONDS)
    return refuse(
      `webhook-timestamp is ${age} s old; more than ${TOLERANCE_SECONDS} s is refused, so an old request cannot be replayed.`,
    );
  if (age < -TOLERANCE_SECONDS) return refuse(`webhook-timestamp is ${-age} s in the future; is the clock right?`);
  const given = signature.split(' ').filter((entry) => entry.startsWith('v1,'));
  if (given.length === 0) return refuse('webhook-signature holds no v1 signature.');
  if (secrets.length === 0) return refuse('There is no live callback secret to check with.');
  const matches = secrets.some((secret) => {
    const right = Buffer.from(`v1,${digest(keyOf(secret), id, timestamp, body)}`);
    return given.some((entry) => constantTimeEqual(Buffer.from(entry), right));
  });
  if (matches) return { verified: true };
  if (arrival.sentBody && !arrival.sentBody.equals(body))
    return refuse('The body is not the one that was signed: it was changed on the way, or parsed and written again.');
  if (arrival.sentBody)
    return refuse('The body is right, but the signature is not: it was made with another secret, id or timestamp.');
  return refuse('The signature does not match: another secret, or a changed body, id or timestamp.');
}

function refuse(why: string): SignatureCheck {
  return { verified: false, why };
}
