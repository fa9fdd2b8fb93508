// What a simulated Daraja is told when it starts: the merchant's account, and how long things take.

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SIMULATOR_CERTIFICATE, SIMULATOR_PRIVATE_KEY } from './daraja-key.ts';

/** The account that every simulator has; `settings` of the same names override it. */
export const DARAJA_SIMULATOR_SETTINGS: Record<string, string> = {
  consumerKey: 'simulated-consumer-key',
  consumerSecret: 'simulated-consumer-secret',
  /** The pay bill number. */
  shortCode: '174379',
  passkey: 'simulated-passkey',
  /** A till has two numbers: the store asks for the prompt, and payers pay to the till. */
  storeNumber: '600584',
  tillNumber: '600585',
  b2cShortCode: '174379',
  initiatorName: 'testapi',
  initiatorPassword: 'Simulated#2026',
  certificate: SIMULATOR_CERTIFICATE,
};

/** How the operator behaves. Lengths are seconds and may have decimals. */
const BEHAVIOUR = {
  organisationName: 'SIMULATED SHOP',
  tokenSeconds: '3599',
  promptSeconds: '60',
  /** A second payment of the same amount by the same phone is refused within this time; 0 allows it. */
  sameAmountSeconds: '120',
  /** From the acknowledgement to the result. */
  resultSeconds: '0.02',
  /** late_success: how long after the false end the money moves. */
  lateSeconds: '60',
  validationSeconds: '8',
  /** How often a callback or result is sent until it is answered with 2xx. Confirmations are never repeated. */
  callbackTries: '1',
  callbackRetrySeconds: '10',
  /** Whether Safaricom switched validation on for the short codes. */
  validation: 'true',
  /** Only https, and no forbidden words, in every address and not only in those of C2B. */
  strictUrls: 'false',
  /** 'unreachable': a prompt whose phone numbers are JSON texts ends with 1037, as some merchants met it. */
  textPhones: 'accepted',
  /** Versions of B2C that the short code may use. */
  payoutVersions: 'v1,v3',
  enabledProducts: 'express,c2b,pull,b2c,status,reversal,balance',
  /** PKCS #8, DER, base64: the key of `certificate`. */
  privateKey: SIMULATOR_PRIVATE_KEY,
};

export type Product = 'express' | 'c2b' | 'pull' | 'b2c' | 'status' | 'reversal' | 'balance';

export type DarajaOptions = {
  readonly account: Readonly<Record<keyof typeof BEHAVIOUR | AccountSetting, string>>;
  readonly privateKey: KeyObject;
  /** Milliseconds of a setting in seconds. */
  ms(name: keyof typeof BEHAVIOUR): number;
  isOn(name: keyof typeof BEHAVIOUR): boolean;
  hasProduct(product: Product): boolean;
  /** Whether the number is one of the merchant's. */
  isOwn(shortCode: string | undefined): boolean;
};

type AccountSetting =
  | 'consumerKey'
  | 'consumerSecret'
  | 'shortCode'
  | 'passkey'
  | 'storeNumber'
  | 'tillNumber'
  | 'b2cShortCode'
  | 'initiatorName'
  | 'initiatorPassword'
  | 'certificate';

export function readOptions(settings: Readonly<Record<string, string>>): DarajaOptions {
  const account = { ...BEHAVIOUR, ...DARAJA_SIMULATOR_SETTINGS, ...settings } as DarajaOptions['account'];
  const products = account.enabledProducts.split(',');
  return {
    account,
    privateKey: createPrivateKey({ key: Buffer.from(account.privateKey, 'base64'), format: 'der', type: 'pkcs8' }),
    ms(name) {
      const seconds = Number(account[name]);
      if (!Number.isFinite(seconds) || seconds < 0) throw new Error(`${name} must be a number of seconds`);
      return seconds * 1000;
    },
    isOn: (name) => account[name] === 'true',
    hasProduct: (product) => products.includes(product),
    isOwn: (shortCode = '') =>
      [account.shortCode, account.storeNumber, account.tillNumber, account.b2cShortCode].includes(shortCode),
  };
}
