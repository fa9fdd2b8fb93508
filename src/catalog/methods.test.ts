import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { loadCatalog } from './catalog.ts';
import { findCollectionCountry, findLinkCountry, listCollectionCountries, listLinkCountries } from './countries.ts';
import { FAILURE_CODES, failureMessage, isFailureCode } from './failures.ts';
import {
  chooseMethod,
  choosePayoutMethod,
  describeDial,
  describeVerification,
  findMethodByName,
  predictMethod,
} from './methods.ts';

const catalog = loadCatalog();
const links = (id: number) => findLinkCountry(catalog, id) ?? assert.fail();
const collections = (id: number) => findCollectionCountry(catalog, id) ?? assert.fail();

describe('method by name', () => {
  const table: [number, string, string | null][] = [
    [1, 'send money', 'MPESA_KEN'],
    [1, 'M-Pesa', 'MPESA_KEN'],
    [1, 'mpesa', 'MPESA_KEN'],
    [1, 'Till Number', 'MPESA_TILL_KEN'],
    [1, 'paybill', 'MPESA_PAYBILL_KEN'],
    [1, 'BANK_TRANSFER', 'PESALINK_KEN'],
    [2, 'MTN', 'MTN_MOMO_BEN'],
    [2, 'moov', null],
    [9, 'free money', 'FREE_SEN'],
    [10, 'tigo pesa', 'TIGO_TZA'],
    [10, 'Mixx by Yas', 'TIGO_TZA'],
    [10, 'vodacom', null],
    [11, 'MTN MoMo', 'MTN_MOMO_UGA'],
    [11, 'mtn_momo_uga', 'MTN_MOMO_UGA'],
    [11, 'MTN-Mobile Money', 'MTN_MOMO_UGA'],
    [11, 'MTN_MOMO_ZMB', null],
    [13, 'Mobile Money', 'ORANGE_SLE'],
    [16, 'vodafone', 'VODAFONE_GHA'],
    [16, 'Telecel Cash', 'VODAFONE_GHA'],
    [17, 'bank', 'BANK_NGA'],
    [17, 'Bank transfer', 'BANK_NGA'],
    [11, '', null],
    [11, 'x'.repeat(10_000), null],
  ];
  for (const [id, name, code] of table)
    test(`payment links ${id}: ${JSON.stringify(name.slice(0, 30))} is ${code}`, () =>
      assert.equal(findMethodByName(links(id), name)?.code ?? null, code));

  test('the tables differ: Moov and Vodacom are methods of collections only', () => {
    assert.equal(findMethodByName(collections(2), 'moov')?.code, 'MOOV_BEN');
    assert.equal(findMethodByName(collections(10), 'M-Pesa')?.code, 'VODACOM_TZA');
    assert.equal(findMethodByName(collections(1), 'till number'), null);
  });

  test('every name of every method finds it, however it is spaced and cased', () => {
    const cases = [...listLinkCountries(catalog), ...listCollectionCountries(catalog)].flatMap((row) =>
      row.methods.flatMap((method) =>
        [method.code, method.name, ...method.aliases].map((name) => ({ row, method, name })),
      ),
    );
    const separators = fc.array(fc.constantFrom('', ' ', '-', '_', '  '), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(fc.constantFrom(...cases), separators, fc.boolean(), ({ row, method, name }, between, upper) => {
        const spaced = Array.from(name, (letter, at) => letter + (between[at] ?? '')).join('');
        if (spaced.length > 100) return;
        assert.equal(findMethodByName(row, upper ? spaced.toUpperCase() : spaced.toLowerCase()), method);
      }),
    );
  });
});

describe('the method of a request', () => {
  test('a named method is taken whatever the number suggests: people keep their numbers', () => {
    const choice = chooseMethod(collections(11), 'airtel', '256772123456');
    assert.ok(choice.ok);
    assert.deepEqual([choice.method.code, choice.by], ['AIRTEL_OAPI_UGA', 'name']);
  });

  test('without a name: the only method there is, else the one the number suggests', () => {
    const only = chooseMethod(collections(1), undefined, '254731234567');
    assert.ok(only.ok);
    assert.deepEqual([only.method.code, only.by], ['MPESA_KEN', 'only_method']);
    const predicted = chooseMethod(collections(11), null, '256772123456');
    assert.ok(predicted.ok);
    assert.deepEqual([predicted.method.code, predicted.by], ['MTN_MOMO_UGA', 'prediction']);
  });

  test('a number suggests a method of this table only', () => {
    assert.equal(predictMethod(collections(10), '255741234567')?.code, 'VODACOM_TZA');
    assert.equal(predictMethod(links(10), '255741234567'), null);
  });

  test('a method that cannot be predicted is asked for, with the names to choose from', () => {
    assert.deepEqual(chooseMethod(collections(11), undefined, '256711234567'), {
      ok: false,
      sentence:
        'The number does not identify the operator; use one of "MTN MoMo" (MTN_MOMO_UGA), "Airtel Money" (AIRTEL_OAPI_UGA).',
    });
    assert.deepEqual(chooseMethod(collections(11), 'paypal', '256772123456'), {
      ok: false,
      sentence:
        'This is not a payment method of Uganda; use one of "MTN MoMo" (MTN_MOMO_UGA), "Airtel Money" (AIRTEL_OAPI_UGA).',
    });
  });
});

describe('the method of a payout', () => {
  const candidates = (msisdn: string, codes: string[]) =>
    codes.map((code) => ({ method: catalog.methods.get(code) ?? assert.fail(), msisdn }));
  const choose = (msisdn: string, codes: string[], name?: string) =>
    choosePayoutMethod(candidates(msisdn, codes), name)?.method.code ?? null;
  const both = ['MTN_MOMO_UGA', 'AIRTEL_OAPI_UGA'];

  test('is the one it names, by any of its names', () => {
    assert.equal(choose('256772123456', both, 'airtel-money'), 'AIRTEL_OAPI_UGA');
    assert.equal(choose('256772123456', both, 'mtn momo'), 'MTN_MOMO_UGA');
    assert.equal(choose('256772123456', both, 'Bank of Nowhere'), null);
  });

  test('is the only one, else the one that the number suggests, else none', () => {
    assert.equal(choose('256700000000', ['MTN_MOMO_UGA']), 'MTN_MOMO_UGA');
    assert.equal(choose('256772123456', both), 'MTN_MOMO_UGA');
    assert.equal(choose('256702123456', both), 'AIRTEL_OAPI_UGA');
    assert.equal(choose('256719999999', both), null);
    assert.equal(choose('256772123456', []), null);
  });
});

describe('instructions for payers', () => {
  test('dialling and verifying', () => {
    const [mtn, orange, otp, bank, halo] = [
      'MTN_MOMO_UGA',
      'ORANGE_SEN',
      'VODAFONE_GHA',
      'BANK_NGA',
      'HALOTEL_TZA',
    ].map((code) => catalog.methods.get(code) ?? assert.fail(code));
    assert.ok(mtn && orange && otp && bank && halo);
    assert.equal(describeDial(mtn), 'Dial *165#, then choose 8, 3, 1 and enter your PIN.');
    assert.equal(describeDial(halo), null);
    assert.match(describeVerification(mtn), /enter the PIN to approve\. No prompt\? Dial \*165#/);
    assert.match(describeVerification(halo), /enter the PIN to approve\.$/);
    assert.match(describeVerification(orange), /SMS with the short code #144# arrives\. Dial it/);
    assert.match(describeVerification(otp), /six-digit token/);
    assert.match(describeVerification(bank), /^Pay with Bank transfer/);
  });

  test('every failure code has a sentence', () => {
    assert.equal(FAILURE_CODES.length, 15);
    for (const code of FAILURE_CODES) assert.match(failureMessage(code), /^[A-Z].*\.$/);
    assert.equal(isFailureCode('toString'), false);
  });
});
