// The roles of the database. The owner of the tables migrates and restores. The running service is `simbi_service`, which owns
// nothing; what a holder reads is read as `simbi_tenant`, under row-level security. What each may do: migrations/privileges.sql.

import pg from 'pg';

export const SERVICE_ROLE = 'simbi_service';
export const TENANT_ROLE = 'simbi_tenant';
const MAX_TRIES = 5;
/** Two databases of one server may create the roles, or change their members, at the same moment. */
const AT_THE_SAME_TIME = /^(?:42710|23505|XX000)$/;

type Client = { query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> };

/**
 * Creates the roles where they are missing and lets the login, if one is given, become the service. Roles belong to the whole
 * server, not to one database. Returns null, or what an administrator of the server must run because this login may not.
 */
export async function prepareRoles(client: Client, login: string | null): Promise<string | null> {
  for (let tries = 1; ; tries++) {
    const wanted = await missingRoles(client, login);
    if (wanted.length === 0) return null;
    try {
      for (const statement of wanted) await client.query(statement);
    } catch (error) {
      const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
      // 42501: not permitted. 0LP01: the grant is not permitted.
      if (/^(?:42501|0LP01)$/.test(code)) return `${(await missingRoles(client, login)).join('; ')};`;
      if (!AT_THE_SAME_TIME.test(code) || tries >= MAX_TRIES) throw error;
    }
  }
}

async function missingRoles(client: Client, login: string | null): Promise<string[]> {
  const { rows } = await client.query(
    `select to_regrole('${SERVICE_ROLE}') is not null as service, to_regrole('${TENANT_ROLE}') is not null as tenant,
       (select rolsuper or rolbypassrls or not rolcreaterole from pg_roles where rolname = session_user) as bypass`,
  );
  const found = rows[0] as { service: boolean; tenant: boolean; bypass: boolean };
  const statements: string[] = [];
  if (!found.tenant) statements.push(`create role ${TENANT_ROLE} nologin`);
  // It may become a tenant, but has none of a tenant's rights by itself. Policies are for tenants: where the server allows it,
  // the service plans its statements without them.
  if (!found.service)
    statements.push(`create role ${SERVICE_ROLE} nologin noinherit${found.bypass ? ' bypassrls' : ''}`);
  const member = async (role: string, of: string) => {
    const answer = await client.query('select pg_has_role($1, $2, $3) as yes', [role, of, 'member']);
    return (answer.rows[0] as { yes: boolean }).yes;
  };
  if (!(found.tenant && found.service && (await member(SERVICE_ROLE, TENANT_ROLE))))
    statements.push(`grant ${TENANT_ROLE} to ${SERVICE_ROLE}`);
  if (login !== null && !(found.service && (await member(login, SERVICE_ROLE))))
    statements.push(`grant ${SERVICE_ROLE} to ${pg.escapeIdentifier(login)}`);
  return statements;
}
