// Amounts that people type: what is read, what is refused and with which sentence, and that whatever we print is read
// back as itself by every door.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { AMOUNT_LANGUAGES } from './amount-sentences.ts';
import { formatAmount, formatMoney, LARGEST_AMOUNT } from './money.ts';
import { readTypedAmount } from './typed-amounts.ts';

const NBSP = '\u00a0';
const NARROW = '\u202f';

const READ: [text: string, amount: bigint][] = [
  ['1500', 150_000n],
  ['1500,00', 150_000n],
  ['1500.00', 150_000n],
  ['1500,5', 150_050n],
  ['25000,50', 2_500_050n],
  ['1 500', 150_000n],
  [`1${NBSP}500`, 150_000n],
  [`1${NARROW}500${NBSP}000,50`, 150_000_050n],
  ['1 500,50', 150_050n],
  ['1 500.50', 150_050n],
  ['1,500.50', 150_050n],
  ['1.500,50', 150_050n],
  ['1,500,000', 150_000_000n],
  ['1.500.000', 150_000_000n],
  ['1.234.567,89', 123_456_789n],
  ['0,5', 50n],
  ['0.05', 5n],
  ['01500', 150_000n],
  ['  1500  ', 150_000n],
  ['XOF 1 500', 150_000n],
  ['1 500 XOF', 150_000n],
  ['xof1500,00', 150_000n],
  [`F${NARROW}CFA${NBSP}1${NARROW}500`, 150_000n],
  ['70368744177663,99', LARGEST_AMOUNT],
];

const REFUSED: Record<string, string[]> = {
  ambiguous: ['1,500', '1.500', '100,000', '12.345', 'XOF 1,500', '1.500 XOF'],
  not_an_amount: [
    '| |1,5,00|1.500.50|1,500,50|1.500,50.2|1,500.00,00|15 00|1 5000|1  500|0 500|1 500 000 00|12,34,567',
    '5.|.5|,5|5,|-5|+5|−5|1-500|1500-|(1500)|1e3|0x10|ten|1o0|１００|١٠٠|1\n500|1\t500|1_500|$1500',
    `1'500|XOF|XOF 1 500 XOF|NaN|Infinity|1500%|1 500 francs|${'9'.repeat(41)}|\u202e1500|1\u200b500`,
  ].flatMap((line) => line.split('|')),
  other_currency: ['KES 1500', '1500 UGX', 'usd 1 500', 'Ksh 1500'],
  not_positive: ['0', '0,00', '00', 'XOF 0'],
  too_many_decimals: ['1500,000', '1500.500', '0,500', '0.001', '1,500.123', '1 500,500', '1.500,500', '012,500'],
  too_large: ['70368744177664', '9'.repeat(38), '1 000 000 000 000 000'],
};

describe('money 1: one reader for amounts that people type', () => {
  test('money 1: reads the forms of every language, without rounding', () => {
    for (const language of AMOUNT_LANGUAGES)
      for (const [text, amount] of READ)
        assert.deepEqual(readTypedAmount(text, language, { currency: 'XOF' }), { ok: true, amount }, text);
  });

  test('money 1: refuses what has two meanings and what is no amount, in every language', () => {
    for (const language of AMOUNT_LANGUAGES)
      for (const [reason, texts] of Object.entries(REFUSED))
        for (const text of texts) {
          const read = readTypedAmount(text, language, { currency: 'XOF' });
          assert.equal(read.ok ? `read as ${read.amount}` : read.reason, reason, JSON.stringify(text));
          assert.ok(!read.ok && /^[A-ZÀ-Ý“«].{8,}[.]$/.test(read.sentence), JSON.stringify(read));
        }
  });

  test('money 1: the sentence proposes both ways to write it, and both are read', () => {
    for (const language of AMOUNT_LANGUAGES)
      for (const [text, ...ways] of [
        ['1,500', 150_000n, 150n],
        ['2.050', 205_000n, 205n],
      ] as const) {
        const read = readTypedAmount(text, language);
        assert.ok(!read.ok && read.sentence.includes(text));
        const proposed = (read.sentence.split(/[.] /).at(-1) ?? '').match(/\d+(?:[.,]\d+)?/g) ?? [];
        assert.deepEqual(
          proposed.map((way) => readTypedAmount(way, language)),
          ways.map((amount) => ({ ok: true, amount })),
        );
      }
    const english = readTypedAmount('1,500', 'en');
    assert.equal(!english.ok && english.sentence, '“1,500” can mean 1500 or 1.50. Write 1500 or 1.50.');
    const whole = readTypedAmount('1,234', 'en');
    assert.match(whole.ok ? '' : whole.sentence, /Write 1234 for the whole amount/);
  });

  test('money 1: the decimals of a method and a fee of zero', () => {
    assert.deepEqual(readTypedAmount('1500,00', 'fr', { decimals: 0 }), { ok: true, amount: 150_000n });
    const cents = readTypedAmount('1500,50', 'fr', { decimals: 0 });
    assert.equal(!cents.ok && cents.sentence, 'Montants entiers seulement, sans centimes.');
    assert.deepEqual(readTypedAmount('0,00', 'fr', { zero: true }), { ok: true, amount: 0n });
  });

  test('money 1: whatever we print is read back as itself, in every language and with every currency', () => {
    const currencies = [
      'XOF',
      'XAF',
      'KES',
      'UGX',
      'TZS',
      'ZMW',
      'SLE',
      'GHS',
      'NGN',
      'RWF',
      'MZN',
      'USD',
      'EUR',
      'CDF',
    ];
    const countries = [
      '',
      '-KE',
      '-BJ',
      '-CI',
      '-CM',
      '-SN',
      '-TZ',
      '-UG',
      '-ZM',
      '-SL',
      '-GH',
      '-NG',
      '-RW',
      '-MZ',
      '-CD',
    ];
    fc.assert(
      fc.property(
        fc.oneof(fc.bigInt({ min: 1n, max: LARGEST_AMOUNT }), fc.bigInt({ min: 1n, max: 1_000_000n })),
        fc.constantFrom(1n, 10n, 100n),
        fc.constantFrom(...currencies),
        fc.constantFrom(...AMOUNT_LANGUAGES),
        fc.constantFrom(...countries),
        fc.constantFrom(...AMOUNT_LANGUAGES),
        (random, unit, currency, printed, country, read) => {
          const amount = ((random + unit - 1n) / unit) * unit;
          fc.pre(amount <= LARGEST_AMOUNT);
          const texts = [
            formatAmount(amount),
            formatAmount(amount, 2),
            formatMoney(amount, currency, printed + country),
          ];
          for (const text of [...texts, `${currency} ${texts[0]}`, `${texts[1]} ${currency}`])
            assert.deepEqual(readTypedAmount(text, read, { currency }), { ok: true, amount }, text);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
