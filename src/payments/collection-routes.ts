// The HTTP operations of collections: create, verify by token, send the token again.

import { signedCall } from '../holders/authentication.ts';
import { handleSigned, type OperationMessages } from '../holders/envelope.ts';
import { idempotencyHeaderOf } from '../holders/idempotency.ts';
import { envelopeErrors, IdempotencyHeaders } from '../holders/schemas.ts';
import { type SpentSignature, spendSignatures } from '../holders/signatures.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import { addOperation } from '../platform/operations.ts';
import { refuse } from '../platform/validation.ts';
import type { CollectionWriter } from './accept.ts';
import { collectionMessages, createCollection } from './collections.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { TOO_MANY_WRONG_TOKENS } from './number-limits.ts';
import { giveOperatorCode, waitsForOperatorCode } from './operator-codes.ts';
import { resendParams, verifyParams } from './params.ts';
import { recordV3 } from './record.ts';
import {
  ACCEPTED_MESSAGE,
  CollectionAnswer,
  CollectionBody,
  ResendAnswer,
  ResendBody,
  VerifyAnswer,
  VerifyBody,
} from './schemas.ts';
import { idFromRef } from './transactions.ts';
import { NOT_WAITING_FOR_TOKEN, resendToken, verifyToken } from './verification.ts';

type Services = { engine: PaymentEngine; collections: CollectionWriter };

export function collectionRoutes(app: HttpServer, ctx: PaymentsContext, services: Services): void {
  const messages = collectionMessages(ctx.config.brandName);
  createRoute(app, ctx, services, messages);
  verifyRoute(app, ctx, services, messages);
  resendRoute(app, ctx, messages);
}

function createRoute(app: HttpServer, ctx: PaymentsContext, services: Services, messages: OperationMessages): void {
  addOperation(
    app,
    '/api/v3/service-unified-collections',
    {
      schema: {
        summary: 'Submit unified collection',
        description:
          'Starts a collection from a customer’s mobile wallet. Answered once it is durable; the customer then verifies ' +
          'on the phone, and the result is sent to callback_url.',
        tags: ['Collections'],
        operationId: 'createCollection',
        headers: IdempotencyHeaders,
        body: CollectionBody,
        response: { 200: CollectionAnswer },
      },
      config: {
        problems: {
          ...envelopeErrors(messages),
          invalid_params: { message: messages.badParams },
          country_not_found: {},
          country_not_supported: {},
          idempotency_conflict: {},
          limit_reached: {},
          number_blocked: {},
          number_limited: {},
          operator_unavailable: {},
          clock_skewed: {},
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const { data, replayed } = await createCollection(
          ctx,
          services.collections,
          messages,
          signed,
          idempotencyHeaderOf(request),
        );
        if (replayed) void reply.header('Idempotent-Replayed', 'true');
        request.logged.ref = data.ref;
        return { success: true, message: ACCEPTED_MESSAGE, data };
      }),
  );
}

function tokenProblems(messages: OperationMessages) {
  return {
    ...envelopeErrors(messages),
    invalid_params: { message: messages.badParams },
    transaction_not_found: {},
    verification_failed: {},
    operator_asked_first: {},
  };
}

/** Our own tokens; those of operators have other lengths. */
const SIX_DIGITS = /^\d{6}$/;

function verifyRoute(app: HttpServer, ctx: PaymentsContext, services: Services, messages: OperationMessages): void {
  addOperation(
    app,
    '/api/v3/service-unified-collections/verify',
    {
      schema: {
        summary: 'Verify a collection by token',
        description:
          'For collections whose verification.method is otp, or whose next_step asks for a code of the operator. ' +
          'Five wrong tokens fail the transaction; ten minutes expire it. Wrong tokens also count by phone number.',
        tags: ['Collections'],
        operationId: 'verifyCollection',
        body: VerifyBody,
        response: { 200: VerifyAnswer },
      },
      config: { problems: { ...tokenProblems(messages), number_limited: { message: TOO_MANY_WRONG_TOKENS } } },
    },
    async (request, reply) => {
      const result = await handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const { id: ref, token } = verifyParams.require(signed.params, { message: messages.badParams });
        const { holderId } = signed.integration;
        const id = requireTransactionId(ref);
        const within = (tx: Tx) => spend(tx, signed, messages);
        if (await waitsForOperatorCode(ctx, holderId, id)) return giveOperatorCode(ctx, holderId, id, token, within);
        if (!SIX_DIGITS.test(token))
          throw refuse({ token: ['The token must be a string of six digits.'] }, { message: messages.badParams });
        return verifyToken(ctx, holderId, id, token, within);
      });
      if (result instanceof Problem) throw result;
      services.engine.wake();
      return {
        success: true,
        message: 'Token verified. The payment is being processed.',
        data: recordV3(ctx.catalog, result),
      };
    },
  );
}

function resendRoute(app: HttpServer, ctx: PaymentsContext, messages: OperationMessages): void {
  addOperation(
    app,
    '/api/v3/service-unified-collections/resend',
    {
      schema: {
        summary: 'Send the verification token again',
        description: 'At most once in 30 seconds. The token sent before stops working.',
        tags: ['Collections'],
        operationId: 'resendCollectionToken',
        body: ResendBody,
        response: { 200: ResendAnswer },
      },
      config: {
        problems: {
          ...tokenProblems(messages),
          verification_failed: { message: NOT_WAITING_FOR_TOKEN },
          resend_too_soon: {},
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const { id } = resendParams.require(signed.params, { message: messages.badParams });
        const transaction = await resendToken(ctx, signed.integration.holderId, requireTransactionId(id), (tx) =>
          spend(tx, signed, messages),
        );
        return {
          success: true,
          message: "A verification token has been sent to the customer's mobile number.",
          data: recordV3(ctx.catalog, transaction),
        };
      }),
  );
}

async function spend(tx: Tx, signature: SpentSignature, messages: { notVerified: string }): Promise<void> {
  const [fresh] = await spendSignatures(tx, [signature]);
  if (!fresh) throw new Problem('signature_reused', { message: messages.notVerified });
}

function requireTransactionId(ref: string): string {
  const id = idFromRef(ref);
  if (id === null) throw new Problem('transaction_not_found');
  return id;
}
