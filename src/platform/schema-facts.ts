// What a schema consists of, as a list that can be compared before and after a statement; the locks that the statement left; and
// the rights of the service's roles. Read from the catalogue, inside the transaction of the statement.

import type pg from 'pg';
import { SERVICE_ROLE, TENANT_ROLE } from './database-roles.ts';

export type SchemaFact = {
  kind: 'table' | 'view' | 'sequence' | 'column' | 'constraint' | 'index' | 'function' | 'type' | 'label' | 'trigger';
  /** Stays when it gets another name. */
  id: string;
  name: string;
  /** Of the table that it is part of; a partition stands for its whole table. */
  table: string | null;
  tableId: string | null;
  /** Another one than before: the table or the index was written anew. */
  file: string | null;
  /** Of a column: its type. Of a constraint: c, f, p, u or x. */
  type: string | null;
  /** A constraint that holds for every row, not only for new ones. */
  valid: boolean | null;
  /** A column that must have a value, and gets one when a statement does not name it. */
  required: boolean | null;
  filled: boolean | null;
  /** Columns of a constraint. */
  columns: string[] | null;
  definition: string | null;
};

export type HeldLock = { tableId: string; table: string; mode: string };

const OURS = `relnamespace = 'public'::regnamespace`;
const ROOT = (table: string) => `coalesce(pg_partition_root(${table}), ${table})::regclass::text`;

/** Parts of partitions are left out: they follow their table. So are sequences that belong to a column. */
const FACTS = `
  select case c.relkind when 'v' then 'view' when 'm' then 'view' when 'S' then 'sequence' else 'table' end as kind, c.oid::text as id,
    c.relname::text as name, ${ROOT('c.oid')} as table, case when c.relkind in ('r', 'p') then c.oid::text end as "tableId",
    pg_relation_filenode(c.oid)::text as file, null as type, null::boolean as valid, null::boolean as required,
    null::boolean as filled, null::text[] as columns, null as definition
  from pg_class c where c.${OURS} and (c.relkind in ('r', 'p', 'v', 'm') or c.relkind = 'S'
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')))
  union all
  select 'column', a.attrelid || '.' || a.attnum, a.attname, c.relname, c.oid::text, null, format_type(a.atttypid, a.atttypmod), null,
    a.attnotnull, a.atthasdef or a.attidentity <> '' or a.attgenerated <> '', null, null
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.${OURS} and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
  union all
  select 'constraint', n.oid::text, n.conname, c.relname, coalesce(c.oid, n.contypid)::text, null, n.contype::text, n.convalidated, null,
    null, array(select a.attname::text from pg_attribute a where a.attrelid = n.conrelid and a.attnum = any (n.conkey)),
    pg_get_constraintdef(n.oid)
  from pg_constraint n left join pg_class c on c.oid = n.conrelid
  where n.connamespace = 'public'::regnamespace and n.contype in ('c', 'f', 'p', 'u', 'x') and n.conparentid = 0
    and (c.oid is null or not c.relispartition)
  union all
  select 'index', i.indexrelid::text, c.relname, ${ROOT('i.indrelid')}, i.indrelid::text, pg_relation_filenode(i.indexrelid)::text,
    null, i.indisvalid, null, null, null, null
  from pg_index i join pg_class c on c.oid = i.indexrelid where c.${OURS} and not c.relispartition
  union all
  select 'function', p.oid::text, p.oid::regprocedure::text, null, null, null, pg_get_function_result(p.oid), null, null, null, null, null
  from pg_proc p where p.pronamespace = 'public'::regnamespace
  union all
  select 'type', t.oid::text, t.typname, null, null, null, null, null, null, null, null, null
  from pg_type t where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')
  union all
  select 'label', e.oid::text, e.enumlabel, null, e.enumtypid::text, null, null, null, null, null, null, null
  from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typnamespace = 'public'::regnamespace
  union all
  select 'trigger', g.oid::text, g.tgname, c.relname, c.oid::text, null, g.tgenabled::text, null, null, null, null, null
  from pg_trigger g join pg_class c on c.oid = g.tgrelid
  where c.${OURS} and not g.tgisinternal and g.tgparentid = 0 and not c.relispartition`;

/** By kind and id. */
export type SchemaFacts = ReadonlyMap<string, SchemaFact>;

export async function readFacts(client: pg.Client): Promise<SchemaFacts> {
  const { rows } = await client.query<SchemaFact>(FACTS);
  return new Map(rows.map((fact) => [`${fact.kind} ${fact.id}`, fact]));
}

/** The locks on tables that this transaction has taken until now. */
export async function readLocks(client: pg.Client): Promise<HeldLock[]> {
  const { rows } = await client.query<HeldLock>(`
    select c.oid::text as "tableId", ${ROOT('c.oid')} as table, l.mode
    from pg_locks l join pg_class c on c.oid = l.relation
    where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.granted and c.${OURS} and c.relkind in ('r', 'p', 'm')`);
  return rows;
}

/** What the roles of the service may do: "simbi_service may update transactions.status". */
export async function readRights(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ may: string }>(
    `with role as (select oid, rolname::text as name from pg_roles where rolname = any ($1::text[]))
     select role.name || ' may ' || wanted.verb || ' ' || c.relname || '.' || a.attname as may
     from role cross join (values ('select'), ('insert'), ('update')) as wanted (verb)
     cross join pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.${OURS} and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and has_column_privilege(role.oid, c.oid, a.attnum, wanted.verb)
     union all
     select role.name || ' may delete from ' || c.relname from role cross join pg_class c
     where c.${OURS} and c.relkind in ('r', 'p') and not c.relispartition and has_table_privilege(role.oid, c.oid, 'delete')
     union all
     select role.name || ' may execute ' || p.oid::regprocedure from role cross join pg_proc p
     where p.pronamespace = 'public'::regnamespace and has_function_privilege(role.oid, p.oid, 'execute')
     order by 1`,
    [[SERVICE_ROLE, TENANT_ROLE]],
  );
  return rows.map(({ may }) => may);
}
