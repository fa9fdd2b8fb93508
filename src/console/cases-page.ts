// The holder's open cases: what the gateway could not decide by itself.

import type { FastifyReply } from 'fastify';
import { type Case, listOpenCases } from '../payments/cases.ts';
import { refOf } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { caseDetails } from './case-details.ts';
import { emptyState, timeTag } from './components.ts';
import type { HolderRequest } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

const MAX_CASES = 200;

export const caseRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/cases', listPage)];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const cases = await listOpenCases(ctx.db, holder.id, MAX_CASES);
  return renderPage(request, {
    title: t.menu.cases,
    lead: t.cases.lead,
    active: 'cases',
    body:
      cases.length === 0
        ? emptyState(t.cases.none, t.cases.noneText)
        : html`${cases.map((each) => caseCard(request, each))}`,
  });
}

function caseCard(request: HolderRequest, each: Case): Html {
  const { t } = request;
  const ref = each.transaction_id && refOf({ id: each.transaction_id });
  return html`
    <div class="card">
      ${caseDetails(request, each)}
      <p class="muted">
        ${timeTag(each.opened_at)}
        ${ref && html` · <a href="/console/transactions/${ref}">${t.callbacks.toFile}</a>`}
      </p>
    </div>
  `;
}
