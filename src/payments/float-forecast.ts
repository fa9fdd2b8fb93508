// How long a float lasts, by the last four weeks: each hour of the week to come is expected to take what the same hour took in
// those weeks, on the average. Whole numbers throughout; nothing here is money that moves.

import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import type { FloatOf, FloatSetting } from './float-settings.ts';

const HOURS_OF_WEEK = 168;
export const WEEKS_MS = 28 * DAY_MS;
/** Beyond it a forecast says nothing. */
const AHEAD_MS = 14 * DAY_MS;

/** What each hour of the week takes from the float; below zero: what it brings. Counted from 1970 in UTC: the first is Thursday, 00:00. */
export type WeeklyPace = ReadonlyMap<number, bigint>;

export const hourOfWeek = (millis: number) => Math.floor(millis / HOUR_MS) % HOURS_OF_WEEK;

/** An hour that was not written yet counts in no week. */
export async function readWeeklyPace(
  reader: Reader,
  { connection, currency, isShared }: FloatOf & Pick<FloatSetting, 'isShared'>,
  now: Date,
): Promise<WeeklyPace> {
  const rows = await reader.query<{ hour: bigint; net: bigint; weeks: bigint }>(
    `select floor(extract(epoch from hour) / 3600)::bigint % ${HOURS_OF_WEEK} as hour,
            sum(paid_out - case when $5 then paid_in else 0 end)::bigint as net, count(*) as weeks
     from float_hours where connection = $1 and currency = $2 and hour >= $3 and hour < $4
     group by 1`,
    [connection, currency, new Date(now.getTime() - WEEKS_MS), now, isShared],
  );
  return new Map(rows.map(({ hour, net, weeks }) => [Number(hour), net / weeks]));
}

/** When `left` is used up at this pace, the amount spread evenly over each hour; null: not within two weeks. */
export function forecastEnd(left: bigint, pace: WeeklyPace, now: Date): Date | null {
  if (left <= 0n) return now;
  const end = now.getTime() + AHEAD_MS;
  for (let from = now.getTime(); from < end; ) {
    const to = (Math.floor(from / HOUR_MS) + 1) * HOUR_MS;
    const length = BigInt(to - from);
    const taken = ((pace.get(hourOfWeek(from)) ?? 0n) * length) / BigInt(HOUR_MS);
    if (taken > 0n && taken >= left) return new Date(from + Number((length * left) / taken));
    left -= taken;
    from = to;
  }
  return null;
}
