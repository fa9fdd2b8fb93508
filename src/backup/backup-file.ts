// The backup file: a first line that names the format, zstd over frames (a letter, a length, bytes), and a last line. The
// last frame holds the SHA-256 of all frames before it, and a signature by the master key. Written and read as a stream. All of
// it may be the content of an age file, which hides it. The signature says who wrote it: a public key of age is no secret.

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { PassThrough, Readable, type Transform, type Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { BackupError } from './backup-error.ts';
import {
  type BackupEncryption,
  type BackupKeys,
  decryptFile,
  encryptStream,
  isEncrypted,
  requireEncryption,
} from './encryption.ts';

export { BackupError };

const MAGIC = 'SIMBI BACKUP 1\n';
/** After the last frame: a truncated file is detected before it is read. */
const TAIL = '\nEND OF BACKUP\n';
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const FRAME_HEAD_BYTES = 5;
const DIGEST_BYTES = 32;

/** H: header. T: a table begins. D: some of its rows. E: it ends. S: summary. Z: the digest, and the end. */
export type BackupFrameKind = 'H' | 'T' | 'D' | 'E' | 'S';
export type BackupFrame = { kind: BackupFrameKind; bytes: Buffer };

export type BackupWriter = {
  write(kind: BackupFrameKind, content: Buffer | object): Promise<void>;
  /** Bytes of the frames so far, before compression. */
  readonly bytes: () => number;
  /** Completes the file, renames it to its final name and returns its digest. `sign` may add a signature of the digest. */
  finish(sign?: (digest: Buffer) => Buffer): Promise<string>;
  /** Deletes the unfinished file. */
  discard(): Promise<void>;
};

/** Writes to `<path>.partial` and renames at the end: a file with the final name is always complete. */
export async function createBackupWriter(path: string, encryption: BackupEncryption | null): Promise<BackupWriter> {
  const encrypter = encryption && requireEncryption(encryption);
  const partial = `${path}.partial`;
  const packed = createZstdCompress();
  const plain = new PassThrough();
  const content = encrypter ? await encryptStream(encrypter, plain) : plain;
  const file = createWriteStream(partial, { mode: 0o600, flags: 'w' });
  const digest = createHash('sha256');
  let bytes = 0;
  plain.write(MAGIC);
  packed.pipe(plain, { end: false });
  packed.once('end', () => plain.end(TAIL));
  const written = pipeline(content, file);
  const broken = Promise.race([written, finished(packed)]).then(() => undefined);
  broken.catch(() => undefined);

  async function send(kind: string, content: Buffer): Promise<void> {
    const head = Buffer.alloc(FRAME_HEAD_BYTES);
    head.write(kind, 0, 'latin1');
    head.writeUInt32BE(content.length, 1);
    if (kind !== 'Z') digest.update(head).update(content);
    bytes += head.length + content.length;
    packed.write(head);
    if (!packed.write(content)) await Promise.race([drained(packed), broken]);
  }

  return {
    bytes: () => bytes,
    write: (kind, content) => send(kind, Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content))),
    async finish(sign = () => Buffer.alloc(0)) {
      const hash = digest.digest();
      await send('Z', Buffer.concat([hash, sign(hash)]));
      packed.end();
      await written;
      const handle = await open(partial, 'r+');
      await handle.sync();
      await handle.close();
      await rename(partial, path);
      return hash.toString('hex');
    },
    async discard() {
      packed.destroy();
      plain.destroy();
      file.destroy();
      await written.catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve);
  });
}

/** What the last frame says; the signature is empty where nobody signed. */
export type BackupEnd = { digest: Buffer; signature: Buffer };

/** The frames of a file, in order. Ends without an error only if the file is complete and undamaged. */
export async function* readBackup(path: string, keys: BackupKeys): AsyncGenerator<BackupFrame, BackupEnd> {
  const packed = await openPacked(path, keys);
  const plain: Transform = createZstdDecompress();
  // It ends without an error only when the last chunk of an encrypted file was authenticated.
  const whole = pipeline(packed.content, plain);
  whole.catch(() => undefined);
  const bytes = createByteReader(plain);
  const digest = createHash('sha256');
  try {
    for (;;) {
      const head = await bytes.take(FRAME_HEAD_BYTES);
      const kind = head.toString('latin1', 0, 1);
      const length = head.readUInt32BE(1);
      if (!/^[HTDESZ]$/.test(kind) || length > MAX_FRAME_BYTES) throw new BackupError(damaged(path));
      const content = await bytes.take(length);
      if (kind === 'Z') {
        const expected = digest.digest();
        const right = expected.equals(content.subarray(0, DIGEST_BYTES));
        if (!right || !(await bytes.isAtEnd())) throw new BackupError(damaged(path));
        await whole;
        return { digest: expected, signature: Buffer.from(content.subarray(DIGEST_BYTES)) };
      }
      digest.update(head).update(content);
      yield { kind: kind as BackupFrameKind, bytes: content };
    }
  } catch (error) {
    // What zlib reports ("unexpected end of file") is damage too.
    if (error instanceof BackupError || !(isDataError(error) || packed.encrypted)) throw error;
    throw new BackupError(damaged(path));
  } finally {
    plain.destroy();
    packed.content.destroy();
    await whole.catch(() => undefined);
  }
}

/** The compressed frames, without the first and last line. */
async function openPacked(path: string, keys: BackupKeys): Promise<{ content: Readable; encrypted: boolean }> {
  if (await isEncrypted(path))
    return { content: Readable.from(withoutFrame(path, await decryptFile(path, keys))), encrypted: true };
  const end = await requireWhole(path);
  return { content: createReadStream(path, { start: MAGIC.length, end }), encrypted: false };
}

/** Removes and checks the first and last line while the content passes; the bytes that may be the last line are held back. */
async function* withoutFrame(path: string, source: Readable): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let begun = false;
  for await (const chunk of source as AsyncIterable<Uint8Array>) {
    held = Buffer.concat([held, chunk]);
    if (!begun) {
      if (held.length < MAGIC.length) continue;
      if (held.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new BackupError(`${path} is not a Simbi backup.`);
      held = held.subarray(MAGIC.length);
      begun = true;
    }
    const passing = held.length - TAIL.length;
    if (passing <= 0) continue;
    yield held.subarray(0, passing);
    held = held.subarray(passing);
  }
  if (!begun || held.toString('latin1') !== TAIL) throw new BackupError(damaged(path));
}

const damaged = (path: string) =>
  `${path} is damaged or incomplete: its checksum does not match. It cannot be restored.`;

function isDataError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ZSTD_|Z_|ERR_|UNEXPECTED_END)/.test(String(error.code));
}

/** Checks the first and last line of the file and returns the position of the last compressed byte. */
async function requireWhole(path: string): Promise<number> {
  const handle = await open(path, 'r').catch(() => {
    throw new BackupError(`${path} cannot be read. Check that it exists and that you may read it.`);
  });
  try {
    const { size } = await handle.stat();
    const textAt = async (position: number, length: number) =>
      (await handle.read(Buffer.alloc(length), 0, length, Math.max(0, position))).buffer.toString('latin1');
    if ((await textAt(0, MAGIC.length)) !== MAGIC) throw new BackupError(`${path} is not a Simbi backup.`);
    const tailAt = size - TAIL.length;
    if (tailAt <= MAGIC.length || (await textAt(tailAt, TAIL.length)) !== TAIL) throw new BackupError(damaged(path));
    return tailAt - 1;
  } finally {
    await handle.close();
  }
}

/** Reads exact numbers of bytes from a stream. */
function createByteReader(stream: Transform) {
  const chunks = Readable.prototype[Symbol.asyncIterator].call(stream);
  let rest: Buffer = Buffer.alloc(0);
  async function fill(length: number): Promise<boolean> {
    if (rest.length >= length) return true;
    const parts = [rest];
    let have = rest.length;
    while (have < length) {
      const { done, value } = await chunks.next();
      if (done) break;
      const chunk = value as Buffer;
      parts.push(chunk);
      have += chunk.length;
    }
    rest = Buffer.concat(parts, have);
    return have >= length;
  }
  return {
    async take(length: number): Promise<Buffer> {
      if (!(await fill(length))) throw Object.assign(new Error('the file ends early'), { code: 'UNEXPECTED_END' });
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      return bytes;
    },
    isAtEnd: async () => !(await fill(1)),
  };
}
