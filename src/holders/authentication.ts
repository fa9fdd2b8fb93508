// How the routes of every module authenticate a caller: a signed envelope or a bearer token.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import { addressOf } from '../platform/http.ts';
import type { JsonValue } from '../platform/strict-json.ts';
import { limitRate, type SignedCall } from './envelope.ts';
import { type HolderRefusal, refuseInactiveHolder } from './holders.ts';
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
 * The integration that the request's bearer token belongs to. Counts the request against its rate limit. A token of a suspended
 * or closed holder is refused as its signature would be; `refusal` is what this operation answers then.
 */
export async function requireToken(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: HolderRefusal = {},
): Promise<LiveIntegration> {
  const integration = await authenticateToken(ctx, bearerToken(request.headers.authorization));
  request.logged.client_id = integration.clientId;
  limitRate(ctx, integration, { setHeaders: (headers) => void reply.headers(headers) });
  refuseInactiveHolder(integration.holderStatus, refusal);
  return integration;
}
