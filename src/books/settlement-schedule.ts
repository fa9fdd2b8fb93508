// Settlements by schedule: a job takes what is due. A period is taken once, so a pass that broke off, or two processes at once, change
// nothing; what has too little, or cannot be settled now, waits for the next day of its schedule.

import type { Actor } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { dayIn } from '../platform/time-zones.ts';
import { advanceRule, listDueRules, nextSettlement, type SettlementRule } from './settlement-rules.ts';
import { takeSettlement } from './settlements.ts';

const RULES_PER_PASS = 50;

export const SETTLEMENT_SCHEDULE: Actor = { memberId: null, name: 'settlement schedule' };

/** One pass. Returns how many rules were due. */
export async function settleDue(ctx: PaymentsContext, engine: Pick<PaymentEngine, 'wake'>): Promise<number> {
  const rules = await listDueRules(ctx.db, ctx.clock.now(), RULES_PER_PASS);
  for (const rule of rules) await settleOne(ctx, engine, rule);
  return rules.length;
}

async function settleOne(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  rule: SettlementRule,
): Promise<void> {
  const { holder_id: holderId, currency, next_at: due, schedule } = rule;
  const holder = await findHolder(ctx.db, holderId);
  if (!holder || !due) return;
  // Of several days that passed while nothing ran, the newest one counts.
  const period = `${schedule}-${dayIn(holder.time_zone, due)}`;
  try {
    await takeSettlement(ctx, engine, SETTLEMENT_SCHEDULE, { holderId, currency, period });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    ctx.log.warn({ holder: holderId, currency, period, err: error }, 'a settlement waits for its next day');
  }
  failpoint('settlement-scheduled');
  const next = nextSettlement(rule, holder.time_zone, ctx.clock.now());
  await ctx.db.transaction((tx) => advanceRule(tx, rule, next));
}
