// One statement, for admins: how far it is read, its bad lines and why, the lines that it brought, and the original.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { findFile, readProblems, type StatementFile, type StatementProblem } from '../books/statement-files.ts';
import { type OperatorLine, readLinesOfFile } from '../books/statement-lines.ts';
import { originalOf } from '../books/statement-original.ts';
import { Problem } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, facts } from '../ui/components.ts';
import { BOOKS_PATH, linkButton } from './books-components.ts';
import { pager, timeTag } from './components.ts';
import { idOf, type MemberRequest, money, paramOf, queryOf } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';
import { statementState } from './statements-page.ts';

const PAGE_ROWS = 50;

export const statementFileRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/rails/:name/statements/:id', filePage),
  forAdmin('GET', '/admin/rails/:name/statements/:id/original', sendOriginal),
];

async function requireFile(request: MemberRequest): Promise<StatementFile> {
  const file = await findFile(request.ctx.db, idOf(paramOf(request, 'id')));
  if (file?.connection !== paramOf(request, 'name')) throw new Problem('not_found');
  return file;
}

const lineOf = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : 0);

async function filePage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const file = await requireFile(request);
  const path = `/console/admin/rails/${file.connection}/statements/${file.id}`;
  const problems = await readProblems(ctx.db, file.id, {
    after: lineOf(queryOf(request, 'problem')),
    limit: PAGE_ROWS,
  });
  const lines = await readLinesOfFile(ctx.db, file.id, { after: lineOf(queryOf(request, 'after')), limit: PAGE_ROWS });
  const next = (rows: readonly { lineNumber: number }[], name: string) =>
    rows.length === PAGE_ROWS ? `${path}?${name}=${rows.at(-1)?.lineNumber ?? 0}` : null;
  return renderPage(request, {
    title: file.name,
    lead: `${file.connection}, ${file.format}, ${file.zone}`,
    active: 'rails',
    actions: html`
      <a class="button button-secondary" href="${path}/original">${t.statements.original}</a>
      ${linkButton(BOOKS_PATH, 'calendar', t.menu.books)}
    `,
    body: html`
      ${stateBox(request, file, path)}
      <div class="card">${factsOf(request, file)}</div>
      ${problems.length > 0 && problemSection(request, problems, next(problems, 'problem'))}
      <section>
        <h2>${t.statements.linesTitle}</h2>
        ${lines.length === 0 ? emptyState(t.statements.noLines, t.statements.noLinesText) : lineTable(request, lines)}
        ${pager(request, next(lines, 'after'))}
      </section>
    `,
  });
}

function stateBox(request: MemberRequest, file: StatementFile, path: string): Html | false {
  const { t } = request;
  if (queryOf(request, 'known') !== '' && file.status === 'read')
    return html`<div class="box" role="status"><p>${t.statements.known}</p></div>`;
  if (file.status === 'broken_off')
    return html`<div class="box error" role="alert"><p>${file.problem ?? t.statements.brokenOff}</p></div>`;
  if (file.status === 'read') return false;
  return html`
    <div class="box" role="status">
      <p>
        ${withColon(request, t.statements.statuses.reading)} ${file.lines} ${t.statements.lines}.
        ${' '}<a href="${path}">${t.statements.reload}</a>
      </p>
    </div>
  `;
}

function factsOf(request: MemberRequest, file: StatementFile): Html {
  const { t } = request;
  const balance = (amount: bigint | null) =>
    amount !== null && file.currency !== null && money(request, amount, file.currency);
  return facts([
    [t.state, statementState(request, file)],
    [t.statements.lines, file.lines],
    [t.statements.isNew, file.linesNew],
    [t.statements.isKnown, file.linesKnown],
    [t.statements.bad, file.linesBad],
    [t.statements.opening, balance(file.openingBalance)],
    [t.statements.closing, balance(file.closingBalance)],
    [t.statements.imported, html`${timeTag(request, file.importedAt)} · ${file.importedBy}`],
    [t.statements.sha, html`<code class="wrap">${file.sha256.toString('hex')}</code>`],
  ]);
}

function problemSection(
  { t, ...request }: MemberRequest,
  problems: readonly StatementProblem[],
  next: string | null,
): Html {
  return html`
    <section>
      <h2>${t.statements.problems}</h2>
      <p>${t.statements.problemsText}</p>
      ${dataTable(
        t.statements.problems,
        [{ label: t.statements.line, right: true }, { label: t.statements.reason }, { label: t.statements.raw }],
        problems.map(({ lineNumber, reason, raw }) => [
          lineNumber,
          reason,
          html`<code class="wrap">${raw.slice(0, 500)}</code>`,
        ]),
      )}
      ${pager({ t, ...request }, next)}
    </section>
  `;
}

function lineTable(request: MemberRequest, lines: readonly OperatorLine[]): Html {
  const { statements: t } = request.t;
  return dataTable(
    t.linesTitle,
    [
      { label: request.t.time },
      { label: t.kind },
      { label: t.amount, right: true },
      { label: t.fee, right: true },
      { label: t.receipt },
      { label: t.reference },
      { label: t.number },
    ],
    lines.map((line) => [
      timeTag(request, line.occurredAt),
      `${t.kinds[line.kind]}, ${line.direction === 'in' ? t.into : t.out}, ${t.states[line.state]}`,
      money(request, line.gross, line.currency),
      line.fee === null ? t.feeUnknown : money(request, line.fee, line.currency),
      line.receipt ?? '',
      line.reference ?? '',
      line.msisdn ?? '',
    ]),
  );
}

async function sendOriginal(request: MemberRequest): Promise<FastifyReply> {
  const file = await requireFile(request);
  const name = file.name.replaceAll(/[^\w.-]/g, '_');
  return request.reply
    .type('application/octet-stream')
    .headers({
      'Content-Disposition': `attachment; filename="${name}"`,
      'Content-Length': String(file.bytes),
      'Cache-Control': 'no-store',
    })
    .send(Readable.from(originalOf(request.ctx.db, file)));
}
