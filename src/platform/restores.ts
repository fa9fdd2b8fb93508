// When this database was last restored from a backup. What was issued before that moment and only works once (signatures)
// cannot be trusted after it: the backup does not know what was used since.

import { createCache } from './cache.ts';
import type { Context } from './context.ts';
import type { Reader, Tx } from './db.ts';
import type { MaybeLater } from './known.ts';

/** Written in the transaction that loads the backup. */
export async function recordRestore(tx: Tx, at: Date, backupTakenAt: Date | null): Promise<void> {
  await tx.query('insert into restores (restored_at, backup_taken_at) values ($1, $2)', [at, backupTakenAt]);
}

/** The newest restore; null: this database was never restored. */
export async function readLastRestore(reader: Reader): Promise<Date | null> {
  const [row] = await reader.query<{ at: Date | null }>({
    name: 'read_last_restore',
    text: 'select max(restored_at) as at from restores',
  });
  return row?.at ?? null;
}

const lastRestore = createCache((ctx: Context, _key: 'last') => readLastRestore(ctx.db));

/** The same from the cache of this process, for every request. */
export function findLastRestore(ctx: Context): MaybeLater<Date | null> {
  return lastRestore.get(ctx, 'last');
}
