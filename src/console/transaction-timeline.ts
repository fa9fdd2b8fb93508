// The timeline of a transaction, newest first: how it was created and by whom, what the operator reported, what was held or
// returned, which callbacks were sent, which reviews were opened, and what the team noted.

import type { Delivery } from '../callbacks/resend.ts';
import type { LoggedRequest } from '../holders/request-log.ts';
import type { TransferKind } from '../ledger/postings.ts';
import type { TransferLine } from '../ledger/reports.ts';
import { linkId } from '../links/links.ts';
import type { Evidence } from '../payments/evidence.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { exactTimeTag } from './components.ts';
import { type HolderRequest, type MemberRequest, money } from './console-request.ts';
import { refundTag } from './refund-page.ts';
import { evidenceEntries, type TimelineEntry } from './timeline-evidence.ts';
import type { TransactionDetails } from './transaction-details.ts';

const STATUS_ROUTE = /status$/;

/** Posted together with a result of the operator, which the timeline has already. */
const POSTED_WITH_RESULT: ReadonlySet<TransferKind> = new Set<TransferKind>([
  'collection',
  'collection_fee',
  'collection_reversal',
  'collection_fee_reversal',
  'payout',
  'payout_fee',
  'payout_reversal',
  'payout_fee_reversal',
  'refund',
  'refund_fee',
]);

export function timeline(request: HolderRequest, details: TransactionDetails): Html {
  const { t } = request;
  const posted = details.transfers.length > 0 && html`<a href="#ledger">${t.transaction.posted}</a>`;
  // Entries of the same time keep this order: the sort is stable.
  const entries = [
    ...creationEntries(request, details),
    ...ledgerEntries(request, details),
    ...evidenceEntries(request, details.transaction, details.evidence.entries, posted),
    ...refundEntries(request, details),
    ...details.deliveries.flatMap((delivery) => deliveryEntries(request, delivery)),
    ...receiptEntries(request, details),
    ...caseEntries(request, details),
    ...peopleEntries(request, details),
  ];
  entries.sort((left, right) => endOf(left) - endOf(right));
  return html`
    <ol class="timeline">${entries.toReversed().map((entry) => timelineItem(request, entry))}</ol>
    ${olderReports(request, details)}
    ${details.evidenceArchived && html`<p class="muted">${t.transaction.archived}</p>`}
  `;
}

function endOf({ at, until }: TimelineEntry): number {
  return (until ?? at).getTime();
}

/** The timeline shows a page of the operator's reports: the newest, or older ones on request. */
function olderReports({ t }: HolderRequest, { evidence, transaction }: TransactionDetails): Html | false {
  if (evidence.older === null) return false;
  const href = `/console/transactions/${refOf(transaction)}?reports_before=${evidence.older}`;
  return html`<p><a href="${href}">${t.transaction.olderReports}</a></p>`;
}

/** The reports of the operator alone, newest first. */
export function evidenceTimeline(
  request: MemberRequest,
  transaction: Transaction,
  evidence: readonly Evidence[],
): Html {
  const entries = evidenceEntries(request, transaction, evidence).toReversed();
  return html`<ol class="timeline">${entries.map((entry) => timelineItem(request, entry))}</ol>`;
}

function timelineItem(request: MemberRequest, { at, until, tone, title, body }: TimelineEntry): Html {
  return html`
    <li class="${tone}">
      <span class="timeline-time">
        ${exactTimeTag(request, at)}${until && html` – ${exactTimeTag(request, until)}`}
      </span>
      <b>${title}</b>
      ${body}
    </li>
  `;
}

function creationEntries(request: HolderRequest, details: TransactionDetails): TimelineEntry[] {
  const { t } = request;
  const { transaction, requests } = details;
  const order = details.order ?? details.refund;
  const [first, ...others] = requests;
  const isFirst = first !== undefined && first.status < 400;
  const entries: TimelineEntry[] = [
    {
      at: transaction.created_at,
      tone: '',
      title: creationTitle(request, details),
      body: creationFacts(request, details, isFirst ? first : null),
    },
    ...(isFirst ? others : requests).flatMap((logged) => requestEntry(request, logged)),
  ];
  if (order?.approved_at && order.approved_by)
    entries.push({
      at: order.approved_at,
      tone: 'success',
      title: t.transaction.approvedBy(details.nameOf(order.approved_by)),
    });
  return entries;
}

function creationTitle({ t }: HolderRequest, details: TransactionDetails): string {
  const { transaction, order, refund, retryFor } = details;
  const by = retryFor?.created_by ?? (order ?? refund)?.created_by;
  if (by) return t.transaction.createdBy(details.nameOf(by));
  if (transaction.link_id) return t.transaction.createdFromLink;
  return transaction.integration_id ? t.transaction.createdByApi : t.transaction.createdInConsole;
}

function creationFacts({ t }: HolderRequest, details: TransactionDetails, logged: LoggedRequest | null): Html {
  const { transaction, integration, link, order, refund } = details;
  const byProgram = transaction.integration_id !== null && !order && !refund && !link;
  const parts: HtmlValue[] = [
    byProgram && integration && t.transaction.createdByIntegration(integration.title),
    link?.item_name && html`<bdi>${link.item_name}</bdi>`,
    transaction.reference_1 && html`<bdi>${transaction.reference_1}</bdi>`,
    logged && requestLink(t.transaction.requestId, logged),
  ].filter(Boolean);
  return html`<span class="muted">${parts.map((part, index) => html`${index > 0 && ' · '}${part}`)}</span>`;
}

function requestLink(label: string, { id }: LoggedRequest): Html {
  const ref = publicId('req', id);
  return html`${label} <a href="/console/requests?id=${ref}">${ref.slice(0, 12)}…</a>`;
}

/** Programs that only read the status tell nothing about it. */
function requestEntry({ t }: HolderRequest, logged: LoggedRequest): TimelineEntry[] {
  const accepted = logged.status < 400;
  if (accepted && STATUS_ROUTE.test(logged.route)) return [];
  const result = logged.code ? `${logged.status} ${logged.code}` : String(logged.status);
  const facts = [logged.route, result, `${Math.round(logged.ms)} ms`, logged.address].join(' · ');
  return [
    {
      at: logged.at,
      tone: accepted ? '' : 'error',
      title: accepted ? t.transaction.createdByApi : t.transaction.requestRejected,
      body: html`<span class="muted wrap">${facts} · ${requestLink(t.transaction.requestId, logged)}</span>`,
    },
  ];
}

/** Movements that have no result of the operator beside them: money held, returned, or put into suspense. */
function ledgerEntries(request: HolderRequest, { transfers }: TransactionDetails): TimelineEntry[] {
  return transfers
    .filter(({ kind }) => !POSTED_WITH_RESULT.has(kind))
    .map((transfer) => ({ at: transfer.posted_at, tone: '', title: transferTitle(request, transfer) }));
}

function transferTitle(request: HolderRequest, { kind, amount, currency }: TransferLine): string {
  const { t } = request;
  const shown = money(request, amount, currency);
  if (kind === 'payout_reserve' || kind === 'refund_reserve') return t.transaction.held(shown);
  if (kind === 'payout_release' || kind === 'refund_release') return t.transaction.released(shown);
  return `${withColon(request, t.transfers[kind])} ${shown}`;
}

function refundEntries(request: HolderRequest, details: TransactionDetails): TimelineEntry[] {
  const { t } = request;
  return details.refunds.map((each) => ({
    at: each.created_at,
    tone: '',
    title: html`
      <a href="/console/transactions/${refOf(each)}">
        ${t.refunds.create} ${money(request, each.amount, each.currency)}
      </a>
    `,
    body: html`
      <span class="muted">
        ${t.refunds.requestedBy} <bdi>${details.nameOf(each.created_by)}</bdi>
      </span>${' '}${refundTag(request, each)}
    `,
  }));
}

function deliveryEntries(request: HolderRequest, delivery: Delivery): TimelineEntry[] {
  const { t } = request;
  const entries: TimelineEntry[] = [];
  for (const run of attemptRuns(delivery.attempts)) {
    const [first] = run;
    const last = run.at(-1) ?? first;
    const line = (attempt: typeof first) => `${attempt.status ?? attempt.error ?? '–'} · ${attempt.latencyMs} ms`;
    entries.push({
      at: first.at,
      ...(run.length > 1 ? { until: last.at } : {}),
      tone: first.delivered ? 'success' : 'warning',
      title: first.delivered
        ? t.transaction.delivered(delivery.type)
        : t.transaction.notDelivered(delivery.type, run.length),
      body: html`
        <span class="muted wrap">${delivery.url} → ${line(last)}</span>
        ${
          run.length > 1 &&
          html`
            <details>
              <summary>${t.transaction.showAttempts}</summary>
              ${run.map((attempt) => html`<p class="muted">${exactTimeTag(request, attempt.at)}${line(attempt)}</p>`)}
            </details>
          `
        }
      `,
    });
  }
  return entries;
}

type AttemptRun = [Delivery['attempts'][number], ...Delivery['attempts'][number][]];

/** Attempts in the order they were made; failures in a row are one run. */
function attemptRuns(attempts: Delivery['attempts']): AttemptRun[] {
  const runs: AttemptRun[] = [];
  for (const attempt of attempts.toSorted((left, right) => left.at.getTime() - right.at.getTime())) {
    const run = runs.at(-1);
    if (run && !attempt.delivered && !run[0].delivered) run.push(attempt);
    else runs.push([attempt]);
  }
  return runs;
}

/** The receipt by SMS. While it is being sent, and after a crash, nobody knows whether it arrived. */
function receiptEntries({ t }: HolderRequest, { receiptText }: TransactionDetails): TimelineEntry[] {
  if (receiptText === null) return [];
  const tone = receiptText.state === 'sent' ? 'success' : 'warning';
  return [{ at: receiptText.started_at, tone, title: t.transaction.receiptTexts[receiptText.state] }];
}

function caseEntries({ t }: HolderRequest, details: TransactionDetails): TimelineEntry[] {
  return details.cases.flatMap((each) => {
    const opened: TimelineEntry = {
      at: each.opened_at,
      tone: 'warning',
      title: t.cases.opened,
      body: html`
        <a href="/console/cases/${publicId('case', each.id)}">${t.cases.kinds[each.kind]}</a>
      `,
    };
    if (!each.resolved_at) return [opened];
    const closed: TimelineEntry = {
      at: each.resolved_at,
      tone: 'success',
      title: t.cases.resolvedBy(details.nameOf(each.resolved_by ?? '')),
      body: html`<bdi class="muted">${each.resolution}</bdi>`,
    };
    return [opened, closed];
  });
}

/** What people of the team did: notes and retries. */
function peopleEntries({ t }: HolderRequest, details: TransactionDetails): TimelineEntry[] {
  const notes = details.notes.map(
    (note): TimelineEntry => ({
      at: note.created_at,
      tone: 'neutral',
      title: t.transaction.noteBy(details.nameOf(note.created_by)),
      body: html`<bdi class="note">${note.body}</bdi>`,
    }),
  );
  const retries = details.retries.map(
    (retry): TimelineEntry => ({
      at: retry.created_at,
      tone: '',
      title: t.transaction.retriedBy(details.nameOf(retry.created_by)),
      body:
        retry.transaction_id === null
          ? html`<a href="/console/links/${linkId({ id: retry.link_id ?? '' })}">${t.transaction.retryLink}</a>`
          : html`
              <a href="/console/transactions/${refOf({ id: retry.transaction_id })}">
                ${refOf({ id: retry.transaction_id })}
              </a>
              ${retry.status && html` <span class="muted">${t.status[retry.status]}</span>`}
            `,
    }),
  );
  return [...notes, ...retries];
}
