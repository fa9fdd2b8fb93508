// The requests and answers of the payment operations, for OpenAPI. The params are the schemas that the operations read
// with (params.ts); a test holds the answers to theirs.

import Type from 'typebox';
import { FAILURE_CODES } from '../catalog/failures.ts';
import { envelopeSchema } from '../holders/schemas.ts';
import { answerOf, dateAndTime, moment, nullable, oneOf } from '../platform/api-schemas.ts';
import {
  BalanceParams,
  CollectionParams,
  RefundParams,
  RefundStatusParams,
  ResendParams,
  StatusV2Params,
  StatusV3Params,
  VerifyParams,
} from './params.ts';
import { STATUS_CODES, type Status } from './states.ts';

export const ACCEPTED_MESSAGE =
  "A verification token has been sent to the customer's mobile number. Please verify to proceed with the payment.";

const EXAMPLE_REF = 'TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT';
const CREATED = '2026-03-02T09:00:00.000000Z';
const UPDATED = '2026-03-02T09:00:21.000000Z';

const ref = (description: string) => Type.String({ description, examples: [EXAMPLE_REF] });
const STATUSES = Object.keys(STATUS_CODES) as Status[];

export const CollectionBody = envelopeSchema(CollectionParams, {
  amount: 2500,
  mobile: '256772123000',
  country_id: 11,
  currency: 'UGX',
  payment_method_type: 'MTN MoMo',
  third_party_reference_1: 'order-1042',
});

export const CollectionAnswer = answerOf(
  Type.Object({
    ref: ref('Transaction reference: send it as params.id.'),
    status: oneOf(STATUSES, 'pending.'),
    amount: Type.Number(),
    fee: Type.Number(),
    currency: Type.String(),
    mobile: Type.String({ description: 'Digits with the dial code.' }),
    country_id: Type.Integer(),
    payment_method_type: Type.String({ description: 'Catalogue code of the method.' }),
    third_party_reference_1: nullable(Type.String()),
    third_party_reference_2: nullable(Type.String()),
    verification: Type.Object({
      method: oneOf(['prompt', 'shortcode', 'otp', 'instructions'], 'How the customer verifies.'),
      instructions: Type.String({ description: 'What the customer has to do.' }),
      expires_at: moment('How long the customer has.'),
    }),
  }),
  ACCEPTED_MESSAGE,
  {
    ref: EXAMPLE_REF,
    status: 'pending',
    amount: 2500,
    fee: 25,
    currency: 'UGX',
    mobile: '256772123000',
    country_id: 11,
    payment_method_type: 'MTN_MOMO_UGA',
    third_party_reference_1: 'order-1042',
    third_party_reference_2: null,
    verification: {
      method: 'prompt',
      instructions: 'A prompt from MTN MoMo appears on the phone; enter the PIN to approve.',
      expires_at: '2026-03-02T09:10:00.000000Z',
    },
  },
);

export const VerifyBody = envelopeSchema(VerifyParams, { id: EXAMPLE_REF, token: '123456' });
export const ResendBody = envelopeSchema(ResendParams, { id: EXAMPLE_REF });
export const StatusV2Body = envelopeSchema(StatusV2Params, { id: EXAMPLE_REF });
export const StatusV3Body = envelopeSchema(StatusV3Params, { id: EXAMPLE_REF, type: 'payin' });
export const BalanceBody = envelopeSchema(BalanceParams, { currency: 'UGX' });

const RECORD = {
  amount: Type.Number({ description: 'Transaction amount.' }),
  fee: Type.Number({ description: 'Transaction fee.' }),
  currency: Type.String({ description: 'Currency code.' }),
  status: oneOf(STATUSES, 'Transaction status.'),
  payee: nullable(Type.String(), 'Payee; for payouts where available.'),
  invoice_no: nullable(Type.String(), 'Invoice number; for payouts.'),
  mobile: nullable(Type.String(), 'Mobile number of the party.'),
  account_number: nullable(Type.String(), 'Account number, where applicable.'),
  ref: ref('Transaction reference; this is the value sent as params.id.'),
  balance: nullable(Type.Number(), 'Balance of the wallet after this transaction; null until it has settled.'),
  transaction_detail: Type.String({ description: 'Free description of the transaction.' }),
  payment_channel: Type.String({ description: 'Channel used.' }),
  transaction_date: dateAndTime('When it settled; until then, when it was created.'),
  created_at: moment('Creation time.'),
  updated_at: moment('Last update time.'),
  callback_url: nullable(Type.String(), 'Callback address of the transaction.'),
};
const EXAMPLE_RECORD = {
  amount: 2500,
  fee: 25,
  currency: 'UGX',
  status: 'success',
  payee: null,
  invoice_no: null,
  mobile: '256772123000',
  account_number: null,
  ref: EXAMPLE_REF,
  balance: 2475,
  transaction_detail: 'Collection from 256772123000 by MTN MoMo',
  payment_channel: 'MTN MoMo',
  transaction_date: '2026-03-02 09:00:21',
  created_at: CREATED,
  updated_at: UPDATED,
  callback_url: null,
};
const EXAMPLE_RECORD_V3 = {
  ...EXAMPLE_RECORD,
  status_code: '200',
  failureReason: { failureCode: null, failureMessage: null },
  third_party_reference_1: 'order-1042',
  third_party_reference_2: null,
};

const RecordV2Schema = Type.Object(RECORD);
const RecordV3Schema = Type.Object({
  ...RECORD,
  status_code: oneOf(Object.values(STATUS_CODES), 'Status code of the transaction.'),
  failureReason: Type.Object({
    failureCode: nullable(oneOf(FAILURE_CODES, 'Why it failed.'), 'Null when there is no failure.'),
    failureMessage: nullable(Type.String(), 'The same as a sentence. Null when there is no failure.'),
  }),
  third_party_reference_1: nullable(Type.String()),
  third_party_reference_2: nullable(Type.String()),
});

const StepSchema = Type.Object({
  kind: oneOf(
    ['prompt', 'dial', 'code', 'redirect', 'deep_link', 'qr', 'transfer'],
    'prompt: a prompt appears on the phone. dial: dial dial_code. code: the operator gives the customer a code, after ' +
      'dialling dial_code where there is one; send it to the verify operation. redirect, deep_link: open url. qr: scan ' +
      'qr_content, or open one of links. transfer: send the money to pay_to with account_reference.',
  ),
  text: nullable(Type.String(), "The operator's own words."),
  dial_code: nullable(Type.String()),
  url: nullable(Type.String()),
  qr_content: nullable(Type.String(), 'What the QR code contains.'),
  links: Type.Array(Type.Object({ name: Type.String(), url: Type.String() }), {
    description: 'Apps that can open the payment on the phone itself.',
  }),
  pay_to: nullable(
    Type.Object({
      kind: oneOf(['till', 'paybill', 'bank_account'], 'What the number is.'),
      number: Type.String(),
      name: Type.String(),
      bank: nullable(Type.String()),
    }),
  ),
  account_reference: nullable(Type.String()),
  expires_at: nullable(moment('How long the customer has.')),
});
const StatusRecordSchema = Type.Object({
  ...RecordV3Schema.properties,
  next_step: Type.Optional(StepSchema),
});

export const VerifyAnswer = answerOf(RecordV3Schema, 'Token verified. The payment is being processed.', {
  ...EXAMPLE_RECORD_V3,
  status: 'processing',
  status_code: '102',
  balance: null,
});
export const ResendAnswer = answerOf(
  RecordV3Schema,
  "A verification token has been sent to the customer's mobile number.",
  { ...EXAMPLE_RECORD_V3, status: 'pending', status_code: '100', balance: null },
);
export const StatusV2Answer = answerOf(RecordV2Schema, 'Transaction retrieved.', EXAMPLE_RECORD);
export const StatusV3Answer = answerOf(StatusRecordSchema, 'Transaction retrieved.', EXAMPLE_RECORD_V3);

const EXAMPLE_REFUND_REF = 'RF_01JNAFQ7M0GQSRC45Y6Z8XKBDT';
const REFUND = {
  ref: Type.String({ description: 'Reference of the refund.', examples: [EXAMPLE_REFUND_REF] }),
  collection_ref: ref('The collection that is given back.'),
  status: oneOf(['pending', 'processing', 'success', 'failed'], 'Status of the refund.'),
  amount: Type.Number({ description: 'What the payer gets back.' }),
  fee_returned: Type.Number({
    description: 'The part of it that the gateway pays out of its fee; 0 if the refund failed.',
  }),
  currency: Type.String(),
  mobile: nullable(Type.String(), 'Number that the money goes back to.'),
  created_at: moment('Creation time.'),
};
const EXAMPLE_REFUND = {
  ref: EXAMPLE_REFUND_REF,
  collection_ref: EXAMPLE_REF,
  status: 'pending',
  amount: 2500,
  fee_returned: 25,
  currency: 'UGX',
  mobile: '256772123000',
  created_at: CREATED,
};

export const RefundBody = envelopeSchema(RefundParams, { id: EXAMPLE_REF, reason: 'The parcel came back.' });
export const RefundStatusBody = envelopeSchema(RefundStatusParams, { id: EXAMPLE_REFUND_REF });
export const RefundAnswer = answerOf(Type.Object(REFUND), 'Refund was created.', EXAMPLE_REFUND);
export const RefundRecordSchema = Type.Object({
  ...REFUND,
  status_code: oneOf(Object.values(STATUS_CODES), 'Status code of the refund.'),
  reason: nullable(Type.String(), 'Why, as it was given.'),
  sent_as: oneOf(['refund', 'payout'], 'payout: the operator cannot refund, so the money was sent as a payout.'),
  balance: nullable(Type.Number(), 'Balance of the wallet after the refund.'),
  failureReason: RecordV3Schema.properties.failureReason,
  third_party_reference_1: nullable(Type.String()),
  third_party_reference_2: nullable(Type.String()),
  callback_url: nullable(Type.String(), 'Callback address of the refund.'),
  updated_at: moment('Last update time.'),
});
export const RefundStatusAnswer = answerOf(RefundRecordSchema, 'Refund retrieved.', {
  ...EXAMPLE_REFUND,
  status: 'success',
  status_code: '200',
  reason: 'The parcel came back.',
  sent_as: 'refund',
  balance: 0,
  failureReason: { failureCode: null, failureMessage: null },
  third_party_reference_1: null,
  third_party_reference_2: null,
  callback_url: null,
  updated_at: UPDATED,
});

const EXAMPLE_BALANCE = {
  wallet_account: 1,
  currency: 'UGX',
  balance: 2475,
  available: 2475,
  pending: 0,
  reserved: 0,
  updated_at: UPDATED,
};

/** On this operation `success` is a string. */
export const BalanceAnswer = Type.Object(
  {
    success: Type.Literal('true', { description: 'The string "true".' }),
    message: Type.String(),
    data: Type.Array(
      Type.Object({
        wallet_account: Type.Integer({ description: 'The wallet; one for each currency.' }),
        currency: Type.String(),
        balance: Type.Number({ description: 'available + reserved.' }),
        available: Type.Number({ description: 'What can be paid out.' }),
        pending: Type.Number({ description: 'What open collections would bring.' }),
        reserved: Type.Number({
          description: 'For open payouts and refunds, and what is held in reserve or for disputes.',
        }),
        updated_at: moment('When the balance last moved.'),
      }),
    ),
  },
  {
    description: 'Success. An unknown wallet, or one of another account: an empty array.',
    examples: [{ success: 'true', message: 'Balance retrieved.', data: [EXAMPLE_BALANCE] }],
  },
);

const MethodSchema = Type.Object({
  code: Type.String({ examples: ['MTN_MOMO_UGA'] }),
  name: Type.String(),
  type: Type.String(),
  verification: oneOf(['prompt', 'shortcode', 'otp', 'instructions'], 'How a payer verifies.'),
  decimals: Type.Integer(),
  minimum: Type.String({ description: 'Decimal string.' }),
  maximum: Type.String({ description: 'Decimal string.' }),
});
const COUNTRY = {
  country_id: Type.Integer(),
  country: Type.String(),
  dial_code: Type.String(),
  currency: Type.String(),
  payment_method_types: Type.String({ description: 'As the table of the specification writes them.' }),
  methods: Type.Array(MethodSchema),
};
export const CountriesAnswer = answerOf(
  Type.Object({
    payment_links: Type.Array(Type.Object(COUNTRY), { description: 'The countries table for payment links.' }),
    collections: Type.Array(
      Type.Object({
        ...COUNTRY,
        extra_column: Type.String({ description: "The table's column without a header." }),
        supported: Type.Boolean({ description: 'Whether the API takes collections for this country.' }),
      }),
      { description: 'The countries table for collections: another table.' },
    ),
  }),
  'Countries retrieved.',
);

export const PreflightAnswer = answerOf(
  Type.Object({
    direction: oneOf(['collection', 'payout'], 'As asked.'),
    would_be_accepted: Type.Boolean(),
    errors: Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'Field → sentences; empty when accepted.',
    }),
    mobile: nullable(Type.String(), 'The number as it would be stored.'),
    country_id: nullable(Type.Integer()),
    operator: nullable(Type.Object({ code: Type.String(), name: Type.String(), verification: Type.String() })),
    predicted: Type.Boolean({ description: "Whether the operator was predicted from the number's prefix." }),
    decimals: nullable(Type.Integer()),
    limits: nullable(Type.Object({ minimum: Type.String(), maximum: Type.String() })),
    amount: nullable(Type.Number()),
    fee: nullable(Type.Number()),
  }),
  'Preflight done. Nothing was created.',
  {
    direction: 'collection',
    would_be_accepted: true,
    errors: {},
    mobile: '256772123456',
    country_id: 11,
    operator: { code: 'MTN_MOMO_UGA', name: 'MTN MoMo', verification: 'prompt' },
    predicted: true,
    decimals: 2,
    limits: { minimum: '500', maximum: '5000000' },
    amount: 2500,
    fee: 25,
  },
);
