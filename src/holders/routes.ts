// The operations about credentials: exchange them for a token, list and end tokens, and sign an envelope.

import { isoMicroseconds } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { Problem, suspendedMessage } from '../platform/errors.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import { randomSecret } from '../platform/ids.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createReader, refuse } from '../platform/validation.ts';
import { requireTokenCaller } from './authentication.ts';
import { signatureOf } from './envelope.ts';
import { SignatureAnswer, SignatureRequest, TokenAnswer, TokenRequest } from './schemas.ts';
import { tokenRoutes } from './token-routes.ts';
import { exchangeCredentials, type TokenCaller } from './tokens.ts';

const tokenRequest = createReader(TokenRequest);
const signatureRequest = createReader(SignatureRequest);

/** Of answers that contain a credential. */
const NO_STORE = { 'Cache-Control': 'no-store' };

export function holderRoutes(app: HttpServer, ctx: Context): void {
  getTokenRoute(app, ctx);
  signatureRoute(app, ctx);
  tokenRoutes(app, ctx);
}

function getTokenRoute(app: HttpServer, ctx: Context): void {
  app.post(
    '/api/integration/get-token',
    {
      schema: {
        summary: 'Get token',
        description:
          'Exchanges the credentials of an integration for a bearer token. The token has the scopes of the key that it was made ' +
          'with, works from the same addresses, and ends with it.',
        tags: ['Credentials'],
        operationId: 'getToken',
        body: TokenRequest,
        response: { 200: TokenAnswer },
      },
      config: {
        problems: {
          invalid_params: {},
          credentials_not_verified: {},
          address_not_allowed: {},
          account_not_found: {},
          account_suspended: { message: suspendedMessage(ctx.config) },
        },
      },
    },
    async (request, reply) => {
      void reply.headers(NO_STORE);
      const { client_id, secret_key } = tokenRequest.require(request.body);
      const issued = await exchangeCredentials(ctx, client_id, secret_key, addressOf(request), (known) => {
        request.logged.claimed_client_id = known;
      });
      request.logged.claimed_client_id = undefined;
      request.logged.client_id = client_id;
      return {
        success: true,
        message: 'Credentials verified.',
        data: { token: issued.token, token_type: 'Bearer', expires_at: isoMicroseconds(issued.expiresAt) },
      };
    },
  );
}

function signatureRoute(app: HttpServer, ctx: Context): void {
  app.post(
    '/api/service-signature',
    {
      schema: {
        summary: 'Sign a request',
        description:
          'Signs an envelope for callers that cannot compute an HMAC, with the secret that the token was made with. ' +
          'Signing does not use the signature up; sending it does.',
        tags: ['Credentials'],
        operationId: 'createSignature',
        body: SignatureRequest,
        security: [{ bearerAuth: [] }],
        response: { 200: SignatureAnswer },
      },
      config: {
        problems: { invalid_envelope: {}, integration_not_found: {}, client_mismatch: {}, timestamp_out_of_range: {} },
      },
    },
    async (request, reply) => {
      void reply.headers(NO_STORE);
      const caller = await requireTokenCaller(ctx, request, reply);
      return {
        success: true,
        message: 'Signature generated.',
        data: signFor(caller.own, caller, request.body),
      };
    },
  );
}

/** Signs an envelope with the secret that the token was made with. Signing does not spend the signature. */
function signFor(ctx: Context, { integration, key }: TokenCaller, body: unknown): JsonObject {
  const { fields, errors, hasErrors } = signatureRequest.read(body);
  if (hasErrors()) throw refuse(errors, { code: 'invalid_envelope' });
  if (fields.client_id !== integration.clientId) throw new Problem('integration_not_found');
  if (fields.sender !== integration.title) throw new Problem('client_mismatch');
  // Members that the schema does not know are signed too.
  const { signature: _, ...rest } = body as JsonObject;
  const now = Math.floor(ctx.clock.millis() / 1000);
  const timestamp = fields.timestamp ?? now;
  // A stolen token could otherwise sign for later: such a request would work long after the token was revoked.
  if (timestamp > now + ctx.config.signatureToleranceSeconds) throw new Problem('timestamp_out_of_range');
  const salt = fields.salt ?? randomSecret(16);
  const unsigned: JsonObject = { ...rest, timestamp, salt };
  const signature = signatureOf(key.secret, unsigned);
  return { signature, timestamp, salt, envelope: { ...unsigned, signature } };
}
