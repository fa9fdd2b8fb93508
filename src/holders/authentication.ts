// How the routes of every module authenticate a caller: a signed envelope or a bearer token.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Context, forHolder } from '../platform/context.ts';
import { addressOf } from '../platform/http.ts';
import type { JsonValue } from '../platform/strict-json.ts';
import { limitRate, type SignedCall } from './envelope.ts';
import type { LiveIntegration } from './integrations.ts';
import { authenticateToken, bearerToken } from './tokens.ts';

/** The parts of a request that `handleSigned` reads. */
export function signedCall(request: FastifyRequest, reply: FastifyReply): SignedCall {
  return {
    body: request.body as JsonValue,
    address: addressOf(request),
    logged: request.logged,
    setHeaders: (headers) => void reply.headers(headers),
  };
}

/**
 * The integration that the request's bearer token belongs to, and the context of its holder, which the operation reads with.
 * Counts the request against its rate limit.
 */
export async function requireToken<C extends Context>(
  ctx: C,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ integration: LiveIntegration; own: C }> {
  const integration = await authenticateToken(ctx, bearerToken(request.headers.authorization));
  request.logged.client_id = integration.clientId;
  limitRate(ctx, integration, { setHeaders: (headers) => void reply.headers(headers) });
  return { integration, own: forHolder(ctx, integration.holderId) };
}
