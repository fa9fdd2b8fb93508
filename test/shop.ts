// A holder with an integration (the shop), and requests signed by it.

import { createHmac } from 'node:crypto';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { signedCall } from '../src/holders/authentication.ts';
import { canonicalEnvelope, handleSigned, type OperationMessages, spendOrRefuse } from '../src/holders/envelope.ts';
import { createHolder } from '../src/holders/holders.ts';
import { type CreatedIntegration, createIntegration } from '../src/holders/integrations.ts';
import { exchangeCredentials } from '../src/holders/tokens.ts';
import type { Context } from '../src/platform/context.ts';
import type { HttpServer } from '../src/platform/http.ts';
import { randomSecret } from '../src/platform/ids.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';

export type Shop = CreatedIntegration;

export async function createShop(ctx: Context, name = 'Test shop'): Promise<Shop> {
  const holder = await createHolder(ctx, COMMAND_LINE, name);
  return await createIntegration(ctx, COMMAND_LINE, holder.id, name);
}

/** A token that the shop's secret_key buys. */
export async function tokenOf(ctx: Context, shop: Pick<Shop, 'clientId' | 'secretKey'>): Promise<string> {
  return (await exchangeCredentials(ctx, shop.clientId, shop.secretKey, '127.0.0.1')).token;
}

/** A complete body. `changes` are made before it is signed. */
export function signBody(
  shop: Pick<Shop, 'clientId' | 'title' | 'secretKey'>,
  millis: number,
  params: JsonObject = {},
  changes: JsonObject = {},
): JsonObject & { signature: string } {
  const body: JsonObject = {
    client_id: shop.clientId,
    sender: shop.title,
    timestamp: Math.floor(millis / 1000),
    salt: randomSecret(12),
    params,
    ...changes,
  };
  return { ...body, signature: createHmac('sha256', shop.secretKey).update(canonicalEnvelope(body)).digest('hex') };
}

export const PROBE_MESSAGES: OperationMessages = {
  badParams: 'Bad params.',
  integrationNotFound: 'Entity integration record not found',
  clientMismatch: 'Client id not matched',
  notVerified: 'Request was not verified.',
  accountClosed: 'User not found!',
  accountSuspended: 'Service user not found',
};

/** A signed operation that only reads: it answers the params it was given. */
export function probeRoute(app: HttpServer, ctx: Context): void {
  app.post('/probe', (request, reply) =>
    handleSigned(ctx, PROBE_MESSAGES, signedCall(request, reply), async (signed) => {
      await spendOrRefuse(ctx, PROBE_MESSAGES, signed);
      return { success: true, message: 'Probed.', data: signed.params };
    }),
  );
}
