// What can be wrong with a catalogue beyond its shape: references that lead nowhere, tables that contradict
// each other, names that mean two methods. Every check writes a sentence with the path of what to change.

import { parseAmount } from '../platform/money.ts';
import {
  type CatalogDocument,
  type CountryDocument,
  documentAmount,
  findDocumentErrors,
  type MethodDocument,
  type TermsDocument,
} from './document.ts';
import { nameKey, namesOf } from './method-names.ts';

type Checked = { ok: true; document: CatalogDocument } | { ok: false; faults: string[] };

export function findCatalogErrors(document: unknown): Checked {
  const shape = findDocumentErrors(document);
  if (shape.length > 0) return { ok: false, faults: shape };
  // The schema has just accepted it.
  const read = document as CatalogDocument;
  const faults = [
    ...Object.entries(read.countries).flatMap(([iso, country]) => countryFaults(iso, country)),
    ...Object.entries(read.methods).flatMap(([code, method]) => methodFaults(code, method, read)),
    ...nameFaults(read),
    ...prefixFaults(read),
    ...Object.entries(read.paymentLinks).flatMap(([id, row]) => rowFaults(`paymentLinks.${id}`, id, row, read)),
    ...Object.entries(read.collections).flatMap(([id, row]) => [
      ...rowFaults(`collections.${id}`, id, row, read),
      ...wholeAmountFaults(`collections.${id}`, row, read),
    ]),
  ];
  return faults.length > 0 ? { ok: false, faults } : { ok: true, document: read };
}

function countryFaults(iso: string, country: CountryDocument): string[] {
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

function methodFaults(code: string, method: MethodDocument, document: CatalogDocument): string[] {
  const at = `methods.${code}`;
  const faults = termsFaults(`${at}.collection`, method.collection);
  if (method.payout) faults.push(...termsFaults(`${at}.payout`, method.payout));
  if (!document.countries[method.country]) faults.push(`${at}.country must be a key of countries.`);
  if (!document.brands[method.brand]) faults.push(`${at}.brand must be a key of brands.`);
  if (method.verification === 'shortcode' && method.dial.length === 0)
    faults.push(`${at}.dial must name the short code, because verification is "shortcode".`);
  return faults;
}

function termsFaults(at: string, terms: TermsDocument): string[] {
  const { min, max, fee, decimals } = terms;
  const faults: string[] = [];
  const amounts = { min, max, 'fee.fixed': fee.fixed ?? 0, 'fee.min': fee.min ?? 0, 'fee.max': fee.max ?? 0 };
  for (const [name, value] of Object.entries(amounts)) {
    if (documentAmount(value) === null)
      faults.push(`${at}.${name} must be an amount with at most two decimals, not beyond 90071992547409.91.`);
    else if (Number(value) !== 0 && !parseAmount(value, decimals).ok)
      faults.push(`${at}.${name} must have at most ${decimals} decimals, as ${at}.decimals says.`);
  }
  const read = (value: number | string) => documentAmount(value) ?? 0n;
  if (Number(min) === 0) faults.push(`${at}.min must be more than zero.`);
  if (read(max) < read(min)) faults.push(`${at}.max must not be less than ${at}.min.`);
  if (fee.max !== undefined && read(fee.max) < read(fee.min ?? 0))
    faults.push(`${at}.fee.max must not be less than ${at}.fee.min.`);
  return faults;
}

/** Within one country no name may mean two methods, whichever table lists them. */
function nameFaults(document: CatalogDocument): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const [code, method] of Object.entries(document.methods)) {
    for (const name of namesOf(code, method)) {
      const key = `${method.country} ${nameKey(name)}`;
      const owner = owners.get(key) ?? code;
      owners.set(key, owner);
      if (owner !== code)
        faults.push(`methods.${code} must not be called "${name}": methods.${owner} of the same country is.`);
    }
  }
  return [...new Set(faults)];
}

/** A prefix belongs to one operator; a longer one may be carved out of a shorter one. */
function prefixFaults(document: CatalogDocument): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  const claim = (iso: string, prefix: string, path: string) => {
    const owner = owners.get(`${iso} ${prefix}`) ?? path;
    owners.set(`${iso} ${prefix}`, owner);
    if (owner !== path) faults.push(`${path} must not hold "${prefix}": ${owner} holds it.`);
  };
  for (const [iso, country] of Object.entries(document.countries))
    for (const prefix of country.otherPrefixes) claim(iso, prefix, `countries.${iso}.otherPrefixes`);
  for (const [code, method] of Object.entries(document.methods))
    for (const prefix of method.prefixes) claim(method.country, prefix, `methods.${code}.prefixes`);
  return faults;
}

function rowFaults(
  at: string,
  id: string,
  row: CatalogDocument['paymentLinks'][string],
  document: CatalogDocument,
): string[] {
  const country = document.countries[row.country];
  if (country === undefined) return [`${at}.country must be a key of countries.`];
  const faults: string[] = [];
  const facts = `countries.${row.country}`;
  if (Number(id) !== country.id) faults.push(`${at} must stand under ${country.id}, which is ${facts}.id.`);
  if (row.dialCode !== country.dialCode)
    faults.push(`${at}.dialCode must be "${country.dialCode}", as ${facts}.dialCode is.`);
  if (row.currency !== country.currency)
    faults.push(`${at}.currency must be "${country.currency}", as ${facts}.currency is.`);
  row.methods.forEach((code, index) => {
    const method = document.methods[code];
    if (method === undefined) faults.push(`${at}.methods.${index} must be a key of methods; "${code}" is not.`);
    else if (method.country !== row.country)
      faults.push(`${at}.methods.${index} must be a method of ${row.country}; "${code}" is of ${method.country}.`);
    if (row.methods.indexOf(code) !== index) faults.push(`${at}.methods.${index} must not repeat "${code}".`);
  });
  return faults;
}

/** A country that the specification marks "Not Supported" may be opened, for whole amounts only. */
function wholeAmountFaults(
  at: string,
  row: CatalogDocument['collections'][string],
  document: CatalogDocument,
): string[] {
  if (row.extraColumn !== 'Not Supported' || !row.apiCollections) return [];
  return row.methods
    .filter((code) => (document.methods[code]?.collection.decimals ?? 0) > 0)
    .map((code) => `methods.${code}.collection.decimals must be 0, because ${at} is "Not Supported" but opened.`);
}
