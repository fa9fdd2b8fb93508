// Migrates a database to the schema of this version: migrations/NNNN_name.sql, forward only, each in its own transaction,
// recorded with a checksum. Then privileges.sql gives the roles of the service their rights. Several processes may start at
// once: one applies a migration, the others wait.

import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { systemClock } from './clock.ts';
import { prepareRoles } from './database-roles.ts';
import { connectClient } from './database-servers.ts';
import { loginOf } from './database-url.ts';
import type { Reader } from './db.ts';
import { sha256 } from './secrets.ts';

const OLDEST_POSTGRES = 15;
const CONNECT_TIMEOUT_MS = 10_000;
/** "simbi" in ASCII: the key of the advisory lock that a migrating transaction holds. */
const LOCK_KEY = '495690015337';
const PRIVILEGES_FILE = 'privileges.sql';
const MAX_PRIVILEGE_TRIES = 5;

export const MIGRATIONS_FOLDER = resolve(import.meta.dirname, '../../migrations');

/** The database cannot be migrated. The message says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export type Migration = { version: number; name: string; file: string; sql: string; checksum: string };
type AppliedMigration = { version: number; name: string; checksum: string };

/** The migrations of this version, in order. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.+\.sql$/.test(file)).sort();
  return await Promise.all(
    files.map(async (file, index) => {
      const version = Number(file.slice(0, 4));
      if (files[index - 1]?.startsWith(file.slice(0, 5)))
        throw new MigrationError(`Two migrations have the number ${version}: ${files[index - 1]} and ${file}.`);
      // A checkout with Windows line ends is the same migration.
      const sql = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      return { version, file, sql, name: file.slice(5, -4), checksum: sha256(sql).toString('hex') };
    }),
  );
}

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
  return await withClient(databaseUrl, async (client) => {
    await requireVersion(client);
    // A login that owns nothing can start on a database that needs nothing.
    if (await isCurrent(client, migrations, privileges)) return [];
    await requireOwner(client, databaseUrl);
    const beginAlone = createTurns(client, onProgress);
    await createMigrationsTable(client, beginAlone);
    if (privileges) await requireRoles(client, null);
    const applied: string[] = [];
    for (const migration of compare(migrations, await readApplied(client)))
      if (await apply(client, migration, beginAlone, onProgress)) applied.push(migration.file);
    if (privileges && (applied.length > 0 || !(await isCurrent(client, migrations, privileges))))
      await applyPrivileges(client, privileges, beginAlone);
    return applied;
  });
}

/** Begins a transaction that no other migrating process has at the same time. */
type BeginAlone = () => Promise<void>;

/**
 * The lock belongs to the transaction, not to the connection, which a pooler may lend to others. So several processes take turns,
 * and each looks again at what is missing.
 */
function createTurns(client: pg.Client, onProgress: (sentence: string) => void): BeginAlone {
  let hasSaid = false;
  return async () => {
    await client.query('begin; set local statement_timeout = 0; set local lock_timeout = 0');
    const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_xact_lock(${LOCK_KEY}) as taken`);
    if (rows[0]?.taken) return;
    if (!hasSaid) onProgress('Another process is migrating the database; waiting for it');
    hasSaid = true;
    await client.query(`select pg_advisory_xact_lock(${LOCK_KEY})`);
  };
}

async function createMigrationsTable(client: pg.Client, beginAlone: BeginAlone): Promise<void> {
  await beginAlone();
  await client.query(`
    create table if not exists schema_migrations (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null
    )`);
  await client.query('commit');
}

/** Lets the login of the service's own URL become the service. `ownerUrl` is of a login that may grant it. */
export async function admitServiceLogin(ownerUrl: string, serviceUrl: string): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>('select session_user::text as name');
    await requireRoles(client, loginOf(serviceUrl) || (rows[0]?.name ?? ''));
  });
}

/** Runs on a connection of its own: a migration may run longer than the pool's statement time-out. */
async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
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

type Privileges = { sql: string; checksum: string };

/** The grants of this version. Null: the folder has none. */
async function readPrivileges(folder: string): Promise<Privileges | null> {
  const text = await readFile(join(folder, PRIVILEGES_FILE), 'utf8').catch(() => null);
  if (text === null) return null;
  const sql = text.replaceAll('\r\n', '\n');
  return { sql, checksum: sha256(sql).toString('hex') };
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select version, name, checksum from schema_migrations order by version',
  );
  return rows;
}

/** Whether neither a migration nor a grant is missing. */
async function isCurrent(client: pg.Client, migrations: Migration[], privileges: Privileges | null): Promise<boolean> {
  const { rows } = await client.query<{ migrated: boolean; granted: boolean }>(
    `select to_regclass('schema_migrations') is not null as migrated, to_regclass('applied_privileges') is not null as granted`,
  );
  if (!rows[0]?.migrated || compare(migrations, await readApplied(client)).length > 0) return false;
  // A schema from before there were grants: a backup is restored into it.
  if (!privileges || !rows[0].granted) return true;
  const applied = await client.query<{ checksum: string }>('select checksum from applied_privileges');
  return applied.rows[0]?.checksum === privileges.checksum;
}

async function requireOwner(client: pg.Client, databaseUrl: string): Promise<void> {
  const { rows } = await client.query<{ owner: boolean }>(
    `select coalesce((select pg_has_role(relowner, 'member') from pg_class where oid = to_regclass('schema_migrations')),
       has_schema_privilege('public', 'create')) as owner`,
  );
  if (!rows[0]?.owner)
    throw new MigrationError(
      `The database must be migrated, and the login "${loginOf(databaseUrl)}" does not own its tables. ` +
        'Set MIGRATION_DATABASE_URL to a login that does, here or for npx simbi migrate.',
    );
}

async function requireRoles(client: pg.Client, login: string | null): Promise<void> {
  const statements = await prepareRoles(client, login);
  if (statements !== null)
    throw new MigrationError(
      'The service runs as a role that owns nothing, and this login may not create it. ' +
        `Run as an administrator of PostgreSQL: ${statements}`,
    );
}

async function applyPrivileges(
  client: pg.Client,
  { sql, checksum }: Privileges,
  beginAlone: BeginAlone,
): Promise<void> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('applied_privileges') is not null as present`,
  );
  if (!rows[0]?.present) return;
  for (let tries = 1; ; tries++) {
    try {
      await beginAlone();
      await client.query(sql);
      await client.query(
        'insert into applied_privileges (checksum) values ($1) on conflict (single) do update set checksum = excluded.checksum',
        [checksum],
      );
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      // Other processes may be using the tables in another order.
      const isDeadlock = error instanceof pg.DatabaseError && error.code === '40P01';
      if (isDeadlock && tries < MAX_PRIVILEGE_TRIES) continue;
      const reason = error instanceof Error ? error.message : String(error);
      throw new MigrationError(`${PRIVILEGES_FILE} failed: ${reason}. Nothing of it was applied.`, { cause: error });
    }
  }
}

/** The files that are not applied yet; throws if the database does not belong to this version. */
export async function pendingMigrations(reader: Reader, folder = MIGRATIONS_FOLDER): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const [table] = await reader.query<{ present: boolean }>(
    `select to_regclass('schema_migrations') is not null as present`,
  );
  if (!table?.present) return migrations.map((migration) => migration.file);
  const applied = await reader.query<AppliedMigration>('select version, name, checksum from schema_migrations');
  return compare(migrations, applied).map((migration) => migration.file);
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

/** The migrations that are not applied yet, after checking that the applied ones are unchanged. */
function compare(migrations: Migration[], applied: AppliedMigration[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const row of applied) {
    const migration = known.get(row.version);
    if (!migration)
      throw new MigrationError(
        `The database is newer than this version of Simbi: it has migration ${row.version} (${row.name}), ` +
          `this version ends at ${migrations.at(-1)?.version ?? 0}. Start the newer version.`,
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

/** False: another process has applied it meanwhile. */
async function apply(
  client: pg.Client,
  migration: Migration,
  beginAlone: BeginAlone,
  onProgress: (sentence: string) => void,
): Promise<boolean> {
  try {
    await beginAlone();
    if ((await readApplied(client)).some(({ version }) => version === migration.version)) {
      await client.query('rollback');
      return false;
    }
    onProgress(`Applying migration ${migration.file}`);
    await client.query(migration.sql);
    await client.query('insert into schema_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)', [
      migration.version,
      migration.name,
      migration.checksum,
      systemClock.now(),
    ]);
    await client.query('commit');
    return true;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(
      `Migration ${migration.file} failed${lineOf(migration, error)}: ${reason}. Nothing of it was applied.`,
      { cause: error },
    );
  }
}

function lineOf(migration: Migration, error: unknown): string {
  if (!(error instanceof pg.DatabaseError) || !error.position) return '';
  return ` at line ${migration.sql.slice(0, Number(error.position)).split('\n').length}`;
}
