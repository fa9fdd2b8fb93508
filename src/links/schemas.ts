// The requests and answers of the payment-link operations, for OpenAPI. Requests are read with the same schemas (draft.ts,
// listing.ts).

import Type from 'typebox';
import { envelopeSchema } from '../holders/schemas.ts';
import { answerOf, moment, nullable, oneOf } from '../platform/api-schemas.ts';
import { LinkParams } from './draft.ts';
import { LINK_STATUSES } from './links.ts';

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
  short_url: Type.String({ description: 'A shorter address of the same page, for messages and counters.' }),
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
  status: oneOf(LINK_STATUSES, 'Whether it can be paid.'),
  payments_count: Type.Integer(),
  expires_at: nullable(moment('When it stops working.')),
  created_at: moment('Creation time.'),
  updated_at: moment('Last update time.'),
});

const EXAMPLE_LINK = {
  id: 'pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT',
  payment_link: 'http://localhost:8080/pay/pl_01JNAFQ7M0E9SRC45Y6Z8XKBDT',
  short_url: 'http://localhost:8080/p/7K3QM-9TWXA',
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
