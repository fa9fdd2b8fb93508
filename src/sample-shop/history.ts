// Writes the history of the sample shop with the functions that every payment goes through, on a clock that stands in the
// past. The operator is not asked: each payment is accepted and ends in one transaction, so no job ever sees it.

import { listCollectionCountries } from '../catalog/countries.ts';
import { failureMessage } from '../catalog/failures.ts';
import type { Actor } from '../holders/audit.ts';
import { postEach } from '../ledger/ledger.ts';
import { createLink } from '../links/links.ts';
import { acceptWithin } from '../payments/accept.ts';
import { completeOrder, readPayment } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { applyOutcomes } from '../payments/outcomes.ts';
import { readPayout } from '../payments/payout-requests.ts';
import { planPayouts, writePayouts } from '../payments/payouts.ts';
import { createRefund } from '../payments/refunds.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { createVirtualClock, DAY_MS, type VirtualClock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
import { LINKS, type PlannedPayment, type PlannedSalary, planPayments, planSalaries } from './plan.ts';

/** The receiver of the last payments does not answer: the name ends in "example", which never exists. */
const FAILING_RECEIVER = 'https://shop.example/callbacks';
const FAILING_PAYMENTS = 3;
const REFUND_TAKES_MS = 40_000;
const LATE_MS = 3 * 60 * 60_000;

export type Shop = { ctx: PaymentsContext; clock: VirtualClock; holderId: bigint; integrationId: bigint; actor: Actor };

/** No payment of the past is handed to the engine. */
const NO_ENGINE = {
  hasCapacity: () => true,
  leaveToOthers: () => undefined,
  enqueue: () => undefined,
  wake: () => undefined,
} as unknown as PaymentEngine;

/** The context of a moment in the past. Its clock is meant to differ from the database's. */
export function contextAt(ctx: PaymentsContext, moment: Date): { ctx: PaymentsContext; clock: VirtualClock } {
  const clock = createVirtualClock(moment);
  const databaseTime = { now: async () => clock.now(), skewMs: async () => 0 };
  return { ctx: { ...ctx, clock, databaseTime, sendCallbacksNow: () => undefined }, clock };
}

export async function writeHistory(shop: Shop, now: Date): Promise<void> {
  const payments = planPayments(now);
  const links = await makeLinks(shop);
  const salaries = planSalaries(now);
  const refunds: { due: Date; ref: string; half: bigint | null }[] = [];
  for (const [place, payment] of payments.entries()) {
    await payDue(shop, salaries, payment.at);
    while (refunds[0] && refunds[0].due <= payment.at) await giveBack(shop, refunds.shift());
    const isLast = payments.length - place <= FAILING_PAYMENTS;
    const transaction = await collect(shop, payment, { links, callbackUrl: isLast ? FAILING_RECEIVER : null });
    if (!transaction || payment.refund === null) continue;
    // Half in whole units: most operators take no decimals.
    const half = payment.refund === 'half' ? (transaction.amount / 200n) * 100n : null;
    refunds.push({ due: new Date(payment.at.getTime() + DAY_MS), ref: refOf(transaction), half });
  }
  for (const refund of refunds) await giveBack(shop, refund);
}

async function makeLinks({ ctx, holderId, integrationId }: Shop): Promise<string[]> {
  const ids: string[] = [];
  for (const { item, amount, reusable } of LINKS) {
    const params = { business_name: 'Sample shop', item_name: item, amount, currency: 'KES', country_id: 1, reusable };
    const link = await createLink(ctx, { holderId, integrationId, defaultCallbackUrl: null }, params);
    ids.push(link.id);
  }
  return ids;
}

async function collect(
  { ctx, clock, holderId, integrationId }: Shop,
  payment: PlannedPayment,
  given: { links: readonly string[]; callbackUrl: string | null },
): Promise<Transaction | null> {
  clock.set(payment.at);
  const row = listCollectionCountries(ctx.catalog).find((each) => each.countryId === payment.countryId);
  const details =
    row &&
    readPayment(row, { mobile: payment.msisdn, amount: payment.amount, payment_method_type: null }, () => undefined, {
      lenient: true,
    });
  // A host's own catalogue may not have the country or the amount.
  if (!row || !details) return null;
  const linkId = payment.link === null ? null : (given.links[payment.link] ?? null);
  const order = await completeOrder(ctx, details, {
    holderId,
    integrationId,
    countryId: row.countryId,
    detail: payment.item,
    reference1: payment.order,
    reference2: null,
    callbackUrl: given.callbackUrl,
    linkId,
  });
  return acceptWithin(ctx, NO_ENGINE, { ...order, verification: 'prompt' }, (tx, transaction) =>
    endPayment(tx, ctx, clock, transaction, payment),
  );
}

async function endPayment(
  tx: Tx,
  ctx: PaymentsContext,
  clock: VirtualClock,
  transaction: Transaction,
  { outcome, answeredAfterMs }: PlannedPayment,
): Promise<void> {
  const see = (...observations: Observation[]) =>
    applyOutcomes(
      tx,
      ctx,
      observations.map((observation) => ({
        transactionId: transaction.id,
        source: observation.state === 'pending' ? 'submit' : 'callback',
        observation,
        raw: JSON.stringify({ status: observation.state }),
      })),
    );
  const success: Observation = { state: 'succeeded', receipt: receiptOf(transaction) };
  clock.advance(answeredAfterMs);
  if (outcome === 'success') return void (await see({ state: 'pending' }, success));
  const failureCode = outcome === 'late' ? 'PROMPT_EXPIRED' : outcome;
  const rawCode = failureCode.toLowerCase();
  await see({ state: 'pending' }, { state: 'failed', failureCode, rawCode, message: failureMessage(failureCode) });
  if (outcome !== 'late') return undefined;
  clock.advance(LATE_MS);
  return void (await see(success));
}

async function giveBack(
  { ctx, clock, holderId, actor }: Shop,
  refund: { due: Date; ref: string; half: bigint | null } | undefined,
) {
  if (!refund) return;
  clock.set(refund.due);
  await createRefund(
    ctx,
    NO_ENGINE,
    actor,
    holderId,
    { collection: refund.ref, amount: refund.half, reason: 'The customer brought it back' },
    {
      async within(tx, created) {
        clock.advance(REFUND_TAKES_MS);
        const observation: Observation = { state: 'succeeded', receipt: receiptOf(created) };
        await applyOutcomes(tx, ctx, [{ transactionId: created.id, source: 'callback', observation, raw: '{}' }]);
      },
    },
  );
}

/** The salaries whose day has come. They are paid as a person would order them; a wallet that is too small pays none. */
async function payDue({ ctx, clock, holderId, actor }: Shop, salaries: PlannedSalary[], until: Date): Promise<void> {
  while (salaries[0] && salaries[0].at <= until) {
    const { at, people } = salaries.shift() ?? { at: until, people: [] };
    clock.set(at);
    for (const { payee, msisdn, amount } of people) {
      const request = { amount, currency: 'KES', mobile: msisdn, payee, detail: 'Salary' };
      const reading = await readPayout(ctx, holderId, request);
      if (!reading.ok) continue;
      await ctx.db.transaction(async (tx) => {
        const [plan] = planPayouts(holderId, [{ line: null, order: reading.order }], clock.now());
        if (!plan) return;
        const [posted] = await postEach(tx, [plan.transfers], clock.now());
        if (!posted?.ok) return;
        const balance = posted.transfers[0]?.debitBalance ?? null;
        const given = { batchId: null, needsApproval: false, at: clock.now() };
        const [payout] = await writePayouts(tx, actor, holderId, [{ ...plan, balance }], given);
        if (!payout) return;
        clock.advance(2_000);
        const observation: Observation = { state: 'succeeded', receipt: receiptOf(payout) };
        await applyOutcomes(tx, ctx, [{ transactionId: payout.id, source: 'submit', observation, raw: '{}' }]);
      });
    }
  }
}

/** Ten letters and digits, as operators give them: from the id, so that no two are the same. */
function receiptOf({ id }: Pick<Transaction, 'id'>): string {
  const digits = BigInt(`0x${id.replaceAll('-', '')}`) >> 28n;
  return `S${(digits % 36n ** 9n).toString(36).toUpperCase().padStart(9, '0')}`;
}
