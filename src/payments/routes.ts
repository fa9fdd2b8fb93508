// The HTTP operations about money: collections and their verification, status v2 and v3, balance, discovery, and the
// address that operators call.

import Type from 'typebox';
import { handleSigned } from '../holders/envelope.ts';
import { requireToken, signedCall } from '../holders/routes.ts';
import { type SpentSignature, spendSignatures } from '../holders/signatures.ts';
import { authenticateToken } from '../holders/tokens.ts';
import { publicUrl } from '../platform/config.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { CollectionDesk } from './accept.ts';
import { collectionMessages, createCollection } from './collections.ts';
import type { PaymentsContext } from './context.ts';
import { describeCountries, preflight } from './discovery.ts';
import type { PaymentEngine } from './engine.ts';
import type { OperatorIntake } from './operator-callbacks.ts';
import { recordV2, recordV3 } from './record.ts';
import { BALANCE_MESSAGES, readBalances, readStatus, statusMessages } from './status.ts';
import { idFromRef } from './transactions.ts';
import { resendToken, verifyToken } from './verification.ts';

const ACCEPTED_MESSAGE =
  "A verification token has been sent to the customer's mobile number. Please verify to proceed with the payment.";
/** v2 of the status operation has been superseded since then (RFC 9745: a date, in seconds). */
const V2_DEPRECATED_AT = 1_767_225_600;
const OPERATOR_BODY_LIMIT_BYTES = 256 * 1024;

export type PaymentDesk = { engine: PaymentEngine; collections: CollectionDesk; intake: OperatorIntake };

export function paymentRoutes(app: HttpServer, ctx: PaymentsContext, desk: PaymentDesk): void {
  collectionRoutes(app, ctx, desk);
  statusRoutes(app, ctx, desk);
  discoveryRoutes(app, ctx);
  operatorRoutes(app, desk);
}

const Envelope = <T extends Type.TSchema>(params: T) =>
  Type.Object({
    client_id: Type.String({ maxLength: 256, description: 'Public identifier of the API integration.' }),
    sender: Type.String({ maxLength: 256, description: 'Title of the API integration.' }),
    timestamp: Type.Integer({ description: 'Unix timestamp of the moment the request is made, in seconds.' }),
    salt: Type.String({ minLength: 1, maxLength: 128, description: 'Random string.' }),
    signature: Type.String({
      description: 'HMAC-SHA256 of the canonical body without this member, in lower-case hexadecimal.',
    }),
    params,
  });

function collectionRoutes(app: HttpServer, ctx: PaymentsContext, desk: PaymentDesk): void {
  const messages = collectionMessages(ctx.config.brandName);
  app.post(
    '/api/v3/service-unified-collections',
    {
      schema: {
        summary: 'Submit unified collection',
        tags: ['Collections'],
        operationId: 'createCollection',
        body: Envelope(CollectionParams),
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const { data, replayed } = await createCollection(
          ctx,
          desk.collections,
          messages,
          signed,
          request.headers['idempotency-key'],
        );
        if (replayed) void reply.header('Idempotent-Replayed', 'true');
        return { success: true, message: ACCEPTED_MESSAGE, data };
      }),
  );

  app.post(
    '/api/v3/service-unified-collections/verify',
    {
      schema: {
        summary: 'Verify a collection by token',
        tags: ['Collections'],
        operationId: 'verifyCollection',
        body: Envelope(VerifyParams),
      },
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
      await desk.engine.pass();
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
        tags: ['Collections'],
        operationId: 'resendCollectionToken',
        body: Envelope(ResendParams),
      },
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

function statusRoutes(app: HttpServer, ctx: PaymentsContext, desk: PaymentDesk): void {
  const messages = statusMessages(ctx.config.brandName);
  const successor = `<${publicUrl(ctx.config)}/api/v3/get-unified-transaction-status>; rel="successor-version"`;
  app.post(
    '/api/v2/get-unified-transaction-status',
    {
      schema: {
        summary: 'Get transaction status (superseded by v3)',
        tags: ['Status'],
        operationId: 'getStatusV2',
        deprecated: true,
        security: [{ apiKeyAuth: [] }, {}],
        body: Envelope(StatusV2Params),
      },
    },
    (request, reply) => {
      void reply.headers({ Deprecation: `@${V2_DEPRECATED_AT}`, Link: successor });
      return handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        await requireOwnApiKey(ctx, request.headers['x-api-key'], signed.integration.id, messages.notVerified);
        try {
          // v2 has no `type`; whatever is sent under that name means nothing there.
          const { type: _, ...params } = signed.params;
          const transaction = await readStatus(ctx, desk.engine, messages, { ...signed, params });
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
        tags: ['Status'],
        operationId: 'getStatus',
        body: Envelope(StatusV3Params),
      },
    },
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed) => {
        const transaction = await readStatus(ctx, desk.engine, messages, signed);
        return { success: true, message: 'Transaction retrieved.', data: recordV3(ctx.catalog, transaction) };
      }),
  );

  app.post(
    '/api/v3/get-unified-balance',
    {
      schema: {
        summary: 'Get unified balance',
        tags: ['Balance'],
        operationId: 'getBalance',
        body: Envelope(BalanceParams),
      },
      // On this operation `success` is a string, and `data` an array even when something went wrong.
      config: { problemBody: (body) => ({ ...body, success: 'false', data: [] }) },
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
        tags: ['Discovery'],
        operationId: 'listCountries',
        security: [{ bearerAuth: [] }],
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
        tags: ['Discovery'],
        operationId: 'preflight',
        security: [{ bearerAuth: [] }],
        body: PreflightBody,
      },
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
function operatorRoutes(app: HttpServer, desk: PaymentDesk): void {
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
        const known = await desk.intake.receive({ rail, path: request.url, headers: request.headers, body });
        if (!known) throw new Problem('unauthenticated', { message: 'This message proves nothing.' });
        return { success: true, message: 'Received.' };
      },
    });
  });
}

const CollectionParams = Type.Object({
  amount: Type.Union([Type.Number(), Type.String()], {
    description: 'Amount; a number or a decimal string. Never rounded.',
    examples: [2500],
  }),
  mobile: Type.String({ description: "Customer's mobile number, international or national." }),
  country_id: Type.Integer({ description: 'From the collections countries table.' }),
  currency: Type.String({ description: 'Currency code of the country.' }),
  payment_method_type: Type.Optional(
    Type.String({ description: 'Method or operator of the country; may be left out where the number tells it.' }),
  ),
  callback_url: Type.Optional(Type.String({ description: 'http(s) URL that is told the result.' })),
  third_party_reference_1: Type.Optional(Type.String({ maxLength: 128 })),
  third_party_reference_2: Type.Optional(Type.String({ maxLength: 128 })),
});
const VerifyParams = Type.Object({
  id: Type.String({ description: 'ref of the collection.' }),
  token: Type.String({ pattern: '^\\d{6}$' }),
});
const ResendParams = Type.Object({ id: Type.String({ description: 'ref of the collection.' }) });
const StatusV2Params = Type.Object({ id: Type.String({ description: 'Transaction reference (ref).' }) });
const StatusV3Params = Type.Object({
  id: Type.String({ description: 'Transaction reference (ref).' }),
  type: Type.Optional(Type.Union([Type.Literal('payin'), Type.Literal('payout')])),
});
const BalanceParams = Type.Object({
  wallet_account: Type.Optional(Type.Integer()),
  currency: Type.Optional(Type.String()),
});
const PreflightBody = Type.Object({
  mobile: Type.String(),
  amount: Type.Union([Type.Number(), Type.String()]),
  currency: Type.String(),
  country_id: Type.Optional(Type.Integer()),
  payment_method_type: Type.Optional(Type.String()),
  direction: Type.Optional(Type.Union([Type.Literal('collection'), Type.Literal('payout')])),
});
