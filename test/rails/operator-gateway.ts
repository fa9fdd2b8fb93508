// A gateway in this process with one connection, to a simulated operator: real routes, real engine, real database, callbacks over
// HTTP. Its clock is virtual, and the simulator's too, so that a day without an answer takes a second.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import type { Method } from '../../src/catalog/catalog.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { completeOrder } from '../../src/payments/collections.ts';
import { createConnection, routeConnection } from '../../src/payments/connection-changes.ts';
import { readPayout } from '../../src/payments/payout-requests.ts';
import { orderPayouts } from '../../src/payments/payouts.ts';
import { createRefund } from '../../src/payments/refunds.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import { isFinal } from '../../src/payments/states.ts';
import { findTransaction, refOf, type Transaction } from '../../src/payments/transactions.ts';
import type { Context } from '../../src/platform/context.ts';
import { createLogger } from '../../src/platform/log.ts';
import { formatAmount } from '../../src/platform/money.ts';
import { callbackAddressesOf, dashboardAddress } from '../../src/rails/callback-addresses.ts';
import type { MoneyDirection } from '../../src/rails/rail.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop, type Shop } from '../shop.ts';
import type { OperatorUnderTest } from './operators.ts';
import { type SeenFields, watchFields } from './seen-fields.ts';

const CALL_TIMEOUT_MS = 1_200;
/** Longer than a call may take. */
const SLOW_MS = 1_500;
const CALLBACK_LATE_MS = 60;
const WALLET = 100_000_000_00n;
const REAL_PAUSE_MS = 12;
const SECOND = 1_000;
/** The clock of a payment that nobody answers: close together at first, as the gateway asks, then by the hour beyond a day. */
const TIMES_MS = [
  ...[0, 0, 0, 5, 5, 10, 20, 40, 60, 120, 300, 300, 600, 1_800].map((seconds) => seconds * SECOND),
  ...Array.from({ length: 14 }, () => 2 * 3_600 * SECOND),
];

export type OperatorGateway = {
  readonly operator: OperatorUnderTest;
  readonly gateway: TestGateway;
  readonly simulator: RunningSimulator;
  readonly shop: Shop;
  readonly method: Method;
  /** Which ways money can move here. A refund may be one that the operator knows as a payout. */
  readonly directions: readonly MoneyDirection[];
  /** Names of the fields in answers and callbacks so far. */
  readonly fields: SeenFields;
  readonly log: () => string;
  collect(amount: bigint, msisdn?: string): Promise<Transaction>;
  payOut(amount: bigint, msisdn?: string): Promise<Transaction>;
  refund(collection: Transaction, amount: bigint): Promise<Transaction>;
  read(transaction: Transaction): Promise<Transaction>;
  /** Runs the clock until the transaction has ended, or for more than a day. */
  untilEnded(transaction: Transaction): Promise<Transaction>;
  /** Lets everything arrive that is under way now. */
  settle(): Promise<void>;
  close(): Promise<void>;
};

export async function openOperatorGateway(operator: OperatorUnderTest, seed = 1): Promise<OperatorGateway> {
  const lines: string[] = [];
  const log = createLogger('debug', { write: (line) => void lines.push(line) });
  const gateway = await createTestGateway({}, { railTimeoutMs: CALL_TIMEOUT_MS }, undefined, log);
  const { ctx, services } = gateway;
  const fields = watchFields(operator.createSimulator);
  const simulator = await startSimulator(fields.createSimulator, {
    settings: operator.simulatorSettings,
    now: () => ctx.clock.millis(),
    slowMs: SLOW_MS,
    callbackLateMs: CALLBACK_LATE_MS,
    openingBalance: WALLET,
    seed,
  });
  const shop = await createShop(ctx);
  const method = ctx.catalog.methods.get(operator.method) ?? assert.fail(`no method ${operator.method}`);
  const { name } = await createConnection(ctx, COMMAND_LINE, {
    name: operator.name,
    rail: operator.rail.name,
    environment: 'simulator',
    baseUrl: simulator.url,
    values: operator.connectionValues,
  });
  await routeConnection(ctx, COMMAND_LINE, name);
  if (operator.registerAction)
    await simulator.act(operator.registerAction, { url: dashboardAddress(callbackAddressesOf(ctx, name)) });
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, method.currency, WALLET);
  const rail = ctx.rails.byName(name) ?? assert.fail(`${name} is not open`);
  // Registers our addresses where the operator wants that.
  await rail.check();
  const collections = rail.capabilitiesOf(method, 'collection') ?? assert.fail(`${name} does not collect`);
  const canPayOut = rail.capabilitiesOf(method, 'payout') !== null;
  const canRefund = canPayOut || collections.refunds !== 'none';
  const read = async ({ holder_id, id }: Transaction) =>
    (await findTransaction(ctx.db, holder_id, id)) ?? assert.fail();

  async function settle(): Promise<void> {
    await gateway.settle();
    await pause(REAL_PAUSE_MS);
    await gateway.settle();
  }

  return {
    operator,
    gateway,
    simulator,
    shop,
    method,
    directions: ['collection', ...(canPayOut ? ['payout' as const] : []), ...(canRefund ? ['refund' as const] : [])],
    fields,
    log: () => lines.join(''),
    async collect(amount, msisdn = operator.msisdn) {
      const order = await completeOrder(
        ctx,
        { method, msisdn, amount },
        {
          holderId: shop.holderId,
          integrationId: shop.id,
          countryId: method.country.id,
          detail: '',
          reference1: null,
          reference2: null,
          callbackUrl: null,
          linkId: null,
        },
      );
      const acceptance = await services.payments.collections.accept(order, null);
      return acceptance.kind === 'accepted' ? acceptance.transaction : assert.fail(acceptance.kind);
    },
    async payOut(amount, msisdn = operator.msisdn) {
      const request = { amount: formatAmount(amount), currency: method.currency, mobile: msisdn, method: method.code };
      const reading = await readPayout(ctx, shop.holderId, request);
      if (!reading.ok) return assert.fail(JSON.stringify(reading.errors));
      const orders = [{ ...reading.order, payee: 'Ama Owusu' }];
      const [result] = await orderPayouts(ctx, services.payments.engine, COMMAND_LINE, shop.holderId, orders);
      return result?.ok ? result.transaction : assert.fail(JSON.stringify(result));
    },
    refund: (collection, amount) =>
      createRefund(ctx, services.payments.engine, COMMAND_LINE, shop.holderId, {
        collection: refOf(collection),
        amount,
        asPayout: collections.refunds === 'none',
      }),
    read,
    async untilEnded(transaction) {
      for (const milliseconds of TIMES_MS) {
        ctx.clock.advance(milliseconds);
        await settle();
        await openPage(ctx, transaction);
        const now = await read(transaction);
        if (isFinal(now.status)) return now;
      }
      return read(transaction);
    },
    settle,
    async close() {
      await simulator.close();
      await gateway.close();
    },
  };
}

/** The payer opens the page of the operator, or scans its QR code, where that is the next step. */
async function openPage({ db }: Pick<Context, 'db'>, { holder_id, id }: Pick<Transaction, 'holder_id' | 'id'>) {
  const [row] = await db.query<{ step: { kind: string; url?: string; content?: string } }>(
    'select step from payer_steps where holder_id = $1 and transaction_id = $2',
    [holder_id, id],
  );
  const address = row?.step.kind === 'redirect' ? row.step.url : row?.step.kind === 'qr' ? row.step.content : null;
  if (address && URL.canParse(address)) await fetch(address).then((page) => page.text());
}
