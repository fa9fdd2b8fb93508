// Charts drawn by the server: bars of how many payments a day brought, and the line of how many of them succeeded. Each
// stands above the table it was drawn from.

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

export type DayCount = { day: Date; good: number; bad: number; open: number };

const GOOD: ReadonlySet<TransactionTotal['status']> = new Set(['success', 'reversed']);
const BAD: ReadonlySet<TransactionTotal['status']> = new Set(['failed', 'expired']);

/** How many collections of each day ended well, ended badly, or are open. */
export function countDays(days: readonly DailyStats[]): DayCount[] {
  return days.map(({ day, figures }) => {
    const counts = { day, good: 0, bad: 0, open: 0 };
    for (const each of figures) {
      if (each.direction !== 'payin') continue;
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

function axes(domain: string[], ticks: readonly { y: number; label: string }[], x: (label: string) => number): Html {
  const every = Math.ceil(domain.length / 7);
  return html`${ticks.map(({ y, label }) => html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"/><text x="${LEFT - 6}" y="${y + 4}" text-anchor="end">${label}</text>`)}${domain.map((label, index) => (index % every === 0 ? html`<text x="${x(label)}" y="${HEIGHT - 6}" text-anchor="middle">${label}</text>` : ''))}`;
}

export function volumeChart(counts: readonly DayCount[], label: string): Html {
  const domain = counts.map((each) => dayLabel(each.day));
  const most = Math.max(4, ...counts.map((each) => each.good + each.bad + each.open));
  const x = scaleBand(domain, [LEFT, WIDTH - RIGHT]).padding(0.3);
  const y = scaleLinear([0, most], [HEIGHT - BOTTOM, TOP]).nice(4);
  const bars = counts.map((each) => {
    const left = x(dayLabel(each.day)) ?? 0;
    let base = 0;
    return (
      [
        ['good', each.good],
        ['bad', each.bad],
        ['open', each.open],
      ] as const
    ).map(([state, value]) => {
      if (value === 0) return '';
      const top = y(base + value);
      const bar = html`<rect class="${state}" x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${x.bandwidth().toFixed(1)}" height="${(y(base) - top).toFixed(1)}"/>`;
      base += value;
      return bar;
    });
  });
  const ticks = y.ticks(4).map((value) => ({ y: y(value), label: String(value) }));
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">${axes(domain, ticks, (each) => (x(each) ?? 0) + x.bandwidth() / 2)}${bars}</svg>`;
}

export function rateChart(counts: readonly DayCount[], label: string): Html {
  const domain = counts.map((each) => dayLabel(each.day));
  const x = scaleBand(domain, [LEFT, WIDTH - RIGHT]).padding(0.3);
  const y = scaleLinear([0, 1], [HEIGHT - BOTTOM, TOP]);
  const points = counts.map((each) => ({
    x: (x(dayLabel(each.day)) ?? 0) + x.bandwidth() / 2,
    rate: successRate(each),
  }));
  const path = line<(typeof points)[number]>()
    .defined((point) => point.rate !== null)
    .x((point) => Number(point.x.toFixed(1)))
    .y((point) => Number(y(point.rate ?? 0).toFixed(1)))(points);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((value) => ({ y: y(value), label: `${value * 100} %` }));
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">${axes(domain, ticks, (each) => (x(each) ?? 0) + x.bandwidth() / 2)}<path class="rate" d="${path ?? ''}"/>${points.map((point) => (point.rate === null ? '' : html`<circle class="dot" r="3.5" cx="${point.x.toFixed(1)}" cy="${y(point.rate).toFixed(1)}"/>`))}</svg>`;
}
