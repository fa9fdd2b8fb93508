// The two operations about credentials: exchange them for a token, and sign an envelope.

import { createHmac } from 'node:crypto';
import { isoMicroseconds } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import { randomSecret } from '../platform/ids.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createReader, refuse } from '../platform/validation.ts';
import { requireToken } from './authentication.ts';
import { canonicalEnvelope } from './envelope.ts';
import type { LiveIntegration } from './integrations.ts';
import { SignatureAnswer, SignatureRequest, TokenAnswer, TokenRequest } from './schemas.ts';
import { exchangeCredentials } from './tokens.ts';

const tokenRequest = createReader(TokenRequest);
const signatureRequest = createReader(SignatureRequest);

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
      const { client_id, secret_key } = tokenRequest.require(request.body);
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
      const { integration, own } = await requireToken(ctx, request, reply);
      return {
        success: true,
        message: 'Signature generated.',
        data: signFor(own, integration, request.body),
      };
    },
  );
}

/** Signs an envelope with the newest secret of the integration. Signing does not spend the signature. */
function signFor(ctx: Context, integration: LiveIntegration, body: unknown): JsonObject {
  const { fields, errors, hasErrors } = signatureRequest.read(body);
  if (errors.body) throw refuse(errors);
  if (fields.client_id !== integration.clientId) throw new Problem('integration_not_found');
  if (fields.sender !== integration.title) throw new Problem('client_mismatch');
  if (hasErrors()) throw refuse(errors, { code: 'invalid_envelope' });
  const key = integration.apiKeys[0];
  if (!key) throw new Problem('integration_not_found');
  // Members that the schema does not know are signed too.
  const { signature: _, ...rest } = body as JsonObject;
  const timestamp = fields.timestamp ?? Math.floor(ctx.clock.millis() / 1000);
  const salt = fields.salt ?? randomSecret(16);
  const unsigned: JsonObject = { ...rest, timestamp, salt };
  const signature = createHmac('sha256', key).update(canonicalEnvelope(unsigned)).digest('hex');
  return { signature, timestamp, salt, envelope: { ...unsigned, signature } };
}
