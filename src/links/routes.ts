// The HTTP routes of payment links: create (signed), list (bearer token), and the two pictures of a link, logo and QR code.

import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { requireToken, signedCall } from '../holders/authentication.ts';
import { handleSigned, type OperationMessages, type SignedRequest } from '../holders/envelope.ts';
import { type IdempotencyHeader, idempotencyHeaderOf } from '../holders/idempotency.ts';
import { findLiveIntegration } from '../holders/integrations.ts';
import { performOnce } from '../holders/perform-once.ts';
import { envelopeErrors, IdempotencyHeaders } from '../holders/schemas.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { Problem } from '../platform/errors.ts';
import type { HttpServer } from '../platform/http.ts';
import { parseLargeJson } from '../platform/large-json.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { draftLink, NOT_CREATED } from './draft.ts';
import { describeLink, findLink, insertLink, linkUrl } from './links.ts';
import { answerPage, ListLinksQuery, openLinkStream, readListQuery } from './listing.ts';
import { findLogo } from './logo.ts';
import { linkQrSvg } from './qr.ts';
import { CreateLinkAnswer, CreateLinkBody, ListLinksAnswer } from './schemas.ts';

const OPERATION = 'payment_link';
/** A logo of 2 MiB in base64, and the rest of the envelope. */
const CREATE_BODY_LIMIT_BYTES = 3 * 1024 * 1024;
/** A client that reads nothing of the list for this long is disconnected. */
const STALLED_READER_MS = 60_000;
const TAGS = ['Payment links'];

const LINK_MESSAGES: OperationMessages = {
  badParams: NOT_CREATED,
  integrationNotFound: 'Entity integration record not found.',
  clientMismatch: 'Client id not matched',
  notVerified: 'Request was not verified.',
  accountClosed: NOT_CREATED,
  accountSuspended: NOT_CREATED,
};

export function linkRoutes(app: HttpServer, ctx: PaymentsContext): void {
  void app.register(async (scope) => {
    parseLargeJson(scope, ctx, {
      limitBytes: CREATE_BODY_LIMIT_BYTES,
      isKnownClient: async (clientId) => (await findLiveIntegration(ctx, { clientId }))?.status === 'active',
      unknownClient: () => new Problem('integration_not_found', { message: LINK_MESSAGES.integrationNotFound }),
    });
    createRoute(scope, ctx);
  });
  listRoute(app, ctx);
  qrRoute(app, ctx);
  logoRoute(app, ctx);
}

function createRoute(app: HttpServer, ctx: PaymentsContext): void {
  app.post(
    '/api/v3/payment-link-api/create',
    {
      bodyLimit: CREATE_BODY_LIMIT_BYTES,
      schema: {
        summary: 'Create payment link',
        description: 'Creates a hosted page on which anybody can pay, prefilled with the customer details supplied.',
        tags: TAGS,
        operationId: 'createPaymentLink',
        headers: IdempotencyHeaders,
        body: CreateLinkBody,
        response: { 200: CreateLinkAnswer },
      },
      config: {
        problems: {
          ...envelopeErrors(LINK_MESSAGES),
          invalid_params: { message: LINK_MESSAGES.badParams },
          idempotency_conflict: {},
        },
      },
    },
    (request, reply) =>
      handleSigned(ctx, LINK_MESSAGES, signedCall(request, reply), async (signed, ownContext) => {
        const own = ownContext();
        const { data, replayed } = await createSigned(own, signed, idempotencyHeaderOf(request));
        if (replayed) void reply.header('Idempotent-Replayed', 'true');
        return { success: true, message: 'Payment link created.', data };
      }),
  );
}

function listRoute(app: HttpServer, ctx: PaymentsContext): void {
  app.get(
    '/api/payment-link-api/list',
    {
      // HEAD would read the whole list and discard it.
      exposeHeadRoute: false,
      schema: {
        summary: 'List payment links',
        description: 'All payment links of the account, newest first; with limit in pages.',
        tags: TAGS,
        operationId: 'listPaymentLinks',
        querystring: ListLinksQuery,
        security: [{ bearerAuth: [] }],
        response: { 200: ListLinksAnswer },
      },
      config: {
        problems: {
          invalid_params: {},
          account_not_found: { status: 404, message: 'User not found' },
          account_suspended: { status: 404, message: 'User not found' },
        },
      },
    },
    (request, reply) => answerList(ctx, request, reply),
  );
}

function qrRoute(app: HttpServer, ctx: PaymentsContext): void {
  app.get(
    '/pay/:id/qr.svg',
    {
      schema: {
        summary: 'QR code of a payment link',
        tags: TAGS,
        operationId: 'getPaymentLinkQr',
        description: 'What qr_url leads to: a picture to print. Needs no authentication.',
        params: Type.Object({ id: Type.String() }),
        response: { 200: picture('image/svg+xml') },
      },
      config: { problems: { payment_link_not_found: {} } },
    },
    async (request, reply) => {
      const link = await findLink(ctx.db, (request.params as { id: string }).id);
      if (!link) throw new Problem('payment_link_not_found');
      return servePicture(reply, 'image/svg+xml', 'public, max-age=3600').send(linkQrSvg(linkUrl(ctx.config, link)));
    },
  );
}

function logoRoute(app: HttpServer, ctx: PaymentsContext): void {
  app.get(
    '/logos/:hash.webp',
    {
      schema: {
        summary: 'Logo of a payment link',
        tags: TAGS,
        operationId: 'getLogo',
        description: 'What logo_url leads to. Needs no authentication.',
        params: Type.Object({ hash: Type.String() }),
        response: { 200: picture('image/webp') },
      },
      config: { problems: { not_found: {} } },
    },
    async (request, reply) => {
      const webp = await findLogo(ctx.db, (request.params as { hash: string }).hash);
      if (!webp) throw new Problem('not_found');
      return servePicture(reply, 'image/webp', 'public, max-age=31536000, immutable').send(webp);
    },
  );
}

/** An answer that is not JSON, for OpenAPI. */
function picture(type: string) {
  return { description: 'The picture.', content: { [type]: { schema: Type.String() } } };
}

/** The headers make a browser treat the bytes as a picture and nothing else. */
function servePicture(reply: FastifyReply, type: string, caching: string): FastifyReply {
  return reply.headers({
    'Content-Type': type,
    'Cache-Control': caching,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
  });
}

async function createSigned(
  ctx: PaymentsContext,
  request: SignedRequest,
  idempotencyHeader: IdempotencyHeader,
): Promise<{ data: JsonObject; replayed: boolean }> {
  const { integration, params } = request;
  const owner = {
    holderId: integration.holderId,
    integrationId: integration.id,
    defaultCallbackUrl: integration.defaultCallbackUrl,
    redirectHosts: integration.redirectHosts,
  };
  const operation = { name: OPERATION, messages: LINK_MESSAGES, idempotencyHeader };
  return performOnce(ctx, request, operation, async (record) => {
    const draft = await draftLink(ctx, owner, params);
    const at = ctx.clock.now();
    return ctx.db.transaction(async (tx) => {
      const data = describeLink(ctx, await insertLink(tx, draft, at), at);
      await record(tx, data);
      return data;
    });
  });
}

async function answerList(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { integration, own } = await requireToken(ctx, request, reply, { status: 404, message: 'User not found' });
  const { limit, ...query } = readListQuery(request.query);
  if (limit !== null) return answerPage(own, integration.holderId, { ...query, limit });
  const stream = await openLinkStream(own, integration.holderId, { ...query, limit });
  reply.raw.setTimeout(STALLED_READER_MS, () => reply.raw.destroy());
  return reply.type('application/json; charset=utf-8').send(stream);
}
