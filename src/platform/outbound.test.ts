// Outgoing requests never reach what they must not, and no receiver can hold us: a canary listener counts every
// connection that should not have been made, and hostile receivers are cut in time and size.

import assert from 'node:assert/strict';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { isPublicAddress } from './addresses.ts';
import { createOutbound, type Outbound, type OutboundOptions } from './outbound.ts';

const SHORT_MS = 200;
/** For receivers that answer: long enough for a busy machine. */
const LONG_MS = 30_000;

// An authority made for these tests alone, and certificates for localhost under one key.
const AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUByEiIJJnFJwh3tazZ4LHNLu7jUcwCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUU2ltYmkgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTE1MDE0ODE3
WhgPMjEyNjEwMjIwMTQ4MTdaMB8xHTAbBgNVBAMMFFNpbWJpIHRlc3QgYXV0aG9y
aXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEumhuBYuY96aTA29Q5b35wSI0
/yNEPJC//dewZbtb+Xbuf2YgLe2q50GLDrHJ4jaiPxREnvliNqZk6S8vCP5P5KNT
MFEwHQYDVR0OBBYEFCtO3ZiAAVcWskqGsPnf+g7dx2kNMB8GA1UdIwQYMBaAFCtO
3ZiAAVcWskqGsPnf+g7dx2kNMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID
SAAwRQIhAPbZNmjoXzZSL0WATNTnqu16Figer1WxYqAXlOV1xnoWAiAmAiwVKzu0
gAHATjiZSA56FPeyPYXXJZRhFnbLjO2VzQ==
-----END CERTIFICATE-----
`;
const GOOD = `-----BEGIN CERTIFICATE-----
MIIBpzCCAU2gAwIBAgIUMmbVo6cFYEKc0vqgwTtaz/71ndowCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUU2ltYmkgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTE1MDE0ODE3
WhgPMjEyNjEwMjIwMTQ4MTdaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqG
SM49AgEGCCqGSM49AwEHA0IABF8W/WoouWBuZiY+3YEhvg4uIL6i7E+hbD/H3h/F
jb3n/pT+kUr6/J1S8xSTDteI1bisb0hm4lAnSvneMTCzhByjcDBuMCwGA1UdEQQl
MCOCCWxvY2FsaG9zdIIQcmVjZWl2ZXIuZXhhbXBsZYcEfwAAATAdBgNVHQ4EFgQU
/dTKiNpvpdp8mofTzCFKKPUQ280wHwYDVR0jBBgwFoAUK07dmIABVxaySoaw+d/6
Dt3HaQ0wCgYIKoZIzj0EAwIDSAAwRQIgdKoAZiBXMosYdTkq72t6oLJBJEycph9c
b+nFjLqsukQCIQCDgDDTMrW0DGBwXECkRGw/MS6VMynK9yzrc8zwHXkZEQ==
-----END CERTIFICATE-----
`;
const EXPIRED = `-----BEGIN CERTIFICATE-----
MIIBkjCCATigAwIBAgIBATAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRTaW1iaSB0
ZXN0IGF1dGhvcml0eTAeFw0xOTAxMDEwMDAwMDBaFw0yMDAxMzEwMDAwMDBaMBQx
EjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABF8W
/WoouWBuZiY+3YEhvg4uIL6i7E+hbD/H3h/Fjb3n/pT+kUr6/J1S8xSTDteI1bis
b0hm4lAnSvneMTCzhByjcDBuMCwGA1UdEQQlMCOCCWxvY2FsaG9zdIIQcmVjZWl2
ZXIuZXhhbXBsZYcEfwAAATAdBgNVHQ4EFgQU/dTKiNpvpdp8mofTzCFKKPUQ280w
HwYDVR0jBBgwFoAUK07dmIABVxaySoaw+d/6Dt3HaQ0wCgYIKoZIzj0EAwIDSAAw
RQIhAIuM0XvNLM9OCt/z4cX8auCIMp8KgW2q8JlsSXfm7xStAiBRStRphhM1pn8C
naTyAnDKhqKXIDHwergiTajw7/j9xA==
-----END CERTIFICATE-----
`;
const SELF_SIGNED = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUYlsleWZqnwuqVyD/zYJVmYffZd8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTAxNDgxN1oYDzIxMjYxMDIy
MDE0ODE3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARfFv1qKLlgbmYmPt2BIb4OLiC+ouxPoWw/x94fxY295/6U/pFK+vyd
UvMUkw7XiNW4rG9IZuJQJ0r53jEws4Qco28wbTAdBgNVHQ4EFgQU/dTKiNpvpdp8
mofTzCFKKPUQ280wHwYDVR0jBBgwFoAU/dTKiNpvpdp8mofTzCFKKPUQ280wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgHK2Q+bp0GlkqfbWnwd+xFwcgD7O3ElkGx8Lhvnnghh4CIBps
+nKMEQei2By02JK5DQ8koMb3XC4SaK//ZGku1YqI
-----END CERTIFICATE-----
`;
const KEY = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIHNCd29LHZIx2idryu8pnnvtGyf09CAX5zsGrlzvtQvnoAoGCCqGSM49
AwEHoUQDQgAEXxb9aii5YG5mJj7dgSG+Di4gvqLsT6FsP8feH8WNvef+lP6RSvr8
nVLzFJMO14jVuKxvSGbiUCdK+d4xMLOEHA==
-----END EC PRIVATE KEY-----
`;

/** Every spelling of an address that must not be called. "PORT" becomes the canary's port. */
const FORBIDDEN_HOSTS = [
  // Loopback in every spelling that URL parsers understand.
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7F.0x0.0x0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.1',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '１２７.0.0.1',
  '127.0.0.1.',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::0001]',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'foo.localhost',
  'ⓛocalhost',
  '127.0.0.%31',
  '12\t7.0.0.1',
  '127.0.\n0.1',
  // IPv4 inside IPv6.
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:10.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[::a9fe:a9fe]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::1]',
  '[64:ff9b:1:ffff::a00:1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::]',
  '[2002:a00:1::1]',
  '[2002:c0a8:101::]',
  '[2001::1]',
  '[2001:0:4136:e378::]',
  // Unspecified, private, shared, link-local.
  '0.0.0.0',
  '0',
  '0.1.2.3',
  '[::]',
  '[0:0:0:0:0:0:0:0]',
  '10.0.0.1',
  '10.255.255.255',
  '167772161',
  '0x0a000001',
  '012.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.1.1',
  '192.168.257',
  '3232235777',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.43518',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.170.2',
  '[fe80::1]',
  '[fe80::a9fe:a9fe]',
  '[febf::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[fd12:3456:789a::1]',
  '[fdff:ffff::1]',
  // Metadata services.
  '[fd00:ec2::254]',
  '[fd00:ec2::23]',
  '100.100.100.200',
  '1684301000',
  '168.63.129.16',
  '192.0.0.192',
  '[fd20:ce::254]',
  'metadata.google.internal',
  'metadata.google.internal.',
  'metadata.goog',
  'METADATA.google.internal',
  'instance-data.ec2.internal',
  // Documentation, benchmarks, reserved, multicast, broadcast.
  '192.0.0.1',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '254.254.254.254',
  '255.255.255.255',
  '4294967295',
  '[ff02::1]',
  '[ff05::2]',
  '[ff0e::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[2001:db8:ffff::1]',
  '[2001:2::1]',
  '[2001:10::1]',
  '[2001:20::1]',
  '[3fff::1]',
  '[3fff:fff::1]',
  '[5f00::1]',
  '[4000::1]',
  '[8000::1]',
  '[1::1]',
  '[::2]',
  '[200::1]',
  '[400::1]',
  '[e000::1]',
];
const FORBIDDEN_URLS = [
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
  'data:text/plain,hello',
  'javascript:alert(1)',
  'ws://example.com/',
  'https://user@example.com/',
  'https://user:word@example.com/',
  'https://x:443@169.254.169.254/',
  'https://:word@example.com/',
  'https://example.com:22/',
  'https://example.com:25/',
  'https://example.com:80/',
  'https://example.com:5432/',
  'https://example.com:6379/',
  'https://example.com:8080/',
  'https://example.com/#part',
  'https://pay.simbi.example/',
  'https://pay.simbi.example:8443/console',
  'https://PAY.simbi.example./',
  'https://аpple.com/',
  'https://xn--pple-43d.com/',
  'https:\\\\169.254.169.254\\',
  'https:127.0.0.1',
  '',
  'example.com/hook',
  '//example.com/hook',
  `https://example.com/${'a'.repeat(5_000)}`,
];

let canary: Server;
let canaryPort = 0;
let touched = 0;

before(async () => {
  canary = createServer((socket) => {
    touched++;
    socket.destroy();
  });
  canaryPort = await listen(canary);
});
after(() => canary.close());

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

function live(options: Partial<OutboundOptions> = {}): Outbound {
  return createOutbound({
    mode: 'live',
    allowedPorts: [String(canaryPort)],
    ownOrigin: 'https://pay.simbi.example',
    ...options,
  });
}

describe('forbidden addresses', () => {
  test('every spelling of a non-public address is refused at registration and at sending; nothing reaches the canary', async () => {
    const outbound = live({ resolve: () => Promise.resolve(['127.0.0.1']) });
    const urls = [...FORBIDDEN_HOSTS.map((host) => `https://${host}:${canaryPort}/`), ...FORBIDDEN_URLS];
    assert.ok(urls.length >= 120, `${urls.length} forms`);
    touched = 0;
    for (const url of urls) {
      assert.equal(typeof outbound.checkUrl(url), 'string', `registration let ${JSON.stringify(url)} pass`);
      const result = await outbound.request({ url, method: 'POST', body: '{}' });
      assert.equal(result.error, 'refused_address', `${JSON.stringify(url)}: ${JSON.stringify(result)}`);
    }
    assert.equal(touched, 0);
    await outbound.close();
  });

  test('public addresses pass, in both families', () => {
    for (const address of ['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])
      assert.ok(isPublicAddress(address), address);
    const outbound = live();
    for (const url of [
      'https://example.com/hook?a=1',
      'https://example.com:8443/',
      'https://1.1.1.1/',
      'https://[2606:4700::1111]/',
    ])
      assert.equal(outbound.checkUrl(url), null, url);
  });

  test('a name is refused when any one of its addresses is not public', async () => {
    for (const answer of [
      ['93.184.215.14', '127.0.0.1'],
      ['::1'],
      ['2606:4700::1111', 'fd00:ec2::254'],
      ['::ffff:127.0.0.1'],
      ['10.0.0.7'],
      ['93.184.215.14', '64:ff9b::7f00:1'],
    ]) {
      const outbound = live({ resolve: () => Promise.resolve(answer) });
      const result = await outbound.request({
        url: `https://receiver.example:${canaryPort}/`,
        method: 'POST',
        body: '{}',
      });
      assert.equal(result.error, 'refused_address', answer.join());
      assert.match(result.error ? result.reason : '', /receiver\.example leads to .* not a public address/);
      await outbound.close();
    }
    assert.equal(touched, 0);
  });

  test('a name that is rebound after the check is not resolved a second time', async () => {
    let asked = 0;
    const dialled: string[] = [];
    const outbound = live({
      resolve: () => Promise.resolve(asked++ === 0 ? ['93.184.215.14'] : ['127.0.0.1']),
      openSocket: (options) => {
        options.lookup?.(options.host ?? '', {}, (_, address) => dialled.push(JSON.stringify(address)));
        const socket = connect({ ...options, host: '127.0.0.1', port: 1, lookup: undefined } as never);
        return socket;
      },
    });
    await outbound.request({ url: `https://receiver.example:${canaryPort}/`, method: 'POST', body: '{}' });
    assert.deepEqual(dialled, ['"93.184.215.14"']);
    assert.equal(asked, 1);
    assert.equal(touched, 0);
    await outbound.close();
  });

  test('a socket that ends up at a forbidden peer is closed before its first byte', async (t) => {
    // The literal and the vetted address are public; only the connected socket tells the truth here.
    let bytes = 0;
    let connections = 0;
    const trap = createServer((socket) => {
      connections++;
      t.after(() => socket.destroy());
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
      socket.on('error', () => undefined);
    });
    const port = await listen(trap);
    t.after(() => trap.close());
    for (const url of [`https://93.184.215.14:${port}/`, `https://receiver.example:${port}/`]) {
      const outbound = live({
        allowedPorts: [port],
        resolve: () => Promise.resolve(['93.184.215.14']),
        openSocket: () => connect({ host: '127.0.0.1', port }),
      });
      const result = await outbound.request({ url, method: 'POST', body: '{}', timeoutMs: LONG_MS });
      await outbound.close();
      assert.equal(result.error, 'refused_address');
    }
    assert.equal(connections, 2);
    assert.equal(bytes, 0);
  });

  test('an allow-list opens a range of the own network, never a metadata address', () => {
    const outbound = live({ allowedRanges: ['192.168.7.0/24', '169.254.0.0/16', 'fd00::/8', '100.64.0.0/10'] });
    assert.equal(outbound.checkUrl('https://192.168.7.20/hook'), null);
    assert.equal(outbound.checkUrl('https://[fd12::1]/hook'), null);
    for (const host of [
      '192.168.8.1',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '100.100.100.200',
      '[::ffff:169.254.169.254]',
    ])
      assert.equal(typeof outbound.checkUrl(`https://${host}/`), 'string', host);
  });

  test('sandbox mode lets http and loopback pass, and still nothing private', () => {
    const outbound = createOutbound({ mode: 'sandbox' });
    for (const url of [
      'http://127.0.0.1:3000/',
      'http://localhost:8080/sandbox/callbacks',
      'http://[::1]:9/',
      'http://example.com/',
    ])
      assert.equal(outbound.checkUrl(url), null, url);
    for (const url of [
      'http://169.254.169.254/',
      'http://10.0.0.1/',
      'ftp://localhost/',
      'http://metadata.google.internal/',
    ])
      assert.equal(typeof outbound.checkUrl(url), 'string', url);
  });
});

describe('hostile receivers', () => {
  const sandbox = createOutbound({ mode: 'sandbox', trustedCertificates: [AUTHORITY] });
  const open: { close(): void; closeAllConnections?(): void }[] = [];
  after(async () => {
    await sandbox.close();
    for (const server of open) {
      server.closeAllConnections?.();
      server.close();
    }
  });

  async function receiver(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createHttpServer(handle);
    open.push(server);
    return `http://127.0.0.1:${await listen(server)}/hook`;
  }
  const send = (url: string, timeoutMs = LONG_MS) =>
    sandbox.request({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
      timeoutMs,
    });

  test('a plain answer comes back with status, headers and first bytes', async () => {
    let seen = '';
    const url = await receiver((request, response) => {
      request.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
      request.on('end', () => response.writeHead(201, { 'x-kind': 'ok' }).end('thanks'));
    });
    const result = await send(url);
    assert.ok(result.error === null);
    assert.equal(result.status, 201);
    assert.equal(result.headers['x-kind'], 'ok');
    assert.equal(result.bodyStart.toString(), 'thanks');
    assert.equal(result.truncated, false);
    assert.equal(seen, '{"a":1}');
  });

  test('a receiver that refuses, resets or talks nonsense is told apart in words', async () => {
    const closed = createServer();
    const port = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    const refused = await send(`http://127.0.0.1:${port}/`);
    assert.equal(refused.error && refused.reason, 'The receiver refused the connection.');

    const resetting = createServer((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    open.push(resetting);
    const reset = await send(`http://127.0.0.1:${await listen(resetting)}/`);
    assert.equal(reset.error && reset.reason, 'The receiver closed the connection before it answered.');

    const babbling = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
    });
    open.push(babbling);
    const babble = await send(`http://127.0.0.1:${await listen(babbling)}/`);
    assert.equal(babble.error && babble.reason, 'What the receiver answered is not HTTP.');
  });

  test('hanging before headers, hanging in the body and dripping are cut at the deadline', async () => {
    const hangs = await receiver(() => undefined);
    const body = await receiver((_, response) => void response.writeHead(200, { 'content-length': '100' }).write('x'));
    const drips = await receiver((_, response) => {
      response.writeHead(200, { 'content-length': '10000' });
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const [first, begun, third] = await Promise.all([
      send(hangs, SHORT_MS),
      send(body, SHORT_MS),
      send(drips, SHORT_MS),
    ]);
    let second = begun;
    // On a busy machine the headers may take longer than that.
    while (second.error && /did not answer/.test(second.reason)) second = await send(body, SHORT_MS);
    assert.equal(first.error && first.reason, 'The receiver did not answer within 0.2 s.');
    assert.equal(second.error && second.reason, 'The receiver began to answer (200) but did not finish within 0.2 s.');
    assert.equal(third.error, 'timeout');
  });

  test('a request that waited too long for a connection is not sent late', async () => {
    let arrived = 0;
    const one = createOutbound({ mode: 'sandbox', connectionsPerReceiver: 1 });
    const url = await receiver(() => {
      arrived++;
    });
    const results = await Promise.all(
      [1, 2, 3].map(() => one.request({ url, method: 'POST', body: '{}', timeoutMs: SHORT_MS })),
    );
    assert.ok(results.every((result) => result.error === 'timeout'));
    assert.ok(arrived <= 1, `${arrived} arrived`);
    await one.close();
  });

  test('100 MB, endless chunks and a gzip bomb are cut after 16 kB, not inflated, and memory stays flat', async () => {
    const block = Buffer.alloc(65_536, 'a');
    let sent = 0;
    const pour = (response: ServerResponse, total: number) => {
      const more = () => {
        while (sent < total && !response.destroyed) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
      };
      more();
    };
    const large = await receiver((_, response) => {
      response.writeHead(200, { 'content-length': String(100 * 1_048_576) });
      pour(response, 100 * 1_048_576);
    });
    const endless = await receiver((_, response) => pour(response, Number.POSITIVE_INFINITY));
    const bomb = gzipSync(Buffer.alloc(30 * 1_048_576));
    const squeezed = await receiver(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const before = process.memoryUsage().rss;
    for (const url of [large, endless, squeezed]) {
      const result = await send(url);
      assert.ok(result.error === null, JSON.stringify(result));
      assert.equal(result.status, 200);
      assert.equal(result.truncated, true);
      assert.equal(result.bodyStart.length, 16_384);
    }
    assert.ok(process.memoryUsage().rss - before < 64 * 1_048_576);
    assert.ok(sent < 50 * 1_048_576, `${sent} bytes were poured`);
  });

  test('redirects are answers, not orders', async () => {
    touched = 0;
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await receiver(
        (_, response) => void response.writeHead(status, { location: `http://127.0.0.1:${canaryPort}/` }).end(),
      );
      const result = await send(url);
      assert.equal(result.error === null && result.status, status);
    }
    assert.equal(touched, 0);
  });

  test('headers without end are cut', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${`x-a: ${'b'.repeat(1_000)}\r\n`.repeat(40)}`));
    });
    open.push(server);
    const result = await send(`http://127.0.0.1:${await listen(server)}/`);
    assert.equal(result.error, 'bad_answer');
  });

  test('a good certificate passes; an expired, a self-signed and a foreign one are named', async () => {
    async function secure(certificate: string): Promise<number> {
      const server = createHttpsServer({ key: KEY, cert: certificate }, (_, response) => void response.end('ok'));
      open.push(server);
      return listen(server as unknown as Server);
    }
    const good = await secure(GOOD);
    const fine = await send(`https://localhost:${good}/`);
    assert.equal(fine.error === null && fine.status, 200);
    const expired = await send(`https://localhost:${await secure(EXPIRED)}/`);
    assert.equal(expired.error && expired.reason, "The receiver's certificate expired on 2020-01-31.");
    const own = await send(`https://localhost:${await secure(SELF_SIGNED)}/`);
    assert.equal(own.error && own.reason, "The receiver's certificate is self-signed, so it is not trusted.");
    const foreign = createOutbound({
      mode: 'sandbox',
      trustedCertificates: [AUTHORITY],
      resolve: () => Promise.resolve(['127.0.0.1']),
    });
    const wrong = await foreign.request({ url: `https://other.example:${good}/`, method: 'POST', timeoutMs: LONG_MS });
    assert.equal(wrong.error && wrong.reason, "The receiver's certificate is not for other.example.");
    await foreign.close();
    const plain = await send((await receiver((_, response) => void response.end())).replace('http:', 'https:'));
    assert.equal(plain.error, 'tls');
  });

  test('in live mode a receiver of the own network is reached over TLS, once its range is allowed', async () => {
    const server = createHttpsServer({ key: KEY, cert: GOOD }, (_, response) => void response.end('ok'));
    open.push(server);
    const port = await listen(server as unknown as Server);
    const options = {
      mode: 'live' as const,
      allowedPorts: [port],
      trustedCertificates: [AUTHORITY],
      resolve: () => Promise.resolve(['127.0.0.1']),
    };
    const url = `https://receiver.example:${port}/`;
    const closed = createOutbound(options);
    assert.equal((await closed.request({ url, method: 'POST', body: '{}' })).error, 'refused_address');
    const allowed = createOutbound({ ...options, allowedRanges: ['127.0.0.0/8'] });
    const result = await allowed.request({ url, method: 'POST', body: '{}' });
    assert.equal(result.error === null && result.status, 200);
    await Promise.all([closed.close(), allowed.close()]);
  });

  test('a name that moves to a forbidden address is refused although a connection to the old one is still open', async () => {
    const url = await receiver((_, response) => void response.end());
    let address = '127.0.0.1';
    const outbound = createOutbound({ mode: 'sandbox', resolvedForMs: 0, resolve: () => Promise.resolve([address]) });
    const named = url.replace('127.0.0.1', 'receiver.example');
    assert.equal((await outbound.request({ url: named, method: 'POST' })).error, null);
    address = '10.0.0.1';
    assert.equal((await outbound.request({ url: named, method: 'POST' })).error, 'refused_address');
    await outbound.close();
  });

  test('one receiver means one pool and kept connections', async () => {
    const ports = new Set<number | undefined>();
    const url = await receiver((request, response) => {
      ports.add(request.socket.remotePort);
      response.end();
    });
    const alone = createOutbound({ mode: 'sandbox' });
    for (let count = 0; count < 20; count++)
      await alone.request({ url: `${url}?n=${count}`, method: 'POST', body: '{}' });
    // The answer is told a moment before its connection counts as free, so a second one may open; never a third.
    assert.ok(ports.size <= 2, `${ports.size} connections`);
    assert.equal(alone.poolCount(), 1);
    await alone.close();
  });

  test('a name that does not exist, and a resolver that hangs, are named', async () => {
    const missing = createOutbound({
      mode: 'live',
      resolve: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    const gone = await missing.request({ url: 'https://gone.example/', method: 'POST' });
    assert.equal(gone.error && gone.reason, 'The name of the receiver does not exist in the DNS.');
    const stuck = createOutbound({ mode: 'live', resolve: () => new Promise(() => undefined) });
    const late = await stuck.request({ url: 'https://stuck.example/', method: 'POST', timeoutMs: 50 });
    assert.equal(late.error, 'timeout');
  });
});
