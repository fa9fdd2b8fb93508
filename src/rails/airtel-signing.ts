// Airtel's message signing: the body encrypted under a new AES key, and that key encrypted with Airtel's public key, which is
// fetched and ends at a date.

import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto';
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
  let known: { pem: string; until: number } | null = null;

  async function publicKey(fetchKey: () => Promise<Exchange>): Promise<string | { error: Exchange }> {
    if (known !== null && known.until > clock.millis()) return known.pem;
    const answer = await fetchKey();
    const key = answer.answered ? keyOf(answer.body) : null;
    if (key === null) return { error: answer };
    // `valid_upto` is local time without a zone, so the key is read anew every hour instead.
    known = { pem: `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----`, until: clock.millis() + HOUR_MS };
    return known.pem;
  }

  return {
    async sign(body, fetchKey) {
      const pem = await publicKey(fetchKey);
      if (typeof pem !== 'string') return pem;
      const key = randomBytes(32);
      const iv = randomBytes(16);
      const cipher = createCipheriv('aes-256-cbc', key, iv);
      const signature = Buffer.concat([cipher.update(body, 'utf8'), cipher.final()]).toString('base64');
      const packed = Buffer.from(`${key.toString('base64')}:${iv.toString('base64')}`);
      const wrapped = publicEncrypt({ key: createPublicKey(pem), padding: constants.RSA_PKCS1_PADDING }, packed);
      return { headers: { 'x-signature': signature, 'x-key': wrapped.toString('base64') } };
    },
  };
}

/** Longer than other texts: base64 of the key. */
function keyOf(body: string): string | null {
  const key = field(readJson(body), 'data', 'key');
  return typeof key === 'string' && /^[A-Za-z0-9+/=]{64,4096}$/.test(key) ? key : null;
}
