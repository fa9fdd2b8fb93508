// Reads a payout as it is entered in the console, on the command line or in a row of a file, and checks it against the
// catalogue. Nothing is written.

import { checkTypedAmount } from '../catalog/amounts.ts';
import type { Method } from '../catalog/catalog.ts';
import { choosePayoutMethod } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import type { AmountLanguage } from '../platform/amount-sentences.ts';
import { collectFieldErrors, type FieldErrors } from '../platform/errors.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { decimalsError } from './capabilities.ts';
import type { PaymentsContext } from './context.ts';
import { feeFor } from './fees.ts';
import { PAYOUT_SENTENCES } from './payout-sentences.ts';

const MAX_TEXT_CHARACTERS = 120;

/** The fields as they were entered. */
export type PayoutRequest = {
  amount: string;
  currency: string;
  mobile: string;
  method?: string | undefined;
  payee?: string | undefined;
  invoiceNo?: string | undefined;
  detail?: string | undefined;
  callbackUrl?: string | undefined;
  /** Of the person who typed it; English where nobody is known. */
  language?: AmountLanguage | undefined;
};

export type PayoutOrder = {
  amount: bigint;
  fee: bigint;
  method: Method;
  rail: string;
  msisdn: string;
  payee: string | null;
  invoiceNo: string | null;
  detail: string;
  callbackUrl: string | null;
};

export type PayoutReading = { ok: true; order: PayoutOrder } | { ok: false; errors: FieldErrors };

/** The detail of a payout for which nobody wrote one: for programs, in English. */
export function usualDetail(msisdn: string, method: string): string {
  return `Payout to ${msisdn} by ${method}`;
}

function reachedBy(mobile: string, methods: readonly Method[]): { method: Method; msisdn: string }[] {
  return methods.flatMap((method) => {
    const number = normaliseNumber(mobile, method.country, { lenient: true });
    return number.ok ? [{ method, msisdn: number.digits }] : [];
  });
}

/** Checks a payout and chooses its method, rail and fee. */
export async function readPayout(
  ctx: PaymentsContext,
  holderId: bigint,
  request: PayoutRequest,
): Promise<PayoutReading> {
  const errors = collectFieldErrors();
  const language = request.language ?? 'en';
  const sentences = PAYOUT_SENTENCES[language];
  const payable = [...ctx.catalog.methods.values()].filter(({ payout }) => payout);
  const candidates = payable.filter(({ currency }) => currency === request.currency);
  const found = reachedBy(request.mobile, candidates);
  const chosen = found.length > 0 ? choosePayoutMethod(found, request.method) : null;
  // All that is wrong is said at once: as far as currency and name tell the method, it is known without a number.
  const unreached = found.length > 0 ? [] : candidates.map((method) => ({ method, msisdn: '' }));
  const meant = chosen ?? choosePayoutMethod(unreached, request.method);
  const namesMethod = Boolean(request.method) && candidates.length > 0;
  if (candidates.length === 0) {
    errors.add('currency', sentences.noMethod(request.currency));
    if (reachedBy(request.mobile, payable).length === 0) errors.add('mobile', sentences.noMobile);
  } else if (found.length === 0) errors.add('mobile', sentences.notMobile(request.currency));
  if (!meant && (found.length > 0 || namesMethod)) {
    const codes = (found.length > 0 ? found : unreached).map(({ method }) => method.code);
    errors.add('method', sentences.chooseMethod([...new Set(codes)].join(', ')));
  }
  const amount = meant
    ? checkTypedAmount(request.amount, meant.method, 'payout', language)
    : readTypedAmount(request.amount, language, { currency: request.currency });
  if (!amount.ok) errors.add('amount', amount.sentence);
  const rail = chosen ? ctx.rails.railFor(chosen.method, 'payout', holderId) : null;
  const capabilities = chosen && rail?.capabilitiesOf(chosen.method, 'payout');
  if (chosen && amount.ok && decimalsError(chosen.method, capabilities, amount.amount) !== null)
    errors.add('amount', sentences.wholeOnly(chosen.method.name, chosen.method.currency));
  if (chosen && !capabilities) errors.add('method', sentences.cannotPayOut(chosen.method.name));
  for (const [field, value] of Object.entries({
    payee: request.payee,
    invoice_no: request.invoiceNo,
    detail: request.detail,
  }))
    if (value !== undefined && Array.from(value).length > MAX_TEXT_CHARACTERS)
      errors.add(field, sentences.tooLong(MAX_TEXT_CHARACTERS));
  checkCallbackUrl(ctx, request.callbackUrl, errors.add);
  if (errors.any() || !chosen || !amount.ok || !rail) return { ok: false, errors: errors.errors };
  return {
    ok: true,
    order: {
      amount: amount.amount,
      fee: await feeFor(ctx, holderId, chosen.method, 'payout', amount.amount),
      method: chosen.method,
      rail: rail.name,
      msisdn: chosen.msisdn,
      payee: request.payee || null,
      invoiceNo: request.invoiceNo || null,
      detail: request.detail || usualDetail(chosen.msisdn, chosen.method.name),
      callbackUrl: request.callbackUrl || null,
    },
  };
}
