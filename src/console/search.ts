// The search box: a page with everything that was found, and the few best results while a person types (search.js). What is found
// is in search-results.ts.

import type { FastifyReply } from 'fastify';
import { MAX_TEXT_CHARACTERS, readPaymentText } from '../payments/payment-text.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, html, printHtml, sendCompressed } from '../platform/html.ts';
import { emptyState, operatorTile, who } from '../ui/components.ts';
import { icon } from '../ui/icons.ts';
import { shortTime, timeTag } from './components.ts';
import { type HolderRequest, money, queryOf } from './console-request.ts';
import { redirect, renderPage } from './layout.ts';
import { methodName } from './names.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';
import type { PageHit } from './search-pages.ts';
import { findById, type OtherHit, type SearchResults, searchAll } from './search-results.ts';
import { readTransactionNames, spokenNumber, transactionTable } from './transaction-table.ts';

const MAX_ROWS = 50;
/** Of each kind, while typing. */
const SUGGESTED = 5;
const MAX_CHARACTERS = 128;
/** Nobody types as much as the shortest SMS has. */
const SMS_CHARACTERS = 40;

export const searchRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/search', search),
  forRoles(EVERYONE, 'GET', '/search/suggestions', suggest),
];

async function search(request: HolderRequest): Promise<FastifyReply> {
  const { t } = request;
  const q = wantedText(request);
  const exact = await findById(request, q);
  if (exact) return redirect(request, exact.href);
  const results = await searchAll(request, q, MAX_ROWS);
  const names = await readTransactionNames(request, results.transactions);
  const { pages, transactions, others, lookedBackTo } = results;
  const isEmpty = countOf(results) === 0;
  return renderPage(request, {
    title: t.searchTitle(q),
    active: 'transactions',
    body: html`
      ${isEmpty && emptyState(t.searchNone, t.find.tips, false, 'search')}
      ${pages.length > 0 && hitCard(t.find.goTo, pages.map(pageLine))}
      ${others.length > 0 && hitCard(t.find.other, others.map(otherLine))}
      ${transactions.length > 0 && transactionTable(request, transactions, names)}
      ${lookedBackTo && searchFurther(request, q, lookedBackTo)}
    `,
  });
}

/** A pasted SMS stands for the receipt in it. */
function wantedText(request: HolderRequest): string {
  const q = queryOf(request, 'q', MAX_TEXT_CHARACTERS);
  const [receipt] = q.length >= SMS_CHARACTERS ? readPaymentText(q, []).receipts : [];
  return receipt ?? q.slice(0, MAX_CHARACTERS);
}

function countOf({ pages, transactions, others }: SearchResults): number {
  return pages.length + transactions.length + others.length;
}

function hitCard(title: string, lines: readonly Html[]): Html {
  return html`
    <section class="card">
      <h2>${title}</h2>
      <ul class="plain hits">${lines.map((line) => html`<li>${line}</li>`)}</ul>
    </section>
  `;
}

function pageLine({ label, path, icon: name }: PageHit): Html {
  return html`<a class="hit" href="${path}">${icon(name)}<span><b>${label}</b></span></a>`;
}

function otherLine({ title, second, href, icon: name }: OtherHit): Html {
  return html`
    <a class="hit" href="${href}">
      ${icon(name)}<span><b><bdi>${title}</bdi></b> <span class="muted"><bdi>${second}</bdi></span></span>
    </a>
  `;
}

function searchFurther(request: HolderRequest, q: string, searchedBackTo: Date): Html {
  const { t } = request;
  const query = new URLSearchParams({ text: q }).toString();
  return html`
    <p class="muted">
      ${t.transactions.searchedBackTo} ${timeTag(request, searchedBackTo)} ·${' '}
      <a href="/console/transactions?${query}">${t.transactions.searchFurther}</a>
    </p>
  `;
}

/** Options of a list box, without a page around them. */
async function suggest(request: HolderRequest): Promise<FastifyReply> {
  const { raw, reply, t } = request;
  const q = wantedText(request);
  const exact = await findById(request, q);
  const results = await searchAll(request, q, SUGGESTED);
  const others = exact ? [exact, ...results.others] : results.others;
  const groups = [
    group(
      t.find.goTo,
      results.pages.map((hit) => option(hit.path, pageSuggestion(hit))),
    ),
    group(
      t.find.payments,
      results.transactions.map((row) => option(`/console/transactions/${refOf(row)}`, payment(request, row))),
    ),
    group(
      t.find.other,
      others.map((hit) => option(hit.href, otherSuggestion(hit))),
    ),
  ];
  const count = countOf(results) + (exact ? 1 : 0);
  const all = option(
    `/console/search?${new URLSearchParams({ q }).toString()}`,
    html`${icon('search')}${t.find.all(q)}`,
  );
  const body = count === 0 ? html`<p class="muted">${t.find.nothing}</p>` : html`${groups}${all}`;
  void reply.type('text/html; charset=utf-8').header('Cache-Control', 'no-store');
  return sendCompressed(raw, reply, printHtml(html`<div data-said="${t.find.results(count)}">${body}</div>`));
}

function group(title: string, options: readonly Html[]): Html | false {
  return (
    options.length > 0 &&
    html`<div role="group" aria-label="${title}"><p aria-hidden="true">${title}</p>${options}</div>`
  );
}

function option(href: string, content: Html): Html {
  return html`<a role="option" aria-selected="false" tabindex="-1" href="${href}">${content}</a>`;
}

function pageSuggestion({ label, icon: name }: PageHit): Html {
  return html`${icon(name)}<span><b>${label}</b></span>`;
}

function otherSuggestion({ title, second, icon: name }: OtherHit): Html {
  return html`${icon(name)}<span><b><bdi>${title}</bdi></b><span class="muted"><bdi>${second}</bdi></span></span>`;
}

function payment(request: HolderRequest, row: Transaction): Html {
  const { t } = request;
  const number = spokenNumber(row) ?? methodName(request, row.method);
  const state = t.status[row.status];
  const own = row.reference_1 ?? row.invoice_no;
  const second = [row.payee ? number : null, own, state, shortTime(request, row.created_at)]
    .filter(Boolean)
    .join(' · ');
  return html`
    ${who(html`<bdi>${row.payee ?? number}</bdi>`, html`<bdi>${second}</bdi>`, { tile: operatorTile(methodName(request, row.method)) })}
    <span class="amount">${row.direction === 'collection' ? '+' : '−'}${money(request, row.amount, row.currency)}</span>
  `;
}
