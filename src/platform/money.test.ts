// Money: what is an amount and what is not, that printing and reading are inverse, and that a
// share is rounded half up exactly, against arithmetic on fractions.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type AmountErrorCode,
  amountFrom,
  amountToNumber,
  formatAmount,
  formatMoney,
  LARGEST_AMOUNT,
  parseAmount,
  share,
} from './money.ts';

const READ: [input: string | number, decimals: number, amount: bigint][] = [
  ['1', 0, 100n],
  ['0.01', 2, 1n],
  ['25.5', 1, 2550n],
  ['25.50', 1, 2550n],
  ['2500.00', 0, 250000n],
  ['1.10000000000', 1, 110n],
  ['70368744177663.99', 2, LARGEST_AMOUNT],
  [1, 0, 100n],
  [100.0, 0, 10000n],
  [1e2, 0, 10000n],
  [0.01, 2, 1n],
  [0.1, 1, 10n],
  [1.1, 2, 110n],
  [2.675 * 100, 1, 26750n],
  [70368744177663.99, 2, LARGEST_AMOUNT],
];

const REFUSED: [input: unknown, decimals: number, error: AmountErrorCode][] = [
  ['', 2, 'not_an_amount'],
  [' 1', 2, 'not_an_amount'],
  ['1 ', 2, 'not_an_amount'],
  ['1\n', 2, 'not_an_amount'],
  ['+1', 2, 'not_an_amount'],
  ['01', 2, 'not_an_amount'],
  ['.5', 2, 'not_an_amount'],
  ['5.', 2, 'not_an_amount'],
  ['1,000', 2, 'not_an_amount'],
  ['1_000', 2, 'not_an_amount'],
  ['1e2', 2, 'not_an_amount'],
  ['0x10', 2, 'not_an_amount'],
  ['NaN', 2, 'not_an_amount'],
  ['Infinity', 2, 'not_an_amount'],
  ['１００', 2, 'not_an_amount'],
  ['١٠٠', 2, 'not_an_amount'],
  ['--1', 2, 'not_an_amount'],
  ['9'.repeat(41), 2, 'not_an_amount'],
  [Number.NaN, 2, 'not_an_amount'],
  [Number.POSITIVE_INFINITY, 2, 'not_an_amount'],
  [null, 2, 'not_an_amount'],
  [undefined, 2, 'not_an_amount'],
  [true, 2, 'not_an_amount'],
  [1n, 2, 'not_an_amount'],
  [['1'], 2, 'not_an_amount'],
  [{}, 2, 'not_an_amount'],
  ['0', 2, 'not_positive'],
  ['0.00', 2, 'not_positive'],
  ['-1', 2, 'not_positive'],
  [0, 2, 'not_positive'],
  [-0, 2, 'not_positive'],
  [-5.5, 2, 'not_positive'],
  ['1.001', 2, 'too_many_decimals'],
  ['5.555', 2, 'too_many_decimals'],
  ['1.5', 0, 'too_many_decimals'],
  ['1.55', 1, 'too_many_decimals'],
  ['0.001', 2, 'too_many_decimals'],
  [1e-7, 2, 'too_many_decimals'],
  [5e-324, 2, 'too_many_decimals'],
  [0.1 + 0.2, 2, 'too_many_decimals'],
  ['70368744177664', 2, 'too_large'],
  ['90071992547409.92', 2, 'too_large'],
  ['1000000000000000', 2, 'too_large'],
  [1e15, 2, 'too_large'],
  [1e21, 2, 'too_large'],
  [Number.MAX_VALUE, 2, 'too_large'],
];

const amounts = fc.bigInt({ min: 1n, max: LARGEST_AMOUNT });

describe('money', () => {
  test('reads what was written, without rounding', () => {
    for (const [input, decimals, amount] of READ)
      assert.deepEqual(parseAmount(input, decimals), { ok: true, amount }, `${input} with ${decimals} decimals`);
  });

  test('refuses everything else and says why', () => {
    for (const [input, decimals, error] of REFUSED)
      assert.deepEqual(
        parseAmount(input, decimals),
        { ok: false, error },
        `${String(input)} with ${decimals} decimals`,
      );
  });

  test('printing and reading are inverse, as text and as a JSON number', () => {
    fc.assert(
      fc.property(amounts, fc.constantFrom(0, 1, 2), (amount, shown) => {
        const printed = formatAmount(amount, shown);
        assert.deepEqual(parseAmount(printed, 2), { ok: true, amount });
        assert.equal(amountFrom(printed), amount);
        assert.equal(amountFrom(formatAmount(-amount, shown)), -amount);
        assert.deepEqual(parseAmount(JSON.parse(JSON.stringify(amountToNumber(amount))), 2), { ok: true, amount });
      }),
    );
  });

  test('the decimals of a method decide, zeros beyond them do not', () => {
    fc.assert(
      fc.property(amounts, fc.constantFrom(0, 1, 2), (amount, decimals) => {
        const unit = 10n ** BigInt(2 - decimals);
        const expected = amount % unit === 0n ? { ok: true, amount } : { ok: false, error: 'too_many_decimals' };
        assert.deepEqual(parseAmount(`${formatAmount(amount, 2)}000`, decimals), expected);
      }),
    );
  });

  test('prints as many decimals as asked for, and never fewer than the amount has', () => {
    const table: [bigint, number, string][] = [
      [250000n, 0, '2500'],
      [250000n, 2, '2500.00'],
      [2550n, 0, '25.50'],
      [1n, 0, '0.01'],
      [0n, 0, '0'],
      [-5n, 2, '-0.05'],
    ];
    for (const [amount, decimals, text] of table) assert.equal(formatAmount(amount, decimals), text);
  });

  test('our own amounts are read strictly too', () => {
    for (const text of ['', '-', '--5', '1.001', '1e2', ' 1', '1,5']) assert.throws(() => amountFrom(text), text);
  });

  test('a share is rounded half up to the smallest unit of the method', () => {
    assert.equal(share(10_000n, 150n, 2), 150n);
    assert.equal(share(10_050n, 100n, 0), 100n); // 1.005 → 1.00
    assert.equal(share(15_000n, 100n, 0), 200n); // 1.50 → 2
    assert.equal(share(14_999n, 100n, 0), 100n); // 1.4999 → 1
    assert.equal(share(50n, 100n, 2), 1n); // 0.005 → 0.01
    assert.equal(share(49n, 100n, 2), 0n);
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: LARGEST_AMOUNT }),
        fc.bigInt({ min: 0n, max: 10_000n }),
        fc.constantFrom(0, 1, 2),
        (amount, basisPoints, decimals) => {
          const unit = 10n ** BigInt(2 - decimals);
          const rounded = share(amount, basisPoints, decimals);
          // rounded - 1/2 unit ≤ exact < rounded + 1/2 unit, multiplied out by 20,000.
          const exact = 2n * amount * basisPoints;
          assert.equal(rounded % unit, 0n);
          assert.ok(20_000n * rounded - 10_000n * unit <= exact && exact < 20_000n * rounded + 10_000n * unit);
        },
      ),
    );
  });
});

test('money is written as its country writes it, exact to the last digit', () => {
  const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
  assert.equal(plain(formatMoney(250_000n, 'KES', 'en-KE')), 'Ksh 2 500');
  assert.equal(plain(formatMoney(2_550n, 'XOF', 'fr-SN')), '25,50 F CFA');
  assert.equal(plain(formatMoney(250_050n, 'TZS', 'sw')), 'TZS 2 500.50', 'as in English: one spelling on every page');
  assert.equal(plain(formatMoney(LARGEST_AMOUNT, 'KES', 'en-KE')), 'Ksh 70 368 744 177 663.99');
});
