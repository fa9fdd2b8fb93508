// The audit log for admins: what concerns the gateway itself, and the download of all of it as lines of JSON.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { listAudit } from '../holders/audit.ts';
import { exportAudit } from '../holders/audit-chain.ts';
import { Problem } from '../platform/errors.ts';
import { html } from '../platform/html.ts';
import { auditTable } from './audit-page.ts';
import { pager } from './components.ts';
import { idOf, type MemberRequest, queryOf } from './console-request.ts';
import { form } from './form-components.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

export const auditExportRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/audit', listPage),
  forAdmin('GET', '/admin/audit.jsonl', download, { confirm: true }),
];

async function listPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const after = queryOf(request, 'after', 20);
  const rows = await listAudit(ctx.db, null, PAGE_ROWS, after === '' ? undefined : idOf(after));
  const last = rows.at(-1);
  return renderPage(request, {
    title: t.menu.auditExport,
    lead: t.auditExport.lead,
    active: 'auditExport',
    body: html`
      <div class="card">
        <p>${t.auditExport.help}</p>
        ${form(request, {
          action: '/admin/audit.jsonl',
          method: 'get',
          fields: [{ name: 'since', label: t.auditExport.since, type: 'date' }],
          submit: t.auditExport.download,
        })}
      </div>
      ${auditTable(request, t.menu.auditExport, rows)}
      ${pager(request, rows.length === PAGE_ROWS && last ? `/console/admin/audit?after=${last.id}` : null)}
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
