// Money is a bigint of hundredths in every currency. Reading, printing and rounding it happen
// here and nowhere else; no floating-point arithmetic ever touches an amount.

import { memoize } from './memoize.ts';

/**
 * Largest amount we take: just under 2^46 whole units. Up to there neighbouring doubles are closer than a
 * hundredth, so every amount is also an exact JSON number; from there on two amounts share one double.
 */
export const LARGEST_AMOUNT = 2n ** 46n * 100n - 1n;

const HUNDREDTHS = 100n;
/** In whole units. */
const LARGEST_WHOLE = Number(LARGEST_AMOUNT / HUNDREDTHS);
const PLAIN_DECIMAL = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/;
/** The languages of our pages. */
const PRINTED_LANGUAGES = ['en', 'fr', 'pt', 'sw'];
/** How a language writes money, where not as its own name says: Swahili puts the currency's code first, as English does. */
const MONEY_LOCALES: Readonly<Record<string, string>> = { pt: 'pt-MZ', sw: 'en' };
const GROUP_SPACE = '\u202f';
const ANY_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

export type AmountErrorCode = 'not_an_amount' | 'not_positive' | 'too_many_decimals' | 'too_large';
export type AmountResult = { ok: true; amount: bigint } | { ok: false; error: AmountErrorCode };

/**
 * Reads an amount as the caller wrote it: a JSON number, or a plain decimal string. Nothing is
 * rounded; `decimals` (0, 1 or 2) says how many places carry meaning, and zeros beyond them are fine.
 * A JSON number has already passed the strict parser, which refuses digits a double cannot hold,
 * so its shortest printed form is what was written.
 */
export function parseAmount(input: unknown, decimals: number): AmountResult {
  if (isWholeUnits(input)) return { ok: true, amount: BigInt(input) * HUNDREDTHS };
  const parts = typeof input === 'number' ? splitNumber(input) : typeof input === 'string' ? splitString(input) : null;
  if (parts === null) return { ok: false, error: 'not_an_amount' };
  const { negative, whole, fraction } = parts;
  if (whole.length > 15) return { ok: false, error: 'too_large' };
  const significant = fraction.replace(/0+$/, '');
  const isZero = /^0*$/.test(whole) && significant === '';
  if (negative || isZero) return { ok: false, error: 'not_positive' };
  if (significant.length > decimals) return { ok: false, error: 'too_many_decimals' };
  const amount = BigInt(whole) * HUNDREDTHS + BigInt(significant.padEnd(2, '0').slice(0, 2) || '0');
  if (amount > LARGEST_AMOUNT) return { ok: false, error: 'too_large' };
  return { ok: true, amount };
}

/** What most amounts are; the others are read digit by digit. */
function isWholeUnits(input: unknown): input is number {
  return typeof input === 'number' && Number.isInteger(input) && input > 0 && input <= LARGEST_WHOLE;
}

type DecimalParts = { negative: boolean; whole: string; fraction: string };

function splitString(text: string): DecimalParts | null {
  const match = text.length <= 40 ? PLAIN_DECIMAL.exec(text) : null;
  return match ? { negative: match[1] === '-', whole: match[2] ?? '0', fraction: match[3] ?? '' } : null;
}

function splitNumber(value: number): DecimalParts | null {
  if (!Number.isFinite(value)) return null;
  const match = ANY_NUMBER.exec(String(value));
  if (!match) return null;
  const negative = match[1] === '-';
  const digits = (match[2] ?? '') + (match[3] ?? '');
  // Where the decimal point stands within `digits` once the exponent is applied.
  const point = (match[2] ?? '').length + Number(match[4] ?? 0);
  if (point <= 0) return { negative, whole: '0', fraction: '0'.repeat(-point) + digits };
  const padded = digits.padEnd(point, '0');
  return { negative, whole: padded.slice(0, point), fraction: padded.slice(point) };
}

/** Reads an amount written by ourselves (configuration, database text); a error is our own mistake. */
export function amountFrom(text: string): bigint {
  const negative = text.startsWith('-');
  const parts = splitString(negative ? text.slice(1) : text);
  if (parts === null || parts.negative || parts.fraction.length > 2) throw new Error(`not an amount: ${text}`);
  const amount = BigInt(parts.whole) * HUNDREDTHS + BigInt(parts.fraction.padEnd(2, '0'));
  return negative ? -amount : amount;
}

/** Prints an amount without grouping: "2500", "25.50" (as many decimals as it needs, or at least `decimals`). */
export function formatAmount(amount: bigint, decimals = 0): string {
  const sign = amount < 0n ? '-' : '';
  const positive = amount < 0n ? -amount : amount;
  const whole = positive / HUNDREDTHS;
  const fraction = (positive % HUNDREDTHS).toString().padStart(2, '0');
  const shown = fraction === '00' && decimals === 0 ? '' : `.${fraction}`;
  return `${sign}${whole}${shown}`;
}

/**
 * Money as a country writes it, with one change: groups of three digits stand apart by a narrow no-break space in every
 * language, because "1,500" has two meanings and people type back what they see (decision 13). Whole amounts have no
 * decimals: they are easier to compare with the phone.
 */
export function formatMoney(amount: bigint, currency: string, locale: string): string {
  const digits = amount % HUNDREDTHS === 0n ? 0 : 2;
  // As text the amount stays exact; a number would be a double.
  return partsOfMoney(formatAmount(amount), currency, MONEY_LOCALES[locale] ?? locale, digits)
    .map((part) => (part.type === 'group' ? GROUP_SPACE : part.value))
    .join('');
}

/** By "sw-UG UGX 2": locale, currency and decimals. */
const moneyFormat = memoize((key) => {
  const [locale = '', currency = '', digits] = key.split(' ');
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: Number(digits),
    maximumFractionDigits: Number(digits),
    // Portuguese would leave "1500" in one piece, under a "12 500".
    useGrouping: 'always',
  });
});

function partsOfMoney(text: string, currency: string, locale: string, digits: number): Intl.NumberFormatPart[] {
  return moneyFormat(`${locale} ${currency} ${digits}`).formatToParts(text as Intl.StringNumericLiteral);
}

/** Whether a text is the code of a currency, or its sign in one of our languages, as `formatMoney` prints it. */
export function isLabelOf(label: string, currency: string): boolean {
  if (!/^[A-Z]{3}$/.test(currency)) return false;
  const given = label.toUpperCase();
  // A country prints its own currency differently, and most codes begin with their country: UGX is "USh" in Uganda.
  const tags = PRINTED_LANGUAGES.flatMap((language) => [language, `${language}-${currency.slice(0, 2)}`]);
  return given === currency || tags.some((tag) => signOf(currency, tag).toUpperCase() === given);
}

function signOf(currency: string, locale: string): string {
  const sign = partsOfMoney('0', currency, locale, 0).find((part) => part.type === 'currency')?.value ?? currency;
  return sign.replace(/[\u00a0\u202f]/g, ' ');
}

/** The JSON number the specification's records show. Exact for every amount up to LARGEST_AMOUNT. */
export function amountToNumber(amount: bigint): number {
  return amount % HUNDREDTHS === 0n ? Number(amount / HUNDREDTHS) : Number(formatAmount(amount));
}

/** `basisPoints` hundredths of a percent of `amount`, rounded half up to `decimals` places. */
export function share(amount: bigint, basisPoints: bigint, decimals: number): bigint {
  return roundHalfUp(amount * basisPoints, 10_000n, decimals);
}

/** numerator / denominator in hundredths, rounded half up to a multiple of the smallest unit with `decimals` places. */
function roundHalfUp(numerator: bigint, denominator: bigint, decimals: number): bigint {
  const unit = decimals >= 2 ? 1n : decimals === 1 ? 10n : 100n;
  const divisor = denominator * unit;
  return ((2n * numerator + divisor) / (2n * divisor)) * unit;
}

/** Math.min is for numbers, and money is never one. */
export function lesserOf(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
