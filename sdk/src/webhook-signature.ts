// The signature of callbacks as Standard Webhooks defines it: `v1,` and the base64 of HMAC-SHA256 over id, timestamp and
// body, keyed with the bytes behind `whsec_`. It knows bytes and text only: no events, no headers, no clock.

import { type HmacKey, hmac, importKey, utf8, verifyHmac } from './hmac.ts';

const SECRET_PREFIX = 'whsec_';
const SCHEME = 'v1,';
/** A secret in rotation gives two; nobody sends more than a few. */
const MAX_SIGNATURES = 16;

export type SignedParts = { id: string; timestamp: string; body: Uint8Array };

/** The value of `webhook-signature`: one entry for each secret. */
export async function signParts(secrets: readonly string[], parts: SignedParts): Promise<string> {
  const message = messageOf(parts);
  const entries = secrets.map(async (secret) => {
    const digest = await hmac(await importSecret(secret), message);
    return SCHEME + btoa(String.fromCharCode(...digest));
  });
  return (await Promise.all(entries)).join(' ');
}

/** Whether one of the v1 entries was made with one of the secrets. */
export async function matchesParts(
  secrets: readonly string[],
  signature: string,
  parts: SignedParts,
): Promise<boolean> {
  const message = messageOf(parts);
  const given = v1Entries(signature).map((entry) => fromBase64(entry));
  for (const secret of secrets) {
    const key = await importSecret(secret);
    for (const bytes of given) if (bytes && (await verifyHmac(key, bytes, message))) return true;
  }
  return false;
}

export function v1Entries(signature: string): string[] {
  const entries = signature.split(' ').filter((entry) => entry.startsWith(SCHEME));
  return entries.slice(0, MAX_SIGNATURES).map((entry) => entry.slice(SCHEME.length));
}

function messageOf({ id, timestamp, body }: SignedParts): Uint8Array<ArrayBuffer> {
  const head = utf8(`${id}.${timestamp}.`);
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return message;
}

function importSecret(secret: string): Promise<HmacKey> {
  const bytes = fromBase64(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret);
  if (!bytes?.length) throw new TypeError('A callback secret is "whsec_" and base64. Copy it whole from the console.');
  return importKey(bytes);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
