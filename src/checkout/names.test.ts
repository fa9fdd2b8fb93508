// Names and numbers as a page shows them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hideMiddleDigits, initialOf, showName } from './names.ts';

test('names keep to one line and to themselves', () => {
  assert.equal(showName('  Chez\n\tAwa  '), 'Chez Awa');
  assert.equal(showName('\u202egnp.exe\u2069\u0000'), 'gnp.exe');
  assert.equal(showName('Ké́́́́́́'.normalize('NFD')).length <= 6, true);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) =>
      assert.doesNotMatch(showName(text), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u),
    ),
  );
  assert.equal(initialOf('élan'), 'É');
  assert.equal(initialOf(''), '•');
});

test('a number is shown so that only its owner can use it', () => {
  const masked = (number: string) => hideMiddleDigits(number).replaceAll('\u00a0', ' ');
  assert.equal(masked('0712 345678'), '0712 ••••78');
  assert.equal(masked('01 97 12 34 56'), '01 97 •• •• 56');
  assert.equal(masked('77 123 45 67'), '77 12• •• 67');
});
