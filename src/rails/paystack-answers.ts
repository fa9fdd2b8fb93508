// What Paystack's answers say. `status: true` outside only means that the call was understood; `data.status` is the verdict.

import type { FailureCode } from '../catalog/failures.ts';
import type { Exchange } from './exchange.ts';
import type { Observation } from './rail.ts';
import { field, firstOf, proseOf, readJson, textOf } from './reading.ts';

export type Envelope = {
  httpStatus: number;
  isOk: boolean;
  message: string;
  /** Young, and not in every answer. */
  code: string;
  data: unknown;
};

/** Null: Paystack did not answer, or something else did. */
export function readEnvelope(answer: Exchange): Envelope | null {
  if (!answer.answered) return null;
  const body = readJson(answer.body);
  const isOk = field(body, 'status');
  if (typeof isOk !== 'boolean') return null;
  return {
    httpStatus: answer.status,
    isOk,
    message: proseOf(field(body, 'message')),
    code: textOf(field(body, 'code')) ?? '',
    data: field(body, 'data'),
  };
}

export const unknown = (reason: string): Observation => ({ state: 'unknown', reason });

/** Why an answer says nothing. */
export function unreadable(answer: Exchange): Observation {
  return unknown(answer.answered ? `the operator answered ${answer.status}` : answer.reason);
}

const REFUSING_STATUSES = new Set([200, 400, 401, 403, 404, 422]);

/** Whether the operator has this reference already: the first call may have moved money. */
export function isDuplicate({ code, message }: Envelope): boolean {
  return code === 'duplicate_transfer_reference' || /duplicate|already exists/i.test(message);
}

type Rule = readonly [RegExp, FailureCode];

/** Refusals with which nothing was taken, by their code or the text of the message. */
const REFUSALS: readonly Rule[] = [
  [/^invalid_key$|^invalid key/i, 'OPERATOR_UNAVAILABLE'],
  [/^insufficient_balance$|balance is not enough/i, 'FLOAT_INSUFFICIENT'],
  [/^invalid_transfer_recipient$|recipient/i, 'RECIPIENT_NOT_FOUND'],
  [/starter business|email address is required|illegal character|^invalid_params$/i, 'REJECTED_BY_OPERATOR'],
];

/** The end of a call that the operator refused (`status: false`); unknown where it may have taken the first one. */
export function readRefusal(envelope: Envelope): Observation {
  const { httpStatus, code, message } = envelope;
  if (!REFUSING_STATUSES.has(httpStatus)) return unknown(`the operator answered ${httpStatus}`);
  if (isDuplicate(envelope)) return unknown('the operator has this reference already');
  const rule = REFUSALS.find(([pattern]) => pattern.test(code)) ?? REFUSALS.find(([pattern]) => pattern.test(message));
  if (!rule) return unknown('the operator refused for a reason that we do not know');
  return { state: 'failed', failureCode: rule[1], rawCode: code || String(httpStatus), message };
}

/** Prose of the processor, and its newer codes. */
const FAILURES: readonly Rule[] = [
  [/insufficient|not enough|low balance/i, 'INSUFFICIENT_FUNDS'],
  [/(?:wrong|incorrect|invalid).{0,12}pin\b/i, 'WRONG_PIN'],
  [/timed? ?out|expired|no response/i, 'PROMPT_EXPIRED'],
  [/cancel|(?:rejected|declined) by (?:the )?(?:customer|user|payer)/i, 'PAYER_CANCELLED'],
  [/limit/i, 'PAYER_LIMIT_REACHED'],
  [/not (?:registered|(?:be )?found)|no wallet|invalid (?:phone|mobile)/i, 'PAYER_NOT_FOUND'],
  [/blocked|barred|suspended/i, 'PAYER_BLOCKED'],
  [/unavailable|inoperative/i, 'OPERATOR_UNAVAILABLE'],
  [/declined|rejected|not (?:permitted|honou?r)/i, 'REJECTED_BY_OPERATOR'],
];

/** A charge or transfer that the operator itself calls failed. Its reason is prose, and only the choice of our code depends on it. */
export function readFailure(data: unknown, direction: 'collection' | 'payout'): Observation & { state: 'failed' } {
  const code = textOf(field(data, 'gateway_response_code')) ?? '';
  const message = proseOf(firstOf(data, 'gateway_response', 'message', 'reason'));
  const [, found = 'UNSPECIFIED'] = FAILURES.find(([pattern]) => pattern.test(code) || pattern.test(message)) ?? [];
  // A payout has no payer: its wallet is that of the recipient.
  const failureCode = direction === 'payout' && found === 'PAYER_NOT_FOUND' ? 'RECIPIENT_NOT_FOUND' : found;
  return { state: 'failed', failureCode, rawCode: code || (textOf(field(data, 'status')) ?? ''), message };
}

/** A test event must never touch live money. */
export function isOfMode(data: unknown, mode: 'live' | 'test'): boolean {
  const domain = textOf(field(data, 'domain'));
  return domain === null || domain === mode;
}
