import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { formatAmount } from '../platform/money.ts';
import { checkAmount, feeOf, termsOf } from './amounts.ts';
import { type Direction, type Fee, loadCatalog, type Method } from './catalog.ts';

const catalog = loadCatalog();
const method = (code: string): Method => catalog.methods.get(code) ?? assert.fail(code);
const directions: Direction[] = ['collection', 'payout'];
const cases = [...catalog.methods.values()].flatMap((one) =>
  directions.flatMap((direction) => {
    const terms = termsOf(one, direction);
    return terms ? [{ one, direction, terms }] : [];
  }),
);
const unitOf = (decimals: number) => (decimals === 0 ? 100n : decimals === 1 ? 10n : 1n);

describe('amounts', () => {
  for (const { one, direction, terms } of cases)
    test(`${one.code} ${direction}: takes its smallest, its largest and nothing beyond`, () => {
      const unit = unitOf(terms.decimals);
      const check = (amount: bigint) => checkAmount(formatAmount(amount), one, direction);
      for (const amount of [terms.min, terms.min + unit, terms.max])
        assert.deepEqual(check(amount), { ok: true, amount });
      const where = `${one.name} in ${one.country.name}`;
      assert.deepEqual(check(terms.max + unit), {
        ok: false,
        sentence: `The largest amount for ${where} is ${formatAmount(terms.max)} ${one.currency}.`,
      });
      const below = terms.min - unit;
      assert.deepEqual(check(below), {
        ok: false,
        sentence:
          below === 0n
            ? 'The amount must be more than zero.'
            : `The smallest amount for ${where} is ${formatAmount(terms.min)} ${one.currency}.`,
      });
      const finer = checkAmount(terms.decimals === 0 ? `${formatAmount(terms.max)}.5` : '1.005', one, direction);
      assert.match(finer.ok ? '' : finer.sentence, /decimals/);
    });

  test('says why, in a sentence', () => {
    const sentence = (input: unknown, code: string, direction: Direction = 'collection') => {
      const result = checkAmount(input, method(code), direction);
      return result.ok ? result.amount : result.sentence;
    };
    assert.equal(sentence(500.5, 'MTN_MOMO_UGA'), 500_50n);
    assert.equal(sentence('1000', 'AIRTEL_OAPI_UGA'), 1000_00n);
    assert.equal(
      sentence(1000.5, 'AIRTEL_OAPI_UGA'),
      'Airtel Money in Uganda takes whole amounts of UGX, without decimals.',
    );
    assert.equal(
      sentence('10.50', 'MPESA_KEN'),
      'M-PESA in Kenya takes whole amounts of KES, without decimals. M-PESA moves whole shillings when a customer pays.',
    );
    assert.equal(sentence('10.50', 'MPESA_KEN', 'payout'), 10_50n);
    assert.equal(sentence(1.001, 'ORANGE_SLE'), 'Orange Money in Sierra Leone takes at most 2 decimals of SLE.');
    assert.equal(sentence(0, 'ORANGE_SLE'), 'The amount must be more than zero.');
    assert.equal(sentence(-5, 'ORANGE_SLE'), 'The amount must be more than zero.');
    assert.equal(sentence(1e21, 'ORANGE_SLE'), 'The largest amount for Orange Money in Sierra Leone is 15000 SLE.');
    for (const input of ['ten', '1e3', '', ' 5', null, undefined, true, {}, Number.NaN])
      assert.equal(sentence(input, 'ORANGE_SLE'), 'The amount must be a number, or a decimal text such as "2500".');
    assert.equal(sentence('100', 'MPESA_TILL_KEN', 'payout'), 'M-PESA till number in Kenya does not take payouts.');
  });
});

describe('fees', () => {
  test('a collection of 100 costs 1', () => {
    assert.equal(feeOf(100_00n, method('MTN_MOMO_UGA'), 'collection'), 1_00n);
  });

  test('are rounded half up to the decimals of the method and direction', () => {
    assert.equal(feeOf(149_00n, method('MPESA_KEN'), 'collection'), 1_00n);
    assert.equal(feeOf(150_00n, method('MPESA_KEN'), 'collection'), 2_00n);
    assert.equal(feeOf(149_50n, method('MPESA_KEN'), 'payout'), 1_50n);
    assert.equal(feeOf(49_00n, method('MTN_MOMO_BEN'), 'collection'), 0n);
    assert.equal(feeOf(1_50n, method('ORANGE_SLE'), 'collection'), 2n);
  });

  test('have a floor and a cap, and a holder’s own fee replaces the catalogue’s', () => {
    assert.equal(feeOf(1_000_000_00n, method('BANK_NGA'), 'collection'), 2_000_00n);
    const own: Fee = { basisPoints: 50n, fixed: 10_00n, min: 15_00n, max: 20_00n };
    const uganda = method('MTN_MOMO_UGA');
    assert.equal(feeOf(500_00n, uganda, 'collection', own), 15_00n);
    assert.equal(feeOf(1_500_00n, uganda, 'collection', own), 17_50n);
    assert.equal(feeOf(1_500_00n, method('AIRTEL_OAPI_UGA'), 'collection', own), 18_00n);
    assert.equal(feeOf(10_000_00n, uganda, 'collection', own), 20_00n);
  });

  test('never exceed the amount, are never negative, and have the decimals of the method', () => {
    const small = fc.bigInt({ min: 0n, max: 5_000_00n });
    const fees = fc.option(
      fc.record({
        basisPoints: fc.bigInt({ min: 0n, max: 10_000n }),
        fixed: small,
        min: small,
        max: fc.option(small),
      }),
      { nil: undefined },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...cases),
        fc.bigInt({ min: 1n, max: 100_000_000n }),
        fees,
        ({ one, direction, terms }, units, own) => {
          const unit = unitOf(terms.decimals);
          const fee = feeOf(units * unit, one, direction, own);
          assert.ok(fee >= 0n && fee <= units * unit);
          assert.equal(fee % unit, 0n);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
