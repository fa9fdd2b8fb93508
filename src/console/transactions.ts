// The list of transactions: filters, pages and the CSV export.

import type { FastifyReply } from 'fastify';
import { eachTransaction, listTransactions } from '../payments/listing.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { dateTimeSeconds } from '../platform/clock.ts';
import type { CsvRow } from '../platform/csv.ts';
import { type Html, html } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { emptyState } from '../ui/components.ts';
import { pager, timeTag } from './components.ts';
import { type HolderRequest, paramOf, queryOf } from './console-request.ts';
import { sendCsv } from './csv-export.ts';
import { newExportId } from './export-progress.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { filterForm, filterQuery, readFilter } from './transaction-filter.ts';
import { transactionTable } from './transaction-table.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;

export const transactionRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/transactions', listPage),
  forRoles(EVERYONE, 'GET', '/transactions.csv', exportTransactions),
  forRoles(EVERYONE, 'GET', '/exports/:id', showProgress),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const filter = readFilter(request);
  const isFiltered = Object.keys(filter).length > 0;
  const after = queryOf(request, 'after', 40);
  const page = await listTransactions(request.ctx.db, request.holder.id, filter, {
    before: isUuid(after) ? after : null,
    limit: PAGE_ROWS,
  });
  const next = page.next === null ? null : `/console/transactions?${filterQuery(request, { after: page.next })}`;
  const note =
    page.lookedBackTo && isFiltered
      ? html`${t.transactions.searchedBackTo} ${timeTag(request, page.lookedBackTo)}`
      : null;
  return renderPage(request, {
    title: t.menu.transactions,
    active: 'transactions',
    actions: exportButton(request),
    body: html`
      ${filterForm(request, isFiltered)}
      ${page.rows.length > 0 ? transactionTable(request, page.rows) : emptyList(request, isFiltered)}
      ${pager(request, next, note)}
    `,
  });
}

/** The script shows the progress of the export beside the button. */
function exportButton(request: HolderRequest): Html {
  const id = newExportId();
  const query = filterQuery(request, { export: id });
  return html`
    <a class="button button-secondary" href="/console/transactions.csv?${query}" data-export="${id}" download>
      ${request.t.transactions.export}
    </a>
    <span class="muted" id="exported" role="status"></span>
  `;
}

function emptyList({ t }: HolderRequest, isFiltered: boolean): Html {
  return isFiltered
    ? emptyState(
        t.transactions.noMatch,
        t.transactions.noMatchText,
        html`<a href="/console/transactions">${t.transactions.clear}</a>`,
      )
    : emptyState(
        t.transactions.none,
        t.transactions.noneText,
        html`<a class="button" href="/console">${t.home.testPayment}</a>`,
      );
}

async function exportTransactions(request: HolderRequest): Promise<FastifyReply> {
  const pages = eachTransaction(request.ctx.db, request.holder.id, readFilter(request), EXPORT_PAGE_ROWS);
  const day = request.ctx.clock.now().toISOString().slice(0, 10);
  return sendCsv(
    request,
    `transactions-${day}.csv`,
    EXPORT_COLUMNS,
    csvRows(pages),
    queryOf(request, 'export', 40) || newExportId(),
  );
}

const EXPORT_COLUMNS: CsvRow = [
  'ref',
  'type',
  'status',
  'amount',
  'fee',
  'currency',
  'country_id',
  'method',
  'mobile',
  'account_number',
  'payee',
  'invoice_no',
  'reference_1',
  'reference_2',
  'receipt',
  'failure_code',
  'balance_after',
  'created_at',
  'settled_at',
  'detail',
];

async function* csvRows(pages: AsyncIterable<Transaction[]>): AsyncGenerator<CsvRow[]> {
  for await (const page of pages)
    yield page.map((row) => [
      refOf(row),
      row.direction,
      row.status,
      formatAmount(row.amount),
      formatAmount(row.fee),
      row.currency,
      row.country_id,
      row.method,
      row.msisdn,
      row.account_number,
      row.payee,
      row.invoice_no,
      row.reference_1,
      row.reference_2,
      row.receipt,
      row.failure_code,
      row.balance_after === null ? null : formatAmount(row.balance_after),
      dateTimeSeconds(row.created_at),
      row.settled_at && dateTimeSeconds(row.settled_at),
      row.detail,
    ]);
}

async function showProgress(request: HolderRequest): Promise<FastifyReply> {
  const progress = request.services.exports.find(request.holder.id, paramOf(request, 'id'));
  const { t } = request;
  const rows = (progress?.rows ?? 0).toLocaleString(request.language);
  return request.reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send({
      text: progress?.done ? t.transactions.exported(rows) : t.transactions.exporting(rows),
      done: progress?.done ?? false,
    });
}
