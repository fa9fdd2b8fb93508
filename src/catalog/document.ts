// The written form of the catalogue: the shape of data.ts and of the override file, and the sentences
// that explain what is wrong with one. Amounts here are as people write them (500, "0.50").

import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { parseAmount } from '../platform/money.ts';
import type { JsonValue } from '../platform/strict-json.ts';
import { EXPECTED, findShapeErrors } from '../platform/validation.ts';

/** More errors than this in one file help nobody. */
const MAX_ERRORS = 200;

/** Each phrase completes the sentence "<path> must be …": it is for the person who edits the file. */
const closed = { additionalProperties: false };

const text = (expected: string) => Type.String({ minLength: 1, maxLength: 200, [EXPECTED]: expected });
const amount = Type.Union(
  [Type.Number({ minimum: 0 }), Type.String({ pattern: '^(0|[1-9]\\d{0,14})(\\.\\d{1,2})?$' })],
  {
    [EXPECTED]: 'an amount of zero or more with at most two decimals, such as 500 or "0.50"',
  },
);
const digits = (expected: string) => Type.String({ pattern: '^\\d{1,15}$', [EXPECTED]: expected });
const colour = Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', [EXPECTED]: 'a colour such as "#FFCC00"' });
const isoCode = Type.String({ pattern: '^[A-Z]{2}$', [EXPECTED]: 'a two-letter country code such as "UG"' });
const currency = Type.String({ pattern: '^[A-Z]{3}$', [EXPECTED]: 'a three-letter currency code such as "UGX"' });
const prefixes = Type.Array(digits('the first digits of national numbers, such as "77"'), {
  [EXPECTED]: 'a list of first digits of national numbers, such as ["77", "78"]',
});

const Fee = Type.Object(
  {
    basisPoints: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      [EXPECTED]: 'hundredths of a percent, a whole number from 0 to 10000 (100 is 1 %)',
    }),
    fixed: Type.Optional(amount),
    min: Type.Optional(amount),
    max: Type.Optional(amount),
  },
  { ...closed, [EXPECTED]: 'a fee such as { "basisPoints": 100, "fixed": 0, "min": 0, "max": 2000 }' },
);

const Terms = Type.Object(
  {
    decimals: Type.Integer({ minimum: 0, maximum: 2, [EXPECTED]: '0, 1 or 2' }),
    /** Why a rail takes fewer decimals than its currency has; added to the refusal. */
    decimalsReason: Type.Optional(text('a sentence')),
    min: amount,
    max: amount,
    fee: Fee,
  },
  { ...closed, [EXPECTED]: 'terms: { "decimals", "min", "max", "fee" }' },
);

const Method = Type.Object(
  {
    name: text('the name that payers know today'),
    aliases: Type.Array(text('another name'), { [EXPECTED]: 'a list of other names; it may be empty' }),
    brand: text('a key of brands'),
    /** As the specification calls it; rows of mobile operators are counted, the others are named. */
    type: Type.Union(
      [
        Type.Literal('mobile operator'),
        Type.Literal('send money'),
        Type.Literal('till number'),
        Type.Literal('pay bill'),
        Type.Literal('bank transfer'),
        Type.Literal('bank'),
      ],
      { [EXPECTED]: 'one of "mobile operator", "send money", "till number", "pay bill", "bank transfer", "bank"' },
    ),
    country: isoCode,
    collection: Terms,
    /** Absent: this method only takes money in. */
    payout: Type.Optional(Terms),
    verification: Type.Union(
      [Type.Literal('prompt'), Type.Literal('shortcode'), Type.Literal('otp'), Type.Literal('instructions')],
      { [EXPECTED]: 'one of "prompt", "shortcode", "otp", "instructions"' },
    ),
    /** Whether a refund returns the fee: when it gives back the whole payment (the default), in proportion, or never. */
    refundFee: Type.Optional(
      Type.Union([Type.Literal('whole'), Type.Literal('share'), Type.Literal('never')], {
        [EXPECTED]: 'one of "whole", "share", "never"',
      }),
    ),
    /** What the payer dials and then chooses, to get the prompt (again): ["*165#", "8", "3", "1"]. */
    dial: Type.Array(Type.String({ pattern: '^[*#\\d]{1,20}$', [EXPECTED]: 'digits, * and #' }), {
      [EXPECTED]: 'a list such as ["*165#", "8", "3", "1"]; it may be empty',
    }),
    prefixes,
    /** A number of this operator, with the dial code; absent where the method knows no operator. */
    example: Type.Optional(digits('an example number with the dial code, digits only')),
  },
  { ...closed, [EXPECTED]: 'a method' },
);

const Country = Type.Object(
  {
    id: Type.Integer({ minimum: 1, maximum: 32_767, [EXPECTED]: 'the country_id, a whole number from 1' }),
    name: text('the name of the country'),
    dialCode: Type.String({ pattern: '^[1-9]\\d{0,3}$', [EXPECTED]: 'the dial code, such as "256"' }),
    currency,
    languages: Type.Array(
      Type.Union([Type.Literal('en'), Type.Literal('fr'), Type.Literal('sw'), Type.Literal('pt')]),
      {
        minItems: 1,
        [EXPECTED]: 'a list of "en", "fr", "sw", "pt", the default first',
      },
    ),
    /** Digit that national numbers begin with at home and lose abroad; '' where there is none. */
    trunk: Type.String({ pattern: '^\\d?$', [EXPECTED]: '"" or one digit, usually "0"' }),
    /** Regular expression of a whole national mobile number, without the trunk digit. */
    mobile: text('a regular expression of a whole national mobile number'),
    /** A numbering plan that was replaced: numbers of so many digits get these in front. */
    formerPlan: Type.Optional(
      Type.Object(
        {
          digits: Type.Integer({ minimum: 4, maximum: 12, [EXPECTED]: 'a number of digits' }),
          add: digits('the digits to put in front'),
        },
        { ...closed, [EXPECTED]: 'such as { "digits": 8, "add": "01" }' },
      ),
    ),
    /** Prefixes of operators that are not in the catalogue: they predict nothing. */
    otherPrefixes: prefixes,
    example: digits('an example number with the dial code, digits only'),
  },
  { ...closed, [EXPECTED]: 'a country' },
);

const tableRow = {
  country: isoCode,
  name: text('the name of the country'),
  dialCode: digits('the dial code'),
  currency,
  methods: Type.Array(text('a method code'), { minItems: 1, [EXPECTED]: 'a list of method codes, at least one' }),
};

const PaymentLinkRow = Type.Object(tableRow, { ...closed, [EXPECTED]: 'a row of the payment-link countries' });

const CollectionRow = Type.Object(
  {
    ...tableRow,
    extraColumn: Type.String({ maxLength: 200, [EXPECTED]: 'the text of the column without a header, or ""' }),
    apiCollections: Type.Boolean({ [EXPECTED]: 'true or false' }),
  },
  { ...closed, [EXPECTED]: 'a row of the collection countries' },
);

const Brand = Type.Object({ background: colour, text: colour }, { ...closed, [EXPECTED]: 'two colours' });

const byId = Type.String({ pattern: '^[1-9]\\d{0,4}$' });
const byCode = Type.String({ pattern: '^[A-Z][A-Z0-9_]{1,39}$' });
const byIso = Type.String({ pattern: '^[A-Z]{2}$' });

export const CatalogSchema = Type.Object(
  {
    paymentLinks: Type.Record(byId, PaymentLinkRow, { ...closed, [EXPECTED]: 'an object of rows by country_id' }),
    collections: Type.Record(byId, CollectionRow, { ...closed, [EXPECTED]: 'an object of rows by country_id' }),
    countries: Type.Record(byIso, Country, { ...closed, [EXPECTED]: 'an object of countries by two-letter code' }),
    brands: Type.Record(byCode, Brand, { ...closed, [EXPECTED]: 'an object of brands by code' }),
    methods: Type.Record(byCode, Method, {
      ...closed,
      [EXPECTED]: 'an object of methods by code (capitals, digits and _, at most 40)',
    }),
  },
  { ...closed, [EXPECTED]: 'an object with paymentLinks, collections, countries, brands, methods' },
);

export type CatalogDocument = Static<typeof CatalogSchema>;
export type MethodDocument = CatalogDocument['methods'][string];
export type TermsDocument = MethodDocument['collection'];
export type FeeDocument = TermsDocument['fee'];
export type CountryDocument = CatalogDocument['countries'][string];

/** Reads an amount of the document that the schema has let pass. */
export function documentAmount(value: number | string): bigint | null {
  if (Number(value) === 0) return 0n;
  const read = parseAmount(value, 2);
  return read.ok ? read.amount : null;
}

/** RFC 7396: objects merge member by member, null removes a member, anything else replaces. */
export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const merged = new Map(
    target !== null && typeof target === 'object' && !Array.isArray(target) ? Object.entries(target) : [],
  );
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, applyMergePatch(merged.get(key) ?? null, value));
  }
  return Object.fromEntries(merged);
}

/** One sentence for each place where the document does not have the right shape. */
export function findDocumentErrors(document: unknown): string[] {
  // Compiled, a schema checks the whole catalogue in two milliseconds; the search for the errors takes a hundred.
  if (Compile(CatalogSchema).Check(document)) return [];
  const errors = findShapeErrors(CatalogSchema, document, 'The catalogue');
  return errors.slice(0, MAX_ERRORS).map(({ sentence }) => sentence);
}
