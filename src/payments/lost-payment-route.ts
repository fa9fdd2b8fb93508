// The operation by which a merchant's support finds a payment from what the payer has: the SMS, or parts of it. It sees the account's
// own payments and no others, so it needs no proof of the payer.

import Type from 'typebox';
import { requireToken } from '../holders/authentication.ts';
import { answerOf, moment, nullable } from '../platform/api-schemas.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import type { HttpServer } from '../platform/http.ts';
import { amountToNumber } from '../platform/money.ts';
import { createReader, EXPECTED } from '../platform/validation.ts';
import type { PaymentsContext } from './context.ts';
import { findOwnPayments, readClues } from './lost-payments.ts';
import { MAX_TEXT_CHARACTERS } from './payment-text.ts';
import { STATUS_CODES } from './states.ts';
import { refOf } from './transactions.ts';

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description, [EXPECTED]: `a text of at most ${maxLength} characters` }));

const FindBody = Type.Object(
  {
    text: text(MAX_TEXT_CHARACTERS, 'What the payer pasted: the whole SMS of the operator.'),
    receipt: text(60, 'Receipt or transaction ID of the operator.'),
    mobile: text(60, 'Number of the payer.'),
    amount: text(60, 'As the payer writes it.'),
    day: text(60, 'Such as 2026-03-02 or 2/3/26.'),
  },
  { examples: [{ text: 'SBK4T7Y8ZX Confirmed. Ksh2,500.00 paid to DUKA LA AMANI. on 2/3/26 at 12:05 PM.' }] },
);
const findBody = createReader(FindBody);

const FindAnswer = answerOf(
  Type.Object({
    payments: Type.Array(
      Type.Object({
        ref: Type.String({ description: 'The `id` of the status operation.' }),
        status: Type.String({ enum: Object.keys(STATUS_CODES) }),
        amount: Type.Number(),
        currency: Type.String(),
        mobile: nullable(Type.String()),
        receipt: nullable(Type.String(), 'Receipt of the operator.'),
        created_at: moment('When it was created.'),
      }),
      { description: 'Payments of this account that fit, at most three.' },
    ),
    held: Type.Array(
      Type.Object({
        receipt: Type.String(),
        amount: Type.Number(),
        currency: Type.String(),
        received_at: moment('When it arrived.'),
      }),
      { description: 'Money that arrived for this account and is held, because its order is not known.' },
    ),
    receipts: Type.Array(Type.String(), { description: 'What was read as a receipt, the likeliest first.' }),
  }),
  'Search done.',
  { payments: [], held: [], receipts: ['SBK4T7Y8ZX'] },
);

export function lostPaymentRoute(app: HttpServer, ctx: PaymentsContext): void {
  app.post(
    '/api/v3/find-payment',
    {
      schema: {
        summary: 'Find a payment from an SMS',
        description:
          'Give what the payer has. It is found by the receipt, or by number, exact amount and day. ' +
          'Payers themselves use the page /find.',
        tags: ['Status'],
        operationId: 'findPayment',
        security: [{ bearerAuth: [] }],
        body: FindBody,
        response: { 200: FindAnswer },
      },
      config: { problems: { invalid_params: {} } },
    },
    async (request, reply) => {
      const { own } = await requireToken(ctx, request, reply);
      const body = findBody.require(request.body);
      const typed = {
        text: body.text ?? '',
        receipt: body.receipt ?? '',
        number: body.mobile ?? '',
        amount: body.amount ?? '',
        day: body.day ?? '',
      };
      const says = readClues(typed, own.catalog.countries.values());
      const { payments, held } = await findOwnPayments(own, says);
      return {
        success: true,
        message: 'Search done.',
        data: {
          payments: payments.map(({ transaction }) => ({
            ref: refOf(transaction),
            status: transaction.status,
            amount: amountToNumber(transaction.amount),
            currency: transaction.currency,
            mobile: transaction.msisdn,
            receipt: transaction.receipt,
            created_at: isoMicroseconds(transaction.created_at),
          })),
          held: held.map((each) => ({
            receipt: each.receipt,
            amount: amountToNumber(each.amount),
            currency: each.currency,
            received_at: isoMicroseconds(each.receivedAt),
          })),
          receipts: says.receipts,
        },
      };
    },
  );
}
