import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { type Country, loadCatalog } from './catalog.ts';
import { formatNumber, normaliseContactNumber, normaliseNumber, predictOperator } from './phone.ts';

const catalog = loadCatalog();
const countries = [...catalog.countries.values()];
const country = (iso: string): Country => catalog.countries.get(iso) ?? assert.fail(iso);
const read = (input: unknown, iso: string, lenient = false) => {
  const result = normaliseNumber(input, country(iso), { lenient });
  return result.ok ? result.digits : null;
};

/** National numbers that look like those of the country: a prefix it knows, or none, and random digits. */
const nationalNumbers = ({ example, dialCode, operators }: Country) =>
  fc
    .tuple(fc.constantFrom('', ...operators.keys()), fc.stringMatching(/^\d{14}$/), fc.integer({ min: -1, max: 1 }))
    .map(([prefix, random, off]) =>
      (prefix + random).slice(0, example.length - dialCode.length + (off === 0 ? 0 : off)),
    );

describe('normalising', () => {
  test('international with and without +, and the national form, are one number', () => {
    for (const written of ['256772123456', '+256772123456', '0772123456', '772123456'])
      assert.equal(read(written, 'UG'), '256772123456', written);
    for (const written of ['2250712345678', '+2250712345678', '0712345678'])
      assert.equal(read(written, 'CI'), '2250712345678', written);
    for (const written of ['23276123456', '+23276123456', '076123456', '76123456'])
      assert.equal(read(written, 'SL'), '23276123456', written);
  });

  test('old numbers of Benin with eight digits get 01 in front', () => {
    for (const written of ['97123456', '22997123456', '+22997123456', '0197123456', '2290197123456'])
      assert.equal(read(written, 'BJ'), '2290197123456', written);
    assert.equal(read('22951345789', 'BJ'), '2290151345789');
    assert.equal(read('21123456', 'BJ'), null, 'a fixed line of the old plan');
  });

  test('the API takes ASCII digits after one optional + and nothing else', () => {
    const refused = [
      '',
      '+',
      '++256772123456',
      '256 772 123456',
      ' 256772123456',
      '256772123456\n',
      '256-772-123456',
      '00256772123456',
      '+2560772123456',
      '٢٥٦٧٧٢١٢٣٤٥٦',
      '\uff12\uff15\uff16772123456',
      '\u202e256772123456',
      '256\u200d772123456',
      '2'.repeat(300),
      '1e10',
      256772123456,
      null,
      undefined,
      ['256772123456'],
    ];
    for (const written of refused) assert.equal(read(written, 'UG'), null, JSON.stringify(written));
  });

  test('pages for people forgive spaces, dashes, 00, a doubled trunk digit and pasted marks', () => {
    const forgiven = [
      '256 772 123456',
      '+256 (0) 772-123-456',
      '00256772123456',
      ' 0772.123.456 ',
      '\u202a+256\u00a0772\u00a0123456\u202c',
      '0772‑123‑456',
    ];
    for (const written of forgiven) assert.equal(read(written, 'UG', true), '256772123456', written);
    assert.equal(read('00229 97 12 34 56', 'BJ', true), '2290197123456');
    assert.equal(read('٢٥٦٧٧٢١٢٣٤٥٦', 'UG', true), null);
    assert.equal(read(' '.repeat(5000), 'UG', true), null);
  });

  test('numbers of other countries, fixed lines and wrong lengths are refused with an example', () => {
    for (const written of ['254712345678', '+254712345678', '256414123456', '25677212345', '2567721234567'])
      assert.equal(read(written, 'UG'), null, written);
    assert.deepEqual(normaliseNumber('+254712345678', country('UG')), {
      ok: false,
      sentence: 'This is not a mobile number of Uganda; write it like 256772123456 or 0772123456.',
    });
    assert.deepEqual(normaliseNumber('07x', country('UG')), {
      ok: false,
      sentence:
        'The number must be ASCII digits only, with or without a leading +, such as 256772123456 or 0772123456.',
    });
  });

  for (const one of countries)
    test(`${one.name}: agrees with libphonenumber on what is a mobile number, and is idempotent`, () => {
      fc.assert(
        fc.property(nationalNumbers(one), (national) => {
          const digits = one.dialCode + national;
          const parsed = parsePhoneNumberFromString(`+${digits}`);
          const type = parsed?.getType();
          const valid = (type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE') && parsed?.number === `+${digits}`;
          const result = normaliseNumber(`+${digits}`, one);
          // An old number that is upgraded is ours alone: the library knows today's plan only.
          if (result.ok && result.digits === digits) assert.ok(valid, digits);
          else assert.ok(!valid, digits);
          if (!result.ok) return;
          for (const again of [
            result.digits,
            `+${result.digits}`,
            one.trunk + result.digits.slice(one.dialCode.length),
          ])
            for (const lenient of [false, true])
              assert.deepEqual(normaliseNumber(again, one, { lenient }), result, again);
        }),
        { numRuns: 300 },
      );
    });
});

describe('predicting the operator', () => {
  test('every example number is normal and predicts its operator', () => {
    for (const method of catalog.methods.values()) {
      if (method.example === null) {
        assert.deepEqual(method.prefixes, [], method.code);
        continue;
      }
      assert.deepEqual(normaliseNumber(method.example, method.country), { ok: true, digits: method.example });
      assert.equal(predictOperator(method.example, method.country), method.code);
    }
    for (const one of countries) assert.deepEqual(normaliseNumber(one.example, one), { ok: true, digits: one.example });
  });

  test('the longest prefix wins, and operators outside the catalogue predict nothing', () => {
    const table: [string, string | null][] = [
      ['2290155123456', 'MOOV_BEN'],
      ['2290151123456', 'MTN_MOMO_BEN'],
      ['2290142123456', 'MTN_MOMO_BEN'],
      ['2290145123456', 'MOOV_BEN'],
      ['2290143123456', null],
      ['254741234567', 'MPESA_KEN'],
      ['254744123456', null],
      ['254757123456', 'MPESA_KEN'],
      ['254751234567', null],
      ['254101234567', null],
      ['254111234567', 'MPESA_KEN'],
      ['256724123456', 'MTN_MOMO_UGA'],
      ['256724012345', null],
      ['256737123456', 'MTN_MOMO_UGA'],
      ['256731234567', 'AIRTEL_OAPI_UGA'],
      ['237684123456', null],
      ['237683123456', 'MTN_MOMO_CMR'],
      ['237640123456', 'ORANGE_CMR'],
      ['2250112345678', null],
      ['221701234567', null],
      ['255731234567', null],
      ['255761234567', 'VODACOM_TZA'],
      ['260951234567', null],
      ['260571234567', 'AIRTEL_OAPI_ZMB'],
      ['23270123456', null],
      ['23277123456', null],
      ['23279123456', 'ORANGE_SLE'],
      ['233591234567', 'MTN_MOMO_GHA'],
      ['233501234567', 'VODAFONE_GHA'],
      ['2348031234567', null],
    ];
    for (const [digits, code] of table) {
      const one = countries.find((candidate) => digits.startsWith(candidate.dialCode)) ?? assert.fail(digits);
      assert.equal(predictOperator(digits, one), code, digits);
    }
    assert.equal(predictOperator('254712345678', country('UG')), null);
  });
});

describe('contact numbers', () => {
  test('may be of any country, fixed lines too', () => {
    assert.deepEqual(normaliseContactNumber('0772123456', country('UG')), { ok: true, digits: '256772123456' });
    assert.deepEqual(normaliseContactNumber('+442079460958', country('UG')), { ok: true, digits: '442079460958' });
    assert.deepEqual(normaliseContactNumber('254712345678', null), { ok: true, digits: '254712345678' });
    assert.equal(normaliseContactNumber('0772123456', null).ok, false);
    assert.equal(normaliseContactNumber('+1234', country('UG')).ok, false);
  });

  test('are shown as people write them', () => {
    assert.equal(formatNumber('256772123456'), '0772 123 456');
    assert.equal(formatNumber('2290197123456'), '01 97 12 34 56');
    assert.equal(formatNumber('1'), '1');
  });
});
