// The two operations about credentials (token, signature), and what other modules' routes use to know
// their caller: a signed envelope or a bearer token.

import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isoMicroseconds } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import { randomSecret } from '../platform/ids.ts';
import type { JsonObject, JsonValue } from '../platform/strict-json.ts';
import { canonicalEnvelope, limitRate, type SignedCall } from './envelope.ts';
import type { LiveIntegration } from './integrations.ts';
import { SignatureAnswer, SignatureRequest, TokenAnswer, TokenRequest } from './schemas.ts';
import { authenticateToken, bearerToken, exchangeCredentials } from './tokens.ts';

const MAX_CREDENTIAL_CHARACTERS = 256;

/** What `handleSigned` needs of a request. */
export function signedCall(request: FastifyRequest, reply: FastifyReply): SignedCall {
  return {
    body: request.body as JsonValue,
    address: addressOf(request),
    logged: request.logged,
    setHeaders: (headers) => void reply.headers(headers),
  };
}

/** The integration that a bearer token belongs to, within its rate limit. */
export async function requireToken(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<LiveIntegration> {
  const integration = await authenticateToken(ctx, bearerToken(request.headers.authorization));
  request.logged.client_id = integration.clientId;
  limitRate(ctx, integration, { setHeaders: (headers) => void reply.headers(headers) });
  return integration;
}

export function holderRoutes(app: HttpServer, ctx: Context): void {
  app.post(
    '/api/integration/get-token',
    {
      schema: {
        summary: 'Get token',
        description: 'Exchanges the credentials of an integration for a bearer token.',
        tags: ['Credentials'],
        operationId: 'getToken',
        body: TokenRequest,
        response: { 200: TokenAnswer },
      },
      config: { problems: { invalid_params: {}, credentials_not_verified: {} } },
    },
    async (request) => {
      const body = objectBody(request.body);
      const faults = collectFieldErrors();
      for (const name of ['client_id', 'secret_key']) {
        const value = body[name];
        if (typeof value !== 'string' || value === '') faults.add(name, `${name} is required and must be a string.`);
        else if (value.length > MAX_CREDENTIAL_CHARACTERS)
          faults.add(name, `${name} may have at most ${MAX_CREDENTIAL_CHARACTERS} characters.`);
      }
      if (faults.any()) throw new Problem('invalid_params', { errors: faults.errors });
      const { client_id, secret_key } = body as { client_id: string; secret_key: string };
      const issued = await exchangeCredentials(ctx, client_id, secret_key, addressOf(request));
      request.logged.client_id = client_id;
      return {
        success: true,
        message: 'Credentials verified.',
        data: { token: issued.token, token_type: 'Bearer', expires_at: isoMicroseconds(issued.expiresAt) },
      };
    },
  );

  app.post(
    '/api/service-signature',
    {
      schema: {
        summary: 'Sign a request',
        description:
          'Signs an envelope for callers that cannot compute an HMAC. Signing does not use the signature up; sending it does.',
        tags: ['Credentials'],
        operationId: 'createSignature',
        body: SignatureRequest,
        security: [{ bearerAuth: [] }],
        response: { 200: SignatureAnswer },
      },
      config: { problems: { invalid_envelope: {}, integration_not_found: {}, client_mismatch: {} } },
    },
    async (request, reply) => {
      const integration = await requireToken(ctx, request, reply);
      return {
        success: true,
        message: 'Signature generated.',
        data: signFor(ctx, integration, objectBody(request.body)),
      };
    },
  );
}

/** Signs an envelope with the newest secret of the integration. Signing does not spend the signature. */
function signFor(ctx: Context, integration: LiveIntegration, body: JsonObject): JsonObject {
  if (body.client_id !== integration.clientId) throw new Problem('integration_not_found');
  if (body.sender !== integration.title) throw new Problem('client_mismatch');
  const faults = collectFieldErrors();
  const timestamp = body.timestamp ?? Math.floor(ctx.clock.millis() / 1000);
  if (typeof timestamp !== 'number' || !Number.isInteger(timestamp))
    faults.add('timestamp', 'timestamp must be an integer: Unix time in seconds.');
  const salt = body.salt ?? randomSecret(16);
  if (typeof salt !== 'string' || salt === '' || salt.length > 128)
    faults.add('salt', 'salt must be a string of 1 to 128 characters.');
  const params = body.params;
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    faults.add('params', 'params must be an object.');
  if (faults.any()) throw new Problem('invalid_envelope', { errors: faults.errors });
  const key = integration.apiKeys[0];
  if (!key) throw new Problem('integration_not_found');
  const { signature: _, ...rest } = body;
  const unsigned = { ...rest, timestamp, salt } as JsonObject;
  const signature = createHmac('sha256', key).update(canonicalEnvelope(unsigned)).digest('hex');
  return {
    signature,
    timestamp: unsigned.timestamp ?? null,
    salt: unsigned.salt ?? null,
    envelope: { ...unsigned, signature },
  };
}

function objectBody(body: unknown): JsonObject {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Problem('invalid_params', { errors: { body: ['The body must be a JSON object.'] } });
  return body as JsonObject;
}
