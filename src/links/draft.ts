// What a caller wants a payment link to be: read and checked field by field, every fault told at once in a sentence.

import { checkAmount } from '../catalog/amounts.ts';
import type { LinkCountry } from '../catalog/catalog.ts';
import { findLinkCountry, findPayerCountry, listLinkCountries } from '../catalog/countries.ts';
import { normaliseContactNumber } from '../catalog/phone.ts';
import { readCallbackUrl } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import type { JsonObject, JsonValue } from '../platform/strict-json.ts';
import { type Logo, readLogo } from './logo.ts';

export const NOT_CREATED = 'Payment link was not created.';
export const MAX_NAME_CHARACTERS = 120;
export const MAX_URL_CHARACTERS = 2_048;
export const MAX_EMAIL_CHARACTERS = 254;
const MAX_LOCAL_PART_CHARACTERS = 64;
/** A date with its time and its zone: "2026-12-31T18:00:00Z". Without a zone it would mean another moment elsewhere. */
const ISO_MOMENT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\.]+(\.[^\s@<>()",;:\\.]+)+$/;

/** Whose link it is. `integrationId` is null when a person makes it. */
export type LinkOwner = { holderId: bigint; integrationId: bigint | null; defaultCallbackUrl: string | null };

/** A link that passed every check and only needs to be written. */
export type LinkDraft = {
  holderId: bigint;
  integrationId: bigint | null;
  businessName: string | null;
  itemName: string | null;
  callbackUrl: string | null;
  redirectionUrl: string | null;
  currency: string;
  amount: bigint | null;
  logo: Logo | null;
  countryId: number;
  currencyCountryId: number | null;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  phone: string | null;
  accentColour: string | null;
  expiresAt: Date | null;
  reusable: boolean;
};

type AddFault = (field: string, sentence: string) => void;
type Places = { merchant: LinkCountry; payer: LinkCountry | null; candidates: LinkCountry[]; currency: string };

export async function draftLink(ctx: PaymentsContext, owner: LinkOwner, params: JsonObject): Promise<LinkDraft> {
  const faults = collectFieldErrors();
  const add: AddFault = (field, sentence) => faults.add(field, sentence);
  const places = readPlaces(ctx, params, add);
  const fields = {
    businessName: readName('business_name', params.business_name, add),
    itemName: readName('item_name', params.item_name, add),
    callbackUrl: readCallbackUrl(ctx, params.callback_url, add) ?? owner.defaultCallbackUrl,
    redirectionUrl: readRedirectionUrl(params.redirection_url, add),
    amount: readAmount(places, params.amount, add),
    firstName: readName('first_name', params.first_name, add),
    lastName: readName('last_name', params.last_name, add),
    email: readEmail(params.email, add),
    phone: readPhone(places, params.phone, add),
    accentColour: readColour(params.accent_colour, add),
    expiresAt: readExpiry(params.expires_at, ctx.clock.now(), add),
    reusable: readFlag('reusable', params.reusable, add),
  };
  const logo = await checkLogo(params.logo, add);
  if (!places || faults.any()) throw new Problem('invalid_params', { message: NOT_CREATED, errors: faults.errors });
  return {
    ...fields,
    holderId: owner.holderId,
    integrationId: owner.integrationId,
    logo,
    currency: places.currency,
    countryId: places.merchant.countryId,
    currencyCountryId: places.payer?.countryId ?? null,
  };
}

/** The merchant's country, and where the payer may be. Null when a fault was told. */
function readPlaces(ctx: PaymentsContext, params: JsonObject, add: AddFault): Places | null {
  const countryId = readCountryId(ctx, 'country_id', params.country_id, add);
  const given = isAbsent(params.currency_country_id)
    ? null
    : readCountryId(ctx, 'currency_country_id', params.currency_country_id, add);
  const { currency } = params;
  if (isAbsent(currency)) add('currency', 'currency is required.');
  else if (typeof currency !== 'string') add('currency', 'currency must be a string such as "UGX".');
  if (countryId === null || typeof currency !== 'string' || currency === '') return null;
  const merchant = findLinkCountry(ctx.catalog, countryId);
  const payer = findPayerCountry(ctx.catalog, { currency, countryId, currencyCountryId: given });
  if (payer.kind === 'fault') add(payer.field, payer.sentence);
  if (payer.kind === 'fault' || !merchant) return null;
  return payer.kind === 'known'
    ? { merchant, payer: payer.country, candidates: [payer.country], currency }
    : { merchant, payer: null, candidates: payer.countries, currency };
}

function readCountryId(
  ctx: PaymentsContext,
  field: string,
  value: JsonValue | undefined,
  add: AddFault,
): number | null {
  if (isAbsent(value)) add(field, `${field} is required.`);
  else if (typeof value !== 'number' || !Number.isInteger(value)) add(field, `${field} must be an integer.`);
  else if (findLinkCountry(ctx.catalog, value)) return value;
  else {
    const known = listLinkCountries(ctx.catalog).map((row) => `${row.countryId} (${row.name})`);
    add(field, `Payment links have no country ${value}; use one of ${known.join(', ')}.`);
  }
  return null;
}

/** An amount that at least one method of the payer's country takes; the page offers only those that do. */
function readAmount(places: Places | null, value: JsonValue | undefined, add: AddFault): bigint | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' && typeof value !== 'number') {
    add('amount', 'amount must be a decimal string such as "2500", or a number.');
    return null;
  }
  const refusals = new Set<string>();
  for (const method of places?.candidates.flatMap((row) => row.methods) ?? []) {
    const check = checkAmount(value, method, 'collection');
    if (check.ok) return check.amount;
    refusals.add(check.sentence);
  }
  for (const sentence of refusals) add('amount', sentence);
  return null;
}

function readName(field: string, value: JsonValue | undefined, add: AddFault): string | null {
  if (isAbsent(value)) return null;
  if (typeof value !== 'string') add(field, `${field} must be a string.`);
  else if (!hasAtMost(value, MAX_NAME_CHARACTERS))
    add(field, `${field} may have at most ${MAX_NAME_CHARACTERS} characters.`);
  else return value.trim() === '' ? null : value;
  return null;
}

function readRedirectionUrl(value: JsonValue | undefined, add: AddFault): string | null {
  if (isAbsent(value)) return null;
  const fits = typeof value === 'string' && value.length <= MAX_URL_CHARACTERS;
  if (fits && /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)) return value;
  add('redirection_url', `redirection_url must be an http or https URL of at most ${MAX_URL_CHARACTERS} characters.`);
  return null;
}

function readEmail(value: JsonValue | undefined, add: AddFault): string | null {
  if (isAbsent(value)) return null;
  if (
    typeof value === 'string' &&
    value.length <= MAX_EMAIL_CHARACTERS &&
    value.indexOf('@') <= MAX_LOCAL_PART_CHARACTERS &&
    EMAIL.test(value)
  )
    return value;
  add('email', 'email must be an e-mail address such as "amina@example.org".');
  return null;
}

function readPhone(places: Places | null, value: JsonValue | undefined, add: AddFault): string | null {
  if (isAbsent(value)) return null;
  if (typeof value !== 'string') {
    add('phone', 'phone must be a string.');
    return null;
  }
  // Without a country nobody can tell whether a national number is right; that fault is told already.
  if (!places) return null;
  const number = normaliseContactNumber(value, (places.payer ?? places.merchant).country);
  if (number.ok) return number.digits;
  add('phone', number.sentence);
  return null;
}

function readColour(value: JsonValue | undefined, add: AddFault): string | null {
  if (isAbsent(value)) return null;
  if (typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)) return value.toLowerCase();
  add('accent_colour', 'accent_colour must be a colour such as "#1a6b4f".');
  return null;
}

function readExpiry(value: JsonValue | undefined, now: Date, add: AddFault): Date | null {
  if (isAbsent(value)) return null;
  const day = typeof value === 'string' ? ISO_MOMENT.exec(value)?.[1] : undefined;
  const moment = typeof value === 'string' && day !== undefined && isDay(day) ? new Date(value) : null;
  if (!moment || Number.isNaN(moment.getTime()))
    add('expires_at', 'expires_at must be an ISO 8601 date with time and zone such as "2026-12-31T18:00:00Z".');
  else if (moment <= now) add('expires_at', 'expires_at must lie in the future.');
  else return moment;
  return null;
}

/** The runtime reads the 30th of February as the 2nd of March; we do not. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function readFlag(field: string, value: JsonValue | undefined, add: AddFault): boolean {
  if (isAbsent(value)) return false;
  if (typeof value !== 'boolean') add(field, `${field} must be true or false.`);
  return value === true;
}

async function checkLogo(value: JsonValue | undefined, add: AddFault): Promise<Logo | null> {
  if (isAbsent(value)) return null;
  if (typeof value !== 'string') {
    add('logo', 'logo must be a string: the picture in base64.');
    return null;
  }
  const result = await readLogo(value);
  if (result.ok) return result.logo;
  add('logo', result.sentence);
  return null;
}

/** Counted in code points, as the database counts; a text of megabytes is not counted at all. */
function hasAtMost(text: string, most: number): boolean {
  return text.length <= most * 2 && Array.from(text).length <= most;
}

/** Forms and careful serialisers write nothing as null or as the empty string. */
function isAbsent(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}
