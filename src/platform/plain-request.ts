// Recognises a plain request in the bytes of a connection: one whole POST of an operation, with a JSON body whose length is
// said, as nearly every program sends it. It refuses nothing: whatever is not certain to mean the same to every reader
// (repeated or folded headers, chunks, expectations, a second request behind it) is left to Node's parser.

import { BODY_LIMIT_BYTES } from './admission.ts';

/** Everything before the body. `headers` by their names in lower case, each of which was there once. */
export type PlainHead = {
  readonly bytes: Buffer;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyLength: number;
};

export type PlainRequest = { readonly head: PlainHead; readonly body: Buffer };

/** `unfinished`: so far it is one. `other`: it is none. */
export type PlainReading = PlainRequest | 'unfinished' | 'other';

const METHOD = 'POST ';
const HEAD_END = Buffer.from('\r\n\r\n');
const MAX_HEAD_BYTES = 4 * 1024;
const REQUEST_LINE = /POST (\/[A-Za-z0-9/_-]*) HTTP\/1\.1\r\n/y;
const HEADER_LINE = /([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)\r\n/y;
/** More space around a value than one before it. */
const ODD_SPACE = /^[\t ]|[\t ]$/;
const LENGTH = /^[1-9]\d{0,5}$/;
/** Each of them changes how the request is to be read or answered. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'proxy-connection',
]);

/** `last`: the head before on this connection. Most programs send the same one with every request, so it is compared before it is read. */
export function readPlainRequest(
  bytes: Buffer,
  isServed: (path: string) => boolean,
  last: PlainHead | null = null,
): PlainReading {
  const head = last && beginsWith(bytes, last.bytes) ? last : readHead(bytes, isServed);
  if (typeof head === 'string') return head;
  const end = head.bytes.length + head.bodyLength;
  if (bytes.length > end) return 'other';
  if (bytes.length < end) return 'unfinished';
  return { head, body: bytes.subarray(head.bytes.length) };
}

function beginsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && start.compare(bytes, 0, start.length) === 0;
}

function readHead(bytes: Buffer, isServed: (path: string) => boolean): PlainHead | 'unfinished' | 'other' {
  if (!METHOD.startsWith(bytes.toString('latin1', 0, METHOD.length))) return 'other';
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0 || headEnd > MAX_HEAD_BYTES) return bytes.length <= MAX_HEAD_BYTES ? 'unfinished' : 'other';
  const head = bytes.toString('latin1', 0, headEnd + 2);
  REQUEST_LINE.lastIndex = 0;
  const path = REQUEST_LINE.exec(head)?.[1];
  if (path === undefined || !isServed(path)) return 'other';
  const headers = readHeaders(head, REQUEST_LINE.lastIndex);
  if (headers === null || headers.host === undefined) return 'other';
  const bodyLength = lengthOf(headers);
  if (bodyLength === null) return 'other';
  return { bytes: bytes.subarray(0, headEnd + HEAD_END.length), path, headers, bodyLength };
}

function readHeaders(head: string, start: number): Record<string, string> | null {
  // No prototype: a header may have any name.
  const headers: Record<string, string> = Object.create(null);
  HEADER_LINE.lastIndex = start;
  while (HEADER_LINE.lastIndex < head.length) {
    const line = HEADER_LINE.exec(head);
    if (line === null) return null;
    const [, written = '', value = ''] = line;
    const name = written.toLowerCase();
    if (headers[name] !== undefined || NOT_PLAIN.has(name) || ODD_SPACE.test(value)) return null;
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return null;
    headers[name] = value;
  }
  return headers;
}

/** Of a body that small bodies' limit allows; null for none. */
function lengthOf(headers: Readonly<Record<string, string>>): number | null {
  const written = headers['content-length'] ?? '';
  const length = LENGTH.test(written) ? Number(written) : Number.POSITIVE_INFINITY;
  return length <= BODY_LIMIT_BYTES ? length : null;
}
