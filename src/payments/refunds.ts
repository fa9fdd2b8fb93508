// Refunds: money of a collection that is given back on the holder's word. A refund is a transaction of its own: its amount
// is reserved from the wallet and committed before the operator hears of it, sent once under its own reference, queried
// until the operator has answered, and then posted or released. Refunds made at once wait for the totals of their
// collection, and the database refuses more than was collected.

import { refundedFee } from '../catalog/amounts.ts';
import type { Method } from '../catalog/catalog.ts';
import { refundNeedsApproval } from '../holders/approval-rules.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { postEach } from '../ledger/ledger.ts';
import { requireHistory } from '../ledger/lost-history.ts';
import { refundReserved } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createRefundUuid, isRefundId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { Rail, RailCapabilities } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { takeHeldParts } from './held-parts.ts';
import { RefundDecimalsProblem } from './order-refusals.ts';
import { limitRules, takeFromLimits } from './payment-limits.ts';
import {
  addToRefundTotals,
  findRefundById,
  findRefundTotals,
  leftToRefund,
  lockRefundTotals,
  notPossible,
  type Refund,
  type RefundOrder,
  type RefundTotals,
  refuseContradicted,
} from './refund-orders.ts';
import {
  idFromRef,
  newTransaction,
  refOf,
  TRANSACTION_COLUMNS,
  TRANSACTION_TYPES,
  type Transaction,
} from './transactions.ts';

export type RefundRequest = {
  /** The collection, by its ref. */
  collection: string;
  /** In hundredths; null: what is left of the collection. */
  amount: bigint | null;
  reason?: string | null | undefined;
  callbackUrl?: string | null | undefined;
  /** Where neither the request nor the collection names one. */
  defaultCallbackUrl?: string | null | undefined;
  reference1?: string | null | undefined;
  reference2?: string | null | undefined;
  /** Send it as a payout to the payer's number where the rail cannot refund. */
  asPayout?: boolean | undefined;
};

type RefundOptions = {
  /** The integration that asked; null: a person did, and the integration of the collection hears of the result. */
  integrationId?: bigint | null;
  /** Written in the same transaction. If it throws, there is no refund. */
  within?: (tx: Tx, refund: Refund) => Promise<void>;
};

type Waker = Pick<PaymentEngine, 'wake'>;

/** What can be given back of a collection now; null: nothing, for the reason given. */
export type Refundable = {
  left: bigint;
  /** What the operator can give back itself. */
  operator: 'none' | 'whole' | 'partial';
  /** Whether the money can be sent to the payer as a payout instead. */
  asPayout: boolean;
};

/** What a member can give back of this collection. `left` is zero when refunds have taken or are taking all of it. */
export async function findRefundable(
  ctx: PaymentsContext,
  reader: Reader,
  collection: Transaction,
): Promise<Refundable | null> {
  if (collection.direction !== 'collection' || collection.status !== 'success') return null;
  const rail = ctx.rails.byName(collection.rail);
  const method = ctx.catalog.methods.get(collection.method);
  if (!rail || !method) return null;
  const totals = await findRefundTotals(reader, collection.holder_id, collection.id);
  const refunds = rail.capabilitiesOf(method, 'collection')?.refunds ?? 'none';
  const asPayout = refunds !== 'partial' && canPayOut(rail, method);
  if (refunds === 'none' && !asPayout) return null;
  return { left: leftToRefund(collection, totals), operator: refunds, asPayout };
}

function canPayOut(rail: Rail, method: Method): boolean {
  return method.payout !== null && rail.capabilitiesOf(method, 'payout') !== null;
}

/** Creates a refund. It is sent at once, or after a second person has approved it. */
export async function createRefund(
  ctx: PaymentsContext,
  engine: Waker,
  actor: Actor,
  holderId: bigint,
  request: RefundRequest,
  options: RefundOptions = {},
): Promise<Refund> {
  await requireHistory(ctx);
  const rules = await limitRules(ctx, holderId);
  const refund = await ctx.db.transaction(async (tx) => {
    const holder = await requireActiveHolder(tx, holderId);
    const collection = await lockCollection(tx, holderId, request.collection);
    const totals = (await lockRefundTotals(tx, [collection.id])).get(collection.id) ?? null;
    await refuseContradicted(tx, holderId, collection.id);
    const plan = planRefund(ctx, collection, totals, request);
    // What was given back before counts too: a large refund is not a matter of one person because it is made in parts.
    const given = collection.amount - leftToRefund(collection, totals) + plan.amount;
    // An integration asks on its own account. Whatever a person asks for, the command line included, keeps the rule.
    const needsApproval =
      options.integrationId == null && (await refundNeedsApproval(tx, holder, collection.currency, given));
    const created = await writeRefund(tx, ctx, actor, collection, request, { ...plan, needsApproval, ...options });
    await takeFromLimits(tx, ctx, rules, {
      holderId,
      direction: 'refund',
      memberId: actor.memberId,
      payments: [created],
    });
    await options.within?.(tx, created);
    failpoint('refund-writing');
    return created;
  });
  failpoint('refund-committed');
  if (refund.approval === 'not_needed') engine.wake();
  return refund;
}

async function lockCollection(tx: Tx, holderId: bigint, ref: string): Promise<Transaction> {
  const id = idFromRef(ref);
  const [collection] =
    id === null
      ? []
      : await tx.query<Transaction>(
          `select ${TRANSACTION_COLUMNS} from transactions t
           where t.holder_id = $1 and t.id = $2 and t.direction = 'collection' for no key update`,
          [holderId, id],
        );
  if (!collection) throw new Problem('transaction_not_found', { message: 'There is no such payment.' });
  return collection;
}

type RefundPlan = { amount: bigint; feeReturned: bigint; asPayout: boolean };

/** What the refund gives back, and how. Throws a Problem that says what is possible instead. */
function planRefund(
  ctx: PaymentsContext,
  collection: Transaction,
  totals: RefundTotals | null,
  request: RefundRequest,
): RefundPlan {
  if (collection.status !== 'success')
    throw notPossible('id', `This payment is ${collection.status}. Only a successful payment can be refunded.`);
  const rail = ctx.rails.byName(collection.rail);
  const method = ctx.catalog.methods.get(collection.method);
  if (!rail || !method) throw notPossible('id', 'This gateway is no longer connected to the operator of this payment.');
  const left = leftToRefund(collection, totals);
  const amount = request.amount ?? left;
  if (left === 0n || amount > left)
    throw new Problem('refund_too_large', {
      errors: { amount: [`${formatAmount(left)} ${collection.currency} of this payment can still be refunded.`] },
    });
  if (amount <= 0n) throw notPossible('amount', 'The amount must be more than zero.');
  const isWhole = amount === collection.amount;
  const refunds = rail.capabilitiesOf(method, 'collection')?.refunds ?? 'none';
  const railCan = refunds === 'partial' || (refunds === 'whole' && isWhole);
  const asPayout = !railCan && request.asPayout === true && canPayOut(rail, method);
  if (!railCan && !asPayout)
    throw notPossible(
      'as_payout',
      refunds === 'whole'
        ? `${method.name} refunds whole payments only. Set as_payout to true to send this amount as a payout.`
        : `${method.name} cannot refund. Set as_payout to true to send the money to the payer as a payout.`,
    );
  checkDecimals(method, rail.capabilitiesOf(method, asPayout ? 'payout' : 'collection'), amount);
  const feeReturned = refundedFee(method, collection, {
    amount,
    isRest: amount === left,
    returned: (totals?.fee_refunded ?? 0n) + (totals?.fee_under_way ?? 0n),
  });
  return { amount, feeReturned, asPayout };
}

function checkDecimals(method: Method, capabilities: RailCapabilities | null, amount: bigint): void {
  const decimals = Math.min(method.collection.decimals, capabilities?.decimals ?? 2);
  if (amount % 10n ** BigInt(2 - decimals) !== 0n) throw new RefundDecimalsProblem(decimals, method);
}

type NewRefund = RefundPlan & { needsApproval: boolean; integrationId?: bigint | null };

async function writeRefund(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  collection: Transaction,
  request: RefundRequest,
  plan: NewRefund,
): Promise<Refund> {
  const at = ctx.clock.now();
  const { amount, feeReturned } = plan;
  const transaction = refundTransaction(collection, request, plan, at);
  const order = refundOrder(transaction, collection, actor, request, plan);
  await addToRefundTotals(tx, collection, plan);
  const fact = { ...transaction, holderId: collection.holder_id, transactionId: transaction.id, amount, feeReturned };
  const group = { transfers: refundReserved(fact), mayBorrow: false, mayUseHeld: true };
  const [reserved] = await postEach(tx, [group], at);
  if (!reserved?.ok) throw tooLittle(amount - feeReturned, collection.currency);
  const refund = {
    ...order,
    ...transaction,
    balance_after: reserved.transfers.at(-1)?.debitBalance ?? null,
    from_held: reserved.transfers.find(({ kind }) => kind === 'reserve_use')?.amount ?? 0n,
    held_until: await takeHeldParts(tx, reserved.transfers),
  };
  await insertRefund(tx, actor, refund, at);
  await recordAudit(
    tx,
    {
      holderId: collection.holder_id,
      actor,
      action: 'refund.created',
      subject: refOf(transaction),
      details: { amount: String(amount), currency: collection.currency, collection: refOf(collection) },
    },
    at,
  );
  return refund;
}

function tooLittle(needed: bigint, currency: string): Problem {
  const sentence = `The wallet must hold ${formatAmount(needed)} ${currency} for this refund.`;
  return new Problem('overdraft', { errors: { amount: [sentence] } });
}

function refundTransaction(
  collection: Transaction,
  request: RefundRequest,
  { amount, integrationId }: NewRefund,
  at: Date,
): Transaction {
  return newTransaction(
    {
      id: createRefundUuid(at.getTime(), collection.holder_id),
      holder_id: collection.holder_id,
      integration_id: integrationId ?? collection.integration_id,
      direction: 'refund',
      amount,
      fee: 0n,
      currency: collection.currency,
      country_id: collection.country_id,
      method: collection.method,
      rail: collection.rail,
      msisdn: collection.msisdn,
      detail: `Refund of ${refOf(collection)}`,
      reference_1: request.reference1 ?? null,
      reference_2: request.reference2 ?? null,
      callback_url: request.callbackUrl || collection.callback_url || request.defaultCallbackUrl || null,
      link_id: null,
      verification: 'none',
    },
    at,
  );
}

function refundOrder(
  transaction: Transaction,
  collection: Transaction,
  actor: Actor,
  request: RefundRequest,
  plan: NewRefund,
): RefundOrder {
  return {
    transaction_id: transaction.id,
    collection_id: collection.id,
    fee_returned: plan.feeReturned,
    as_payout: plan.asPayout,
    reason: request.reason || null,
    approval: plan.needsApproval ? 'waiting' : 'not_needed',
    created_by: actor.name,
    created_by_member: actor.memberId,
    approved_by: null,
    approved_at: null,
    cancelled_by: null,
    cancelled_at: null,
    from_held: 0n,
    held_until: null,
  };
}

const REFUND = columns<Transaction>(11, TRANSACTION_TYPES);

// A refund that waits for approval has no job, so it cannot be sent.
const INSERT_REFUND = `
  with input as materialized (
    select * from ${REFUND.rows}
  ), ordered as (
    insert into refund_orders
      (holder_id, transaction_id, collection_id, fee_returned, as_payout, reason, approval, created_by, created_by_member,
       from_held, held_until)
    select holder_id, id, $2, $3, $4, $5, $6, $7, $8, $9, $10 from input
  ), queued as (
    insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
    select holder_id, id, 'submit', $1, $1 from input where $6 = 'not_needed'
  ), written as (
    insert into transactions (${REFUND.names}) select ${REFUND.names} from input returning 1
  )
  select count(*) from written`;

async function insertRefund(tx: Tx, actor: Actor, refund: Refund, at: Date): Promise<void> {
  const { collection_id, fee_returned, as_payout, reason, approval, from_held, held_until } = refund;
  const order = [collection_id, fee_returned, as_payout, reason, approval, actor.name, actor.memberId];
  await tx.query(INSERT_REFUND, [at, ...order, from_held, held_until, ...REFUND.arrays([refund])]);
}

/** A refund of this holder by its reference; null when there is none. */
export async function findRefund(reader: Reader, holderId: bigint, ref: string): Promise<Refund | null> {
  const id = idFromRef(ref);
  return id !== null && isRefundId(id) ? findRefundById(reader, holderId, id) : null;
}
