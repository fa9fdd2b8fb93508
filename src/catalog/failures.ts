// Why a transaction failed: the codes of failureReason.failureCode, and the sentence each one says to
// a person. Rails translate what an operator answers into one of these; the raw code is kept beside it.

export const FAILURE_MESSAGES = {
  INSUFFICIENT_FUNDS: 'The wallet of the payer does not hold enough money.',
  WRONG_PIN: 'The payer entered a wrong PIN.',
  PAYER_CANCELLED: 'The payer cancelled the payment.',
  PAYER_NOT_FOUND: 'This number has no wallet with the operator.',
  PAYER_LIMIT_REACHED: 'The payment would exceed a limit of the wallet of the payer.',
  PAYER_BLOCKED: 'The operator has blocked the wallet of the payer.',
  PROMPT_EXPIRED: 'The payer did not answer the prompt in time.',
  VERIFICATION_FAILED: 'The verification token was wrong too many times.',
  AMOUNT_OUT_OF_RANGE: 'The operator does not take this amount.',
  OPERATOR_UNAVAILABLE: 'The operator is not available and did not take the payment.',
  DUPLICATE_AT_OPERATOR: 'The operator takes it for a repetition of another payment.',
  RECIPIENT_NOT_FOUND: 'The recipient has no wallet or account with the operator.',
  FLOAT_INSUFFICIENT: 'The gateway does not hold enough float with the operator to pay this out.',
  REJECTED_BY_OPERATOR: 'The operator rejected the payment.',
  UNSPECIFIED: 'The operator gave no reason.',
} as const;

export type FailureCode = keyof typeof FAILURE_MESSAGES;

export const FAILURE_CODES: readonly FailureCode[] = Object.keys(FAILURE_MESSAGES).filter(isFailureCode);

export function isFailureCode(text: string): text is FailureCode {
  return Object.hasOwn(FAILURE_MESSAGES, text);
}

/** The sentence for `failureReason.failureMessage`. */
export function failureMessage(code: FailureCode): string {
  return FAILURE_MESSAGES[code];
}
