// The catalogue as the gateway uses it: read once at start from the built-in data and the override file, checked
// and resolved. Everything else in this folder is data or pure functions.

import { readFileSync } from 'node:fs';
import { JsonError, type JsonValue, parseStrictJson } from '../platform/strict-json.ts';
import { findCatalogErrors } from './catalog-errors.ts';
import { BUILT_IN } from './data.ts';
import {
  applyMergePatch,
  type CatalogDocument,
  type CountryDocument,
  documentAmount,
  type MethodDocument,
  type TermsDocument,
} from './document.ts';
import { nameKey, namesOf } from './method-names.ts';

export type Direction = 'collection' | 'payout';

/** Amounts in hundredths; `max` null: no cap. */
export type Fee = { basisPoints: bigint; fixed: bigint; min: bigint; max: bigint | null };

export type Terms = { decimals: number; decimalsReason: string | null; min: bigint; max: bigint; fee: Fee };

export type Language = CountryDocument['languages'][number];

export type Country = {
  /** ISO 3166, two letters. */
  iso: string;
  id: number;
  name: string;
  dialCode: string;
  currency: string;
  /** The default language first. */
  languages: readonly Language[];
  trunk: string;
  /** Matches a whole national mobile number, without the trunk digit. */
  mobile: RegExp;
  formerPlan: { digits: number; add: string } | null;
  /** National prefix → method code, or null for an operator outside the catalogue. The longest match wins. */
  operators: ReadonlyMap<string, string | null>;
  longestPrefix: number;
  /** An example number: digits with the dial code. */
  example: string;
};

export type VerificationStyle = MethodDocument['verification'];

export type Method = {
  code: string;
  name: string;
  aliases: readonly string[];
  brand: string;
  /** For the test phone. */
  colours: { background: string; text: string };
  type: MethodDocument['type'];
  country: Country;
  countryId: number;
  currency: string;
  collection: Terms;
  /** null: this method only takes money in. */
  payout: Terms | null;
  verification: VerificationStyle;
  /** Whether a refund returns the fee. */
  refundFee: NonNullable<MethodDocument['refundFee']>;
  /** What the payer dials, then chooses, to get the prompt (again); empty where nothing can be dialled. */
  dial: readonly string[];
  /** The first of `dial`: "*165#". */
  shortCode: string | null;
  prefixes: readonly string[];
  example: string | null;
};

/** A row of one of the two tables of the specification. */
export type TableRow = {
  countryId: number;
  name: string;
  dialCode: string;
  currency: string;
  country: Country;
  methods: readonly Method[];
  /** As the table writes them: "2 mobile operators", "send money". */
  paymentMethodTypes: string;
  /** Every name of every method of this row, as nameKey() writes it. */
  methodsByName: ReadonlyMap<string, Method>;
};

export type LinkCountry = TableRow;
export type CollectionCountry = TableRow & { extraColumn: string; apiCollections: boolean };

export type Catalog = {
  /** By two-letter code. */
  countries: ReadonlyMap<string, Country>;
  /** By catalogue code. */
  methods: ReadonlyMap<string, Method>;
  /** By country_id, in the order of the table. Neither table is derived from the other. */
  linkCountries: ReadonlyMap<number, LinkCountry>;
  collectionCountries: ReadonlyMap<number, CollectionCountry>;
};

/** A catalogue that cannot be used, with every mistake in it. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
}

/** The built-in catalogue with the override file laid over it. Throws one Error with every mistake in it. */
export function loadCatalog(file = ''): Catalog {
  if (file === '') return readCatalog(BUILT_IN);
  let patch: JsonValue;
  try {
    patch = parseStrictJson(readFileSync(file));
  } catch (error) {
    if (error instanceof JsonError)
      throw new CatalogError(
        `The catalogue file ${file} (CATALOG_FILE) is not acceptable JSON: ${error.message} (position ${error.position}).`,
      );
    throw new CatalogError(
      `The catalogue file ${file} (CATALOG_FILE) cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch))
    throw new CatalogError(
      `The catalogue file ${file} (CATALOG_FILE) must be a JSON object such as { "methods": { … } }.`,
    );
  return readCatalog(applyMergePatch(BUILT_IN, patch), `The catalogue file ${file} (CATALOG_FILE)`);
}

/** Checks a whole document and resolves it. */
export function readCatalog(document: unknown, source = 'The built-in catalogue'): Catalog {
  const checked = findCatalogErrors(document);
  if (!checked.ok) {
    const { errors } = checked;
    throw new CatalogError(
      [`${source} has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}:`, ...errors].join('\n- '),
    );
  }
  return resolve(checked.document);
}

function resolve(document: CatalogDocument): Catalog {
  const countries = new Map(
    Object.entries(document.countries).map(([iso, country]) => [iso, resolveCountry(iso, country, document.methods)]),
  );
  const methods = new Map(
    Object.entries(document.methods).map(([code, method]) => [
      code,
      resolveMethodEntry(code, method, known(countries, method.country), document.brands),
    ]),
  );
  const resolveRow = (id: string, row: CatalogDocument['paymentLinks'][string]): TableRow => {
    const rowMethods = row.methods.map((code) => known(methods, code));
    return {
      countryId: Number(id),
      name: row.name,
      dialCode: row.dialCode,
      currency: row.currency,
      country: known(countries, row.country),
      methods: rowMethods,
      paymentMethodTypes: describeTypes(rowMethods),
      methodsByName: new Map(
        rowMethods.flatMap((method) => namesOf(method.code, method).map((name) => [nameKey(name), method])),
      ),
    };
  };
  return {
    countries,
    methods,
    linkCountries: new Map(Object.entries(document.paymentLinks).map(([id, row]) => [Number(id), resolveRow(id, row)])),
    collectionCountries: new Map(
      Object.entries(document.collections).map(([id, row]) => [
        Number(id),
        { ...resolveRow(id, row), extraColumn: row.extraColumn, apiCollections: row.apiCollections },
      ]),
    ),
  };
}

function resolveCountry(iso: string, country: CountryDocument, methods: CatalogDocument['methods']): Country {
  const { otherPrefixes, mobile, formerPlan, ...facts } = country;
  const operators = new Map<string, string | null>(otherPrefixes.map((prefix) => [prefix, null]));
  for (const [code, method] of Object.entries(methods))
    if (method.country === iso) for (const prefix of method.prefixes) operators.set(prefix, code);
  return {
    ...facts,
    iso,
    mobile: new RegExp(`^(?:${mobile})$`),
    formerPlan: formerPlan ?? null,
    operators,
    longestPrefix: Math.max(0, ...[...operators.keys()].map((prefix) => prefix.length)),
  };
}

function resolveMethodEntry(
  code: string,
  method: MethodDocument,
  country: Country,
  brands: CatalogDocument['brands'],
): Method {
  const colours = brands[method.brand];
  if (colours === undefined) throw new Error(`brand ${method.brand} was not checked`);
  return {
    ...method,
    code,
    colours,
    country,
    countryId: country.id,
    currency: country.currency,
    collection: resolveTerms(method.collection),
    payout: method.payout ? resolveTerms(method.payout) : null,
    refundFee: method.refundFee ?? 'whole',
    shortCode: method.dial[0] ?? null,
    example: method.example ?? null,
  };
}

function resolveTerms(terms: TermsDocument): Terms {
  const { fee } = terms;
  return {
    decimals: terms.decimals,
    decimalsReason: terms.decimalsReason ?? null,
    min: amount(terms.min),
    max: amount(terms.max),
    fee: {
      basisPoints: BigInt(fee.basisPoints),
      fixed: amount(fee.fixed ?? 0),
      min: amount(fee.min ?? 0),
      max: fee.max === undefined ? null : amount(fee.max),
    },
  };
}

/** As the table writes them: operators are counted, the other types are named. */
function describeTypes(methods: readonly Method[]): string {
  if (methods.some((method) => method.type !== 'mobile operator'))
    return methods.map((method) => method.type).join(', ');
  return `${methods.length} mobile operator${methods.length === 1 ? '' : 's'}`;
}

function amount(value: number | string): bigint {
  const read = documentAmount(value);
  if (read === null) throw new Error(`amount ${value} was not checked`);
  return read;
}

function known<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`${String(key)} was not checked`);
  return value;
}
