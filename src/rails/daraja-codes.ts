// Safaricom's codes. The same number means different things for a prompt, a payout and a reversal, so each has its table.
// A code that is in no table is never a failure: new codes appear for payments that are still paid.

import type { FailureCode } from '../catalog/failures.ts';
import type { Exchange } from './exchange.ts';
import type { Observation } from './rail.ts';
import { field, isObject, proseOf, readJson, textOf } from './reading.ts';

export type DarajaFailures = Readonly<Record<string, FailureCode>>;

/** M-PESA Express (the prompt). */
export const PROMPT_FAILURES: DarajaFailures = {
  '1': 'INSUFFICIENT_FUNDS',
  '2': 'AMOUNT_OUT_OF_RANGE',
  '3': 'AMOUNT_OUT_OF_RANGE',
  '4': 'PAYER_LIMIT_REACHED',
  // The account that collects is full.
  '8': 'REJECTED_BY_OPERATOR',
  // The same amount from the same payer within two minutes.
  '17': 'DUPLICATE_AT_OPERATOR',
  '26': 'OPERATOR_UNAVAILABLE',
  '1001': 'DUPLICATE_AT_OPERATOR',
  '1019': 'PROMPT_EXPIRED',
  '1025': 'OPERATOR_UNAVAILABLE',
  '1032': 'PAYER_CANCELLED',
  '1037': 'PROMPT_EXPIRED',
  '2001': 'WRONG_PIN',
  '2028': 'REJECTED_BY_OPERATOR',
  '8006': 'PAYER_BLOCKED',
  '9999': 'OPERATOR_UNAVAILABLE',
  SFC_IC0003: 'REJECTED_BY_OPERATOR',
};

/** B2C. Without 15 (a duplicate: the first request exists), 17 and 26 (overload): those are unknown. */
export const PAYOUT_FAILURES: DarajaFailures = {
  '1': 'FLOAT_INSUFFICIENT',
  '2': 'AMOUNT_OUT_OF_RANGE',
  '3': 'AMOUNT_OUT_OF_RANGE',
  '4': 'PAYER_LIMIT_REACHED',
  '8': 'PAYER_LIMIT_REACHED',
  '11': 'REJECTED_BY_OPERATOR',
  '21': 'REJECTED_BY_OPERATOR',
  '2001': 'REJECTED_BY_OPERATOR',
  '2006': 'REJECTED_BY_OPERATOR',
  '2028': 'REJECTED_BY_OPERATOR',
  '2040': 'RECIPIENT_NOT_FOUND',
  '8006': 'REJECTED_BY_OPERATOR',
  SFC_IC0003: 'RECIPIENT_NOT_FOUND',
};

export const REVERSAL_FAILURES: DarajaFailures = {
  '1': 'FLOAT_INSUFFICIENT',
  '11': 'REJECTED_BY_OPERATOR',
  '21': 'REJECTED_BY_OPERATOR',
  '2001': 'REJECTED_BY_OPERATOR',
  '2006': 'REJECTED_BY_OPERATOR',
  '2028': 'REJECTED_BY_OPERATOR',
  '8006': 'REJECTED_BY_OPERATOR',
  // There is no such receipt.
  R000002: 'REJECTED_BY_OPERATOR',
};

/** The payment was reversed before: what the reversal is for has been done. */
export const ALREADY_REVERSED = 'R000001';
/** Of a query of a prompt: the payer has not answered yet. */
export const STILL_PROCESSING = '4999';

/** The failure that a code stands for; null: none that we know. */
export function darajaFailure(failures: DarajaFailures, code: string, message: unknown): Observation | null {
  const failureCode = Object.hasOwn(failures, code) ? failures[code] : undefined;
  return failureCode === undefined ? null : { state: 'failed', failureCode, rawCode: code, message: proseOf(message) };
}

export type DarajaCall = 'collection' | 'payout' | 'refund';

type DarajaError = { status: number; code: string; message: string };

/** The error envelope of every endpoint; null: the answer has none. */
export function readDarajaError(answer: Exchange): DarajaError | null {
  if (!answer.answered || answer.status === 200) return null;
  const body = readJson(answer.body);
  if (!isObject(body)) return null;
  // The gateway in front of Daraja has an envelope of its own.
  const code = textOf(body.errorCode) ?? textOf(field(body, 'fault', 'detail', 'errorcode')) ?? '';
  const message = proseOf(body.errorMessage) || proseOf(field(body, 'fault', 'faultstring'));
  return { status: answer.status, code, message };
}

const TOKEN_ERRORS: ReadonlySet<string> = new Set(['404.001.03', '400.003.01', '401.002.01']);

/** The access token has ended, or another process got a newer one. Nothing was done. */
export function isTokenRefused(answer: Exchange): boolean {
  const error = readDarajaError(answer);
  if (error === null || error.status >= 500) return false;
  return TOKEN_ERRORS.has(error.code) || /invalid access token/i.test(error.message);
}

/** Refused before anything was looked at: the path, the product or the version is not enabled, or a field is malformed. */
const SETUP_ERRORS: ReadonlySet<string> = new Set([
  '400.002.05',
  '400.003.02',
  '403.002.1001',
  '404.001.01',
  '404.001.04',
  '404.002.01',
  '404.003.01',
  '405.001',
]);

/** What an answer that is not an acceptance says about a submit: `failed` only where nothing was sent for certain. */
export function readRefusal(answer: Exchange, call: DarajaCall): Observation {
  if (!answer.answered) return { state: 'unknown', reason: answer.reason };
  const error = readDarajaError(answer);
  const failureCode = error === null ? null : refusalCode(error, call);
  if (error === null || failureCode === null)
    return { state: 'unknown', reason: `the operator answered ${answer.status}${codeText(error?.code)}` };
  return { state: 'failed', failureCode, rawCode: error.code || String(error.status), message: error.message };
}

const codeText = (code: string | undefined) => (code ? ` (${code})` : '');

function refusalCode({ status, code, message }: DarajaError, call: DarajaCall): FailureCode | null {
  const says = (text: string) => message.toLowerCase().includes(text);
  if (code === '400.002.02') return wrongFieldCode(message, call);
  if (SETUP_ERRORS.has(code) || (status === 401 && says('apiproduct'))) return 'REJECTED_BY_OPERATOR';
  // One code for many things: only the text tells them apart. "Unable to lock subscriber" is none of these: what has locked the
  // phone may be this very prompt, which somebody on the way sent twice.
  if (code === '500.001.1001')
    return says('merchant does not exist') || says('wrong credentials') ? 'REJECTED_BY_OPERATOR' : null;
  const isSpikeArrest = code === '500.003.02' || code === 'policies.ratelimit.SpikeArrestViolation';
  return isSpikeArrest && says('spike arrest') ? 'OPERATOR_UNAVAILABLE' : null;
}

/** "Bad Request - Invalid PhoneNumber": the field is named in the text. */
function wrongFieldCode(message: string, call: DarajaCall): FailureCode {
  if (/\bamount\b/i.test(message)) return 'AMOUNT_OUT_OF_RANGE';
  if (call === 'collection' && /\b(phone ?number|party ?a)\b/i.test(message)) return 'PAYER_NOT_FOUND';
  if (call === 'payout' && /\b(phone ?number|party ?b)\b/i.test(message)) return 'RECIPIENT_NOT_FOUND';
  return 'REJECTED_BY_OPERATOR';
}
