// The vault: what is sealed is hidden, cannot be changed or moved, names the version that sealed it, and opens after rotations.

import assert from 'node:assert/strict';
import { createCipheriv, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { constantTimeEqual, createVault, type DataKey, type KeyRing, sha256 } from './secrets.ts';

const vault = createVault(randomBytes(32));

/** Versions that a test adds; `stored` is what a reload finds. */
function createRing(first = randomBytes(32)): KeyRing & { stored: DataKey[]; reloads: number } {
  const start = { version: 0, key: first, opens: true, settled: true, recent: true };
  let loaded: DataKey[] = [start];
  return {
    stored: [start],
    reloads: 0,
    keys: () => loaded,
    async reload() {
      this.reloads++;
      loaded = this.stored.toSorted((left, right) => right.version - left.version);
    },
    watch: () => () => undefined,
  };
}

const newKey = (version: number, settled = true): DataKey => ({
  version,
  key: randomBytes(32),
  opens: true,
  settled,
  recent: true,
});

/** As the versions before this one sealed: the master key itself. */
function sealWithoutVersion(masterKey: Buffer, plaintext: string, purpose: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', masterKey, iv).setAAD(Buffer.from(purpose));
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(1), iv, cipher.getAuthTag(), body]);
}

describe('sealing', () => {
  test('what was sealed opens again, and every seal of it is different', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (plaintext, purpose) => {
        const sealed = vault.seal(plaintext, purpose);
        assert.equal(await vault.open(sealed, purpose), plaintext);
        assert.ok(!sealed.equals(vault.seal(plaintext, purpose)));
      }),
    );
  });

  test('one changed bit, one missing byte, one more byte: refused', async () => {
    const sealed = vault.seal('a secret', 'api');
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const tampered = Buffer.from(sealed);
      tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await assert.rejects(vault.open(tampered, 'api'), `bit ${bit}`);
    }
    for (let length = 0; length < sealed.length; length++)
      await assert.rejects(vault.open(sealed.subarray(0, length), 'api'), `${length} bytes`);
    await assert.rejects(vault.open(Buffer.concat([sealed, Buffer.of(0)]), 'api'));
  });

  test('a value opens for its own purpose and its own key only', async () => {
    const sealed = vault.seal('a secret', 'api');
    for (const purpose of ['callback', 'API', 'api ', ''])
      await assert.rejects(vault.open(sealed, purpose), /(?:)/, purpose);
    await assert.rejects(createVault(randomBytes(32)).open(sealed, 'api'));
  });

  test('the sealed bytes show nothing of the text', () => {
    assert.ok(!vault.seal('plainly readable', 'api').includes('plainly'));
  });

  test('values from before versions open, with the purpose that they had', async () => {
    const masterKey = randomBytes(32);
    const old = createVault(masterKey);
    const sealed = sealWithoutVersion(masterKey, 'a secret', 'former');
    assert.equal(await old.open(sealed, 'now', 'former'), 'a secret');
    await assert.rejects(old.open(sealed, 'now'));
    await assert.rejects(createVault(randomBytes(32)).open(sealed, 'now', 'former'));
  });
});

describe('versions', () => {
  test('the newest version seals, and every version that is not retired opens', async () => {
    const ring = createRing();
    const rotating = createVault(ring);
    const values = [rotating.seal('0', 'x')];
    for (const version of [1, 2, 3]) {
      ring.stored.push(newKey(version));
      await ring.reload();
      values.push(rotating.seal(String(version), 'x'));
    }
    for (const [version, sealed] of values.entries()) {
      assert.equal(await rotating.open(sealed, 'x'), String(version));
      assert.equal(sealed.readUInt32BE(1), version, 'the value says which version sealed it');
    }
    ring.stored = ring.stored.filter(({ version }) => version !== 1);
    await ring.reload();
    await assert.rejects(rotating.open(values[1] ?? Buffer.alloc(0), 'x'), /retired/);
    assert.equal(await rotating.open(values[0] ?? Buffer.alloc(0), 'x'), '0');
  });

  test('a version that this process has not seen is read, not refused', async () => {
    const [here, there] = [createRing(Buffer.alloc(32, 1)), createRing(Buffer.alloc(32, 1))];
    const second = newKey(1);
    there.stored.push(second);
    await there.reload();
    here.stored.push(second);
    const sealed = createVault(there).seal('new', 'x');
    assert.equal(await createVault(here).open(sealed, 'x'), 'new');
    assert.equal(here.reloads, 1);
  });

  test('a version that nobody can have made yet costs no query', async () => {
    const ring = createRing();
    const sealed = createVault(ring).seal('x', 'x');
    sealed.writeUInt32BE(4_000_000_000, 1);
    await assert.rejects(createVault(ring).open(sealed, 'x'));
    assert.equal(ring.reloads, 0);
  });

  test('a value cannot be said to be of another version', async () => {
    const ring = createRing();
    ring.stored.push({ ...newKey(1), key: ring.stored[0]?.key ?? assert.fail() });
    await ring.reload();
    const sealed = createVault(ring).seal('x', 'x');
    sealed.writeUInt32BE(0, 1);
    await assert.rejects(createVault(ring).open(sealed, 'x'));
  });
});

describe('derived keys', () => {
  test('one for each purpose, the same for one master key', () => {
    const masterKey = Buffer.alloc(32, 7);
    const key = createVault(masterKey).deriveKey('forms');
    assert.equal(key.length, 32);
    assert.deepEqual(createVault(masterKey).deriveKey('forms'), key);
    assert.notDeepEqual(createVault(masterKey).deriveKey('receipts'), key);
    assert.notDeepEqual(createVault(Buffer.alloc(32, 8)).deriveKey('forms'), key);
    assert.ok(!key.equals(masterKey));
  });

  test('the key for what is printed survives rotations and the retirement of version 0', async () => {
    const ring = createRing();
    const before = createVault(ring).deriveKey('receipt code');
    ring.stored = [...ring.stored.map((key) => ({ ...key, opens: false })), newKey(1), newKey(2)];
    await ring.reload();
    assert.deepEqual(createVault(ring).deriveKey('receipt code'), before);
  });

  test('a new version signs once every process has it, and what older ones signed is accepted', async () => {
    const ring = createRing();
    const rotating = createVault(ring);
    const [old] = rotating.deriveKeys('forms');
    ring.stored.push(newKey(1, false));
    await ring.reload();
    const during = rotating.deriveKeys('forms');
    assert.deepEqual(during[0], old, 'another process may not know the new key yet');
    assert.equal(during.length, 2, 'but what it signs is accepted here');
    ring.stored[1] = { ...(ring.stored[1] ?? assert.fail()), settled: true };
    await ring.reload();
    const after = rotating.deriveKeys('forms');
    assert.deepEqual(after, during.toReversed());
    ring.stored[0] = { ...(ring.stored[0] ?? assert.fail()), recent: false };
    await ring.reload();
    assert.deepEqual(
      rotating.deriveKeys('forms'),
      [after[0]],
      'a day later nothing that the old key signed is under way',
    );
  });

  test('a master key of another length is refused', () => {
    for (const length of [0, 16, 31, 33, 64]) assert.throws(() => createVault(Buffer.alloc(length)), /32 bytes/);
  });
});

describe('hashes', () => {
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
