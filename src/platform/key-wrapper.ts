// What encrypts the data keys of the vault: the master key of this machine, or a key service outside. It is asked at start
// and when a version is made, never for a request.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { KEY_BYTES, requireLength } from './secrets.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const BACKUP_PURPOSE = 'simbi backup signature';
const WRAP_PURPOSE = 'simbi vault key wrapping';
/** The same as in backups, so that a backup names the key it needs. */
const KEY_CHECK = 'simbi backup key check';

export interface KeyWrapper {
  /** Names the wrapper and its key; stored beside what it encrypted. */
  readonly name: string;
  wrap(plain: Buffer): Promise<Buffer>;
  unwrap(wrapped: Buffer): Promise<Buffer>;
}

/** A key service refused or did not answer. The message is a sentence for the person who runs the gateway. */
export class KeyWrapperError extends Error {
  override readonly name = 'KeyWrapperError';
  /** It did not answer; it may later. */
  readonly isAway: boolean;
  constructor(message: string, isAway = false) {
    super(message);
    this.isAway = isAway;
  }
}

/** Shows whether a master key is the right one; reveals nothing about the key. */
export function keyCheck(masterKey: Buffer): string {
  return createHmac('sha256', masterKey).update(KEY_CHECK).digest('hex').slice(0, 32);
}

/** Shows that a backup was written by somebody who had the master key. */
export function signBackup(masterKey: Buffer, digest: Buffer): Buffer {
  const key = Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), BACKUP_PURPOSE, KEY_BYTES));
  return createHmac('sha256', key).update(digest).digest();
}

export const localWrapperName = (masterKey: Buffer) => `local:${keyCheck(masterKey)}`;

export function createLocalWrapper(masterKey: Buffer): KeyWrapper {
  requireLength(masterKey);
  const key = Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), WRAP_PURPOSE, KEY_BYTES));
  return {
    name: localWrapperName(masterKey),
    async wrap(plain) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), body]);
    },
    async unwrap(wrapped) {
      const tagEnd = IV_BYTES + TAG_BYTES;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(0, IV_BYTES), {
          authTagLength: TAG_BYTES,
        });
        decipher.setAuthTag(wrapped.subarray(IV_BYTES, tagEnd));
        return Buffer.concat([decipher.update(wrapped.subarray(tagEnd)), decipher.final()]);
      } catch {
        throw new KeyWrapperError('A key in the table vault_keys was changed: the master key does not open it.');
      }
    },
  };
}
