// Identifiers: the time stands first, the public form loses nothing, and only its own kind is read back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  createHolderUuid,
  createUuid,
  type IdPrefix,
  publicId,
  randomName,
  randomSecret,
  shortId,
  uuidFromPublicId,
} from './ids.ts';

const PREFIXES: IdPrefix[] = ['TX', 'pl', 'evt', 'case', 'req', 'bat'];
const MARCH_2026 = Date.parse('2026-03-02T09:00:00Z');

describe('ids', () => {
  test('a UUID is version 7, carries its millisecond and sorts by it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 2 }), (millis) => {
        const uuid = createUuid(millis);
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.equal(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16), millis);
        assert.ok(uuid < createUuid(millis + 1));
      }),
    );
  });

  test('ten thousand of one millisecond are all different', () => {
    assert.equal(new Set(Array.from({ length: 10_000 }, () => createUuid(MARCH_2026))).size, 10_000);
  });

  test('the short form tells ids of one holder and millisecond apart', () => {
    const ids = Array.from({ length: 1_000 }, () => publicId('TX', createHolderUuid(MARCH_2026, 7n)));
    assert.equal(new Set(ids.map(shortId)).size, 1_000);
  });

  test('the public form and the UUID are inverse, in either case, and sort alike', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), fc.constantFrom(...PREFIXES), (uuid, other, prefix) => {
        const id = publicId(prefix, uuid);
        assert.match(id, new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`));
        assert.equal(uuidFromPublicId(prefix, id), uuid);
        assert.equal(uuidFromPublicId(prefix, id.toLowerCase()), uuid);
        assert.equal(id < publicId(prefix, other), uuid < other);
        for (const wrong of PREFIXES.filter((candidate) => candidate !== prefix))
          assert.equal(uuidFromPublicId(wrong, id), null);
      }),
    );
  });

  test('what is not a public id gives null', () => {
    const id = publicId('TX', createUuid(MARCH_2026));
    const zeros = '0'.repeat(24);
    const wrong = [
      '',
      'TX_',
      id.slice(0, -1),
      `${id}0`,
      ` ${id.slice(1)}`,
      id.replace('_', '-'),
      `TX_8${'0'.repeat(25)}`,
    ];
    for (const character of ['I', 'L', 'O', 'U', '-', ' ', 'é', '\0', 'ſ', 'ß', 'ﬆ'])
      wrong.push(`TX_0${zeros}${character}`);
    for (const text of wrong) assert.equal(uuidFromPublicId('TX', text), null, JSON.stringify(text));
    fc.assert(fc.property(fc.string(), (text) => assert.equal(uuidFromPublicId('pl', text), null)));
  });

  test('secrets and names have the promised length and alphabet and do not repeat', () => {
    assert.equal(Buffer.from(randomSecret(), 'base64url').length, 32);
    assert.match(randomSecret(48), /^[A-Za-z0-9_-]{64}$/);
    for (const length of [1, 12, 4096]) assert.match(randomName(length), new RegExp(`^[0-9a-hjkmnp-tv-z]{${length}}$`));
    assert.equal(new Set(Array.from({ length: 2_000 }, () => randomName(16))).size, 2_000);
  });
});
