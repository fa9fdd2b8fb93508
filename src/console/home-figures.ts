// The four figures of the home page: collected, balance, success rate and fees, each against the period before.

import type { WalletBalance } from '../ledger/ledger.ts';
import { type Html, type HtmlValue, html } from '../platform/html.ts';
import { numberLocale } from '../platform/locales.ts';
import { figureCard } from '../ui/components.ts';
import { type BusinessFigures, figuresOf, successRate } from './business-figures.ts';
import { timeTag } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import type { HomeRange } from './home-range.ts';
import { operatorName, percentText, worstOperator } from './operator-card.ts';

/** Figures that are older than this say when they were counted. */
const RECENT_COUNT_MS = 5_000;
/** Figures with more characters than this do not fit beside each other on a phone. */
const LONG_FIGURE = 11;
const NOTHING = '–';

type Shown = {
  range: HomeRange;
  currency: string | null;
  wallet: WalletBalance | null;
  now: readonly DailyStats[];
  before: readonly DailyStats[];
};

type Pair = { now: BusinessFigures; before: BusinessFigures; range: HomeRange; currency: string };

export function figureCards(request: HolderRequest, { range, currency, wallet, now, before }: Shown): Html {
  const { t } = request;
  const pair = { now: figuresOf(now, currency ?? ''), before: figuresOf(before, currency ?? ''), range };
  const { isCounted } = pair.now;
  const shown = (amount: bigint) => (currency === null ? '0' : money(request, amount, currency));
  const balance = shown(wallet?.available ?? 0n);
  const rate = successRate(pair.now);
  const figures = isCounted
    ? [shown(pair.now.collected), rate === null ? NOTHING : percentText(request, rate), shown(pair.now.fees)]
    : [NOTHING, NOTHING, NOTHING];
  const isLong = [...figures, balance].some((figure) => figure.length > LONG_FIGURE);
  const notes = (lines: HtmlValue[]): HtmlValue[] => (isCounted ? lines : [t.home.counting]);
  const compared: Pair | null = currency === null ? null : { ...pair, currency };
  return html`
    <div class="cards figures${isLong && ' figures-long'}">
      ${figureCard(t.home.collected, figures[0], ...notes(collectedNotes(request, compared)))}
      ${figureCard(t.home.balance, balance, balanceNote(request, wallet))}
      ${figureCard(t.home.rate, figures[1], ...notes([rateNote(request, pair)]))}
      ${figureCard(t.home.fees, figures[2], ...notes([feeNote(request, pair.now)]))}
    </div>
    ${countedLine(request, now)}
  `;
}

/** Busy days are counted every few seconds only: then the page says when. */
function countedLine(request: HolderRequest, days: readonly DailyStats[]): Html | false {
  const last = days.at(-1)?.countedAt;
  if (!last || request.ctx.clock.millis() - last.getTime() < RECENT_COUNT_MS) return false;
  return html`<p class="muted">${request.t.home.countedAt} ${timeTag(request, last)}</p>`;
}

function collectedNotes(request: HolderRequest, pair: Pair | null): HtmlValue[] {
  const { t } = request;
  if (!pair) return [t.home.payments(0)];
  const { now, currency } = pair;
  const refunded = now.refunded > 0n && ` · ${t.home.refunded(money(request, now.refunded, currency))}`;
  return [collectedChange(request, pair), html`${t.home.payments(now.payments)}${refunded}`];
}

/** A day that is not over is not compared in percent with a whole one. */
function collectedChange(request: HolderRequest, { now, before, range, currency }: Pair): HtmlValue {
  const { t } = request;
  if (!before.isCounted) return false;
  if (range.key === 'today')
    return before.collected === 0n
      ? t.home.noneYesterday
      : t.home.yesterday(money(request, before.collected, currency));
  if (before.collected === 0n) return t.home.noneBefore[range.key];
  const percent = Number(((now.collected - before.collected) * 1000n) / before.collected) / 10;
  return changeLine(
    request,
    percent,
    `${roundedText(request, Math.abs(percent))} %`,
    ` ${t.home.comparedWith[range.key]}`,
  );
}

function changeLine({ t }: HolderRequest, change: number, text: string, after: HtmlValue): Html {
  if (Math.abs(change) < 0.05) return html`<span>±0</span>${after}`;
  const isUp = change > 0;
  return html`
    <span class="${isUp ? 'up' : 'down'}">
      <span aria-hidden="true">${isUp ? '▲ ' : '▼ '}</span>
      <span class="visually-hidden">${isUp ? t.home.up : t.home.down}</span>
      ${text}
    </span>${after}
  `;
}

function roundedText({ language }: HolderRequest, value: number): string {
  const maximumFractionDigits = value < 10 ? 1 : 0;
  return new Intl.NumberFormat(numberLocale(language), { maximumFractionDigits, useGrouping: false }).format(value);
}

function balanceNote(request: HolderRequest, wallet: WalletBalance | null): string {
  const { t } = request;
  if (!wallet) return t.home.noWallet;
  if (wallet.reserved === 0n) return t.home.nothingReserved;
  return t.home.onItsWayOut(money(request, wallet.reserved, wallet.currency));
}

/** The change in points, and the operator that pulls the rate down. */
function rateNote(request: HolderRequest, { now, before }: Omit<Pair, 'currency'>): HtmlValue {
  const { t } = request;
  const [rate, earlier] = [successRate(now), before.isCounted ? successRate(before) : null];
  if (rate === null) return t.home.rateNone;
  const worst = worstOperator(now);
  const worstText =
    worst && t.home.worst(operatorName(request, worst.method), percentText(request, successRate(worst) ?? 0));
  if (earlier === null) return worstText ?? t.home.decided(now.good, now.bad);
  const points = (rate - earlier) * 100;
  const text = t.home.points(roundedText(request, Math.abs(points)));
  return changeLine(request, points, text, worstText && ` · ${worstText}`);
}

function feeNote(request: HolderRequest, { fees, collected }: BusinessFigures): string {
  const { t } = request;
  if (fees === 0n) return t.home.feesNone;
  if (collected === 0n) return '';
  return t.home.feeShare(percentText(request, Number((fees * 10_000n) / collected) / 10_000));
}
