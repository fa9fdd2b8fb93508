// Figures of many merchants at once, for staff, from the statistics that are stored for each day: what was collected lately,
// and how the methods do. A merchant whose days nobody has looked at yet is counted in the background.

import type { Holder } from '../holders/holders.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { dayIn } from '../platform/time-zones.ts';
import type { DailyStatsReader } from './daily-stats.ts';

const VOLUME_DAYS = 30;

export type Volume = { currency: string; amount: bigint; payments: number };

/** What each of these merchants collected in the last thirty days, by currency. */
export async function readVolumes({ db, clock }: Context, ids: readonly bigint[]): Promise<Map<bigint, Volume[]>> {
  const rows = await db.query<{ holder_id: bigint; currency: string; amount: string; payments: bigint }>(
    `select f.holder_id, total ->> 'currency' as currency, sum((total ->> 'amount')::numeric)::text as amount,
            sum((total ->> 'transactions')::bigint)::bigint as payments
     from daily_figures f cross join jsonb_array_elements(f.figures -> 'money') total
     where f.holder_id = any ($1) and f.day > $2::date and total ->> 'fact' = 'collected'
     group by 1, 2 order by 1, 2`,
    [ids, new Date(clock.millis() - VOLUME_DAYS * DAY_MS)],
  );
  const volumes = new Map<bigint, Volume[]>();
  for (const { holder_id: id, currency, amount, payments } of rows)
    volumes.set(id, [...(volumes.get(id) ?? []), { currency, amount: BigInt(amount), payments: Number(payments) }]);
  return volumes;
}

/** Counts days that are not stored yet, one merchant after another, after the page was sent. */
export function countInBackground(ctx: Context, stats: DailyStatsReader, holders: readonly Holder[]): void {
  const count = async () => {
    for (const holder of holders) {
      const today = ctx.clock.millis();
      const days = Array.from({ length: VOLUME_DAYS }, (_, back) =>
        dayIn(holder.time_zone, new Date(today - back * DAY_MS)),
      );
      await stats.read(ctx, holder, [...new Set(days)]);
    }
  };
  count().catch((error: unknown) => ctx.log.warn({ err: error }, 'figures of merchants were not counted'));
}

export type MethodDay = { day: string; method: string; succeeded: number; failed: number };

/** How collections of each method ended, today and yesterday, over all merchants whose days are stored. */
export async function readMethodDays({ db, clock }: Context): Promise<MethodDay[]> {
  const rows = await db.query<{ day: string; method: string; succeeded: bigint; failed: bigint }>(
    `select to_char(f.day, 'YYYY-MM-DD') as day, total ->> 'method' as method,
            coalesce(sum((total ->> 'transactions')::bigint) filter (where total ->> 'status' in ('success', 'reversed')), 0)::bigint
              as succeeded,
            coalesce(sum((total ->> 'transactions')::bigint) filter (where total ->> 'status' in ('failed', 'expired')), 0)::bigint
              as failed
     from daily_figures f cross join jsonb_array_elements(f.figures -> 'attempts') total
     where f.day >= $1::date and total ->> 'direction' = 'collection'
     group by 1, 2 order by 2, 1 desc`,
    [new Date(clock.millis() - DAY_MS)],
  );
  return rows.map((row) => ({ ...row, succeeded: Number(row.succeeded), failed: Number(row.failed) }));
}
