// The audit log for admins: what concerns the gateway itself, and the download of all of it as lines of JSON.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { listAudit } from '../holders/audit.ts';
import { exportAudit } from '../holders/audit-chain.ts';
import { listAdmins } from '../holders/members.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { auditFilterForm, readAuditFilter } from './audit-filter.ts';
import { AUDIT_PAGE_ROWS, AUDIT_STYLE, auditEntries } from './audit-page.ts';
import { type MemberRequest, queryOf } from './console-request.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export const auditExportRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/audit', listPage),
  forAdmin('GET', '/admin/audit.jsonl', download, { confirm: true }),
];

async function listPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const [rows, admins] = await Promise.all([
    listAudit(ctx.db, null, AUDIT_PAGE_ROWS, readAuditFilter(request)),
    listAdmins(ctx.db),
  ]);
  return renderPage(request, {
    title: t.menu.auditExport,
    lead: t.auditExport.lead,
    active: 'auditExport',
    styles: [AUDIT_STYLE],
    body: html`
      ${auditFilterForm(request, '/admin/audit', admins)}
      ${auditEntries(request, '/admin/audit', t.menu.auditExport, rows)}
      <div class="card">
        <h2>${t.auditExport.download}</h2>
        <p class="muted">${t.auditExport.help}</p>
        ${form(request, {
          action: '/admin/audit.jsonl',
          method: 'get',
          fields: [{ name: 'since', label: t.auditExport.since, type: 'date' }],
          submit: t.auditExport.download,
          variant: 'secondary',
        })}
      </div>
    `,
  });
}

/** Streamed page by page: the memory of one page, however long the log is. */
async function download(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, reply } = request;
  const since = readDay(queryOf(request, 'since', 10));
  async function* lines(): AsyncGenerator<string> {
    for await (const page of exportAudit(ctx.db, { since })) yield `${page.join('\n')}\n`;
  }
  return reply
    .type('application/x-ndjson; charset=utf-8')
    .header('Content-Disposition', 'attachment; filename="audit.jsonl"')
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(Readable.from(lines(), { objectMode: false }));
}

function readDay(text: string): Date | null {
  if (text === '') return null;
  const day = new Date(`${text}T00:00:00Z`);
  if (!DAY.test(text) || Number.isNaN(day.getTime())) throw new Problem('invalid_params');
  return day;
}
