// A file as it lies on the disk: its hash, what it is, and its rows. What cannot be read is refused here with a sentence that says
// what to do, before anything is stored.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Problem } from '../platform/errors.ts';
import { csvRows, fileText, findDelimiter, type TextEncodingName } from './readers/csv-rows.ts';
import type { SourceRow } from './readers/format.ts';
import { jsonRecords } from './readers/json-records.ts';

/** Of one file. The console takes as much, and keeps it on the disk while it arrives. */
export const MAX_STATEMENT_BYTES = 200 * 1024 * 1024;
const HEAD_BYTES = 64 * 1024;

type Content = { kind: 'xlsx' } | { kind: 'csv' | 'json'; encoding: TextEncodingName; head: string };

export type FileFacts = {
  sha256: Buffer;
  bytes: number;
  /** About as many, for the progress; null where only reading shows it. */
  lines: number | null;
  content: Content;
};

const refuse = (message: string) => new Problem('invalid_params', { message });

/** Reads the file once: the encoding is certain, because every byte was looked at. */
export async function inspectFile(path: string): Promise<FileFacts> {
  const hash = createHash('sha256');
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  let head: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let lines = 0;
  let isUtf8 = true;
  let isWindows = true;
  for await (const piece of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    const chunk = piece as Buffer;
    bytes += chunk.length;
    if (bytes > MAX_STATEMENT_BYTES)
      throw refuse(
        `The file is larger than ${MAX_STATEMENT_BYTES / 1024 / 1024} MB. Import it in parts, such as month by month.`,
      );
    hash.update(chunk);
    if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES);
    for (const byte of chunk) {
      if (byte === 10) lines++;
      else if (byte >= 0x81 && byte <= 0x9d && NOT_WINDOWS.has(byte)) isWindows = false;
    }
    isUtf8 &&= isText(utf8, chunk, true);
  }
  isUtf8 &&= isText(utf8, Buffer.alloc(0), false);
  if (bytes === 0) throw refuse('The file is empty.');
  const content = contentOf(head, isUtf8, isWindows);
  return { sha256: hash.digest(), bytes, lines: content.kind === 'xlsx' ? null : lines, content };
}

/** Bytes that Windows-1252 has no character for. */
const NOT_WINDOWS: ReadonlySet<number> = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);

function isText(decoder: TextDecoder, chunk: Buffer, stream: boolean): boolean {
  try {
    decoder.decode(chunk, { stream });
    return true;
  } catch {
    return false;
  }
}

function contentOf(head: Buffer, isUtf8: boolean, isWindows: boolean): Content {
  if (head.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004'))) return { kind: 'xlsx' };
  if (head.subarray(0, 4).equals(Buffer.from([0xd0, 0xcf, 0x11, 0xe0])))
    throw refuse(
      'The file is a spreadsheet in the old form (XLS), or has a password. Save it as XLSX or CSV, without a password.',
    );
  if (head.subarray(0, 5).toString('latin1') === '%PDF-')
    throw refuse('The file is a PDF. Ask the operator for the same statement as CSV or XLSX.');
  if (head[0] === 0x1f && head[1] === 0x8b) throw refuse('The file is compressed (gzip). Unpack it first.');
  const encoding = encodingOf(head, isUtf8, isWindows);
  const text = new TextDecoder(encoding).decode(head, { stream: true });
  return { kind: /^\s*[{[]/.test(text) ? 'json' : 'csv', encoding, head: text };
}

function encodingOf(head: Buffer, isUtf8: boolean, isWindows: boolean): TextEncodingName {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  // Without a mark: plain letters of UTF-16 have a zero byte each.
  const zeros = (from: number) =>
    head.subarray(0, 1000).filter((byte, index) => index % 2 === from && byte === 0).length;
  const half = Math.min(head.length, 1000) / 2;
  if (zeros(1) > half * 0.6) return 'utf-16le';
  if (zeros(0) > half * 0.6) return 'utf-16be';
  if (head.includes(0)) throw refuse('The file is not text. Import a CSV, XLSX or JSON file.');
  if (isUtf8) return 'utf-8';
  if (isWindows) return 'windows-1252';
  throw refuse('The characters of the file are in no form that we know. Save it as "CSV UTF-8" and import that.');
}

export type StatementRows = {
  /** How a spreadsheet counts days; null elsewhere. */
  serialDates: 1900 | 1904 | null;
  rows: AsyncGenerator<SourceRow>;
  close(): Promise<void>;
};

export async function openRows(path: string, { content }: FileFacts): Promise<StatementRows> {
  if (content.kind === 'xlsx') {
    // With the packages that read archives and XML, which statements in other forms do without.
    const { openXlsx } = await import('./readers/xlsx-rows.ts');
    const xlsx = await openXlsx(path);
    const rows = xlsx.rows();
    return {
      serialDates: xlsx.serialDates,
      rows,
      close: async () => {
        await rows.return(undefined);
        xlsx.close();
      },
    };
  }
  const texts = fileText(path, content.encoding);
  const rows: AsyncGenerator<SourceRow> =
    content.kind === 'json' ? jsonRecords(texts) : csvRows(texts, findDelimiter(content.head));
  return { serialDates: null, rows, close: async () => void (await rows.return(undefined)) };
}
