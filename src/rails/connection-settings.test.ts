// The settings of a connection: every error is named at once, in a sentence, and never with a secret in it.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { plainRail } from '../../test/plain-rail.ts';
import { initialValues, isSealed, readSettings } from './connection-settings.ts';
import { RAILS } from './registry.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const GOOD = { account: 'shop', api_key: 'secret-of-the-shop', region: 'east', strict: 'no' };
const errorsOf = (given: Record<string, string>) => readSettings(plainRail, GOOD, given).errors;

describe('settings of a connection', () => {
  test('a simulator needs nothing: its values are those of the schema', () => {
    const reading = readSettings(plainRail, initialValues(plainRail, 'simulator'), {});
    assert.deepEqual(reading, {
      values: { account: 'shop', api_key: 'key-of-the-simulator', region: 'east', strict: 'no' },
      errors: {},
    });
  });

  for (const rail of RAILS)
    test(`the values of ${rail.name} for its simulator are valid`, () => {
      assert.deepEqual(readSettings(rail, initialValues(rail, 'simulator'), {}).errors, {});
    });

  test('every error is named at once', () => {
    const { errors } = readSettings(plainRail, initialValues(plainRail, 'production'), {
      acount: 'shop',
      region: 'north',
      strict: 'maybe',
      ranges: '10.0.0.0/8, nowhere',
      password: 'x',
    });
    assert.deepEqual(errors, {
      acount: ['Plain Money has no setting "acount". Did you mean "account"?'],
      password: [
        'Plain Money has no setting "password". It has: account, api_key, ranges, certificate, signing_key, region, strict.',
      ],
      account: ['Account is missing. It is on the first page of the portal.'],
      api_key: ['API key is missing. Make one in the portal.'],
      ranges: ['Allowed addresses must be IP addresses or ranges; "nowhere" is neither.'],
      region: ['Region must be one of east, west.'],
      strict: ['Strict must be yes or no.'],
    });
  });

  test('pasted values are tidied, and an optional one is cleared by an empty value', () => {
    const { values, errors } = readSettings(
      plainRail,
      { ...GOOD, ranges: '10.0.0.0/8' },
      { account: ' shop-2 \n', certificate: publicKey.replaceAll('\n', '\r\n'), ranges: '' },
    );
    assert.deepEqual(
      [errors, values.account, values.certificate, values.ranges],
      [{}, 'shop-2', publicKey.trim(), undefined],
    );
    const ranges = readSettings(plainRail, GOOD, { ranges: '10.0.0.0/8\n 192.0.2.7,2001:db8::/32' }).values.ranges;
    assert.equal(ranges, '10.0.0.0/8,192.0.2.7,2001:db8::/32');
  });

  test('keys and certificates are parsed, each in its place', () => {
    assert.deepEqual(errorsOf({ signing_key: privateKey, certificate: publicKey }), {});
    assert.match(String(errorsOf({ certificate: privateKey }).certificate), /is a private key; the public key/);
    assert.match(String(errorsOf({ signing_key: publicKey }).signing_key), /is not a private key/);
    assert.match(String(errorsOf({ certificate: 'MIIB' }).certificate), /begins with -----BEGIN/);
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
    assert.match(String(errorsOf({ certificate: broken }).certificate), /not a readable certificate/);
  });

  test('no value of a setting is in the sentence about it', () => {
    const secret = 'line one\nline two of the secret';
    const { errors } = readSettings(plainRail, GOOD, { api_key: secret, signing_key: '-----BEGIN SECRET' });
    assert.deepEqual(Object.keys(errors), ['api_key', 'signing_key']);
    assert.doesNotMatch(JSON.stringify(errors), /line two|BEGIN SECRET/);
  });

  test('secrets and sealed keys are the values that are sealed', () => {
    const sealed = plainRail.settings.filter(isSealed).map(({ name }) => name);
    assert.deepEqual(sealed, ['api_key', 'signing_key']);
  });
});
