// Payments without HTTP: a context with the rail of the test, and collections made in one line.

import { loadCatalog } from '../src/catalog/catalog.ts';
import { type CollectionOrder, createCollectionWriter } from '../src/payments/accept.ts';
import type { PaymentsContext } from '../src/payments/context.ts';
import type { PaymentEngine } from '../src/payments/engine.ts';
import type { Transaction } from '../src/payments/transactions.ts';
import type { Context } from '../src/platform/context.ts';
import { createBreakers } from '../src/rails/breakers.ts';
import type { CallbackReading, CallbackRequest, Rail, RailCapabilities, RailReply } from '../src/rails/rail.ts';
import type { RailRegistry } from '../src/rails/registry.ts';

const CATALOG = loadCatalog();
export const METHOD = 'MTN_MOMO_UGA';
export const CURRENCY = 'UGX';
export const COUNTRY_ID = 11;

export const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 0,
  notFoundIsFinalAfterMs: 0,
  callsPerSecond: null,
  refunds: 'none',
  sendsTokens: true,
  decimals: 2,
};

type RailChanges = Partial<Rail> & {
  /** For every method and direction. */
  capabilities?: RailCapabilities;
};

/** A rail whose calls are never answered; a test replaces the functions that matter to it. */
export function silentRail({ capabilities = CAPABILITIES, ...changes }: RailChanges = {}): Rail {
  const silence = { observation: { state: 'unknown', reason: 'no answer' }, raw: '' } as const;
  return {
    name: 'quiet',
    capabilitiesOf: () => capabilities,
    verificationFor: (method) => method.verification,
    collect: async () => silence,
    payout: async () => silence,
    query: async () => silence,
    sendToken: async () => ({ sent: true, raw: '' }),
    readCallback: () => [{ kind: 'rejected', reason: 'not of this test' }],
    check: async () => [],
    close: async () => undefined,
    ...changes,
  };
}

export function registryOf(ctx: Pick<Context, 'clock'>, rail: Rail): RailRegistry {
  return {
    railFor: () => rail,
    byName: (name) => (name === rail.name ? rail : null),
    names: () => [rail.name],
    matchedCallbacks: () => 'apply',
    keyChangedAt: () => null,
    health: createBreakers(ctx.clock),
    definitions: [],
    refresh: async () => undefined,
    close: () => rail.close(),
  };
}

/** `base` with payments on top, and with new breakers, as a new process has them. */
export function withPayments<C extends Context>(base: C, rail: Rail): C & PaymentsContext {
  return {
    ...base,
    catalog: CATALOG,
    rails: registryOf(base, rail),
    onCollectionsSettled: [],
    onCollectionsReversed: [],
    sendCallbacksNow: () => undefined,
    tellOthers: () => undefined,
    checkCallbackUrl: () => null,
  };
}

export function collectionOrder(
  owner: { holderId: bigint; integrationId: bigint },
  rail: string,
  changes: Partial<CollectionOrder> = {},
): CollectionOrder {
  return {
    holderId: owner.holderId,
    integrationId: owner.integrationId,
    amount: 100_000n,
    fee: 1_000n,
    currency: CURRENCY,
    countryId: COUNTRY_ID,
    method: METHOD,
    rail,
    msisdn: '256772123456',
    detail: '',
    reference1: null,
    reference2: null,
    callbackUrl: null,
    linkId: null,
    verification: 'prompt',
    ...changes,
  };
}

/** Accepts a collection and enqueues it in the engine. */
export async function acceptCollection(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  order: CollectionOrder,
): Promise<Transaction> {
  const acceptance = await createCollectionWriter(ctx, engine).accept(order, null);
  if (acceptance.kind !== 'accepted') throw new Error(`the collection was not accepted: ${acceptance.kind}`);
  return acceptance.transaction;
}

/** The callbacks of a test's operator: what they are to be read as, in JSON with amounts as text. */
export function writeReadings(...readings: object[]): string {
  return JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

export function readReadings({ body }: Pick<CallbackRequest, 'body'>): CallbackReading[] {
  return JSON.parse(body.toString(), (name, value: unknown) =>
    name === 'amount' ? BigInt(String(value)) : value,
  ) as CallbackReading[];
}

/** The answer of an operator to whose till the payer sends the money, within half an hour. */
export function tillReply({ clock }: Pick<Context, 'clock'>, accountReference: string): RailReply {
  const payTo = { kind: 'till', number: '5551234', name: 'Shop', bank: null } as const;
  const expiresAt = new Date(clock.millis() + 1_800_000);
  return { observation: { state: 'pending', step: { kind: 'transfer', payTo, accountReference, expiresAt } }, raw: '' };
}

/** A callback to a connection, as its route hands it over. */
export function operatorMessage(rail: string, body: Buffer | string, changes: Partial<CallbackRequest> = {}) {
  const request: CallbackRequest = {
    method: 'POST',
    host: 'pay.example.com',
    path: `/operators/${rail}`,
    remoteAddress: null,
    headers: {},
    body: Buffer.from(body),
    ...changes,
  };
  return { ...request, rail };
}
