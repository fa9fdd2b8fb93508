// Months of history: partitions of events and attempts are made ahead and dropped whole after ninety days. An insert
// never depends on it: what comes too early lands in the default partition and is moved from there.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import type { Job } from '../platform/jobs.ts';
import { GIVE_UP_AFTER_MS } from './schedule.ts';

const DAY_MS = 24 * 3_600_000;
const KEEP_MS = 90 * DAY_MS;
const MONTHS_AHEAD = 2;
const PASS_EVERY_MS = 3_600_000;
/** "callback" in ASCII: the key of the lock under which one process at a time changes partitions. */
const LOCK_KEY = '7161124095258616683';

type PartitionedTable = {
  name: string;
  key: string;
  /** Which column tells a row's age. */
  age: string;
  bound: (start: Date) => string;
};

const TABLES: PartitionedTable[] = [
  { name: 'events', key: 'transaction_id', age: 'created_at', bound: lowestUuid },
  { name: 'callback_attempts', key: 'at', age: 'at', bound: (start) => start.toISOString() },
];

export function createCallbackHousekeeping(ctx: Context): Job {
  return {
    name: 'callback_housekeeping',
    idleMs: { shortest: PASS_EVERY_MS, longest: PASS_EVERY_MS },
    pass: () => keepMonths(ctx),
  };
}

/** Makes the months to come and drops the old. Answers how many partitions were made or dropped. */
async function keepMonths(ctx: Context): Promise<number> {
  const now = ctx.clock.now();
  let changed = 0;
  for (const table of TABLES) {
    for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++)
      changed += await ctx.db.transaction((tx) => makeMonth(tx, table, monthStart(now, ahead)));
    changed += await dropOldMonths(ctx, table, new Date(now.getTime() - KEEP_MS));
  }
  // What was paused, or lost its event, for longer than anything is retried.
  await ctx.db.query('delete from callback_deliveries where started_at < $1', [
    new Date(now.getTime() - GIVE_UP_AFTER_MS - DAY_MS),
  ]);
  return changed;
}

async function makeMonth(tx: Tx, table: PartitionedTable, start: Date): Promise<number> {
  await tx.query('select pg_advisory_xact_lock($1::bigint)', [LOCK_KEY]);
  const partition = partitionName(table, start);
  const [found] = await tx.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [partition]);
  if (found?.exists) return 0;
  const low = table.bound(start);
  const high = table.bound(monthStart(start, 1));
  // Held from here on, so that nothing can slip into the default partition between the move and the attachment.
  await tx.query(`lock table ${table.name}_default in access exclusive mode`);
  await tx.query(`create table ${partition} (like ${table.name} including defaults including constraints)`);
  await tx.query(
    `with moved as (delete from ${table.name}_default where ${table.key} >= '${low}' and ${table.key} < '${high}' returning *)
     insert into ${partition} select * from moved`,
  );
  await tx.query(`alter table ${table.name} attach partition ${partition} for values from ('${low}') to ('${high}')`);
  return 1;
}

async function dropOldMonths(ctx: Context, table: PartitionedTable, cutoff: Date): Promise<number> {
  const partitions = await ctx.db.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table.name],
  );
  let dropped = 0;
  for (const { name } of partitions) {
    const match = /_(\d{4})_(\d{2})$/.exec(name);
    if (!match) continue;
    const end = new Date(Date.UTC(Number(match[1]), Number(match[2]), 1));
    if (end > cutoff) continue;
    // A late reversal keeps the month of its transaction until it has been listable for ninety days itself.
    const [row] = await ctx.db.query<{ young: boolean }>(
      `select exists (select from ${name} where ${table.age} >= $1) as young`,
      [cutoff],
    );
    if (row?.young) continue;
    await ctx.db.query(`drop table ${name}`);
    dropped++;
  }
  await ctx.db.query(`delete from ${table.name}_default where ${table.age} < $1`, [cutoff]);
  return dropped;
}

function partitionName(table: PartitionedTable, start: Date): string {
  return `${table.name}_${start.toISOString().slice(0, 7).replace('-', '_')}`;
}

function monthStart(moment: Date, ahead: number): Date {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + ahead, 1));
}

/** The smallest UUIDv7 of a moment: its first 48 bits are the milliseconds. */
function lowestUuid(start: Date): string {
  const hex = start.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
