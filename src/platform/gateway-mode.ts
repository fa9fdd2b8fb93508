// The mark that says whether the money in a database is real. It is written once and never changes.

import type { Reader } from './db.ts';

export type Mode = 'sandbox' | 'live';

/** Null: the database was not marked yet, or is older than the mark. */
export async function readMode(reader: Reader): Promise<Mode | null> {
  if (!(await canBeMarked(reader))) return null;
  const [row] = await reader.query<{ mode: Mode }>('select mode from gateway_mode');
  return row?.mode ?? null;
}

/** Marks the database, unless another process was first. Returns the mark that holds. */
export async function markMode(reader: Reader, mode: Mode, at: Date): Promise<Mode> {
  if (!(await canBeMarked(reader))) return mode;
  await reader.query('insert into gateway_mode (mode, marked_at) values ($1, $2) on conflict do nothing', [mode, at]);
  return (await readMode(reader)) ?? mode;
}

async function canBeMarked(reader: Reader): Promise<boolean> {
  const [table] = await reader.query<{ present: boolean }>(`select to_regclass('gateway_mode') is not null as present`);
  return table?.present === true;
}
