// Days in a time zone. A zone is named as in the IANA database, which Node has.

import { DAY_MS } from './clock.ts';
import { memoize } from './memoize.ts';

const dayFormat = memoize(
  (timeZone) => new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }),
);

/** The day of a moment, as people there write it in a file: 2026-11-14. */
export function dayIn(timeZone: string, moment: Date): string {
  return dayFormat(timeZone).format(moment);
}

/** The moment at which a day (2026-11-14) begins there. */
export function startOfDay(timeZone: string, day: string): Date {
  return startIn(clockFormat(timeZone), day);
}

/** The moments at which some days begin there. */
export function startsOfDays(timeZone: string, days: readonly string[]): Date[] {
  const format = clockFormat(timeZone);
  return days.map((day) => startIn(format, day));
}

/** The day so many days after another one: 2026-11-14 and 1 make 2026-11-15. */
export function addDays(day: string, days: number): string {
  const moment = new Date(`${day}T12:00:00Z`);
  moment.setUTCDate(moment.getUTCDate() + days);
  return moment.toISOString().slice(0, 10);
}

/** The first day of the month of a day: 2026-11-14 makes 2026-11-01. */
export function firstOfMonth(day: string): string {
  return `${day.slice(0, 7)}-01`;
}

/** The first day of the month before that of a day: 2026-11-14 makes 2026-10-01. */
export function firstOfMonthBefore(day: string): string {
  return firstOfMonth(addDays(firstOfMonth(day), -1));
}

function startIn(format: Intl.DateTimeFormat, day: string): Date {
  const midnightUtc = new Date(`${day}T00:00:00Z`).getTime();
  // The offset at noon first; a day whose clocks change at night is corrected by the offset at its own start.
  const first = midnightUtc - offsetAt(format, midnightUtc + 12 * 3_600_000);
  return new Date(midnightUtc - offsetAt(format, first));
}

/** Names only: an offset such as +03:00 is no place, and its clocks never change. */
const ZONE_NAME = /^[A-Za-z]+(?:[/_+-][A-Za-z0-9_+-]+)*$/;
const FIRST_ZONES = /^Africa\//;

/** Every zone that people can choose from: those of Africa first. */
export function listTimeZones(): string[] {
  const zones = Intl.supportedValuesOf('timeZone');
  return [
    ...zones.filter((zone) => FIRST_ZONES.test(zone)),
    'UTC',
    ...zones.filter((zone) => !FIRST_ZONES.test(zone) && zone !== 'UTC'),
  ];
}

/** Whether Node knows the zone, by the name or by an older one. */
export function isTimeZone(name: string): boolean {
  if (name.length > 64 || !ZONE_NAME.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const clockFormat = memoize(
  (timeZone) =>
    new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }),
);

/** How far clocks there are ahead of UTC, in milliseconds. */
function offsetAt(format: Intl.DateTimeFormat, at: number): number {
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const shown = Date.UTC(
    Number(part.year),
    Number(part.month) - 1,
    Number(part.day),
    Number(part.hour),
    Number(part.minute),
    Number(part.second),
  );
  return shown - Math.floor(at / 1000) * 1000;
}

const MAX_DAYS_KEPT = 4_096;

/**
 * The moments of local times there: year, month, day and the milliseconds since midnight by the clock. For files of a million
 * lines: a day is looked up once.
 */
export function localMoments(
  timeZone: string,
): (year: number, month: number, day: number, milliseconds: number) => Date {
  const format = clockFormat(timeZone);
  const days = new Map<number, { start: number; isPlain: boolean }>();
  return (year, month, day, milliseconds) => {
    const midnight = Date.UTC(year, month - 1, day);
    let found = days.get(midnight);
    if (!found) {
      const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
      const start = startIn(format, dayOf(midnight)).getTime();
      found = { start, isPlain: startIn(format, dayOf(midnight + DAY_MS)).getTime() - start === DAY_MS };
      if (days.size >= MAX_DAYS_KEPT) days.clear();
      days.set(midnight, found);
    }
    if (found.isPlain) return new Date(found.start + milliseconds);
    return new Date(midnight + milliseconds - offsetAt(format, found.start + milliseconds));
  };
}

/** Writes moments as clocks there show them: 2026-11-14 09:30:00. Made once for many moments. */
export function createLocalTime(timeZone: string): (moment: Date) => string {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (moment) => format.format(moment);
}

/** Whether a text is a day of the calendar of this millennium: 2026-11-14, not 2026-02-30, which `Date` reads as March 2. */
export function isCalendarDay(text: string): boolean {
  if (!/^2\d{3}-\d{2}-\d{2}$/.test(text)) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
}

const ISO_MOMENT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Whether a text is a date with time and zone, such as 2026-12-31T18:00:00Z. Without a zone the moment would depend on the place. */
export function isMoment(text: string): boolean {
  const day = ISO_MOMENT.exec(text)?.[1];
  return day !== undefined && isCalendarDay(day) && !Number.isNaN(new Date(text).getTime());
}
