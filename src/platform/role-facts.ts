// What the connection of the service could do to the database: who it is, what it owns, what is guarded.

import { SERVICE_ROLE } from './database-roles.ts';
import type { Reader } from './db.ts';

/** What doctor looks at. */
export type RoleFacts = {
  login: string;
  isSuperuser: boolean;
  /** Tables that the login could change or drop: it owns them, or may become their owner. */
  owned: number;
  /** Tables with a holder_id that have no row-level security. */
  unguarded: string[];
  /** False: the service plans its statements with policies that allow everything, and long reads are slower. */
  bypasses: boolean;
  mayCreate: boolean;
  /** Changes of history that the service's role may make. */
  mayChange: string[];
};

const HISTORY = [
  'audit_log',
  'evidence',
  'events',
  'callback_attempts',
  'ledger_transfers',
  'ledger_blocks',
  'ledger_partition_blocks',
  'ledger_heads',
  'transactions',
];

export async function readRoleFacts(reader: Reader): Promise<RoleFacts> {
  const [facts] = await reader.query<RoleFacts>(
    `select session_user::text as login,
       (select rolsuper from pg_roles where rolname = session_user) as "isSuperuser",
       (select count(*)::int from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
          and pg_has_role(session_user, c.relowner, 'member')) as owned,
       array(select c.relname::text from pg_class c
             join pg_attribute a on a.attrelid = c.oid and a.attname = 'holder_id' and not a.attisdropped
             where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
               and not c.relrowsecurity order by 1) as unguarded,
       (select rolbypassrls from pg_roles where rolname = $1) as bypasses,
       has_schema_privilege($1, 'public', 'create') as "mayCreate",
       array(select t from unnest($2::text[]) t where to_regclass(t) is not null
             and (has_table_privilege($1, t, 'delete') or has_table_privilege($1, t, 'truncate') or has_table_privilege($1, t, 'update'))
             order by 1) as "mayChange"`,
    [SERVICE_ROLE, HISTORY],
  );
  if (!facts) throw new Error('the database did not say who we are');
  return facts;
}
