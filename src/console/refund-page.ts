// Refunds of a collection: what was given back and what is left, on its page; the form that asks for one; and the list of
// those that wait for a second person. The page of one refund is the transaction page.

import type { FastifyReply } from 'fastify';
import { RefundDecimalsProblem } from '../payments/order-refusals.ts';
import { BlockedNumberProblem } from '../payments/payment-limits.ts';
import type { Refund } from '../payments/refund-orders.ts';
import { createRefund, findRefundable, type Refundable } from '../payments/refunds.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { AMOUNT_SENTENCES } from '../platform/amount-sentences.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, facts, tag } from '../ui/components.ts';
import { statusTag, timeTag, transactionLink } from './components.ts';
import { fieldOf, type HolderRequest, money, paramOf } from './console-request.ts';
import { errorBox, form, postButton } from './form-components.ts';
import { FormUsedError, isFormUsed, onceField, useForm } from './form-idempotency.ts';
import { redirect, renderPage } from './layout.ts';
import { methodName } from './names.ts';
import { type ConsoleRoute, forRoles, TREASURERS } from './route.ts';
import { requireTransaction, type TransactionDetails } from './transaction-details.ts';

const MAX_REASON = 500;

export const refundRoutes: ConsoleRoute[] = [
  // Confirmed before anything is typed, so that the form is not lost on the way.
  forRoles(TREASURERS, 'GET', '/transactions/:ref/refund', (request) => refundPage(request), { confirm: true }),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/refund', refund, { confirm: true }),
];

/** The refunds on the page of their collection; the button that asks for one is beside its title. */
export function refundSection(request: HolderRequest, details: TransactionDetails): Html | false {
  const { t } = request;
  const { transaction, refunds } = details;
  if (transaction.direction !== 'collection' || refunds.length === 0) return false;
  return html`
    <section class="card" id="refunds">
      <h2>${t.refunds.title}</h2>
      ${facts(refundTotals(request, details))}
      ${refundTable(request, refunds)}
    </section>
  `;
}

function refundTotals(request: HolderRequest, details: TransactionDetails): [string, HtmlValue][] {
  const { t } = request;
  const { transaction, refunds, refundable } = details;
  const sum = (statuses: readonly string[]) =>
    refunds.reduce((total, each) => total + (statuses.includes(each.status) ? each.amount : 0n), 0n);
  const shown = (amount: bigint) => amount > 0n && money(request, amount, transaction.currency);
  return [
    [t.refunds.refunded, shown(sum(['success']))],
    [t.refunds.underWay, shown(sum(['pending', 'processing']))],
    [t.refunds.left, refundable && money(request, refundable.left, transaction.currency)],
  ];
}

function refundTable(request: HolderRequest, refunds: readonly Refund[]): Html {
  const { t } = request;
  return dataTable(
    t.refunds.title,
    [
      { label: t.reference },
      { label: t.state },
      { label: t.amount, right: true },
      { label: t.refunds.requestedBy },
      { label: t.created },
    ],
    refunds.map((each) => [
      transactionLink(refOf(each)),
      refundTag(request, each),
      money(request, each.amount, each.currency),
      html`<bdi>${each.created_by}</bdi>`,
      timeTag(request, each.created_at),
    ]),
  );
}

export function waitsForApproval({ approval, status, cancelled_at: cancelledAt }: Refund): boolean {
  return approval === 'waiting' && status === 'pending' && cancelledAt === null;
}

export function refundTag(request: HolderRequest, each: Refund): Html {
  if (waitsForApproval(each)) return tag('warning', request.t.payouts.needsApproval);
  return statusTag(request, each.status, 'refund');
}

/** Refunds that wait for a second person, with a button for whom that may be. */
export function waitingRefunds(request: HolderRequest, refunds: readonly Refund[]): Html | false {
  const { t } = request;
  if (refunds.length === 0) return false;
  return html`
    <section class="card" id="waiting-refunds">
      <h2>${t.refunds.waiting}</h2>
      ${dataTable(
        t.refunds.waiting,
        [
          { label: t.reference },
          { label: t.amount, right: true },
          { label: t.refunds.collection },
          { label: t.refunds.requestedBy },
          { label: t.created },
          { label: t.action },
        ],
        refunds.map((each) => [
          transactionLink(refOf(each)),
          money(request, each.amount, each.currency),
          transactionLink(refOf({ id: each.collection_id })),
          html`<bdi>${each.created_by}</bdi>`,
          timeTag(request, each.created_at),
          approvalOf(request, each, 'secondary'),
        ]),
      )}
    </section>
  `;
}

/** The button to approve a refund, or why this member cannot. */
export function approvalOf(request: HolderRequest, each: Refund, variant?: 'secondary'): Html | false {
  const { t, role, session } = request;
  if (!waitsForApproval(each) || !TREASURERS.includes(role)) return false;
  if (each.created_by_member === session.member.id)
    return html`<p class="box neutral">${t.refunds.needsSecondApprover}</p>`;
  const path = `/transactions/${refOf(each)}/approve`;
  return postButton(request, path, t.refunds.approve, variant ? { variant } : {});
}

async function requireRefundable(request: HolderRequest): Promise<{ collection: Transaction; refundable: Refundable }> {
  const { ctx } = request;
  const collection = await requireTransaction(request);
  const refundable = await findRefundable(ctx, ctx.db, collection);
  if (!refundable || refundable.left === 0n) throw new Problem('refund_not_possible');
  return { collection, refundable };
}

async function refundPage(request: HolderRequest, errors?: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  const { collection, refundable } = await requireRefundable(request);
  const left = money(request, refundable.left, collection.currency);
  return renderPage(request, {
    title: t.refunds.create,
    lead: t.refunds.lead(left),
    active: 'transactions',
    ...(errors ? { status: 400 } : {}),
    body: html`
      <div class="card">
        ${errorBox(request, errors)}
        ${facts([
          [t.refunds.collection, html`<a href="/console/transactions/${refOf(collection)}">${refOf(collection)}</a>`],
          [
            t.cases.payment,
            `${money(request, collection.amount, collection.currency)} · ${methodName(request, collection.method)}`,
          ],
          [t.number, collection.msisdn && html`<bdi>+${collection.msisdn}</bdi>`],
        ])}
        ${refundForm(request, collection, refundable, errors)}
      </div>
    `,
  });
}

function refundForm(
  request: HolderRequest,
  collection: Transaction,
  { left, operator, asPayout }: Refundable,
  errors: FieldErrors | undefined,
): Html {
  const { t, ctx, holder } = request;
  const leftText = money(request, left, collection.currency);
  return form(request, {
    action: `/transactions/${refOf(collection)}/refund`,
    errors,
    fields: [
      {
        name: 'amount',
        label: t.amount,
        hint: operator === 'whole' && !asPayout ? t.refunds.wholeOnly(leftText) : t.refunds.amountHint(leftText),
        value: fieldOf(request, 'amount'),
        attributes: html`inputmode="decimal" autocomplete="off"`,
      },
      {
        name: 'reason',
        label: t.refunds.reason,
        hint: t.refunds.reasonHint,
        value: fieldOf(request, 'reason', MAX_REASON),
        attributes: html`maxlength="${MAX_REASON}"`,
      },
      asPayout && html`<p class="muted">${operator === 'none' ? t.refunds.cannotRefund : t.refunds.partAsPayout}</p>`,
      asPayout && {
        type: 'checkbox',
        name: 'as_payout',
        label: t.refunds.asPayout(`+${collection.msisdn ?? ''}`),
        checked: fieldOf(request, 'as_payout') === 'yes',
      },
      html`<p>${t.refunds.walletPays} ${holder.payouts_need_approval && t.refunds.secondPerson}</p>`,
      onceField(ctx),
    ],
    submit: t.refunds.button,
  });
}

async function refund(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder } = request;
  const isSent = () => isFormUsed(ctx.db, holder.id, fieldOf(request, 'once', 40));
  try {
    return await orderRefund(request);
  } catch (error) {
    // What is left may be nothing because this very form has refunded it.
    const isRepeated = error instanceof FormUsedError || (error instanceof Problem && (await isSent()));
    if (!isRepeated) throw error;
    return redirect(request, `/console/transactions/${encodeURIComponent(paramOf(request, 'ref'))}`, 'formAlreadySent');
  }
}

async function orderRefund(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, services, actor, holder, t } = request;
  const { collection } = await requireRefundable(request);
  const typed = fieldOf(request, 'amount');
  const amount = typed === '' ? null : readTypedAmount(typed, request.language, { currency: collection.currency });
  if (amount && !amount.ok) return refundPage(request, { amount: [amount.sentence] });
  const formId = fieldOf(request, 'once', 40);
  const wanted = {
    collection: refOf(collection),
    amount: amount?.amount ?? null,
    reason: fieldOf(request, 'reason', MAX_REASON),
    asPayout: fieldOf(request, 'as_payout') === 'yes',
  };
  try {
    const made = await createRefund(ctx, services.payments.engine, actor, holder.id, wanted, {
      within: (tx) => useForm(tx, ctx, holder.id, formId),
    });
    const done = made.approval === 'waiting' ? 'refundNeedsApproval' : 'refundRequested';
    return redirect(request, `/console/transactions/${refOf(made)}`, done);
  } catch (error) {
    if (!(error instanceof Problem) || (await isFormUsed(ctx.db, holder.id, formId))) throw error;
    if (error.code === 'refund_too_large') {
      const { left } = (await requireRefundable(request)).refundable;
      return refundPage(request, { amount: [t.refunds.tooMuch(money(request, left, collection.currency))] });
    }
    if (error.code === 'overdraft') return refundPage(request, { amount: [t.refunds.insufficientBalance] });
    if (error.code === 'limit_reached') return refundPage(request, { amount: [t.limitReached] });
    if (error instanceof BlockedNumberProblem)
      return refundPage(request, { amount: [t.numberBlocked(`+${error.msisdn}`)] });
    if (error instanceof RefundDecimalsProblem)
      return refundPage(request, { amount: [AMOUNT_SENTENCES[request.language].tooManyDecimals(error.most)] });
    if (error.details.errors?.as_payout) return refundPage(request, { as_payout: [t.refunds.chooseAsPayout] });
    throw error;
  }
}
