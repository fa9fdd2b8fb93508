// Tables partitioned by time. Partitions are created ahead of need and dropped as a whole when their rows are no longer
// needed. A row that comes before its partition exists either lands in the table's default partition and is moved later, or
// its insert fails and `withPartitions` creates the partition and repeats it.
//
// The service may not create or drop tables. Functions of the database's owner do it, for the tables in `partition_rules`
// only, and drop nothing that is younger than the rule says.

import type { Context } from './context.ts';
import { Problem } from './errors.ts';

export type PartitionPlan = {
  table: string;
  span: PartitionSpan;
  /** How many partitions after the present one are created ahead. */
  ahead: number;
  /** A partition that ended this long ago is dropped; null: the service drops none. */
  keepMs: number | null;
  /** The table has a partition `<table>_default`. */
  hasDefault?: true;
};

export type PartitionSpan = 'hour' | 'day' | 'month';

/**
 * Creates the partitions around a moment (one before, the present one and those ahead) and drops the old ones. Safe in
 * several processes at once. Returns how many were created or dropped.
 */
export async function maintainPartitions(ctx: Context, plan: PartitionPlan, around?: Date): Promise<number> {
  // The database's time: a process whose clock is wrong must not drop what the others still need.
  const now = await ctx.databaseTime.now();
  const moment = around ?? now;
  const existing = await listPartitions(ctx, plan);
  const missing = Array.from({ length: plan.ahead + 2 }, (_, index) => spanStart(plan.span, moment, index - 1)).filter(
    (start) => !existing.includes(partitionName(plan, start)),
  );
  let changes = 0;
  // While rows are moved out of the default partition it is locked: one partition a transaction keeps that short.
  for (const starts of plan.hasDefault ? missing.map((start) => [start]) : [missing])
    changes += await createPartitions(ctx, plan, starts);
  return changes + (await dropOldPartitions(ctx, plan, existing, now));
}

/** Runs `work`; if it fails because a partition is missing, creates it and runs `work` once more. */
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

async function listPartitions(ctx: Context, plan: PartitionPlan): Promise<string[]> {
  const rows = await ctx.db.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass`,
    [plan.table],
  );
  return rows.map((row) => row.name);
}

async function createPartitions(ctx: Context, plan: PartitionPlan, starts: Date[]): Promise<number> {
  if (starts.length === 0) return 0;
  return await ctx.db.transaction(async (tx) => {
    let created = 0;
    for (const start of starts) {
      const [row] = await tx.query<{ done: boolean }>('select create_partition($1, $2) as done', [plan.table, start]);
      if (row?.done) created++;
    }
    return created;
  });
}

async function dropOldPartitions(ctx: Context, plan: PartitionPlan, existing: string[], now: Date): Promise<number> {
  if (plan.keepMs === null) return 0;
  const cutoff = new Date(now.getTime() - plan.keepMs);
  let dropped = 0;
  for (const name of existing) {
    const start = startOf(plan, name);
    if (start === null || spanStart(plan.span, start, 1) > cutoff) continue;
    const [row] = await ctx.db.transaction((tx) =>
      tx.query<{ done: boolean }>('select drop_partition($1, $2, $3) as done', [plan.table, start, cutoff]),
    );
    if (row?.done) dropped++;
  }
  if (plan.hasDefault)
    await ctx.db.transaction((tx) => tx.query('select trim_default_partition($1, $2)', [plan.table, cutoff]));
  return dropped;
}

/** The start of the span that holds `moment`, or of one before or after it. */
function spanStart(span: PartitionSpan, moment: Date, offset: number): Date {
  const [year, month, day] = [moment.getUTCFullYear(), moment.getUTCMonth(), moment.getUTCDate()];
  if (span === 'month') return new Date(Date.UTC(year, month + offset));
  if (span === 'day') return new Date(Date.UTC(year, month, day + offset));
  return new Date(Date.UTC(year, month, day, moment.getUTCHours() + offset));
}

/** `events_2026_03` for a month, `request_log_2026030200` for a day or an hour. */
function partitionName({ table, span }: PartitionPlan, start: Date): string {
  const text = start.toISOString();
  return `${table}_${span === 'month' ? text.slice(0, 7).replace('-', '_') : text.slice(0, 13).replace(/\D/g, '')}`;
}

/** The start that a partition's name says, or null for the default partition. */
function startOf(plan: PartitionPlan, name: string): Date | null {
  const match = /_(\d{4})_?(\d{2})(?:(\d{2})(\d{2}))?$/.exec(name);
  if (!match) return null;
  const [, year, month, day = 1, hour = 0] = match;
  const start = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour)));
  return partitionName(plan, start) === name ? start : null;
}
