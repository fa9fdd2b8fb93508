// Why a transaction failed: the codes of failureReason.failureCode and a sentence for each. Rails map the operator's
// code to one of these; the operator's own code is stored too.

export const FAILURE_MESSAGES = {
  INSUFFICIENT_FUNDS: 'The payer does not have enough money.',
  WRONG_PIN: 'The payer entered a wrong PIN.',
  PAYER_CANCELLED: 'The payer cancelled the payment.',
  PAYER_NOT_FOUND: 'This number has no wallet with the operator.',
  PAYER_LIMIT_REACHED: "The payment would exceed a limit of the payer's wallet.",
  PAYER_BLOCKED: "The operator has blocked the payer's wallet.",
  PROMPT_EXPIRED: 'The payer did not answer the prompt in time.',
  VERIFICATION_FAILED: 'The verification token was wrong too many times.',
  AMOUNT_OUT_OF_RANGE: 'The operator does not accept this amount.',
  OPERATOR_UNAVAILABLE: 'The operator is not available and did not accept the payment.',
  DUPLICATE_AT_OPERATOR: 'The operator rejected this as a duplicate of another payment.',
  RECIPIENT_NOT_FOUND: 'The recipient has no wallet or account with the operator.',
  FLOAT_INSUFFICIENT: 'The gateway does not have enough float with the operator for this payout.',
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
