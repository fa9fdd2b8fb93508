// The one reader for amounts that people type: on the payment page, in the console, in files and on the command line. The
// same text is the same amount everywhere, whatever the language; text with two meanings is refused. See decision 13.

import { AMOUNT_SENTENCES, type AmountLanguage } from './amount-sentences.ts';
import { isLabelOf, parseAmount } from './money.ts';

/** The largest amount with its spaces, decimals and currency is shorter. */
export const MAX_AMOUNT_CHARACTERS = 40;

/** No-break, narrow no-break, thin and figure space: what we print, and what spreadsheets and phones put in. */
const OTHER_SPACES = /[\u00a0\u2007\u2009\u202f]/g;
/** A currency may stand before or after the number. */
const WITH_LABELS = /^(\D*?) ?(\d(?:[\d .,]*\d)?) ?(\D*)$/;
/** Three digits behind the only separator: thousands to one person, decimals to another. */
const TWO_MEANINGS = /^([1-9]\d{0,2})[.,](\d{3})$/;
const COMMA_GROUPS = /^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?$/;
const DOT_GROUPS = /^([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d+))?$/;
const SPACE_GROUPS = /^(\d+|[1-9]\d{0,2}(?: \d{3})+)(?:[.,](\d+))?$/;

type TypedAmountReason =
  | 'not_an_amount'
  | 'ambiguous'
  | 'other_currency'
  | 'not_positive'
  | 'too_many_decimals'
  | 'too_large';

export type TypedAmount =
  | { ok: true; amount: bigint }
  | { ok: false; reason: TypedAmountReason /** In the person's language. */; sentence: string };

export type TypedAmountOptions = {
  /** The currency whose code or sign may stand beside the number. */
  currency?: string;
  /** How many decimals the amount may have: 0, 1 or 2. */
  decimals?: number;
  /** Zero is an answer too, as in a fee. */
  zero?: boolean;
};

/** Reads "1500", "1 500", "1500,00", "1,500.50", "1.500,50" and "XOF 1 500"; refuses "1,500" and "1.500". Never rounds. */
export function readTypedAmount(
  text: string,
  language: AmountLanguage,
  { currency, decimals = 2, zero = false }: TypedAmountOptions = {},
): TypedAmount {
  const say = AMOUNT_SENTENCES[language];
  const refuse = (reason: TypedAmountReason, sentence: string): TypedAmount => ({ ok: false, reason, sentence });
  const parts = text.length <= MAX_AMOUNT_CHARACTERS ? WITH_LABELS.exec(text.replace(OTHER_SPACES, ' ').trim()) : null;
  const [, before = '', number = '', after = ''] = parts ?? [];
  const label = before || after;
  if (parts === null || (before !== '' && after !== '')) return refuse('not_an_amount', say.notAnAmount);
  if (label !== '' && !(currency && isLabelOf(label, currency)))
    return currency && /^[a-z]{3}$/i.test(label)
      ? refuse('other_currency', say.otherCurrency(label.toUpperCase(), currency))
      : refuse('not_an_amount', say.notAnAmount);
  const [, thousands, rest] = TWO_MEANINGS.exec(number) ?? [];
  if (thousands !== undefined && rest !== undefined)
    return refuse('ambiguous', say.ambiguous(number, `${thousands}${rest}`, waysWithDecimals(thousands, rest)));
  const match = COMMA_GROUPS.exec(number) ?? DOT_GROUPS.exec(number) ?? SPACE_GROUPS.exec(number);
  if (!match) return refuse('not_an_amount', say.notAnAmount);
  const [, whole = '', fraction = ''] = match;
  if (fraction.length > 2) return refuse('too_many_decimals', say.tooManyDecimals(decimals));
  const plain = `${whole.replace(/\D/g, '').replace(/^0+(?=\d)/, '')}.${fraction || '0'}`;
  const read = parseAmount(plain, decimals);
  if (read.ok) return read;
  switch (read.error) {
    case 'not_positive':
      return zero ? { ok: true, amount: 0n } : refuse('not_positive', say.notPositive);
    case 'too_many_decimals':
      return refuse('too_many_decimals', say.tooManyDecimals(decimals));
    case 'too_large':
      return refuse('too_large', say.tooLarge);
    case 'not_an_amount':
      return refuse('not_an_amount', say.notAnAmount);
  }
}

/** How to write the smaller of two meanings; null where it has a third decimal, which no currency of ours takes. */
function waysWithDecimals(whole: string, fraction: string): [whole: string, fraction: string] | null {
  return fraction.endsWith('0') ? [whole, fraction.slice(0, 2)] : null;
}
