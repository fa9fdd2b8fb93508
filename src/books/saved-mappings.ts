// Mappings of CSV columns that people saved under a name.

import type { Reader, Tx } from '../platform/db.ts';
import type { Mapping } from './readers/mapping.ts';

export type SavedMapping = { name: string; mapping: Mapping; createdBy: string; createdAt: Date };

/** Saved under a name that another mapping had, it takes its place; files keep the mapping that they were read with. */
export async function saveMapping(tx: Tx, saved: SavedMapping): Promise<void> {
  await tx.query(
    `insert into statement_mappings (name, mapping, created_by, created_at) values ($1, $2, $3, $4)
     on conflict (name) do update set mapping = excluded.mapping, created_by = excluded.created_by, created_at = excluded.created_at`,
    [saved.name, JSON.stringify(saved.mapping), saved.createdBy, saved.createdAt],
  );
}

export async function findMapping(reader: Reader, name: string): Promise<SavedMapping | null> {
  const [row] = await reader.query<SavedMapping>(
    `select name, mapping, created_by as "createdBy", created_at as "createdAt" from statement_mappings where name = $1`,
    [name],
  );
  return row ?? null;
}

export async function listMappings(reader: Reader): Promise<SavedMapping[]> {
  return await reader.query<SavedMapping>(
    `select name, mapping, created_by as "createdBy", created_at as "createdAt" from statement_mappings order by name limit 200`,
  );
}
