// Envelope and codes of the simulated Airtel Money. Two tables are published that give the same codes other meanings; the
// setting `codeTable` chooses.

import type { SimulatorAnswer } from './frame.ts';
import type { Decision } from './phones.ts';

/** What can be said about a collection. */
export type AirtelMeaning = 'success' | 'pending' | 'ambiguous' | 'unknown' | 'invalid_amount' | Decision;

const COMMON: Readonly<Record<AirtelMeaning, string>> = {
  ambiguous: 'DP00800001000',
  success: 'DP00800001001',
  approve: 'DP00800001001',
  wrong_pin: 'DP00800001002',
  limit_reached: 'DP00800001003',
  invalid_amount: 'DP00800001004',
  ignore: 'DP00800001029',
  pending: 'DP00800001006',
  no_money: 'DP00800001007',
  cancel: 'DP00800001008',
  not_found: 'DP00800001010',
  unknown: 'DP00800001025',
};

/** As the Zambian portal had it in June 2025. */
const ZAMBIAN: Readonly<Record<AirtelMeaning, string>> = {
  ambiguous: 'DP00800001000',
  success: 'DP00800001006',
  approve: 'DP00800001006',
  wrong_pin: 'DP00800001002',
  limit_reached: 'DP00800001002',
  invalid_amount: 'DP00800001004',
  ignore: 'DP00800001009',
  pending: 'DP00800001003',
  no_money: 'DP00800001005',
  cancel: 'DP00800001007',
  not_found: 'DP00800001005',
  unknown: 'DP00800001010',
};

export function airtelCode(table: string | undefined, meaning: AirtelMeaning): string {
  return (table === 'zambia' ? ZAMBIAN : COMMON)[meaning];
}

export type AirtelStatus = {
  response_code?: string;
  result_code?: string;
  message: string;
  success: boolean;
  code?: string;
};

/** `codeForm`: status.code has been seen as a text and as a number. */
export function airtelAnswer(
  codeForm: string | undefined,
  { code: given, ...status }: AirtelStatus,
  data?: object,
  httpStatus = 200,
): SimulatorAnswer {
  const text = given ?? (status.success ? '200' : '400');
  const code = codeForm === 'number' ? Number(text) : text;
  return { status: httpStatus, body: { ...(data === undefined ? {} : { data }), status: { code, ...status } } };
}

export const OK_RESULT = 'ESB000010';
