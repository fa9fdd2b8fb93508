// Tables partitioned by time. Partitions are created ahead of need and dropped as a whole when their rows are no longer
// needed. A row that comes before its partition exists either lands in the table's default partition and is moved later, or
// its insert fails and `withPartitions` creates the partition and repeats it.

import type { Context } from './context.ts';
import type { Reader, Tx } from './db.ts';
import { Problem } from './errors.ts';

export type PartitionPlan = {
  table: string;
  span: PartitionSpan;
  /** How many partitions after the present one are created ahead. */
  ahead: number;
  /** A partition that ended this long ago is dropped. */
  keepMs: number;
  /** The value of the partition key at a moment, where the key is not a timestamp. */
  bound?: (moment: Date) => string;
  /** For a table that has a partition `<table>_default`. */
  defaultPartition?: {
    key: string;
    /** The column with a row's age. A partition with a row younger than `keepMs` is kept, however old its range is. */
    age: string;
  };
};

export type PartitionSpan = 'hour' | 'day' | 'month';

/** The first half of an advisory lock; the second is the table. One process at a time changes the partitions of a table. */
const PARTITION_LOCK = 731_058_300;

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
  for (const starts of plan.defaultPartition ? missing.map((start) => [start]) : [missing])
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
    await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [PARTITION_LOCK, plan.table]);
    let created = 0;
    for (const start of starts) {
      // Another process may have created it while this one waited for the lock.
      const [found] = await tx.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
        partitionName(plan, start),
      ]);
      if (found?.exists) continue;
      await createPartition(tx, plan, start);
      created++;
    }
    return created;
  });
}

/** Creating a table and attaching it takes a lighter lock on the parent than creating a partition: inserts go on. */
async function createPartition(tx: Tx, plan: PartitionPlan, start: Date): Promise<void> {
  const { table, defaultPartition, bound = (moment) => moment.toISOString() } = plan;
  const name = partitionName(plan, start);
  const low = bound(start);
  const high = bound(spanStart(plan.span, start, 1));
  // Locked before rows are moved, so that none is inserted between the move and the attachment.
  if (defaultPartition) await tx.query(`lock table ${table}_default in access exclusive mode`);
  await tx.query(`create table ${name} (like ${table} including defaults including constraints including storage)`);
  if (defaultPartition)
    await tx.query(
      `with moved as (
         delete from ${table}_default where ${defaultPartition.key} >= '${low}' and ${defaultPartition.key} < '${high}' returning *
       )
       insert into ${name} select * from moved`,
    );
  await tx.query(`alter table ${table} attach partition ${name} for values from ('${low}') to ('${high}')`);
}

async function dropOldPartitions(ctx: Context, plan: PartitionPlan, existing: string[], now: Date): Promise<number> {
  const cutoff = new Date(now.getTime() - plan.keepMs);
  const age = plan.defaultPartition?.age;
  let dropped = 0;
  for (const name of existing) {
    const start = startOf(plan, name);
    if (start === null || spanStart(plan.span, start, 1) > cutoff) continue;
    // Asked without the lock first: most partitions that are kept are kept for a young row.
    if (age !== undefined && (await hasYoungRow(ctx.db, name, age, cutoff))) continue;
    if (await dropPartition(ctx, plan, name, cutoff)) dropped++;
  }
  if (age !== undefined) await ctx.db.query(`delete from ${plan.table}_default where ${age} < $1`, [cutoff]);
  return dropped;
}

/** Looks and drops under one lock: a row inserted in between would be lost. */
async function dropPartition(ctx: Context, plan: PartitionPlan, name: string, cutoff: Date): Promise<boolean> {
  const age = plan.defaultPartition?.age;
  return await ctx.db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [PARTITION_LOCK, plan.table]);
    const [found] = await tx.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name]);
    if (!found?.exists) return false;
    if (age !== undefined) {
      // Waits for the inserts under way; later ones wait for us and then find the default partition.
      await tx.query(`lock table ${name} in share row exclusive mode`);
      if (await hasYoungRow(tx, name, age, cutoff)) return false;
    }
    await tx.query(`drop table ${name}`);
    return true;
  });
}

async function hasYoungRow(reader: Reader, name: string, age: string, cutoff: Date): Promise<boolean> {
  return (await reader.query(`select from ${name} where ${age} >= $1 limit 1`, [cutoff])).length > 0;
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
