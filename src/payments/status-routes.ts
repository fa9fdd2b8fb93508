// The HTTP operations that read: status v2 and v3, and balance.

import { signedCall } from '../holders/authentication.ts';
import { handleSigned, type OperationMessages, type SignedRequest } from '../holders/envelope.ts';
import { envelopeErrors } from '../holders/schemas.ts';
import { authenticateToken } from '../holders/tokens.ts';
import { publicUrl } from '../platform/config.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import { addOperation } from '../platform/operations.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { statusV2Params, statusV3Params } from './params.ts';
import { findPayerStep } from './payer-steps.ts';
import { describeStep, recordV2, recordV3 } from './record.ts';
import { BalanceAnswer, BalanceBody, StatusV2Answer, StatusV2Body, StatusV3Answer, StatusV3Body } from './schemas.ts';
import { BALANCE_MESSAGES, readBalances, readStatus, statusMessages } from './status.ts';
import { refOf } from './transactions.ts';

/** v2 of the status operation has been superseded since then (RFC 9745: a date, in seconds). */
const V2_DEPRECATED_AT = 1_767_225_600;

export function statusRoutes(app: HttpServer, ctx: PaymentsContext, engine: PaymentEngine): void {
  const messages = statusMessages(ctx.config.brandName);
  statusV2Route(app, ctx, engine, messages);
  statusV3Route(app, ctx, engine, messages);
  balanceRoute(app, ctx);
}

function statusV2Route(
  app: HttpServer,
  ctx: PaymentsContext,
  engine: PaymentEngine,
  messages: OperationMessages,
): void {
  const successor = `<${publicUrl(ctx.config)}/api/v3/get-unified-transaction-status>; rel="successor-version"`;
  app.post(
    '/api/v2/get-unified-transaction-status',
    {
      // Before the body is read: what is refused there is superseded too.
      onRequest: (_request, reply, done) => {
        void reply.headers({ Deprecation: `@${V2_DEPRECATED_AT}`, Link: successor });
        done();
      },
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
    (request, reply) =>
      handleSigned(ctx, messages, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        await requireOwnApiKey(ctx, request.headers['x-api-key'], signed, messages.notVerified);
        try {
          const { id } = statusV2Params.require(signed.params, { message: messages.badParams });
          const transaction = await readStatus(own, engine, messages, signed, { id });
          request.logged.ref = refOf(transaction);
          return { success: true, message: 'Transaction retrieved.', data: recordV2(own.catalog, transaction) };
        } catch (error) {
          // v2 has no 404.
          if (error instanceof Problem && error.code === 'transaction_not_found')
            throw new Problem('transaction_not_found', { status: 400, message: messages.badParams });
          throw error;
        }
      }),
  );
}

function statusV3Route(
  app: HttpServer,
  ctx: PaymentsContext,
  engine: PaymentEngine,
  messages: OperationMessages,
): void {
  addOperation(
    app,
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
      handleSigned(ctx, messages, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        const wanted = statusV3Params.require(signed.params, { message: messages.badParams });
        const transaction = await readStatus(own, engine, messages, signed, wanted);
        request.logged.ref = refOf(transaction);
        const step = await findPayerStep(own.db, transaction);
        const data = { ...recordV3(own.catalog, transaction), ...(step ? { next_step: describeStep(step) } : {}) };
        return { success: true, message: 'Transaction retrieved.', data };
      }),
  );
}

function balanceRoute(app: HttpServer, ctx: PaymentsContext): void {
  addOperation(
    app,
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
      handleSigned(ctx, BALANCE_MESSAGES, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        const data = await readBalances(own, signed);
        return { success: 'true', message: 'Balance retrieved.', data };
      }),
  );
}

/** The specification's `apiKeyAuth`: optional, but when present it must be a live token of the same integration. */
async function requireOwnApiKey(
  ctx: PaymentsContext,
  header: string | string[] | undefined,
  { integration, address }: SignedRequest,
  refusal: string,
): Promise<void> {
  if (header === undefined) return;
  const refused = new Problem('unauthenticated', { status: 403, message: refusal });
  if (typeof header !== 'string') throw refused;
  const owner = await authenticateToken(ctx, header, address).catch((error: unknown) => {
    // What could not be looked up is not wrong.
    throw error instanceof Problem && error.status < 500 ? refused : error;
  });
  if (owner.integration.id !== integration.id) throw refused;
}
