// The params of the payment operations. Each schema is compiled once into the reader of its operation; the same schema is in
// the OpenAPI document (schemas.ts).

import Type, { type Static } from 'typebox';
import { nullable, oneOf, optionalUrl } from '../platform/api-schemas.ts';
import { createReader, EXPECTED } from '../platform/validation.ts';

const MAX_REFERENCE_CHARACTERS = 128;
const MAX_REASON_CHARACTERS = 500;
const DECIMAL = '^(0|[1-9]\\d*)(\\.\\d+)?$';
const MAX_DECIMAL_CHARACTERS = 40;

const EXPECTED_AMOUNT = 'a number, or a decimal text such as "2500"';

const amountForms = [
  Type.Number({ exclusiveMinimum: 0 }),
  Type.String({
    pattern: DECIMAL,
    maxLength: MAX_DECIMAL_CHARACTERS,
    description: 'Decimal text such as "2500.50".',
    [EXPECTED]: EXPECTED_AMOUNT,
  }),
] as const;

const amount = Type.Union([...amountForms], {
  description: 'A number, or a decimal string. Never rounded: more decimals than the method takes are refused.',
  [EXPECTED]: EXPECTED_AMOUNT,
});

export function optionalAmount(description: string) {
  return Type.Optional(Type.Union([...amountForms, Type.Null()], { description, [EXPECTED]: EXPECTED_AMOUNT }));
}

/** E.164 allows 15 digits; a + and a trunk digit may be added. */
function mobile(description?: string) {
  return Type.String({
    ...(description === undefined ? {} : { description }),
    pattern: '^\\+?\\d+$',
    maxLength: 17,
    [EXPECTED]: 'a string of ASCII digits, with or without a leading +, such as "256772123456"',
  });
}

function reference(description: string) {
  return Type.Optional(nullable(Type.String({ maxLength: MAX_REFERENCE_CHARACTERS }), description));
}

const id = (description: string, expected: string) =>
  Type.String({ description, examples: ['TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT'], [EXPECTED]: expected });
const transactionId = id('Transaction reference (ref).', 'the ref of the transaction');
const collectionId = id('ref of the collection.', 'the ref of the collection');

export const CollectionParams = Type.Object({
  amount,
  mobile: mobile("Customer's mobile number, international (with or without +) or national."),
  country_id: Type.Integer({ description: 'From the collections countries table.' }),
  currency: Type.String({ description: 'Currency code of the country.' }),
  payment_method_type: Type.Optional(
    nullable(
      Type.String(),
      'Method or operator of the country, by name or catalogue code. ' +
        'May be left out where the country has one method or the prefix of the number identifies the operator.',
    ),
  ),
  callback_url: optionalUrl('http(s) URL that is told the result. Left out: the default of the integration.'),
  third_party_reference_1: reference('Your own reference.'),
  third_party_reference_2: reference('A second one.'),
});

export type CollectionFields = Static<typeof CollectionParams>;

export const VerifyParams = Type.Object({
  id: collectionId,
  token: Type.String({
    pattern: '^\\d{4,12}$',
    description: 'The six digits of the SMS; or the code of the operator, where next_step asks for one.',
    [EXPECTED]: 'a string of digits: the six of the SMS, or the code of the operator',
  }),
});

export const ResendParams = Type.Object({ id: collectionId });

const refundId = Type.String({
  description: 'ref of the refund.',
  examples: ['RF_01JNAFQ7M0E9SRC45Y6Z8XKBDT'],
  [EXPECTED]: 'the ref of the refund',
});

export const RefundParams = Type.Object({
  id: collectionId,
  amount: optionalAmount('What to give back. Left out: what is left of the collection.'),
  reason: Type.Optional(
    nullable(Type.String({ maxLength: MAX_REASON_CHARACTERS }), 'Why; for your own records. At most 500 characters.'),
  ),
  callback_url: optionalUrl('http(s) URL that is told the result. Left out: that of the collection.'),
  third_party_reference_1: reference('Your own reference.'),
  third_party_reference_2: reference('A second one.'),
  as_payout: Type.Optional(
    nullable(
      Type.Boolean(),
      'Where the operator cannot refund: send the money to the payer as a payout. The record says so in sent_as.',
    ),
  ),
});

export const RefundStatusParams = Type.Object({ id: refundId });

export const StatusV2Params = Type.Object({ id: transactionId });

export const StatusV3Params = Type.Object({
  id: transactionId,
  type: Type.Optional(nullable(oneOf(['payin', 'payout'], 'When given it must match.'))),
});

export const BalanceParams = Type.Object({
  wallet_account: Type.Optional(nullable(Type.Integer(), 'Only this wallet.')),
  currency: Type.Optional(nullable(Type.String(), 'Only wallets of this currency.')),
});

export const PreflightBody = Type.Object(
  {
    mobile: mobile(),
    amount,
    currency: Type.String(),
    country_id: Type.Optional(Type.Integer()),
    payment_method_type: Type.Optional(nullable(Type.String())),
    direction: Type.Optional(oneOf(['collection', 'payout'], 'collection when left out.')),
  },
  { examples: [{ mobile: '0772123456', amount: '2500', currency: 'UGX' }] },
);

export const collectionParams = createReader(CollectionParams);
export const verifyParams = createReader(VerifyParams);
export const resendParams = createReader(ResendParams);
export const refundParams = createReader(RefundParams);
export const refundStatusParams = createReader(RefundStatusParams);
export const statusV2Params = createReader(StatusV2Params);
export const statusV3Params = createReader(StatusV3Params);
export const balanceParams = createReader(BalanceParams);
export const preflightBody = createReader(PreflightBody);
