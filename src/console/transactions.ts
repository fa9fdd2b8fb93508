// The list of transactions: tabs, filters, totals, pages in both directions, and the CSV export.

import type { FastifyReply } from 'fastify';
import {
  BEFORE_ALL,
  COUNTED_ROWS,
  eachTransaction,
  listByAmount,
  listTransactions,
  type TransactionFilter,
  type TransactionPage,
  totalOfFilter,
} from '../payments/listing.ts';
import { isFinal } from '../payments/states.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import type { CsvRow } from '../platform/csv.ts';
import { type Html, html, scriptFile, styleFile } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { numberLocale } from '../platform/locales.ts';
import { formatAmount } from '../platform/money.ts';
import { emptyState } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { timeTag } from './components.ts';
import { type HolderRequest, paramOf, queryOf } from './console-request.ts';
import { csvTime, exportButton, sendCsv } from './csv-export.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';
import { listSavedFilters, savedFilterMenu } from './saved-filters.ts';
import { currentSort, currentTab, filterQuery, listAddress, readFilter } from './transaction-filter.ts';
import { dateMenu, filterChips, filterForm, sortMenu } from './transaction-filter-bar.ts';
import { readTransactionNames, transactionTable } from './transaction-table.ts';
import { statusTabs, totalsLine } from './transaction-totals.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;
const LIVE_SECONDS = 10;
const STYLE = styleFile(new URL('./transactions.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./row-keys.js', import.meta.url));

export const transactionRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/transactions', listPage),
  forRoles(EVERYONE, 'GET', '/transactions.csv', exportTransactions),
  forRoles(EVERYONE, 'GET', '/exports/:id', showProgress),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t, ctx, holder, session } = request;
  const filter = await readFilter(request);
  const [page, totals, saved, active, panel] = await Promise.all([
    readPage(request, filter),
    totalOfFilter(ctx.db, holder.id, { ...filter, ...(currentTab(request) ? { statuses: undefined } : {}) }),
    listSavedFilters(ctx.db, holder.id, session.member.id),
    filterChips(request),
    filterForm(request),
  ]);
  const names = await readTransactionNames(request, page.rows);
  const isFiltered = Object.keys(filter).length > 0;
  const isLive = page.isFirst && page.rows.some((row) => !isFinal(row.status));
  return renderPage(request, {
    title: t.menu.transactions,
    active: 'transactions',
    actions: html`
      ${exportButton(request, '/console/transactions.csv', filterQuery(request))}
      ${MAKERS.includes(request.role) && newLinkButton(request)}
    `,
    styles: [STYLE],
    scripts: [SCRIPT],
    ...(isLive ? { live: LIVE_SECONDS } : {}),
    body: html`
      <div class="list-bar">
        ${statusTabs(request, totals)}
        <div class="list-menus">
          ${dateMenu(request)}${panel}${sortMenu(request)}
          ${savedFilterMenu(request, saved, filterQuery(request))}
        </div>
      </div>
      ${active}
      ${totalsLine(request, totals)}
      ${page.rows.length > 0 ? transactionTable(request, page.rows, names) : emptyList(request, isFiltered)}
      ${pageLinks(request, page, isFiltered)}
      <p class="muted">
        ${t.transactions.lostPayment} ${t.transactions.lostPaymentPage} <a href="/find">${publicUrl(ctx.config)}/find</a>
      </p>
    `,
  });
}

function newLinkButton({ t }: HolderRequest): Html {
  return html`
    <a class="button" href="/console/links/new">
      ${icon('plus')}<span class="button-label">${t.transactions.newLink}</span>
    </a>
  `;
}

/** Rows in the order they are shown, and the addresses of the pages on both sides. */
type ShownPage = {
  rows: Transaction[];
  back: { href: string; label: string } | null;
  onward: { href: string; label: string } | null;
  lookedBackTo: Date | null;
  isFirst: boolean;
};

async function readPage(request: HolderRequest, filter: TransactionFilter): Promise<ShownPage> {
  const sort = currentSort(request);
  if (sort === 'largest' || sort === 'smallest') return readByAmount(request, filter, sort);
  const { ctx, holder, t } = request;
  const before = queryOf(request, 'after', 40);
  const after = queryOf(request, 'newer', 40);
  const isFirst = !isUuid(before) && !isUuid(after);
  const page: TransactionPage = await listTransactions(ctx.db, holder.id, filter, {
    before: isUuid(before) ? before : null,
    after: isUuid(after) ? after : isFirst && sort === 'oldest' ? BEFORE_ALL : null,
    limit: PAGE_ROWS,
  });
  const { next, newer: following, lookedBackTo } = page;
  const at = (place: Record<string, string>) => listAddress(filterQuery(request, place));
  const older = next === null ? null : { href: at({ after: next }), label: t.older };
  const newer = following === null ? null : { href: at({ newer: following }), label: t.newer };
  return sort === 'oldest'
    ? { rows: page.rows.toReversed(), back: older, onward: newer, lookedBackTo, isFirst }
    : { rows: page.rows, back: newer, onward: older, lookedBackTo, isFirst };
}

async function readByAmount(
  request: HolderRequest,
  filter: TransactionFilter,
  sort: 'largest' | 'smallest',
): Promise<ShownPage> {
  const { ctx, holder, t } = request;
  const number = Math.min(Number(/^\d{1,4}$/.exec(queryOf(request, 'page'))?.[0] ?? 1) || 1, COUNTED_ROWS / PAGE_ROWS);
  const rows = await listByAmount(ctx.db, holder.id, filter, {
    order: sort === 'largest' ? 'desc' : 'asc',
    offset: (number - 1) * PAGE_ROWS,
    limit: PAGE_ROWS + 1,
  });
  const at = (page: number) => listAddress(filterQuery(request, { page: page === 1 ? '' : String(page) }));
  return {
    rows: rows.slice(0, PAGE_ROWS),
    back: number > 1 ? { href: at(number - 1), label: t.transactions.previousPage } : null,
    onward: rows.length > PAGE_ROWS ? { href: at(number + 1), label: t.transactions.nextPage } : null,
    lookedBackTo: null,
    isFirst: number === 1,
  };
}

function pageLinks(request: HolderRequest, page: ShownPage, isFiltered: boolean): Html | false {
  const { t } = request;
  const { back, onward, lookedBackTo } = page;
  const note = isFiltered && lookedBackTo;
  if (!back && !onward && !note) return false;
  const label = note && onward ? t.transactions.searchFurther : onward?.label;
  return html`
    <div class="pager">
      ${back && html`<a class="button button-secondary" rel="prev" href="${back.href}">${back.label}</a>`}
      ${onward && html`<a class="button button-secondary" rel="next" href="${onward.href}">${label}</a>`}
      ${note && html`<span class="muted">${t.transactions.searchedBackTo} ${timeTag(request, note)}</span>`}
      <span class="muted keys">${t.transactions.keys}</span>
    </div>
  `;
}

function emptyList(request: HolderRequest, isFiltered: boolean): Html {
  const { ctx, t, role } = request;
  if (isFiltered)
    return emptyState(
      t.transactions.noMatch,
      t.transactions.noMatchText,
      html`<a class="button button-secondary" href="/console/transactions">${t.transactions.clear}</a>`,
      'search',
    );
  const canMake = MAKERS.includes(role);
  // A test payment is for those who find its form on the home page.
  if (ctx.config.mode === 'sandbox' && canMake)
    return emptyState(
      t.transactions.none,
      t.transactions.noneText,
      html`<a class="button" href="/console">${t.home.testPayment}</a>${sampleShopButton(request)}`,
    );
  return emptyState(
    t.transactions.none,
    t.home.noneText,
    html`${canMake && html`<a class="button" href="/console/links/new">${t.home.newLink}</a>`}${sampleShopButton(request)}`,
  );
}

async function exportTransactions(request: HolderRequest): Promise<FastifyReply> {
  const filter = await readFilter(request);
  const pages = eachTransaction(request.ctx.db, request.holder.id, filter, EXPORT_PAGE_ROWS);
  return sendCsv(request, 'transactions', EXPORT_COLUMNS, csvRows(pages));
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
      formatAmount(chargedFee(row)),
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
      csvTime(row.created_at),
      row.settled_at && csvTime(row.settled_at),
      row.detail,
    ]);
}

/** What did not succeed cost nothing, so the column adds up. */
function chargedFee({ status, fee }: Transaction): bigint {
  return status === 'failed' || status === 'expired' ? 0n : fee;
}

async function showProgress(request: HolderRequest): Promise<FastifyReply> {
  const progress = request.services.exports.find(request.holder.id, paramOf(request, 'id'));
  const { t } = request;
  const rows = (progress?.rows ?? 0).toLocaleString(numberLocale(request.language));
  return request.reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send({
      text: progress?.done ? t.transactions.exported(rows) : t.transactions.exporting(rows),
      done: progress?.done ?? false,
    });
}
