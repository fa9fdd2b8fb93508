// Applies one migration, or the grants, on a database that the version before may be using: processes that migrate take turns, and
// all of them give way to requests.

import pg from 'pg';
import { systemClock } from './clock.ts';
import { type Migration, MigrationError, PRIVILEGES_FILE, type Privileges, statementsOf } from './migration-files.ts';
import type { SqlStatement } from './sql-statements.ts';

/** "simbi" in ASCII: the key of the advisory lock that a migrating transaction holds. */
const LOCK_KEY = '495690015337';
/**
 * How long a migration waits for a table. Requests wait behind it, so it gives way and tries again; before PostgreSQL looks for a
 * deadlock (after a second), which could end the request instead.
 */
const LOCK_WAIT_MS = 500;
const MAX_LOCK_TRIES = 60;
const LOCK_PAUSE_MS = 250;
/** 55P03: the lock was not free in time. 40P01: deadlock. */
const LOCK_CONFLICT = /^(?:55P03|40P01)$/;
/** The two statements that run outside a transaction, and the index they name. */
const CONCURRENT_INDEX =
  /^(create|drop)\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+(?:not\s+)?exists\s+)?(?!on\b)("?\w+"?)/i;

export type AppliedMigration = { version: number; name: string; checksum: string; needs: number | null };

/** A database from before there was the column has no step that takes anything away. */
export const APPLIED = `
  select version, name, checksum, (to_jsonb(m) ->> 'needs')::integer as needs from schema_migrations m order by version`;

/** Runs around every statement of a migration. */
export type EachStatement = (statement: SqlStatement, run: () => Promise<pg.QueryResult>) => Promise<unknown>;

/** The connections of one process that migrates. */
export type MigrationTurns = {
  client: pg.Client;
  /** A second connection: what no transaction can contain is done on the first, while this one keeps the others waiting. */
  withSecond: <T>(work: (second: pg.Client) => Promise<T>) => Promise<T>;
  onProgress: (sentence: string) => void;
  /** Another process is migrating. */
  onWait: () => void;
};

/** The table of applied migrations. */
export async function prepareRecord(turns: MigrationTurns): Promise<void> {
  const { client } = turns;
  const column = `select from pg_attribute where attrelid = to_regclass('schema_migrations') and attname = 'needs'`;
  if ((await client.query(column)).rows.length > 0) return;
  await inTurn(turns, async () => {
    await client.query(`
      create table if not exists schema_migrations (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null
      )`);
    await client.query('alter table schema_migrations add column if not exists needs integer');
    await client.query(`
      comment on column schema_migrations.needs is
        'The migration that code must know to run on the schema since this one. Null: any version that ran before goes on.'`);
  });
}

/** False: another process has applied it meanwhile. */
export async function applyMigration(
  turns: MigrationTurns,
  migration: Migration,
  each: EachStatement = (_, run) => run(),
): Promise<boolean> {
  const statements = statementsOf(migration);
  if (statements.some(({ sql }) => CONCURRENT_INDEX.test(sql))) return await applyIndexes(turns, migration, statements);
  const { client, onProgress } = turns;
  let current: SqlStatement | undefined;
  let isMissing = true;
  try {
    await inTurn(turns, async () => {
      isMissing = !(await isApplied(client, migration));
      if (!isMissing) return;
      onProgress(`Applying migration ${migration.file}`);
      for (const statement of statements) {
        current = statement;
        await each(statement, () => client.query(statement.sql));
      }
      current = undefined;
      await record(client, migration);
    });
  } catch (error) {
    throw failed(migration, current, error, 'Nothing of it was applied.');
  }
  return isMissing;
}

/**
 * Builds or drops indexes while the tables are in use, which no transaction can contain. A build that was interrupted leaves an
 * index that is not valid: it is dropped and built again.
 */
async function applyIndexes(turns: MigrationTurns, migration: Migration, statements: SqlStatement[]): Promise<boolean> {
  for (const { sql, line } of statements)
    if (!CONCURRENT_INDEX.test(sql))
      throw new MigrationError(
        `${migration.file} has a statement in line ${line} that must be in another file: indexes are built concurrently ` +
          'outside a transaction, each with a name, and nothing else is in their migration.',
      );
  return await turns.withSecond(async (second) => {
    // An open transaction without a snapshot: the build does not wait for it.
    await beginInTurn(second, turns);
    if (await isApplied(second, migration)) return false;
    turns.onProgress(`Applying migration ${migration.file}`);
    for (const statement of statements)
      await buildIndex(turns.client, statement).catch((error: unknown) => {
        throw failed(migration, statement, error, 'Indexes before it are there; run it again.');
      });
    await record(second, migration);
    await second.query('commit');
    return true;
  });
}

async function buildIndex(client: pg.Client, { sql }: SqlStatement): Promise<void> {
  const [, action, name = ''] = CONCURRENT_INDEX.exec(sql) ?? [];
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  const [found] = rows;
  const isDrop = action?.toLowerCase() === 'drop';
  if (isDrop ? !found : found?.valid) return;
  if (found && !isDrop) await client.query(`drop index concurrently ${name}`);
  await client.query(sql);
}

export async function applyPrivileges(turns: MigrationTurns, { sql, checksum }: Privileges): Promise<void> {
  const { client } = turns;
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('applied_privileges') is not null as present`,
  );
  if (!rows[0]?.present) return;
  try {
    await inTurn(turns, async () => {
      for (const statement of statementsOf({ file: PRIVILEGES_FILE, sql })) await client.query(statement.sql);
      await client.query(
        'insert into applied_privileges (checksum) values ($1) on conflict (single) do update set checksum = excluded.checksum',
        [checksum],
      );
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`${PRIVILEGES_FILE} failed: ${reason}. Nothing of it was applied.`, { cause: error });
  }
}

/** Without a parameter: with one, the answered query would keep its snapshot, and a build would wait for this transaction. */
async function isApplied(client: pg.Client, { version }: Migration): Promise<boolean> {
  return (await client.query(`select from schema_migrations where version = ${version}`)).rows.length > 0;
}

async function record(client: pg.Client, { version, name, checksum, needs }: Migration): Promise<void> {
  await client.query(
    'insert into schema_migrations (version, name, checksum, applied_at, needs) values ($1, $2, $3, $4, $5)',
    [version, name, checksum, systemClock.now(), needs],
  );
}

/**
 * Begins a transaction that no other migrating process has at the same time. The lock belongs to the transaction, not to the
 * connection, which a pooler may lend to others; so processes take turns, and each looks again at what is missing.
 */
async function beginInTurn(client: pg.Client, { onWait }: MigrationTurns): Promise<void> {
  await client.query('begin');
  for (const name of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'])
    await client.query(`set local ${name} = 0`);
  const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_xact_lock(${LOCK_KEY}) as taken`);
  if (rows[0]?.taken) return;
  onWait();
  await client.query(`select pg_advisory_xact_lock(${LOCK_KEY})`);
}

/** Requests go first: see `LOCK_WAIT_MS`. */
async function inTurn(turns: MigrationTurns, work: () => Promise<void>): Promise<void> {
  const { client } = turns;
  for (let tries = 1; ; tries++) {
    try {
      await beginInTurn(client, turns);
      await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`);
      await work();
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      const isConflict = error instanceof pg.DatabaseError && LOCK_CONFLICT.test(error.code ?? '');
      if (!isConflict || tries >= MAX_LOCK_TRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_PAUSE_MS));
  }
}

function failed(
  migration: Migration,
  statement: SqlStatement | undefined,
  error: unknown,
  rest: string,
): MigrationError {
  const reason = error instanceof Error ? error.message : String(error);
  const line = statement ? ` at line ${lineOf(statement, error)}` : '';
  return new MigrationError(`Migration ${migration.file} failed${line}: ${reason}. ${rest}`, { cause: error });
}

function lineOf({ sql, line }: SqlStatement, error: unknown): number {
  if (!(error instanceof pg.DatabaseError) || !error.position) return line;
  return line + sql.slice(0, Number(error.position) - 1).split('\n').length - 1;
}
