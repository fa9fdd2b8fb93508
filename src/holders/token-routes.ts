// The operations about live tokens: list them and end one. A token sees the tokens of its own key and no others, so that a
// program with a restricted key cannot end those of another program.

import Type from 'typebox';
import { answerOf, moment, nullable } from '../platform/api-schemas.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { HttpServer } from '../platform/http.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { convertQuery, createReader } from '../platform/validation.ts';
import { requireTokenCaller } from './authentication.ts';
import { type ListedToken, listTokens, MAX_TOKENS_LISTED, revokeToken, type TokenCaller } from './tokens.ts';

const DEFAULT_LIMIT = 100;
const tags = ['Credentials'];
const security = [{ bearerAuth: [] }];

const ListTokensQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TOKENS_LISTED,
      description: `Tokens in one answer; ${DEFAULT_LIMIT} by default.`,
    }),
  ),
  cursor: Type.Optional(Type.Integer({ minimum: 1, description: '`meta.next_cursor` of the page before.' })),
});
const TokenParams = Type.Object({
  id: Type.Integer({ minimum: 1, description: 'The number before the bar of a token.' }),
});
const listTokensQuery = createReader(ListTokensQuery);
const tokenParams = createReader(TokenParams);

const TokenSchema = Type.Object({
  id: Type.Integer({ description: 'The number before the bar of the token.' }),
  key: Type.String({ description: 'Name of the key that it was made with.' }),
  secret_id: Type.Integer({ description: 'The secret of the key that it was made with. A rotation makes a new one.' }),
  current: Type.Boolean({ description: 'Whether it is the token of this request.' }),
  created_at: moment('When it was made.'),
  expires_at: moment('When it stops working by itself.'),
  last_used_at: nullable(moment('When it was last used, to the minute.')),
  address: Type.String({ description: 'Address that asked for it.' }),
  last_address: nullable(Type.String(), 'Address that used it last.'),
});

const ListTokensAnswer = Type.Object(
  {
    success: Type.Boolean(),
    message: Type.String(),
    data: Type.Array(TokenSchema),
    meta: Type.Object({
      next_cursor: nullable(Type.Integer(), 'Give it as `cursor` for the next page. Null: the end.'),
    }),
  },
  { description: 'Success.' },
);
const RevokeTokenAnswer = answerOf(
  Type.Object({ id: Type.Integer(), revoked_at: moment('From then on it does not work.') }),
  'Token revoked.',
  { id: 17, revoked_at: '2026-03-02T09:00:00.000000Z' },
);

export function tokenRoutes(app: HttpServer, ctx: Context): void {
  listRoute(app, ctx);
  revokeRoute(app, ctx);
}

function ownerOf({ integration, key }: TokenCaller) {
  return { holderId: integration.holderId, integrationId: integration.id, key: key.name };
}

function listRoute(app: HttpServer, ctx: Context): void {
  app.get(
    '/api/v3/tokens',
    {
      schema: {
        summary: 'List tokens',
        description: 'Live tokens that were made with the same key, the newest first.',
        tags,
        operationId: 'listTokens',
        querystring: ListTokensQuery,
        security,
        response: { 200: ListTokensAnswer },
      },
      config: { problems: { invalid_params: {} } },
    },
    async (request, reply) => {
      void reply.header('Cache-Control', 'no-store');
      const caller = await requireTokenCaller(ctx, request, reply);
      const { limit = DEFAULT_LIMIT, cursor } = listTokensQuery.require(convertQuery(ListTokensQuery, request.query));
      const before = cursor === undefined ? undefined : BigInt(cursor);
      // One more than is shown: it tells whether another page follows.
      const found = await listTokens(ctx.db, ownerOf(caller), { now: ctx.clock.now(), limit: limit + 1, before });
      const tokens = found.slice(0, limit);
      return {
        success: true,
        message: 'Tokens retrieved.',
        data: tokens.map((token) => tokenRecord(token, caller.tokenId)),
        meta: { next_cursor: found.length > limit ? Number(tokens.at(-1)?.id) : null },
      };
    },
  );
}

function tokenRecord(token: ListedToken, currentId: bigint): JsonObject {
  return {
    id: Number(token.id),
    key: token.key,
    secret_id: Number(token.secret_id),
    current: token.id === currentId,
    created_at: isoMicroseconds(token.created_at),
    expires_at: isoMicroseconds(token.expires_at),
    last_used_at: token.last_used_at && isoMicroseconds(token.last_used_at),
    address: token.address,
    last_address: token.last_address,
  };
}

function revokeRoute(app: HttpServer, ctx: Context): void {
  app.delete(
    '/api/v3/tokens/:id',
    {
      schema: {
        summary: 'Revoke a token',
        description: 'Ends a live token that was made with the same key; this request’s own too.',
        tags,
        operationId: 'revokeToken',
        params: TokenParams,
        security,
        response: { 200: RevokeTokenAnswer },
      },
      config: {
        problems: {
          invalid_params: {},
          not_found: { message: 'There is no live token 17: it expired or was revoked.' },
        },
      },
    },
    async (request, reply) => {
      const caller = await requireTokenCaller(ctx, request, reply);
      const { id } = tokenParams.require(convertQuery(TokenParams, request.params));
      const actor = { memberId: null, name: `integration ${caller.integration.title}` };
      const { at } = await revokeToken(ctx, actor, BigInt(id), ownerOf(caller));
      return { success: true, message: 'Token revoked.', data: { id, revoked_at: isoMicroseconds(at) } };
    },
  );
}
