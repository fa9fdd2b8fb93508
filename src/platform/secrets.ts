// Secrets: encrypting with the master key what must be read again (API secrets that verify HMACs, callback secrets that
// sign), and hashing what is only compared (tokens).

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const SEAL_VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface Vault {
  /** Encrypts with AES-256-GCM. `purpose` is bound to the result: a value sealed for one use does not open for another. */
  seal(plaintext: string, purpose: string): Buffer;
  open(sealed: Buffer, purpose: string): string;
  /** A separate key for one purpose (form tokens, receipts), derived from the master key. */
  deriveKey(purpose: string): Buffer;
}

export function createVault(masterKey: Buffer): Vault {
  if (masterKey.length !== 32) throw new Error('the master key must be 32 bytes');
  return {
    seal(plaintext, purpose) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', masterKey, iv).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(SEAL_VERSION), iv, cipher.getAuthTag(), body]);
    },
    open(sealed, purpose) {
      if (sealed[0] !== SEAL_VERSION) throw new Error('sealed by an unknown version of Simbi');
      const iv = sealed.subarray(1, 1 + IV_BYTES);
      const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', masterKey, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(tag);
      const body = sealed.subarray(1 + IV_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
    deriveKey: (purpose) => Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), purpose, 32)),
  };
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Equality that takes the same time wherever the first difference is. */
export function constantTimeEqual(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
