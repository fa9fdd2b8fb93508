// For tests of payment links: a context for payments, a holder with an integration, and an HTTP server of link routes.

import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { loadCatalog } from '../src/catalog/catalog.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { signatureOf } from '../src/holders/envelope.ts';
import { createHolder } from '../src/holders/holders.ts';
import { type CreatedIntegration, createIntegration } from '../src/holders/integrations.ts';
import { linkRoutes } from '../src/links/routes.ts';
import type { PaymentsContext } from '../src/payments/context.ts';
import type { Environment } from '../src/platform/config.ts';
import { createHttpServer, type HttpServer } from '../src/platform/http.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { createRails } from '../src/rails/registry.ts';
import { createTestContext, type TestContext } from './harness.ts';
import { tokenOf } from './shop.ts';

export const CREATE_PATH = '/api/v3/payment-link-api/create';
export const LIST_PATH = '/api/payment-link-api/list';

export type LinksHarness = {
  ctx: PaymentsContext & TestContext;
  app: HttpServer;
  shop: CreatedIntegration;
  newShop(name: string): Promise<CreatedIntegration>;
  envelope(params: JsonObject, by?: CreatedIntegration): JsonObject;
  post(body: JsonObject, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  create(params: JsonObject, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  list(query?: string, by?: CreatedIntegration): Promise<LightMyRequestResponse>;
  token(by?: CreatedIntegration): Promise<string>;
  countLinks(): Promise<number>;
  close(): Promise<void>;
};

export async function createLinksHarness(settings: Environment = {}): Promise<LinksHarness> {
  const base = await createTestContext({
    PUBLIC_URL: 'https://pay.example.org',
    RATE_LIMIT_PER_SECOND: '0',
    ...settings,
  });
  const rails = createRails(base, { sandboxOperatorUrl: () => null });
  const ctx: LinksHarness['ctx'] = {
    ...base,
    catalog: loadCatalog(),
    rails,
    onCollectionsSettled: [],
    onCollectionsReversed: [],
    sendCallbacksNow: () => undefined,
    tellOthers: () => undefined,
    checkCallbackUrl: (url) => (url.includes('refused') ? 'This address is refused.' : null),
  };
  const app = createHttpServer(ctx);
  linkRoutes(app, ctx);
  const newShop = async (name: string) =>
    createIntegration(ctx, COMMAND_LINE, (await createHolder(ctx, COMMAND_LINE, name)).id, name);
  const shop = await newShop('Shop');
  const token = (by = shop) => tokenOf(ctx, by);
  const envelope = (params: JsonObject, by = shop): JsonObject => {
    const unsigned = {
      client_id: by.clientId,
      sender: by.title,
      timestamp: Math.floor(ctx.clock.millis() / 1000),
      salt: randomBytes(8).toString('hex'),
      params,
    };
    return { ...unsigned, signature: signatureOf(by.secretKey, unsigned) };
  };
  const post: LinksHarness['post'] = (body, headers = {}) =>
    app.inject({
      method: 'POST',
      url: CREATE_PATH,
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    });
  return {
    ctx,
    app,
    shop,
    newShop,
    envelope,
    post,
    token,
    create: (params, headers) => post(envelope(params), headers),
    list: async (query = '', by = shop) =>
      app.inject({ url: LIST_PATH + query, headers: { authorization: `Bearer ${await token(by)}` } }),
    async countLinks() {
      const [row] = await ctx.db.query<{ count: bigint }>('select count(*) from payment_links');
      return Number(row?.count);
    },
    async close() {
      await app.close();
      await rails.close();
      await base.close();
    },
  };
}
