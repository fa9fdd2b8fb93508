// One statement, for admins: how far it is read, its bad lines and why, the lines that it brought, and the original.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { findFile, readProblems, type StatementFile, type StatementProblem } from '../books/statement-files.ts';
import { type OperatorLine, readLinesOfFile } from '../books/statement-lines.ts';
import { originalOf } from '../books/statement-original.ts';
import {
  findObstacles,
  listWithdrawals,
  MAX_WITHDRAWAL_REASON,
  type StatementWithdrawal,
  type WithdrawalObstacle,
  withdrawStatement,
} from '../books/withdraw-statement.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dataTable, emptyState, facts } from '../ui/components.ts';
import { BOOKS_PATH, dayText, linkButton } from './books-components.ts';
import { pager, timeTag } from './components.ts';
import { fieldOf, idOf, type MemberRequest, money, paramOf, queryOf } from './console-request.ts';
import { errorBox, form, isRefused } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';
import { statementState } from './statements-page.ts';

const FILE = '/admin/rails/:name/statements/:id';
const PAGE_ROWS = 50;
const MIN_REASON = 3;

export const statementFileRoutes: ConsoleRoute[] = [
  forAdmin('GET', FILE, (request) => filePage(request)),
  forAdmin('GET', `${FILE}/original`, sendOriginal),
  forAdmin('POST', `${FILE}/withdraw`, withdraw, { confirm: true, formOn: FILE }),
];

async function requireFile(request: MemberRequest): Promise<StatementFile> {
  const file = await findFile(request.ctx.db, idOf(paramOf(request, 'id')));
  if (file?.connection !== paramOf(request, 'name')) throw new Problem('not_found');
  return file;
}

const lineOf = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : 0);

const pathOf = ({ connection, id }: StatementFile) => `/admin/rails/${connection}/statements/${id}`;

async function filePage(request: MemberRequest, problem?: string): Promise<FastifyReply> {
  const { ctx, t } = request;
  const file = await requireFile(request);
  const path = `/console${pathOf(file)}`;
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
    ...(problem ? { status: 400 } : {}),
    actions: html`
      <a class="button button-secondary" href="${path}/original">${t.statements.original}</a>
      ${linkButton(BOOKS_PATH, 'calendar', t.menu.books)}
    `,
    body: html`
      ${problem && errorBox(request, undefined, problem)}
      ${stateBox(request, file, path)}
      <div class="card">${factsOf(request, file)}</div>
      ${withdrawalBoxes(request, await listWithdrawals(ctx.db, file.id))}
      ${problems.length > 0 && problemSection(request, problems, next(problems, 'problem'))}
      <section>
        <h2>${t.statements.linesTitle}</h2>
        ${lines.length === 0 ? noLines(request, file) : lineTable(request, lines)}
        ${pager(request, next(lines, 'after'))}
      </section>
      ${file.status !== 'withdrawn' && withdrawSection(request, file, await findObstacles(ctx.db, file))}
    `,
  });
}

function noLines({ t }: MemberRequest, { status }: StatementFile): Html {
  if (status === 'withdrawn') return emptyState(t.statements.noLinesWithdrawn, '');
  return emptyState(t.statements.noLines, t.statements.noLinesText);
}

/** Who took it back, when and why; also where the same bytes were imported again. */
function withdrawalBoxes(request: MemberRequest, withdrawals: readonly StatementWithdrawal[]): Html[] {
  const { statements: t } = request.t;
  return withdrawals.map(
    ({ withdrawnAt, withdrawnBy, reason, lines }) => html`
      <div class="box">
        <p>
          ${withColon(request, t.withdrawn)} ${timeTag(request, withdrawnAt)} · <bdi>${withdrawnBy}</bdi>.
          ${' '}${t.withdrawnLines(lines)}
        </p>
        <p>${withColon(request, t.reason)} <bdi>${reason}</bdi></p>
      </div>
    `,
  );
}

function withdrawSection(
  request: MemberRequest,
  file: StatementFile,
  obstacles: readonly WithdrawalObstacle[],
): Html | false {
  const { statements: t } = request.t;
  if (file.status === 'reading') return false;
  if (obstacles.length > 0)
    return html`
      <section>
        <h2>${t.cannotWithdraw}</h2>
        <ul>${obstacles.map((each) => html`<li>${obstacleText(request, each)}</li>`)}</ul>
      </section>
    `;
  const action = `${pathOf(file)}/withdraw`;
  return html`
    <section>
      <details${isRefused(request, action) && html` open`}>
        <summary>${t.withdraw}…</summary>
        <p>${t.withdrawText}</p>
        ${form(request, {
          action,
          fields: [
            {
              name: 'reason',
              label: t.withdrawReason,
              required: true,
              attributes: html`minlength="${MIN_REASON}" maxlength="${MAX_WITHDRAWAL_REASON}"`,
            },
          ],
          submit: t.withdraw,
          variant: 'danger',
        })}
      </details>
    </section>
  `;
}

function obstacleText(request: MemberRequest, obstacle: WithdrawalObstacle): string {
  const { obstacles } = request.t.statements;
  switch (obstacle.code) {
    case 'signed_day':
      return obstacles.signed_day(dayText(request, obstacle.day), obstacle.currency);
    case 'applied':
      return obstacles.applied(obstacle.lines);
    case 'proposed':
      return obstacles.proposed(obstacle.breaks);
    case 'being_read':
      return obstacles.being_read(obstacle.name);
  }
}

async function withdraw(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, actor, t } = request;
  const file = await requireFile(request);
  const reason = fieldOf(request, 'reason', MAX_WITHDRAWAL_REASON);
  if (reason.length < MIN_REASON) throw wrongField('reason', t.statements.withdrawReasonMissing);
  try {
    await withdrawStatement(ctx, actor, file.id, reason);
  } catch (error) {
    // What stands in the way is on the page, in the language of the reader.
    if (error instanceof Problem && error.status < 500) return filePage(request, t.statements.cannotWithdraw);
    throw error;
  }
  return redirect(request, `/console${pathOf(file)}`, 'statementWithdrawn');
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
