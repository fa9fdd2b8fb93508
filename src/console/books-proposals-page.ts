// Proposals about breaks: the list, one of them with the result of each break, and the second person who approves it.

import type { FastifyReply } from 'fastify';
import {
  approveProposal,
  BREAK_ACTIONS,
  type BreakDecider,
  type BreakProposal,
  findProposal,
  listProposals,
  listProposedBreaks,
  MAX_PROPOSAL_REASON,
  MAX_PROPOSED_BREAKS,
  proposeForBreaks,
  rejectProposal,
} from '../books/break-proposals.ts';
import { type Break, readBreaks } from '../books/breaks.ts';
import { type FieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { dataTable, emptyState, facts, status, type Tone, tag, who } from '../ui/components.ts';
import { BOOKS_PATH, BOOKS_STYLE, booksBreadcrumbs, dayText, difference } from './books-components.ts';
import { proposeForm } from './break-proposal-form.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, type MemberRequest, paramOf, queryOf } from './console-request.ts';
import { form, postButton } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;
const MAX_WAITING = 10;
const UUID_AND_SPACE = 37;

export const booksProposalRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/books/proposals', listPage),
  forAdmin('POST', '/admin/books/proposals', propose, { largeForm: true }),
  forAdmin('GET', '/admin/books/proposals/:id', proposalPage),
  forAdmin('POST', '/admin/books/proposals/:id/approve', approve, { confirm: true }),
  forAdmin('POST', '/admin/books/proposals/:id/reject', reject),
];

const TONES: Record<BreakProposal['status'], Tone> = { proposed: 'warning', approved: 'success', rejected: 'neutral' };
const RESULT_TONES: Record<keyof MemberRequest['t']['books']['results'], Tone> = {
  applied: 'success',
  resolved: 'success',
  unchanged: 'error',
  gone: 'neutral',
  rejected: 'neutral',
  waiting: 'warning',
};

function deciderOf({ session }: MemberRequest): BreakDecider {
  return { memberId: session.member.id, name: session.member.email };
}

async function listPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const before = queryOf(request, 'before', 40);
  const rows = await listProposals(ctx.db, { before: isUuid(before) ? before : null, limit: PAGE_ROWS + 1 });
  const proposals = rows.slice(0, PAGE_ROWS);
  const last = rows.length > PAGE_ROWS ? proposals.at(-1) : undefined;
  return renderPage(request, {
    title: t.books.proposals,
    lead: t.books.proposalsLead,
    breadcrumbs: booksBreadcrumbs(request, t.books.proposals),
    active: 'books',
    styles: [BOOKS_STYLE],
    body: html`
      ${
        proposals.length === 0
          ? emptyState(t.books.noProposals, t.books.noProposalsText, false, 'users')
          : proposalTable(request, proposals)
      }
      ${pager(request, last ? `${BOOKS_PATH}/proposals?before=${last.id}` : null)}
    `,
  });
}

export function proposalTable(request: MemberRequest, proposals: readonly BreakProposal[]): Html {
  const { t } = request;
  return dataTable(
    t.books.proposals,
    [
      { label: t.books.proposal, phone: 'main' },
      { label: t.books.breaks, right: true, phone: 'amount' },
      { label: t.books.proposedBy },
      { label: t.state, phone: 'status' },
      { label: t.time },
    ],
    proposals.map((each) => [
      who(t.books.actions[each.action], html`<bdi>${each.reason}</bdi>`, {
        href: `${BOOKS_PATH}/proposals/${each.id}`,
      }),
      each.breaks,
      html`<bdi>${each.proposed_by}</bdi>`,
      status(TONES[each.status], t.books.proposalStatuses[each.status]),
      timeTag(request, each.proposed_at),
    ]),
  );
}

/** Those that wait for a second person, as a card. */
export async function waitingBreakProposals(request: MemberRequest): Promise<Html | false> {
  const waiting = await listProposals(request.ctx.db, { before: null, limit: MAX_WAITING, waiting: true });
  if (waiting.length === 0) return false;
  return html`
    <section class="card" id="waiting-proposals">
      <h2>${request.t.books.waitingProposals}</h2>
      ${proposalTable(request, waiting)}
    </section>
  `;
}

async function requireProposal(request: MemberRequest): Promise<BreakProposal> {
  const id = paramOf(request, 'id');
  const proposal = isUuid(id) ? await findProposal(request.ctx.db, id) : null;
  if (!proposal) throw new Problem('not_found');
  return proposal;
}

async function proposalPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const proposal = await requireProposal(request);
  const items = await listProposedBreaks(ctx.db, proposal.id);
  const breaks = await readBreaks(
    ctx.db,
    items.map((each) => each.break_id),
  );
  const results = new Map(items.map((each) => [each.break_id, each.result ?? ('waiting' as const)]));
  return renderPage(request, {
    title: t.books.actions[proposal.action],
    lead: t.books.actionTexts[proposal.action],
    breadcrumbs: booksBreadcrumbs(request, t.books.proposal, [t.books.proposals, `${BOOKS_PATH}/proposals`]),
    badge: tag(TONES[proposal.status], t.books.proposalStatuses[proposal.status]),
    active: 'books',
    styles: [BOOKS_STYLE],
    body: html`
      <section class="card">
        ${facts([
          [t.books.reason, html`<bdi>${proposal.reason}</bdi>`],
          [t.books.breaks, proposal.breaks],
          [t.books.proposedBy, html`<bdi>${proposal.proposed_by}</bdi> · ${timeTag(request, proposal.proposed_at)}`],
          [
            t.books.decidedBy,
            proposal.decided_by !== null &&
              html`<bdi>${proposal.decided_by}</bdi> · ${timeTag(request, proposal.decided_at)}`,
          ],
        ])}
        ${proposalButtons(request, proposal)}
      </section>
      ${resultTable(request, breaks, (each) => results.get(each.id) ?? 'waiting')}
    `,
  });
}

function resultTable(
  request: MemberRequest,
  breaks: readonly Break[],
  resultOf: (each: Break) => keyof MemberRequest['t']['books']['results'],
): Html {
  const { t } = request;
  return dataTable(
    t.books.breaks,
    [
      { label: t.books.break, phone: 'main' },
      { label: t.books.day },
      { label: t.books.difference, right: true, phone: 'amount' },
      { label: t.books.result, phone: 'status' },
    ],
    breaks.map((each) => [
      who(t.books.kinds[each.kind], each.connection, { href: `${BOOKS_PATH}/breaks/${each.id}` }),
      dayText(request, each.day),
      difference(request, each.difference, each.currency),
      status(RESULT_TONES[resultOf(each)], t.books.results[resultOf(each)]),
    ]),
  );
}

/** Approve and Reject for the second person, Withdraw for the first; Continue where an approved one was broken off. */
function proposalButtons(request: MemberRequest, proposal: BreakProposal): Html | false {
  const { t, session } = request;
  const path = `/admin/books/proposals/${proposal.id}`;
  const isOwn = proposal.proposed_by_member === session.member.id;
  if (proposal.status === 'approved' && proposal.waiting > 0)
    return html`
      <p class="box warning">${t.books.brokenOff(proposal.waiting)}</p>
      ${!isOwn && form(request, { action: `${path}/approve`, submit: t.books.continue })}
    `;
  if (proposal.status !== 'proposed') return false;
  if (isOwn)
    return html`
      <p class="box neutral">${t.books.youProposed}</p>
      ${postButton(request, `${path}/reject`, t.books.withdraw, { variant: 'secondary' })}
    `;
  return html`
    <div class="actions">
      ${form(request, { action: `${path}/approve`, submit: t.books.approve })}
      ${' '}
      ${postButton(request, `${path}/reject`, t.books.reject, { variant: 'danger' })}
    </div>
  `;
}

async function propose(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const ids = fieldOf(request, 'breaks', MAX_PROPOSED_BREAKS * UUID_AND_SPACE)
    .split(' ')
    .filter((id) => isUuid(id));
  const breaks = (await readBreaks(ctx.db, ids)).filter((each) => each.status === 'open');
  if (breaks.length === 0) throw new Problem('invalid_params', { message: t.books.nothingSelected });
  const reason = fieldOf(request, 'reason', MAX_PROPOSAL_REASON);
  const action = BREAK_ACTIONS.find((each) => each === fieldOf(request, 'action'));
  const errors: FieldErrors = {
    ...(action ? {} : { action: [t.fieldRequired] }),
    ...(reason.length < 3 ? { reason: [t.books.reasonMissing] } : {}),
  };
  if (!action || reason.length < 3) return againPage(request, breaks, errors);
  const id = await proposeForBreaks(ctx, deciderOf(request), { action, reason, breakIds: ids });
  return redirect(request, `${BOOKS_PATH}/proposals/${id}`, 'decisionProposed');
}

async function againPage(request: MemberRequest, breaks: readonly Break[], errors: FieldErrors): Promise<FastifyReply> {
  const { t } = request;
  return renderPage(request, {
    title: t.books.selectedTitle(breaks.length),
    breadcrumbs: booksBreadcrumbs(request, t.books.propose, [t.books.breaks, `${BOOKS_PATH}/breaks`]),
    active: 'books',
    styles: [BOOKS_STYLE],
    status: 400,
    body: html`<section class="card">${await proposeForm(request, breaks, errors)}</section>`,
  });
}

async function approve(request: MemberRequest): Promise<FastifyReply> {
  const { id } = await requireProposal(request);
  await approveProposal(request.ctx, deciderOf(request), id);
  return redirect(request, `${BOOKS_PATH}/proposals/${id}`, 'decisionApproved');
}

async function reject(request: MemberRequest): Promise<FastifyReply> {
  const { id } = await requireProposal(request);
  await rejectProposal(request.ctx, deciderOf(request), id);
  return redirect(request, `${BOOKS_PATH}/proposals/${id}`, 'decisionRejected');
}
