// Normalises phone numbers to digits with the dial code. The API is strict (ASCII digits after one optional +); pages
// also accept spaces, dashes, 00 and a trunk digit after the dial code.

import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { Country } from './catalog.ts';

/** E.164 allows 15 digits; a + and a trunk digit may come on top. */
const MAX_LENGTH = 17;
const MAX_LENIENT_LENGTH = 40;

export type NumberResult = { ok: true; digits: string } | { ok: false; sentence: string };

/**
 * A mobile number of the country as digits with the dial code. Accepts the international form with or without +, and
 * the national form with or without its trunk digit; their lengths differ. Matching is one regular expression of the
 * catalogue because every collection runs it.
 */
export function normaliseNumber(input: unknown, country: Country, options: { lenient?: boolean } = {}): NumberResult {
  const lenient = options.lenient === true;
  const written = typeof input === 'string' ? (lenient ? tidyNumber(input) : input) : '';
  if (written.length > MAX_LENGTH || !/^\+?\d+$/.test(written)) {
    const allowed = lenient ? 'digits' : 'ASCII digits only, with or without a leading +,';
    return { ok: false, sentence: `The number must be ${allowed} such as ${describeExample(country)}.` };
  }
  const international = written.startsWith('+');
  const bare = international ? written.slice(1) : written;
  if (bare.startsWith(country.dialCode)) {
    const rest = bare.slice(country.dialCode.length);
    const national = upgrade(rest, country) ?? (lenient ? upgrade(withoutTrunk(rest, country), country) : null);
    if (national !== null) return { ok: true, digits: country.dialCode + national };
  }
  if (!international) {
    const national = upgrade(bare, country) ?? upgrade(withoutTrunk(bare, country), country);
    if (national !== null) return { ok: true, digits: country.dialCode + national };
  }
  return {
    ok: false,
    sentence: `This is not a mobile number of ${country.name}; write it like ${describeExample(country)}.`,
  };
}

/** A mobile number of one of the countries, written with its country; null for any other text, the national form included. */
export function readWithCountry(typed: string, countries: Iterable<Country>): string | null {
  const international = /^\s*(?:\+|00)/.test(typed) ? typed : `+${typed}`;
  for (const country of countries) {
    const number = normaliseNumber(international, country, { lenient: true });
    if (number.ok) return number.digits;
  }
  return null;
}

/** Whether stored digits are a number in the form in which payments have it. Earlier versions stored some as they were typed. */
export function isNormalised(digits: string, countries: Iterable<Country>): boolean {
  return readWithCountry(digits, countries) === digits;
}

/**
 * Any phone number, for contact details: of the country if one is given and it fits, else any valid
 * international number.
 */
export function normaliseContactNumber(input: string, country: Country | null): NumberResult {
  if (country) {
    const local = normaliseNumber(input, country);
    if (local.ok) return local;
  }
  const international = /^\+?[1-9]\d{6,14}$/.test(input)
    ? parsePhoneNumberFromString(input.startsWith('+') ? input : `+${input}`)
    : undefined;
  if (international?.isValid()) return { ok: true, digits: international.number.slice(1) };
  const example = country ? describeExample(country) : '+256772123456';
  return { ok: false, sentence: `This is not a valid phone number; write it with the country code, like ${example}.` };
}

/** Code of the method whose operator the number's prefix belongs to; null when there is none. A suggestion only. */
export function predictOperator(digits: string, country: Country): string | null {
  if (!digits.startsWith(country.dialCode)) return null;
  const start = country.dialCode.length;
  for (let length = country.longestPrefix; length > 0; length--) {
    const owner = country.operators.get(digits.slice(start, start + length));
    if (owner !== undefined) return owner;
  }
  return null;
}

/** A normalised number in its national form, in groups that can be read aloud, "0772 123 456"; unchanged if that is not known. */
export function formatNumber(digits: string): string {
  const national = parsePhoneNumberFromString(`+${digits}`)?.formatNational() ?? digits;
  return national.replace(/(?<= )(\d{3})(\d{3})$/, '$1 $2');
}

/** "256772123456 or 0772123456". */
function describeExample(country: Country): string {
  return `${country.example} or ${country.trunk}${country.example.slice(country.dialCode.length)}`;
}

/** The national number in the current numbering plan, or null if it is not a mobile number of the country. */
function upgrade(national: string, country: Country): string | null {
  if (country.mobile.test(national)) return national;
  const plan = country.formerPlan;
  if (!plan || national.length !== plan.digits) return null;
  const upgraded = plan.add + national;
  return country.mobile.test(upgraded) ? upgraded : null;
}

function withoutTrunk(national: string, country: Country): string {
  return country.trunk !== '' && national.startsWith(country.trunk) ? national.slice(1) : national;
}

/** Removes separators and the invisible direction marks that address books add; 00 becomes +. */
export function tidyNumber(input: string): string {
  if (input.length > MAX_LENIENT_LENGTH) return '';
  const compact = input.replace(/[\s\-‐-―.()/\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '');
  return compact.startsWith('00') ? `+${compact.slice(2)}` : compact;
}
