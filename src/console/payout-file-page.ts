// Files of payouts: the lists of files, and the page of one with its sums, its rows and the decision about the whole.

import type { FastifyReply } from 'fastify';
import { approvePayoutFile, cancelPayoutFile } from '../payments/payout-file-decisions.ts';
import { type PayoutTotal, payoutFileIdOf, payoutFileRef } from '../payments/payout-files.ts';
import {
  findPayoutFile,
  listFilePayouts,
  listWaitingFiles,
  type PayoutFileSummary,
} from '../payments/payout-orders.ts';
import type { Status } from '../payments/states.ts';
import { refOf } from '../payments/transactions.ts';
import { Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, facts, figureCard, tag } from '../ui/components.ts';
import { pager, statusTag, timeTag } from './components.ts';
import { type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { dangerForm, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, TREASURERS } from './route.ts';
import { teamNames } from './team-names.ts';

const PAGE_ROWS = 100;
const LIVE_SECONDS = 5;
const MAX_LINE = 1_000_000;

export const payoutFileRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/payouts/files/:ref', filePage),
  forRoles(TREASURERS, 'POST', '/payouts/files/:ref/approve', approve, { confirm: true }),
  forRoles(TREASURERS, 'POST', '/payouts/files/:ref/cancel', cancel, { confirm: true, whenSuspended: true }),
];

/** The sum of each currency, with its fees. */
export function totalCards(request: HolderRequest, totals: readonly (readonly [string, PayoutTotal])[]): Html {
  const { t } = request;
  const card = ([currency, { payouts, amount, fee }]: readonly [string, PayoutTotal]) =>
    figureCard(t.payouts.count(payouts), money(request, amount, currency), `${t.fee} ${money(request, fee, currency)}`);
  return html`<div class="cards">${totals.map(card)}</div>`;
}

function fileLink({ id, name }: PayoutFileSummary): Html {
  return html`<a href="/console/payouts/files/${payoutFileRef(id)}"><bdi>${name}</bdi></a>`;
}

function sumsOf(request: HolderRequest, { totals }: PayoutFileSummary): string {
  return totals.map(([currency, { amount }]) => money(request, amount, currency)).join(', ');
}

/** The files that wait for approval, one line each; nothing when there is none. */
export async function waitingFiles(request: HolderRequest): Promise<Html | false> {
  const { ctx, t, holder } = request;
  const files = await listWaitingFiles(ctx.db, holder.id);
  if (files.length === 0) return false;
  return html`
    <h2>${t.payouts.filesWaiting}</h2>
    ${dataTable(
      t.payouts.filesWaiting,
      [
        { label: t.payouts.listName },
        { label: t.menu.payouts, right: true },
        { label: t.amount, right: true },
        { label: t.payouts.createdBy },
        { label: t.action },
      ],
      files.map((file) => [
        fileLink(file),
        file.payouts,
        sumsOf(request, file),
        html`<bdi>${file.created_by}</bdi>`,
        approveButton(request, file),
      ]),
    )}
  `;
}

/** The button for a member who may approve: not the one who ordered the file. */
function approveButton(request: HolderRequest, file: PayoutFileSummary): Html | false {
  const { t, role, session } = request;
  if (!TREASURERS.includes(role) || file.created_by_member === session.member.id) return false;
  return postButton(request, `/payouts/files/${payoutFileRef(file.id)}/approve`, t.payouts.approveFile(file.payouts));
}

/** Every file with how far it is. */
export function fileTable(request: HolderRequest, files: readonly PayoutFileSummary[]): Html {
  const { t } = request;
  return dataTable(
    t.payouts.lists,
    [
      { label: t.payouts.listName },
      { label: t.payouts.progress },
      { label: t.payouts.createdBy },
      { label: t.created },
    ],
    files.map((file) => [
      fileLink(file),
      progressOf(request, file),
      html`<bdi>${file.created_by}</bdi>`,
      timeTag(request, file.created_at),
    ]),
  );
}

function progressOf(request: HolderRequest, file: PayoutFileSummary): Html {
  const { t } = request;
  if (file.cancelled_at) return tag('neutral', t.payouts.fileCancelled);
  if (file.waits_for_approval) return tag('warning', t.payouts.needsApproval);
  const { success = 0, failed = 0, reversed = 0 } = file.states;
  const finished = success + failed + reversed;
  const label = `${withColon(request, t.payouts.progress)} ${file.name}`;
  return html`
    <progress max="${Math.max(1, file.payouts)}" value="${finished}" aria-label="${label}"></progress>
    <span class="muted">${t.payouts.progressText(finished, file.payouts, failed)}</span>
  `;
}

async function requireFile(request: HolderRequest): Promise<PayoutFileSummary> {
  const id = payoutFileIdOf(paramOf(request, 'ref'));
  const file = id === null ? null : await findPayoutFile(request.ctx.db, request.holder.id, id);
  if (!file) throw new Problem('not_found');
  return file;
}

async function filePage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder } = request;
  const file = await requireFile(request);
  const after = Math.min(MAX_LINE, Number(/^\d+$/.exec(queryOf(request, 'after', 7))?.[0] ?? 0));
  const [rows, nameOf] = await Promise.all([
    listFilePayouts(ctx.db, holder.id, file.id, { after, limit: PAGE_ROWS }),
    teamNames(request),
  ]);
  const last = rows.length === PAGE_ROWS ? rows.at(-1) : undefined;
  const isMoving = !file.waits_for_approval && ((file.states.pending ?? 0) > 0 || (file.states.processing ?? 0) > 0);
  const path = `/console/payouts/files/${payoutFileRef(file.id)}`;
  return renderPage(request, {
    title: file.name,
    active: 'payouts',
    ...(isMoving ? { live: LIVE_SECONDS } : {}),
    body: html`
      ${totalCards(request, file.totals)}
      <div class="card">${fileFacts(request, file, nameOf)}${decisionForms(request, file)}</div>
      ${rowTable(request, rows)}
      ${pager(request, last ? `${path}?after=${last.line}` : null)}
    `,
  });
}

function fileFacts(request: HolderRequest, file: PayoutFileSummary, nameOf: (recorded: string) => string): Html {
  const { t } = request;
  const states = Object.entries(file.states) as [Status, number][];
  const byAndAt = (by: string | null, at: Date | null) =>
    by !== null && html`<bdi>${nameOf(by)}</bdi>, ${timeTag(request, at)}`;
  return facts([
    [t.state, file.waits_for_approval ? tag('warning', t.payouts.needsApproval) : progressOf(request, file)],
    [t.payouts.fileStates, states.map(([status, count]) => html`${statusTag(request, status, 'payout')} ${count} `)],
    [t.payouts.createdBy, byAndAt(file.created_by, file.created_at)],
    [t.payouts.approvedBy, byAndAt(file.approved_by, file.approved_at)],
    [t.payouts.cancelledBy, byAndAt(file.cancelled_by, file.cancelled_at)],
    [t.reference, html`<code>${payoutFileRef(file.id)}</code>`],
  ]);
}

/** One decision about the whole file, or about what was not sent of it. */
function decisionForms(request: HolderRequest, file: PayoutFileSummary): Html | false {
  const { t, role, session } = request;
  const unsent = file.states.pending ?? 0;
  const isSent = unsent < file.payouts;
  if (!TREASURERS.includes(role) || file.cancelled_at || unsent === 0) return false;
  const isOwn = file.created_by_member === session.member.id;
  return html`
    <div class="actions">
      ${file.waits_for_approval && isOwn && html`<p class="box neutral">${t.payouts.fileNeedsSecondApprover}</p>`}
      ${file.waits_for_approval && approveButton(request, file)}
      ${dangerForm(
        request,
        `/payouts/files/${payoutFileRef(file.id)}/cancel`,
        isSent ? t.payouts.cancelRest : t.payouts.cancelFile,
        isSent ? t.payouts.cancelRestMeaning : t.payouts.cancelFileMeaning,
      )}
    </div>
  `;
}

function rowTable(request: HolderRequest, rows: Awaited<ReturnType<typeof listFilePayouts>>): Html {
  const { t } = request;
  return dataTable(
    t.menu.payouts,
    [
      { label: t.payouts.row, right: true },
      { label: t.payee },
      { label: t.state },
      { label: t.amount, right: true },
      { label: t.invoice },
    ],
    rows.map((row) => [
      row.line,
      html`
        <a href="/console/transactions/${refOf(row)}"><bdi>${row.payee ?? `+${row.msisdn}`}</bdi></a>
        ${row.payee && html`<span class="muted"><bdi>+${row.msisdn}</bdi></span>`}
      `,
      statusTag(request, row.status, 'payout'),
      money(request, row.amount, row.currency),
      row.invoice_no && html`<bdi>${row.invoice_no}</bdi>`,
    ]),
  );
}

async function approve(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, services, actor, holder } = request;
  const ref = paramOf(request, 'ref');
  await approvePayoutFile(ctx, services.payments.engine, actor, holder.id, ref);
  return redirect(request, `/console/payouts/files/${ref}`, 'fileApproved');
}

async function cancel(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, actor, holder } = request;
  const ref = paramOf(request, 'ref');
  const { sent } = await cancelPayoutFile(ctx, actor, holder.id, ref);
  return redirect(request, `/console/payouts/files/${ref}`, sent === 0 ? 'fileCancelled' : 'fileStopped');
}
