// Migrates a database to the schema of this version: migrations/NNNN_name.sql, forward only, each in its own transaction,
// recorded with a checksum. Then privileges.sql gives the roles of the service their rights. Several processes may start at
// once: one migrates, the others wait. The version before goes on meanwhile, and may be started on a database that has been
// migrated by a newer one (decision 57).

import pg from 'pg';
import {
  APPLIED,
  type AppliedMigration,
  applyMigration,
  applyPrivileges,
  type MigrationTurns,
  prepareRecord,
} from './apply-migration.ts';
import { prepareRoles } from './database-roles.ts';
import { connectClient } from './database-servers.ts';
import { loginOf } from './database-url.ts';
import type { Reader } from './db.ts';
import {
  MIGRATIONS_FOLDER,
  type Migration,
  MigrationError,
  type Privileges,
  readMigrations,
  readPrivileges,
} from './migration-files.ts';

const OLDEST_POSTGRES = 15;
const CONNECT_TIMEOUT_MS = 10_000;

/** Applies what is missing and returns the file names it applied. The login of the URL must own the tables, if any is missing. */
export async function migrate(
  databaseUrl: string,
  onProgress: (sentence: string) => void = () => undefined,
  folder = MIGRATIONS_FOLDER,
  /** Stops here: a backup is restored into the schema it was made from, and migrated afterwards. */
  lastVersion = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const migrations = (await readMigrations(folder)).filter((migration) => migration.version <= lastVersion);
  const privileges = await readPrivileges(folder);
  return await withTurns(databaseUrl, onProgress, async (turns) => {
    const { client } = turns;
    await requireVersion(client);
    // A login that owns nothing can start on a database that needs nothing.
    if (await isCurrent(client, migrations, privileges, lastVersion)) return [];
    await requireOwner(client, databaseUrl);
    await prepareRecord(turns);
    if (privileges) await requireRoles(client, null);
    const applied: string[] = [];
    for (const migration of compare(migrations, await readApplied(client)))
      if (await applyMigration(turns, migration)) applied.push(migration.file);
    if (privileges && (applied.length > 0 || !(await isCurrent(client, migrations, privileges, lastVersion))))
      await applyPrivileges(turns, privileges);
    return applied;
  });
}

/** Connections for `applyMigration`, closed when the work is done. */
export async function withTurns<T>(
  databaseUrl: string,
  onProgress: (sentence: string) => void,
  work: (turns: MigrationTurns) => Promise<T>,
): Promise<T> {
  const withSecond = <U>(build: (second: pg.Client) => Promise<U>) => withClient(databaseUrl, build);
  let hasWaited = false;
  const onWait = () => {
    if (!hasWaited) onProgress('Another process is migrating the database; waiting for it');
    hasWaited = true;
  };
  return await withClient(databaseUrl, (client) => work({ client, withSecond, onProgress, onWait }));
}

/**
 * Lets the login of the service's own URL become the service. `ownerUrl` is of a login that may grant it. Called before the first
 * migration it says at once all that an administrator must run: the right to create tables, the roles and this grant.
 */
export async function admitServiceLogin(ownerUrl: string, serviceUrl: string): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    await requireVersion(client);
    const { rows } = await client.query<{ name: string; database: string; begins: boolean }>(
      `select session_user::text as name, current_database()::text as database,
         to_regclass('schema_migrations') is not null or has_schema_privilege('public', 'create') as begins`,
    );
    const { name = '', database = '', begins = true } = rows[0] ?? {};
    const login = loginOf(serviceUrl) || name;
    if (begins) return await requireRoles(client, login);
    const roles = await prepareRoles(client, login);
    // A login that is meant for the service should not own what it may only use.
    const isService = name === login && roles === null;
    const owned = `alter database ${pg.escapeIdentifier(database)} owner to ${pg.escapeIdentifier(name)};`;
    throw new MigrationError(
      isService
        ? `${notOwner(name)}.`
        : `${notOwner(name)}, or let this one own the database. ` +
            `Run as an administrator of PostgreSQL: ${[owned, ...(roles ? [roles] : [])].join(' ')}`,
    );
  });
}

function notOwner(login: string): string {
  return (
    `The database must be migrated, and the login "${login}" does not own its tables. ` +
    'Set MIGRATION_DATABASE_URL to a login that does, here or for npx simbi migrate'
  );
}

/** Runs on a connection of its own: a migration may run longer than the pool's statement time-out. */
export async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectClient({
    connectionString: databaseUrl,
    application_name: 'simbi-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  return (await client.query<AppliedMigration>(APPLIED)).rows;
}

/** Whether neither a migration nor a grant is missing. The grants of a newer version include those of this one. */
async function isCurrent(
  client: pg.Client,
  migrations: Migration[],
  privileges: Privileges | null,
  lastVersion: number,
): Promise<boolean> {
  const { rows } = await client.query<{ migrated: boolean; granted: boolean }>(
    `select to_regclass('schema_migrations') is not null as migrated, to_regclass('applied_privileges') is not null as granted`,
  );
  if (!rows[0]?.migrated) return false;
  const applied = await readApplied(client);
  // A backup is restored into exactly the schema that it was made from.
  if (lastVersion === Number.POSITIVE_INFINITY && isNewer(migrations, applied)) return true;
  if (compare(migrations, applied).length > 0) return false;
  // A schema from before there were grants: a backup is restored into it.
  if (!privileges || !rows[0].granted) return true;
  const granted = await client.query<{ checksum: string }>('select checksum from applied_privileges');
  return granted.rows[0]?.checksum === privileges.checksum;
}

async function requireOwner(client: pg.Client, databaseUrl: string): Promise<void> {
  const { rows } = await client.query<{ owner: boolean }>(
    `select coalesce((select pg_has_role(relowner, 'member') from pg_class where oid = to_regclass('schema_migrations')),
       has_schema_privilege('public', 'create')) as owner`,
  );
  if (!rows[0]?.owner) throw new MigrationError(`${notOwner(loginOf(databaseUrl))}.`);
}

export async function requireRoles(client: pg.Client, login: string | null): Promise<void> {
  const statements = await prepareRoles(client, login);
  if (statements !== null)
    throw new MigrationError(
      'The service runs as a role that owns nothing, and this login may not create it. ' +
        `Run as an administrator of PostgreSQL: ${statements}`,
    );
}

/** The files that are not applied yet; throws if this version cannot run on the database. */
export async function pendingMigrations(reader: Reader, folder = MIGRATIONS_FOLDER): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const [table] = await reader.query<{ present: boolean }>(
    `select to_regclass('schema_migrations') is not null as present`,
  );
  if (!table?.present) return migrations.map((migration) => migration.file);
  const applied = await reader.query<AppliedMigration>(APPLIED);
  return isNewer(migrations, applied) ? [] : compare(migrations, applied).map((migration) => migration.file);
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::integer as number, current_setting('server_version') as version`,
  );
  const server = rows[0];
  if (!server || server.number < OLDEST_POSTGRES * 10_000)
    throw new MigrationError(
      `PostgreSQL ${OLDEST_POSTGRES} or newer is required; DATABASE_URL is ${server?.version ?? 'an unknown version'}.`,
    );
}

/**
 * Whether a newer version has migrated the database, in steps that this version can live with; throws if it cannot. Only the end
 * of the list may be unknown: with anything else the database belongs to another line of development.
 */
function isNewer(migrations: Migration[], applied: AppliedMigration[]): boolean {
  const last = migrations.at(-1)?.version ?? 0;
  const newer = applied.filter((row) => row.version > last);
  const needed = newer.find((row) => row.needs !== null && row.needs > last);
  if (needed)
    throw new MigrationError(
      `The database is newer than this version of Simbi: its migration ${needed.version} (${needed.name}) needs a version ` +
        `with migration ${needed.needs}, and this version ends at ${last}. Start the newer version.`,
    );
  const own = applied.filter((row) => row.version <= last);
  return newer.length > 0 && compare(migrations, own).length === 0;
}

/** The migrations that are not applied yet, after checking that the applied ones are unchanged. */
function compare(migrations: Migration[], applied: AppliedMigration[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const row of applied) {
    const migration = known.get(row.version);
    if (!migration)
      throw new MigrationError(
        `The database does not belong to this version of Simbi: it has migration ${row.version} (${row.name}), ` +
          `this version ends at ${migrations.at(-1)?.version ?? 0}. Start the version that made it.`,
      );
    if (migration.checksum !== row.checksum)
      throw new MigrationError(
        `Migration ${migration.file} was changed after it was applied to this database. ` +
          'Restore the file and put the change into a new migration.',
      );
    known.delete(row.version);
  }
  return [...known.values()];
}
