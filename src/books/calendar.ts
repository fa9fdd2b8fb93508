// The days of a connection: each begins at the cut-off time in the zone of its operator, so that a day of ours is a day of the
// statement.

import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { addDays, dayIn, isTimeZone, localMoments, startOfDay } from '../platform/time-zones.ts';

const MINUTE_MS = 60_000;

/** From one moment, inclusive, to another, exclusive. */
export type CloseSpan = { from: Date; to: Date };

export type CloseRule = { zone: string; cutOffMinutes: number };

const MIDNIGHT_UTC: CloseRule = { zone: 'UTC', cutOffMinutes: 0 };

export type Calendar = {
  readonly rule: CloseRule;
  /** The day (2026-11-14) that a moment belongs to. */
  dayOf(moment: Date): string;
  spanOf(day: string): CloseSpan;
};

export function createCalendar(rule: CloseRule): Calendar {
  const cutOffMs = rule.cutOffMinutes * MINUTE_MS;
  const spans = new Map<string, CloseSpan>();
  /** Moments come in the order of time, so most are in the span of the one before. */
  let last: { day: string; span: CloseSpan } | null = null;
  const localMoment = localMoments(rule.zone);
  const begin = (day: string) => {
    const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
    const start = startOfDay(rule.zone, day);
    const cutOff = localMoment(year, month, date, cutOffMs);
    // Clocks that go forward may pass over the cut-off.
    return new Date(Math.max(cutOff.getTime(), start.getTime()));
  };
  const spanOf = (day: string) => {
    const known = spans.get(day);
    if (known) return known;
    const span = { from: begin(day), to: begin(addDays(day, 1)) };
    spans.set(day, span);
    return span;
  };
  const findDay = (moment: Date) => {
    const day = dayIn(rule.zone, new Date(moment.getTime() - cutOffMs));
    const { from, to } = spanOf(day);
    // Clocks that change move the cut-off by an hour for a moment.
    return moment < from ? addDays(day, -1) : moment >= to ? addDays(day, 1) : day;
  };
  return {
    rule,
    spanOf,
    dayOf(moment) {
      if (last && moment >= last.span.from && moment < last.span.to) return last.day;
      const day = findDay(moment);
      last = { day, span: spanOf(day) };
      return day;
    },
  };
}

export async function readCloseRule(reader: Reader, connection: string): Promise<CloseRule> {
  const [row] = await reader.query<CloseRule>(
    'select zone, cut_off_minutes as "cutOffMinutes" from close_rules where connection = $1',
    [connection],
  );
  return row ?? MIDNIGHT_UTC;
}

export async function openCalendar(reader: Reader, connection: string): Promise<Calendar> {
  return createCalendar(await readCloseRule(reader, connection));
}

/** Only before the first day is signed: afterwards a day would begin twice, or not at all. */
export async function changeCloseRule(
  tx: Tx,
  connection: string,
  rule: CloseRule,
  { by, at }: { by: string; at: Date },
): Promise<void> {
  if (!isTimeZone(rule.zone)) throw new Problem('invalid_params', { message: `"${rule.zone}" is not a time zone.` });
  const rows = await tx.query(
    `insert into close_rules as known (connection, zone, cut_off_minutes, changed_by, changed_at)
     select $1, $2, $3, $4, $5
     where not exists (select from statement_matches where connection = $1)
     on conflict (connection) do update set zone = excluded.zone, cut_off_minutes = excluded.cut_off_minutes,
       changed_by = excluded.changed_by, changed_at = excluded.changed_at
     returning connection`,
    [connection, rule.zone, rule.cutOffMinutes, by, at],
  );
  if (rows.length === 0)
    throw new Problem('invalid_params', {
      message: `Lines of ${connection} already count on days: the cut-off cannot change any more.`,
    });
}
