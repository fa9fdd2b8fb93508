// Reads what a payer holds in the hand: the SMS of an operator about a payment (M-PESA, MTN MoMo, Airtel Money, Orange Money, Wave; in
// English, French, Swahili and Portuguese), or any part of one. It knows no templates, which change every year: it looks for what has
// the form of a receipt, an amount, a day or a number, and for the few names that stand before them.

import type { Country } from '../catalog/catalog.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { isCalendarDay } from '../platform/time-zones.ts';

/** The longest SMS that operators send is six parts. */
export const MAX_TEXT_CHARACTERS = 1_000;
const MAX_FOUND = 5;
/** Amounts have at most this many digits before the decimal sign. */
const MAX_AMOUNT_DIGITS = 12;

export type PaymentClue = {
  /** In capitals, as operators write them. The likeliest first, as in every list here. */
  receipts: string[];
  amounts: { amount: bigint; currency: string | null }[];
  /** 2026-11-14. */
  days: string[];
  /** Digits with the dial code: of everybody whom the text names, which may be the payee. */
  numbers: string[];
};

export function readPaymentText(typed: string, countries: Iterable<Country>): PaymentClue {
  const text = typed
    .slice(0, MAX_TEXT_CHARACTERS)
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const receipts = findReceipts(text);
  return {
    receipts,
    amounts: findAmounts(text),
    days: findDays(text),
    numbers: findNumbers(text, receipts, [...countries]),
  };
}

/** What stands before a receipt. "ID" alone is Wave's. */
const RECEIPT_LABEL = [
  '(?:trans(?:action|accao|acção|ação)?|txn|financial transaction)\\.? ?(?:id|no|code)',
  '\\btid',
  'id (?:de )?(?:la )?(?:transaction|transa[cç][cç]?[aã]o|muamala)',
  '(?:r[eé]f(?:[eé]rence)?|receipt|re[cç]u|recibo|risiti|kumbukumbu|muamala)(?: (?:no|n°|number|namba|nambari|ya muamala))?',
  '\\bid',
].join('|');
const RECEIPT = '[A-Z0-9](?:[A-Z0-9]|[._-](?=[A-Z0-9])){4,39}';
const LABELLED = new RegExp(`(?:${RECEIPT_LABEL}) ?[.:#]* ?(${RECEIPT})`, 'gi');
/** M-PESA begins with it: "SBK4T7Y8ZX Confirmed." In Mozambique: "Confirmado SBK4T7Y8ZX." */
const CONFIRMED = 'confirmed|imethibitishwa|confirm[eé]|confirmado|was reversed|a [eé]t[eé] annul[eé]';
const LEADING = new RegExp(`(?:^| )(${RECEIPT}) (?:${CONFIRMED})|confirmado ?:? (${RECEIPT})`, 'gi');
/** Letters and digits in one piece, as no other word of an SMS is. */
const MIXED = /(?:^|[ :(#])((?=[A-Z0-9._-]*\d)(?=[A-Z0-9._-]*[A-Z])[A-Z0-9][A-Z0-9._-]{6,38}[A-Z0-9])(?=$|[ .,;:)])/g;

function findReceipts(text: string): string[] {
  const found = [
    ...[...text.matchAll(LEADING)].map((match) => match[1] ?? match[2] ?? ''),
    ...[...text.matchAll(LABELLED)].map((match) => match[1] ?? ''),
    ...[...text.matchAll(MIXED)].map((match) => match[1] ?? ''),
    // Nothing else was typed.
    ...(/^[A-Za-z0-9._-]{6,40}$/.test(text) && !/^[+0]/.test(text) ? [text] : []),
  ];
  const receipts = found.map((each) => each.toUpperCase()).filter((each) => /\d/.test(each) && !isMoneyOrDate(each));
  return [...new Set(receipts)].slice(0, MAX_FOUND);
}

/** "KSH2,500" loses its end at the comma; "2026-03-02" and "12.05" are no receipts. */
function isMoneyOrDate(word: string): boolean {
  return /^[A-Z]{1,4}\d+(?:\.\d\d)?$/.test(word) && CURRENCIES.has(word.replace(/[\d.]/g, ''))
    ? true
    : /^\d{1,4}[./-](?:\d{1,2}|[A-Z]+)[./-]\d{2,4}$/.test(word) || /^\d+\.\d\d?$/.test(word);
}

/** How SMS write currencies; null: several countries write it so. */
const SIGNS_OF: readonly (readonly [currency: string | null, signs: readonly string[]])[] = [
  ['KES', ['KES', 'KSH', 'KSHS']],
  ['TZS', ['TZS', 'TSH', 'TSHS']],
  ['UGX', ['UGX', 'USH', 'USHS']],
  ['GHS', ['GHS', 'GH₵', 'GHC', '₵']],
  ['ZMW', ['ZMW', 'ZK']],
  ['NGN', ['NGN', '₦']],
  ['MZN', ['MZN', 'MT']],
  ['SLE', ['SLE', 'NLE', 'LE']],
  ['RWF', ['RWF', 'FRW']],
  ['XOF', ['XOF']],
  ['XAF', ['XAF']],
  [null, ['FCFA', 'F CFA', 'CFA', 'F', 'K', 'SH']],
];
const CURRENCIES = new Map(SIGNS_OF.flatMap(([currency, signs]) => signs.map((sign) => [sign, currency] as const)));
const SIGNS = [...CURRENCIES.keys()].sort((a, b) => b.length - a.length).join('|');
const DIGITS = "\\d{1,3}(?:[ ,.\\u00a0\\u202f']\\d{3})+(?:[.,]\\d{1,2})?|\\d+(?:[.,]\\d{1,2})?";
const AMOUNT = new RegExp(
  `(?<![\\p{L}\\d])(${SIGNS})\\.? ?(${DIGITS})(?!\\d)|(?<![\\d.,])(${DIGITS}) ?(${SIGNS})(?![\\p{L}\\d])`,
  'giu',
);
/** After these an amount is not what was paid. */
const OTHER_MONEY =
  '\\bbal(?:ance)?|solde|salio|saldo|cost|fees?|charged?|frais|commission|gharama|makato|' +
  '\\bada|taxa|\\btax|\\btva|levy|transact within the day|limit';
const NOT_PAID = new RegExp(`(?:${OTHER_MONEY})\\P{L}*(?:\\p{L}+[^\\p{L}\\d]+){0,5}$`, 'iu');
const LOOKED_BACK = 45;

function findAmounts(text: string): PaymentClue['amounts'] {
  const all = [...text.matchAll(AMOUNT)].flatMap((match) => {
    const amount = amountOf(match[2] ?? match[3] ?? '');
    const sign = (match[1] ?? match[4] ?? '').toUpperCase();
    const start = text.slice(Math.max(0, match.index - LOOKED_BACK), match.index);
    // A sentence ends the reach of its words: "Fee: 0. You paid 500".
    const sentence = start.split(/[.;] /).at(-1) ?? start;
    if (amount === null || NOT_PAID.test(sentence)) return [];
    return [{ amount, currency: CURRENCIES.get(sign) ?? null }];
  });
  const distinct = new Map(all.map((each) => [`${each.amount} ${each.currency}`, each]));
  return [...distinct.values()].slice(0, MAX_FOUND);
}

/** Hundredths of "2,500.00", "2 500", "2.500" and "2500,5"; null: not an amount above zero. */
export function amountOf(written: string): bigint | null {
  const plain = written.replace(/[\s']/g, '').replace(/[.,](?=\d{3}(?!\d))/g, '');
  const match = /^(\d+)(?:[.,](\d{1,2}))?$/.exec(plain);
  if (!match || (match[1] ?? '').length > MAX_AMOUNT_DIGITS) return null;
  const amount = BigInt(match[1] ?? '0') * 100n + BigInt((match[2] ?? '').padEnd(2, '0'));
  return amount > 0n ? amount : null;
}

/** The first three letters of months in the four languages; the place is the month. */
const MONTHS = [
  ['jan'],
  ['feb', 'fev', 'fév'],
  ['mar', 'mac'],
  ['apr', 'avr', 'abr'],
  ['may', 'mai', 'mei'],
  ['jun', 'jui'],
  ['jul'],
  ['aug', 'aoû', 'aou', 'ago'],
  ['sep', 'set'],
  ['oct', 'okt', 'out'],
  ['nov'],
  ['dec', 'déc', 'des', 'dez'],
];
const YEAR_FIRST = /(?<!\d)(20\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/g;
const DAY_FIRST = /(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.]((?:20)?\d\d)(?!\d)/g;
const BY_NAME =
  /(?<!\d)(\d{1,2})(?:er|st|nd|rd|th)?[- ](?:de )?(\p{L}{3})\p{L}*[-, ]{1,2}(?:de )?((?:20)?\d\d)(?!\d)/giu;
/** Orange and Airtel write the day into the receipt: MP260302.1205.B56929. */
const IN_RECEIPT = /\b[A-Z]{2}(\d\d)(\d\d)(\d\d)\.\d{4}\.[A-Z0-9]+/g;

function findDays(text: string): string[] {
  const found = [
    ...[...text.matchAll(YEAR_FIRST)].map(([, year, month, day]) => dayOf(year, month, day)),
    ...[...text.matchAll(DAY_FIRST)].map(([, day, month, year]) => dayOf(year, month, day)),
    ...[...text.matchAll(BY_NAME)].map(([, day, name, year]) => dayOf(year, monthOf(name ?? '', text), day)),
    ...[...text.matchAll(IN_RECEIPT)].map(([, year, month, day]) => dayOf(year, month, day)),
  ];
  return [...new Set(found.filter((day) => isCalendarDay(day)))].slice(0, MAX_FOUND);
}

function monthOf(name: string, text: string): string {
  const start = name.toLowerCase();
  // "jui" begins two French months.
  const isJuly = start === 'jui' && /juil/i.test(text);
  return String(isJuly ? 7 : MONTHS.findIndex((names) => names.includes(start)) + 1);
}

function dayOf(year = '', month = '', day = ''): string {
  return `${year.length === 2 ? `20${year}` : year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

const NUMBER = /(?<![\dA-Z.])(?:\+|00)?\d(?:[ -]?\d){7,14}(?![\dA-Z])/gi;

function findNumbers(text: string, receipts: readonly string[], countries: readonly Country[]): string[] {
  const written = [...text.matchAll(NUMBER)].map(([each]) => each.trim());
  const numbers = written
    .filter((each) => !receipts.includes(each.replace(/\D/g, '')) && !/^20\d\d[-/.]/.test(each))
    .flatMap((each) => possibleNumbers(each, countries));
  return [...new Set(numbers)].slice(0, MAX_FOUND);
}

/** The number with the dial code of every country in which it is one: people write 0712 345 678. */
export function possibleNumbers(written: string, countries: Iterable<Country>): string[] {
  const found = [...countries].flatMap((country) => {
    const number = normaliseNumber(written, country, { lenient: true });
    return number.ok ? [number.digits] : [];
  });
  return [...new Set(found)];
}
