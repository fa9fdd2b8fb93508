// The shapes of the payment-link operations, for OpenAPI. The limits are those that the checks in draft.ts use.

import Type, { type TSchema } from 'typebox';
import { MAX_EMAIL_CHARACTERS, MAX_NAME_CHARACTERS, MAX_URL_CHARACTERS } from './draft.ts';
import { LINK_STATUSES } from './links.ts';
import { MAX_PAGE_LINKS } from './listing.ts';

function name(description: string) {
  return Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS, description }));
}

function url(description: string) {
  return Type.Optional(Type.String({ format: 'uri', maxLength: MAX_URL_CHARACTERS, description }));
}

function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

export const LinkParams = Type.Object(
  {
    business_name: name('Name shown at the head of the page; the name of the account when left out.'),
    item_name: name('What is paid for.'),
    callback_url: url('Where results are told; the default of the integration when left out.'),
    redirection_url: url('Where the payer is led after a success.'),
    currency: Type.String({ description: 'Currency code of a payment-link country.', examples: ['UGX'] }),
    amount: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'Decimal string (or number). Left out: the payer types the amount.',
        examples: ['2500'],
      }),
    ),
    logo: Type.Optional(
      Type.String({
        contentEncoding: 'base64',
        description: 'PNG, JPEG, WebP or GIF in base64, at most 2 MiB decoded; a data: prefix is allowed.',
      }),
    ),
    country_id: Type.Integer({ description: "The merchant's country, from the payment-link table.", examples: [11] }),
    currency_country_id: Type.Optional(
      Type.Integer({ description: "The payer's country, where several use the currency. Inferred when left out." }),
    ),
    first_name: name("Prefills the customer's first name."),
    last_name: name('Prefills the last name.'),
    email: Type.Optional(
      Type.String({ format: 'email', maxLength: MAX_EMAIL_CHARACTERS, description: 'Prefills the e-mail address.' }),
    ),
    phone: Type.Optional(Type.String({ description: 'Prefills the phone number.', examples: ['256772123456'] })),
    expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'The link stops working then.' })),
    reusable: Type.Optional(Type.Boolean({ description: 'Whether it stays open after a success. Default false.' })),
    accent_colour: Type.Optional(
      Type.String({
        pattern: '^#[0-9a-fA-F]{6}$',
        description: 'Colour of buttons on the page.',
        examples: ['#1a6b4f'],
      }),
    ),
  },
  { additionalProperties: true },
);

export const CreateLinkBody = Type.Object({
  client_id: Type.String({ description: 'Public identifier of the integration.' }),
  sender: Type.String({ description: 'Title of the integration.' }),
  timestamp: Type.Integer({ description: 'Unix seconds.' }),
  salt: Type.String({ minLength: 1, description: 'Random text.' }),
  signature: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'HMAC-SHA256 of the canonical body without this member.',
  }),
  params: LinkParams,
});

export const StoredLink = Type.Object({
  id: Type.String({ examples: ['pl_01JD0000000000000000000000'] }),
  payment_link: Type.String({ format: 'uri', description: 'The address to open.' }),
  qr_url: Type.String({ format: 'uri', description: 'The same address as a QR code (SVG).' }),
  business_name: nullable(Type.String()),
  item_name: nullable(Type.String()),
  amount: nullable(Type.String()),
  currency: Type.String(),
  country_id: Type.Integer(),
  currency_country_id: nullable(Type.Integer({ description: 'Null: the payer chooses the country on the page.' })),
  callback_url: nullable(Type.String()),
  redirection_url: nullable(Type.String()),
  logo_url: nullable(Type.String()),
  first_name: nullable(Type.String()),
  last_name: nullable(Type.String()),
  email: nullable(Type.String()),
  phone: nullable(Type.String({ description: 'Digits with the dial code.' })),
  status: Type.Union(LINK_STATUSES.map((status) => Type.Literal(status))),
  payments_count: Type.Integer(),
  expires_at: nullable(Type.String({ format: 'date-time' })),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});

export const CreateLinkAnswer = Type.Object({ success: Type.Boolean(), message: Type.String(), data: StoredLink });

export const ListLinksQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_LINKS,
      description: 'Answer in pages of this size. Left out: all links.',
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'meta.next_cursor of the page before.' })),
  status: Type.Optional(Type.Union(LINK_STATUSES.map((status) => Type.Literal(status)))),
});

export const ListLinksAnswer = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  data: Type.Array(StoredLink),
  meta: Type.Optional(
    Type.Object(
      { next_cursor: nullable(Type.String({ description: 'Null on the last page.' })) },
      { description: 'With limit only.' },
    ),
  ),
});
