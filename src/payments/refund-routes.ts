// The HTTP operations of refunds: create one, and read its status.

import { signedCall } from '../holders/authentication.ts';
import { handleSigned, type OperationMessages, type SignedRequest, spendOrRefuse } from '../holders/envelope.ts';
import { idempotencyHeaderOf } from '../holders/idempotency.ts';
import { performOnce } from '../holders/perform-once.ts';
import { envelopeErrors, IdempotencyHeaders } from '../holders/schemas.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import { type AmountErrorCode, parseAmount } from '../platform/money.ts';
import { addOperation } from '../platform/operations.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { refuse } from '../platform/validation.ts';
import { checkCallbackUrl } from './callback-url.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { refundParams, refundStatusParams } from './params.ts';
import { refundRecord } from './record.ts';
import type { Refund } from './refund-orders.ts';
import { createRefund, findRefund, type RefundRequest } from './refunds.ts';
import { RefundAnswer, RefundBody, RefundStatusAnswer, RefundStatusBody } from './schemas.ts';
import { findFresh } from './status.ts';
import { refOf } from './transactions.ts';

const OPERATION = 'refund';
const DECIMALS = 2;
const AMOUNT_ERRORS: Readonly<Record<AmountErrorCode, string>> = {
  not_an_amount: 'The amount must be a number, or a decimal text such as "2500".',
  not_positive: 'The amount must be more than zero.',
  too_many_decimals: 'The amount may have at most two decimals.',
  too_large: 'The amount is too large.',
};

function refundMessages(brand: string): OperationMessages {
  return {
    badParams: 'Refund was not created!',
    integrationNotFound: 'Entity integration record not found',
    clientMismatch: 'Client id not matched',
    notVerified: 'Request was not verified.',
    accountClosed: 'User not found!',
    accountSuspended: `${brand} user not found`,
  };
}

export function refundRoutes(app: HttpServer, ctx: PaymentsContext, engine: PaymentEngine): void {
  const messages = refundMessages(ctx.config.brandName);
  createRoute(app, ctx, engine, messages);
  statusRoute(app, ctx, engine, messages);
}

function createRoute(app: HttpServer, ctx: PaymentsContext, engine: PaymentEngine, messages: OperationMessages): void {
  addOperation(
    app,
    '/api/v3/service-unified-refunds',
    {
      schema: {
        summary: 'Refund a collection',
        description:
          'Gives a successful collection back to its payer, whole or in parts. The amount is reserved from the wallet ' +
          'before the operator is asked; the result is sent to callback_url.',
        tags: ['Refunds'],
        operationId: 'createRefund',
        headers: IdempotencyHeaders,
        body: RefundBody,
        response: { 200: RefundAnswer },
      },
      config: {
        problems: {
          ...envelopeErrors(messages),
          invalid_params: { message: messages.badParams },
          transaction_not_found: { status: 400, message: messages.badParams },
          refund_not_possible: {},
          limit_reached: { message: 'Refund was not created!' },
          number_blocked: { message: 'Refund was not created!' },
          refund_too_large: {},
          overdraft: {},
          payouts_stopped: {},
          clock_skewed: {},
          idempotency_conflict: {},
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        const idempotencyHeader = idempotencyHeaderOf(request);
        const operation = { name: OPERATION, messages, idempotencyHeader };
        const { data, replayed } = await performOnce(own, signed, operation, async (record) => {
          const wanted = readRefund(own, signed, messages);
          const { integration } = signed;
          const actor = { memberId: null, name: `integration ${integration.title}` };
          const refund = await createRefund(own, engine, actor, integration.holderId, wanted, {
            integrationId: integration.id,
            within: (tx, created) => record(tx, refundAnswer(created)),
          }).catch((error: unknown) => {
            throw asBadParams(error, messages);
          });
          return refundAnswer(refund);
        });
        if (replayed) void reply.header('Idempotent-Replayed', 'true');
        request.logged.ref = data.ref;
        return { success: true, message: 'Refund was created.', data };
      }),
  );
}

function readRefund(ctx: PaymentsContext, { params, integration }: SignedRequest, messages: OperationMessages) {
  const reading = refundParams.read(params);
  const { fields, add } = reading;
  checkCallbackUrl(ctx, fields.callback_url, add);
  const given = fields.amount ?? null;
  const amount = given === null ? null : parseAmount(given, DECIMALS);
  if (amount && !amount.ok) add('amount', AMOUNT_ERRORS[amount.error]);
  if (reading.hasErrors() || fields.id === undefined) throw refuse(reading.errors, { message: messages.badParams });
  const wanted: RefundRequest = {
    collection: fields.id,
    amount: amount?.ok ? amount.amount : null,
    reason: fields.reason,
    callbackUrl: fields.callback_url || null,
    reference1: fields.third_party_reference_1,
    reference2: fields.third_party_reference_2,
    asPayout: fields.as_payout ?? false,
    defaultCallbackUrl: integration.defaultCallbackUrl,
  };
  return wanted;
}

/** An unknown collection is a bad param of this operation. */
function asBadParams(error: unknown, { badParams }: OperationMessages): unknown {
  if (!(error instanceof Problem) || error.code !== 'transaction_not_found') return error;
  const errors = { id: ['There is no collection with this ref.'] };
  return new Problem('transaction_not_found', { status: 400, message: badParams, errors });
}

/** The `data` of a refund that was created. */
function refundAnswer(refund: Refund): JsonObject {
  const { ref, collection_ref, status, amount, fee_returned, currency, mobile, created_at } = refundRecord(refund);
  return { ref, collection_ref, status, amount, fee_returned, currency, mobile, created_at };
}

function statusRoute(app: HttpServer, ctx: PaymentsContext, engine: PaymentEngine, messages: OperationMessages): void {
  addOperation(
    app,
    '/api/v3/get-unified-refund-status',
    {
      schema: {
        summary: 'Get refund status',
        description: 'The record of a refund, with the latest answer of the operator.',
        tags: ['Refunds'],
        operationId: 'getRefundStatus',
        body: RefundStatusBody,
        response: { 200: RefundStatusAnswer },
      },
      config: {
        problems: {
          ...envelopeErrors(messages),
          invalid_params: { message: messages.badParams },
          transaction_not_found: { message: messages.badParams },
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        const { id } = refundStatusParams.require(signed.params, { message: messages.badParams });
        const { holderId } = signed.integration;
        const known = await findRefund(own.db, holderId, id);
        if (!known) throw new Problem('transaction_not_found', { message: messages.badParams });
        await findFresh(own, engine, holderId, refOf(known));
        const refund = (await findRefund(own.db, holderId, id)) ?? known;
        await spendOrRefuse(own, messages, signed);
        request.logged.ref = refOf(refund);
        return { success: true, message: 'Refund retrieved.', data: refundRecord(refund) };
      }),
  );
}
