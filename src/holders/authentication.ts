// How the routes of every module authenticate a caller: a signed envelope or a bearer token. The scope of the caller's key is
// checked here, once, by the route.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Context, forHolder } from '../platform/context.ts';
import { addressOf } from '../platform/http.ts';
import type { OperationReply, OperationRequest } from '../platform/operations.ts';
import type { JsonValue } from '../platform/strict-json.ts';
import { limitRate, requireScope, type SignedCall } from './envelope.ts';
import { type HolderRefusal, refuseInactiveHolder } from './holders.ts';
import type { LiveIntegration } from './integrations.ts';
import { authenticateToken, bearerToken, type TokenCaller } from './tokens.ts';

/** As the table of scopes names it. HEAD is answered by the handler of GET. */
function routeOf(request: OperationRequest): string {
  return `${request.method === 'HEAD' ? 'GET' : request.method} ${request.routeOptions.url}`;
}

/** The parts of a request that `handleSigned` reads. */
export function signedCall(request: OperationRequest, reply: OperationReply): SignedCall {
  return {
    body: request.body as JsonValue,
    members: request.canonicalMembers ?? [],
    address: addressOf(request),
    route: routeOf(request),
    logged: request.logged,
    setHeaders: (headers) => void reply.headers(headers),
    admitCaller: (clientId) => request.admitCaller(clientId),
  };
}

/**
 * Who the request's bearer token belongs to. Counts the request against the rate limit of the integration. A token of a suspended
 * or closed holder is refused as its signature would be; `refusal` is what this operation answers then. `own` is the context of the
 * holder, which the operation reads with.
 */
export async function requireTokenCaller<C extends Context>(
  ctx: C,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: HolderRefusal = {},
): Promise<TokenCaller & { own: C }> {
  const address = addressOf(request);
  const caller = await authenticateToken(ctx, bearerToken(request.headers.authorization), address);
  request.logged.client_id = caller.integration.clientId;
  request.logged.key_id = String(caller.key.id);
  request.logged.token_id = String(caller.tokenId);
  request.admitCaller(caller.integration.clientId);
  limitRate(ctx, caller.integration, { setHeaders: (headers) => void reply.headers(headers) });
  requireScope(caller.key, routeOf(request));
  refuseInactiveHolder(ctx, caller.integration.holderStatus, refusal);
  return { ...caller, own: forHolder(ctx, caller.integration.holderId) };
}

/** The integration that the request's bearer token belongs to, after the same checks. */
export async function requireToken<C extends Context>(
  ctx: C,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: HolderRefusal = {},
): Promise<{ integration: LiveIntegration; own: C }> {
  return requireTokenCaller(ctx, request, reply, refusal);
}
