// The periods of the home page: their days in the holder's time zone, and the days before that they are compared with.

import { addDays, firstOfMonth, firstOfMonthBefore } from '../platform/time-zones.ts';

export const RANGES = ['today', '7d', '14d', '60d', 'month'] as const;
export type RangeKey = (typeof RANGES)[number];
const DEFAULT_RANGE: RangeKey = '14d';
const COUNTS = { '7d': 7, '14d': 14, '60d': 60 } as const;
/** One day makes no chart: today is shown at the end of its week. */
const TODAY_CHART_DAYS = 7;

export type DaySpan = { days: string[]; before: string[] };
export type HomeRange = DaySpan & { key: RangeKey; chart: DaySpan };

export function readRange(asked: string, today: string): HomeRange {
  const key = RANGES.find((known) => known === asked) ?? DEFAULT_RANGE;
  if (key === 'today') return { key, ...lastDays(today, 1), chart: lastDays(today, TODAY_CHART_DAYS) };
  const span = key === 'month' ? monthOf(today) : lastDays(today, COUNTS[key]);
  return { key, ...span, chart: span };
}

/** Every day that a range needs, once. */
export function daysToRead(range: HomeRange): string[] {
  return [...new Set([...range.days, ...range.before, ...range.chart.days, ...range.chart.before])].sort();
}

function lastDays(today: string, count: number): DaySpan {
  const endingAt = (last: string) => Array.from({ length: count }, (_, index) => addDays(last, index - count + 1));
  return { days: endingAt(today), before: endingAt(addDays(today, -count)) };
}

/** The month until today, against the same days of the month before, as far as that one had them. */
function monthOf(today: string): DaySpan {
  const [first, before] = [firstOfMonth(today), firstOfMonthBefore(today)];
  const count = Number(today.slice(8));
  const daysFrom = (start: string) => Array.from({ length: count }, (_, index) => addDays(start, index));
  return { days: daysFrom(first), before: daysFrom(before).filter((day) => firstOfMonth(day) === before) };
}
