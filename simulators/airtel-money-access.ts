// Who may call the simulated Airtel Money: the token, the headers with their odd refusals, signed messages and the PIN.

import { createDecipheriv } from 'node:crypto';
import { findShapeProblem } from './body-shape.ts';
import type { Operation } from './faults.ts';
import type { SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { Refusal } from './refusal.ts';
import { decryptRsa, type RsaPadding } from './rsa-decrypt.ts';
import { bearerOf, createTokenStore } from './token-store.ts';

type Settings = Readonly<Record<string, string>>;

export const AIRTEL_CURRENCIES: Readonly<Record<string, string>> = {
  TZ: 'TZS',
  UG: 'UGX',
  ZM: 'ZMW',
  KE: 'KES',
  MW: 'MWK',
  RW: 'RWF',
  MG: 'MGA',
  CD: 'CDF',
  CG: 'XAF',
  GA: 'XAF',
  TD: 'XAF',
  NE: 'XOF',
  NG: 'NGN',
  SC: 'SCR',
};

export interface AirtelAccess {
  routes: SimulatorRoute[];
  /** Country and currency of a call that may be made; throws the Refusal of one that may not. */
  enter(request: SimulatorRequest, operation: Operation): { country: string; currency: string };
}

export function createAirtelAccess(context: SimulatorContext, settings: Settings): AirtelAccess {
  const tokens = createTokenStore(() => context.now());
  const countries = (settings.countries ?? '').split(',');

  function enter(request: SimulatorRequest, operation: Operation) {
    const token = bearerOf(request.headers.authorization);
    if (context.takeFault('token_ended', operation)) tokens.end(token);
    if (tokens.ownerOf(token) === null) {
      throw new Refusal(403, {
        error_description: 'The access token is invalid or has expired',
        error: 'invalid_token',
      });
    }
    const country = request.headers['x-country'];
    const currency = request.headers['x-currency'];
    if (!country) throw routerRefusal('ROUTER110', `Partner ${settings.clientId} not found`);
    if (country.length !== 2) throw refusalOf(400, { response_code: 'DP00900001013', message: 'Invalid Country Code' });
    if (!(country in AIRTEL_CURRENCIES)) throw routerRefusal('ROUTER006', 'Country is not supported');
    if (!countries.includes(country)) throw routerRefusal('ROUTER007', 'Not authorised for this country');
    if (!currency) {
      const message = "Missing request header 'x-wallet-id' for method parameter of type String";
      throw refusalOf(200, { result_code: 'ESB000008', message });
    }
    if (currency !== AIRTEL_CURRENCIES[country]) throw routerRefusal('ROUTER112', 'Currency is not supported');
    return { country, currency };
  }

  const tokenRoute: SimulatorRoute = {
    method: 'POST',
    path: '/auth/oauth2/token',
    operation: 'token',
    handle({ json }) {
      const problem = findShapeProblem(json, { client_id: 'string', client_secret: 'string', grant_type: 'string' });
      const isKnown =
        json?.client_id === settings.clientId &&
        json?.client_secret === settings.clientSecret &&
        json?.grant_type === 'client_credentials';
      if (problem !== null || !isKnown) {
        throw new Refusal(400, { error_description: 'Invalid client authentication', error: 'invalid_client' });
      }
      const seconds = Number(settings.tokenSeconds);
      const access_token = tokens.issue('merchant', seconds);
      const expires_in = settings.expiresForm === 'number' ? seconds : String(seconds);
      return { status: 200, body: { token_type: 'bearer', access_token, expires_in } };
    },
  };

  const keyRoute: SimulatorRoute = {
    method: 'GET',
    path: '/v1/rsa/encryption-keys',
    operation: 'other',
    handle(request) {
      enter(request, 'other');
      const data = { key_id: 100, key: settings.publicKey, valid_upto: writeDate(context.now() + YEAR_MS) };
      const status = { code: '200', response_code: 'DP02010001001', result_code: 'ESB000010', success: true };
      return { status: 200, body: { data, status } };
    },
  };

  return { routes: [tokenRoute, keyRoute], enter };
}

/** `mismatch` is the code for a signature that is missing or does not fit the body. */
export function checkAirtelSignature(request: SimulatorRequest, settings: Settings, mismatch: string): void {
  if (!isSigned(request, settings.privateKey ?? '')) {
    throw refusalOf(200, { response_code: mismatch, message: 'Signature mismatch' });
  }
}

/** x-key holds the AES key and the vector, encrypted for Airtel; x-signature is the body, encrypted with them. */
function isSigned({ headers, text }: SimulatorRequest, privateKey: string): boolean {
  const secrets = decryptRsa(headers['x-key'] ?? '', privateKey, 'pkcs1');
  const [key = '', iv = ''] = secrets?.split(':') ?? [];
  try {
    const decipher = createDecipheriv('aes-256-cbc', Buffer.from(key, 'base64'), Buffer.from(iv, 'base64'));
    const body = Buffer.concat([decipher.update(headers['x-signature'] ?? '', 'base64'), decipher.final()]);
    return body.toString('utf8') === text;
  } catch {
    return false;
  }
}

export function checkAirtelPin(encrypted: string, settings: Settings): void {
  const pin = decryptRsa(encrypted, settings.privateKey ?? '', settings.pinPadding as RsaPadding);
  if (pin === null) throw refusalOf(200, { response_code: 'DP00900001013', message: 'Incorrect Encrypted Pin' });
  if (pin !== settings.pin) throw routerRefusal('ROUTER115', 'PIN is wrong');
}

/** A refusal in the envelope: status.code is 400, whatever the HTTP status. */
export function refusalOf(
  httpStatus: number,
  status: { response_code?: string; result_code?: string; message: string },
): Refusal {
  return new Refusal(httpStatus, { status: { code: '400', success: false, ...status } });
}

/** Airtel's gateway has an envelope of its own. */
export function routerRefusal(status_code: string, status_message: string): Refusal {
  return new Refusal(400, { status_message, status_code });
}

const YEAR_MS = 365 * 86_400_000;

/** "12-08-2024 21:29:26" */
function writeDate(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().slice(0, 19).split('T');
  return `${date.split('-').reverse().join('-')} ${time}`;
}
