// The home page: today's totals, what needs attention, a test payment, charts of the last two weeks, recent transactions.

import type { FastifyReply } from 'fastify';
import { listFailingReceivers, listPausedAddresses } from '../callbacks/endpoints.ts';
import { listCollectionCountries } from '../catalog/countries.ts';
import { findActiveIntegration, listIntegrations } from '../holders/integrations.ts';
import type { MoneyFact, MoneyTotal } from '../ledger/daily-money.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { acceptWithin } from '../payments/accept.ts';
import { countOpenCases } from '../payments/case-list.ts';
import { completeOrder, readPayment } from '../payments/collections.ts';
import { listDebts } from '../payments/debts.ts';
import { listTransactions } from '../payments/listing.ts';
import { countWaitingApprovals } from '../payments/payout-orders.ts';
import { countWaitingRefunds } from '../payments/refund-orders.ts';
import { refOf } from '../payments/transactions.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { formatAmount } from '../platform/money.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { dataTable, emptyState } from '../ui/components.ts';
import { countDays, type DayCount, rateChart, successRate, volumeChart } from './charts.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import { errorBox, form } from './form-components.ts';
import { redirect, renderPage } from './layout.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { transactionTable } from './transaction-table.ts';

const DAYS = 14;
const RECENT = 8;
/** The days over which payouts are averaged. */
const AVERAGE_DAYS = 7;
/** A wallet is low when it covers fewer average days of payouts than this. */
const FLOAT_DAYS = 1n;
const LIVE_SECONDS = 10;
const DEFAULT_AMOUNT = '2500';

export const homeRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '', (request) => homePage(request)),
  forRoles(MAKERS, 'POST', '/test-payment', testPayment),
];

async function homePage(request: HolderRequest, problem?: Problem): Promise<FastifyReply> {
  const { ctx, holder, services, t } = request;
  const [days, recent, attention] = await Promise.all([
    services.dailyStats.read(ctx, holder.id, DAYS),
    listTransactions(ctx.db, holder.id, {}, { limit: RECENT }),
    needsAttention(request),
  ]);
  const counts = countDays(days);
  const notes = [...attention, ...(await lowFloat(request, days))];
  return renderPage(request, {
    title: t.home.title(holder.name),
    active: 'home',
    live: LIVE_SECONDS,
    ...(problem ? { status: problem.status } : {}),
    body: html`
      ${holder.status !== 'active' && html`<p class="box error">${t.home.notActive}</p>`}
      <section aria-labelledby="today">
        <h2 id="today">${t.home.today}</h2>
        <div class="cards">${todayCards(request, days)}</div>
      </section>
      <div class="columns">
        ${attentionSection(request, notes)}
        ${testPaymentSection(request, problem)}
      </div>
      <div class="columns">
        <section class="card">
          <h2>${t.home.volume}</h2>
          ${legend(request)}
          ${volumeChart(counts, t.home.volume)}
        </section>
        <section class="card">
          <h2>${t.home.rate}</h2>
          ${rateChart(counts, t.home.rate)}
        </section>
      </div>
      <details>
        <summary>${t.home.numbers}</summary>
        ${countsTable(request, counts)}
        ${moneyTable(request, days)}
      </details>
      <h2>${t.home.recent}</h2>
      ${
        recent.rows.length > 0
          ? transactionTable(request, recent.rows)
          : emptyState(
              t.transactions.none,
              t.transactions.noneText,
              html`<a class="button" href="/console/integrations">${t.menu.integrations}</a>`,
            )
      }
    `,
  });
}

function attentionSection({ t }: HolderRequest, notes: readonly Html[]): Html {
  return html`
    <section class="card">
      <h2>${t.home.attention}</h2>
      ${
        notes.length > 0
          ? html`<ul class="plain">${notes.map((note) => html`<li>${note}</li>`)}</ul>`
          : html`<p>${t.home.noAttention}</p>`
      }
    </section>
  `;
}

function countsTable({ t }: HolderRequest, counts: readonly DayCount[]): Html {
  return dataTable(
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
      .map((count) => [
        count.day.toISOString().slice(0, 10),
        count.good,
        count.bad,
        count.open,
        percent(successRate(count)),
      ]),
  );
}

function percent(rate: number | null): string {
  return rate === null ? '–' : `${Math.round(rate * 1000) / 10} %`;
}

function legend({ t }: HolderRequest): Html {
  const item = (state: 'good' | 'bad' | 'open') => html`
    <li>
      <svg class="chart" viewBox="0 0 10 10" aria-hidden="true"><rect class="${state}" width="10" height="10"/></svg>
      ${t.home[state]}
    </li>
  `;
  return html`<ul class="legend">${item('good')}${item('bad')}${item('open')}</ul>`;
}

function todayCards(request: HolderRequest, days: readonly DailyStats[]): Html[] | Html {
  const { t } = request;
  const today = moneyByCurrency(days.at(-1));
  if (today.length === 0)
    return html`<div class="card"><p class="figure">0</p><p class="muted">${t.home.noneToday}</p></div>`;
  return today.map(([currency, of]) => {
    const line = (fact: MoneyFact, text: (count: number) => string) =>
      of(fact).transactions > 0 &&
      html`<p class="muted">${text(of(fact).transactions)}: ${money(request, of(fact).amount, currency)}</p>`;
    const collected = of('collected');
    return html`
      <div class="card">
        <p class="figure">${money(request, collected.amount, currency)}</p>
        <p class="muted">
          ${t.home.collected(collected.transactions)} · ${t.fee} ${money(request, collected.fee, currency)}
        </p>
        ${line('given_back', t.home.givenBackCount)}
        ${line('paid_out', t.home.paidOut)}
        ${line('returned', t.home.returnedCount)}
      </div>
    `;
  });
}

/** Each currency of a day, and its total of a fact. */
function moneyByCurrency(day: DailyStats | undefined): [string, (fact: MoneyFact) => MoneyTotal][] {
  const totals = day?.money ?? [];
  const currencies = [...new Set(totals.map((total) => total.currency))].sort();
  return currencies.map((currency) => [
    currency,
    (fact) =>
      totals.find((total) => total.currency === currency && total.fact === fact) ?? {
        fact,
        currency,
        transactions: 0,
        amount: 0n,
        fee: 0n,
      },
  ]);
}

/** Money by the day on which it was posted: a day that is over does not change any more. */
function moneyTable(request: HolderRequest, days: readonly DailyStats[]): Html | false {
  const { t } = request;
  const rows = days.toReversed().flatMap((day) => moneyByCurrency(day).map((entry) => ({ day: day.day, entry })));
  if (rows.length === 0) return false;
  return html`
    <p class="muted">${t.home.moneyText}</p>
    ${dataTable(
      t.home.money,
      [
        { label: t.day },
        { label: t.home.collectedMoney, right: true },
        { label: t.fee, right: true },
        { label: t.home.givenBack, right: true },
        { label: t.home.paidOutMoney, right: true },
        { label: t.home.returned, right: true },
      ],
      rows.map(({ day, entry: [currency, of] }) => [
        day.toISOString().slice(0, 10),
        money(request, of('collected').amount, currency),
        money(request, of('collected').fee + of('paid_out').fee, currency),
        money(request, of('given_back').amount, currency),
        money(request, of('paid_out').amount, currency),
        money(request, of('returned').amount, currency),
      ]),
    )}
  `;
}

async function needsAttention(request: HolderRequest): Promise<Html[]> {
  const { ctx, holder, t } = request;
  const [cases, failing, paused, approvals, refunds, debts, integrations] = await Promise.all([
    countOpenCases(ctx.db, holder.id),
    listFailingReceivers(ctx.db, holder.id),
    listPausedAddresses(ctx.db, holder.id),
    countWaitingApprovals(ctx.db, holder.id),
    countWaitingRefunds(ctx.db, holder.id),
    listDebts(ctx.db, holder.id),
    listIntegrations(ctx.db, holder.id),
  ]);
  const notes: Html[] = [];
  const open = [...cases.values()].reduce((sum, count) => sum + count, 0);
  if (open > 0) notes.push(html`<a href="/console/cases">${t.home.casesOpen(open)}</a>`);
  for (const each of failing)
    notes.push(html`<a href="/console/callbacks">${t.home.callbacksFailing(each.origin, each.waiting)}</a>`);
  if (paused.length > 0) notes.push(html`<a href="/console/callbacks">${t.home.callbacksPaused(paused.length)}</a>`);
  if (approvals > 0) notes.push(html`<a href="/console/payouts">${t.home.approvals(approvals)}</a>`);
  if (refunds > 0) notes.push(html`<a href="/console/payouts">${t.home.refundApprovals(refunds)}</a>`);
  for (const { amount, currency } of debts)
    notes.push(html`<a href="/console/balances">${t.home.debt(money(request, amount, currency))}</a>`);
  if (integrations.length === 0) notes.push(html`<a href="/console/integrations">${t.home.firstIntegration}</a>`);
  return notes;
}

/** Wallets that do not hold an average day of payouts. */
async function lowFloat(request: HolderRequest, days: readonly DailyStats[]): Promise<Html[]> {
  const paidOut = new Map<string, bigint>();
  for (const total of days.slice(-AVERAGE_DAYS).flatMap((day) => day.money))
    if (total.fact === 'paid_out') paidOut.set(total.currency, (paidOut.get(total.currency) ?? 0n) + total.amount);
  if (paidOut.size === 0) return [];
  const wallets = await balancesOf(request.ctx.db, request.holder.id);
  return wallets.flatMap(({ currency, available }) => {
    const average = (paidOut.get(currency) ?? 0n) / BigInt(AVERAGE_DAYS);
    if (average === 0n || available >= average * FLOAT_DAYS) return [];
    const text = request.t.home.lowFloat(money(request, available, currency), money(request, average, currency));
    return [html`<a href="/console/balances">${text}</a>`];
  });
}

function testCountries(request: HolderRequest) {
  return listCollectionCountries(request.ctx.catalog).filter((row) => row.apiCollections);
}

function testPaymentSection(request: HolderRequest, problem: Problem | undefined): Html | false {
  const { t, role, ctx } = request;
  if (ctx.config.mode !== 'sandbox' || !MAKERS.includes(role)) return false;
  const rows = testCountries(request);
  return html`
    <section class="card">
      <h2>${t.home.testPayment}</h2>
      <p class="muted">${t.home.testPaymentText}</p>
      ${problem && errorBox(request, problem.details.errors, problem.message)}
      ${form(request, {
        action: '/test-payment',
        row: true,
        errors: problem?.details.errors,
        fields: [
          {
            type: 'select',
            name: 'country_id',
            label: t.country,
            value: fieldOf(request, 'country_id') || String(rows[0]?.countryId ?? ''),
            choices: rows.map((row) => [String(row.countryId), `${row.name} (${row.currency})`] as const),
          },
          {
            name: 'mobile',
            label: t.number,
            value: fieldOf(request, 'mobile'),
            hint: t.home.testPaymentNumber,
            attributes: html`inputmode="tel"`,
          },
          {
            name: 'amount',
            label: t.amount,
            value: fieldOf(request, 'amount') || DEFAULT_AMOUNT,
            attributes: html`inputmode="decimal"`,
          },
        ],
        submit: t.home.testPaymentButton,
      })}
    </section>
  `;
}

async function testPayment(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, holder, services } = request;
  if (ctx.config.mode !== 'sandbox') throw new Problem('forbidden');
  const row = testCountries(request).find((each) => String(each.countryId) === fieldOf(request, 'country_id'));
  if (!row) throw new Problem('country_not_found');
  const fieldErrors = collectFieldErrors();
  const typed = readTypedAmount(fieldOf(request, 'amount'), request.language, { currency: row.currency });
  const refuse = () =>
    homePage(request, new Problem('invalid_params', { errors: fieldErrors.errors, message: request.t.pleaseCorrect }));
  if (!typed.ok) {
    fieldErrors.add('amount', typed.sentence);
    return refuse();
  }
  const read = (method: string | null, onError: typeof fieldErrors.add) =>
    readPayment(
      row,
      {
        mobile: fieldOf(request, 'mobile') || `+${row.country.example}`,
        amount: formatAmount(typed.amount),
        payment_method_type: method,
      },
      onError,
      { lenient: true },
    );
  // The number decides the method; where it cannot, the country's first method is tried.
  const payment =
    read(null, (field, sentence) => fieldErrors.add(field, sentence)) ??
    read(row.methods[0]?.code ?? '', () => undefined);
  if (!payment) return refuse();
  const integration = await findActiveIntegration(ctx.db, holder.id);
  const order = await completeOrder(ctx, payment, {
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
  return redirect(request, `/console/transactions/${refOf(transaction)}`, 'testPaymentCreated');
}
