// The chart of money by day, drawn by the server. Its lines stretch with the page while its texts keep their size. The
// script shows the figures of a day under the pointer; the page has the same numbers in a table.

import { scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import { type Html, html } from '../platform/html.ts';

const HEIGHT = 220;
const TOP = 20;
const PLOT = 168;
const UNITS = 1_000;
const TICKS = 3;
const MAX_DAY_LABELS = 6;

export type ChartDay = {
  /** Below the axis. */
  label: string;
  /** What the pointer shows: the day and its two amounts. */
  title: string;
  nowText: string;
  beforeText: string | null;
  now: number;
  before: number | null;
};

export function moneyChart(days: readonly ChartDay[], label: string, tickText: (value: number) => string): Html {
  const most = Math.max(1, ...days.flatMap((day) => [day.now, day.before ?? 0]));
  const y = scaleLinear([0, most], [PLOT, 0]).nice(TICKS);
  const center = (index: number) => (index + 0.5) / days.length;
  return html`
    <svg class="money-chart" role="img" aria-label="${label}" height="${HEIGHT}">
      ${y.ticks(TICKS).map((value) => grid(TOP + y(value), tickText(value)))}
      <svg class="plot" y="${TOP}" width="100%" height="${PLOT}" viewBox="0 0 ${UNITS} ${PLOT}" preserveAspectRatio="none">
        ${lines(days, y, center)}
      </svg>
      ${days.map((day, index) => dayColumn(day, index, days.length, TOP + y(day.now)))}
    </svg>
  `;
}

function grid(y: number, text: string): Html {
  return html`
    <line class="grid" x1="0" x2="100%" y1="${round(y)}" y2="${round(y)}"/>
    <text x="0" y="${round(y - 4)}">${text}</text>
  `;
}

function lines(days: readonly ChartDay[], y: (value: number) => number, center: (index: number) => number): Html {
  const now = days.map((day, index) => [round(center(index) * UNITS), round(y(day.now))] as [number, number]);
  const before = days.flatMap((day, index) =>
    day.before === null ? [] : [[round(center(index) * UNITS), round(y(day.before))] as [number, number]],
  );
  return html`
    <path class="area" d="${area().y0(PLOT)(now) ?? ''}"/>
    <path class="line-before" d="${line()(before) ?? ''}"/>
    <path class="line-now" d="${line()(now) ?? ''}"/>
  `;
}

/** Every how many days one has a label. */
export function labelStep(count: number): number {
  return Math.ceil(count / MAX_DAY_LABELS);
}

/** The label of a day, and what the pointer finds over it. The last day has its point all the time. */
function dayColumn(day: ChartDay, index: number, count: number, y: number): Html {
  const left = percent(index / count);
  const middle = percent((index + 0.5) / count);
  const isLast = index === count - 1;
  return html`
    ${index % labelStep(count) === 0 && html`<text x="${middle}" y="${HEIGHT - 8}" text-anchor="middle">${day.label}</text>`}
    <g class="chart-day${isLast && ' chart-day-last'}" data-title="${day.title}" data-now="${day.nowText}"
      data-before="${day.beforeText ?? ''}">
      <title>${day.title} – ${day.nowText}</title>
      <rect x="${left}" y="0" width="${percent(1 / count)}" height="${TOP + PLOT}"/>
      <line x1="${middle}" x2="${middle}" y1="${TOP}" y2="${TOP + PLOT}"/>
      <circle cx="${middle}" cy="${round(y)}" r="4"/>
    </g>
  `;
}

function percent(share: number): string {
  return `${round(share * 100)}%`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
