// The shapes of the payment-link operations, for OpenAPI. The limits are those that the checks in draft.ts use.

import Type from 'typebox';
import { envelopeSchema } from '../holders/schemas.ts';
import { answerOf, moment, nullable } from '../platform/api-schemas.ts';
import { MAX_EMAIL_CHARACTERS, MAX_NAME_CHARACTERS, MAX_URL_CHARACTERS } from './draft.ts';
import { LINK_STATUSES } from './links.ts';
import { MAX_PAGE_LINKS } from './listing.ts';

function name(description: string) {
  return Type.Optional(nullable(Type.String({ maxLength: MAX_NAME_CHARACTERS }), description));
}

function url(description: string) {
  return Type.Optional(nullable(Type.String({ maxLength: MAX_URL_CHARACTERS }), description));
}

export const LinkParams = Type.Object(
  {
    business_name: name('Name shown at the head of the page; the name of the account when left out.'),
    item_name: name('What is paid for.'),
    callback_url: url('Where results are told; the default of the integration when left out.'),
    redirection_url: url('Where the payer is led after a success.'),
    currency: Type.String({ description: 'Currency code of a payment-link country.', examples: ['UGX'] }),
    amount: Type.Optional(
      Type.Union(
        [Type.String({ pattern: '^(0|[1-9]\\d*)(\\.\\d+)?$' }), Type.Number({ exclusiveMinimum: 0 }), Type.Null()],
        {
          description: 'Decimal string (or number). Left out: the payer types the amount.',
        },
      ),
    ),
    logo: Type.Optional(
      nullable(
        Type.String({ contentEncoding: 'base64' }),
        'PNG, JPEG, WebP or GIF in base64, at most 2 MiB decoded; a data: prefix is allowed.',
      ),
    ),
    country_id: Type.Integer({ description: "The merchant's country, from the payment-link table." }),
    currency_country_id: Type.Optional(
      Type.Union([Type.Integer(), Type.Null(), Type.Literal('')], {
        description: "The payer's country, where several use the currency. Inferred when left out.",
      }),
    ),
    first_name: name("Prefills the customer's first name."),
    last_name: name('Prefills the last name.'),
    email: Type.Optional(nullable(Type.String({ maxLength: MAX_EMAIL_CHARACTERS }), 'Prefills the e-mail address.')),
    phone: Type.Optional(nullable(Type.String(), 'Prefills the phone number.')),
    expires_at: Type.Optional(
      nullable(Type.String(), 'The link stops working then; ISO 8601 with a zone: 2026-12-31T18:00:00Z.'),
    ),
    reusable: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null(), Type.Literal('')], {
        description: 'Whether it stays open after a success. Default false.',
      }),
    ),
    accent_colour: Type.Optional(
      nullable(Type.String({ pattern: '^(#[0-9a-fA-F]{6})?$' }), 'Colour of buttons on the page, like #1a6b4f.'),
    ),
  },
  { additionalProperties: true },
);

export const CreateLinkBody = envelopeSchema(LinkParams, {
  business_name: 'Café Ngozi',
  item_name: 'Lunch for two',
  currency: 'UGX',
  amount: '25000',
  country_id: 11,
  first_name: 'Awa',
  redirection_url: 'https://shop.example/thanks',
});

export const StoredLink = Type.Object({
  id: Type.String({ examples: ['pl_01JD0000000000000000000000'] }),
  payment_link: Type.String({ description: 'The address to open.' }),
  qr_url: Type.String({ description: 'The same address as a QR code (SVG).' }),
  business_name: nullable(Type.String()),
  item_name: nullable(Type.String()),
  amount: nullable(Type.String()),
  currency: Type.String(),
  country_id: Type.Integer(),
  currency_country_id: nullable(Type.Integer(), 'Null: the payer chooses the country on the page.'),
  callback_url: nullable(Type.String()),
  redirection_url: nullable(Type.String()),
  logo_url: nullable(Type.String()),
  first_name: nullable(Type.String()),
  last_name: nullable(Type.String()),
  email: nullable(Type.String()),
  phone: nullable(Type.String(), 'Digits with the dial code.'),
  status: Type.Union(LINK_STATUSES.map((status) => Type.Literal(status))),
  payments_count: Type.Integer(),
  expires_at: nullable(moment('When it stops working.')),
  created_at: moment('Creation time.'),
  updated_at: moment('Last update time.'),
});

const EXAMPLE_LINK = {
  id: 'pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT',
  payment_link: 'http://localhost:8080/pay/pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT',
  qr_url: 'http://localhost:8080/pay/pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT/qr.svg',
  business_name: 'Café Ngozi',
  item_name: 'Lunch for two',
  amount: '25000',
  currency: 'UGX',
  country_id: 11,
  currency_country_id: 11,
  callback_url: null,
  redirection_url: 'https://shop.example/thanks',
  logo_url: null,
  first_name: 'Awa',
  last_name: null,
  email: null,
  phone: null,
  status: 'active',
  payments_count: 0,
  expires_at: null,
  created_at: '2026-03-02T09:00:00.000000Z',
  updated_at: '2026-03-02T09:00:00.000000Z',
};

export const CreateLinkAnswer = answerOf(StoredLink, 'Payment link created.', EXAMPLE_LINK);

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
      { next_cursor: nullable(Type.String(), 'Null on the last page.') },
      { description: 'With limit only.' },
    ),
  ),
});
