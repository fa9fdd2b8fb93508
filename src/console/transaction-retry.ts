// Retry: asks for a payment that failed once more. A prompt goes to the same number in one tap; where there is none, a payment
// link is made; a payment of a link is retried on that link; a payout goes through review and approval as any other.

import type { FastifyReply } from 'fastify';
import { formatNumber } from '../catalog/phone.ts';
import { createLink, linkId, linkStatus } from '../links/links.ts';
import { readPayout } from '../payments/payout-requests.ts';
import { hasPrompt, isRetryable, RetryRefusedError, recordRetry, retryCollection } from '../payments/retries.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { createUuid } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { icon } from '../ui/icons.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { form, postButton } from './form-components.ts';
import { FormUsedError, onceField, useForm } from './form-idempotency.ts';
import { redirect } from './layout.ts';
import { confirmationPage } from './payout-confirmation.ts';
import { payoutRequest } from './payout-fields.ts';
import { findRepeats } from './payout-form.ts';
import { linkStates } from './retry-links.ts';
import { type ConsoleRoute, forRoles, MAKERS, TREASURERS } from './route.ts';
import { requireTransaction, type TransactionDetails } from './transaction-details.ts';

export const transactionRetryRoutes: ConsoleRoute[] = [
  forRoles(MAKERS, 'POST', '/transactions/:ref/retry', retryPrompt),
  forRoles(MAKERS, 'POST', '/transactions/:ref/retry-link', retryByLink),
  forRoles(TREASURERS, 'GET', '/transactions/:ref/retry', reviewPayout, { confirm: true }),
];

/** The button, where this member may retry and nothing is open. */
export function retryButton(request: HolderRequest, details: TransactionDetails): Html | false {
  const { t, role, ctx } = request;
  const { transaction, link, retries } = details;
  const { retry } = t.transaction;
  const isOpen = retries.some(({ status }) => status !== null && status !== 'failed' && status !== 'expired');
  if (!isRetryable(transaction) || isOpen) return false;
  const path = `/transactions/${refOf(transaction)}`;
  if (transaction.direction === 'payout')
    return (
      TREASURERS.includes(role) &&
      html`<a class="button" href="/console${path}/retry">${icon('refresh-cw')}${retry.payout}</a>`
    );
  if (!MAKERS.includes(role)) return false;
  if (link)
    return (
      linkStatus(link, ctx.clock.now()) === 'active' &&
      html`<a class="button" href="/console/links/${linkId(link)}">${icon('link')}${retry.sendLink}</a>`
    );
  if (!hasPrompt(transaction)) return postButton(request, `${path}/retry-link`, retry.byLink);
  return promptForm(request, transaction, path);
}

function promptForm(request: HolderRequest, transaction: Transaction, path: string): Html {
  const { retry } = request.t.transaction;
  const amount = money(request, transaction.amount, transaction.currency);
  const number = formatNumber(transaction.msisdn ?? '');
  return form(request, {
    action: `${path}/retry`,
    attributes: html`title="${retry.meaning(amount, number)}"`,
    fields: [onceField(request.ctx)],
    submit: retry.button,
  });
}

async function retryPrompt(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, services, actor, holder } = request;
  const failed = await requireTransaction(request);
  const once = fieldOf(request, 'once', 40);
  refuseOnLink(request, failed);
  try {
    const made = await retryCollection(ctx, services.payments.engine, actor, failed, {
      findLinkState: linkStates(request),
      within: (tx) => useForm(tx, ctx, holder.id, once),
    });
    return redirect(request, `/console/transactions/${refOf(made)}`, 'retried');
  } catch (error) {
    return answerFailure(request, failed, error);
  }
}

/** A payment of a link is retried on the link, which knows whether it was paid meanwhile. */
function refuseOnLink(request: HolderRequest, { link_id: linkId }: Transaction): void {
  if (linkId !== null) throw refusal(request, new RetryRefusedError('no_prompt'));
}

function answerFailure(request: HolderRequest, failed: Transaction, error: unknown): FastifyReply {
  if (error instanceof FormUsedError)
    return redirect(request, `/console/transactions/${refOf(failed)}`, 'formAlreadySent');
  if (error instanceof RetryRefusedError) throw refusal(request, error);
  throw error;
}

function refusal({ t }: HolderRequest, { refusal: reason }: RetryRefusedError): Problem {
  return new Problem('invalid_params', { message: t.transaction.retry.refusals[reason] });
}

async function retryByLink(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const failed = await requireTransaction(request);
  if (failed.direction !== 'collection') throw refusal(request, new RetryRefusedError('not_failed'));
  refuseOnLink(request, failed);
  const owner = { holderId: holder.id, integrationId: failed.integration_id, defaultCallbackUrl: failed.callback_url };
  try {
    const link = await createLink(ctx, owner, linkParams(failed), (tx, { id }) =>
      recordRetry(tx, ctx, actor, failed, { linkId: id }, linkStates(request)),
    );
    return redirect(request, `/console/links/${linkId(link)}`, 'linkCreated');
  } catch (error) {
    return answerFailure(request, failed, error);
  }
}

function linkParams(failed: Transaction): JsonObject {
  return {
    country_id: failed.country_id,
    currency: failed.currency,
    amount: formatAmount(failed.amount),
    ...(failed.reference_1 === null ? {} : { item_name: failed.reference_1 }),
    ...(failed.msisdn === null ? {} : { phone: failed.msisdn }),
    reusable: false,
  };
}

/** The review page of the payout, filled in as the one that failed. Sending it is a payout as any other. */
async function reviewPayout(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, language, t } = request;
  const failed = await requireTransaction(request);
  if (failed.direction !== 'payout' || !isRetryable(failed))
    throw refusal(request, new RetryRefusedError('not_failed'));
  const fields = new Map([
    ['currency', failed.currency],
    ['amount', formatAmount(failed.amount)],
    ['mobile', `+${failed.msisdn ?? ''}`],
    ['method', failed.method],
    ['payee', failed.payee ?? ''],
    ['invoice_no', failed.invoice_no ?? ''],
    ['retry_of', refOf(failed)],
    ['once', createUuid(ctx.clock.millis())],
  ]);
  const filled = { ...request, form: fields };
  const reading = await readPayout(
    ctx,
    holder.id,
    payoutRequest(language, (name) => fieldOf(filled, name)),
  );
  if (!reading.ok) throw new Problem('invalid_params', { errors: reading.errors });
  const page = await confirmationPage(filled, reading.order, await findRepeats(filled, reading.order));
  if (page === null) throw new Problem('invalid_params', { message: t.payouts.insufficientBalance });
  return page;
}
