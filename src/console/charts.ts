// Charts drawn by the server: collections a day as bars, and the share of them that succeeded as a line. The page shows
// the same numbers in a table.

import { scaleBand, scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import type { TransactionTotal } from '../payments/listing.ts';
import { type Html, html } from '../platform/html.ts';
import type { DailyStats } from './daily-stats.ts';

const WIDTH = 440;
const HEIGHT = 180;
const LEFT = 44;
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 24;
const MAX_DAY_LABELS = 7;

export type DayCount = { day: Date; good: number; bad: number; open: number };

const GOOD: ReadonlySet<TransactionTotal['status']> = new Set(['success', 'reversed']);
const BAD: ReadonlySet<TransactionTotal['status']> = new Set(['failed', 'expired']);

/** How many collections of each day succeeded, failed, or are open. */
export function countDays(days: readonly DailyStats[]): DayCount[] {
  return days.map(({ day, attempts }) => {
    const counts = { day, good: 0, bad: 0, open: 0 };
    for (const each of attempts) {
      if (each.direction !== 'collection') continue;
      if (GOOD.has(each.status)) counts.good += each.transactions;
      else if (BAD.has(each.status)) counts.bad += each.transactions;
      else counts.open += each.transactions;
    }
    return counts;
  });
}

/** Success ÷ (success + failed + expired); null where nothing was decided. */
export function successRate(count: Pick<DayCount, 'good' | 'bad'>): number | null {
  return count.good + count.bad === 0 ? null : count.good / (count.good + count.bad);
}

function dayLabel(day: Date): string {
  return day.toISOString().slice(5, 10);
}

type Tick = { y: number; label: string };

function axes(days: readonly string[], ticks: readonly Tick[], centerOf: (day: string) => number): Html {
  const every = Math.ceil(days.length / MAX_DAY_LABELS);
  const labelled = days.filter((_, index) => index % every === 0);
  return html`
    ${ticks.map(
      ({ y, label }) => html`
        <line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"/>
        <text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${label}</text>
      `,
    )}
    ${labelled.map((day) => html`<text x="${centerOf(day)}" y="${HEIGHT - 6}" text-anchor="middle">${day}</text>`)}
  `;
}

function svg(label: string, content: Html): Html {
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">${content}</svg>`;
}

/** Bars: a day's collections on top of each other, by how they ended. */
export function volumeChart(counts: readonly DayCount[], label: string): Html {
  const days = counts.map((each) => dayLabel(each.day));
  const most = Math.max(4, ...counts.map((each) => each.good + each.bad + each.open));
  const x = scaleBand(days, [LEFT, WIDTH - RIGHT]).padding(0.3);
  const y = scaleLinear([0, most], [HEIGHT - BOTTOM, TOP]).nice(4);
  const width = x.bandwidth();
  const bars = counts.map((each) => {
    const left = x(dayLabel(each.day)) ?? 0;
    let base = 0;
    return (['good', 'bad', 'open'] as const).map((state) => {
      const value = each[state];
      if (value === 0) return '';
      const [top, bottom] = [y(base + value), y(base)];
      base += value;
      return html`
        <rect class="${state}" x="${left.toFixed(1)}" y="${top.toFixed(1)}"
          width="${width.toFixed(1)}" height="${(bottom - top).toFixed(1)}"/>
      `;
    });
  });
  const ticks = y.ticks(4).map((value) => ({ y: y(value), label: String(value) }));
  return svg(label, html`${axes(days, ticks, (day) => (x(day) ?? 0) + width / 2)}${bars}`);
}

/** A line: which share of a day's decided collections succeeded. */
export function rateChart(counts: readonly DayCount[], label: string): Html {
  const days = counts.map((each) => dayLabel(each.day));
  const x = scaleBand(days, [LEFT, WIDTH - RIGHT]).padding(0.3);
  const y = scaleLinear([0, 1], [HEIGHT - BOTTOM, TOP]);
  const centerOf = (day: string) => (x(day) ?? 0) + x.bandwidth() / 2;
  const points = counts.map((each) => ({ x: centerOf(dayLabel(each.day)), rate: successRate(each) }));
  const path = line<(typeof points)[number]>()
    .defined((point) => point.rate !== null)
    .x((point) => Number(point.x.toFixed(1)))
    .y((point) => Number(y(point.rate ?? 0).toFixed(1)))(points);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((value) => ({ y: y(value), label: `${value * 100} %` }));
  const dots = points.map(
    (point) =>
      point.rate !== null &&
      html`<circle class="dot" r="3.5" cx="${point.x.toFixed(1)}" cy="${y(point.rate).toFixed(1)}"/>`,
  );
  return svg(label, html`${axes(days, ticks, centerOf)}<path class="rate" d="${path ?? ''}"/>${dots}`);
}
