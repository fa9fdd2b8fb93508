// Encryption of backups in the format of age (age-encryption.org/v1), by its own library: to public keys, or with a passphrase.
// The content is encrypted and authenticated in chunks of 64 KiB, so neither side holds the file in memory; a chunk that was
// changed, moved or cut off is refused before it is used.

import { createReadStream, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { BackupError } from './backup-error.ts';

const MAGIC = 'age-encryption.org/v1\n';

export type BackupEncryption = { recipients: readonly string[] } | { passphrase: string };

/** What may open an encrypted backup. */
export type BackupKeys = { identityFile: string | null; passphrase: string | null };

export const NO_KEYS: BackupKeys = { identityFile: null, passphrase: null };

/** A new secret key and its public key. X25519: every age tool reads it. */
export async function createIdentity(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/** Throws a sentence when a recipient cannot be used, before the backup begins. */
export function requireEncryption(encryption: BackupEncryption): Encrypter {
  const encrypter = new Encrypter();
  if ('passphrase' in encryption) {
    encrypter.setPassphrase(encryption.passphrase);
    return encrypter;
  }
  for (const recipient of encryption.recipients)
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new BackupError(`"${recipient}" is not a public key of age. Make one: npx simbi keys backup-key <file>`);
    }
  return encrypter;
}

/** The encrypted form of a stream. */
export async function encryptStream(encrypter: Encrypter, plain: Readable): Promise<Readable> {
  const encrypted = await encrypter.encrypt(Readable.toWeb(plain) as ReadableStream<Uint8Array>);
  return Readable.fromWeb(encrypted as Parameters<typeof Readable.fromWeb>[0]);
}

export async function isEncrypted(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => {
    throw new BackupError(`${path} cannot be read. Check that it exists and that you may read it.`);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.toString('latin1', 0, bytesRead) === MAGIC;
  } finally {
    await handle.close();
  }
}

/** The content of an encrypted file. Reading it fails where the file was changed, and at its end if it was cut. */
export async function decryptFile(path: string, keys: BackupKeys): Promise<Readable> {
  const decrypter = createDecrypter(path, keys);
  const file = createReadStream(path);
  try {
    const plain = await decrypter.decrypt(Readable.toWeb(file) as ReadableStream<Uint8Array>);
    return Readable.fromWeb(plain as Parameters<typeof Readable.fromWeb>[0]);
  } catch (error) {
    file.destroy();
    throw new BackupError(explain(path, keys, error));
  }
}

function createDecrypter(path: string, { identityFile, passphrase }: BackupKeys): Decrypter {
  const decrypter = new Decrypter();
  if (!identityFile && !passphrase)
    throw new BackupError(
      `${path} is encrypted. Give the file with its secret key: --identity-file or BACKUP_IDENTITY_FILE (or BACKUP_PASSPHRASE).`,
    );
  if (passphrase) decrypter.addPassphrase(passphrase);
  for (const identity of identityFile ? readIdentities(identityFile) : [])
    try {
      decrypter.addIdentity(identity);
    } catch {
      throw new BackupError(`${identityFile} has a line that is not a secret key of age (AGE-SECRET-KEY-1…).`);
    }
  return decrypter;
}

/** One secret key a line; lines that begin with # are comments. */
function readIdentities(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new BackupError(`${path} cannot be read. It should be the file with the secret key of the backup.`);
  }
  const identities = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length === 0) throw new BackupError(`${path} has no secret key (AGE-SECRET-KEY-1…).`);
  return identities;
}

function explain(path: string, { identityFile }: BackupKeys, error: unknown): string {
  const reason = error instanceof Error ? error.message : '';
  if (!/no identity matched/.test(reason))
    return `${path} is damaged or incomplete: its header is not authentic. It cannot be restored.`;
  return identityFile
    ? `${path} is encrypted to another key. Use the secret key of one of its recipients.`
    : `${path} is encrypted with another passphrase than BACKUP_PASSPHRASE, or to a key (--identity-file).`;
}
