// Ranges of days that people choose by name, in the time zone of the holder.

import { addDays, dayIn, firstOfMonth, firstOfMonthBefore, isCalendarDay, startOfDay } from '../platform/time-zones.ts';

export const RANGES = ['today', 'week', 'fortnight', 'month', 'last-month'] as const;
export type RangeName = (typeof RANGES)[number];

/** From this moment, inclusive, to that one, exclusive. */
export type DateRange = { from?: Date; to?: Date };

export function rangeOf(name: RangeName, zone: string, now: Date): DateRange {
  const today = dayIn(zone, now);
  const month = firstOfMonth(today);
  if (name === 'today') return { from: startOfDay(zone, today) };
  if (name === 'week') return { from: startOfDay(zone, addDays(today, -6)) };
  if (name === 'fortnight') return { from: startOfDay(zone, addDays(today, -13)) };
  if (name === 'month') return { from: startOfDay(zone, month) };
  return { from: startOfDay(zone, firstOfMonthBefore(today)), to: startOfDay(zone, month) };
}

/** Two days as date fields send them; the last one counts whole. What cannot be read is left out. */
export function rangeOfDays(from: string, to: string, zone: string): DateRange {
  return {
    ...(isCalendarDay(from) ? { from: startOfDay(zone, from) } : {}),
    ...(isCalendarDay(to) ? { to: startOfDay(zone, addDays(to, 1)) } : {}),
  };
}
