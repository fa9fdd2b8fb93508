// The calls that an open transaction makes to its operator, through its rail: submit and query. A refund that is sent as a
// payout is a payout for the operator.

import { findLiveIntegration } from '../holders/integrations.ts';
import type { PayoutCall, Rail, RailReply } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation } from './evidence.ts';
import { checkObservation } from './observations.ts';
import { quarantine } from './quarantine.ts';
import { readRefundOrders } from './refund-orders.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

/** Sends the transaction to its operator. Its reference is committed already, so a crash is followed by a query. */
export async function submitToOperator(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
  return checkReply(ctx, transaction, 'submit', await submit(ctx, transaction));
}

/** `submittedAt`: when it was last sent, where the caller knows it. */
export async function queryOperator(
  ctx: PaymentsContext,
  transaction: Transaction,
  submittedAt: Date | null = null,
): Promise<RailReply> {
  return checkReply(ctx, transaction, 'poll', await query(ctx, transaction, submittedAt));
}

/** An answer with a value that cannot be used says nothing: it is set aside with a case, and the operator is asked again. */
async function checkReply(
  ctx: PaymentsContext,
  transaction: Transaction,
  source: 'submit' | 'poll',
  { observation, raw }: RailReply,
): Promise<RailReply> {
  const { value, error } = checkObservation(observation);
  if (error === null) return { observation: value, raw };
  const report = { rail: transaction.rail, source, reference: refOf(transaction), transactionId: transaction.id };
  const said = raw || JSON.stringify(describeObservation(observation));
  await ctx.db
    .transaction((tx) => quarantine(tx, ctx, [{ ...report, error, raw: said }]))
    .catch((failure: unknown) => ctx.log.warn({ err: failure, ref: refOf(transaction) }, 'a report was not set aside'));
  return { observation: { state: 'unknown', reason: `the answer cannot be used: ${error}` }, raw };
}

async function submit(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  const call = {
    reference: refOf(transaction),
    method,
    msisdn: transaction.msisdn ?? transaction.account_number ?? '',
    amount: transaction.amount,
    currency: transaction.currency,
    merchantName: await merchantName(ctx, transaction),
    prepared: null,
  };
  const toRecipient = { ...call, recipientName: transaction.payee };
  switch (transaction.direction) {
    case 'collection':
      return rail.collect({ ...call, verified: transaction.verification === 'otp', returnUrl: ctx.config.publicUrl });
    case 'payout':
      return rail.payout(toRecipient);
    case 'refund':
      return submitRefund(ctx, rail, transaction, toRecipient);
  }
}

/** A refund names the collection that it gives back, or goes to the payer as a payout. */
async function submitRefund(
  ctx: PaymentsContext,
  rail: Rail,
  refund: Transaction,
  call: PayoutCall,
): Promise<RailReply> {
  const order = (await readRefundOrders(ctx.db, [refund.id])).get(refund.id);
  const collection = order && (await findTransaction(ctx.db, refund.holder_id, order.collection_id));
  if (!collection) throw new Error(`refund ${refOf(refund)} has no collection`);
  if (order.as_payout) return rail.payout(call);
  if (!rail.refund) return noLongerConnected(refund);
  return rail.refund({
    ...call,
    collection: {
      reference: refOf(collection),
      railReference: collection.rail_reference,
      receipt: collection.receipt,
      amount: collection.amount,
    },
  });
}

async function query(ctx: PaymentsContext, transaction: Transaction, submittedAt: Date | null): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  return rail.query({
    reference: refOf(transaction),
    direction: (await isSentAsPayout(ctx, transaction)) ? 'payout' : transaction.direction,
    method,
    railReference: transaction.rail_reference,
    receipt: transaction.receipt,
    prepared: null,
    amount: transaction.amount,
    currency: transaction.currency,
    submittedAt: submittedAt ?? (await readSubmittedAt(ctx, transaction)),
  });
}

/** Whether it is a refund that the operator only knows as a payout. */
export async function isSentAsPayout(ctx: PaymentsContext, { id, direction }: Transaction): Promise<boolean> {
  if (direction !== 'refund') return false;
  return (await readRefundOrders(ctx.db, [id])).get(id)?.as_payout ?? false;
}

/** Never too early: a rail takes a "no" for final that comes long enough after it. */
async function readSubmittedAt(ctx: PaymentsContext, transaction: Transaction): Promise<Date> {
  const [job] = await ctx.db.query<{ submitted_at: Date | null }>(
    'select submitted_at from payment_jobs where holder_id = $1 and transaction_id = $2',
    [transaction.holder_id, transaction.id],
  );
  // What has ended has no job; it was sent before it ended.
  return job?.submitted_at ?? transaction.updated_at;
}

/** The rail or method was removed from the configuration. The outcome is unknown, not failed. */
function noLongerConnected({ rail, method }: Transaction): RailReply {
  return {
    observation: { state: 'unknown', reason: `this gateway has no rail "${rail}" for ${method} any more` },
    raw: '',
  };
}

/** The name of the business in the payer's prompt. */
export async function merchantName(ctx: PaymentsContext, transaction: Transaction): Promise<string> {
  if (transaction.integration_id === null) return ctx.config.brandName;
  const integration = await findLiveIntegration(ctx, { id: transaction.integration_id });
  return integration?.title ?? ctx.config.brandName;
}
