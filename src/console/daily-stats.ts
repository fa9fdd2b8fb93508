// Statistics of each day, stored. Money is summed from the ledger by the day it was posted: a day that is over is final.
// Attempts are counted by the day they were made, and again while their day is shown. Stored numbers are shown at once,
// however old; counting goes on in the background.

import { type MoneyTotal, sumMoney } from '../ledger/daily-money.ts';
import { countTransactions, type TransactionTotal } from '../payments/listing.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';

/** Today is counted again after the first, the last days after the second, and days that ended long ago after the third. */
const TODAY_FRESH_MS = 15_000;
const RECENT_FRESH_MS = 3_600_000;
const OLD_FRESH_MS = DAY_MS;
const RECENT_MS = 3 * DAY_MS;
/** A page waits this long for a count; then it shows what is stored. */
const PATIENCE_MS = 100;

export type DailyStats = {
  day: Date;
  /** By the day on which it was posted. */
  money: MoneyTotal[];
  /** By the day on which the transactions were created. */
  attempts: TransactionTotal[];
  countedAt: Date | null;
};

type Stored<Total> = Omit<Total, 'amount' | 'fee'> & { amount: string; fee: string };
type Figures = { money: Stored<MoneyTotal>[]; attempts: Stored<TransactionTotal>[] };
type Row = { day: string; counted_at: Date; figures: Figures };

export interface DailyStatsReader {
  /** The last `days` days (UTC), oldest first, today last. */
  read(ctx: Context, holderId: bigint, days: number): Promise<DailyStats[]>;
}

export function createDailyStats(): DailyStatsReader {
  const running = new Map<string, Promise<void>>();

  /** A day is counted once at a time in this process, however many pages ask for it. */
  function countOnce(ctx: Context, holderId: bigint, day: Date): Promise<void> {
    const key = `${holderId} ${dayKey(day)}`;
    const known = running.get(key);
    if (known) return known;
    const started = countDay(ctx, holderId, day).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  }

  return {
    async read(ctx, holderId, days) {
      const wanted = lastDays(ctx, days);
      const stored = await readStored(ctx, holderId, wanted);
      const stale = wanted.filter((day) => isStale(ctx, day, stored.get(dayKey(day))?.counted_at));
      if (stale.length === 0) return wanted.map((day) => statsOf(day, stored.get(dayKey(day))));
      const work = Promise.all(stale.map((day) => countOnce(ctx, holderId, day)));
      work.catch((error: unknown) => ctx.log.warn({ err: error }, 'the statistics of a day could not be counted'));
      // Real time, not the gateway's clock: it is how long the viewer waits.
      const timeout = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS).unref());
      await Promise.race([work, timeout]).catch(() => null);
      const fresh = await readStored(ctx, holderId, wanted);
      return wanted.map((day) => statsOf(day, fresh.get(dayKey(day))));
    },
  };
}

function lastDays(ctx: Context, days: number): Date[] {
  const today = Math.floor(ctx.clock.millis() / DAY_MS) * DAY_MS;
  return Array.from({ length: days }, (_, index) => new Date(today - (days - 1 - index) * DAY_MS));
}

function statsOf(day: Date, row: Row | undefined): DailyStats {
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

function dayKey(day: Date): string {
  return day.toISOString().slice(0, 10);
}

async function readStored(ctx: Context, holderId: bigint, days: Date[]): Promise<Map<string, Row>> {
  const rows = await ctx.db.query<Row>(
    `select to_char(day, 'YYYY-MM-DD') as day, counted_at, figures from daily_figures
     where holder_id = $1 and day = any ($2::date[])`,
    [holderId, days.map(dayKey)],
  );
  return new Map(rows.map((row) => [row.day, row]));
}

function isStale(ctx: Context, day: Date, countedAt: Date | undefined): boolean {
  if (!countedAt) return true;
  const now = ctx.clock.millis();
  const end = day.getTime() + DAY_MS;
  const age = now - countedAt.getTime();
  if (now < end) return age >= TODAY_FRESH_MS;
  if (countedAt.getTime() < end) return true;
  return age >= (now < end + RECENT_MS ? RECENT_FRESH_MS : OLD_FRESH_MS);
}

async function countDay(ctx: Context, holderId: bigint, day: Date): Promise<void> {
  const at = ctx.clock.now();
  const end = new Date(day.getTime() + DAY_MS);
  const [money, attempts] = await Promise.all([
    sumMoney(ctx.db, holderId, day, end),
    countTransactions(ctx.db, holderId, day, end),
  ]);
  const figures = { money: money.map(storeTotal), attempts: attempts.map(storeTotal) };
  await ctx.db.query(
    `insert into daily_figures (holder_id, day, counted_at, figures) values ($1, $2, $3, $4)
     on conflict on constraint daily_figures_once do update set counted_at = excluded.counted_at, figures = excluded.figures
     where daily_figures.counted_at <= excluded.counted_at`,
    [holderId, dayKey(day), at, JSON.stringify(figures)],
  );
}
