// What can be wrong with a catalogue beyond its shape: references to nothing, tables that contradict each other, names
// of two methods. Every check writes a sentence with the path of what to change.

import { formatAmount, LARGEST_AMOUNT, parseAmount } from '../platform/money.ts';
import {
  type CatalogDocument,
  type CountryDocument,
  documentAmount,
  findDocumentErrors,
  type MethodDocument,
  type TermsDocument,
} from './document.ts';
import { nameKey, namesOf } from './method-names.ts';

type Checked = { ok: true; document: CatalogDocument } | { ok: false; errors: string[] };

export function findCatalogErrors(document: unknown): Checked {
  const shape = findDocumentErrors(document);
  if (shape.length > 0) return { ok: false, errors: shape };
  // The schema has just accepted it.
  const read = document as CatalogDocument;
  const errors = [
    ...Object.entries(read.countries).flatMap(([iso, country]) => countryErrors(iso, country)),
    ...Object.entries(read.methods).flatMap(([code, method]) => methodErrors(code, method, read)),
    ...nameErrors(read),
    ...prefixErrors(read),
    ...Object.entries(read.paymentLinks).flatMap(([id, row]) => rowErrors(`paymentLinks.${id}`, id, row, read)),
    ...Object.entries(read.collections).flatMap(([id, row]) => [
      ...rowErrors(`collections.${id}`, id, row, read),
      ...wholeAmountErrors(`collections.${id}`, row, read),
    ]),
  ];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, document: read };
}

function countryErrors(iso: string, country: CountryDocument): string[] {
  const at = `countries.${iso}`;
  const national = country.example.slice(country.dialCode.length);
  try {
    if (!country.example.startsWith(country.dialCode) || !new RegExp(`^(?:${country.mobile})$`).test(national))
      return [`${at}.example must be the dial code and a number that ${at}.mobile matches.`];
  } catch {
    return [`${at}.mobile must be a regular expression.`];
  }
  return [];
}

function methodErrors(code: string, method: MethodDocument, document: CatalogDocument): string[] {
  const at = `methods.${code}`;
  const errors = termsErrors(`${at}.collection`, method.collection);
  if (method.payout) errors.push(...termsErrors(`${at}.payout`, method.payout));
  if (!document.countries[method.country]) errors.push(`${at}.country must be a key of countries.`);
  if (!document.brands[method.brand]) errors.push(`${at}.brand must be a key of brands.`);
  if (method.verification === 'shortcode' && method.dial.length === 0)
    errors.push(`${at}.dial must name the short code, because verification is "shortcode".`);
  return errors;
}

function termsErrors(at: string, terms: TermsDocument): string[] {
  const { min, max, fee, decimals } = terms;
  const errors: string[] = [];
  const amounts = { min, max, 'fee.fixed': fee.fixed ?? 0, 'fee.min': fee.min ?? 0, 'fee.max': fee.max ?? 0 };
  for (const [name, value] of Object.entries(amounts)) {
    if (documentAmount(value) === null)
      errors.push(
        `${at}.${name} must be an amount with at most two decimals, not beyond ${formatAmount(LARGEST_AMOUNT)}.`,
      );
    else if (Number(value) !== 0 && !parseAmount(value, decimals).ok)
      errors.push(`${at}.${name} must have at most ${decimals} decimals, as ${at}.decimals says.`);
  }
  const read = (value: number | string) => documentAmount(value) ?? 0n;
  if (Number(min) === 0) errors.push(`${at}.min must be more than zero.`);
  if (read(max) < read(min)) errors.push(`${at}.max must not be less than ${at}.min.`);
  if (fee.max !== undefined && read(fee.max) < read(fee.min ?? 0))
    errors.push(`${at}.fee.max must not be less than ${at}.fee.min.`);
  return errors;
}

/** Within one country no name may mean two methods, whichever table lists them. */
function nameErrors(document: CatalogDocument): string[] {
  const owners = new Map<string, string>();
  const errors: string[] = [];
  for (const [code, method] of Object.entries(document.methods)) {
    for (const name of namesOf(code, method)) {
      const key = `${method.country} ${nameKey(name)}`;
      const owner = owners.get(key) ?? code;
      owners.set(key, owner);
      if (owner !== code)
        errors.push(`methods.${code} must not be called "${name}": methods.${owner} of the same country is.`);
    }
  }
  return [...new Set(errors)];
}

/** A prefix belongs to one operator; a longer one may be carved out of a shorter one. */
function prefixErrors(document: CatalogDocument): string[] {
  const owners = new Map<string, string>();
  const errors: string[] = [];
  const claim = (iso: string, prefix: string, path: string) => {
    const owner = owners.get(`${iso} ${prefix}`) ?? path;
    owners.set(`${iso} ${prefix}`, owner);
    if (owner !== path) errors.push(`${path} must not hold "${prefix}": ${owner} holds it.`);
  };
  for (const [iso, country] of Object.entries(document.countries))
    for (const prefix of country.otherPrefixes) claim(iso, prefix, `countries.${iso}.otherPrefixes`);
  for (const [code, method] of Object.entries(document.methods))
    for (const prefix of method.prefixes) claim(method.country, prefix, `methods.${code}.prefixes`);
  return errors;
}

function rowErrors(
  at: string,
  id: string,
  row: CatalogDocument['paymentLinks'][string],
  document: CatalogDocument,
): string[] {
  const country = document.countries[row.country];
  if (country === undefined) return [`${at}.country must be a key of countries.`];
  const errors: string[] = [];
  const facts = `countries.${row.country}`;
  if (Number(id) !== country.id) errors.push(`${at} must be under the key ${country.id}, which is ${facts}.id.`);
  if (row.dialCode !== country.dialCode)
    errors.push(`${at}.dialCode must be "${country.dialCode}", as ${facts}.dialCode is.`);
  if (row.currency !== country.currency)
    errors.push(`${at}.currency must be "${country.currency}", as ${facts}.currency is.`);
  row.methods.forEach((code, index) => {
    const method = document.methods[code];
    if (method === undefined) errors.push(`${at}.methods.${index} must be a key of methods; "${code}" is not.`);
    else if (method.country !== row.country)
      errors.push(`${at}.methods.${index} must be a method of ${row.country}; "${code}" is of ${method.country}.`);
    if (row.methods.indexOf(code) !== index) errors.push(`${at}.methods.${index} must not repeat "${code}".`);
  });
  return errors;
}

/** A country that the specification marks "Not Supported" may be opened, for whole amounts only. */
function wholeAmountErrors(
  at: string,
  row: CatalogDocument['collections'][string],
  document: CatalogDocument,
): string[] {
  if (row.extraColumn !== 'Not Supported' || !row.apiCollections) return [];
  return row.methods
    .filter((code) => (document.methods[code]?.collection.decimals ?? 0) > 0)
    .map((code) => `methods.${code}.collection.decimals must be 0, because ${at} is "Not Supported" but opened.`);
}
