// The audit log of a holder: who did what, and when.

import type { FastifyReply } from 'fastify';
import { type AuditRow, listAudit } from '../holders/audit.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable } from '../ui/components.ts';
import { pager, timeTag, transactionLink } from './components.ts';
import { type HolderRequest, idOf, type MemberRequest, money, queryOf } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

const PAGE_ROWS = 50;

export const auditRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/audit', listPage)];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const after = queryOf(request, 'after', 20);
  const rows = await listAudit(request.ctx.db, request.holder.id, PAGE_ROWS, after === '' ? undefined : idOf(after));
  const last = rows.at(-1);
  return renderPage(request, {
    title: t.menu.audit,
    lead: t.auditLead,
    active: 'audit',
    actions: exportButton(request, '/console/audit.csv'),
    body: html`
      ${auditTable(request, t.menu.audit, rows)}
      ${pager(request, rows.length === PAGE_ROWS && last ? `/console/audit?after=${last.id}` : null)}
    `,
  });
}

export function auditTable(request: MemberRequest, caption: string, rows: readonly AuditRow[]): Html {
  const { t } = request;
  return dataTable(
    caption,
    [t.time, t.user, t.action, t.subject, t.details].map((label) => ({ label })),
    rows.map((row) => [
      timeTag(request, row.at),
      html`<bdi>${row.actor}</bdi>`,
      html`<code>${row.action}</code>`,
      subjectCell(row.subject),
      detailsCell(request, row.details),
    ]),
  );
}

function subjectCell(subject: string): Html | string {
  if (/^TX_\w{26}$/.test(subject)) return transactionLink(subject);
  return subject === '' ? '' : html`<bdi>${subject}</bdi>`;
}

/** Names and values; an amount is stored in hundredths of its currency. */
function detailsCell(request: MemberRequest, details: Record<string, unknown>): Html | string {
  const { amount, currency, ...rest } = details;
  const texts = Object.entries(rest).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  if (typeof amount === 'string' && typeof currency === 'string' && /^\d{1,18}$/.test(amount))
    texts.unshift(money(request, BigInt(amount), currency));
  return texts.length === 0 ? '' : html`<bdi class="wrap">${texts.join(' · ')}</bdi>`;
}
