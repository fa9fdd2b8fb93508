// A client of the API for tests: signs its requests as an integration and reads the answers as JSON.

import { setTimeout } from 'node:timers/promises';
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
  refund: '/api/v3/service-unified-refunds',
  refundStatus: '/api/v3/get-unified-refund-status',
  createLink: '/api/v3/payment-link-api/create',
  listLinks: '/api/payment-link-api/list',
  token: '/api/integration/get-token',
  sign: '/api/service-signature',
  countries: '/api/v3/countries',
  preflight: '/api/v3/preflight',
  events: '/api/v3/events',
  tokens: '/api/v3/tokens',
} as const;

const FEED_TRIES = 500;
const FEED_PAUSE_MS = 10;
/** A test that moves the clock by more than a day gets a new token. */
const TOKEN_KEPT_MS = 24 * 3_600_000;

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
  deleteWithToken(path: string): Promise<Reply>;
  envelope(params?: JsonObject, changes?: JsonObject): JsonObject & { signature: string };
  token(): Promise<string>;
};

export async function createClient(gateway: TestGateway, name = 'Test shop'): Promise<Client> {
  return clientOf(gateway, await createShop(gateway.ctx, name));
}

export function clientOf(gateway: TestGateway, shop: Shop): Client {
  const { app, ctx } = gateway;
  let token: { text: string; at: number } | null = null;
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
    deleteWithToken: async (path) =>
      send(app, 'DELETE', path, undefined, { authorization: `Bearer ${await client.token()}` }),
    async token() {
      const now = ctx.clock.millis();
      if (token && now - token.at <= TOKEN_KEPT_MS) return token.text;
      const credentials = { client_id: shop.clientId, secret_key: shop.secretKey };
      token = { text: textOf((await send(app, 'POST', PATHS.token, credentials)).data.token), at: now };
      return token.text;
    },
  };
  return client;
}

export async function send(
  app: HttpServer,
  method: 'GET' | 'POST' | 'DELETE',
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

/** A collection of 2,500 shillings in Kenya, settled; returns its reference. */
export async function collectInKenya(gateway: TestGateway, shop: Shop, changes: JsonObject = {}): Promise<string> {
  const params = { amount: 2500, country_id: 1, currency: 'KES', mobile: '254712345000', ...changes };
  const reply = await clientOf(gateway, shop).signed(PATHS.collect, params);
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  await gateway.settle();
  return textOf(reply.data.ref);
}

/** A value of an answer as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/**
 * The feed once it shows this many events. It holds events back while any older transaction of the whole PostgreSQL is
 * open, and the tests of another file may have one.
 */
export async function readFeed(client: Client, atLeast: number): Promise<JsonObject[]> {
  for (let tries = 0; tries < FEED_TRIES; tries++) {
    const events = (await client.get(PATHS.events)).body.data as JsonObject[];
    if (events.length >= atLeast) return events;
    await setTimeout(FEED_PAUSE_MS);
  }
  throw new Error(`the feed never showed ${atLeast} events`);
}
