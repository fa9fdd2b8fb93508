// The first page: today's money, how the last two weeks went, what needs a person, and a payment to try.

import type { FastifyReply } from 'fastify';
import { listFailingReceivers, listPausedAddresses } from '../callbacks/endpoints.ts';
import { listCollectionCountries } from '../catalog/countries.ts';
import { listIntegrations } from '../holders/integrations.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { acceptWithin } from '../payments/accept.ts';
import { listOpenCases } from '../payments/cases.ts';
import { completeOrder, readPayment } from '../payments/collections.ts';
import { listTransactions } from '../payments/listing.ts';
import { countWaitingApprovals } from '../payments/payout-orders.ts';
import { refOf } from '../payments/transactions.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { countDays, rateChart, successRate, volumeChart } from './charts.ts';
import { dataTable, emptyState, errorBox, inputField, postForm, selectField } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { type DailyStats, readDailyStats } from './daily-stats.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transactions.ts';

const DAYS = 14;
const RECENT = 8;
/** A wallet that pays out less than this many average days is called low. */
const FLOAT_DAYS = 1n;
const LIVE_SECONDS = 10;

export const homeRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '', (visit) => homePage(visit)),
  forRoles(MAKERS, 'POST', '/test-payment', testPayment),
];

async function homePage(visit: HolderRequest, problem?: Problem): Promise<FastifyReply> {
  const { ctx, holder, words } = visit;
  const [days, recent, attention] = await Promise.all([
    readDailyStats(ctx, holder.id, DAYS),
    listTransactions(ctx.db, holder.id, {}, { limit: RECENT }),
    needsAttention(visit),
  ]);
  const counts = countDays(days);
  const low = await lowFloat(visit, days);
  const notes = [...attention, ...low];
  return renderPage(visit, {
    title: words.home.title(holder.name),
    active: 'home',
    live: LIVE_SECONDS,
    ...(problem ? { status: problem.status } : {}),
    body: html`${holder.status !== 'active' && html`<p class="box bad">${words.home.notActive}</p>`}
<section aria-labelledby="today"><h2 id="today">${words.home.today}</h2><div class="cards">${todayCards(visit, days)}</div></section>
<div class="two"><section class="card"><h2>${words.home.attention}</h2>${notes.length > 0 ? html`<ul class="plain">${notes.map((note) => html`<li>${note}</li>`)}</ul>` : html`<p>${words.home.nothing}</p>`}</section>${testCard(visit, problem)}</div>
<div class="two"><section class="card"><h2>${words.home.volume}</h2>${legend(visit)}${volumeChart(counts, words.home.volume)}</section><section class="card"><h2>${words.home.rate}</h2>${rateChart(counts, words.home.rate)}</section></div>
<details><summary>${words.home.numbers}</summary>${dataTable(
      words.home.numbers,
      [
        { label: words.day },
        { label: words.home.good, right: true },
        { label: words.home.bad, right: true },
        { label: words.home.open, right: true },
        { label: words.home.rate, right: true },
      ],
      counts
        .toReversed()
        .map((each) => [
          each.day.toISOString().slice(0, 10),
          each.good,
          each.bad,
          each.open,
          percent(successRate(each)),
        ]),
    )}</details>
<h2>${words.home.recent}</h2>${recent.rows.length > 0 ? transactionTable(visit, recent.rows) : emptyState(words.transactions.none, words.transactions.noneText, html`<a class="btn" href="/console/integrations">${words.menu.integrations}</a>`)}`,
  });
}

function percent(rate: number | null): string {
  return rate === null ? '–' : `${Math.round(rate * 1000) / 10} %`;
}

function legend({ words }: HolderRequest): Html {
  const mark = (look: string) =>
    html`<svg class="chart" viewBox="0 0 10 10" aria-hidden="true"><rect class="${look}" width="10" height="10"/></svg>`;
  return html`<ul class="legend"><li>${mark('ok')}${words.home.good}</li><li>${mark('no')}${words.home.bad}</li><li>${mark('op')}${words.home.open}</li></ul>`;
}

function todayCards(visit: HolderRequest, days: readonly DailyStats[]): Html[] | Html {
  const { words } = visit;
  const today = days.at(-1)?.figures ?? [];
  const currencies = [...new Set(today.map((each) => each.currency))].sort();
  if (currencies.length === 0)
    return html`<div class="card"><p class="sum">0</p><p class="m">${words.home.noneToday}</p></div>`;
  return currencies.map((currency) => {
    const of = today.filter((each) => each.currency === currency);
    const total = (direction: 'collection' | 'payout') =>
      of
        .filter((each) => each.direction === direction && each.status === 'success')
        .reduce(
          (sum, each) => ({
            amount: sum.amount + each.amount,
            fee: sum.fee + each.fee,
            count: sum.count + each.transactions,
          }),
          { amount: 0n, fee: 0n, count: 0 },
        );
    const [taken, paid] = [total('collection'), total('payout')];
    return html`<div class="card"><p class="sum">${money(visit, taken.amount, currency)}</p><p class="m">${words.home.collected(taken.count)} · ${words.fee} ${money(visit, taken.fee, currency)}</p>${paid.count > 0 && html`<p class="m">${words.home.paidOut(paid.count)}: ${money(visit, paid.amount, currency)}</p>`}</div>`;
  });
}

async function needsAttention(visit: HolderRequest): Promise<Html[]> {
  const { ctx, holder, words } = visit;
  const [cases, failing, paused, approvals, integrations] = await Promise.all([
    listOpenCases(ctx.db, holder.id, 100),
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
    countWaitingApprovals(ctx.db, holder.id),
    listIntegrations(ctx.db, holder.id),
  ]);
  const notes: Html[] = [];
  if (cases.length > 0) notes.push(html`<a href="/console/cases">${words.home.casesOpen(cases.length)}</a>`);
  for (const each of failing)
    notes.push(html`<a href="/console/callbacks">${words.home.receiverFails(each.origin, each.waiting)}</a>`);
  if (paused.length > 0) notes.push(html`<a href="/console/callbacks">${words.home.receiverPaused(paused.length)}</a>`);
  if (approvals > 0) notes.push(html`<a href="/console/payouts">${words.home.approvals(approvals)}</a>`);
  if (integrations.length === 0) notes.push(html`<a href="/console/integrations">${words.home.firstIntegration}</a>`);
  return notes;
}

/** Wallets that do not hold an average day of payouts. */
async function lowFloat(visit: HolderRequest, days: readonly DailyStats[]): Promise<Html[]> {
  const week = days.slice(-7);
  const sums = new Map<string, bigint>();
  for (const each of week.flatMap((day) => day.figures))
    if (each.direction === 'payout' && each.status === 'success')
      sums.set(each.currency, (sums.get(each.currency) ?? 0n) + each.amount);
  if (sums.size === 0) return [];
  const wallets = await balancesOf(visit.ctx.db, visit.holder.id);
  return wallets.flatMap((wallet) => {
    const average = (sums.get(wallet.currency) ?? 0n) / 7n;
    if (average === 0n || wallet.available >= average * FLOAT_DAYS) return [];
    return [
      html`<a href="/console/balances">${visit.words.home.lowFloat(money(visit, wallet.available, wallet.currency), money(visit, average, wallet.currency))}</a>`,
    ];
  });
}

function testCountries(visit: HolderRequest) {
  return listCollectionCountries(visit.ctx.catalog).filter((row) => row.apiCollections);
}

function testCard(visit: HolderRequest, problem: Problem | undefined): Html | false {
  const { words, role, ctx } = visit;
  if (ctx.config.mode !== 'sandbox' || !MAKERS.includes(role)) return false;
  const rows = testCountries(visit);
  const chosen = fieldOf(visit, 'country_id') || String(rows[0]?.countryId ?? '');
  return html`<section class="card"><h2>${words.home.try}</h2><p class="m">${words.home.tryText}</p>${problem && errorBox(visit, problem.details.errors, problem.message)}${postForm(
    visit,
    '/test-payment',
    html`<div class="row">${selectField({ name: 'country_id', label: words.country, value: chosen, choices: rows.map((row) => [String(row.countryId), `${row.name} (${row.currency})`] as const) })}${inputField({ name: 'mobile', label: words.number, value: fieldOf(visit, 'mobile'), hint: words.home.tryNumber, errors: problem?.details.errors, more: html`inputmode="tel"` })}${inputField({ name: 'amount', label: words.amount, value: fieldOf(visit, 'amount') || '2500', errors: problem?.details.errors, more: html`inputmode="decimal"` })}</div><button>${words.home.tryButton}</button>`,
  )}</section>`;
}

async function testPayment(visit: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, parts } = visit;
  if (ctx.config.mode !== 'sandbox') throw new Problem('forbidden');
  const row = testCountries(visit).find((each) => String(each.countryId) === fieldOf(visit, 'country_id'));
  if (!row) throw new Problem('country_not_found');
  const faults = collectFieldErrors();
  const mobile = fieldOf(visit, 'mobile') || `+${row.country.example}`;
  const [method] = row.methods;
  const payment = readPayment(
    row,
    { mobile, amount: fieldOf(visit, 'amount'), payment_method_type: null },
    (field, sentence) => faults.add(field, sentence),
    {
      lenient: true,
    },
  );
  const chosen =
    payment ??
    readPayment(
      row,
      { mobile, amount: fieldOf(visit, 'amount'), payment_method_type: method?.code ?? '' },
      () => undefined,
      { lenient: true },
    );
  if (!chosen)
    return homePage(
      visit,
      new Problem('invalid_params', { errors: faults.errors, message: visit.words.pleaseCorrect }),
    );
  const [integration] = (await listIntegrations(ctx.db, holder.id)).filter((each) => each.status === 'active');
  const order = await completeOrder(ctx, chosen, {
    holderId: holder.id,
    integrationId: integration?.id ?? null,
    countryId: row.countryId,
    detail: `Test payment by ${visit.actor.name}`,
    reference1: null,
    reference2: null,
    callbackUrl: integration?.defaultCallbackUrl ?? null,
    linkId: null,
  });
  const transaction = await acceptWithin(ctx, parts.payments.engine, order, async () => undefined);
  return redirect(visit, `/console/transactions/${refOf(transaction)}`, 'tested');
}
