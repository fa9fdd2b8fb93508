// What pawaPay's providers and codes mean to us. Provider codes are the codes of our methods.

import type { FailureCode } from '../catalog/failures.ts';
import type { MoneyDirection } from './rail.ts';

type Provider = {
  /** Decimals of deposits, and of payouts and refunds. */
  deposit: 0 | 2;
  payout: 0 | 2;
  /** The payer gets no prompt before dialling this. */
  dial?: string;
};

const WHOLE: Provider = { deposit: 0, payout: 0 };
const CENTS: Provider = { deposit: 2, payout: 2 };

export const PROVIDERS: Readonly<Record<string, Provider>> = {
  MPESA_KEN: { deposit: 0, payout: 2 },
  MTN_MOMO_BEN: WHOLE,
  MOOV_BEN: WHOLE,
  MTN_MOMO_CIV: { ...WHOLE, dial: '*133#' },
  ORANGE_CIV: { ...WHOLE, dial: '#120#' },
  MTN_MOMO_CMR: WHOLE,
  ORANGE_CMR: WHOLE,
  ORANGE_SEN: { ...WHOLE, dial: '#144#' },
  FREE_SEN: { ...WHOLE, dial: '#150#' },
  AIRTEL_TZA: CENTS,
  VODACOM_TZA: WHOLE,
  TIGO_TZA: WHOLE,
  HALOTEL_TZA: WHOLE,
  MTN_MOMO_UGA: CENTS,
  AIRTEL_OAPI_UGA: WHOLE,
  MTN_MOMO_ZMB: CENTS,
  AIRTEL_OAPI_ZMB: CENTS,
  ORANGE_SLE: { ...CENTS, dial: '#144#' },
  MTN_MOMO_GHA: CENTS,
  VODAFONE_GHA: CENTS,
  AIRTELTIGO_GHA: CENTS,
};

/** The codes of a request that was refused: nothing was taken. Includes those of the first version of the API. */
const REFUSALS: Readonly<Record<string, FailureCode>> = {
  NO_AUTHENTICATION: 'OPERATOR_UNAVAILABLE',
  AUTHENTICATION_ERROR: 'OPERATOR_UNAVAILABLE',
  AUTHORISATION_ERROR: 'OPERATOR_UNAVAILABLE',
  HTTP_SIGNATURE_ERROR: 'OPERATOR_UNAVAILABLE',
  PROVIDER_TEMPORARILY_UNAVAILABLE: 'OPERATOR_UNAVAILABLE',
  CORRESPONDENT_TEMPORARILY_UNAVAILABLE: 'OPERATOR_UNAVAILABLE',
  INVALID_INPUT: 'REJECTED_BY_OPERATOR',
  MISSING_PARAMETER: 'REJECTED_BY_OPERATOR',
  UNSUPPORTED_PARAMETER: 'REJECTED_BY_OPERATOR',
  INVALID_PARAMETER: 'REJECTED_BY_OPERATOR',
  DUPLICATE_METADATA_FIELD: 'REJECTED_BY_OPERATOR',
  DEPOSITS_NOT_ALLOWED: 'REJECTED_BY_OPERATOR',
  PAYOUTS_NOT_ALLOWED: 'REJECTED_BY_OPERATOR',
  REFUNDS_NOT_ALLOWED: 'REJECTED_BY_OPERATOR',
  INVALID_CURRENCY: 'REJECTED_BY_OPERATOR',
  INVALID_PROVIDER: 'REJECTED_BY_OPERATOR',
  RECIPIENT_NOT_ALLOWED_TO_RECEIVE: 'REJECTED_BY_OPERATOR',
  INVALID_AMOUNT: 'AMOUNT_OUT_OF_RANGE',
  AMOUNT_OUT_OF_BOUNDS: 'AMOUNT_OUT_OF_RANGE',
  AMOUNT_TOO_SMALL: 'AMOUNT_OUT_OF_RANGE',
  AMOUNT_TOO_LARGE: 'AMOUNT_OUT_OF_RANGE',
  INVALID_PAYER_FORMAT: 'PAYER_NOT_FOUND',
  INVALID_RECIPIENT_FORMAT: 'RECIPIENT_NOT_FOUND',
  PAWAPAY_WALLET_OUT_OF_FUNDS: 'FLOAT_INSUFFICIENT',
  // Of refunds: there is no such deposit, it is not paid, or nothing is left of it.
  NOT_FOUND: 'REJECTED_BY_OPERATOR',
  INVALID_STATE: 'REJECTED_BY_OPERATOR',
  DEPOSIT_ALREADY_REFUNDED: 'REJECTED_BY_OPERATOR',
};

/** The codes of what was taken and failed later. */
const FAILURES: Readonly<Record<string, FailureCode>> = {
  ...REFUSALS,
  PAYER_NOT_FOUND: 'PAYER_NOT_FOUND',
  RECIPIENT_NOT_FOUND: 'RECIPIENT_NOT_FOUND',
  // One code for a refusal, a wrong PIN and no answer.
  PAYMENT_NOT_APPROVED: 'PAYER_CANCELLED',
  INSUFFICIENT_BALANCE: 'INSUFFICIENT_FUNDS',
  PAYER_LIMIT_REACHED: 'PAYER_LIMIT_REACHED',
  WALLET_LIMIT_REACHED: 'PAYER_LIMIT_REACHED',
  RECIPIENT_LIMIT_REACHED: 'PAYER_LIMIT_REACHED',
  PAYMENT_IN_PROGRESS: 'DUPLICATE_AT_OPERATOR',
  TRANSACTION_ALREADY_IN_PROCESS: 'DUPLICATE_AT_OPERATOR',
  REFUND_IN_PROGRESS: 'DUPLICATE_AT_OPERATOR',
  MANUALLY_CANCELLED: 'REJECTED_BY_OPERATOR',
};

/** Null: the code is none that says that nothing was taken. */
export function refusalCode(code: string, direction: MoneyDirection): FailureCode | null {
  return codeOfParty(code, direction) ?? find(REFUSALS, code);
}

/** What failed has failed whatever the code says: the list of pawaPay is open. */
export function failureCode(code: string, direction: MoneyDirection): FailureCode {
  return codeOfParty(code, direction) ?? find(FAILURES, code) ?? 'UNSPECIFIED';
}

/** Codes that name the payer of a deposit, and the recipient or our own wallet otherwise. */
function codeOfParty(code: string, direction: MoneyDirection): FailureCode | null {
  if (code === 'INVALID_PHONE_NUMBER') return direction === 'collection' ? 'PAYER_NOT_FOUND' : 'RECIPIENT_NOT_FOUND';
  if (code === 'BALANCE_INSUFFICIENT') return direction === 'collection' ? 'INSUFFICIENT_FUNDS' : 'FLOAT_INSUFFICIENT';
  return null;
}

const find = (table: Readonly<Record<string, FailureCode>>, code: string) =>
  Object.hasOwn(table, code) ? (table[code] ?? null) : null;
