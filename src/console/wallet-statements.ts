// The statement of a wallet as a file, for a period by name or by days, and the statements of past months.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import {
  exceededLines,
  STATEMENT_FORMATS,
  type StatementFormat,
  statementName,
  writeStatement,
} from '../books/merchant-statement-files.ts';
import { prepareStatement, type StatementHolder, type StatementPeriod } from '../books/merchant-statements.ts';
import {
  findMonthlyStatement,
  listMonthlyStatements,
  type MonthlyStatement,
  monthOf,
  pastMonth,
  readMonthlyCsv,
} from '../books/monthly-statements.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { numberLocale } from '../platform/locales.ts';
import { addDays, dayIn, firstOfMonth, isCalendarDay } from '../platform/time-zones.ts';
import { dataTable, who } from '../ui/components.ts';
import { zoneOf } from './components.ts';
import { type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { newExportId } from './export-progress.ts';
import { form } from './form-components.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

const PERIODS = ['last-month', 'month', 'last-year', 'year'] as const;
type PeriodName = (typeof PERIODS)[number];
const MAX_YEARS = 10;

export const walletStatementRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/balances/:currency/statement', downloadStatement),
  forRoles(EVERYONE, 'GET', '/balances/:currency/months/:month', downloadMonth),
];

/** The periods by name with a link for each format, and a form for other days. */
export function statementSection(request: HolderRequest, currency: string): Html {
  const { t } = request;
  const texts = t.balances.statements;
  const path = `/console/balances/${currency}/statement`;
  return html`
    <section class="card" id="statements">
      <h2>${texts.title}</h2>
      <p class="muted">${texts.text(zoneOf(request))}</p>
      ${dataTable(
        texts.title,
        [
          { label: texts.period, phone: 'main' },
          { label: texts.format, right: true, phone: 'status' },
        ],
        PERIODS.map((name) => {
          const { firstDay, lastDay } = daysOf(request, name);
          const query = `from=${firstDay}&to=${lastDay}`;
          return [
            who(texts.periods[name], t.transactions.between(firstDay, lastDay)),
            html`${STATEMENT_FORMATS.map(
              (format) => html`<a href="${path}?${query}&format=${format}" download>${format.toUpperCase()}</a> `,
            )}`,
          ];
        }),
      )}
      <h3>${texts.custom}</h3>
      ${form(request, {
        action: `/balances/${currency}/statement`,
        method: 'get',
        row: true,
        fields: [
          { type: 'date', name: 'from', label: texts.from, required: true },
          { type: 'date', name: 'to', label: texts.to, required: true },
          {
            type: 'select',
            name: 'format',
            label: texts.format,
            choices: STATEMENT_FORMATS.map((format) => [format, format.toUpperCase()] as const),
          },
        ],
        submit: texts.download,
        variant: 'secondary',
      })}
    </section>
  `;
}

function daysOf(request: HolderRequest, name: PeriodName): { firstDay: string; lastDay: string } {
  const now = request.ctx.clock.now();
  const today = dayIn(zoneOf(request), now);
  const year = today.slice(0, 4);
  switch (name) {
    case 'month':
      return { firstDay: firstOfMonth(today), lastDay: today };
    case 'last-month':
      return pastMonth(zoneOf(request), now);
    case 'year':
      return { firstDay: `${year}-01-01`, lastDay: today };
    case 'last-year': {
      const lastDay = addDays(`${year}-01-01`, -1);
      return { firstDay: `${lastDay.slice(0, 4)}-01-01`, lastDay };
    }
  }
}

/** The stored statements of this wallet; nothing before the first month is over. */
export async function monthlySection(request: HolderRequest, currency: string): Promise<Html | false> {
  const { ctx, t, holder } = request;
  const texts = t.balances.statements;
  const months = await listMonthlyStatements(ctx.db, holder.id, { currency });
  if (months.length === 0) return false;
  return html`
    <section id="monthly">
      <h2>${texts.monthly}</h2>
      <p class="muted">${texts.monthlyText}</p>
      ${dataTable(
        texts.monthly,
        [
          { label: texts.month, phone: 'main' },
          { label: texts.lines, right: true },
          { label: texts.net, right: true },
          { label: t.balances.balance, right: true, phone: 'amount' },
          { label: texts.format, right: true, phone: 'status' },
        ],
        months.map((each) => monthRow(request, each)),
      )}
    </section>
  `;
}

function monthRow(request: HolderRequest, each: MonthlyStatement) {
  const texts = request.t.balances.statements;
  const path = `/console/balances/${each.currency}/months/${each.month}`;
  return [
    who(
      each.month.slice(0, 7),
      html`${texts.fingerprint} <code title="${each.sha256}">${each.sha256.slice(0, 16)}</code>`,
    ),
    new Intl.NumberFormat(numberLocale(request.language)).format(each.lines),
    money(request, each.net, each.currency),
    money(request, each.closing, each.currency),
    html`
      <a href="${path}" download>CSV</a>
      <a href="${path}?format=xlsx" download>XLSX</a>
      <a href="${path}?format=pdf" download>PDF</a>
    `,
  ];
}

const formatOf = (request: HolderRequest): StatementFormat =>
  STATEMENT_FORMATS.find((each) => each === queryOf(request, 'format', 8)) ?? 'csv';

async function downloadStatement(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const currency = paramOf(request, 'currency');
  const texts = t.balances.statements;
  const [from, to] = [queryOf(request, 'from', 10), queryOf(request, 'to', 10)];
  const format = formatOf(request);
  const areDays = isCalendarDay(from) && isCalendarDay(to) && from <= to;
  if (!areDays || Number(to.slice(0, 4)) - Number(from.slice(0, 4)) >= MAX_YEARS)
    throw new Problem('invalid_params', { message: texts.wrongDays });
  const [wallet] = await balancesOf(ctx.db, holder.id, { currency });
  if (!wallet) throw new Problem('not_found', { message: t.balances.notFound });
  return sendStatement(request, holder, { currency, firstDay: from, lastDay: to }, format);
}

async function sendStatement(
  request: HolderRequest,
  holder: StatementHolder,
  period: StatementPeriod,
  format: StatementFormat,
): Promise<FastifyReply> {
  const { ctx, t, language } = request;
  const statement = await prepareStatement(ctx, holder, period);
  const most = exceededLines(statement, format);
  if (most !== null) {
    const number = new Intl.NumberFormat(numberLocale(language));
    throw new Problem('invalid_params', {
      message: t.balances.statements.tooLong(format.toUpperCase(), number.format(most), number.format(statement.lines)),
    });
  }
  const progress = request.services.exports.start(holder.id, queryOf(request, 'export', 40) || newExportId());
  const file = writeStatement(ctx, statement, format, language, (lines) => {
    progress.rows = lines;
  });
  file.content.once('end', () => {
    progress.done = true;
  });
  return sendFile(request, file.name, file.contentType, file.content);
}

/** The stored file; in another format the same month, with its days as they were counted then. */
async function downloadMonth(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, holder } = request;
  const month = paramOf(request, 'month');
  const found = isCalendarDay(month)
    ? await findMonthlyStatement(ctx.db, holder.id, paramOf(request, 'currency'), month)
    : null;
  if (!found) throw new Problem('not_found', { message: t.balances.notFound });
  const then = { ...holder, time_zone: found.time_zone };
  const period = await monthOf(ctx.db, then, found.currency, month);
  const format = formatOf(request);
  if (format !== 'csv') return sendStatement(request, then, period, format);
  const name = statementName(period, 'csv');
  const content = Readable.from(readMonthlyCsv(ctx.db, holder.id, found), { objectMode: false });
  return sendFile(request, name, 'text/csv; charset=utf-8', content);
}

function sendFile(request: HolderRequest, name: string, type: string, content: Readable): FastifyReply {
  return request.reply
    .type(type)
    .header('Content-Disposition', `attachment; filename="${name}"`)
    .header('Cache-Control', 'no-store')
    .header('X-Content-Type-Options', 'nosniff')
    .send(content);
}
