// Phone numbers as people say them, for searches: 0712 309 000, 712309, +254 712…; whole or only their beginning. The country
// is not known, so every country of the catalogue is tried.

import type { Country } from './catalog.ts';
import { normaliseNumber } from './phone.ts';

const MAX_TYPED_DIGITS = 15;
/** With fewer digits nearly every number would begin like this. */
const MIN_PREFIX_DIGITS = 4;

/** The numbers, with their dial code, that a whole number can be. */
export function possibleNumbers(typed: string, countries: Iterable<Country>): string[] {
  const found = [...countries].flatMap((country) => {
    const result = normaliseNumber(typed, country, { lenient: true });
    return result.ok ? [result.digits] : [];
  });
  return [...new Set(found)];
}

/** How numbers begin, with their dial code, of which this is the beginning. Empty when it cannot be a number. */
export function possiblePrefixes(typed: string, countries: Iterable<Country>): string[] {
  const compact = typed.replace(/[\s().\-–]/g, '');
  const match = /^(\+|00)?(\d+)$/.exec(compact);
  const [, international, digits = ''] = match ?? [];
  if (digits.length < MIN_PREFIX_DIGITS || digits.length > MAX_TYPED_DIGITS) return [];
  const prefixes = [...countries].flatMap((country) => prefixesIn(digits, country, international !== undefined));
  return [...new Set(prefixes)];
}

function prefixesIn(digits: string, { dialCode, trunk }: Country, isInternational: boolean): string[] {
  const found: string[] = [];
  if (digits.startsWith(dialCode)) found.push(digits);
  // +254 0712…: the trunk digit is often left in.
  if (trunk !== '' && digits.startsWith(dialCode + trunk))
    found.push(dialCode + digits.slice((dialCode + trunk).length));
  if (isInternational) return found;
  const national = trunk !== '' && digits.startsWith(trunk) ? digits.slice(trunk.length) : digits;
  if (national !== '') found.push(dialCode + national);
  return found;
}
