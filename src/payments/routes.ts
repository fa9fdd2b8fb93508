// The HTTP operations about money: collections and their verification, status v2 and v3, balance, discovery, and the
// address that operators call.

import { handleSigned } from '../holders/envelope.ts';
import { requireToken, signedCall } from '../holders/routes.ts';
import { envelopeErrors, IdempotencyHeaders } from '../holders/schemas.ts';
import { type SpentSignature, spendSignatures } from '../holders/signatures.ts';
import { authenticateToken } from '../holders/tokens.ts';
import { publicUrl } from '../platform/config.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { CollectionWriter } from './accept.ts';
import { collectionMessages, createCollection } from './collections.ts';
import type { PaymentsContext } from './context.ts';
import { describeCountries, preflight } from './discovery.ts';
import type { PaymentEngine } from './engine.ts';
import type { OperatorInbox } from './operator-callbacks.ts';
import { recordV2, recordV3 } from './record.ts';
import {
  ACCEPTED_MESSAGE,
  BalanceAnswer,
  BalanceBody,
  CollectionAnswer,
  CollectionBody,
  CountriesAnswer,
  PreflightAnswer,
  PreflightBody,
  ResendAnswer,
  ResendBody,
  StatusV2Answer,
  StatusV2Body,
  StatusV3Answer,
  StatusV3Body,
  VerifyAnswer,
  VerifyBody,
} from './schemas.ts';
import { BALANCE_MESSAGES, readBalances, readStatus, statusMessages } from './status.ts';
import { idFromRef, refOf } from './transactions.ts';
import { resendToken, verifyToken } from './verification.ts';

/** v2 of the status operation has been superseded since then (RFC 9745: a date, in seconds). */
const V2_DEPRECATED_AT = 1_767_225_600;
const OPERATOR_BODY_LIMIT_BYTES = 256 * 1024;

export type PaymentServices = { engine: PaymentEngine; collections: CollectionWriter; inbox: OperatorInbox };

export function paymentRoutes(app: HttpServer, ctx: PaymentsContext, services: PaymentServices): void {
  collectionRoutes(app, ctx, services);
  statusRoutes(app, ctx, services);
  discoveryRoutes(app, ctx);
  operatorRoutes(app, services);
}

function collectionRoutes(app: HttpServer, ctx: PaymentsContext, services: PaymentServices): void {
  const messages = collectionMessages(ctx.config.brandName);
  const tokenProblems = {
    ...envelopeErrors(messages),
    invalid_params: { message: messages.badParams },
    transaction_not_found: {},
    verification_failed: {},
  };
  app.post(
    '/api/v3/service-unified-collections',
    {
      schema: {
        summary: 'Submit unified collection',
        description:
          'Starts a collection from a customer’s mobile wallet. Answered once it is durable; the customer then verifies on the phone, and the result is told to callback_url.',
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
          operator_unavailable: {},
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
          request.headers['idempotency-key'],
        );
        if (replayed) void reply.header('Idempotent-Replayed', 'true');
        request.logged.ref = data.ref;
        return { success: true, message: ACCEPTED_MESSAGE, data };
      }),
  );

  app.post(
    '/api/v3/service-unified-collections/verify',
    {
      schema: {
        summary: 'Verify a collection by token',
        description:
          'For collections whose verification.method is otp. Five wrong tokens fail the transaction; ten minutes expire it.',
        tags: ['Collections'],
        operationId: 'verifyCollection',
        body: VerifyBody,
        response: { 200: VerifyAnswer },
      },
      config: { problems: tokenProblems },
    },
    async (request, reply) => {
      const result = await handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const { token } = signed.params;
        if (typeof token !== 'string' || !/^\d{6}$/.test(token))
          throw new Problem('invalid_params', {
            message: messages.badParams,
            errors: { token: ['token must be a string of six digits.'] },
          });
        return verifyToken(ctx, signed.integration.holderId, requireTransactionId(signed.params), token, (tx) =>
          spend(tx, signed, messages),
        );
      });
      if (result instanceof Problem) throw result;
      await services.engine.pass();
      return {
        success: true,
        message: 'Token verified. The payment is being processed.',
        data: recordV3(ctx.catalog, result),
      };
    },
  );

  app.post(
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
      config: { problems: { ...tokenProblems, resend_too_soon: {} } },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const transaction = await resendToken(
          ctx,
          signed.integration.holderId,
          requireTransactionId(signed.params),
          (tx) => spend(tx, signed, messages),
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

function requireTransactionId(params: JsonObject): string {
  const id = typeof params.id === 'string' ? idFromRef(params.id) : null;
  if (id === null) throw new Problem('transaction_not_found');
  return id;
}

function statusRoutes(app: HttpServer, ctx: PaymentsContext, services: PaymentServices): void {
  const messages = statusMessages(ctx.config.brandName);
  const successor = `<${publicUrl(ctx.config)}/api/v3/get-unified-transaction-status>; rel="successor-version"`;
  app.post(
    '/api/v2/get-unified-transaction-status',
    {
      schema: {
        summary: 'Get transaction status (superseded by v3)',
        description:
          'The transaction record without the members that only v3 has. Answers carry Deprecation and Link headers.',
        tags: ['Status'],
        operationId: 'getStatusV2',
        deprecated: true,
        security: [{ apiKeyAuth: [] }, {}],
        body: StatusV2Body,
        response: { 200: StatusV2Answer },
      },
      config: {
        problems: {
          ...envelopeErrors(messages),
          invalid_params: { message: messages.badParams },
          transaction_not_found: { status: 400, message: messages.badParams },
          unauthenticated: { status: 403, message: messages.notVerified },
        },
      },
    },
    (request, reply) => {
      void reply.headers({ Deprecation: `@${V2_DEPRECATED_AT}`, Link: successor });
      return handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        await requireOwnApiKey(ctx, request.headers['x-api-key'], signed.integration.id, messages.notVerified);
        try {
          // v2 has no `type`; whatever is sent under that name means nothing there.
          const { type: _, ...params } = signed.params;
          const transaction = await readStatus(ctx, services.engine, messages, { ...signed, params });
          request.logged.ref = refOf(transaction);
          return { success: true, message: 'Transaction retrieved.', data: recordV2(ctx.catalog, transaction) };
        } catch (error) {
          // v2 knows no 404.
          if (error instanceof Problem && error.code === 'transaction_not_found')
            throw new Problem('transaction_not_found', { status: 400, message: messages.badParams });
          throw error;
        }
      });
    },
  );

  app.post(
    '/api/v3/get-unified-transaction-status',
    {
      schema: {
        summary: 'Get transaction status',
        description: 'The record of one transaction, payin or payout; while it is open the operator is asked first.',
        tags: ['Status'],
        operationId: 'getStatus',
        body: StatusV3Body,
        response: { 200: StatusV3Answer },
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
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const transaction = await readStatus(ctx, services.engine, messages, signed);
        request.logged.ref = refOf(transaction);
        return { success: true, message: 'Transaction retrieved.', data: recordV3(ctx.catalog, transaction) };
      }),
  );

  app.post(
    '/api/v3/get-unified-balance',
    {
      schema: {
        summary: 'Get unified balance',
        description: 'The wallets of the account, one for each currency.',
        tags: ['Balance'],
        operationId: 'getBalance',
        body: BalanceBody,
        response: { 200: BalanceAnswer },
      },
      config: {
        // On this operation `success` is a string, and `data` an array even when something went wrong.
        problemBody: (body) => ({ ...body, success: 'false', data: [] }),
        problems: {
          ...envelopeErrors(BALANCE_MESSAGES),
          invalid_params: { message: BALANCE_MESSAGES.badParams },
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, BALANCE_MESSAGES, signedCall(request, reply), async (signed) => {
        const data = await readBalances(ctx, signed);
        return { success: 'true', message: 'Balance retrieved.', data };
      }),
  );
}

/** The specification's `apiKeyAuth`: optional, but when present it must be a live token of the same integration. */
async function requireOwnApiKey(
  ctx: PaymentsContext,
  header: string | string[] | undefined,
  integrationId: bigint,
  refusal: string,
): Promise<void> {
  if (header === undefined) return;
  const owner = typeof header === 'string' ? await authenticateToken(ctx, header).catch(() => null) : null;
  if (owner?.id !== integrationId) throw new Problem('unauthenticated', { status: 403, message: refusal });
}

function discoveryRoutes(app: HttpServer, ctx: PaymentsContext): void {
  app.get(
    '/api/v3/countries',
    {
      schema: {
        summary: 'Countries and methods',
        description: 'Both countries tables with their methods, decimals and limits.',
        tags: ['Discovery'],
        operationId: 'listCountries',
        security: [{ bearerAuth: [] }],
        response: { 200: CountriesAnswer },
      },
    },
    async (request, reply) => {
      await requireToken(ctx, request, reply);
      return { success: true, message: 'Countries retrieved.', data: describeCountries(ctx.catalog) };
    },
  );

  app.post(
    '/api/v3/preflight',
    {
      schema: {
        summary: 'Check a payment without creating it',
        description:
          'Which operator, number, limits, decimals and fee a payment would have, and why it would be refused.',
        tags: ['Discovery'],
        operationId: 'preflight',
        security: [{ bearerAuth: [] }],
        body: PreflightBody,
        response: { 200: PreflightAnswer },
      },
      config: { problems: { invalid_params: {} } },
    },
    async (request, reply) => {
      const integration = await requireToken(ctx, request, reply);
      return {
        success: true,
        message: 'Preflight done. Nothing was created.',
        data: await preflight(ctx, integration.holderId, request.body),
      };
    },
  );
}

/** Operators send whatever they send: this scope alone takes any body, as bytes. */
function operatorRoutes(app: HttpServer, services: PaymentServices): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.route({
      method: ['POST', 'PUT'],
      url: '/operators/:rail',
      bodyLimit: OPERATOR_BODY_LIMIT_BYTES,
      schema: { hide: true },
      config: { unlimited: true },
      handler: async (request) => {
        const { rail } = request.params as { rail: string };
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const known = await services.inbox.receive({ rail, path: request.url, headers: request.headers, body });
        if (!known) throw new Problem('unauthenticated', { message: 'This message proves nothing.' });
        return { success: true, message: 'Received.' };
      },
    });
  });
}
