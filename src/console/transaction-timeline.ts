// The timeline of a transaction: how it was created, what the operator reported, what was posted to the ledger, which
// callbacks were sent and which cases were opened, in order.

import type { LoggedRequest } from '../holders/request-log.ts';
import type { Evidence } from '../payments/evidence.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { maskNumber } from '../platform/log.ts';
import type { Tone } from '../ui/components.ts';
import { timeTag } from './components.ts';
import type { HolderRequest, MemberRequest } from './console-request.ts';
import type { TransactionDetails } from './transaction-details.ts';

type TimelineEntry = { at: Date; tone: Tone | ''; title: string; body?: HtmlValue };

const EVIDENCE_TONES: Record<string, Tone | ''> = {
  succeeded: 'success',
  failed: 'error',
  reversed: 'warning',
  unknown: 'warning',
  pending: '',
};

export function timeline(request: HolderRequest, details: TransactionDetails): Html {
  // Entries of the same time keep this order: the sort is stable.
  const entries = [
    ...creationEntries(request, details),
    ...details.evidence.entries.map((evidence) => evidenceEntry(request, details.transaction, evidence)),
    ...ledgerEntries(request, details),
    ...deliveryEntries(request, details),
    ...caseEntries(request, details),
  ];
  entries.sort((left, right) => left.at.getTime() - right.at.getTime());
  return html`
    ${olderReports(request, details)}
    <ol class="timeline">${entries.map((entry) => timelineItem(request, entry))}</ol>
  `;
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
  const entries = evidence.map((entry) => evidenceEntry(request, transaction, entry)).toReversed();
  return html`<ol class="timeline">${entries.map((entry) => timelineItem(request, entry))}</ol>`;
}

function timelineItem(request: MemberRequest, { at, tone, title, body }: TimelineEntry): Html {
  return html`
    <li class="${tone}">
      ${timeTag(request, at)}
      <b>${title}</b>
      ${body}
    </li>
  `;
}

function creationEntries(request: HolderRequest, details: TransactionDetails): TimelineEntry[] {
  const { t } = request;
  const { transaction, requests } = details;
  const order = details.order ?? details.refund;
  const created: TimelineEntry = {
    at: transaction.created_at,
    tone: '',
    title: creationTitle(request, details),
    body: t.transaction.verification[transaction.verification],
  };
  const entries = [created, ...requests.map((logged) => requestEntry(request, logged))];
  if (order?.approved_at && order.approved_by)
    entries.push({ at: order.approved_at, tone: 'success', title: t.transaction.approvedBy(order.approved_by) });
  return entries;
}

function creationTitle({ t }: HolderRequest, { transaction, order, refund }: TransactionDetails): string {
  const by = (order ?? refund)?.created_by;
  if (by) return t.transaction.createdBy(by);
  if (transaction.link_id) return t.transaction.createdFromLink;
  return transaction.integration_id ? t.transaction.createdByApi : t.transaction.createdInConsole;
}

function requestEntry({ t }: HolderRequest, logged: LoggedRequest): TimelineEntry {
  const accepted = logged.status < 400;
  const id = publicId('req', logged.id);
  const result = logged.code ? `${logged.status} ${logged.code}` : String(logged.status);
  const facts = [result, `${Math.round(logged.ms)} ms`, logged.address].join(' · ');
  return {
    at: logged.at,
    tone: accepted ? 'success' : 'error',
    title: accepted ? t.transaction.requestAccepted : t.transaction.requestRejected,
    body: html`<code>${logged.route}</code> → ${facts} · <a href="/console/requests?id=${id}">${id}</a>`,
  };
}

function evidenceEntry({ t }: MemberRequest, transaction: Transaction, evidence: Evidence): TimelineEntry {
  const state = t.transaction.states[evidence.state as keyof typeof t.transaction.states] ?? evidence.state;
  const effect = t.transaction.effects[evidence.effect as keyof typeof t.transaction.effects] ?? evidence.effect;
  const rawLabel = evidence.source === 'person' ? t.transaction.decision : t.transaction.rawResponse;
  return {
    at: evidence.at,
    tone: EVIDENCE_TONES[evidence.state] ?? '',
    title: t.transaction.sources[evidence.source](state),
    body: html`
      ${effect}
      ${evidence.failure_code && html` <code>${evidence.failure_code}</code>`}
      ${evidence.receipt && html` · ${t.transaction.receipt} <code>${evidence.receipt}</code>`}
      ${
        evidence.raw !== '' &&
        html`
          <details>
            <summary>${rawLabel}</summary>
            <pre tabindex="0" aria-label="${rawLabel}">${maskNumbers(transaction, evidence.raw)}</pre>
          </details>
        `
      }
    `,
  };
}

/** An operator's message with every phone number masked. */
function maskNumbers({ msisdn }: Transaction, raw: string): string {
  const text = msisdn ? raw.replaceAll(msisdn, maskNumber(msisdn)) : raw;
  return text.replace(/\d{9,15}/g, (digits) => maskNumber(digits));
}

function ledgerEntries({ t }: HolderRequest, { transfers }: TransactionDetails): TimelineEntry[] {
  const [first] = transfers;
  if (!first) return [];
  return [{ at: first.posted_at, tone: 'success', title: t.transaction.posted, body: t.transaction.postedText }];
}

function deliveryEntries({ t }: HolderRequest, { deliveries }: TransactionDetails): TimelineEntry[] {
  return deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt) => ({
      at: attempt.at,
      tone: attempt.delivered ? 'success' : 'warning',
      title: attempt.delivered ? t.transaction.delivered(delivery.type) : t.transaction.notDelivered(delivery.type),
      body: html`${delivery.url} → ${attempt.status ?? attempt.error ?? '–'} · ${attempt.latencyMs} ms`,
    })),
  );
}

function caseEntries({ t }: HolderRequest, { cases }: TransactionDetails): TimelineEntry[] {
  return cases.flatMap((each) => {
    const opened: TimelineEntry = {
      at: each.opened_at,
      tone: 'warning',
      title: `${t.cases.opened}: ${t.cases.kinds[each.kind]}`,
    };
    if (!each.resolved_at) return [opened];
    const closed: TimelineEntry = {
      at: each.resolved_at,
      tone: 'success',
      title: t.cases.resolvedBy(each.resolved_by ?? ''),
      body: html`<bdi>${each.resolution}</bdi>`,
    };
    return [opened, closed];
  });
}
