// Reads the params of a new payment link: their schema, and the checks that need the catalogue, the clock or the logo. All
// errors are in one answer.

import Type, { type Static } from 'typebox';
import { checkAmount } from '../catalog/amounts.ts';
import type { LinkCountry } from '../catalog/catalog.ts';
import { findLinkCountry, findPayerCountry, listLinkCountries } from '../catalog/countries.ts';
import { normaliseContactNumber } from '../catalog/phone.ts';
import { isRedirectAllowed } from '../holders/redirect-hosts.ts';
import { checkCallbackUrl } from '../payments/callback-url.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { optionalAmount } from '../payments/params.ts';
import { nullable, optionalUrl } from '../platform/api-schemas.ts';
import { isEmail, MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { isMoment } from '../platform/time-zones.ts';
import { type AddError, createReader, EXPECTED, refuse } from '../platform/validation.ts';
import { type Logo, readLogo } from './logo.ts';

export const NOT_CREATED = 'Payment link was not created.';
const MAX_NAME_CHARACTERS = 120;

function name(description: string) {
  return Type.Optional(nullable(Type.String({ maxLength: MAX_NAME_CHARACTERS }), description));
}

/** Forms and some serialisers send the empty string for a value that is left out. */
const nothing = [Type.Null(), Type.Literal('')] as const;

const email = Type.String({
  maxLength: MAX_EMAIL_CHARACTERS,
  [EXPECTED]: 'an e-mail address such as "amina@example.org"',
});
const moment = Type.String({
  [EXPECTED]: 'an ISO 8601 date of the years 2000 to 2999 with time and zone such as "2026-12-31T18:00:00Z"',
});
const colour = Type.String({ pattern: '^(#[0-9a-fA-F]{6})?$', [EXPECTED]: 'a colour such as "#1a6b4f"' });

export const LinkParams = Type.Object(
  {
    business_name: name('Name shown at the head of the page; the name of the account when left out.'),
    item_name: name('What is paid for.'),
    callback_url: optionalUrl('Where results are sent; the default of the integration when left out.'),
    redirection_url: optionalUrl(
      'Where the payer is sent after a success. An integration may limit the hosts, see docs/keys.',
    ),
    currency: Type.String({
      minLength: 1,
      description: 'Currency code of a payment-link country.',
      examples: ['UGX'],
    }),
    amount: optionalAmount('Decimal string (or number). Left out: the payer types the amount.'),
    logo: Type.Optional(
      nullable(
        Type.String({ contentEncoding: 'base64' }),
        'PNG, JPEG, WebP or GIF in base64, at most 2 MiB decoded, 8,192 pixels on a side, 16,777,216 in all; ' +
          'a data: prefix is allowed.',
      ),
    ),
    country_id: Type.Integer({ description: "The merchant's country, from the payment-link table." }),
    currency_country_id: Type.Optional(
      Type.Union([Type.Integer(), ...nothing], {
        description: "The payer's country, where several use the currency. Inferred when left out.",
      }),
    ),
    first_name: name("Prefills the customer's first name."),
    last_name: name('Prefills the last name.'),
    email: Type.Optional(
      nullable(
        Type.Refine(email, (text) => text === '' || isEmail(text)),
        'Prefills the e-mail address.',
      ),
    ),
    phone: Type.Optional(nullable(Type.String(), 'Prefills the phone number.')),
    expires_at: Type.Optional(
      nullable(
        Type.Refine(moment, (text) => text === '' || isMoment(text)),
        'The link stops working then; ISO 8601 with a zone: 2026-12-31T18:00:00Z.',
      ),
    ),
    reusable: Type.Optional(
      Type.Union([Type.Boolean(), ...nothing], {
        description: 'Whether it stays open after a success. Default false.',
      }),
    ),
    accent_colour: Type.Optional(nullable(colour, 'Colour of buttons on the page, like #1a6b4f.')),
  },
  { additionalProperties: true },
);

const linkParams = createReader(LinkParams);

/** Who owns the link. `integrationId` is null when it is created in the console. */
export type LinkOwner = {
  holderId: bigint;
  integrationId: bigint | null;
  defaultCallbackUrl: string | null;
  /** Hosts that redirection_url may lead to. Empty or left out: any. */
  redirectHosts?: readonly string[];
};

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

type LinkFields = Partial<Static<typeof LinkParams>>;
type Places = { merchant: LinkCountry; payer: LinkCountry | null; candidates: LinkCountry[]; currency: string };

export async function draftLink(ctx: PaymentsContext, owner: LinkOwner, params: JsonObject): Promise<LinkDraft> {
  const reading = linkParams.read(params);
  const { fields, add } = reading;
  const places = readPlaces(ctx, fields, add);
  const amount = readAmount(places, fields.amount, add);
  const phone = readPhone(places, fields.phone, add);
  const expiresAt = fields.expires_at ? new Date(fields.expires_at) : null;
  if (expiresAt && expiresAt <= ctx.clock.now()) add('expires_at', 'expires_at must lie in the future.');
  checkCallbackUrl(ctx, fields.callback_url, add);
  if (fields.redirection_url && !isRedirectAllowed(owner.redirectHosts ?? [], fields.redirection_url))
    add('redirection_url', 'redirection_url must lead to a host that the settings of the integration allow.');
  const logo = await checkLogo(ctx, owner.holderId, fields.logo, add);
  if (!places || reading.hasErrors()) throw refuse(reading.errors, { message: NOT_CREATED });
  return {
    holderId: owner.holderId,
    integrationId: owner.integrationId,
    businessName: nameOrNull(fields.business_name),
    itemName: nameOrNull(fields.item_name),
    callbackUrl: fields.callback_url || owner.defaultCallbackUrl,
    redirectionUrl: fields.redirection_url || null,
    currency: places.currency,
    amount,
    logo,
    countryId: places.merchant.countryId,
    currencyCountryId: places.payer?.countryId ?? null,
    firstName: nameOrNull(fields.first_name),
    lastName: nameOrNull(fields.last_name),
    email: fields.email || null,
    phone,
    accentColour: fields.accent_colour?.toLowerCase() || null,
    expiresAt,
    reusable: fields.reusable === true,
  };
}

/** The merchant's country, and where the payer may be. Null when there is an error. */
function readPlaces(ctx: PaymentsContext, fields: LinkFields, add: AddError): Places | null {
  const { currency } = fields;
  const merchant = findCountry(ctx, 'country_id', fields.country_id, add);
  const payerId = fields.currency_country_id === '' ? undefined : (fields.currency_country_id ?? undefined);
  const given = findCountry(ctx, 'currency_country_id', payerId, add);
  if (!merchant || !currency) return null;
  const payer = findPayerCountry(ctx.catalog, {
    currency,
    countryId: merchant.countryId,
    currencyCountryId: given?.countryId ?? null,
  });
  if (payer.kind === 'error') {
    add(payer.field, payer.sentence);
    return null;
  }
  return payer.kind === 'known'
    ? { merchant, payer: payer.country, candidates: [payer.country], currency }
    : { merchant, payer: null, candidates: payer.countries, currency };
}

function findCountry(
  ctx: PaymentsContext,
  field: string,
  countryId: number | undefined,
  add: AddError,
): LinkCountry | null {
  if (countryId === undefined) return null;
  const country = findLinkCountry(ctx.catalog, countryId);
  if (country) return country;
  const known = listLinkCountries(ctx.catalog).map((row) => `${row.countryId} (${row.name})`);
  add(field, `Payment links have no country ${countryId}; use one of ${known.join(', ')}.`);
  return null;
}

/** An amount that at least one method of the payer's country takes; the page offers only those that do. */
function readAmount(places: Places | null, value: LinkFields['amount'], add: AddError): bigint | null {
  if (value === undefined || value === null) return null;
  const refusals = new Set<string>();
  for (const method of places?.candidates.flatMap((row) => row.methods) ?? []) {
    const check = checkAmount(value, method, 'collection');
    if (check.ok) return check.amount;
    refusals.add(check.sentence);
  }
  for (const sentence of refusals) add('amount', sentence);
  return null;
}

function readPhone(places: Places | null, value: LinkFields['phone'], add: AddError): string | null {
  // Whether a national number is valid depends on the country. Without one, the error of the country is enough.
  if (!value || !places) return null;
  const number = normaliseContactNumber(value, (places.payer ?? places.merchant).country);
  if (number.ok) return number.digits;
  add('phone', number.sentence);
  return null;
}

async function checkLogo(
  ctx: PaymentsContext,
  holderId: bigint,
  value: LinkFields['logo'],
  add: AddError,
): Promise<Logo | null> {
  if (!value) return null;
  const result = await readLogo(ctx, holderId, value);
  if (result.ok) return result.logo;
  add('logo', result.sentence);
  return null;
}

function nameOrNull(text: string | null | undefined): string | null {
  return text?.trim() ? text : null;
}
