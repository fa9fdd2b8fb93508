// Statistics of each day of a holder, stored. Money is summed from the ledger by the day it was posted: a day that is over is
// final. Attempts are counted by the day they were made, and again while their day is shown. Days begin at midnight of the
// holder's time zone. Stored numbers are shown at once, however old; counting goes on in the background.

import type { Holder } from '../holders/holders.ts';
import { type MoneyTotal, sumMoney } from '../ledger/daily-money.ts';
import { countTransactions, hasManyTransactions, type TransactionTotal } from '../payments/listing.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { addDays, startsOfDays } from '../platform/time-zones.ts';

/** How old the count of a day may be: of today, of a day that ended lately, of one that ended long ago. */
const TODAY_FRESH_MS = 15_000;
const RECENT_FRESH_MS = 3_600_000;
const OLD_FRESH_MS = DAY_MS;
const RECENT_MS = 3 * DAY_MS;
/** A day with fewer transactions is counted in a few milliseconds: the page then never differs from the lists. */
const FEW_TRANSACTIONS = 2_000;
const RECENT_FEW_FRESH_MS = 60_000;
/** How long a page waits for a count before it shows what is stored. A small day takes this long only on a busy machine. */
const PATIENCE_MS = 10;
const FEW_PATIENCE_MS = 1_000;
/** Days that one statement counts. */
const DAYS_AT_ONCE = 10;

export type DailyStats = {
  /** 2026-11-14, in the holder's time zone. */
  day: string;
  /** By the day on which it was posted. */
  money: MoneyTotal[];
  /** By the day on which the transactions were created. */
  attempts: TransactionTotal[];
  /** Null: not counted yet. */
  countedAt: Date | null;
};

type Stored<Total> = Omit<Total, 'amount' | 'fee'> & { amount: string; fee: string };
type Figures = { money: Stored<MoneyTotal>[]; attempts: Stored<TransactionTotal>[] };
type Row = { day: string; counted_at: Date; figures: Figures };
type Day = { name: string; from: Date; to: Date };
type DaysOf = Pick<Holder, 'id' | 'time_zone'>;

export interface DailyStatsReader {
  /** The statistics of these days (2026-11-14), in their order. */
  read(ctx: Context, holder: DaysOf, days: readonly string[]): Promise<DailyStats[]>;
}

export function createDailyStats(): DailyStatsReader {
  const running = new Map<string, Promise<void>>();

  /** A day is counted once at a time in this process, however many pages ask for it. */
  async function countOnce(ctx: Context, holder: DaysOf, days: readonly Day[]): Promise<void> {
    const keyOf = (day: Day) => `${holder.id} ${holder.time_zone} ${day.name}`;
    const begun = days.flatMap((day) => running.get(keyOf(day)) ?? []);
    const mine = days.filter((day) => !running.has(keyOf(day)));
    if (mine.length > 0) {
      const work = countDays(ctx, holder, mine).finally(() => {
        for (const day of mine) running.delete(keyOf(day));
      });
      for (const day of mine) running.set(keyOf(day), work);
      begun.push(work);
    }
    await Promise.all(begun);
  }

  /** The newest days first: they are looked at first. */
  async function countAll(ctx: Context, holder: DaysOf, days: readonly Day[]): Promise<void> {
    const newestFirst = days.toSorted((a, b) => b.from.getTime() - a.from.getTime());
    for (let start = 0; start < newestFirst.length; start += DAYS_AT_ONCE)
      await countOnce(ctx, holder, newestFirst.slice(start, start + DAYS_AT_ONCE));
  }

  return {
    async read(ctx, holder, names) {
      const stored = await readStored(ctx, holder, names);
      const stale = daysOf(holder, names).filter((day) => isStale(ctx, day, stored.get(day.name)));
      if (stale.length === 0) return names.map((name) => statsOf(name, stored.get(name)));
      const work = countAll(ctx, holder, stale);
      work.catch((error: unknown) => ctx.log.warn({ err: error }, 'the statistics of a day could not be counted'));
      // Real time, not the gateway's clock: it is how long the viewer waits.
      const patienceMs = (await countsQuickly(ctx, holder, stale, stored)) ? FEW_PATIENCE_MS : PATIENCE_MS;
      const timeout = new Promise((resolve) => setTimeout(resolve, patienceMs).unref());
      await Promise.race([work, timeout]).catch(() => null);
      const fresh = await readStored(ctx, holder, names);
      return names.map((name) => statsOf(name, fresh.get(name)));
    },
  };
}

/** Each day with its two ends: where clocks change, a day has 23 or 25 hours. */
function daysOf({ time_zone }: DaysOf, names: readonly string[]): Day[] {
  const starts = startsOfDays(time_zone, names);
  const ends = startsOfDays(
    time_zone,
    names.map((name) => addDays(name, 1)),
  );
  return names.map((name, index) => ({ name, from: starts[index] as Date, to: ends[index] as Date }));
}

function statsOf(day: string, row: Row | undefined): DailyStats {
  return {
    day,
    money: (row?.figures.money ?? []).map(readTotal),
    attempts: (row?.figures.attempts ?? []).map(readTotal),
    countedAt: row?.counted_at ?? null,
  };
}

/** JSON has no bigint, so sums are stored as text. */
function storeTotal<Total extends { amount: bigint; fee: bigint }>(total: Total): Stored<Total> {
  return { ...total, amount: String(total.amount), fee: String(total.fee) };
}

function readTotal<Total extends { amount: string; fee: string }>(total: Total) {
  return { ...total, amount: BigInt(total.amount), fee: BigInt(total.fee) };
}

/** What was counted in another zone is left out. */
async function readStored(ctx: Context, holder: DaysOf, days: readonly string[]): Promise<Map<string, Row>> {
  const rows = await ctx.db.query<Row>(
    `select to_char(day, 'YYYY-MM-DD') as day, counted_at, figures from daily_figures
     where holder_id = $1 and time_zone = $2 and day = any ($3::date[])`,
    [holder.id, holder.time_zone, days],
  );
  return new Map(rows.map((row) => [row.day, row]));
}

function isSmallDay({ figures }: Row): boolean {
  return figures.attempts.reduce((sum, each) => sum + each.transactions, 0) < FEW_TRANSACTIONS;
}

/** Whether these days are counted quickly. Of a day that was never counted, the number of all transactions says it. */
async function countsQuickly(
  ctx: Context,
  holder: DaysOf,
  days: readonly Day[],
  stored: Map<string, Row>,
): Promise<boolean> {
  const rows = days.map((day) => stored.get(day.name));
  if (rows.some((row) => row && !isSmallDay(row))) return false;
  return rows.every(Boolean) || !(await hasManyTransactions(ctx.db, holder.id));
}

function isStale(ctx: Context, { to }: Day, row: Row | undefined): boolean {
  if (!row) return true;
  const [now, counted, end] = [ctx.clock.millis(), row.counted_at.getTime(), to.getTime()];
  const isSmall = isSmallDay(row);
  if (now < end) return isSmall || now - counted >= TODAY_FRESH_MS;
  if (counted < end) return true;
  if (now >= end + RECENT_MS) return now - counted >= OLD_FRESH_MS;
  return now - counted >= (isSmall ? RECENT_FEW_FRESH_MS : RECENT_FRESH_MS);
}

async function countDays(ctx: Context, { id, time_zone }: DaysOf, days: readonly Day[]): Promise<void> {
  const at = ctx.clock.now();
  const [money, attempts] = await Promise.all([sumMoney(ctx.db, id, days), countTransactions(ctx.db, id, days)]);
  const figures = days.map((_, index) =>
    JSON.stringify({ money: money[index]?.map(storeTotal) ?? [], attempts: attempts[index]?.map(storeTotal) ?? [] }),
  );
  await ctx.db.query(
    `insert into daily_figures (holder_id, day, time_zone, counted_at, figures)
     select $1, counted.day, $2, $3, counted.figures from unnest($4::date[], $5::jsonb[]) as counted (day, figures)
     on conflict on constraint daily_figures_once do update
     set time_zone = excluded.time_zone, counted_at = excluded.counted_at, figures = excluded.figures
     where daily_figures.counted_at <= excluded.counted_at`,
    [id, time_zone, at, days.map((day) => day.name), figures],
  );
}
