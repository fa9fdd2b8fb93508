// What operators reported, for admins: references that nobody knows, values that could not be applied, money that arrived, and
// messages that proved nothing. Each list leads to the case that a person decides.

import type { FastifyReply } from 'fastify';
import { listReports, type OperatorReport, REPORT_LISTS, type ReportList } from '../payments/operator-reports.ts';
import { refOf } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { publicId } from '../platform/ids.ts';
import { dataTable, emptyState, tag } from '../ui/components.ts';
import { pager, timeTag } from './components.ts';
import { type MemberRequest, money, queryOf } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;
const MAX_CURSOR = 600;
const PATH = '/console/admin/reports';

export const operatorReportRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/reports', reportsPage)];

async function reportsPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const asked = queryOf(request, 'list');
  const list = REPORT_LISTS.find((each) => each === asked) ?? 'unmatched';
  const { reports, next } = await listReports(ctx.db, list, queryOf(request, 'after', MAX_CURSOR), PAGE_ROWS);
  return renderPage(request, {
    title: t.menu.reports,
    lead: t.reports.leads[list],
    active: 'reports',
    body: html`
      <p>${REPORT_LISTS.map((each) => listLink(request, each, each === list))}</p>
      ${reports.length === 0 ? emptyState(t.reports.none, t.reports.noneText) : reportTable(request, list, reports)}
      ${pager(request, next === null ? null : `${PATH}?list=${list}&after=${next}`)}
    `,
  });
}

function listLink({ t }: MemberRequest, list: ReportList, isCurrent: boolean): Html {
  return html`<a href="${PATH}?list=${list}"${isCurrent && html` aria-current="true"`}>${t.reports.lists[list]}</a> `;
}

function reportTable(request: MemberRequest, list: ReportList, reports: readonly OperatorReport[]): Html {
  const { t } = request;
  return dataTable(
    t.reports.lists[list],
    [
      { label: t.time },
      { label: t.admin.rail },
      { label: t.reports.reference },
      { label: t.amount, right: true },
      { label: t.reports.said },
      { label: t.reports.leadsTo },
    ],
    reports.map((each) => [
      timeTag(request, each.received_at),
      each.rail,
      referenceCell(each),
      each.amount !== null && each.currency !== null && money(request, each.amount, each.currency),
      saidCell(request, each),
      useCell(request, each),
    ]),
  );
}

function referenceCell({ reference, receipt }: OperatorReport): Html {
  return html`
    ${reference !== null && html`<code>${reference}</code>`}
    ${receipt !== null && html` <span class="muted"><code>${receipt}</code></span>`}
  `;
}

function saidCell({ t }: MemberRequest, { said, times, raw }: OperatorReport): Html {
  return html`
    <bdi class="wrap">${said}</bdi>
    ${times > 1 && html` <span class="muted">× ${times}</span>`}
    ${raw && html`<details><summary>${t.details}</summary><pre tabindex="0" aria-label="${t.details}">${raw}</pre></details>`}
  `;
}

function useCell({ t }: MemberRequest, each: OperatorReport): Html | false {
  if (each.transaction_id === null && each.case_id === null) return false;
  return html`
    ${each.transaction_id !== null && html`<code>${refOf({ id: each.transaction_id })}</code> `}
    ${
      each.case_id !== null &&
      html`
        <code>${publicId('case', each.case_id)}</code>
        ${tag(each.case_open ? 'warning' : 'success', each.case_open ? t.reports.open : t.reports.decided)}
      `
    }
  `;
}
