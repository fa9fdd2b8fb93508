// Every float as people see it: what it holds, how long it lasts, and what waits for it.

import type { PaymentsContext } from './context.ts';
import { forecastEnd, readWeeklyPace } from './float-forecast.ts';
import { type FloatLevel, readFloatLevel } from './float-levels.ts';
import { type FloatOf, type FloatSetting, floatKey, listFloatSettings } from './float-settings.ts';
import { type FloatState, listFloatStates } from './float-states.ts';
import { sumWaits, type WaitingSum } from './float-waits.ts';
import { listOperatorBalances } from './operator-balances.ts';

export type FloatReport = FloatOf & {
  level: FloatLevel;
  /** Null: nobody watches it. */
  setting: FloatSetting | null;
  /** When it reaches the amount to stop at, by the last four weeks; null: not within two weeks, or nobody watches it. */
  end: Date | null;
  waiting: WaitingSum | null;
} & Pick<FloatState, 'refusedAt' | 'lowSince'>;

/** Those that somebody watches, that an operator talks about, or that payouts wait for. */
export async function readFloats(ctx: PaymentsContext, connection: string | null = null): Promise<FloatReport[]> {
  const [settings, states, waits, reported] = await Promise.all([
    listFloatSettings(ctx.db),
    listFloatStates(ctx.db),
    sumWaits(ctx.db),
    listOperatorBalances(ctx.db),
  ]);
  const floats = new Map<string, FloatOf>();
  for (const each of [...settings, ...waits, ...reported])
    floats.set(floatKey(each), { connection: each.connection, currency: each.currency });
  const wanted = [...floats.values()].filter((float) => connection === null || float.connection === connection);
  const sorted = wanted.toSorted((a, b) => (floatKey(a) < floatKey(b) ? -1 : 1));
  return Promise.all(
    sorted.map(async (float) => {
      const isThis = (each: FloatOf) => floatKey(each) === floatKey(float);
      const setting = settings.find(isThis) ?? null;
      const level = await readFloatLevel(ctx, ctx.db, float, setting);
      const { refusedAt = null, lowSince = null } = states.find(isThis) ?? {};
      const end = await endOf(ctx, level, setting);
      return { ...float, level, setting, end, waiting: waits.find(isThis) ?? null, refusedAt, lowSince };
    }),
  );
}

async function endOf(ctx: PaymentsContext, { level }: FloatLevel, setting: FloatSetting | null): Promise<Date | null> {
  if (level === null || setting === null) return null;
  const now = ctx.clock.now();
  return forecastEnd(level - setting.stop, await readWeeklyPace(ctx.db, setting, now), now);
}

/** Those that need somebody: low, refused by the operator, or with payouts that wait. */
export async function listFloatsInNeed(ctx: PaymentsContext): Promise<FloatReport[]> {
  const floats = await readFloats(ctx);
  return floats.filter(
    ({ lowSince, refusedAt, waiting }) => lowSince !== null || refusedAt !== null || waiting !== null,
  );
}
