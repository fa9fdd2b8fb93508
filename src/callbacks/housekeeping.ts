// Events and delivery attempts are kept for ninety days, in a partition a month. Deliveries that nothing retries any more
// are deleted.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Job } from '../platform/jobs.ts';
import { maintainPartitions, type PartitionPlan } from '../platform/partitions.ts';
import { GIVE_UP_AFTER_MS } from './schedule.ts';

const PASS_EVERY_MS = 3_600_000;
const MONTHLY = { span: 'month', ahead: 2, keepMs: 90 * DAY_MS } as const;

const PARTITIONS: PartitionPlan[] = [
  // A late reversal keeps the month of its transaction until it has been listable for ninety days itself.
  { table: 'events', ...MONTHLY, hasDefault: true },
  { table: 'callback_attempts', ...MONTHLY, hasDefault: true },
];

export function createCallbackHousekeeping(ctx: Context): Job {
  return {
    name: 'callback_housekeeping',
    idleMs: { shortest: PASS_EVERY_MS, longest: PASS_EVERY_MS },
    pass: () => keepHistory(ctx),
  };
}

/** Returns how many partitions were created or dropped. */
async function keepHistory(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  let changed = 0;
  for (const plan of PARTITIONS) changed += await maintainPartitions(ctx, plan);
  // Paused, or without their event, for longer than anything is retried.
  await ctx.db.query('delete from callback_deliveries where started_at < $1', [
    new Date(now.getTime() - GIVE_UP_AFTER_MS - DAY_MS),
  ]);
  return changed;
}
