// Settlements by schedule: a job takes what is due. A period is taken once, so a pass that broke off, or two processes at once, change
// nothing; what has too little, or cannot be settled now, waits for the next day of its schedule.

import type { Actor } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { Problem, type ProblemCode } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { tryEach } from '../platform/jobs.ts';
import { dayIn } from '../platform/time-zones.ts';
import { advanceRule, listDueRules, nextSettlement, type SettlementRule } from './settlement-rules.ts';
import { takeSettlement } from './settlements.ts';

const RULES_PER_PASS = 50;
const TRANSIENT: ReadonlySet<ProblemCode> = new Set([
  'database_unavailable',
  'overloaded',
  'outcome_unknown',
  'clock_skewed',
]);

export const SETTLEMENT_SCHEDULE: Actor = { memberId: null, name: 'settlement schedule' };

/** One pass. Returns how many rules were due. */
export async function settleDue(ctx: PaymentsContext, engine: Pick<PaymentEngine, 'wake'>): Promise<number> {
  const rules = await listDueRules(ctx.db, ctx.clock.now(), RULES_PER_PASS);
  await tryEach(rules, (rule) => settleOne(ctx, engine, rule));
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
    // What the database could not do a moment ago is tried by the next pass: a period is taken once.
    if (!(error instanceof Problem) || TRANSIENT.has(error.code)) throw error;
    ctx.log.warn({ holder: holderId, currency, period, err: error }, 'a settlement waits for its next day');
  }
  failpoint('settlement-scheduled');
  const next = nextSettlement(rule, holder.time_zone, ctx.clock.now());
  await ctx.db.transaction((tx) => advanceRule(tx, rule, next));
}

/**
 * After a restore: what was settled since the backup is unknown here, and its money is in the wallets again. No schedule takes money
 * for a day, so that people can compare first. Returns how many wait.
 */
export async function postponeSchedules(tx: Tx, at: Date): Promise<number> {
  const [table] = await tx.query<{ exists: boolean }>(`select to_regclass('settlement_rules') is not null as exists`);
  // A backup from before there were settlements.
  if (!table?.exists) return 0;
  const until = new Date(at.getTime() + DAY_MS);
  for (let postponed = 0; ; ) {
    const rules = await listDueRules(tx, until, RULES_PER_PASS);
    if (rules.length === 0) return postponed;
    for (const rule of rules) {
      const holder = await findHolder(tx, rule.holder_id);
      if (!holder) throw new Error(`the holder ${rule.holder_id} of a settlement rule is unknown`);
      await advanceRule(tx, rule, nextSettlement(rule, holder.time_zone, until));
    }
    postponed += rules.length;
  }
}
