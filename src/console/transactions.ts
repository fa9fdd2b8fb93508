// The list of transactions: filters, pages, export, and the search that takes anything a person has in hand.

import type { FastifyReply } from 'fastify';
import { listDeliveries } from '../callbacks/resend.ts';
import { findHolderLink, linkId } from '../links/links.ts';
import { eachTransaction, listTransactions, type TransactionFilter } from '../payments/listing.ts';
import { STATUS_CODES, type Status } from '../payments/states.ts';
import { findTransaction, idFromRef, refOf, type Transaction } from '../payments/transactions.ts';
import { dateTimeSeconds } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount, parseAmount } from '../platform/money.ts';
import { dataTable, emptyState, inputField, pager, selectField, statusTag, timeTag } from './components.ts';
import { type HolderRequest, money, paramOf, queryOf } from './console-request.ts';
import { type CsvRow, newExportId, readProgress, sendCsv } from './csv.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

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

export function transactionTable(visit: HolderRequest, rows: readonly Transaction[]): Html {
  const { words } = visit;
  return dataTable(
    words.menu.transactions,
    [
      { label: words.reference },
      { label: words.state },
      { label: words.amount, right: true },
      { label: words.fee, right: true },
      { label: words.method },
      { label: words.person },
      { label: words.yourReference },
      { label: words.created },
    ],
    rows.map((row) => [
      html`<a href="/console/transactions/${refOf(row)}"><code>${shortRef(row)}</code></a><span class="m">${words.directions[row.direction]}</span>`,
      statusTag(visit, row.status, row.direction),
      money(visit, row.amount, row.currency),
      money(visit, row.fee, row.currency),
      methodName(visit, row.method),
      html`<bdi>${row.msisdn ? `+${row.msisdn}` : (row.account_number ?? '–')}</bdi>${row.payee && html`<span class="m"><bdi>${row.payee}</bdi></span>`}`,
      (row.reference_1 ?? row.invoice_no) && html`<bdi>${row.reference_1 ?? row.invoice_no}</bdi>`,
      timeTag(row.created_at),
    ]),
  );
}

/** Enough of a reference to tell it from its neighbours; the link behind it has all of it. */
function shortRef(row: { id: string }): string {
  const ref = refOf(row);
  return `${ref.slice(0, 3)}…${ref.slice(-8)}`;
}

export function methodName(visit: HolderRequest, code: string): string {
  return visit.ctx.catalog.methods.get(code)?.name ?? code;
}

async function listPage(visit: HolderRequest): Promise<FastifyReply> {
  const { words } = visit;
  const filter = readFilter(visit);
  const after = queryOf(visit, 'after', 40);
  const before = UUID.test(after) ? after : null;
  const page = await listTransactions(visit.ctx.db, visit.holder.id, filter, { before, limit: PAGE_ROWS });
  const filtered = Object.keys(filter).length > 0;
  const next = page.next === null ? null : `/console/transactions?${queryString(visit, { after: page.next })}`;
  const exportId = newExportId();
  const note =
    page.lookedBackTo && filtered ? html`${words.transactions.lookedBackTo} ${timeTag(page.lookedBackTo)}` : null;
  return renderPage(visit, {
    title: words.menu.transactions,
    active: 'transactions',
    actions: html`<a class="btn q" href="/console/transactions.csv?${queryString(visit, { export: exportId })}" data-export="${exportId}" download>${words.transactions.export}</a><span class="m" id="exported" role="status"></span>`,
    body: html`${filterForm(visit, filtered)}${
      page.rows.length > 0
        ? transactionTable(visit, page.rows)
        : filtered
          ? emptyState(
              words.transactions.noMatch,
              words.transactions.noMatchText,
              html`<a href="/console/transactions">${words.transactions.clear}</a>`,
            )
          : emptyState(
              words.transactions.none,
              words.transactions.noneText,
              html`<a class="btn" href="/console">${words.home.try}</a>`,
            )
    }${pager(visit, next, note)}`,
  });
}

function filterForm(visit: HolderRequest, open: boolean): Html {
  const { words, ctx } = visit;
  const value = (name: (typeof FILTER_NAMES)[number]) => queryOf(visit, name, 128);
  const any = ['', words.any] as const;
  const methods = [...ctx.catalog.methods.values()].map(
    (each) => [each.code, `${each.name} (${each.country.name})`] as const,
  );
  const countries = new Map(
    [...ctx.catalog.collectionCountries.values(), ...ctx.catalog.linkCountries.values()].map((row) => [
      String(row.countryId),
      row.name,
    ]),
  );
  return html`<details class="filters"${open && html` open`}><summary>${words.transactions.filter}</summary><form action="/console/transactions"><div class="row">${selectField({ name: 'type', label: words.transactions.type, value: value('type'), choices: [any, ['collection', words.directions.collection], ['payout', words.directions.payout]] })}${selectField({ name: 'status', label: words.state, value: value('status'), choices: [any, ...STATUSES.map((each) => [each, words.status[each]] as const)] })}${selectField({ name: 'method', label: words.method, value: value('method'), choices: [any, ...methods] })}${selectField({ name: 'country', label: words.country, value: value('country'), choices: [any, ...countries] })}${inputField({ name: 'from', label: words.from, type: 'date', value: value('from') })}${inputField({ name: 'to', label: words.to, type: 'date', value: value('to') })}${inputField({ name: 'least', label: words.transactions.least, value: value('least'), more: html`inputmode="decimal"` })}${inputField({ name: 'most', label: words.transactions.most, value: value('most'), more: html`inputmode="decimal"` })}${inputField({ name: 'reference', label: words.yourReference, value: value('reference'), more: html`maxlength="128"` })}${inputField({ name: 'number', label: words.number, value: value('number'), more: html`inputmode="tel"` })}${inputField({ name: 'text', label: words.transactions.text, value: value('text'), more: html`maxlength="128"` })}</div><p><button>${words.transactions.apply}</button> <a href="/console/transactions">${words.transactions.clear}</a></p></form></details>`;
}

/** What the query asks for; what cannot be read is as if it were not there. */
export function readFilter(visit: HolderRequest): TransactionFilter {
  const value = (name: (typeof FILTER_NAMES)[number]) => queryOf(visit, name, 128);
  const direction = value('type');
  const number = value('number').replace(/\D/g, '');
  const amount = (text: string) => {
    const result = parseAmount(text, 2);
    return result.ok ? result.amount : undefined;
  };
  const entries: TransactionFilter = {
    direction: direction === 'collection' || direction === 'payout' ? direction : undefined,
    status: STATUSES.find((each) => each === value('status')),
    method: visit.ctx.catalog.methods.has(value('method')) ? value('method') : undefined,
    countryId: /^\d{1,4}$/.test(value('country')) ? Number(value('country')) : undefined,
    from: readDay(value('from')) ?? undefined,
    to: nextDay(readDay(value('to'))),
    min: amount(value('least')),
    max: amount(value('most')),
    reference: value('reference') || undefined,
    number: number.length >= 9 ? number : undefined,
    text: value('text') || (number.length > 0 && number.length < 9 ? number : undefined),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, each]) => each !== undefined));
}

/** A day as a date field sends it, at its beginning in UTC. */
export function readDay(text: string): Date | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) ? null : day;
}

function nextDay(day: Date | null): Date | undefined {
  return day ? new Date(day.getTime() + DAY_MS) : undefined;
}

function queryString(visit: HolderRequest, more: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = queryOf(visit, name, 128);
    if (value !== '') query.set(name, value);
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

async function exportTransactions(visit: HolderRequest): Promise<FastifyReply> {
  const pages = eachTransaction(visit.ctx.db, visit.holder.id, readFilter(visit), EXPORT_PAGE_ROWS);
  const day = visit.ctx.clock.now().toISOString().slice(0, 10);
  return sendCsv(
    visit,
    `transactions-${day}.csv`,
    EXPORT_HEAD,
    asRows(pages),
    queryOf(visit, 'export', 40) || newExportId(),
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

async function showProgress(visit: HolderRequest): Promise<FastifyReply> {
  const progress = readProgress(visit, paramOf(visit, 'id'));
  const { words } = visit;
  const rows = (progress?.rows ?? 0).toLocaleString(visit.language);
  return visit.reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send({
      text: progress?.done ? words.transactions.exported(rows) : words.transactions.exporting(rows),
      done: progress?.done ?? false,
    });
}

/** Takes a reference, a link, an event, a request, a number or one of the caller's own references. */
async function search(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, words } = visit;
  const q = queryOf(visit, 'q', 128);
  const target = await findById(visit, q);
  if (target) return redirect(visit, target);
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
  return renderPage(visit, {
    title: words.searchTitle(q),
    active: 'transactions',
    body: html`${rows.length > 0 ? transactionTable(visit, rows.slice(0, PAGE_ROWS)) : emptyState(words.searchNone, words.searchNoneText)}${looked && html`<p class="m">${words.transactions.lookedBackTo} ${timeTag(looked)} · <a href="/console/transactions?${new URLSearchParams({ text: q }).toString()}">${words.transactions.lookFurther}</a></p>`}`,
  });
}

async function findById(visit: HolderRequest, q: string): Promise<string | null> {
  const { ctx, holder } = visit;
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
