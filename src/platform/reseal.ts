// After a rotation, stored values are sealed again with the newest key, a few rows at a time, so that the old key can be retired.
// Each module that stores sealed values does this for its own tables.

import type { Context } from './context.ts';
import type { Reader } from './db.ts';

const ROWS_A_PASS = 100;

/** The sealed columns of one table. */
export type SealedColumns = {
  /** `table.column`, as people read it. */
  readonly columns: readonly string[];
  /** Seals at most `limit` rows again that the newest key did not seal; returns how many it changed. */
  reseal(ctx: Context, limit: number): Promise<number>;
  /** How many values do not begin with `prefix`. */
  countOthers(reader: Reader, prefix: Buffer): Promise<number>;
};

/** One pass over every table; 0 when nothing is left. Two processes may run it at the same time. */
export async function resealPass(ctx: Context, all: readonly SealedColumns[]): Promise<number> {
  if (!ctx.vault.hasOlderVersions()) return 0;
  let changed = 0;
  for (const columns of all) changed += await columns.reseal(ctx, ROWS_A_PASS);
  return changed;
}

export async function countOlderValues(ctx: Context, all: readonly SealedColumns[]): Promise<number> {
  const prefix = ctx.vault.sealedPrefix();
  const counts = await Promise.all(all.map((columns) => columns.countOthers(ctx.db, prefix)));
  return counts.reduce((sum, count) => sum + count, 0);
}
