// What can be done to a transaction from its page: the buttons that its state and the member's role allow, and the
// handlers behind them.

import type { FastifyReply } from 'fastify';
import { resendEvent } from '../callbacks/resend.ts';
import { approvePayout, approveRefund, cancelPayout, cancelRefund } from '../payments/order-decisions.ts';
import { payoutFileRef } from '../payments/payout-files.ts';
import type { PayoutOrderRow } from '../payments/payout-orders.ts';
import type { Refund } from '../payments/refund-orders.ts';
import { findFresh } from '../payments/status.ts';
import { idFromRef, refOf } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { isRefundId } from '../platform/ids.ts';
import { fieldOf, type HolderRequest, paramOf } from './console-request.ts';
import { form, postButton } from './form-components.ts';
import { redirect } from './layout.ts';
import { waitsForApproval } from './refund-page.ts';
import { BUILDERS, type ConsoleRoute, forRoles, TREASURERS } from './route.ts';
import { requireTransaction, type TransactionDetails } from './transaction-details.ts';
import { receiptMenu } from './transaction-receipt.ts';
import { retryButton } from './transaction-retry.ts';

export const transactionActionRoutes: ConsoleRoute[] = [
  forRoles(BUILDERS, 'POST', '/transactions/:ref/refresh', refresh),
  forRoles(BUILDERS, 'POST', '/transactions/:ref/resend', resend),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/approve', approve, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/transactions/:ref/cancel', cancel, { confirm: true, whenSuspended: true }),
];

/** The buttons beside the title. */
export async function actionButtons(request: HolderRequest, details: TransactionDetails): Promise<Html> {
  const { role } = request;
  return html`
    ${await receiptMenu(request, details)}
    ${BUILDERS.includes(role) && refreshButton(request, details)}
    ${TREASURERS.includes(role) && moneyButtons(request, details)}
    ${refundButton(request, details)}
    ${retryButton(request, details)}
  `;
}

function refundButton({ t, role }: HolderRequest, { transaction, refundable }: TransactionDetails): Html | false {
  if (refundable === null || refundable.left === 0n || !TREASURERS.includes(role)) return false;
  const path = `/console/transactions/${refOf(transaction)}/refund`;
  return html`<a class="button button-secondary" href="${path}">${t.refunds.create}…</a>`;
}

function refreshButton(request: HolderRequest, { transaction }: TransactionDetails): Html | false {
  if (transaction.status !== 'processing') return false;
  const path = `/transactions/${refOf(transaction)}/refresh`;
  return postButton(request, path, request.t.transaction.refresh, { variant: 'secondary' });
}

/** Approve and cancel, where the order still waits. The payouts of a file are decided together, on the page of the file. */
function moneyButtons(request: HolderRequest, { transaction, order, refund }: TransactionDetails): Html[] {
  const { t } = request;
  const path = `/transactions/${refOf(transaction)}`;
  const isPending = transaction.status === 'pending';
  const isAlone = order !== null && !isDecidedInFile(order);
  const buttons: (Html | false)[] = [
    isAlone &&
      order.waits_for_approval &&
      order.created_by_member !== request.session.member.id &&
      postButton(request, `${path}/approve`, t.payouts.approve),
    isAlone && isPending && cancelButton(request, path, t.payouts.cancel, t.payouts.cancelMeaning),
    refund !== null && canApprove(request, refund) && postButton(request, `${path}/approve`, t.refunds.approve),
    refund !== null && isPending && cancelButton(request, path, t.refunds.cancel, t.refunds.cancelMeaning),
  ];
  return buttons.filter((button) => button !== false);
}

function isDecidedInFile(order: PayoutOrderRow): boolean {
  return order.waits_for_approval && order.batch_id !== null;
}

/** The button that cancels appears after its meaning was unfolded. */
function cancelButton(request: HolderRequest, path: string, label: string, meaning: string): Html {
  return html`
    <details class="unfold">
      <summary class="button button-danger">${label}…</summary>
      <div class="popover">
        <p>${meaning}</p>
        ${form(request, { action: `${path}/cancel`, submit: label, variant: 'danger' })}
      </div>
    </details>
  `;
}

/** Why this member cannot approve what waits. */
export function approvalNote(request: HolderRequest, { order, refund }: TransactionDetails): Html | false {
  const { t, role, session } = request;
  if (!TREASURERS.includes(role)) return false;
  if (order && isDecidedInFile(order) && order.batch_id !== null)
    return html`
      <p class="box neutral">
        <a href="/console/payouts/files/${payoutFileRef(order.batch_id)}">${t.payouts.partOfFile}</a>
      </p>
    `;
  if (order?.waits_for_approval && order.created_by_member === session.member.id)
    return html`<p class="box neutral">${t.payouts.needsSecondApprover}</p>`;
  return (
    refund !== null &&
    waitsForApproval(refund) &&
    refund.created_by_member === session.member.id &&
    html`<p class="box neutral">${t.refunds.needsSecondApprover}</p>`
  );
}

function canApprove({ session }: HolderRequest, refund: Refund): boolean {
  return waitsForApproval(refund) && refund.created_by_member !== session.member.id;
}

function pageOf(request: HolderRequest): string {
  return `/console/transactions/${paramOf(request, 'ref')}`;
}

function isRefund(request: HolderRequest): boolean {
  const id = idFromRef(paramOf(request, 'ref'));
  return id !== null && isRefundId(id);
}

async function refresh(request: HolderRequest): Promise<FastifyReply> {
  await requireTransaction(request);
  await findFresh(request.ctx, request.services.payments.engine, request.holder.id, paramOf(request, 'ref'));
  return redirect(request, pageOf(request), 'operatorAsked');
}

async function resend(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, actor, services } = request;
  await requireTransaction(request);
  const event = fieldOf(request, 'event', 60);
  await resendEvent(ctx, holder.id, event, actor);
  services.deliverer.wake();
  return redirect(request, pageOf(request), 'callbackResent');
}

async function approve(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, services, actor, holder } = request;
  const approveThis = isRefund(request) ? approveRefund : approvePayout;
  await approveThis(ctx, services.payments.engine, actor, holder.id, paramOf(request, 'ref'));
  return redirect(request, pageOf(request), isRefund(request) ? 'refundApproved' : 'payoutApproved');
}

async function cancel(request: HolderRequest): Promise<FastifyReply> {
  const cancelThis = isRefund(request) ? cancelRefund : cancelPayout;
  await cancelThis(request.ctx, request.actor, request.holder.id, paramOf(request, 'ref'));
  return redirect(request, pageOf(request), isRefund(request) ? 'refundCancelled' : 'payoutCancelled');
}
