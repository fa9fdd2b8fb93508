// Sealed values open only whole, under their own key and for their own purpose.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { constantTimeEqual, createVault, sha256 } from './secrets.ts';

const vault = createVault(randomBytes(32));

describe('secrets', () => {
  test('what was sealed opens again, and no two seals are alike', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (plaintext, purpose) => {
        const sealed = vault.seal(plaintext, purpose);
        assert.equal(vault.open(sealed, purpose), plaintext);
        assert.ok(!sealed.equals(vault.seal(plaintext, purpose)));
      }),
    );
  });

  test('one changed bit anywhere, or one byte fewer, and it does not open', () => {
    const sealed = vault.seal('a secret', 'api');
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const tampered = Buffer.from(sealed);
      tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.throws(() => vault.open(tampered, 'api'), `bit ${bit}`);
    }
    for (let length = 0; length < sealed.length; length++)
      assert.throws(() => vault.open(sealed.subarray(0, length), 'api'), `${length} bytes`);
    assert.throws(() => vault.open(Buffer.concat([sealed, Buffer.of(0)]), 'api'));
  });

  test('it opens for no other purpose and under no other key', () => {
    const sealed = vault.seal('a secret', 'api');
    for (const purpose of ['callback', 'API', 'api ', '']) assert.throws(() => vault.open(sealed, purpose), purpose);
    assert.throws(() => createVault(randomBytes(32)).open(sealed, 'api'));
  });

  test('the seal does not show the text', () => {
    assert.ok(!vault.seal('plainly readable', 'api').includes('plainly'));
  });

  test('a derived key depends on the master key and the purpose, on nothing else', () => {
    const masterKey = Buffer.alloc(32, 7);
    const key = createVault(masterKey).deriveKey('forms');
    assert.equal(key.length, 32);
    assert.deepEqual(createVault(masterKey).deriveKey('forms'), key);
    assert.notDeepEqual(createVault(masterKey).deriveKey('receipts'), key);
    assert.notDeepEqual(createVault(Buffer.alloc(32, 8)).deriveKey('forms'), key);
    assert.ok(!key.equals(masterKey));
  });

  test('a master key of another length is refused', () => {
    for (const length of [0, 16, 31, 33, 64]) assert.throws(() => createVault(Buffer.alloc(length)), /32 bytes/);
  });

  test('sha256 gives the published digest; equality compares content and length', () => {
    assert.equal(sha256('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.deepEqual(sha256(Buffer.from('é')), sha256('é'));
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
        assert.equal(constantTimeEqual(Buffer.from(left), Buffer.from(right)), Buffer.compare(left, right) === 0);
        assert.ok(constantTimeEqual(Buffer.from(left), Buffer.from(left)));
      }),
    );
  });
});
