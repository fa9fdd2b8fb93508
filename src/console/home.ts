// The home page answers "how is business?": money, balance, success rate and fees of a period against the one before, what
// needs a person, the latest payments and how the operators do. Days are the holder's own, in its time zone.

import type { FastifyReply } from 'fastify';
import { balancesOf } from '../ledger/ledger.ts';
import { listTransactions } from '../payments/listing.ts';
import type { Transaction } from '../payments/transactions.ts';
import type { Problem } from '../platform/errors.ts';
import { type Html, html, scriptFile, styleFile } from '../platform/html.ts';
import { dateLocale } from '../platform/locales.ts';
import { dayIn } from '../platform/time-zones.ts';
import { chips, emptyState, segments } from '../ui/components.ts';
import { attentionCard } from './attention.ts';
import { currenciesOf, figuresOf } from './business-figures.ts';
import { zoneOf } from './components.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import { firstMinute } from './first-minute.ts';
import { figureCards } from './home-figures.ts';
import { daysToRead, type HomeRange, RANGES, readRange } from './home-range.ts';
import { renderPage } from './layout.ts';
import { operatorCards } from './operator-card.ts';
import { type ConsoleRoute, EVERYONE, forRoles, MAKERS } from './route.ts';
import { sampleShopButton } from './sample-shop-button.ts';
import { createTestPayment, testPaymentCard } from './test-payment.ts';
import { readTransactionNames, transactionTable } from './transaction-table.ts';

const STYLE = styleFile(new URL('./home.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./home.js', import.meta.url));
const RECENT = 8;
const LIVE_SECONDS = 10;
const NOON = 12;
const EVENING = 18;

export const homeRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '', (request) => homePage(request)),
  forRoles(MAKERS, 'POST', '/test-payment', (request) =>
    createTestPayment(request, (problem) => homePage(request, problem)),
  ),
];

async function homePage(request: HolderRequest, problem?: Problem): Promise<FastifyReply> {
  const { ctx, holder, services, t } = request;
  const range = readRange(queryOf(request, 'range', 10), dayIn(zoneOf(request), ctx.clock.now()));
  const [stats, recent, wallets] = await Promise.all([
    services.dailyStats.read(ctx, holder, daysToRead(range)),
    listTransactions(ctx.db, holder.id, {}, { limit: RECENT }),
    balancesOf(ctx.db, holder.id),
  ]);
  const of = (days: readonly string[]) => stats.filter(({ day }) => days.includes(day));
  const currencies = currenciesOf(
    of([...range.days, ...range.before]),
    wallets.map((wallet) => wallet.currency),
  );
  const currency = currencies.find((known) => known === queryOf(request, 'currency', 3)) ?? currencies[0] ?? null;
  const attention = await attentionCard(request, of(range.chart.days), wallets);
  const wallet = wallets.find((each) => each.currency === currency) ?? null;
  // With the packages that draw; no other page has a chart.
  const { moneyCard } = await import('./home-chart.ts');
  return renderPage(request, {
    title: greeting(request),
    lead: dayLine(request),
    active: 'home',
    live: LIVE_SECONDS,
    styles: [STYLE],
    scripts: [SCRIPT],
    actions: rangeLinks(request, range, currency),
    ...(problem ? { status: problem.status } : {}),
    body: html`
      ${holder.status !== 'active' && html`<p class="box error">${t.home.notActive}</p>`}
      ${await firstMinute(request)}
      ${currencies.length > 1 && currencyChips(request, range, currencies, currency)}
      ${figureCards(request, { range, currency, wallet, now: of(range.days), before: of(range.before) })}
      <div class="columns-wide home-columns">
        <div>
          ${moneyCard(request, { range, currency, stats: byDay(stats) })}
          ${await recentCard(request, recent.rows)}
        </div>
        <div>
          ${attention}
          ${currency !== null && operatorCards(request, figuresOf(of(range.days), currency))}
          ${testPaymentCard(request, problem)}
        </div>
      </div>
    `,
  });
}

function byDay(stats: readonly DailyStats[]): Map<string, DailyStats> {
  return new Map(stats.map((each) => [each.day, each]));
}

function greeting(request: HolderRequest): string {
  const { ctx, t, session, holder } = request;
  const hour = Number(
    new Intl.DateTimeFormat('en', { timeZone: zoneOf(request), hour: 'numeric', hourCycle: 'h23' }).format(
      ctx.clock.now(),
    ),
  );
  const time = hour < NOON ? 'morning' : hour < EVENING ? 'afternoon' : 'evening';
  const [firstName] = (session.member.name ?? '').split(' ');
  return t.home.greetings[time](firstName || holder.name);
}

/** "Duka la Amani · Saturday 14 November, Nairobi time": the zone is said once, here. */
function dayLine({ ctx, t, language, holder }: HolderRequest): string {
  const day = new Intl.DateTimeFormat(dateLocale(language), {
    timeZone: holder.time_zone,
    weekday: 'long',
    day: 'numeric',
    month: 'long',
  }).format(ctx.clock.now());
  const place = holder.time_zone.split('/').at(-1)?.replaceAll('_', ' ') ?? holder.time_zone;
  return t.home.dayLine(holder.name, day, place);
}

function addressOf(range: string, currency: string | null): string {
  return `/console?${new URLSearchParams({ range, ...(currency === null ? {} : { currency }) }).toString()}`;
}

function rangeLinks({ t }: HolderRequest, range: HomeRange, currency: string | null): Html {
  return segments(
    t.home.range,
    RANGES.map((key) => ({ label: t.home.ranges[key], href: addressOf(key, currency), current: key === range.key })),
  );
}

function currencyChips(
  { t }: HolderRequest,
  range: HomeRange,
  currencies: readonly string[],
  current: string | null,
): Html {
  return chips(
    t.currency,
    currencies.map((code) => ({ label: code, href: addressOf(range.key, code), current: code === current })),
  );
}

async function recentCard(request: HolderRequest, rows: readonly Transaction[]): Promise<Html> {
  const { t, role } = request;
  if (rows.length === 0)
    return emptyState(
      t.home.none,
      t.home.noneText,
      html`
        ${MAKERS.includes(role) && html`<a class="button" href="/console/links/new">${t.home.newLink}</a>`}
        ${sampleShopButton(request)}
      `,
    );
  return html`
    <section class="card" aria-labelledby="latest">
      <div class="card-head">
        <h2 id="latest">${t.home.recent}</h2>
        <a href="/console/transactions">${t.home.allTransactions} →</a>
      </div>
      ${transactionTable(request, rows, await readTransactionNames(request, rows))}
    </section>
  `;
}
