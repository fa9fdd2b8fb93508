// The chain of closes of an account, for admins: each signature and each reopening with its hash, also as a file.

import type { FastifyReply } from 'fastify';
import { type Close, pageCloses } from '../books/closes.ts';
import type { CsvRow } from '../platform/csv.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { dataTable, emptyState, status, who } from '../ui/components.ts';
import {
  BOOKS_PATH,
  BOOKS_STYLE,
  booksBreadcrumbs,
  closePath,
  dayText,
  linkButton,
  requireAccount,
} from './books-components.ts';
import { pager, timeTag } from './components.ts';
import { type MemberRequest, money, queryOf } from './console-request.ts';
import { csvTime, sendCsv } from './csv-export.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PAGE_ROWS = 50;
const EXPORT_ROWS = 500;

export const booksClosesRoutes: ConsoleRoute[] = [
  forAdmin('GET', '/admin/books/closes', closesPage),
  forAdmin('GET', '/admin/books/closes.csv', exportCloses),
];

async function closesPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const account = await requireAccount(request);
  const before = /^[1-9]\d{0,17}$/.exec(queryOf(request, 'before', 20))?.[0];
  const rows = await pageCloses(ctx.db, account, before === undefined ? null : BigInt(before), PAGE_ROWS + 1);
  const closes = rows.slice(0, PAGE_ROWS);
  const last = rows.length > PAGE_ROWS ? closes.at(-1) : undefined;
  const query = new URLSearchParams({ connection: account.connection, currency: account.currency });
  return renderPage(request, {
    title: `${withColon(request, t.books.toCloses)} ${account.connection} · ${account.currency}`,
    lead: t.books.closesLead,
    breadcrumbs: booksBreadcrumbs(request, t.books.toCloses),
    active: 'books',
    styles: [BOOKS_STYLE],
    actions: linkButton(`${BOOKS_PATH}/closes.csv?${query.toString()}`, 'download', t.books.export, { download: true }),
    body: html`
      ${
        closes.length === 0
          ? emptyState(t.books.noCloses, t.books.noClosesText, false, 'calendar')
          : closeTable(request, closes)
      }
      ${pager(request, last ? `${BOOKS_PATH}/closes?${query.toString()}&before=${last.number}` : null)}
    `,
  });
}

function closeTable(request: MemberRequest, closes: readonly Close[]): Html {
  const { t } = request;
  const state = (each: Close) =>
    each.kind === 'close' && each.in_force
      ? status('success', t.books.closeKinds.close)
      : status('warning', t.books.closeKinds[each.kind], each.kind === 'close' ? t.books.reopenedLater : each.reason);
  return dataTable(
    t.books.toCloses,
    [
      { label: t.books.day, phone: 'main' },
      { label: t.state, phone: 'status' },
      { label: t.books.closing, right: true, phone: 'amount' },
      { label: t.books.ledger, right: true },
      { label: t.books.signedAt },
      { label: t.books.hash },
    ],
    closes.map((each) => [
      who(dayText(request, each.day), html`<bdi>${each.signed_by}</bdi>`, { href: `/console${closePath(each)}` }),
      state(each),
      money(request, each.closing_theirs, each.currency),
      money(request, each.closing_ours, each.currency),
      timeTag(request, each.signed_at),
      html`<code title="${each.hash.toString('hex')}">${each.hash.toString('hex').slice(0, 12)}…</code>`,
    ]),
  );
}

const EXPORT_COLUMNS =
  'connection,currency,number,kind,day,in_force,opening,in,out,fees,closing,balance_source,ledger_opening,ledger_closing,' +
  'lines,late_lines,reason,signed_by,signed_at,hash';

async function exportCloses(request: MemberRequest): Promise<FastifyReply> {
  const account = await requireAccount(request);
  return sendCsv(request, 'closes', EXPORT_COLUMNS.split(','), csvRows(request, account));
}

async function* csvRows(
  { ctx }: MemberRequest,
  account: { connection: string; currency: string },
): AsyncGenerator<CsvRow[]> {
  let before: bigint | null = null;
  for (;;) {
    const closes: Close[] = await pageCloses(ctx.db, account, before, EXPORT_ROWS);
    yield closes.map((each) => [
      each.connection,
      each.currency,
      each.number,
      each.kind,
      each.day,
      each.in_force ? 'yes' : 'no',
      formatAmount(each.opening_theirs),
      formatAmount(each.lines_in),
      formatAmount(each.lines_out),
      formatAmount(each.fees),
      formatAmount(each.closing_theirs),
      each.balance_source,
      formatAmount(each.opening_ours),
      formatAmount(each.closing_ours),
      each.lines,
      each.late_lines,
      each.reason,
      each.signed_by,
      csvTime(each.signed_at),
      each.hash.toString('hex'),
    ]);
    const last = closes.at(-1);
    if (!last || closes.length < EXPORT_ROWS) return;
    before = last.number;
  }
}
