// Tables partitioned by time: partitions are made ahead of need by housekeeping, made on demand when
// housekeeping was late, and dropped whole when nothing in them can matter any more.

import type { Context } from './context.ts';
import { Problem } from './errors.ts';

export type PartitionPlan = {
  table: string;
  /** Length of one partition. Boundaries are multiples of it since the epoch. */
  spanMs: number;
  /** How many partitions beyond the present one are made ahead. */
  ahead: number;
  /** A partition that ended this long ago is dropped; null keeps all. */
  keepMs: number | null;
};

/** A constant that makes our advisory lock differ from anybody else's. */
const PARTITION_LOCK = 7_310_583_001n;

/** Makes the partitions around `moment` and drops those past their time. Safe in several processes at once. */
export async function maintainPartitions(ctx: Context, plan: PartitionPlan, moment = ctx.clock.now()): Promise<number> {
  const first = Math.floor(moment.getTime() / plan.spanMs) - 1;
  const wanted = Array.from({ length: plan.ahead + 2 }, (_, index) => (first + index) * plan.spanMs);
  const oldest = plan.keepMs === null ? null : partitionName(plan, ctx.clock.millis() - plan.keepMs - plan.spanMs);
  return ctx.db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
    const existing = new Set(
      (
        await tx.query<{ name: string }>(
          `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass`,
          [plan.table],
        )
      ).map((row) => row.name),
    );
    let changes = 0;
    for (const start of wanted) {
      const name = partitionName(plan, start);
      if (existing.has(name)) continue;
      // Attaching takes a lighter lock on the parent than creating in place: inserts go on meanwhile.
      await tx.query(
        `create table ${name} (like ${plan.table} including defaults including constraints including storage)`,
      );
      await tx.query(
        `alter table ${plan.table} attach partition ${name} for values from ('${new Date(start).toISOString()}') to ('${new Date(start + plan.spanMs).toISOString()}')`,
      );
      changes++;
    }
    for (const name of existing) {
      // Names end in the start of their span, so that their order is the order of time.
      if (oldest === null || name > oldest) continue;
      await tx.query(`drop table ${name}`);
      changes++;
    }
    return changes;
  });
}

function partitionName(plan: PartitionPlan, millis: number): string {
  const start = new Date(Math.floor(millis / plan.spanMs) * plan.spanMs);
  return `${plan.table}_${start.toISOString().slice(0, 13).replace(/\D/g, '')}`;
}

/** Runs `work`; when it fails because a partition is missing, makes it and runs `work` once more. */
export async function withPartitions<T>(
  ctx: Context,
  plan: PartitionPlan,
  moment: Date,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem || !(error instanceof Error) || !/no partition of relation/.test(error.message))
      throw error;
    await maintainPartitions(ctx, plan, moment);
    return work();
  }
}
