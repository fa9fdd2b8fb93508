// The numbers and references that decide an outcome in MTN's own sandbox, where nobody holds a phone.

/** `ongoing` stays PENDING, `delayed` succeeds some seconds later; everything else is the reason of a failure. */
export type MomoSandboxOutcome = 'success' | 'ongoing' | 'delayed' | 'delayed failure' | { reason: string };

const fails = (reason: string): MomoSandboxOutcome => ({ reason });

const FAILED = fails('INTERNAL_PROCESSING_ERROR');
const REJECTED = fails('APPROVAL_REJECTED');
const EXPIRED = fails('EXPIRED');
const NOT_ALLOWED = fails('NOT_ALLOWED');
const ENVIRONMENT = fails('NOT_ALLOWED_TARGET_ENVIRONMENT');
const CALLBACK_HOST = fails('INVALID_CALLBACK_URL_HOST');
const CURRENCY = fails('INVALID_CURRENCY');
const UNAVAILABLE = fails('SERVICE_UNAVAILABLE');
const NOT_PERFORMED = fails('COULD_NOT_PERFORM_TRANSACTION');
const TYPE_UNKNOWN = fails('TRANSFER_TYPE_UNKNOWN');

/** Payers of requesttopay, 46733123450 and the following. */
const PAYERS: readonly MomoSandboxOutcome[] = [
  FAILED,
  REJECTED,
  EXPIRED,
  'ongoing',
  'delayed',
  fails('PAYER_NOT_FOUND'),
  fails('PAYEE_NOT_ALLOWED_TO_RECEIVE'),
  NOT_ALLOWED,
  ENVIRONMENT,
  CALLBACK_HOST,
  CURRENCY,
  FAILED,
  UNAVAILABLE,
  NOT_PERFORMED,
  TYPE_UNKNOWN,
];

/** Payees of transfer and deposit, the same numbers. */
const PAYEES: readonly MomoSandboxOutcome[] = [
  FAILED,
  REJECTED,
  EXPIRED,
  'ongoing',
  'delayed',
  fails('NOT_ENOUGH_FUNDS'),
  fails('PAYER_LIMIT_REACHED'),
  fails('PAYEE_NOT_FOUND'),
  NOT_ALLOWED,
  ENVIRONMENT,
  CALLBACK_HOST,
  CURRENCY,
  FAILED,
  UNAVAILABLE,
  TYPE_UNKNOWN,
];

/** referenceIdToRefund "1" and the following; "1" is a payment that nobody finds. */
const REFUNDED: readonly MomoSandboxOutcome[] = [
  fails('RESOURCE_NOT_FOUND'),
  FAILED,
  REJECTED,
  EXPIRED,
  'ongoing',
  'delayed',
  NOT_ALLOWED,
  ENVIRONMENT,
  CALLBACK_HOST,
  CURRENCY,
  FAILED,
  UNAVAILABLE,
  NOT_PERFORMED,
];

/** Amounts of a refund, in whole units. */
const REFUND_AMOUNTS: Readonly<Record<string, MomoSandboxOutcome>> = {
  '2000': FAILED,
  '3000': 'delayed',
  '4000': 'delayed failure',
  '5000': 'ongoing',
  '6000': 'ongoing',
  '7000': TYPE_UNKNOWN,
};

const FIRST_NUMBER = 46_733_123_450;

export function sandboxOutcomeOfNumber(msisdn: string, side: 'payer' | 'payee'): MomoSandboxOutcome {
  return (side === 'payer' ? PAYERS : PAYEES)[Number(msisdn) - FIRST_NUMBER] ?? 'success';
}

/** Null for a reference that is no test value: then it must be a payment. */
export function sandboxOutcomeOfRefund(referenceToRefund: string): MomoSandboxOutcome | null {
  return /^\d{1,2}$/.test(referenceToRefund) ? (REFUNDED[Number(referenceToRefund) - 1] ?? 'success') : null;
}

export function sandboxOutcomeOfRefundAmount(amount: string): MomoSandboxOutcome {
  return REFUND_AMOUNTS[amount] ?? 'success';
}

/** Numbers of account holders that are not found or not active. */
export const SANDBOX_HOLDER_NOT_FOUND = String(FIRST_NUMBER);
export const SANDBOX_HOLDER_NOT_ACTIVE = String(FIRST_NUMBER + 1);
