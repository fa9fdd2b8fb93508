// A gateway with a past: payments, payouts, refunds, debts and money in suspense, in every state that they can be in.

import assert from 'node:assert/strict';
import { BOOKS_CHECKS } from '../src/books/books-checks.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import type { CollectionOrder } from '../src/payments/accept.ts';
import type { PaymentsContext } from '../src/payments/context.ts';
import { openDispute } from '../src/payments/disputes.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { createOperatorInbox } from '../src/payments/operator-callbacks.ts';
import { applyOutcomes } from '../src/payments/outcomes.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { createRefund } from '../src/payments/refunds.ts';
import { setReserveRule } from '../src/payments/rolling-reserve.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refOf, type Transaction } from '../src/payments/transactions.ts';
import { verifyBooks } from '../src/payments/verify-books.ts';
import { addVerifyRun, type Finding } from '../src/payments/verify-runs.ts';
import { createUuid } from '../src/platform/ids.ts';
import type { Observation } from '../src/rails/rail.ts';
import type { TestContext } from './harness.ts';
import {
  acceptCollection,
  CAPABILITIES,
  CURRENCY,
  collectionOrder,
  operatorMessage,
  readReadings,
  silentRail,
  tillReply,
  withPayments,
} from './payments.ts';
import { createShop, type Shop } from './shop.ts';

const FAILED: Observation = { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '7', message: '' };
const EXPIRED: Observation = { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' };
const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };

/** Every transaction has a receipt of its own. */
export const paid = ({ id }: { id: string }): Observation => ({ state: 'succeeded', receipt: `R-${id}` });
const reversed = ({ id }: { id: string }): Observation => ({
  state: 'reversed',
  receipt: `R-${id}`,
  rawCode: '',
  message: '',
});

export type Books = {
  readonly shop: Shop;
  readonly debtor: Shop;
  readonly collect: (changes?: Partial<CollectionOrder>, of?: Shop) => Promise<Transaction>;
  readonly payOut: (amount: string, of?: Shop) => Promise<Transaction>;
  readonly refund: (collection: Transaction, amount: bigint | null) => Promise<Transaction>;
  readonly see: (transaction: { id: string }, ...observations: Observation[]) => Promise<void>;
  /** Money that a payer sent to us by itself. */
  readonly receive: (accountReference: string, amount: bigint, receipt: string) => Promise<void>;
};

/** A gateway in which nothing happens but what its functions do. `base` needs ROLE=api. */
export async function openBooks(base: TestContext): Promise<Books> {
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, refunds: 'partial' },
    refund: async () => ({ observation: UNKNOWN, raw: '' }),
    readCallback: readReadings,
  });
  const ctx = withPayments(base, rail);
  const engine: PaymentEngine = { ...createPaymentEngine(ctx), pass: async () => 0, wake: () => undefined };
  const inbox = createOperatorInbox(ctx);
  const shop = await createShop(ctx);
  const debtor = await createShop(ctx, 'Debtor');
  return {
    shop,
    debtor,
    collect: (changes = {}, of = shop) =>
      acceptCollection(ctx, engine, collectionOrder({ holderId: of.holderId, integrationId: of.id }, 'quiet', changes)),
    async payOut(amount, of = shop) {
      const reading = await readPayout(ctx, of.holderId, { amount, currency: CURRENCY, mobile: '256772123456' });
      assert.ok(reading.ok);
      const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, of.holderId, [reading.order]);
      assert.ok(result?.ok);
      return result.transaction;
    },
    refund: (collection, amount) =>
      createRefund(ctx, engine, COMMAND_LINE, collection.holder_id, { collection: refOf(collection), amount }),
    async see({ id }, ...observations) {
      for (const observation of observations) {
        base.clock.advance(1_000);
        await ctx.db.transaction((tx) =>
          applyOutcomes(tx, ctx, [{ transactionId: id, source: 'callback', observation, raw: '' }]),
        );
      }
    },
    async receive(accountReference, amount, receipt) {
      const payment = {
        kind: 'payment_received',
        accountReference,
        amount: String(amount),
        currency: CURRENCY,
        receipt,
      };
      const body = Buffer.from(JSON.stringify([{ ...payment, payer: null }]));
      assert.equal((await inbox.receive(operatorMessage('quiet', body))).kind, 'kept');
      await inbox.idle();
    },
  };
}

/** Writes the past. Returns the transactions that tests change by hand. */
export async function writePast(base: TestContext, books: Books) {
  const { collect, payOut, refund, see, receive, shop, debtor } = books;
  const ctx = withPayments(base, silentRail());
  const success = await settled(books);
  const late = await collect();
  await see(late, EXPIRED, paid(late));
  await see(await collect(), FAILED);
  const open = await collect();
  await see(open, UNKNOWN);
  const taken = await collect();
  await see(taken, paid(taken), reversed(taken));
  const linked = await collect({ linkId: createUuid(base.clock.millis()) });
  await see(linked, paid(linked));

  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
  const payout = await payOut('1000');
  await see(payout, paid(payout));
  await see(await payOut('1000'), FAILED);
  const latePayout = await payOut('500');
  await see(latePayout, FAILED, paid(latePayout));
  const returned = await payOut('500');
  await see(returned, paid(returned), reversed(returned));
  const openPayout = await payOut('500');
  await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
  const waiting = await payOut('600');
  await ctx.db.query('update holders set payouts_need_approval = false where id = $1', [shop.holderId]);

  const parts = await settled(books);
  const part = await refund(parts, 20_000n);
  await see(part, paid(part));
  await see(await refund(parts, 10_000n), FAILED);
  const latePart = await refund(parts, 5_000n);
  await see(latePart, FAILED, paid(latePart));
  const openRefund = await refund(parts, 15_000n);
  const whole = await settled(books);
  const wholeRefund = await refund(whole, null);
  await see(wholeRefund, paid(wholeRefund));
  const halfTaken = await settled(books);
  const half = await refund(halfTaken, 40_000n);
  await see(half, paid(half));
  await see(halfTaken, reversed(halfTaken));

  const instructed = await collect({ verification: 'instructions' });
  await see(instructed, tillReply(base, 'acc-1').observation);
  await receive('acc-1', 90_000n, 'P-wrong');
  await receive('acc-1', 100_000n, 'P-right');
  await receive('acc-1', 100_000n, 'P-second');
  await receive('nobody', 70_000n, 'P-unknown');

  const spent = await collect({}, debtor);
  await see(spent, paid(spent));
  const gone = await payOut('900', debtor);
  await see(gone, paid(gone), UNKNOWN);
  await see(spent, reversed(spent));
  await topUpSandbox(ctx, COMMAND_LINE, debtor.holderId, CURRENCY, 30_000n);
  const held = await writeHeldMoney(ctx, books);
  return {
    ...held,
    success,
    open,
    payout,
    openPayout,
    waiting,
    parts,
    part,
    openRefund,
    whole,
    instructed,
    linked,
    late,
    spent,
    taken,
  };
}

/** The rolling reserve in each of its states, and a dispute in each of its own. */
async function writeHeldMoney(ctx: PaymentsContext, books: Books) {
  const { collect, refund, see, shop, debtor } = books;
  await setReserveRule(ctx, COMMAND_LINE, shop.holderId, { basisPoints: 1_000n, days: 2 });
  const kept = await settled(books);
  const reopened = await refund(kept, 1_000n);
  await see(reopened, FAILED);
  await setReserveRule(ctx, COMMAND_LINE, shop.holderId, null);
  const request = { amount: 10_000n, reason: 'not delivered', reference: null, answerBy: null };
  const disputed = await settled(books);
  await openDispute(ctx, COMMAND_LINE, { ...request, collection: refOf(disputed) });
  // The debtor has nothing, and goes on owing: all of it is missing.
  const poor = await collect({ amount: 20_000n, fee: 0n }, debtor);
  await see(poor, paid(poor));
  const short = await openDispute(ctx, COMMAND_LINE, { ...request, amount: null, collection: refOf(poor) });
  return { kept, disputed, short };
}

export type Past = Awaited<ReturnType<typeof writePast>>;

async function settled({ collect, see }: Books): Promise<Transaction> {
  const collection = await collect();
  await see(collection, paid(collection));
  return collection;
}

/** What a whole ledger verify finds. */
export async function differencesOf(ctx: Pick<TestContext, 'db' | 'clock'>): Promise<readonly Finding[]> {
  const run = await addVerifyRun(ctx.db, { by: 'test', since: null, inBackground: false }, ctx.clock.now());
  return (await verifyBooks(ctx, run, { more: BOOKS_CHECKS })).findings;
}
