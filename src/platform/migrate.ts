// Migrates a database to the schema of this version: migrations/NNNN_name.sql, forward only, each in its own transaction,
// recorded with a checksum. Several processes may start at once: one migrates, the others wait.

import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { systemClock } from './clock.ts';
import type { Reader } from './db.ts';
import { sha256 } from './secrets.ts';

const OLDEST_POSTGRES = 15;
const CONNECT_TIMEOUT_MS = 10_000;
/** "simbi" in ASCII: the key of the advisory lock that one migrating process holds. */
const LOCK_KEY = '495690015337';

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

/** Applies what is missing and returns the file names it applied. */
export async function migrate(
  databaseUrl: string,
  onProgress: (sentence: string) => void = () => undefined,
  folder = MIGRATIONS_FOLDER,
  /** Stops here: a backup is restored into the schema it was made from, and migrated afterwards. */
  lastVersion = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const migrations = (await readMigrations(folder)).filter((migration) => migration.version <= lastVersion);
  // A separate connection: a migration may run longer than the pool's statement time-out, and the advisory lock belongs to
  // its session.
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'simbi-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 0,
    keepAlive: true,
  });
  // A connection that breaks rejects the running query; without a listener Node would stop the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await requireVersion(client);
    await takeLock(client, onProgress);
    await client.query(`
      create table if not exists schema_migrations (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null
      )`);
    const applied = await client.query<AppliedMigration>(
      'select version, name, checksum from schema_migrations order by version',
    );
    const missing = compare(migrations, applied.rows);
    for (const migration of missing) {
      onProgress(`Applying migration ${migration.file}`);
      await apply(client, migration);
    }
    return missing.map((migration) => migration.file);
  } finally {
    // Ending the session also releases the lock.
    await client.end();
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

async function takeLock(client: pg.Client, onProgress: (sentence: string) => void): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${LOCK_KEY}) as taken`);
  if (rows[0]?.taken) return;
  onProgress('Another process is migrating the database; waiting for it');
  await client.query(`select pg_advisory_lock(${LOCK_KEY})`);
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

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    await client.query('begin');
    await client.query(migration.sql);
    await client.query('insert into schema_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)', [
      migration.version,
      migration.name,
      migration.checksum,
      systemClock.now(),
    ]);
    await client.query('commit');
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
