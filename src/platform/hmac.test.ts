import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HmacKey } from './hmac.ts';

/** RFC 4231: the fifth case is about shortened signatures, which are not made here. */
const CASES = [
  {
    key: Buffer.alloc(20, 0x0b),
    data: Buffer.from('Hi There'),
    signature: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  },
  {
    key: Buffer.from('Jefe'),
    data: Buffer.from('what do ya want for nothing?'),
    signature: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  },
  {
    key: Buffer.alloc(20, 0xaa),
    data: Buffer.alloc(50, 0xdd),
    signature: '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  },
  {
    key: Buffer.from(Array.from({ length: 25 }, (_, index) => index + 1)),
    data: Buffer.alloc(50, 0xcd),
    signature: '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
  },
  {
    key: Buffer.alloc(131, 0xaa),
    data: Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First'),
    signature: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  },
];

test('signatures are those of RFC 4231', () => {
  for (const { key, data, signature } of CASES) assert.equal(new HmacKey(key).sign('hex', data), signature);
});

test('signatures are those of node:crypto, for keys and texts of every length', () => {
  for (let length = 0; length <= 300; length++) {
    const [key, data] = [randomBytes(length % 140), randomBytes(length)];
    const right = createHmac('sha256', key).update(data).digest('base64');
    assert.equal(new HmacKey(key).sign('base64', data), right);
    assert.equal(new HmacKey(key).sign('base64', data.subarray(0, length / 2), data.subarray(length / 2)), right);
  }
});

test('long messages are signed like short ones, on both sides of what fits into the shared buffer', () => {
  const key = new HmacKey('secret');
  for (const length of [4_031, 4_032, 4_033, 4_096, 100_000]) {
    const text = 'é'.repeat(length / 2) + 'x'.repeat(length % 2);
    assert.equal(Buffer.byteLength(text), length);
    const right = createHmac('sha256', 'secret').update(text).digest('hex');
    assert.equal(key.sign('hex', text), right);
    assert.equal(key.sign('hex', Buffer.from(text)), right);
    assert.equal(key.sign('hex', '', text.slice(0, 9), Buffer.from(text.slice(9))), right);
  }
});

test('texts are signed as UTF-8, and so is a secret', () => {
  const [secret, text] = ['clé secrète', 'Jogoo – 鶏 🐓'];
  const right = createHmac('sha256', secret).update(text).digest('hex');
  assert.equal(new HmacKey(secret).sign('hex', text), right);
  assert.equal(new HmacKey(Buffer.from(secret)).sign('hex', Buffer.from(text)), right);
});

test('a key signs the same again, whatever it signed between', () => {
  const key = new HmacKey('secret');
  const first = key.sign('hex', 'one');
  assert.notDeepEqual(key.sign('hex', 'two'), first);
  assert.deepEqual(key.sign('hex', 'one'), first);
});

test('a signature matches only as it is written, whatever else is given', () => {
  const key = new HmacKey('secret');
  const right = key.sign('hex', 'one');
  assert.equal(key.matches(right, 'one'), true);
  assert.equal(key.matches(right, 'two'), false);
  const last = right.endsWith('0') ? '1' : '0';
  const wrong = [
    '',
    right.slice(1),
    `${right}0`,
    right.slice(0, -1) + last,
    right.toUpperCase(),
    key.sign('base64', 'one'),
    // Characters whose lowest byte is that of the right one.
    Array.from(right, (digit) => String.fromCharCode(digit.charCodeAt(0) + 256)).join(''),
    '\u{1F600}'.repeat(32),
  ];
  for (const signature of wrong) assert.equal(key.matches(signature, 'one'), false, signature);
});

test('a key shows nothing of its secret', () => {
  const key = new HmacKey('a secret of ours');
  assert.equal(JSON.stringify({ key }), '{"key":{}}');
  assert.equal(inspect(key, { showHidden: true, depth: 9 }), 'HmacKey {}');
});

test('a key gives its secret back as it was, and no way to change it', () => {
  const key = new HmacKey('clé');
  const signature = key.sign('hex', 'one');
  assert.equal(key.export().toString(), 'clé');
  key.export().fill(0);
  assert.deepEqual(key.sign('hex', 'one'), signature);
  assert.equal(key.export().toString(), 'clé');
});

test('a key that is kept keeps nothing of Node’s pool', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = () => {
    // V8 frees what one collection found on another thread, and is done with that before the next one begins.
    collect();
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = used();
  const keys = Array.from({ length: 300 }, (_, index) => {
    // What a request needs besides: it fills the part of the pool from which the next key would be taken.
    for (let part = 0; part < 3; part++) Buffer.allocUnsafe(Buffer.poolSize / 2 - 1);
    return new HmacKey(`secret ${index}`);
  });
  const each = (used() - before) / keys.length;
  assert.ok(each < 1_000, `${each.toFixed(0)} bytes a key`);
});
