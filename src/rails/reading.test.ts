import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { formatAmount, LARGEST_AMOUNT } from '../platform/money.ts';
import {
  currencyOf,
  field,
  firstOf,
  hundredthsOf,
  momentOf,
  moneyOf,
  objectsOf,
  proseOf,
  readJson,
  signedMoneyOf,
  textOf,
} from './reading.ts';

describe('reading of operator messages', () => {
  test('a number is read as it was written', () => {
    const read = readJson('{"amount":1.00,"id":12345678901234567890,"code":"0","ok":true,"none":null,"list":[0,-1e2]}');
    assert.deepEqual(read, {
      amount: '1.00',
      id: '12345678901234567890',
      code: '0',
      ok: true,
      none: null,
      list: ['0', '-1e2'],
    });
    assert.equal(readJson('<html>'), undefined);
    assert.equal(readJson('['.repeat(200_000)), undefined);
  });

  test('members are found by path, and nothing is found where nothing is', () => {
    const read = readJson('{"a":[{"b":{"c":7}}],"Msisdn":"","phone":"256"}');
    assert.equal(field(read, 'a', 0, 'b', 'c'), '7');
    assert.equal(field(read, 'a', 1, 'b'), undefined);
    assert.equal(field(read, 'toString'), undefined);
    assert.equal(field('text', 'length'), undefined);
    assert.equal(field(undefined, 'a'), undefined);
    assert.equal(firstOf(read, 'Msisdn', 'msisdn', 'phone'), '256');
    assert.deepEqual(objectsOf(field(read, 'a')), [{ b: { c: '7' } }]);
    assert.deepEqual(objectsOf('no list'), []);
  });

  test('texts that no operator writes are not texts', () => {
    assert.equal(textOf(' 12 '), '12');
    assert.equal(textOf(12), '12');
    for (const value of ['', '  ', null, undefined, {}, [], true, 'a\u0000b', '\ud800', 'x'.repeat(201)])
      assert.equal(textOf(value), null);
    assert.equal(proseOf('Declined\nby bank'), 'Declined by bank');
    assert.equal(proseOf({}), '');
  });

  test('amounts', () => {
    const amounts: [unknown, bigint | null][] = [
      ['1', 100n],
      ['1.00', 100n],
      ['1000.0000', 100_000n],
      ['15.5', 1_550n],
      ['007.10', 710n],
      ['1.0E7', 1_000_000_000n],
      ['15e-1', 150n],
      ['5e-2', 5n],
      ['1.', 100n],
      [1.5, 150n],
      ['1.005', null],
      ['0', null],
      ['0.00', null],
      ['-1', null],
      ['1,000', null],
      ['', null],
      ['NaN', null],
      ['0x10', null],
      [null, null],
      ['9'.repeat(30), null],
    ];
    for (const [value, amount] of amounts) assert.equal(moneyOf(value), amount, String(value));
    assert.equal(signedMoneyOf('-12.50'), -1_250n);
    assert.equal(signedMoneyOf('0.00'), 0n);
    assert.equal(hundredthsOf('150'), 150n);
    for (const value of ['1.5', '0', '-5', 'x', null, String(LARGEST_AMOUNT + 1n)])
      assert.equal(hundredthsOf(value), null);
  });

  test('every amount comes back from every way to write it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: LARGEST_AMOUNT }), fc.nat(4), (amount, zeros) => {
        const written = formatAmount(amount, 2) + '0'.repeat(zeros);
        assert.equal(moneyOf(written), amount);
        assert.equal(moneyOf(readJson(written)), amount);
        assert.equal(moneyOf(`${amount}e-2`), amount);
        assert.equal(signedMoneyOf(`-${written}`), -amount);
        assert.equal(hundredthsOf(String(amount)), amount);
      }),
    );
  });

  test('no text makes a reader throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.stringMatching(/^[-+0-9.eE]*$/)), (text) => {
        const read = readJson(text);
        for (const value of [text, read, field(read, 0), field(read, 'a', 'b')]) {
          textOf(value);
          proseOf(value);
          moneyOf(value);
          signedMoneyOf(value);
          hundredthsOf(value);
          currencyOf(value);
          momentOf(value);
        }
      }),
    );
  });

  test('moments have a zone and are of this century', () => {
    assert.equal(momentOf('2025-04-24T16:55:57.954Z')?.toISOString(), '2025-04-24T16:55:57.954Z');
    assert.equal(momentOf('2025-04-24T16:55:57+0300')?.toISOString(), '2025-04-24T13:55:57.000Z');
    for (const value of ['2025-04-24 16:55:57', '2025-13-24T16:55:57Z', '1925-04-24T16:55:57Z', '20250424', null])
      assert.equal(momentOf(value), null);
    assert.equal(currencyOf('KES'), 'KES');
    for (const value of ['kes', 'KE', 1, null]) assert.equal(currencyOf(value), null);
  });
});
