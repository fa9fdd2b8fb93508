// The HTTP routes of payments: collections, status, balance and refunds (in their own files), discovery, and operator callbacks.

import type { FastifyRequest } from 'fastify';
import { requireToken } from '../holders/authentication.ts';
import { addressShareOf } from '../platform/admission.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import type { CallbackRequest } from '../rails/rail.ts';
import type { CollectionWriter } from './accept.ts';
import { collectionRoutes } from './collection-routes.ts';
import type { PaymentsContext } from './context.ts';
import { describeCountries, preflight } from './discovery.ts';
import type { PaymentEngine } from './engine.ts';
import { lostPaymentRoute } from './lost-payment-route.ts';
import type { OperatorInbox } from './operator-callbacks.ts';
import { PreflightBody } from './params.ts';
import { refundRoutes } from './refund-routes.ts';
import { CountriesAnswer, PreflightAnswer } from './schemas.ts';
import { statusRoutes } from './status-routes.ts';

/** Until an address that sent too many wrong operator callbacks is heard again. */
const WRONG_CALLBACKS_SECONDS = 60;

const RECEIVED = { success: true, message: 'Received.' };

export type PaymentServices = { engine: PaymentEngine; collections: CollectionWriter; inbox: OperatorInbox };

export function paymentRoutes(app: HttpServer, ctx: PaymentsContext, services: PaymentServices): void {
  collectionRoutes(app, ctx, services);
  statusRoutes(app, ctx, services.engine);
  refundRoutes(app, ctx, services.engine);
  lostPaymentRoute(app, ctx);
  discoveryRoutes(app, ctx);
  operatorRoutes(app, services);
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
      const { own } = await requireToken(ctx, request, reply);
      return { success: true, message: 'Countries retrieved.', data: describeCountries(own.catalog) };
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
      const { integration, own } = await requireToken(ctx, request, reply);
      return {
        success: true,
        message: 'Preflight done. Nothing was created.',
        data: await preflight(own, integration.holderId, request.body),
      };
    },
  );
}

/**
 * Operators send many content types, so these routes accept any body as bytes. Anybody can reach them, so the rail and the
 * address are checked before the body is read.
 */
export function operatorRoutes(app: HttpServer, services: PaymentServices): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const refuse = async (request: FastifyRequest) => {
      const { connection } = request.params as { connection: string };
      const refusal = services.inbox.refusal(connection, addressShareOf(request));
      if (refusal === 'unknown_rail') throw new Problem('not_found');
      if (refusal) throw new Problem('rate_limited', { retryAfterSeconds: WRONG_CALLBACKS_SECONDS });
    };
    for (const url of ['/operators/:connection', '/operators/:connection/*']) {
      // Orange asks so whether there is somebody, before it takes the address.
      scope.route({
        method: ['OPTIONS', 'HEAD'],
        url,
        schema: { hide: true },
        onRequest: refuse,
        handler: async (_request, reply) => reply.header('Allow', 'POST, PUT, OPTIONS, HEAD').send(),
      });
      scope.route({
        method: ['POST', 'PUT'],
        url,
        schema: { hide: true },
        config: { unlimited: true },
        onRequest: refuse,
        handler: async (request, reply) => {
          const message = callbackOf(request);
          const decision = await services.inbox.receive(message, addressShareOf(request));
          const answer = services.inbox.answer(message, decision);
          if (answer) return reply.code(answer.status).type(answer.contentType).send(answer.body);
          if (decision.kind === 'rejected')
            throw new Problem('unauthenticated', { message: 'The callback could not be authenticated.' });
          return decision.kind === 'refuse_payment' ? { success: false, message: 'Refused.' } : RECEIVED;
        },
      });
    }
  });
}

function callbackOf(request: FastifyRequest): CallbackRequest & { rail: string } {
  const { connection } = request.params as { connection: string };
  return {
    rail: connection,
    method: request.method,
    host: request.host.toLowerCase().replace(request.protocol === 'https' ? /:443$/ : /:80$/, ''),
    path: request.url,
    remoteAddress: request.ip || null,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  };
}
