// What pawaPay refuses: 400 for a request that is not well formed, 200 with REJECTED for one that breaks a rule of business.

import { readMoney, writeMoney } from './money.ts';
import {
  isNumberOf,
  limitsOf,
  type PawapayKind,
  type PawapayProvider,
  predictProviders,
  providerOf,
} from './pawapay-providers.ts';

export type PawapayRefusal = {
  /** 400, 401 or 403; 200 for a rule of business. */
  status: number;
  failureCode: string;
  failureMessage: string;
  /** The samples show null in place of the id for this one. */
  withoutId?: boolean;
};

export type PawapayOrder = {
  kind: PawapayKind;
  id: string;
  /** Only refunds. */
  depositId?: string;
  /** Null: the rest of a deposit, only refunds. */
  amount: bigint | null;
  currency: string;
  phoneNumber: string;
  provider: PawapayProvider;
  customerMessage?: string;
  clientReferenceId?: string;
  metadata: Record<string, string>;
};

type Json = Record<string, unknown>;
type Checked<T> = { value: T } | { refusal: PawapayRefusal };

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const AMOUNT = /^(0|[1-9]\d{0,17})(\.\d{0,3}[1-9])?$/;
const MAX_METADATA = 10;

/** Required fields have no question mark. */
const FIELDS: Record<PawapayKind, readonly string[]> = {
  deposit: [
    'depositId',
    'amount',
    'currency',
    'payer',
    'clientReferenceId?',
    'customerMessage?',
    'metadata?',
    'preAuthorisationCode?',
    'successfulUrl?',
    'failedUrl?',
  ],
  payout: ['payoutId', 'amount', 'currency', 'recipient', 'clientReferenceId?', 'customerMessage?', 'metadata?'],
  refund: ['refundId', 'depositId', 'amount?', 'currency?', 'clientReferenceId?', 'metadata?'],
};

export const partyOf = (kind: PawapayKind) => (kind === 'deposit' ? 'payer' : 'recipient');

export const invalid = (name: string, why: string): PawapayRefusal => ({
  status: 400,
  failureCode: 'INVALID_PARAMETER',
  failureMessage: `The parameter '${name}' is not valid: ${why}.`,
});

export const rejected = (failureCode: string, failureMessage: string): PawapayRefusal => ({
  status: 200,
  failureCode,
  failureMessage,
});

/** Fields that are missing or that pawaPay does not know. */
export function checkFields(body: Json, fields: readonly string[]): PawapayRefusal | null {
  const names = fields.map((field) => field.replace('?', ''));
  const missing = fields.find((field) => !field.endsWith('?') && (body[field] === undefined || body[field] === null));
  if (missing !== undefined)
    return {
      status: 400,
      failureCode: 'MISSING_PARAMETER',
      failureMessage: `The required parameter '${missing}' is missing.`,
    };
  const unknown = Object.keys(body).find((name) => !names.includes(name));
  return unknown === undefined
    ? null
    : {
        status: 400,
        failureCode: 'UNSUPPORTED_PARAMETER',
        failureMessage: `The parameter '${unknown}' is not supported.`,
      };
}

/** The form of a request: everything that is answered with 400. Providers and amounts of business come later. */
export function checkForm(kind: PawapayKind, body: Json, anyUuid: boolean): PawapayRefusal | null {
  const uuid = anyUuid ? UUID : UUID_V4;
  const isUuid = (name: string) => typeof body[name] === 'string' && uuid.test(body[name]);
  const unknown = checkFields(body, FIELDS[kind]);
  if (unknown) return unknown;
  if (!isUuid(`${kind}Id`)) return invalid(`${kind}Id`, 'it must be a UUID of version 4');
  if (kind === 'refund' && !isUuid('depositId')) return invalid('depositId', 'it must be a UUID of version 4');
  if (body.amount !== undefined && !(typeof body.amount === 'string' && AMOUNT.test(body.amount)))
    return invalid('amount', 'it must be a text such as "15" or "15.5"');
  if ((body.amount === undefined) !== (body.currency === undefined))
    return invalid('currency', 'it goes with the amount');
  if (body.currency !== undefined && !(typeof body.currency === 'string' && /^[A-Z]{3}$/.test(body.currency)))
    return invalid('currency', 'it must have three letters');
  for (const name of ['clientReferenceId', 'customerMessage'])
    if (body[name] !== undefined && typeof body[name] !== 'string') return invalid(name, 'it must be a text');
  if (body.customerMessage !== undefined && !/^[A-Za-z0-9 ]{4,22}$/.test(textOf(body.customerMessage)))
    return invalid('customerMessage', 'it must have 4 to 22 letters, digits or spaces');
  return checkParty(kind, body) ?? checkMetadata(body.metadata);
}

function checkParty(kind: PawapayKind, body: Json): PawapayRefusal | null {
  if (kind === 'refund') return null;
  const party = body[partyOf(kind)];
  if (!isObject(party)) return invalid(partyOf(kind), 'it must be an object');
  const unknown = checkFields(party, ['type', 'accountDetails']);
  if (unknown) return unknown;
  if (party.type !== 'MMO') return invalid('type', "it must be 'MMO'");
  if (!isObject(party.accountDetails)) return invalid('accountDetails', 'it must be an object');
  const unknownDetail = checkFields(party.accountDetails, ['phoneNumber', 'provider']);
  if (unknownDetail) return unknownDetail;
  const { phoneNumber, provider } = party.accountDetails;
  if (typeof phoneNumber !== 'string' || !/^\d+$/.test(phoneNumber)) return invalid('phoneNumber', 'only digits');
  return typeof provider === 'string' ? null : invalid('provider', 'it must be a text');
}

function checkMetadata(metadata: unknown): PawapayRefusal | null {
  if (metadata === undefined) return null;
  if (!Array.isArray(metadata) || metadata.length > MAX_METADATA)
    return invalid('metadata', `it must be a list of at most ${MAX_METADATA} objects`);
  const names: string[] = [];
  for (const item of metadata as unknown[]) {
    const [name, ...more] = isObject(item) ? Object.keys(item).filter((key) => key !== 'isPII') : [];
    if (!isObject(item) || name === undefined || more.length > 0 || typeof item[name] !== 'string')
      return invalid('metadata', 'each object has one name and one text');
    if (names.includes(name))
      return {
        status: 400,
        failureCode: 'DUPLICATE_METADATA_FIELD',
        failureMessage: `The metadata field '${name}' was given more than once.`,
      };
    names.push(name);
  }
  return null;
}

/** A list of objects comes in, one object goes out. */
export function readMetadata(metadata: unknown): Record<string, string> {
  const items = (Array.isArray(metadata) ? metadata : []) as Record<string, string>[];
  return Object.fromEntries(items.flatMap((item) => Object.entries(item).filter(([name]) => name !== 'isPII')));
}

/** Provider, currency, number and amount of a deposit or a payout whose form is right. */
export function readOrder(kind: 'deposit' | 'payout', body: Json, strictRanges: boolean): Checked<PawapayOrder> {
  const party = body[partyOf(kind)] as { accountDetails: { phoneNumber: string; provider: string } };
  const { phoneNumber, provider: code } = party.accountDetails;
  const provider = providerOf(code);
  if (!provider) return refuse('INVALID_PROVIDER', `The provider '${code}' is not supported.`);
  const currency = String(body.currency);
  if (currency !== provider.currency)
    return refuse('INVALID_CURRENCY', `The currency '${currency}' is not supported by the provider '${code}'.`);
  if (!isNumberFor(provider, phoneNumber, strictRanges))
    return refuse(
      'INVALID_PHONE_NUMBER',
      `The phone number '${phoneNumber}' seems to be invalid for the provider '${code}'.`,
    );
  const amount = checkAmount(kind, provider, String(body.amount));
  if ('refusal' in amount) return amount;
  return {
    value: {
      kind,
      id: String(body[`${kind}Id`]),
      amount: amount.value,
      currency,
      phoneNumber,
      provider,
      metadata: readMetadata(body.metadata),
      ...optionalTexts(body),
    },
  };
}

export function optionalTexts(body: Json): { customerMessage?: string; clientReferenceId?: string } {
  const { customerMessage, clientReferenceId } = body as { customerMessage?: string; clientReferenceId?: string };
  return {
    ...(customerMessage === undefined ? {} : { customerMessage }),
    ...(clientReferenceId === undefined ? {} : { clientReferenceId }),
  };
}

export function checkAmount(kind: PawapayKind, provider: PawapayProvider, text: string): Checked<bigint> {
  const { decimals, min, max } = limitsOf(provider, kind);
  const amount = readMoney(text);
  if (amount === null || (decimals === 0 && amount % 100n !== 0n))
    return refuse('INVALID_AMOUNT', `The provider '${provider.provider}' supports ${decimals} decimals in the amount.`);
  if (amount >= min && amount <= max) return { value: amount };
  const [least, most] = [min, max].map((limit) => writeMoney(limit).replace(/\.00$/, ''));
  const message = `The amount needs to be more than '${least}' and less than '${most}' for provider '${provider.provider}'.`;
  return { refusal: { ...rejected('AMOUNT_OUT_OF_BOUNDS', message), withoutId: true } };
}

function isNumberFor(provider: PawapayProvider, phoneNumber: string, strictRanges: boolean): boolean {
  if (!isNumberOf(provider.country, phoneNumber)) return false;
  return !strictRanges || predictProviders(phoneNumber).includes(provider);
}

const refuse = (code: string, message: string) => ({ refusal: rejected(code, message) });

/** The text, or nothing where the value is of another type. */
export const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
