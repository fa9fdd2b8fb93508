// What is a plain request, byte by byte. That Node reads the same is compared in plain-connections.test.ts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PlainHead, readPlainRequest } from './plain-request.ts';

const PATH = '/api/v3/pay';
const LINES = [`POST ${PATH} HTTP/1.1`, 'Host: shop', 'Content-Type: application/json', 'Content-Length: 2'];
const isServed = (path: string) => path === PATH;
const read = (text: string) => readPlainRequest(Buffer.from(text, 'latin1'), isServed);
const requestOf = (lines: readonly string[], body = '{}') => [...lines, '', body].join('\r\n');
/** The request with these header lines as well. */
const withLines = (...lines: string[]) => requestOf([...LINES, ...lines]);

describe('a plain request', () => {
  test('has a path, headers by their names in lower case, and a body', () => {
    const reading = read(withLines('X-Empty:', 'X-High: caf\u00e9', 'Connection: Keep-Alive'));
    assert.ok(typeof reading === 'object');
    assert.equal(reading.head.path, PATH);
    assert.deepEqual(
      { ...reading.head.headers },
      {
        host: 'shop',
        'content-type': 'application/json',
        'content-length': '2',
        'x-empty': '',
        'x-high': 'caf\u00e9',
        connection: 'Keep-Alive',
      },
    );
    assert.equal(reading.body.toString(), '{}');
  });

  test('is unfinished until its last byte', () => {
    const whole = requestOf(LINES);
    for (let length = 0; length < whole.length; length++)
      assert.equal(read(whole.slice(0, length)), 'unfinished', `${length} bytes`);
    assert.ok(typeof read(whole) === 'object');
  });

  test('with the head of the one before is read as if it came alone', () => {
    const isRead = (text: string, last: PlainHead) => readPlainRequest(Buffer.from(text, 'latin1'), isServed, last);
    const whole = withLines('X-A: 1');
    const first = read(whole);
    assert.ok(typeof first === 'object');
    const { head } = first;
    const again = isRead(whole.replace('{}', '[]'), head);
    assert.ok(typeof again === 'object');
    assert.equal(again.head, head);
    assert.equal(again.body.toString(), '[]');
    for (let length = 0; length < whole.length; length++)
      assert.equal(isRead(whole.slice(0, length), head), 'unfinished', `${length} bytes`);
    assert.equal(isRead(`${whole}P`, head), 'other');
    for (const other of [withLines('X-A: 2'), withLines('X-A: 12'), withLines('X-A: 1', 'X-B: 1'), requestOf(LINES)]) {
      const alone = read(other);
      assert.ok(typeof alone === 'object');
      assert.deepEqual(isRead(other, head), alone);
    }
    for (const odd of [withLines('X-A: 1', 'X-A: 1'), withLines('X-A: 1', 'Expect: 100-continue')])
      assert.equal(isRead(odd, head), 'other');
  });

  test('is another as soon as it cannot be one', () => {
    const others: Record<string, string> = {
      'another method': 'G',
      'another path': requestOf(['POST /other HTTP/1.1', ...LINES.slice(1)]),
      'a query': requestOf([`POST ${PATH}?a HTTP/1.1`, ...LINES.slice(1)]),
      'HTTP/1.0': requestOf([`POST ${PATH} HTTP/1.0`, ...LINES.slice(1)]),
      'no host': requestOf(LINES.filter((line) => !line.startsWith('Host'))),
      'a second host': withLines('Host: shop'),
      'no length': requestOf(LINES.slice(0, -1)),
      'no body': requestOf([...LINES.slice(0, -1), 'Content-Length: 0'], ''),
      'two lengths': withLines('Content-Length: 2'),
      'a length with a sign': requestOf([...LINES.slice(0, -1), 'Content-Length: +2']),
      'a length that begins with zero': requestOf([...LINES.slice(0, -1), 'Content-Length: 02']),
      'a large body': requestOf([...LINES.slice(0, -1), 'Content-Length: 65537']),
      'more after the body': `${requestOf(LINES)}P`,
      'a repeated header': withLines('X-A: 1', 'x-a: 2'),
      'a header without a name': withLines(': 1'),
      'a space before the colon': withLines('X-A : 1'),
      'a folded header': withLines('X-A: 1', ' 2'),
      'more space around a value': withLines('X-A:  1'),
      'a space after a value': withLines('X-A: 1 '),
      'a NUL': withLines('X-A: \0'),
      'a bare carriage return': withLines('X-A: 1\r2'),
      'a bare line feed': withLines('X-A: 1\n2'),
      'large headers': withLines(`X-A: ${'a'.repeat(5_000)}`),
      'large headers without an end': `POST ${PATH} HTTP/1.1\r\nX-A: ${'a'.repeat(5_000)}`,
    };
    for (const line of [
      'Transfer-Encoding: chunked',
      'Content-Encoding: gzip',
      'Expect: 100-continue',
      'Upgrade: websocket',
      'Connection: close',
      'Connection: keep-alive, upgrade',
      'Proxy-Connection: close',
      'Trailer: x',
      'TE: trailers',
    ])
      others[line] = withLines(line);
    for (const [what, text] of Object.entries(others)) assert.equal(read(text), 'other', what);
  });
});
