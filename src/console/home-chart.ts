// Money by day against the period before: the chart of the home page, and its numbers in a table.

import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dateLocale, numberLocale } from '../platform/locales.ts';
import { amountToNumber } from '../platform/money.ts';
import { dataTable } from '../ui/components.ts';
import { figuresOf } from './business-figures.ts';
import { type ChartDay, labelStep, moneyChart } from './charts.ts';
import { type HolderRequest, money } from './console-request.ts';
import type { DailyStats } from './daily-stats.ts';
import type { HomeRange } from './home-range.ts';

type Shown = { range: HomeRange; currency: string | null; stats: ReadonlyMap<string, DailyStats> };
type DayLine = {
  day: string;
  before: string | null;
  figures: ReturnType<typeof figuresOf>;
  beforeAmount: bigint | null;
};

export function moneyCard(request: HolderRequest, { range, currency, stats }: Shown): Html {
  const { t } = request;
  const days = currency === null ? [] : dayLines(range, currency, stats);
  const isEmpty = days.every(({ figures, beforeAmount }) => figures.collected === 0n && !beforeAmount);
  const isCounted = days.every(({ figures }) => figures.isCounted);
  const none = !isCounted ? t.home.counting : isEmpty && t.home.chartNone;
  return html`
    <section class="card" aria-labelledby="money-by-day">
      <div class="card-head">
        <h2 id="money-by-day">${t.home.chart}</h2>
        ${!none && legend(request, range)}
      </div>
      ${
        none || currency === null
          ? html`<p class="chart-none">${none}</p>`
          : html`<div class="chart-box">${chart(request, days, currency)}</div>${moneyTable(request, days, currency)}`
      }
    </section>
  `;
}

function dayLines(range: HomeRange, currency: string, stats: Shown['stats']): DayLine[] {
  const figuresFor = (day: string) => {
    const found = stats.get(day);
    return figuresOf(found ? [found] : [], currency);
  };
  return range.chart.days.map((day, index) => {
    const before = range.chart.before[index] ?? null;
    return {
      day,
      before,
      figures: figuresFor(day),
      beforeAmount: before === null ? null : figuresFor(before).collected,
    };
  });
}

function legend({ t }: HolderRequest, { key }: HomeRange): Html {
  return html`
    <ul class="chart-legend">
      <li class="legend-now">${t.home.chartNow[key]}</li>
      <li class="legend-before">${t.home.chartBefore[key]}</li>
    </ul>
  `;
}

function chart(request: HolderRequest, days: readonly DayLine[], currency: string): Html {
  const { t, language } = request;
  const compact = new Intl.NumberFormat(numberLocale(language), { notation: 'compact', maximumFractionDigits: 1 });
  const longDay = dayFormat(request, { weekday: 'short', day: 'numeric', month: 'short' });
  const shortDay = dayFormat(request, { day: 'numeric', month: 'short' });
  const points = days.map(({ day, before, figures, beforeAmount }, index): ChartDay => {
    const isNewMonth = index === 0 || Number(day.slice(8)) <= labelStep(days.length);
    return {
      label: isNewMonth ? shortDay(day) : String(Number(day.slice(8))),
      title: longDay(day),
      nowText: `${money(request, figures.collected, currency)} · ${t.home.payments(figures.payments)}`,
      beforeText:
        before === null || beforeAmount === null
          ? null
          : `${withColon(request, shortDay(before))} ${money(request, beforeAmount, currency)}`,
      now: amountToNumber(figures.collected),
      before: beforeAmount === null ? null : amountToNumber(beforeAmount),
    };
  });
  return moneyChart(points, t.home.chart, (value) => compact.format(value));
}

/** Money by the day on which it was posted: a day that is over does not change any more. */
function moneyTable(request: HolderRequest, days: readonly DayLine[], currency: string): Html {
  const { t } = request;
  const longDay = dayFormat(request, { weekday: 'short', day: 'numeric', month: 'short' });
  const amount = (value: bigint) => money(request, value, currency);
  return html`
    <details>
      <summary>${t.home.table}</summary>
      ${dataTable(
        t.home.chart,
        [
          { label: t.home.day },
          { label: t.home.collected, right: true },
          { label: t.home.before, right: true },
          { label: t.home.succeeded, right: true },
          { label: t.home.failed, right: true },
          { label: t.home.refundedMoney, right: true },
          { label: t.home.paidOut, right: true },
        ],
        days
          .toReversed()
          .map(({ day, figures, beforeAmount }) => [
            longDay(day),
            amount(figures.collected),
            beforeAmount === null ? '–' : amount(beforeAmount),
            figures.good,
            figures.bad,
            amount(figures.refunded),
            amount(figures.paidOut),
          ]),
      )}
      <p class="muted">${t.home.tableText}</p>
    </details>
  `;
}

/** A day is a date already: it is printed as it is, in no zone. */
function dayFormat({ language }: HolderRequest, parts: Intl.DateTimeFormatOptions): (day: string) => string {
  const format = new Intl.DateTimeFormat(dateLocale(language), { ...parts, timeZone: 'UTC' });
  return (day) => format.format(new Date(`${day}T12:00:00Z`));
}
