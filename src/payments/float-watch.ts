// The background work about float: writes the hours that are over, notices when a float is low, sends what waits when the float
// has returned, and ends what has waited too long.

import { readClearingHours } from '../ledger/clearing.ts';
import { HOUR_MS } from '../platform/clock.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { PaymentsContext } from './context.ts';
import { forecastEnd, readWeeklyPace, WEEKS_MS } from './float-forecast.ts';
import { type FloatLevel, readFloatLevel } from './float-levels.ts';
import { type FloatSetting, listFloatSettings } from './float-settings.ts';
import { clearRefused, readRefusedAt, setLow } from './float-states.ts';
import { type FloatWait, listWaits, NOT_SENT, releaseWaits } from './float-waits.ts';
import { applyOutcomes } from './outcomes.ts';
import { removeSubmit } from './payment-jobs.ts';

/** Payouts of one pass. */
const RELEASED_AT_ONCE = 200;
const ENDED_AT_ONCE = 100;
/** The hours that one pass writes at most. */
const HOURS_AT_ONCE_MS = 7 * 24 * HOUR_MS;
const HOURS_KEPT_MS = 2 * WEEKS_MS;
/** The administrators hear of a float that ends within this time, although it is not low yet. */
export const SOON_MS = 6 * HOUR_MS;
/** An operator that says nothing about its float is tried with one payout, this long after its last refusal. */
const TRY_ONE_AFTER_MS = 5 * 60_000;

/** Returns how many payouts were sent on, or ended: with 0 the job pauses. */
export async function watchFloat(ctx: PaymentsContext): Promise<number> {
  await forgetSent(ctx);
  let moved = await endOldWaits(ctx);
  for (const setting of await listFloatSettings(ctx.db)) {
    const level = await readFloatLevel(ctx, ctx.db, setting, setting);
    await writeHours(ctx, setting, level);
    await noticeLow(ctx, setting, level);
    moved += await releaseCovered(ctx, setting);
  }
  return moved;
}

/** What was sent, or has ended, does not wait any more. An operator that took one has float again. */
async function forgetSent(ctx: PaymentsContext): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const ended = await tx.query<{ connection: string; currency: string; is_taken: boolean }>(
      `delete from float_waits w using transactions t
       where t.holder_id = w.holder_id and t.id = w.transaction_id and t.status <> 'pending'
       returning w.connection, w.currency,
         w.released_at is not null and t.status in ('processing', 'success') as is_taken`,
    );
    await clearRefused(
      tx,
      ended.filter((each) => each.is_taken),
    );
  });
}

/**
 * Nothing of them was sent, or the operator kept nothing of them, and nobody can send them now: the submit is taken away first.
 * What was claimed meanwhile is being sent, and stays.
 */
async function endOldWaits(ctx: PaymentsContext): Promise<number> {
  const now = ctx.clock.now();
  const hours = ctx.config.floatWaitHours;
  const old = await ctx.db.query<FloatWait>('select * from float_waits where since <= $1 order by since limit $2', [
    new Date(now.getTime() - hours * HOUR_MS),
    ENDED_AT_ONCE,
  ]);
  let ended = 0;
  for (const { holder_id: holderId, transaction_id: transactionId } of old) {
    const events = await ctx.db.transaction(async (tx) => {
      if (!(await removeSubmit(tx, holderId, transactionId))) return null;
      const observation = {
        state: 'failed',
        failureCode: 'FLOAT_INSUFFICIENT',
        rawCode: NOT_SENT,
        message: `It waited for float for ${hours} hours and was not sent.`,
      } as const;
      const raw = observation.message;
      const result = await applyOutcomes(tx, ctx, [{ transactionId, source: 'submit', observation, raw }]);
      failpoint('float-wait-ending');
      return result.events;
    });
    if (events === null) continue;
    ctx.sendCallbacksNow(events);
    ended++;
  }
  return ended;
}

/** Makes it the turn of the oldest payouts, as far as the float covers them. The row of the setting is the lock. */
function releaseCovered(ctx: PaymentsContext, { connection, currency }: FloatSetting): Promise<number> {
  return ctx.db.transaction(async (tx) => {
    const [setting] = await tx.query<FloatSetting>(
      `select connection, currency, account, low, stop, is_shared as "isShared" from float_settings
       where connection = $1 and currency = $2 for update skip locked`,
      [connection, currency],
    );
    if (!setting) return 0;
    const waits = await listWaits(tx, { connection, currency, limit: 2 * RELEASED_AT_ONCE });
    const waiting = waits.filter((wait) => wait.released_at === null);
    if (waiting.length === 0) return 0;
    const level = await readFloatLevel(ctx, tx, setting, setting);
    const refusedAt = await readRefusedAt(tx, setting);
    const released = waits.filter((wait) => wait.released_at !== null);
    const turn = refusedAt
      ? nextToTry(ctx, { waiting, released, level, refusedAt, stop: setting.stop })
      : covered(waiting, released, level, setting.stop);
    await releaseWaits(tx, turn, ctx.clock.now());
    return turn.length;
  });
}

/** In their order: one that is not covered keeps those behind it, or a large payout would wait for ever. */
function covered(waiting: FloatWait[], released: FloatWait[], { level }: FloatLevel, stop: bigint): FloatWait[] {
  const first = waiting.slice(0, RELEASED_AT_ONCE);
  if (level === null) return first;
  let left = level - stop - released.reduce((sum, { amount }) => sum + amount, 0n);
  const uncovered = first.findIndex(({ amount }) => {
    left -= amount;
    return left < 0n;
  });
  return uncovered < 0 ? first : first.slice(0, uncovered);
}

type Refused = { waiting: FloatWait[]; released: FloatWait[]; level: FloatLevel; refusedAt: Date; stop: bigint };

/** After a refusal one payout is tried: when the operator has said since that it holds enough, or says nothing. */
function nextToTry(ctx: PaymentsContext, { waiting, released, level, refusedAt, stop }: Refused): FloatWait[] {
  const first = waiting.slice(0, 1);
  const earlier = new Date(ctx.clock.millis() - TRY_ONE_AFTER_MS);
  // One that cannot be sent, because its holder is suspended, is not waited for.
  if (released.some(({ released_at: at }) => at !== null && at > earlier)) return [];
  if (level.source === 'operator' && level.asOf > refusedAt) return covered(first, released, level, stop);
  return refusedAt <= earlier && level.source !== 'operator' ? first : [];
}

/** Each hour that is over, with what moved in it. After a setting is made, those of the last four weeks. */
async function writeHours(
  ctx: PaymentsContext,
  { connection, currency }: FloatSetting,
  { level }: FloatLevel,
): Promise<void> {
  const now = ctx.clock.millis();
  const [newest] = await ctx.db.query<{ hour: Date }>(
    'select hour from float_hours where connection = $1 and currency = $2 order by hour desc limit 1',
    [connection, currency],
  );
  const thisHour = startOfHour(now);
  const from = Math.max((newest?.hour.getTime() ?? 0) + HOUR_MS, startOfHour(now - WEEKS_MS));
  const to = Math.min(thisHour, from + HOURS_AT_ONCE_MS);
  if (from >= to) return;
  const span = { from: new Date(from), to: new Date(to) };
  const moved = await readClearingHours(ctx.db, connection, currency, span);
  await ctx.db.query(
    `insert into float_hours (connection, currency, hour, paid_out, paid_in, level)
     select $1, $2, hour, coalesce(moved.paid_out, 0), greatest(moved.paid_in, 0),
            case when hour = $5::timestamptz then $6::bigint end
     from generate_series($3::timestamptz, $4::timestamptz - interval '1 hour', interval '1 hour') as hour
     left join unnest($7::timestamptz[], $8::bigint[], $9::bigint[]) as moved (hour, paid_out, paid_in) using (hour)
     on conflict do nothing`,
    [
      connection,
      currency,
      span.from,
      span.to,
      new Date(thisHour - HOUR_MS),
      level,
      moved.map(({ hour }) => hour),
      moved.map(({ paidOut }) => paidOut),
      moved.map(({ paidIn }) => paidIn),
    ],
  );
  const before = new Date((await ctx.databaseTime.now()).getTime() - HOURS_KEPT_MS);
  await ctx.db.query('delete from float_hours where connection = $1 and currency = $2 and hour < $3', [
    connection,
    currency,
    before,
  ]);
}

const startOfHour = (millis: number) => Math.floor(millis / HOUR_MS) * HOUR_MS;

/** It is well again only a tenth above the threshold: a float that swings around it is low once. */
async function noticeLow(ctx: PaymentsContext, setting: FloatSetting, { level }: FloatLevel): Promise<void> {
  if (level === null) return;
  const { low, stop } = setting;
  const now = ctx.clock.now();
  const end = forecastEnd(level - stop, await readWeeklyPace(ctx.db, setting, now), now);
  const endsSoon = end !== null && end.getTime() - now.getTime() < SOON_MS;
  if (level < low || endsSoon) await setLow(ctx.db, setting, true, now);
  else if (level >= low + low / 10n) await setLow(ctx.db, setting, false, now);
}
