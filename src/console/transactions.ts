// The list of transactions: filters, pages, export, and the search that takes anything a person has in hand.

import type { FastifyReply } from 'fastify';
import { listDeliveries } from '../callbacks/resend.ts';
import { findHolderLink, linkId } from '../links/links.ts';
import { eachTransaction, listTransactions, type TransactionFilter } from '../payments/listing.ts';
import { STATUS_CODES, type Status } from '../payments/states.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../payments/transactions.ts';
import { dateTimeSeconds } from '../platform/clock.ts';
import type { CsvRow } from '../platform/csv.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import { emptyState, pager, timeTag } from './components.ts';
import { type HolderRequest, paramOf, queryOf, readDay } from './console-request.ts';
import { sendCsv } from './csv-export.ts';
import { newExportId } from './export-progress.ts';
import { formField } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const PAGE_ROWS = 50;
const EXPORT_PAGE_ROWS = 1_000;
const DAY_MS = 86_400_000;
const STATUSES = Object.keys(STATUS_CODES) as Status[];
const FILTER_NAMES = [
  'type',
  'status',
  'method',
  'country',
  'from',
  'to',
  'least',
  'most',
  'reference',
  'number',
  'text',
] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const transactionRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/transactions', listPage),
  forRoles(EVERYONE, 'GET', '/transactions.csv', exportTransactions),
  forRoles(EVERYONE, 'GET', '/exports/:id', showProgress),
  forRoles(EVERYONE, 'GET', '/search', search),
];

async function listPage(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const filter = readFilter(request);
  const after = queryOf(request, 'after', 40);
  const before = UUID.test(after) ? after : null;
  const page = await listTransactions(request.ctx.db, request.holder.id, filter, { before, limit: PAGE_ROWS });
  const filtered = Object.keys(filter).length > 0;
  const next = page.next === null ? null : `/console/transactions?${queryString(request, { after: page.next })}`;
  const exportId = newExportId();
  const note =
    page.lookedBackTo && filtered ? html`${t.transactions.lookedBackTo} ${timeTag(page.lookedBackTo)}` : null;
  return renderPage(request, {
    title: t.menu.transactions,
    active: 'transactions',
    actions: html`<a class="button button-secondary" href="/console/transactions.csv?${queryString(request, { export: exportId })}" data-export="${exportId}" download>${t.transactions.export}</a><span class="muted" id="exported" role="status"></span>`,
    body: html`${filterForm(request, filtered)}${
      page.rows.length > 0
        ? transactionTable(request, page.rows)
        : filtered
          ? emptyState(
              t.transactions.noMatch,
              t.transactions.noMatchText,
              html`<a href="/console/transactions">${t.transactions.clear}</a>`,
            )
          : emptyState(
              t.transactions.none,
              t.transactions.noneText,
              html`<a class="button" href="/console">${t.home.try}</a>`,
            )
    }${pager(request, next, note)}`,
  });
}

function filterForm(request: HolderRequest, open: boolean): Html {
  const { t, ctx } = request;
  const value = (name: (typeof FILTER_NAMES)[number]) => queryOf(request, name, 128);
  const any = ['', t.any] as const;
  const methods = [...ctx.catalog.methods.values()].map(
    (each) => [each.code, `${each.name} (${each.country.name})`] as const,
  );
  const countries = new Map(
    [...ctx.catalog.collectionCountries.values(), ...ctx.catalog.linkCountries.values()].map((row) => [
      String(row.countryId),
      row.name,
    ]),
  );
  return html`<details class="filters"${open && html` open`}><summary>${t.transactions.filter}</summary><form action="/console/transactions"><div class="field-row">${formField({ type: 'select', name: 'type', label: t.transactions.type, value: value('type'), choices: [any, ['payin', t.directions.payin], ['payout', t.directions.payout]] })}${formField({ type: 'select', name: 'status', label: t.state, value: value('status'), choices: [any, ...STATUSES.map((each) => [each, t.status[each]] as const)] })}${formField({ type: 'select', name: 'method', label: t.method, value: value('method'), choices: [any, ...methods] })}${formField({ type: 'select', name: 'country', label: t.country, value: value('country'), choices: [any, ...countries] })}${formField({ name: 'from', label: t.from, type: 'date', value: value('from') })}${formField({ name: 'to', label: t.to, type: 'date', value: value('to') })}${formField({ name: 'least', label: t.transactions.least, value: value('least'), attributes: html`inputmode="decimal"` })}${formField({ name: 'most', label: t.transactions.most, value: value('most'), attributes: html`inputmode="decimal"` })}${formField({ name: 'reference', label: t.yourReference, value: value('reference'), attributes: html`maxlength="128"` })}${formField({ name: 'number', label: t.number, value: value('number'), attributes: html`inputmode="tel"` })}${formField({ name: 'text', label: t.transactions.text, value: value('text'), attributes: html`maxlength="128"` })}</div><p><button>${t.transactions.apply}</button> <a href="/console/transactions">${t.transactions.clear}</a></p></form></details>`;
}

/** What the query asks for; what cannot be read is as if it were not there. */
export function readFilter(request: HolderRequest): TransactionFilter {
  const value = (name: (typeof FILTER_NAMES)[number]) => queryOf(request, name, 128);
  const direction = value('type');
  const number = value('number').replace(/\D/g, '');
  const amount = (text: string) => {
    const result = parseAmount(text, 2);
    return result.ok ? result.amount : undefined;
  };
  const entries: TransactionFilter = {
    direction: direction === 'payin' || direction === 'payout' ? direction : undefined,
    status: STATUSES.find((each) => each === value('status')),
    method: request.ctx.catalog.methods.has(value('method')) ? value('method') : undefined,
    countryId: /^\d{1,4}$/.test(value('country')) ? Number(value('country')) : undefined,
    from: readDay(value('from')) ?? undefined,
    to: nextDay(readDay(value('to'))),
    least: amount(value('least')),
    most: amount(value('most')),
    reference: value('reference') || undefined,
    number: number.length >= 9 ? number : undefined,
    text: value('text') || (number.length > 0 && number.length < 9 ? number : undefined),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, each]) => each !== undefined));
}

function nextDay(day: Date | null): Date | undefined {
  return day ? new Date(day.getTime() + DAY_MS) : undefined;
}

function queryString(request: HolderRequest, more: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = queryOf(request, name, 128);
    if (value !== '') query.set(name, value);
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

async function exportTransactions(request: HolderRequest): Promise<FastifyReply> {
  const pages = eachTransaction(request.ctx.db, request.holder.id, readFilter(request), EXPORT_PAGE_ROWS);
  const day = request.ctx.clock.now().toISOString().slice(0, 10);
  return sendCsv(
    request,
    `transactions-${day}.csv`,
    EXPORT_HEAD,
    asRows(pages),
    queryOf(request, 'export', 40) || newExportId(),
  );
}

const EXPORT_HEAD: CsvRow = [
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

async function* asRows(pages: AsyncIterable<Transaction[]>): AsyncGenerator<CsvRow[]> {
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

/** Takes a reference, a link, an event, a request, a number or one of the caller's own references. */
async function search(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const q = queryOf(request, 'q', 128);
  const target = await findById(request, q);
  if (target) return redirect(request, target);
  const digits = q.replace(/[\s()+.-]/g, '');
  const number = /^\d{9,15}$/.test(digits) ? digits : null;
  const exact = q === '' ? [] : [{ reference: q }, ...(number ? [{ number }] : [])];
  const lists = await Promise.all(
    exact.map((filter) => listTransactions(ctx.db, holder.id, filter, { limit: PAGE_ROWS })),
  );
  // Only what no index knows is looked for row by row.
  if (lists.every((page) => page.rows.length === 0) && q.length >= 3) {
    const text = /^\d+$/.test(digits) ? digits : q;
    lists.push(await listTransactions(ctx.db, holder.id, { text }, { limit: PAGE_ROWS }));
  }
  const rows = [...new Map(lists.flatMap((page) => page.rows).map((row) => [row.id, row])).values()].sort(
    (left, right) => (left.id < right.id ? 1 : -1),
  );
  const looked = lists.find((page) => page.lookedBackTo)?.lookedBackTo ?? null;
  return renderPage(request, {
    title: t.searchTitle(q),
    active: 'transactions',
    body: html`${rows.length > 0 ? transactionTable(request, rows.slice(0, PAGE_ROWS)) : emptyState(t.searchNone, t.searchNoneText)}${looked && html`<p class="muted">${t.transactions.lookedBackTo} ${timeTag(looked)} · <a href="/console/transactions?${new URLSearchParams({ text: q }).toString()}">${t.transactions.lookFurther}</a></p>`}`,
  });
}

async function findById(request: HolderRequest, q: string): Promise<string | null> {
  const { ctx, holder } = request;
  const id = idFromRef(q);
  if (id && (await findTransaction(ctx.db, holder.id, id))) return `/console/transactions/${refOf({ id })}`;
  const link = uuidFromPublicId('pl', q);
  if (link) {
    const found = await findHolderLink(ctx.db, holder.id, link);
    if (found) return `/console/links/${linkId(found)}`;
  }
  if (uuidFromPublicId('evt', q)) {
    const [delivery] = await listDeliveries(ctx.db, holder.id, { eventId: q, limit: 1 }).catch((error: unknown) => {
      if (error instanceof Problem) return [];
      throw error;
    });
    if (delivery) return `/console/transactions/${delivery.transactionRef}`;
  }
  if (uuidFromPublicId('req', q)) return `/console/requests?id=${encodeURIComponent(q)}`;
  return null;
}
