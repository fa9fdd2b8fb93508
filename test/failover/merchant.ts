// Merchants of the gateway: each an integration that signs requests, and a person who orders payouts in the console. Their payments
// go over the operator of the run.

import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { createHolder } from '../../src/holders/holders.ts';
import { createIntegration } from '../../src/holders/integrations.ts';
import { addMember, createSession } from '../../src/holders/members.ts';
import { openPayments } from '../../src/open-payments.ts';
import { createConnection, setRoute } from '../../src/payments/connection-changes.ts';
import type { Context } from '../../src/platform/context.ts';
import { callbackAddressesOf, dashboardAddress } from '../../src/rails/callback-addresses.ts';
import { csrfOf } from '../console-harness.ts';
import type { Shop } from '../shop.ts';
import type { RunningOperator } from './gateway.ts';
import { until } from './processes.ts';
import type { Receiver } from './receiver.ts';

export const CONNECTION = 'operator';
export const CURRENCY = 'UGX';
const METHOD = 'MTN_MOMO_UGA';
const SESSION_MS = 12 * 3_600_000;
const SEEN_MS = 10_000;

export type Merchant = { shop: Shop; holderId: bigint; callbackUrl: string; cookie: string; csrf: string };

/** More than one, as every gateway has: payouts of one wallet wait for each other, and each for the standby. */
const MERCHANTS = 20;

export async function createMerchants(
  ctx: Context,
  gatewayUrl: string,
  operator: RunningOperator,
  receiver: Receiver,
): Promise<Merchant[]> {
  await routeOver(ctx, operator, gatewayUrl);
  const merchants: Merchant[] = [];
  for (let number = 0; number < MERCHANTS; number++)
    merchants.push(await createMerchant(ctx, gatewayUrl, number, receiver));
  return merchants;
}

async function createMerchant(ctx: Context, gatewayUrl: string, number: number, receiver: Receiver): Promise<Merchant> {
  const name = `Shop ${number}`;
  const holder = await createHolder(ctx, COMMAND_LINE, name);
  const callbackUrl = receiver.urlOf(number);
  const shop = await createIntegration(ctx, COMMAND_LINE, holder.id, name, { defaultCallbackUrl: callbackUrl });
  receiver.expect(number, shop.callbackSecret);
  const person = {
    email: `finance-${number}@example.org`,
    name: 'Finance',
    holderId: holder.id,
    role: 'owner' as const,
  };
  const member = await addMember(ctx, COMMAND_LINE, person);
  const { token } = await createSession(ctx, member.id, {
    userAgent: 'failover',
    address: '127.0.0.1',
    holderId: holder.id,
    confirmedUntil: new Date(ctx.clock.millis() + SESSION_MS),
  });
  const cookie = `simbi_session=${token}`;
  const page = await fetch(`${gatewayUrl}/console/payouts/new`, { headers: { cookie }, redirect: 'manual' });
  const csrf = csrfOf(await page.text());
  if (csrf === '') throw new Error(`the console did not show the form of a payout: ${page.status}`);
  return { shop, holderId: holder.id, callbackUrl, cookie, csrf };
}

/** From now on this method's payments go over the operator. */
async function routeOver(ctx: Context, operator: RunningOperator, gatewayUrl: string): Promise<void> {
  const payments = await openPayments(ctx, { sandboxOperatorUrl: () => null, sendCallbacksNow: () => undefined });
  await createConnection(payments.ctx, COMMAND_LINE, {
    name: CONNECTION,
    rail: 'pawapay',
    environment: 'simulator',
    baseUrl: operator.url,
    values: { ...operator.credentials, signed_callbacks: 'yes' },
  });
  for (const direction of ['collection', 'payout'] as const)
    await setRoute(payments.ctx, COMMAND_LINE, {
      holderId: null,
      method: METHOD,
      direction,
      connections: [CONNECTION],
    });
  await payments.close();
  const address = dashboardAddress(callbackAddressesOf(ctx, CONNECTION));
  await operator.sendCallbacksTo(address);
  // A connection that the gateway does not know yet answers 404.
  await until('the gateway knows the connection', SEEN_MS, async () => {
    const path = new URL(address).pathname;
    return (await fetch(`${gatewayUrl}${path}`, { method: 'POST', body: '{}' })).status !== 404;
  });
}
