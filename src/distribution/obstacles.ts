// What would stand in the way of `simbi distribute`, read from the catalogue of any PostgreSQL: keys without the holder, foreign keys,
// triggers and policies that Citus refuses.

import type { Reader } from '../platform/db.ts';
import { DROPPED_KEYS, readKinds } from './tables.ts';

/** One sentence for each. None: the schema can be distributed. */
export async function findObstacles(reader: Reader): Promise<string[]> {
  const kinds = readKinds();
  const distributed = [...kinds].filter(([, { kind }]) => kind === 'distributed').map(([name]) => name);
  const found = await missingTables(reader, [...kinds.keys()]);
  for (const text of [WITHOUT_HOLDER, KEYS, EXCLUSIONS, TRIGGERS, POLICIES])
    found.push(...(await sentences(reader, text, [distributed])));
  found.push(...(await sentences(reader, FOREIGN_KEYS, [distributed, DROPPED_KEYS])));
  return found;
}

async function sentences(reader: Reader, text: string, values: unknown[]): Promise<string[]> {
  return (await reader.query<{ sentence: string }>(text, values)).map(({ sentence }) => sentence);
}

async function missingTables(reader: Reader, known: string[]): Promise<string[]> {
  const rows = await reader.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`,
  );
  const present = new Set(rows.map(({ name }) => name));
  return [
    ...[...present].filter((name) => !known.includes(name)).map((name) => `Nobody says where ${name} is to be.`),
    ...known.filter((name) => !present.has(name)).map((name) => `There is no table ${name}.`),
  ];
}

/** The distributed tables, as the server knows them. */
const CHOSEN = `chosen as (
  select c.oid, c.relname as name, h.attnum as holder, h.attnotnull and h.atttypid = 'bigint'::regtype as is_held
  from pg_class c left join pg_attribute h on h.attrelid = c.oid and h.attname = 'holder_id' and not h.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relname = any ($1))`;

const WITHOUT_HOLDER = `with ${CHOSEN}
  select format('%s has no holder_id that is always a bigint.', name) as sentence
  from chosen where is_held is not true order by name`;

const KEYS = `with ${CHOSEN}
  select format('%s of %s is unique over all holders: holder_id is not a column of it.', i.relname, c.name) as sentence
  from chosen c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
  where x.indisunique and not (c.holder = any (x.indkey::int2[])) order by i.relname`;

const EXCLUSIONS = `with ${CHOSEN}
  select format('%s of %s is an exclusion constraint.', k.conname, c.name) as sentence
  from chosen c join pg_constraint k on k.conrelid = c.oid where k.contype = 'x' order by k.conname`;

// A trigger of a distributed table runs on the server of the row, where the other tables are not. It may look at the row and refuse it.
const TRIGGERS = `with ${CHOSEN}, tables as (
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
  )
  select format('%s of %s does more than look at its row: %s.', t.tgname, c.name, p.proname) as sentence
  from chosen c join pg_trigger t on t.tgrelid = c.oid join pg_proc p on p.oid = t.tgfoid
  where not t.tgisinternal and (t.tgnewtable is not null or t.tgoldtable is not null or t.tgdeferrable
    or exists (select from tables where regexp_replace(p.prosrc, '''[^'']*''', '', 'g') ~ ('\\m' || relname || '\\M'))) order by t.tgname`;

const POLICIES = `with ${CHOSEN}
  select format('The policy %s of %s contains a select.', p.polname, c.name) as sentence
  from chosen c join pg_policy p on p.polrelid = c.oid
  where pg_get_expr(p.polqual, c.oid) ~* '\\mselect\\M' or pg_get_expr(p.polwithcheck, c.oid) ~* '\\mselect\\M'
  order by c.name, p.polname`;

const FOREIGN_KEYS = `with ${CHOSEN}
  select format('The foreign key %s goes from %s to %s: ', k.conname, k.conrelid::regclass, k.confrelid::regclass) || case
      when own.oid is null then 'the second is distributed and the first is not.'
      when other.oid is null then 'the first is distributed and the second is not.'
      else 'both are distributed, and holder_id is not part of it.' end as sentence
  from pg_constraint k
  left join chosen own on own.oid = k.conrelid left join chosen other on other.oid = k.confrelid
  where k.contype = 'f' and k.conparentid = 0 and k.conname <> all ($2) and (own.oid is not null or other.oid is not null)
    and (own.oid is null or other.oid is null or not exists (
      select from unnest(k.conkey, k.confkey) as pair (mine, theirs) where mine = own.holder and theirs = other.holder))
  order by k.conname`;
