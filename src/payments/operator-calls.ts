// The calls that an open transaction makes to its operator, through its rail: submit and query.

import { findLiveIntegration } from '../holders/integrations.ts';
import type { RailReply } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { refOf, type Transaction } from './transactions.ts';

/** Sends the transaction to its operator. Its reference is committed already, so a crash is followed by a query. */
export async function submitToOperator(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
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
  };
  return transaction.direction === 'collection'
    ? rail.collect({ ...call, verified: transaction.verification === 'otp' })
    : rail.payout(call);
}

export async function queryOperator(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  return rail.query({
    reference: refOf(transaction),
    direction: transaction.direction,
    method,
    railReference: transaction.rail_reference,
  });
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
