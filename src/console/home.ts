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
import { dataTable, emptyState } from './components.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import { errorBox, formField, postForm } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const DAYS = 14;
const RECENT = 8;
/** A wallet that pays out less than this many average days is called low. */
const FLOAT_DAYS = 1n;
const LIVE_SECONDS = 10;

export const homeRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '', (request) => homePage(request)),
  forRoles(MAKERS, 'POST', '/test-payment', testPayment),
];

async function homePage(request: HolderRequest, problem?: Problem): Promise<FastifyReply> {
  const { ctx, holder, t } = request;
  const [days, recent, attention] = await Promise.all([
    request.services.dailyStats.read(holder.id, DAYS),
    listTransactions(ctx.db, holder.id, {}, { limit: RECENT }),
    needsAttention(request),
  ]);
  const counts = countDays(days);
  const low = await lowFloat(request, days);
  const notes = [...attention, ...low];
  return renderPage(request, {
    title: t.home.title(holder.name),
    active: 'home',
    live: LIVE_SECONDS,
    ...(problem ? { status: problem.status } : {}),
    body: html`${holder.status !== 'active' && html`<p class="box error">${t.home.notActive}</p>`}
<section aria-labelledby="today"><h2 id="today">${t.home.today}</h2><div class="cards">${todayCards(request, days)}</div></section>
<div class="columns"><section class="card"><h2>${t.home.attention}</h2>${notes.length > 0 ? html`<ul class="plain">${notes.map((note) => html`<li>${note}</li>`)}</ul>` : html`<p>${t.home.nothing}</p>`}</section>${testCard(request, problem)}</div>
<div class="columns"><section class="card"><h2>${t.home.volume}</h2>${legend(request)}${volumeChart(counts, t.home.volume)}</section><section class="card"><h2>${t.home.rate}</h2>${rateChart(counts, t.home.rate)}</section></div>
<details><summary>${t.home.numbers}</summary>${dataTable(
      t.home.numbers,
      [
        { label: t.day },
        { label: t.home.good, right: true },
        { label: t.home.bad, right: true },
        { label: t.home.open, right: true },
        { label: t.home.rate, right: true },
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
<h2>${t.home.recent}</h2>${recent.rows.length > 0 ? transactionTable(request, recent.rows) : emptyState(t.transactions.none, t.transactions.noneText, html`<a class="button" href="/console/integrations">${t.menu.integrations}</a>`)}`,
  });
}

function percent(rate: number | null): string {
  return rate === null ? '–' : `${Math.round(rate * 1000) / 10} %`;
}

function legend({ t }: HolderRequest): Html {
  const mark = (state: string) =>
    html`<svg class="chart" viewBox="0 0 10 10" aria-hidden="true"><rect class="${state}" width="10" height="10"/></svg>`;
  return html`<ul class="legend"><li>${mark('good')}${t.home.good}</li><li>${mark('bad')}${t.home.bad}</li><li>${mark('open')}${t.home.open}</li></ul>`;
}

function todayCards(request: HolderRequest, days: readonly DailyStats[]): Html[] | Html {
  const { t } = request;
  const today = days.at(-1)?.figures ?? [];
  const currencies = [...new Set(today.map((each) => each.currency))].sort();
  if (currencies.length === 0)
    return html`<div class="card"><p class="figure">0</p><p class="muted">${t.home.noneToday}</p></div>`;
  return currencies.map((currency) => {
    const of = today.filter((each) => each.currency === currency);
    const total = (direction: 'payin' | 'payout') =>
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
    const [taken, paid] = [total('payin'), total('payout')];
    return html`<div class="card"><p class="figure">${money(request, taken.amount, currency)}</p><p class="muted">${t.home.collected(taken.count)} · ${t.fee} ${money(request, taken.fee, currency)}</p>${paid.count > 0 && html`<p class="muted">${t.home.paidOut(paid.count)}: ${money(request, paid.amount, currency)}</p>`}</div>`;
  });
}

async function needsAttention(request: HolderRequest): Promise<Html[]> {
  const { ctx, holder, t } = request;
  const [cases, failing, paused, approvals, integrations] = await Promise.all([
    listOpenCases(ctx.db, holder.id, 100),
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
    countWaitingApprovals(ctx.db, holder.id),
    listIntegrations(ctx.db, holder.id),
  ]);
  const notes: Html[] = [];
  if (cases.length > 0) notes.push(html`<a href="/console/cases">${t.home.casesOpen(cases.length)}</a>`);
  for (const each of failing)
    notes.push(html`<a href="/console/callbacks">${t.home.receiverFails(each.origin, each.waiting)}</a>`);
  if (paused.length > 0) notes.push(html`<a href="/console/callbacks">${t.home.receiverPaused(paused.length)}</a>`);
  if (approvals > 0) notes.push(html`<a href="/console/payouts">${t.home.approvals(approvals)}</a>`);
  if (integrations.length === 0) notes.push(html`<a href="/console/integrations">${t.home.firstIntegration}</a>`);
  return notes;
}

/** Wallets that do not hold an average day of payouts. */
async function lowFloat(request: HolderRequest, days: readonly DailyStats[]): Promise<Html[]> {
  const week = days.slice(-7);
  const sums = new Map<string, bigint>();
  for (const each of week.flatMap((day) => day.figures))
    if (each.direction === 'payout' && each.status === 'success')
      sums.set(each.currency, (sums.get(each.currency) ?? 0n) + each.amount);
  if (sums.size === 0) return [];
  const wallets = await balancesOf(request.ctx.db, request.holder.id);
  return wallets.flatMap((wallet) => {
    const average = (sums.get(wallet.currency) ?? 0n) / 7n;
    if (average === 0n || wallet.available >= average * FLOAT_DAYS) return [];
    return [
      html`<a href="/console/balances">${request.t.home.lowFloat(money(request, wallet.available, wallet.currency), money(request, average, wallet.currency))}</a>`,
    ];
  });
}

function testCountries(request: HolderRequest) {
  return listCollectionCountries(request.ctx.catalog).filter((row) => row.apiCollections);
}

function testCard(request: HolderRequest, problem: Problem | undefined): Html | false {
  const { t, role, ctx } = request;
  if (ctx.config.mode !== 'sandbox' || !MAKERS.includes(role)) return false;
  const rows = testCountries(request);
  const chosen = fieldOf(request, 'country_id') || String(rows[0]?.countryId ?? '');
  return html`<section class="card"><h2>${t.home.try}</h2><p class="muted">${t.home.tryText}</p>${problem && errorBox(request, problem.details.errors, problem.message)}${postForm(
    request,
    '/test-payment',
    html`<div class="field-row">${formField({ type: 'select', name: 'country_id', label: t.country, value: chosen, choices: rows.map((row) => [String(row.countryId), `${row.name} (${row.currency})`] as const) })}${formField({ name: 'mobile', label: t.number, value: fieldOf(request, 'mobile'), hint: t.home.tryNumber, errors: problem?.details.errors, attributes: html`inputmode="tel"` })}${formField({ name: 'amount', label: t.amount, value: fieldOf(request, 'amount') || '2500', errors: problem?.details.errors, attributes: html`inputmode="decimal"` })}</div><button>${t.home.tryButton}</button>`,
  )}</section>`;
}

async function testPayment(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, services } = request;
  if (ctx.config.mode !== 'sandbox') throw new Problem('forbidden');
  const row = testCountries(request).find((each) => String(each.countryId) === fieldOf(request, 'country_id'));
  if (!row) throw new Problem('country_not_found');
  const faults = collectFieldErrors();
  const mobile = fieldOf(request, 'mobile') || `+${row.country.example}`;
  const [method] = row.methods;
  const payment = readPayment(
    row,
    { mobile, amount: fieldOf(request, 'amount'), payment_method_type: null },
    (field, sentence) => faults.add(field, sentence),
    {
      lenient: true,
    },
  );
  const chosen =
    payment ??
    readPayment(
      row,
      { mobile, amount: fieldOf(request, 'amount'), payment_method_type: method?.code ?? '' },
      () => undefined,
      { lenient: true },
    );
  if (!chosen)
    return homePage(
      request,
      new Problem('invalid_params', { errors: faults.errors, message: request.t.pleaseCorrect }),
    );
  const [integration] = (await listIntegrations(ctx.db, holder.id)).filter((each) => each.status === 'active');
  const order = await completeOrder(ctx, chosen, {
    holderId: holder.id,
    integrationId: integration?.id ?? null,
    countryId: row.countryId,
    detail: `Test payment by ${request.actor.name}`,
    reference1: null,
    reference2: null,
    callbackUrl: integration?.defaultCallbackUrl ?? null,
    linkId: null,
  });
  const transaction = await acceptWithin(ctx, services.payments.engine, order, async () => undefined);
  return redirect(request, `/console/transactions/${refOf(transaction)}`, 'tested');
}
