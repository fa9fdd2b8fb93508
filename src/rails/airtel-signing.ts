// Airtel's message signing: the body encrypted under a new AES key, and that key encrypted with Airtel's public key, which is
// fetched and ends at a date.

import { constants, createCipheriv, createPublicKey, type KeyObject, publicEncrypt, randomBytes } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { Exchange } from './exchange.ts';
import { field, readJson } from './reading.ts';

const HOUR_MS = 3_600_000;

export interface AirtelSigner {
  /** The headers for exactly this body, or the answer that refused the key. */
  sign(
    body: string,
    fetchKey: () => Promise<Exchange>,
  ): Promise<{ headers: Record<string, string> } | { error: Exchange }>;
}

export function createAirtelSigner(clock: Clock): AirtelSigner {
  let known: { key: KeyObject; until: number } | null = null;

  async function publicKey(fetchKey: () => Promise<Exchange>): Promise<{ key: KeyObject } | { error: Exchange }> {
    if (known !== null && known.until > clock.millis()) return known;
    const answer = await fetchKey();
    const key = answer.answered ? keyOf(answer.body) : null;
    if (key === null) return { error: answer.answered && answer.status < 300 ? NO_KEY : answer };
    // `valid_upto` is local time without a zone, so the key is read anew every hour instead.
    known = { key, until: clock.millis() + HOUR_MS };
    return known;
  }

  return {
    async sign(body, fetchKey) {
      const signing = await publicKey(fetchKey);
      if ('error' in signing) return signing;
      const key = randomBytes(32);
      const iv = randomBytes(16);
      const cipher = createCipheriv('aes-256-cbc', key, iv);
      const signature = Buffer.concat([cipher.update(body, 'utf8'), cipher.final()]).toString('base64');
      const packed = Buffer.from(`${key.toString('base64')}:${iv.toString('base64')}`);
      const wrapped = publicEncrypt({ key: signing.key, padding: constants.RSA_PKCS1_PADDING }, packed);
      return { headers: { 'x-signature': signature, 'x-key': wrapped.toString('base64') } };
    },
  };
}

/** An answer of success without a usable key. It must not be read as that to a payment: none was sent. */
const NO_KEY: Exchange = { answered: false, reason: 'Airtel gave no key to sign with' };

/** Longer than other texts: base64 of the key. Null unless it is an RSA key. */
function keyOf(body: string): KeyObject | null {
  const text = field(readJson(body), 'data', 'key');
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/=]{64,4096}$/.test(text)) return null;
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'rsa' ? key : null;
  } catch {
    return null;
  }
}
