// Files that a browser sends with a form (multipart/form-data), written to a temporary file while they arrive. Only routes that
// say so take them, one file each; its fields stand before it.

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from './errors.ts';

const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 8 * 1024;
const BOUNDARY = /^multipart\/form-data;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;

/** `remove` deletes it. If nobody has taken the file when the answer is sent, it is deleted then. */
export type Upload = { path: string; name: string; bytes: number; remove(): Promise<void> };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes a file of at most this many bytes. */
    uploadBytes?: number;
  }
  interface FastifyRequest {
    upload?: Upload | null;
  }
}

/** Lets routes of this scope with `uploadBytes` read forms with a file. The fields are a form like any other. */
export function parseUploads(scope: FastifyInstance): void {
  scope.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
    const limit = request.routeOptions.config.uploadBytes;
    const [, quoted, plain] = BOUNDARY.exec(request.headers['content-type'] ?? '') ?? [];
    const boundary = quoted ?? plain;
    if (limit === undefined || boundary === undefined) throw unreadable();
    return readUpload(request, payload, boundary, limit);
  });
  scope.addHook('onResponse', async (request) => {
    await request.upload?.remove();
  });
}

/** The file of this request, which the caller now removes; null: none was chosen. */
export function takeUpload(request: FastifyRequest): Upload | null {
  const upload = request.upload ?? null;
  request.upload = null;
  return upload;
}

const unreadable = () => new Problem('not_acceptable_request', { message: 'The form could not be read.' });

async function readUpload(
  request: FastifyRequest,
  payload: IncomingMessage,
  boundary: string,
  limit: number,
): Promise<Map<string, string>> {
  const fields = new Map<string, string>();
  // The stream stays open when the loop ends early, so that the refusal can be sent.
  const parts = new PartReader(payload.iterator({ destroyOnReturn: false }), boundary);
  for (let part = await parts.next(); part !== null; part = await parts.next()) {
    if (part.fileName !== null) {
      if (request.upload) throw unreadable();
      request.upload = await storeFile(part.fileName, parts.content(limit));
    } else {
      if (fields.size >= MAX_FIELDS || fields.has(part.name)) throw unreadable();
      const bytes: Buffer[] = [];
      for await (const chunk of parts.content(MAX_FIELD_BYTES)) bytes.push(chunk);
      fields.set(part.name, Buffer.concat(bytes).toString('utf8').replaceAll('\0', ''));
    }
  }
  return fields;
}

/** Null where no file was chosen: browsers then send an empty one without a name. */
async function storeFile(name: string, content: AsyncIterable<Buffer>): Promise<Upload | null> {
  const folder = await mkdtemp(join(tmpdir(), 'simbi-upload-'));
  const path = join(folder, 'file');
  const remove = () => rm(folder, { recursive: true, force: true });
  let bytes = 0;
  try {
    const counted = async function* () {
      for await (const chunk of content) {
        bytes += chunk.length;
        yield chunk;
      }
    };
    await pipeline(Readable.from(counted()), createWriteStream(path, { mode: 0o600 }));
  } catch (error) {
    await remove();
    throw error;
  }
  if (name !== '' || bytes > 0) return { path, name, bytes, remove };
  await remove();
  return null;
}

type PartHead = { name: string; fileName: string | null };

/** Splits a body at its boundary; never more than a chunk and a boundary is held. */
class PartReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** The first boundary has no line break before it. */
  #held: Buffer = Buffer.from('\r\n');
  #hasBegun = false;

  constructor(chunks: AsyncIterator<Buffer>, boundary: string) {
    this.#chunks = chunks;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** The head of the next part; null at the end. The content of the part before must have been read. */
  async next(): Promise<PartHead | null> {
    if (!this.#hasBegun) for await (const _ of this.content(MAX_HEAD_BYTES));
    this.#hasBegun = true;
    while (this.#held.length < 2) await this.#more();
    if (this.#held.subarray(0, 2).toString('latin1') === '--') return null;
    for (;;) {
      const end = this.#held.indexOf('\r\n\r\n');
      if (end > MAX_HEAD_BYTES || (end === -1 && this.#held.length > MAX_HEAD_BYTES)) throw unreadable();
      if (end >= 0) {
        const head = this.#held.subarray(0, end).toString('utf8');
        this.#held = this.#held.subarray(end + 4);
        return headOf(head);
      }
      await this.#more();
    }
  }

  /** The bytes up to the next boundary. */
  async *content(limit: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (;;) {
      const end = this.#held.indexOf(this.#delimiter);
      // The end of what is held may be the beginning of a boundary.
      const sure = end >= 0 ? end : Math.max(0, this.#held.length - this.#delimiter.length);
      bytes += sure;
      if (bytes > limit) throw new Problem('body_too_large');
      if (sure > 0) yield this.#held.subarray(0, sure);
      this.#held = this.#held.subarray(end >= 0 ? end + this.#delimiter.length : sure);
      if (end >= 0) return;
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done) throw unreadable();
    this.#held = Buffer.concat([this.#held, next.value]);
  }
}

function headOf(head: string): PartHead {
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1] ?? '';
  const name = /(?:^|[\s;])name="([^"]{1,200})"/i.exec(disposition)?.[1];
  if (name === undefined) throw unreadable();
  const fileName = /(?:^|[\s;])filename="([^"]{0,500})"/i.exec(disposition)?.[1];
  return { name, fileName: fileName === undefined ? null : (fileName.split(/[\\/]/).at(-1) ?? '') };
}
