// Methods of a country: found by the name a caller uses, predicted from the payer's number, and explained to the payer.
// A number's prefix only suggests an operator: people keep their number when they change operators.

import type { Method, TableRow, VerificationStyle } from './catalog.ts';
import { nameKey, namesOf } from './method-names.ts';
import { predictOperator } from './phone.ts';

const MAX_NAME_LENGTH = 100;

/** A method of this row by its code, name or alias, ignoring case, spaces, hyphens and underscores. */
export function findMethodByName(row: TableRow, name: string): Method | null {
  return name.length > MAX_NAME_LENGTH ? null : (row.methodsByName.get(nameKey(name)) ?? null);
}

/** The method of this row that a normalised number's prefix suggests. */
export function predictMethod(row: TableRow, digits: string): Method | null {
  const code = predictOperator(digits, row.country);
  return row.methods.find((method) => method.code === code) ?? null;
}

export type MethodChoice =
  | { ok: true; method: Method; by: 'name' | 'only_method' | 'prediction' }
  | { ok: false; sentence: string };

/** The method of a request: the one it names; else the only one there is; else the one the number suggests. */
export function chooseMethod(row: TableRow, name: string | null | undefined, digits: string | null): MethodChoice {
  if (name) {
    const method = findMethodByName(row, name);
    if (method) return { ok: true, method, by: 'name' };
    return { ok: false, sentence: `This is not a payment method of ${row.name}; use one of ${listMethods(row)}.` };
  }
  const only = row.methods[0];
  if (only && row.methods.length === 1) return { ok: true, method: only, by: 'only_method' };
  const predicted = digits === null ? null : predictMethod(row, digits);
  if (predicted) return { ok: true, method: predicted, by: 'prediction' };
  return { ok: false, sentence: `The number does not identify the operator; use one of ${listMethods(row)}.` };
}

function listMethods({ methods }: TableRow): string {
  return methods.map((method) => `"${method.name}" (${method.code})`).join(', ');
}

/**
 * The method of a payout, among those that pay out to a number: the one it names; else the only one there is; else the
 * one the number suggests. Null when none of these decides. The methods may be of several countries with one currency.
 */
export function choosePayoutMethod<T extends { method: Method; msisdn: string }>(
  candidates: readonly T[],
  name: string | undefined,
): T | null {
  const isNamed = ({ method }: T) => namesOf(method.code, method).some((each) => nameKey(each) === nameKey(name ?? ''));
  if (name) return candidates.find(isNamed) ?? null;
  const fitting =
    candidates.length === 1
      ? candidates
      : candidates.filter(({ method, msisdn }) => predictOperator(msisdn, method.country) === method.code);
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

/** "Dial *165#, then choose 8, 3, 1 and enter your PIN.", or null if nothing can be dialled. */
export function describeDial(method: Method): string | null {
  const [code, ...choices] = method.dial;
  if (code === undefined) return null;
  return choices.length > 0
    ? `Dial ${code}, then choose ${choices.join(', ')} and enter your PIN.`
    : `Dial ${code} and enter your PIN.`;
}

/** What the payer has to do, in English; the pages have their own translations. */
export function describeVerification(method: Method, style: VerificationStyle = method.verification): string {
  const dial = describeDial(method);
  switch (style) {
    case 'prompt': {
      const prompt = `A prompt from ${method.name} appears on the phone; enter the PIN to approve.`;
      return dial ? `${prompt} No prompt? ${dial}` : prompt;
    }
    case 'shortcode':
      return `An SMS with the short code ${method.shortCode ?? ''} arrives. Dial it and enter the PIN in the prompt to approve.`;
    case 'otp':
      return 'An SMS with a six-digit token arrives. Send the token back to approve.';
    case 'instructions':
      return `Pay with ${method.name} as the payment page shows, with the exact amount and reference.`;
  }
}
