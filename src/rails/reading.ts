// Reads operators' messages. They write numbers as text and text as numbers ("ResultCode": "0", "amount": 1.00), so every
// number is read as the text that was written: nothing passes through a double, and rails compare text with text.

import { LARGEST_AMOUNT, parseAmount } from '../platform/money.ts';

/** Longer than any id, code, number or name that an operator writes. */
const MAX_TEXT_LENGTH = 200;
const DECIMAL = /^([+-]?)0*(\d{1,30})(?:\.(\d{0,30}))?(?:[eE]([+-]?\d{1,2}))?$/;
const WHOLE_NUMBER = /^\d{1,30}$/;
/** ISO 8601 with a zone; without one it is the operator's local time, which its rail has to know. */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/;

/** The value of a JSON text, with every number as it was written ("1.00"); undefined if it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text, keepNumberAsText);
  } catch {
    return undefined;
  }
}

const keepNumberAsText = ((_key: string, value: unknown, { source }: { source: string }) =>
  typeof value === 'number' ? source : value) as Parameters<typeof JSON.parse>[1];

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What stands at a path of member names and positions; undefined where there is nothing. */
export function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

/** The first of these members that is there and neither null nor empty: operators spell a name in several ways. */
export function firstOf(value: unknown, ...names: readonly string[]): unknown {
  return names.map((name) => field(value, name)).find((found) => found !== undefined && found !== null && found !== '');
}

/** The objects of a list; empty if it is none. */
export function objectsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** An id, code or name, without blanks around it. Null if it is absent or empty, or no operator would write it. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return textOf(String(value));
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (text === '' || text.length > MAX_TEXT_LENGTH || !text.isWellFormed() || /\p{Cc}/u.test(text)) return null;
  return text;
}

/** An access token: longer than other texts, and fit to be sent back in a header. */
export function tokenOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\x21-\x7e]{1,4096}$/.test(value) ? value : null;
}

/** A sentence for people. It decides nothing, so it is made fit to be stored rather than refused. */
export function proseOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  const prose = value.slice(0, MAX_TEXT_LENGTH).replace(/\p{Cc}/gu, ' ');
  return prose.toWellFormed().trim();
}

/** A positive amount in whole units ("1", "1.50", 1000.0000, "1.0E7"); null if it is none, or more than we take. */
export function moneyOf(value: unknown): bigint | null {
  const amount = signedMoneyOf(value);
  return amount !== null && amount > 0n ? amount : null;
}

/** A balance in whole units, which may be nothing or less. */
export function signedMoneyOf(value: unknown): bigint | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(textOf(value) ?? '') ?? [];
  if (sign === undefined) return null;
  const plain = moveDecimalPoint(whole, fraction, Number(exponent));
  if (/^0(?:\.0*)?$/.test(plain)) return 0n;
  const read = parseAmount(plain, 2);
  if (!read.ok) return null;
  return sign === '-' ? -read.amount : read.amount;
}

/** A positive amount in hundredths of the currency, as whole number ("150" is 1.50). */
export function hundredthsOf(value: unknown): bigint | null {
  const text = textOf(value) ?? '';
  const amount = WHOLE_NUMBER.test(text) ? BigInt(text) : 0n;
  return amount > 0n && amount <= LARGEST_AMOUNT ? amount : null;
}

export function currencyOf(value: unknown): string | null {
  const text = textOf(value);
  return text !== null && /^[A-Z]{3}$/.test(text) ? text : null;
}

/** A moment of this century; the database cannot store every date that can be written. */
export function momentOf(value: unknown): Date | null {
  const text = textOf(value) ?? '';
  const moment = MOMENT.test(text) ? new Date(text) : new Date(Number.NaN);
  const year = moment.getUTCFullYear();
  return year >= 2000 && year < 2100 ? moment : null;
}

/** Plain digits with the point where the exponent puts it, without zeros in front. */
function moveDecimalPoint(whole: string, fraction: string, exponent: number): string {
  const point = whole.length + exponent;
  const digits = point < 0 ? '0'.repeat(-point) + whole + fraction : (whole + fraction).padEnd(point, '0');
  const moved = digits.slice(0, Math.max(point, 0)).replace(/^0+/, '') || '0';
  const rest = digits.slice(Math.max(point, 0));
  return rest === '' ? moved : `${moved}.${rest}`;
}
