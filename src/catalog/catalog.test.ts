import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { loadCatalog, type Method, readCatalog } from './catalog.ts';
import {
  findCollectionCountry,
  findLinkCountry,
  findPayerCountry,
  listCollectionCountries,
  listLinkCountries,
} from './countries.ts';
import { BUILT_IN } from './data.ts';

const catalog = loadCatalog();
const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
after(() => rmSync(folder, { recursive: true }));

describe('the tables of the specification', () => {
  test('payment-link countries, cell by cell', () => {
    const rows = listLinkCountries(catalog).map((row) => [
      row.countryId,
      row.name,
      row.dialCode,
      row.currency,
      row.paymentMethodTypes,
    ]);
    assert.deepEqual(rows, [
      [1, 'Kenya', '254', 'KES', 'till number, pay bill, bank transfer, send money'],
      [2, 'Benin', '229', 'XOF', '1 mobile operator'],
      [3, "Cote D'Ivoire", '225', 'XOF', '2 mobile operators'],
      [4, 'Cameroon', '237', 'XAF', '2 mobile operators'],
      [9, 'Senegal', '221', 'XOF', '2 mobile operators'],
      [10, 'Tanzania', '255', 'TZS', '3 mobile operators'],
      [11, 'Uganda', '256', 'UGX', '2 mobile operators'],
      [12, 'Zambia', '260', 'ZMW', '2 mobile operators'],
      [13, 'Sierra Leone', '232', 'SLE', '1 mobile operator'],
      [16, 'Ghana', '233', 'GHS', '3 mobile operators'],
      [17, 'Nigeria', '234', 'NGN', 'bank'],
    ]);
  });

  test('collection countries, cell by cell, with the column that has no header', () => {
    const rows = listCollectionCountries(catalog).map((row) => [
      row.countryId,
      row.name,
      row.dialCode,
      row.currency,
      row.paymentMethodTypes,
      row.extraColumn,
      row.apiCollections,
    ]);
    assert.deepEqual(rows, [
      [1, 'Kenya', '254', 'KES', 'send money', '', true],
      [2, 'Benin', '229', 'XOF', '2 mobile operators', 'Not Supported', false],
      [3, "Cote D'Ivoire", '225', 'XOF', '2 mobile operators', 'Not Supported', false],
      [4, 'Cameroon', '237', 'XAF', '2 mobile operators', 'Not Supported', false],
      [9, 'Senegal', '221', 'XOF', '2 mobile operators', 'Not Supported', false],
      [10, 'Tanzania', '255', 'TZS', '4 mobile operators', '2 dp for one named operator', true],
      [11, 'Uganda', '256', 'UGX', '2 mobile operators', '2 dp for one named operator', true],
      [12, 'Zambia', '260', 'ZMW', '2 mobile operators', '2 dp', true],
      [13, 'Sierra Leone', '232', 'SLE', '1 mobile operator', '2 dp', true],
    ]);
  });

  test('the extra column says how many of the methods have two decimals', () => {
    const twoDecimals = (id: number) =>
      findCollectionCountry(catalog, id)
        ?.methods.filter((method) => method.collection.decimals === 2)
        .map((method) => method.code);
    assert.deepEqual(twoDecimals(10), ['AIRTEL_TZA']);
    assert.deepEqual(twoDecimals(11), ['MTN_MOMO_UGA']);
    assert.deepEqual(twoDecimals(12), ['MTN_MOMO_ZMB', 'AIRTEL_OAPI_ZMB']);
    assert.deepEqual(twoDecimals(13), ['ORANGE_SLE']);
    for (const id of [1, 2, 3, 4, 9]) assert.deepEqual(twoDecimals(id), []);
  });

  test('an id counts in its own table only', () => {
    assert.equal(findLinkCountry(catalog, 16)?.name, 'Ghana');
    assert.equal(findCollectionCountry(catalog, 16), null);
    for (const id of [0, 5, -1, 1.5, Number.NaN]) assert.equal(findLinkCountry(catalog, id), null);
  });
});

describe('methods', () => {
  // code, payer's style of verifying, decimals in and out, limits in and out (hundredths).
  const expected: [string, Method['verification'], number, number | null, bigint, bigint][] = [
    ['MPESA_KEN', 'prompt', 0, 2, 1_00n, 250_000_00n],
    ['MPESA_TILL_KEN', 'instructions', 0, null, 1_00n, 250_000_00n],
    ['MPESA_PAYBILL_KEN', 'instructions', 0, null, 1_00n, 250_000_00n],
    ['PESALINK_KEN', 'instructions', 2, 2, 10_00n, 999_999_00n],
    ['MTN_MOMO_BEN', 'prompt', 0, 0, 1_00n, 2_000_000_00n],
    ['MOOV_BEN', 'prompt', 0, 0, 100_00n, 2_000_000_00n],
    ['MTN_MOMO_CIV', 'prompt', 0, 0, 1_00n, 2_000_000_00n],
    ['ORANGE_CIV', 'prompt', 0, 0, 1_00n, 2_000_000_00n],
    ['MTN_MOMO_CMR', 'prompt', 0, 0, 1_00n, 1_000_000_00n],
    ['ORANGE_CMR', 'prompt', 0, 0, 1_00n, 500_000_00n],
    ['ORANGE_SEN', 'shortcode', 0, 0, 2_00n, 100_000_000_00n],
    ['FREE_SEN', 'prompt', 0, 0, 5_00n, 100_000_000_00n],
    ['AIRTEL_TZA', 'prompt', 2, 2, 100_00n, 3_000_000_00n],
    ['TIGO_TZA', 'prompt', 0, 0, 100_00n, 5_000_000_00n],
    ['HALOTEL_TZA', 'prompt', 0, 0, 100_00n, 5_000_000_00n],
    ['VODACOM_TZA', 'prompt', 0, 0, 100_00n, 5_000_000_00n],
    ['MTN_MOMO_UGA', 'prompt', 2, 2, 500_00n, 5_000_000_00n],
    ['AIRTEL_OAPI_UGA', 'prompt', 0, 0, 500_00n, 5_000_000_00n],
    ['MTN_MOMO_ZMB', 'prompt', 2, 2, 1_00n, 20_000_00n],
    ['AIRTEL_OAPI_ZMB', 'prompt', 2, 2, 1_00n, 20_000_00n],
    ['ORANGE_SLE', 'prompt', 2, 2, 1_00n, 15_000_00n],
    ['MTN_MOMO_GHA', 'prompt', 2, 2, 1_00n, 15_000_00n],
    ['VODAFONE_GHA', 'otp', 2, 2, 1_00n, 15_000_00n],
    ['AIRTELTIGO_GHA', 'prompt', 2, 2, 1_00n, 10_000_00n],
    ['BANK_NGA', 'instructions', 2, 2, 100_00n, 10_000_000_00n],
  ];

  test('each has the verification, decimals and limits of its operator', () => {
    const actual = [...catalog.methods.values()].map((method) => [
      method.code,
      method.verification,
      method.collection.decimals,
      method.payout?.decimals ?? null,
      method.collection.min,
      method.collection.max,
    ]);
    assert.deepEqual(actual, expected);
  });

  test('each is listed by a row of its own country, with the currency of the row', () => {
    const rows = [...listLinkCountries(catalog), ...listCollectionCountries(catalog)];
    for (const method of catalog.methods.values()) {
      const listing = rows.filter((row) => row.methods.includes(method));
      assert.ok(listing.length > 0, method.code);
      for (const row of listing)
        assert.deepEqual([row.countryId, row.currency], [method.countryId, method.currency], method.code);
    }
  });

  test('text on the colours of a brand can be read (contrast at least 4.5 to 1)', () => {
    const luminance = (hex: string) => {
      const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
        const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    for (const { code, colours } of catalog.methods.values()) {
      const [dark = 0, light = 0] = [luminance(colours.background), luminance(colours.text)].sort((a, b) => a - b);
      assert.ok((light + 0.05) / (dark + 0.05) >= 4.5, code);
    }
  });
});

describe("the payer's country", () => {
  const find = (currency: string, countryId: number, currencyCountryId?: number) => {
    const found = findPayerCountry(
      catalog,
      currencyCountryId === undefined ? { currency, countryId } : { currency, countryId, currencyCountryId },
    );
    if (found.kind === 'known') return found.country.name;
    return found.kind === 'error' ? `${found.field}: ${found.sentence}` : found.countries.map((row) => row.name);
  };

  test('is the one that is named, if it uses the currency', () => {
    assert.equal(find('XOF', 2, 9), 'Senegal');
    assert.equal(find('XOF', 1, 3), "Cote D'Ivoire");
    assert.equal(find('XOF', 2, 4), 'currency_country_id: Cameroon uses XAF, not XOF.');
    assert.equal(find('XOF', 2, 99), 'currency_country_id: This is not the id of a country for payment links.');
  });

  test('else the merchant’s, else the only one with the currency, else the payer chooses', () => {
    assert.equal(find('XOF', 9), 'Senegal');
    assert.equal(find('UGX', 1), 'Uganda');
    assert.deepEqual(find('XOF', 1), ['Benin', "Cote D'Ivoire", 'Senegal']);
  });

  test('needs a country and a currency of the table', () => {
    assert.equal(find('KES', 5), 'country_id: This is not the id of a country for payment links.');
    assert.match(
      String(find('EUR', 1)),
      /^currency: This is not the currency of a payment-link country; use one of KES/,
    );
  });
});

describe('the override file', () => {
  const load = (content: unknown) => {
    const file = join(folder, 'catalog.json');
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return loadCatalog(file);
  };
  const errorsOf = (content: unknown): string[] => {
    try {
      load(content);
    } catch (error) {
      assert.ok(error instanceof Error);
      return error.message.split('\n').slice(1);
    }
    assert.fail('the file was accepted');
  };

  test('changes what it names and leaves the rest', () => {
    const changed = load({
      collections: { 9: { apiCollections: true } },
      methods: {
        MTN_MOMO_UGA: { collection: { min: '0.50', fee: { basisPoints: 250, min: 1, max: 100 } } },
        BANK_NGA: { collection: { fee: { max: null } } },
      },
    });
    assert.equal(findCollectionCountry(changed, 9)?.apiCollections, true);
    assert.equal(findCollectionCountry(changed, 4)?.apiCollections, false);
    const terms = changed.methods.get('MTN_MOMO_UGA')?.collection;
    assert.deepEqual(terms?.fee, { basisPoints: 250n, fixed: 0n, min: 1_00n, max: 100_00n });
    assert.deepEqual([terms?.min, terms?.max], [50n, 5_000_000_00n]);
    assert.equal(changed.methods.get('BANK_NGA')?.collection.fee.max, null);
    assert.equal(catalog.methods.get('MTN_MOMO_UGA')?.collection.min, 500_00n);
  });

  test('can take a method away and add one', () => {
    const { prefixes: _, ...rest } = BUILT_IN.methods.AIRTEL_OAPI_ZMB ?? assert.fail();
    const changed = load({
      brands: { ZAMTEL: { background: '#007A3D', text: '#FFFFFF' } },
      countries: { ZM: { otherPrefixes: ['98', '78', '58'] } },
      methods: {
        AIRTEL_OAPI_ZMB: null,
        ZAMTEL_ZMB: { ...rest, name: 'Zamtel Money', aliases: [], brand: 'ZAMTEL', prefixes: ['95', '75', '55'] },
      },
      paymentLinks: { 12: { methods: ['MTN_MOMO_ZMB', 'ZAMTEL_ZMB'] } },
      collections: { 12: { methods: ['ZAMTEL_ZMB'] } },
    });
    assert.equal(findCollectionCountry(changed, 12)?.paymentMethodTypes, '1 mobile operator');
  });

  test('every error of shape is one sentence with its path, all at once', () => {
    const errors = errorsOf({
      colour: 'red',
      countries: { UG: { languages: ['de'] }, XX: {} },
      methods: {
        MTN_MOMO_UGA: { collection: { min: -5, decimals: 3, limit: 1 }, verification: 'sms' },
        AIRTEL_OAPI_UGA: { collection: { max: null } },
        lower: {},
      },
    });
    const expected = [
      'methods.MTN_MOMO_UGA.collection.min must be an amount of zero or more with at most two decimals, such as 500 or "0.50".',
      'methods.MTN_MOMO_UGA.collection.decimals must be 0, 1 or 2.',
      'methods.MTN_MOMO_UGA.collection.limit is not a known member; the members are decimals, decimalsReason, min, max, fee.',
      'methods.MTN_MOMO_UGA.verification must be one of "prompt", "shortcode", "otp", "instructions".',
      'methods.AIRTEL_OAPI_UGA.collection.max is required: an amount of zero or more with at most two decimals, such as 500 or "0.50".',
      'methods.lower is not a known member; methods must be an object of methods by code (capitals, digits and _, at most 40).',
      'colour is not a known member; the members are paymentLinks, collections, countries, brands, methods.',
      'countries.XX.dialCode is required: the dial code, such as "256".',
    ];
    for (const sentence of expected)
      assert.ok(errors.includes(`- ${sentence}`), `${sentence}\nnot in\n${errors.join('\n')}`);
    assert.ok(errors.some((error) => error.startsWith('- countries.UG.languages')));
  });

  const contradictions: [string, unknown, string][] = [
    [
      'a name for two methods of one country',
      { methods: { AIRTEL_OAPI_UGA: { aliases: ['m t n'] } } },
      'methods.AIRTEL_OAPI_UGA must not be called "m t n": methods.MTN_MOMO_UGA of the same country is.',
    ],
    [
      'a prefix of two operators',
      { methods: { AIRTEL_OAPI_UGA: { prefixes: ['77'] } } },
      'methods.AIRTEL_OAPI_UGA.prefixes must not hold "77": methods.MTN_MOMO_UGA.prefixes holds it.',
    ],
    [
      'a limit upside down',
      { methods: { MTN_MOMO_UGA: { payout: { max: 1 } } } },
      'methods.MTN_MOMO_UGA.payout.max must not be less than methods.MTN_MOMO_UGA.payout.min.',
    ],
    [
      'no least amount',
      { methods: { MTN_MOMO_UGA: { collection: { min: 0 } } } },
      'methods.MTN_MOMO_UGA.collection.min must be more than zero.',
    ],
    [
      'a fee with more decimals than the method',
      { methods: { MPESA_KEN: { collection: { fee: { fixed: 0.5 } } } } },
      'methods.MPESA_KEN.collection.fee.fixed must have at most 0 decimals, as methods.MPESA_KEN.collection.decimals says.',
    ],
    [
      'an amount finer than hundredths',
      { methods: { MTN_MOMO_UGA: { collection: { min: 0.001 } } } },
      'methods.MTN_MOMO_UGA.collection.min must be an amount with at most two decimals, not beyond 70368744177663.99.',
    ],
    [
      'a method that does not exist',
      { collections: { 11: { methods: ['MTN'] } } },
      'collections.11.methods.0 must be a key of methods; "MTN" is not.',
    ],
    [
      'a method of another country',
      { paymentLinks: { 11: { methods: ['MPESA_KEN'] } } },
      'paymentLinks.11.methods.0 must be a method of UG; "MPESA_KEN" is of KE.',
    ],
    [
      'a row with another currency than its country',
      { collections: { 11: { currency: 'USD' } } },
      'collections.11.currency must be "UGX", as countries.UG.currency is.',
    ],
    [
      'a pattern that is none',
      { countries: { UG: { mobile: '(' } } },
      'countries.UG.mobile must be a regular expression.',
    ],
    [
      'decimals in a country that was "Not Supported"',
      {
        collections: { 4: { apiCollections: true } },
        methods: { ORANGE_CMR: { collection: { decimals: 2 } } },
      },
      'methods.ORANGE_CMR.collection.decimals must be 0, because collections.4 is "Not Supported" but opened.',
    ],
  ];
  for (const [what, content, sentence] of contradictions)
    test(`explains ${what}`, () => assert.deepEqual(errorsOf(content), [`- ${sentence}`]));

  test('that is no JSON object, or not there, says so with its name', () => {
    assert.throws(() => load('{ "methods": '), /catalog\.json \(CATALOG_FILE\) is not acceptable JSON: .*position/);
    assert.throws(() => load('{ "a": 1, "a": 2 }'), /is not acceptable JSON/);
    assert.throws(() => load('{ "__proto__": {} }'), /is not acceptable JSON/);
    assert.throws(() => load('[]'), /must be a JSON object/);
    assert.throws(() => loadCatalog(join(folder, 'absent.json')), /absent\.json \(CATALOG_FILE\) cannot be read/);
    assert.throws(
      () => readCatalog(null),
      /^CatalogError: The built-in catalogue has an error:\n- The catalogue must be an object/,
    );
  });
});
