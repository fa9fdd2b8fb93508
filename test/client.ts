// A caller of the API in tests: an integration that signs what it sends, and answers read as JSON.

import type { HttpServer } from '../src/platform/http.ts';
import type { JsonObject, JsonValue } from '../src/platform/strict-json.ts';
import type { TestGateway } from './gateway.ts';
import { createShop, type Shop, signBody } from './shop.ts';

export const PATHS = {
  collect: '/api/v3/service-unified-collections',
  verify: '/api/v3/service-unified-collections/verify',
  resend: '/api/v3/service-unified-collections/resend',
  statusV2: '/api/v2/get-unified-transaction-status',
  statusV3: '/api/v3/get-unified-transaction-status',
  balance: '/api/v3/get-unified-balance',
  createLink: '/api/v3/payment-link-api/create',
  listLinks: '/api/payment-link-api/list',
  token: '/api/integration/get-token',
  sign: '/api/service-signature',
  countries: '/api/v3/countries',
  preflight: '/api/v3/preflight',
  events: '/api/v3/events',
} as const;

export type Reply = { status: number; headers: Record<string, unknown>; body: JsonObject; data: JsonObject };

export type Client = {
  readonly shop: Shop;
  /** Signs the params and sends them. `changes` are made before signing. */
  signed(path: string, params?: JsonObject, headers?: Record<string, string>, changes?: JsonObject): Promise<Reply>;
  /** Sends a body as it is. */
  post(path: string, body: JsonValue, headers?: Record<string, string>): Promise<Reply>;
  /** With a bearer token of the integration. */
  get(path: string): Promise<Reply>;
  postWithToken(path: string, body: JsonValue): Promise<Reply>;
  envelope(params?: JsonObject, changes?: JsonObject): JsonObject & { signature: string };
  token(): Promise<string>;
};

export async function createClient(world: TestGateway, name = 'Test shop'): Promise<Client> {
  return clientOf(world, await createShop(world.ctx, name));
}

export function clientOf(world: TestGateway, shop: Shop): Client {
  const { app, ctx } = world;
  let token: string | null = null;
  const envelope: Client['envelope'] = (params = {}, changes = {}) =>
    signBody(shop, ctx.clock.millis(), params, changes);
  const client: Client = {
    shop,
    envelope,
    signed: (path, params, headers = {}, changes) => send(app, 'POST', path, envelope(params, changes), headers),
    post: (path, body, headers = {}) => send(app, 'POST', path, body, headers),
    get: async (path) => send(app, 'GET', path, undefined, { authorization: `Bearer ${await client.token()}` }),
    postWithToken: async (path, body) =>
      send(app, 'POST', path, body, { authorization: `Bearer ${await client.token()}` }),
    async token() {
      token ??= String(
        (await send(app, 'POST', PATHS.token, { client_id: shop.clientId, secret_key: shop.secretKey })).data.token,
      );
      return token;
    },
  };
  return client;
}

export async function send(
  app: HttpServer,
  method: 'GET' | 'POST',
  url: string,
  body?: JsonValue,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const reply = await app.inject({
    method,
    url,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const parsed = reply.json() as JsonObject;
  return { status: reply.statusCode, headers: reply.headers, body: parsed, data: (parsed.data ?? {}) as JsonObject };
}

/** The same collection everywhere: 2,500 shillings from an MTN wallet in Uganda. */
export function ugandanCollection(lastDigits = '000', changes: JsonObject = {}): JsonObject {
  return { amount: 2500, mobile: `256772123${lastDigits}`, country_id: 11, currency: 'UGX', ...changes };
}
