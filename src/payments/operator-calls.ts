// The calls that an open transaction makes to its operator, through its rail: submit and query. A refund that is sent as a
// payout is a payout for the operator.

import type { Direction } from '../catalog/catalog.ts';
import { findLiveIntegration } from '../holders/integrations.ts';
import { publicUrl } from '../platform/config.ts';
import { failpoint } from '../platform/failpoint.ts';
import { publicId } from '../platform/ids.ts';
import { unaskedReply } from '../rails/evidence.ts';
import type { CollectCall, PayoutCall, Rail, RailReply, RefundCall } from '../rails/rail.ts';
import { canBeAsked, directionOf } from './capabilities.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation } from './evidence.ts';
import { checkObservation } from './observations.ts';
import { holdsSubmit, keepPrepared, readPrepared, UNREADABLE_PREPARED } from './prepared-calls.ts';
import { quarantine } from './quarantine.ts';
import { findUsedReceipts } from './receipts.ts';
import { readRefundOrders } from './refund-orders.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

/**
 * `notSent`: nothing was sent, because a call before it was not answered (`try_again`), or because another process has the job
 * by now (`elsewhere`).
 */
export type SubmitReply = RailReply & { notSent?: 'try_again' | 'elsewhere' };

/**
 * Sends the transaction to its operator. Its reference is committed already, so a crash is followed by a query. `onCall` is called
 * right before anything is sent.
 */
export async function submitToOperator(
  ctx: PaymentsContext,
  transaction: Transaction,
  submittedAt: Date | null,
  onCall: () => void,
): Promise<SubmitReply> {
  const reply = await submit(ctx, transaction, submittedAt, onCall);
  return reply.notSent ? reply : checkReply(ctx, transaction, 'submit', reply);
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
  { observation, raw, ...rest }: RailReply,
): Promise<RailReply> {
  const { value, error } = checkObservation(observation);
  if (error === null) return { observation: value, raw, ...rest };
  const report = { rail: transaction.rail, source, reference: refOf(transaction), transactionId: transaction.id };
  const said = raw || JSON.stringify(describeObservation(observation));
  await ctx.db
    .transaction((tx) => quarantine(tx, ctx, [{ ...report, error, raw: said }]))
    .catch((failure: unknown) => ctx.log.warn({ err: failure, ref: refOf(transaction) }, 'a report was not set aside'));
  return { observation: { state: 'unknown', reason: `the answer cannot be used: ${error}` }, raw };
}

async function submit(
  ctx: PaymentsContext,
  transaction: Transaction,
  submittedAt: Date | null,
  onCall: () => void,
): Promise<SubmitReply> {
  const rail = await findRail(ctx, transaction.rail);
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
  const send = <T extends CollectCall | PayoutCall>(
    given: T,
    direction: Direction,
    how: (call: T) => Promise<RailReply>,
  ) =>
    prepareAndSend(ctx, rail, { transaction, submittedAt, direction }, given, (ready) => {
      onCall();
      return how(ready);
    });
  const toRecipient = { ...call, recipientName: transaction.payee };
  switch (transaction.direction) {
    case 'collection': {
      const returnUrl = transaction.link_id === null ? publicUrl(ctx.config) : attemptUrl(ctx, transaction);
      const verified = transaction.verification === 'otp';
      return send({ ...call, verified, returnUrl }, 'collection', (ready) => rail.collect(ready));
    }
    case 'payout':
      return send(toRecipient, 'payout', (ready) => rail.payout(ready));
    case 'refund': {
      const refund = await refundCall(ctx, transaction, call);
      if (refund === 'payout') return send(toRecipient, 'payout', (ready) => rail.payout(ready));
      if (!rail.refund) return noLongerConnected(transaction);
      onCall();
      return rail.refund(refund);
    }
  }
}

/** Another process may have accepted it over a connection that is so new that this one has not seen it yet. */
async function findRail(ctx: PaymentsContext, name: string): Promise<Rail | null> {
  const known = ctx.rails.byName(name);
  if (known) return known;
  await ctx.rails.refresh().catch((error: unknown) => ctx.log.warn({ err: error }, 'the connections were not read'));
  return ctx.rails.byName(name);
}

type Sending = { transaction: Transaction; submittedAt: Date | null; direction: Direction };

/** What the rail needs first is fetched and committed, or found where a crash left it. */
async function prepareAndSend<T extends CollectCall | PayoutCall>(
  ctx: PaymentsContext,
  rail: Rail,
  { transaction, submittedAt, direction }: Sending,
  call: T,
  send: (call: T) => Promise<RailReply>,
): Promise<SubmitReply> {
  if (!rail.prepare) return send(call);
  const stored = await readPrepared(ctx, transaction);
  if (stored === 'unreadable') return { ...UNREADABLE_PREPARED, notSent: 'try_again' };
  if (stored) return send({ ...call, prepared: stored });
  const reply = await rail.prepare(call, direction);
  if (!('prepared' in reply)) {
    // Only a clear "no" ends it: nothing was sent, so anything else is tried again.
    const isRefused = reply.observation.state === 'failed' && checkObservation(reply.observation).error === null;
    if (!isRefused) return { ...reply, notSent: 'try_again' };
    // Another process may have prepared and sent it meanwhile; then its answer counts.
    return (await holdsSubmit(ctx, transaction, submittedAt)) ? reply : { ...UNANSWERED, notSent: 'elsewhere' };
  }
  const { prepared } = reply;
  if (!(await keepPrepared(ctx, transaction, prepared, submittedAt))) return { ...UNANSWERED, notSent: 'elsewhere' };
  failpoint('prepared', transaction.direction);
  return send({ ...call, prepared });
}

const UNANSWERED = unaskedReply('nothing was sent');

/** The page that a payer of a link comes back to. */
function attemptUrl(ctx: PaymentsContext, transaction: Transaction): string {
  const link = publicId('pl', transaction.link_id ?? '');
  return `${publicUrl(ctx.config)}/pay/${link}/${refOf(transaction)}`;
}

/** A refund names the collection that it gives back, or goes to the payer as a payout. */
async function refundCall(
  ctx: PaymentsContext,
  refund: Transaction,
  call: Omit<RefundCall, 'collection'>,
): Promise<RefundCall | 'payout'> {
  const order = (await readRefundOrders(ctx.db, [refund.id])).get(refund.id);
  const collection = order && (await findTransaction(ctx.db, refund.holder_id, order.collection_id));
  if (!collection) throw new Error(`refund ${refOf(refund)} has no collection`);
  if (order.as_payout) return 'payout';
  const { amount, receipt, rail_reference: railReference } = collection;
  const { reference, method, msisdn, currency, merchantName: name } = call;
  return {
    reference,
    method,
    msisdn,
    amount: call.amount,
    currency,
    merchantName: name,
    collection: { reference: refOf(collection), railReference, receipt, amount },
  };
}

async function query(ctx: PaymentsContext, transaction: Transaction, submittedAt: Date | null): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  const asPayout = await isSentAsPayout(ctx, transaction);
  if (!canBeAsked(rail.capabilitiesOf(method, directionOf(transaction.direction, asPayout)))) return CANNOT_BE_ASKED;
  const prepared = rail.prepare ? await readPrepared(ctx, transaction) : null;
  if (prepared === 'unreadable') return UNREADABLE_PREPARED;
  return rail.query({
    reference: refOf(transaction),
    direction: asPayout ? 'payout' : transaction.direction,
    method,
    railReference: transaction.rail_reference,
    receipt: transaction.receipt,
    prepared,
    ...(transaction.msisdn === null ? {} : { msisdn: transaction.msisdn }),
    amount: transaction.amount,
    currency: transaction.currency,
    submittedAt: submittedAt ?? (await readSubmittedAt(ctx, transaction)),
    usedReceipts: (receipts) => findUsedReceipts(ctx.db, transaction, receipts),
  });
}

const CANNOT_BE_ASKED = unaskedReply('this operator cannot be asked');

/** Whether it is a refund that the operator only knows as a payout. */
export async function isSentAsPayout(ctx: PaymentsContext, { id, direction }: Transaction): Promise<boolean> {
  if (direction !== 'refund') return false;
  return (await readRefundOrders(ctx.db, [id])).get(id)?.as_payout ?? false;
}

/** Never too early: a rail takes a "no" for final that comes long enough after it. */
export async function readSubmittedAt(ctx: PaymentsContext, transaction: Transaction): Promise<Date> {
  const [job] = await ctx.db.query<{ submitted_at: Date | null }>(
    'select submitted_at from payment_jobs where holder_id = $1 and transaction_id = $2',
    [transaction.holder_id, transaction.id],
  );
  // What has ended has no job; it was sent before it ended.
  return job?.submitted_at ?? transaction.updated_at;
}

/** The rail or method was removed from the configuration. The outcome is unknown, not failed. */
function noLongerConnected({ rail, method }: Transaction): RailReply {
  return unaskedReply(`this gateway has no rail "${rail}" for ${method} any more`);
}

/** The name of the business in the payer's prompt. */
export async function merchantName(ctx: PaymentsContext, transaction: Transaction): Promise<string> {
  if (transaction.integration_id === null) return ctx.config.brandName;
  const integration = await findLiveIntegration(ctx, { id: transaction.integration_id });
  return integration?.title ?? ctx.config.brandName;
}
