// Validates the form of the hosted page: what was typed becomes a payment, or error messages in the payer's language, or
// a question to confirm before paying.

import type { LinkCountry, Method, Terms } from '../catalog/catalog.ts';
import { findMethodByName, predictMethod } from '../catalog/methods.ts';
import { formatNumber, normaliseNumber } from '../catalog/phone.ts';
import type { PaymentLink } from '../links/links.ts';
import { routedDecimalsError } from '../payments/capabilities.ts';
import type { PaymentDetails } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { isEmail } from '../platform/email.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import type { FormDraft } from './form-draft.ts';
import type { PayerLocale } from './language.ts';

export type FieldName = 'amount' | 'method' | 'phone' | 'email';
export type FieldMessages = Map<FieldName, string>;

/** What the payer confirms before the payment is made. */
export type Question =
  /** The number was in the country's former format and was completed. */
  | { kind: 'number'; digits: string }
  /** The number looks like another operator's. */
  | { kind: 'operator'; likely: Method }
  /** No operator was chosen; the number suggests one. */
  | { kind: 'predicted' }
  /** The payer typed the amount, so it is shown once more. */
  | { kind: 'amount' };

export type ReadOrder = { payment: PaymentDetails | null; errors: FieldMessages; questions: Question[] };

export function readOrder(
  ctx: PaymentsContext,
  locale: PayerLocale,
  link: PaymentLink,
  row: LinkCountry,
  draft: FormDraft,
): ReadOrder {
  const { t } = locale;
  const errors: FieldMessages = new Map();
  const questions: Question[] = [];

  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  if (draft.phone === '') errors.set('phone', t.phoneMissing);
  else if (!number.ok) errors.set('phone', t.phoneWrong(locale.country(row.country.iso), exampleOf(row)));
  else if (row.country.formerPlan && !draft.phone.replace(/\D/g, '').endsWith(nationalOf(number.digits, row)))
    questions.push({ kind: 'number', digits: number.digits });

  const predicted = number.ok ? predictMethod(row, number.digits) : null;
  const only = row.methods.length === 1 ? row.methods[0] : undefined;
  const chosen = draft.method === '' ? null : findMethodByName(row, draft.method);
  const method = chosen ?? only ?? predicted;
  if (!method) errors.set('method', t.methodMissing);
  else if (!chosen && !only) questions.push({ kind: 'predicted' });
  else if (chosen && predicted && predicted.code !== chosen.code && chosen.prefixes.length > 0)
    questions.push({ kind: 'operator', likely: predicted });

  const amount = link.amount ?? readAmount(locale, row, method ?? null, draft.amount, errors);
  if (link.amount === null && amount !== null) questions.push({ kind: 'amount' });
  if (method && amount !== null) {
    const error = amountError(ctx, locale, link.holder_id, method, amount);
    if (error) errors.set(link.amount === null ? 'amount' : 'method', error);
  }
  if (draft.email !== '' && !isEmail(draft.email)) errors.set('email', t.emailWrong);
  const ready = errors.size === 0 && method && number.ok && amount !== null;
  return { payment: ready ? { method, msisdn: number.digits, amount } : null, errors, questions };
}

/** The amount that the payer typed. It is shown again before paying. */
function readAmount(
  locale: PayerLocale,
  row: LinkCountry,
  method: Method | null,
  text: string,
  errors: FieldMessages,
): bigint | null {
  const { t, language } = locale;
  if (text === '') {
    errors.set('amount', t.amountMissing);
    return null;
  }
  const decimals = Math.max(...(method ? [method] : row.methods).map((one) => one.collection.decimals));
  const typed = readTypedAmount(text, language, { currency: row.currency, decimals });
  if (typed.ok) return typed.amount;
  const max = typed.reason === 'too_large' && method ? locale.money(method.collection.max, method.currency) : null;
  errors.set('amount', max === null ? typed.sentence : t.methodMax(max));
  return null;
}

/** Why a method cannot take an amount; null when it can. */
function amountError(
  ctx: PaymentsContext,
  locale: PayerLocale,
  holderId: bigint,
  method: Method,
  amount: bigint,
): string | null {
  const { t } = locale;
  const terms: Terms = method.collection;
  if (amount < terms.min) return t.methodMin(locale.money(terms.min, method.currency));
  if (amount > terms.max) return t.methodMax(locale.money(terms.max, method.currency));
  const wholeOnly = terms.decimals === 0 && amount % 100n !== 0n;
  return wholeOnly || routedDecimalsError(ctx, holderId, method, 'collection', amount) ? t.methodWhole : null;
}

/** Why a method cannot be chosen now; null when it can. */
export function methodError(
  ctx: PaymentsContext,
  locale: PayerLocale,
  holderId: bigint,
  method: Method,
  amount: bigint | null,
): string | null {
  const rail = ctx.rails.railFor(method, 'collection', holderId);
  if (!rail?.capabilitiesOf(method, 'collection') || !ctx.rails.health.wouldCall(rail.name, method.code))
    return locale.t.methodDown;
  return amount === null ? null : amountError(ctx, locale, holderId, method, amount);
}

/** An example number of the country, in its own format. */
export function exampleOf(row: LinkCountry): string {
  return formatNumber(row.country.example);
}

function nationalOf(digits: string, row: LinkCountry): string {
  return digits.slice(row.country.dialCode.length);
}
