// The backup file: a first line that names the format, zstd over frames (a letter, a length, bytes), and a last line. The
// last frame holds the SHA-256 of all frames before it, so a changed file is detected. Written and read as a stream.

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { Readable, type Transform, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';

const MAGIC = 'SIMBI BACKUP 1\n';
/** After the last frame: a truncated file is detected before it is read. */
const TAIL = '\nEND OF BACKUP\n';
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const FRAME_HEAD_BYTES = 5;
const DIGEST_BYTES = 32;

/** H: header. T: a table begins. D: some of its rows. E: it ends. S: summary. Z: the digest, and the end. */
export type BackupFrameKind = 'H' | 'T' | 'D' | 'E' | 'S';
export type BackupFrame = { kind: BackupFrameKind; bytes: Buffer };

/** The backup cannot be used; the message says why and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export type BackupWriter = {
  write(kind: BackupFrameKind, content: Buffer | object): Promise<void>;
  /** Bytes of the frames so far, before compression. */
  readonly bytes: () => number;
  /** Completes the file, renames it to its final name and returns its digest. */
  finish(): Promise<string>;
  /** Deletes the unfinished file. */
  discard(): Promise<void>;
};

/** Writes to `<path>.partial` and renames at the end: a file with the final name is always complete. */
export async function createBackupWriter(path: string): Promise<BackupWriter> {
  const partial = `${path}.partial`;
  const file = createWriteStream(partial, { mode: 0o600, flags: 'w' });
  const packed = createZstdCompress();
  const digest = createHash('sha256');
  let bytes = 0;
  file.write(MAGIC);
  packed.pipe(file, { end: false });
  packed.once('end', () => file.end(TAIL));
  const written = finished(file);
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
    async finish() {
      const hash = digest.digest();
      await send('Z', hash);
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
      file.destroy();
      await rm(partial, { force: true });
    },
  };
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve);
  });
}

/** The frames of a file, in order. Ends without an error only if the file is complete and unchanged. */
export async function* readBackup(path: string): AsyncGenerator<BackupFrame> {
  const end = await requireWhole(path);
  const packed = createReadStream(path, { start: MAGIC.length, end });
  const plain: Transform = createZstdDecompress();
  packed.on('error', (error) => plain.destroy(error));
  packed.pipe(plain);
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
        const right = content.length === DIGEST_BYTES && digest.digest().equals(content);
        if (!right || !(await bytes.isAtEnd())) throw new BackupError(damaged(path));
        return;
      }
      digest.update(head).update(content);
      yield { kind: kind as BackupFrameKind, bytes: content };
    }
  } catch (error) {
    // What zlib reports ("unexpected end of file") is damage too.
    if (error instanceof BackupError || !isDataError(error)) throw error;
    throw new BackupError(damaged(path));
  } finally {
    packed.destroy();
    plain.destroy();
  }
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
