// Mappings of CSV columns that people saved under a name.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { Mapping } from './readers/mapping.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
const MAX_MAPPINGS = 200;

export type SavedMapping = { name: string; mapping: Mapping; createdBy: string; createdAt: Date };

/** Saved under a name that another mapping had, it takes its place; files keep the mapping that they were read with. */
export async function storeMapping(ctx: Context, actor: Actor, name: string, mapping: Mapping): Promise<void> {
  if (!NAME.test(name)) {
    const message = 'The name of a mapping has small letters, digits and dashes, 40 characters at most.';
    throw new Problem('invalid_params', { message, errors: { name: [message] } });
  }
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      `insert into statement_mappings (name, mapping, created_by, created_at) values ($1, $2, $3, $4)
       on conflict (name) do update set mapping = excluded.mapping, created_by = excluded.created_by,
         created_at = excluded.created_at`,
      [name, JSON.stringify(mapping), actor.name, at],
    );
    await recordAudit(tx, { holderId: null, actor, action: 'statement.mapping_saved', subject: name }, at);
  });
}

const SAVED = 'name, mapping, created_by as "createdBy", created_at as "createdAt"';

export async function findMapping(reader: Reader, name: string): Promise<SavedMapping | null> {
  const [row] = await reader.query<SavedMapping>(`select ${SAVED} from statement_mappings where name = $1`, [name]);
  return row ?? null;
}

export async function listMappings(reader: Reader): Promise<SavedMapping[]> {
  return await reader.query<SavedMapping>(
    `select ${SAVED} from statement_mappings order by name limit ${MAX_MAPPINGS}`,
  );
}
