// The page of one transaction: who, how much, which status and what one can do; its timeline; the money as an addition; the
// callbacks; and everything else that is known, behind a click.

import type { FastifyReply } from 'fastify';
import { failureMessage, isFailureCode } from '../catalog/failures.ts';
import { formatNumber } from '../catalog/phone.ts';
import { linkId } from '../links/links.ts';
import { findWait } from '../payments/float-waits.ts';
import { payoutFileRef } from '../payments/payout-files.ts';
import type { Refund } from '../payments/refund-orders.ts';
import { isFinal } from '../payments/states.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, type HtmlValue, html, styleFile } from '../platform/html.ts';
import { shortId } from '../platform/ids.ts';
import { breadcrumbs, facts, tag } from '../ui/components.ts';
import { caseDetails } from './case-details.ts';
import { statusTag, timeTag } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import { renderPage } from './layout.ts';
import { countryName, methodName } from './names.ts';
import { refundSection, refundTag } from './refund-page.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { failureText } from './timeline-evidence.ts';
import { actionButtons, approvalNote } from './transaction-actions.ts';
import { callbackCards } from './transaction-callbacks.ts';
import { readTransactionDetails, type TransactionDetails } from './transaction-details.ts';
import { moneyCard } from './transaction-money.ts';
import { noteForm } from './transaction-notes.ts';
import { codeSamples } from './transaction-samples.ts';

import { timeline } from './transaction-timeline.ts';

const LIVE_SECONDS = 3;
const STYLE = styleFile(new URL('./transaction.css', import.meta.url));

export const transactionPageRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/transactions/:ref', transactionPage)];

async function transactionPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const details = await readTransactionDetails(request);
  const { transaction, deliveries, cases } = details;
  const isOpen = !isFinal(transaction.status) || deliveries.some((delivery) => delivery.status === 'waiting');
  const openCases = cases.filter((each) => each.status === 'open');
  return renderPage(request, {
    title: money(request, transaction.amount, transaction.currency),
    titleDetail: refOf(transaction),
    breadcrumbs: pathTo(request, transaction),
    badge: statusBadge(request, details),
    lead: whoLine(request, details),
    actions: await actionButtons(request, details),
    active: transaction.direction === 'payout' ? 'payouts' : 'transactions',
    styles: [STYLE],
    ...(isOpen ? { live: LIVE_SECONDS } : {}),
    body: html`
      ${approvalNote(request, details)}
      ${phoneNote(request, transaction)}
      ${await floatNote(request, transaction)}
      ${openCases.map((each) => html`<div class="box warning">${caseDetails(request, each, '/cases')}</div>`)}
      <div class="columns-wide">
        <div>
          <section class="card">
            <h2>${t.transaction.timeline}</h2>
            ${timeline(request, details)}
            ${noteForm(request, details)}
          </section>
          ${refundSection(request, details)}
          ${codeSamples(request, details)}
        </div>
        <div>
          ${moneyCard(request, details)}
          ${callbackCards(request, details)}
          ${detailsCard(request, details)}
        </div>
      </div>
    `,
  });
}

function pathTo({ t }: HolderRequest, transaction: Transaction): Html {
  const ref = refOf(transaction);
  const parent =
    transaction.direction === 'payout'
      ? ([t.menu.payouts, '/console/payouts'] as const)
      : ([t.menu.transactions, '/console/transactions'] as const);
  const here = html`<code title="${ref}">${ref.slice(0, 3)}…${shortId(ref)}</code>`;
  return breadcrumbs(t.transaction.breadcrumbs, [parent], here);
}

/** Succeeded and failed are filled here: it is the one status of the page. */
function statusBadge(request: HolderRequest, { transaction, refund, order }: TransactionDetails): Html {
  const { t } = request;
  if (refund) return refundTag(request, refund);
  if (order?.waits_for_approval) return tag('warning', t.payouts.needsApproval);
  const reason = failureText(request, transaction.failure_code);
  if (transaction.status === 'success') return tag('success', t.status.success);
  return html`
    ${statusTag(request, transaction.status, transaction.direction)}
    ${reason !== null && html` <span class="muted">${reason}</span>`}
  `;
}

/** Who, the number as people say it, how and when. */
function whoLine(request: HolderRequest, { transaction, payer, link }: TransactionDetails): Html {
  const { msisdn, account_number: account, payee } = transaction;
  const linkName = [link?.first_name, link?.last_name].filter(Boolean).join(' ');
  const name = payee ?? payer?.name ?? (linkName === '' ? null : linkName);
  const number = msisdn === null ? account : formatNumber(msisdn);
  const parts: HtmlValue[] = [
    transaction.direction !== 'collection' && request.t.directions[transaction.direction],
    name && html`<bdi>${name}</bdi>`,
    number && html`<bdi title="${msisdn === null ? '' : `+${msisdn}`}">${number}</bdi>`,
    methodName(request, transaction.method),
    timeTag(request, transaction.created_at),
  ].filter(Boolean);
  return html`${parts.map((part, index) => html`${index > 0 && ' · '}${part}`)}`;
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

/** A payout that was not sent, because the account with the operator does not hold enough. */
async function floatNote(request: HolderRequest, transaction: Transaction): Promise<Html | false> {
  const since = transaction.direction === 'payout' ? await findWait(request.ctx.db, transaction) : null;
  if (since === null) return false;
  const { float } = request.t;
  return html`<p class="box warning">${float.payoutWaits} ${timeTag(request, since)}. ${float.payoutWaitsText}</p>`;
}

/** In the language of the page, unless a person wrote it. */
function failureReason(
  { t }: HolderRequest,
  { failure_code: code, failure_message: message }: Transaction,
): string | null {
  if (code === null || !isFailureCode(code)) return message ?? code;
  return message === null || message === failureMessage(code) ? t.failures[code][0] : message;
}

/** What one looks for first is open; the rest is behind a click. */
function detailsCard(request: HolderRequest, details: TransactionDetails): Html {
  const { t } = request;
  const { transaction, order, refund, link, retryFor } = details;
  const ref = refOf(transaction);
  const references = [transaction.reference_1, transaction.reference_2].filter(Boolean).join(' · ');
  const file = order?.batch_id ? payoutFileRef(order.batch_id) : null;
  return html`
    <section class="card">
      <h2>${t.transaction.details}</h2>
      ${facts([
        [t.yourReference, references && html`<bdi>${references}</bdi>`],
        [t.links.item, link?.item_name && html`<bdi>${link.item_name}</bdi>`],
        [t.invoice, transaction.invoice_no && html`<bdi>${transaction.invoice_no}</bdi>`],
        [t.transaction.receipt, transaction.receipt && html`<code>${transaction.receipt}</code>`],
        [t.transaction.failureReason, failureReason(request, transaction)],
        [
          t.transaction.paymentLink,
          link && html`<a href="/console/links/${linkId(link)}">${link.item_name ?? linkId(link)}</a>`,
        ],
        [t.transaction.payoutFile, file && html`<a href="/console/payouts/files/${file}">${t.payouts.partOfFile}</a>`],
        [t.transaction.retryOf, retryFor && transactionPath(retryFor.retry_of)],
        ...(refund ? refundFacts(request, refund, details) : []),
      ])}
      <div class="copyline">
        <code id="ref">${ref}</code>
        <button type="button" class="button-secondary" data-copy="#ref" data-done="${t.copied}" hidden>${t.copy}</button>
      </div>
      <details>
        <summary>${t.transaction.more}</summary>
        ${facts(furtherFacts(request, details))}
      </details>
    </section>
  `;
}

function transactionPath(id: string): Html {
  return html`<a href="/console/transactions/${refOf({ id })}"><code>${refOf({ id })}</code></a>`;
}

function furtherFacts(request: HolderRequest, details: TransactionDetails): [string, HtmlValue][] {
  const { t, ctx } = request;
  const { transaction, order, integration } = details;
  const country = ctx.catalog.methods.get(transaction.method)?.country;
  return [
    [t.transactions.type, t.directions[transaction.direction]],
    [t.method, `${methodName(request, transaction.method)} · ${country ? countryName(request, country.iso) : ''}`],
    [t.number, transaction.msisdn && html`<bdi>+${transaction.msisdn}</bdi>`],
    [t.transaction.operatorReference, transaction.rail_reference && html`<code>${transaction.rail_reference}</code>`],
    [t.transaction.integration, transaction.integration_id === null ? null : integration?.title],
    [t.integrations.callbackUrl, transaction.callback_url],
    [t.payouts.createdBy, order && details.nameOf(order.created_by)],
    [t.payouts.approvedBy, order?.approved_by && details.nameOf(order.approved_by)],
    [t.created, timeTag(request, transaction.created_at)],
    [t.transaction.settled, timeTag(request, transaction.settled_at)],
  ];
}

function refundFacts(request: HolderRequest, refund: Refund, details: TransactionDetails): [string, HtmlValue][] {
  const { t } = request;
  return [
    [t.refunds.collection, transactionPath(refund.collection_id)],
    [t.refunds.reasonGiven, refund.reason && html`<bdi>${refund.reason}</bdi>`],
    [t.refunds.sentAsPayout, refund.as_payout && t.yes],
    [t.refunds.requestedBy, html`<bdi>${details.nameOf(refund.created_by)}</bdi>`],
    [t.payouts.approvedBy, refund.approved_by && html`<bdi>${details.nameOf(refund.approved_by)}</bdi>`],
    [t.refunds.cancelledBy, refund.cancelled_by && html`<bdi>${details.nameOf(refund.cancelled_by)}</bdi>`],
  ];
}
