// Decimals, limits and fees of a method, for collections and payouts.

import { AMOUNT_SENTENCES, type AmountLanguage } from '../platform/amount-sentences.ts';
import { formatAmount, formatMoney, lesserOf, parseAmount, share } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import type { Direction, Fee, Method, Terms } from './catalog.ts';
import { spokenMethod } from './spoken-names.ts';

const HUNDRED_PERCENT = 10_000n;

/** Decimals, limits and fee of one direction; null if the method has no payouts. */
export function termsOf(method: Method, direction: Direction): Terms | null {
  return direction === 'collection' ? method.collection : method.payout;
}

export type AmountCheck = { ok: true; amount: bigint } | { ok: false; sentence: string };

/** Reads an amount as the caller wrote it and checks it against the method. Never rounds. */
export function checkAmount(input: unknown, method: Method, direction: Direction): AmountCheck {
  const terms = termsOf(method, direction);
  const where = `${method.name} in ${method.country.name}`;
  if (!terms) return refuse(`${where} does not take payouts.`);
  const read = parseAmount(input, terms.decimals);
  if (!read.ok) {
    if (read.error === 'not_an_amount') return refuse('The amount must be a number, or a decimal text such as "2500".');
    if (read.error === 'not_positive') return refuse('The amount must be more than zero.');
    if (read.error === 'too_many_decimals') return refuse(describeDecimals(where, method.currency, terms));
  }
  if (!read.ok || read.amount > terms.max)
    return refuse(`The largest amount for ${where} is ${formatAmount(terms.max)} ${method.currency}.`);
  if (read.amount < terms.min)
    return refuse(`The smallest amount for ${where} is ${formatAmount(terms.min)} ${method.currency}.`);
  return read;
}

/** The same for an amount that a person typed; why it is refused is said in the person's language. */
export function checkTypedAmount(
  text: string,
  method: Method,
  direction: Direction,
  language: AmountLanguage,
): AmountCheck {
  const typed = readTypedAmount(text, language, { currency: method.currency });
  if (!typed.ok) return typed;
  const check = checkAmount(formatAmount(typed.amount), method, direction);
  const terms = termsOf(method, direction);
  if (check.ok || !terms) return check;
  const money = (amount: bigint) => formatMoney(amount, method.currency, language);
  const sentences = AMOUNT_SENTENCES[language];
  const name = spokenMethod(language, method);
  if (typed.amount > terms.max) return refuse(sentences.largest(name, money(terms.max)));
  if (typed.amount < terms.min) return refuse(sentences.smallest(name, money(terms.min)));
  // The catalogue says in English why a method has no decimals.
  return language === 'en' ? check : refuse(sentences.tooManyDecimals(terms.decimals));
}

function describeDecimals(where: string, currency: string, terms: Terms): string {
  if (terms.decimals > 0)
    return `${where} takes at most ${terms.decimals} decimal${terms.decimals === 1 ? '' : 's'} of ${currency}.`;
  const rule = `${where} takes whole amounts of ${currency}, without decimals.`;
  return terms.decimalsReason ? `${rule} ${terms.decimalsReason}` : rule;
}

/**
 * The fee of an amount, rounded half up to the decimals of the method, at most the amount itself. `override` is the
 * fee agreed with one holder; it replaces all of the catalogue's fee.
 */
export function feeOf(amount: bigint, method: Method, direction: Direction, override?: Fee): bigint {
  const terms = termsOf(method, direction);
  if (!terms) throw new Error(`${method.code} does not take payouts`);
  const { basisPoints, fixed, min, max } = override ?? terms.fee;
  const round = (value: bigint) => share(value, HUNDRED_PERCENT, terms.decimals);
  let fee = share(amount, basisPoints, terms.decimals) + round(fixed);
  if (fee < round(min)) fee = round(min);
  if (max !== null && fee > round(max)) fee = round(max);
  return fee > amount ? amount : fee;
}

/** The part of the fee that a refund returns. `returned` is what earlier refunds of the collection have returned. */
export function refundedFee(
  method: Pick<Method, 'refundFee' | 'collection'>,
  collection: { amount: bigint; fee: bigint },
  refund: { amount: bigint; isRest: boolean; returned: bigint },
): bigint {
  switch (method.refundFee) {
    case 'never':
      return 0n;
    case 'whole':
      return refund.amount === collection.amount ? collection.fee : 0n;
    case 'share': {
      const left = collection.fee - refund.returned;
      if (refund.isRest) return lesserOf(left, refund.amount);
      const unit = 10n ** BigInt(2 - method.collection.decimals);
      const part = ((collection.fee * refund.amount) / collection.amount / unit) * unit;
      return lesserOf(part, left);
    }
  }
}

function refuse(sentence: string): AmountCheck {
  return { ok: false, sentence };
}
