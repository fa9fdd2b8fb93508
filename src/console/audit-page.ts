// The audit log of a holder: who did what, and when.

import type { FastifyReply } from 'fastify';
import { type AuditRow, listAudit } from '../holders/audit.ts';
import { listTeam } from '../holders/members.ts';
import { type Html, html, styleFile } from '../platform/html.ts';
import { emptyState } from '../ui/components.ts';
import { auditList } from './audit-entries.ts';
import { auditFilterForm, auditQuery, readAuditFilter } from './audit-filter.ts';
import { pager } from './components.ts';
import type { HolderRequest, MemberRequest } from './console-request.ts';
import { exportButton } from './csv-export.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

export const AUDIT_PAGE_ROWS = 50;
export const AUDIT_STYLE = styleFile(new URL('./audit.css', import.meta.url));

export const auditRoutes: ConsoleRoute[] = [forRoles(EVERYONE, 'GET', '/audit', listPage)];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const [rows, team] = await Promise.all([
    listAudit(ctx.db, holder.id, AUDIT_PAGE_ROWS, readAuditFilter(request)),
    listTeam(ctx.db, holder.id),
  ]);
  return renderPage(request, {
    title: t.menu.audit,
    lead: t.auditLead,
    active: 'audit',
    styles: [AUDIT_STYLE],
    actions: exportButton(request, '/console/audit.csv', auditQuery(request)),
    body: html`
      ${auditFilterForm(request, '/audit', team)}
      ${auditEntries(request, '/audit', t.menu.audit, rows)}
    `,
  });
}

/** The entries of a page, and the link to older ones. */
export function auditEntries(request: MemberRequest, path: string, caption: string, rows: readonly AuditRow[]): Html {
  const { t } = request;
  const last = rows.length === AUDIT_PAGE_ROWS ? rows.at(-1) : undefined;
  if (rows.length === 0) return emptyState(t.audit.none, t.audit.noneText, false, 'scroll-text');
  return html`
    ${auditList(request, caption, rows)}
    ${pager(request, last ? `/console${path}?${auditQuery(request, { after: String(last.id) })}` : null)}
  `;
}
