// The merchant's colour, made readable.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { contrast, DARK_GROUND, LIGHT_GROUND, readAccent } from './accent.ts';

test('any colour of a merchant becomes one that can be read, in light and dark', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const { onLight, onDark } = readAccent(`#${value.toString(16).padStart(6, '0')}`);
      assert.ok(contrast(onLight, LIGHT_GROUND) >= 4.5);
      assert.ok(contrast('#ffffff', onLight) >= 4.5, 'white text on the button');
      assert.ok(contrast(onDark, DARK_GROUND) >= 4.5);
    }),
  );
  assert.equal(readAccent('#0b6157').onLight, '#0b6157', 'a good colour stays as it is');
  assert.deepEqual(readAccent('red'), readAccent(null));
  assert.equal(Math.round(contrast('#000000', '#ffffff')), 21);
});
