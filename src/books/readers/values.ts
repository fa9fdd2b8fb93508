// Amounts, times and texts as operators write them in files.

import { amountFrom } from '../../platform/money.ts';
import { localMoments } from '../../platform/time-zones.ts';

/** Why a row is no line. The sentence is shown beside the row. */
export class RowError extends Error {
  override readonly name = 'RowError';
}

const SPACES = /[\s\u00a0\u2007\u2009\u202f']/g;
const MINUS = /[\u2010-\u2015\u2212]/g;
/** The name or the sign of a currency, or DR and CR, on either side. */
const LABEL_BEFORE = /^(-?)([\p{L}\p{Sc}]{1,4})\.?(?=[-\d(])/u;
const LABEL_AFTER = /(?<=[\d)])([\p{L}\p{Sc}]{1,4})\.?$/u;
/** Banks write so what left the account, without a minus. */
const DEBIT = /^d[rb]$/i;
/** Behind a number these are no currency: 5K can be five thousand. */
const SCALE = /^(?:[kmb]|[mb]n|mm|mio|mrd)$/i;
const PLAIN = /^\d+(?:\.\d+)?$/;
/** More digits than any amount that the ledger takes. */
const MAX_DIGITS = 15;
/** No amount and no time is as long. Expressions that look for them take the square of the time for a text that is. */
const MAX_VALUE = 200;

export type DecimalSign = '.' | ',';

/**
 * A signed amount. `decimalSign` null: it is found from the text, and a text with two meanings ("1,500") is refused. A minus may
 * stand on either side, or be a pair of brackets, or DR.
 */
export function readFileAmount(text: string, decimalSign: DecimalSign | null): bigint {
  if (text.length > MAX_VALUE) throw new RowError(`"${shown(text)}" is too long to be an amount.`);
  const { bare, isDebit } = withoutLabels(text);
  const inBrackets = /^\((.+)\)$/.exec(bare)?.[1];
  const trailing = /^([^-]+)-$/.exec(bare)?.[1];
  const signed = inBrackets ?? trailing ?? bare;
  const isNegative = isDebit || inBrackets !== undefined || trailing !== undefined || signed.startsWith('-');
  const digits = plainDigits(signed.replace(/^[+-]/, ''), decimalSign);
  if (digits === null) throw new RowError(`"${shown(text)}" is not an amount.`);
  const [whole = '0', fraction = ''] = digits.split('.');
  const hundredths = fraction.replace(/0+$/, '');
  if (hundredths.length > 2) throw new RowError(`"${shown(text)}" has more than two decimals.`);
  if (whole.length > MAX_DIGITS) throw new RowError(`"${shown(text)}" is larger than any amount.`);
  const amount = amountFrom(`${whole.replace(/^0+(?=\d)/, '')}${hundredths === '' ? '' : `.${hundredths}`}`);
  return isNegative ? -amount : amount;
}

function withoutLabels(text: string): { bare: string; isDebit: boolean } {
  const whole = text.replace(SPACES, '').replace(MINUS, '-');
  const labels = [LABEL_BEFORE.exec(whole)?.[2] ?? '', LABEL_AFTER.exec(whole)?.[1] ?? ''];
  if (SCALE.test(labels[1] ?? '')) throw new RowError(`"${shown(text)}" is not an amount. Write all its digits.`);
  const bare = whole.replace(LABEL_BEFORE, '$1').replace(LABEL_AFTER, '');
  return { bare, isDebit: labels.some((label) => DEBIT.test(label)) };
}

function plainDigits(text: string, decimalSign: DecimalSign | null): string | null {
  const sign = decimalSign ?? guessedSign(text);
  const group = sign === '.' ? ',' : '.';
  const [whole = '', fraction, ...more] = text.split(sign);
  if (more.length > 0 || fraction?.includes(group)) return null;
  // Groups of three, and nothing else, may be set apart.
  if (whole.includes(group) && !/^\d{1,3}(?:[.,]\d{3})+$/.test(whole)) return null;
  const plain = `${whole.replaceAll(group, '') || '0'}${fraction ? `.${fraction}` : ''}`;
  return PLAIN.test(plain) && /\d/.test(text) ? plain : null;
}

function guessedSign(text: string): DecimalSign {
  const [dot, comma] = [text.lastIndexOf('.'), text.lastIndexOf(',')];
  if (dot >= 0 && comma >= 0) return dot > comma ? '.' : ',';
  const only = dot >= 0 ? '.' : ',';
  const parts = text.split(only);
  if (parts.length > 2) return only === '.' ? ',' : '.';
  if (parts.length === 2 && /^[1-9]\d{0,2}$/.test(parts[0] ?? '') && parts[1]?.length === 3)
    throw new RowError(`"${shown(text)}" has two meanings. Say which sign the decimals have.`);
  return only;
}

/** Null where the cell is empty. */
export function optionalAmount(text: string, decimalSign: DecimalSign | null): bigint | null {
  return /^[\s\-–—]*$/.test(text) ? null : readFileAmount(text, decimalSign);
}

export const magnitudeOf = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

export type DateOrder = 'dmy' | 'mdy';

const ISO = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(.+))?$/;
const LOCAL = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ,]+(.+))?$/;
const TIME = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([AaPp]\.?[Mm]\.?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?$/;
const SERIAL = /^\d{5}(?:\.\d+)?$/;
const DAY_MS = 86_400_000;
/** Day 0 of a spreadsheet; day 60 is a 29 February 1900 that never was, long before any statement. */
const SERIAL_START = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

/** Times as the file has them, in its zone. */
export type LocalTimes = {
  /** A date with its time, in one of the forms with one meaning, in `dateOrder`, or the number of a spreadsheet. */
  read(text: string): Date;
  /** By a pattern such as "dd/MM/yyyy HH:mm:ss". */
  readAs(text: string, pattern: string): Date;
};

export type TimeOptions = {
  zone: string;
  /** Which comes first where both could be the month; null: such dates are refused. */
  dateOrder: DateOrder | null;
  /** How a spreadsheet counts days; null in other files, where a number is no date. */
  serialDates: 1900 | 1904 | null;
};

export function createLocalTimes({ zone, dateOrder, serialDates }: TimeOptions): LocalTimes {
  const momentOf = localMoments(zone);
  const moment = (text: string, date: readonly string[], clock: string | undefined): Date => {
    const [year, month, day] = date.map(Number) as [number, number, number];
    const time = clock === undefined ? noTime() : TIME.exec(clock.trim());
    const isDay =
      month >= 1 && month <= 12 && day >= 1 && new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
    if (!isDay || !time) throw new RowError(`"${shown(text)}" is not a time.`);
    const milliseconds = millisecondsOf(time);
    if (milliseconds === null) throw new RowError(`"${shown(text)}" is not a time.`);
    const offset = time[6];
    if (offset !== undefined) return new Date(Date.UTC(year, month - 1, day) + milliseconds - offsetOf(offset));
    return momentOf(year, month, day, milliseconds);
  };
  const checked = (text: string, at: Date): Date => {
    if (at.getTime() >= EARLIEST && at.getTime() < LATEST) return at;
    throw new RowError(`"${shown(text)}" is not a time of a statement.`);
  };
  return {
    read(text) {
      requireShort(text);
      const trimmed = text.trim();
      const iso = ISO.exec(trimmed);
      if (iso) return checked(text, moment(text, iso.slice(1, 4), iso[4]));
      const local = LOCAL.exec(trimmed);
      if (local) return checked(text, moment(text, ordered(text, local, dateOrder), local[4]));
      if (serialDates !== null && SERIAL.test(trimmed)) {
        const at = new Date(SERIAL_START[serialDates] + Math.round((Number(trimmed) * DAY_MS) / 1000) * 1000);
        const since = at.getTime() % DAY_MS;
        return checked(text, momentOf(at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate(), since));
      }
      throw new RowError(trimmed === '' ? 'The time is missing.' : `"${shown(text)}" is not a time.`);
    },
    readAs(text, pattern) {
      requireShort(text);
      const found = patternOf(pattern).exec(text.trim())?.groups;
      if (!found) throw new RowError(`"${shown(text)}" is not a time of the form ${pattern}.`);
      const year = found.year?.length === 2 ? `20${found.year}` : (found.year ?? '');
      const clock =
        found.hour === undefined
          ? undefined
          : `${found.hour}:${found.minute ?? '00'}:${found.second ?? '00'}${found.half ?? ''}`;
      return checked(text, moment(text, [year, found.month ?? '', found.day ?? ''], clock));
    },
  };
}

function requireShort(text: string): void {
  if (text.length > MAX_VALUE) throw new RowError(`"${shown(text)}" is too long to be a time.`);
}

const noTime = () => TIME.exec('0:00');

function millisecondsOf([, hour, minute, second = '0', fraction = '', half]: readonly (string | undefined)[]):
  | number
  | null {
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)];
  if (minutes > 59 || seconds > 59 || hours > 23 || (half !== undefined && (hours < 1 || hours > 12))) return null;
  const ofDay = half === undefined ? hours : (hours % 12) + (/^p/i.test(half) ? 12 : 0);
  return ((ofDay * 60 + minutes) * 60 + seconds) * 1000 + Number(fraction.padEnd(3, '0').slice(0, 3));
}

function offsetOf(offset: string): number {
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d{2}):?(\d{2})$/.exec(offset) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Year, month and day of "13/02/2026" or "02/13/2026". With dashes the day is first, as in every file that was seen. */
function ordered(
  text: string,
  [whole, first = '', second = '', year = '']: RegExpExecArray,
  order: DateOrder | null,
): string[] {
  const by = order ?? orderOf(first, second) ?? (whole.includes('/') ? null : 'dmy');
  if (by === null)
    throw new RowError(`"${shown(text)}" has two meanings. Say whether the day or the month comes first.`);
  return by === 'dmy' ? [year, second, first] : [year, first, second];
}

function orderOf(first: string, second: string): DateOrder | null {
  if (first === second) return 'dmy';
  if (Number(first) > 12) return 'dmy';
  return Number(second) > 12 ? 'mdy' : null;
}

/**
 * Which comes first in the dates of a file. The first date that can only be read one way decides; then dates in the future, which no
 * statement has. Null: they can all be read both ways, or there are none with slashes.
 */
export function findDateOrder(dates: readonly string[], now: Date): DateOrder | null {
  const found = dates
    .filter((date) => date.length <= MAX_VALUE)
    .map((date) => LOCAL.exec(date.trim()))
    .filter((match) => match !== null);
  for (const [, first = '', second = ''] of found) {
    const order = first === second ? null : orderOf(first, second);
    if (order) return order;
  }
  const isFuture = (order: DateOrder) =>
    found.some(([, first, second, year]) => {
      const [day, month] = order === 'dmy' ? [first, second] : [second, first];
      return Date.UTC(Number(year), Number(month) - 1, Number(day)) > now.getTime() + DAY_MS;
    });
  const [dmy, mdy] = [isFuture('dmy'), isFuture('mdy')];
  if (dmy === mdy) return null;
  return dmy ? 'mdy' : 'dmy';
}

const PATTERN_PARTS: Readonly<Record<string, string>> = {
  yyyy: '(?<year>\\d{4})',
  yy: '(?<year>\\d{2})',
  MM: '(?<month>\\d{1,2})',
  M: '(?<month>\\d{1,2})',
  dd: '(?<day>\\d{1,2})',
  d: '(?<day>\\d{1,2})',
  HH: '(?<hour>\\d{1,2})',
  H: '(?<hour>\\d{1,2})',
  hh: '(?<hour>\\d{1,2})',
  h: '(?<hour>\\d{1,2})',
  mm: '(?<minute>\\d{1,2})',
  ss: '(?<second>\\d{1,2})(?:[.,]\\d+)?',
  a: '(?<half>[AaPp][Mm])',
};
const PATTERN_PART = /yyyy|yy|MM|M|dd|d|HH|H|hh|h|mm|ss|a|./gs;

/** Throws a RowError where a pattern has no day, or has a part twice. */
function patternOf(pattern: string): RegExp {
  const parts = pattern.match(PATTERN_PART) ?? [];
  const source = parts.map((part) => PATTERN_PARTS[part] ?? part.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('');
  const hasDay = ['year', 'month', 'day'].every((name) => source.split(`?<${name}>`).length === 2);
  const isOnce = ['hour', 'minute', 'second', 'half'].every((name) => source.split(`?<${name}>`).length <= 2);
  if (!hasDay || !isOnce) throw new RowError(`"${pattern}" is not a form of dates: write it like dd/MM/yyyy HH:mm:ss.`);
  return new RegExp(`^${source}$`);
}

/** For mappings that people write, before anything is read with them. */
export function isDatePattern(pattern: string): boolean {
  try {
    return patternOf(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

const MAX_ID = 200;

/** An identifier; null where the cell is empty. */
export function idOrNull(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed.length > MAX_ID) throw new RowError(`"${shown(trimmed)}" is too long to be an identifier.`);
  return trimmed === '' || /^(?:-+|n\/?a|null|none)$/i.test(trimmed) ? null : trimmed;
}

/** A number with its dial code or as people dial it, whole or masked: 2547****678. */
const PHONE = /(?<![\d*])\+?(?=[\d*xX]*\d)\d{2,}[\d*xX]{5,12}\d(?![\d*])/;

/** The phone number in a text such as "254722****55 - JANE DOE", "FRI:250788123456/MSISDN" or "+221 77 123 45 67". */
export function phoneIn(text: string): string | null {
  const found = PHONE.exec(text) ?? PHONE.exec(text.replaceAll(/(?<=\d)[ .-](?=\d)/g, ''));
  return found ? found[0].replace(/^\+/, '').replaceAll(/x/gi, '*') : null;
}

export function requireCurrency(text: string, usual: string | null): string {
  const currency = text.trim().toUpperCase() || usual;
  if (currency === null) throw new RowError('The file does not name the currency. Say which one it is.');
  if (!/^[A-Z]{3}$/.test(currency)) throw new RowError(`"${shown(currency)}" is not a currency.`);
  return currency;
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
