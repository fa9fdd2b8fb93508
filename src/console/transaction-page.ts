// The page of one transaction: its facts, its timeline, its ledger entries, its callbacks and its open cases.

import type { FastifyReply } from 'fastify';
import type { Delivery } from '../callbacks/resend.ts';
import type { TransferLine } from '../ledger/reports.ts';
import { linkId } from '../links/links.ts';
import type { Refund } from '../payments/refund-orders.ts';
import { isFinal } from '../payments/states.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { dataTable, facts } from '../ui/components.ts';
import { caseDetails } from './case-details.ts';
import { codeBlock, statusTag, timeTag } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import { deliveryDetails } from './delivery-details.ts';
import { renderPage } from './layout.ts';
import { refundSection, refundTag } from './refund-page.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { REFUND_STATUS_PATH, STATUS_PATH, writeSamples } from './samples.ts';
import { actionButtons } from './transaction-actions.ts';
import { readTransactionDetails, type TransactionDetails } from './transaction-details.ts';
import { methodName } from './transaction-table.ts';
import { timeline } from './transaction-timeline.ts';

const LIVE_SECONDS = 3;

export const transactionPageRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/transactions/:ref', transactionPage)];

async function transactionPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const details = await readTransactionDetails(request);
  const { transaction, transfers, deliveries, cases } = details;
  const isOpen = !isFinal(transaction.status) || deliveries.some((delivery) => delivery.status === 'waiting');
  const openCases = cases.filter((each) => each.status === 'open');
  return renderPage(request, {
    title: money(request, transaction.amount, transaction.currency),
    active: transaction.direction === 'payout' ? 'payouts' : 'transactions',
    ...(isOpen ? { live: LIVE_SECONDS } : {}),
    body: html`
      ${statusLine(request, details)}
      ${phoneNote(request, transaction)}
      ${openCases.map((each) => html`<div class="box warning">${caseDetails(request, each, '/cases')}</div>`)}
      <div class="card">
        ${facts(transactionFacts(request, details))}
        ${actionButtons(request, details)}
      </div>
      ${refundSection(request, details)}
      <div class="columns">
        <section class="card">
          <h2>${t.transaction.timeline}</h2>
          ${timeline(request, details)}
        </section>
        <div>
          <section class="card">
            <h2>${t.transaction.ledger}</h2>
            ${ledgerTable(request, transfers)}
          </section>
          <section class="card">
            <h2>${t.menu.callbacks}</h2>
            ${callbackList(request, refOf(transaction), deliveries)}
          </section>
        </div>
      </div>
      ${codeSamples(request, details)}
    `,
  });
}

function statusLine(request: HolderRequest, { transaction, refund }: TransactionDetails): Html {
  const { t } = request;
  return html`
    <p>
      ${refund ? refundTag(request, refund) : statusTag(request, transaction.status, transaction.direction)}
      ${' '}
      <code id="ref">${refOf(transaction)}</code>
      ${' '}
      <button type="button" class="button-link" data-copy="#ref" data-done="${t.copied}" hidden>${t.copy}</button>
    </p>
  `;
}

/** In sandbox mode the viewer is also the payer and needs the test phone. */
function phoneNote({ ctx, t }: HolderRequest, { status, direction, msisdn }: Transaction): Html | false {
  if (ctx.config.mode !== 'sandbox' || isFinal(status) || direction !== 'collection') return false;
  return html`
    <p class="box neutral">
      ${t.transaction.waitingForPayer}
      ${' '}
      <a href="/sandbox/phone?n=${msisdn ?? ''}" target="_blank" rel="noopener">${t.testPhone}</a>
    </p>
  `;
}

function transactionFacts(request: HolderRequest, details: TransactionDetails): [string, HtmlValue][] {
  const { t, ctx } = request;
  const { transaction, order, refund } = details;
  const { currency, balance_after: balance } = transaction;
  const country = ctx.catalog.methods.get(transaction.method)?.country.name ?? '';
  const references = [transaction.reference_1, transaction.reference_2].filter(Boolean).join(' · ');
  return [
    [t.transactions.type, t.directions[transaction.direction]],
    [t.fee, transaction.direction !== 'refund' && money(request, transaction.fee, currency)],
    [t.method, `${methodName(request, transaction.method)} · ${country}`],
    [t.number, transaction.msisdn && html`<bdi>+${transaction.msisdn}</bdi>`],
    [t.payee, transaction.payee && html`<bdi>${transaction.payee}</bdi>`],
    [t.invoice, transaction.invoice_no && html`<bdi>${transaction.invoice_no}</bdi>`],
    [t.yourReference, references && html`<bdi>${references}</bdi>`],
    [t.transaction.receipt, transaction.receipt && html`<code>${transaction.receipt}</code>`],
    [t.transaction.operatorReference, transaction.rail_reference && html`<code>${transaction.rail_reference}</code>`],
    [t.transaction.failureReason, failureOf(transaction)],
    [t.transaction.balanceAfter, balance === null ? null : money(request, balance, currency)],
    [t.menu.links, transaction.link_id && linkOf(transaction.link_id)],
    [t.integrations.callbackUrl, transaction.callback_url],
    [t.payouts.createdBy, order?.created_by],
    [t.payouts.approvedBy, order?.approved_by],
    ...(refund ? refundFacts(request, refund) : []),
    [t.created, timeTag(request, transaction.created_at)],
    [t.transaction.settled, timeTag(request, transaction.settled_at)],
  ];
}

function refundFacts(request: HolderRequest, refund: Refund): [string, HtmlValue][] {
  const { t } = request;
  const collection = refOf({ id: refund.collection_id });
  const returned = refund.fee_returned;
  return [
    [t.refunds.collection, html`<a href="/console/transactions/${collection}">${collection}</a>`],
    [t.refunds.reasonGiven, refund.reason && html`<bdi>${refund.reason}</bdi>`],
    [t.refunds.feeReturned, returned > 0n && money(request, returned, refund.currency)],
    [t.refunds.sentAsPayout, refund.as_payout && t.yes],
    [t.refunds.requestedBy, html`<bdi>${refund.created_by}</bdi>`],
    [t.payouts.approvedBy, refund.approved_by && html`<bdi>${refund.approved_by}</bdi>`],
    [t.refunds.cancelledBy, refund.cancelled_by && html`<bdi>${refund.cancelled_by}</bdi>`],
  ];
}

function failureOf({ failure_code: code, failure_message: message }: Transaction): Html | null {
  return code === null ? null : html`${message} <span class="muted">${code}</span>`;
}

function linkOf(id: string): Html {
  return html`<a href="/console/links/${linkId({ id })}">${linkId({ id })}</a>`;
}

function ledgerTable(request: HolderRequest, transfers: readonly TransferLine[]): Html {
  const { t } = request;
  if (transfers.length === 0) return html`<p class="muted">${t.transaction.noLedger}</p>`;
  return dataTable(
    t.transaction.ledger,
    [{ label: t.transactions.type }, { label: t.from }, { label: t.to }, { label: t.amount, right: true }],
    transfers.map((transfer) => [
      t.transfers[transfer.kind],
      accountName(request, transfer.debit),
      accountName(request, transfer.credit),
      money(request, transfer.amount, transfer.currency),
    ]),
  );
}

/** The name of a ledger account; its key appears on hover. */
function accountName({ t }: HolderRequest, key: string): Html {
  const [kind] = key.split(':');
  const names: Record<string, string> = {
    wallet: key.endsWith(':reserved') ? t.accounts.reserved : t.accounts.available,
    clearing: t.accounts.clearing,
    fees: t.accounts.fees,
    suspense: t.accounts.suspense,
    receivable: t.accounts.receivable,
    'write-offs': t.accounts.writeOffs,
  };
  return html`<span title="${key}">${names[kind ?? ''] ?? t.accounts.funding}</span>`;
}

function callbackList(request: HolderRequest, ref: string, deliveries: readonly Delivery[]): Html | Html[] {
  if (deliveries.length === 0) return html`<p class="muted">${request.t.callbacks.noneYet}</p>`;
  const resendPath = `/transactions/${ref}/resend`;
  return deliveries.map((delivery) => html`<div>${deliveryDetails(request, delivery, resendPath)}</div>`);
}

/** The status request as a program sends it. The secret is a placeholder. */
function codeSamples(request: HolderRequest, { transaction, refund }: TransactionDetails): Html {
  const { ctx, t } = request;
  const ref = refOf(transaction);
  const command = refund ? `refund list ${refOf({ id: refund.collection_id })}` : `transaction ${ref}`;
  const samples = writeSamples(
    { baseUrl: publicUrl(ctx.config), clientId: 'YOUR_CLIENT_ID', sender: 'YOUR_SENDER', secretKey: 'YOUR_SECRET_KEY' },
    { id: ref },
    refund ? REFUND_STATUS_PATH : STATUS_PATH,
  );
  return html`
    <details class="card">
      <summary>${t.transaction.copyAs}</summary>
      <h3>CLI</h3>
      ${codeBlock(request, 'as-cli', `npx simbi ${command} --json`, 'CLI')}
      <h3>curl</h3>
      ${codeBlock(request, 'as-curl', samples.curl, 'curl')}
      <h3>TypeScript</h3>
      ${codeBlock(request, 'as-typescript', samples.typescript, 'TypeScript')}
    </details>
  `;
}
