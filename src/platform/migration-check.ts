// Whether migrations can be applied while the version before them runs. They are tried on an empty database that gets the schema of
// that version first: every statement is run, and what it changed and which locks it took is read from the catalogue.

import type pg from 'pg';
import { applyMigration, applyPrivileges, type MigrationTurns, prepareRecord } from './apply-migration.ts';
import { requireRoles, withClient, withTurns } from './migrate.ts';
import type { Migration, Privileges } from './migration-files.ts';
import { type Breach, findBreaches, type MigrationStep, strongestLock } from './migration-rules.ts';
import { readFacts, readLocks, readRights, type SchemaFacts } from './schema-facts.ts';

const SHOWN_CHARACTERS = 100;

export type MigrationFinding = {
  file: string;
  line: number;
  statement: string;
  table: string | null;
  lock: string | null;
  why: string;
  instead: string;
};

export type MigrationCheck = {
  /** All of this version, and those that are not applied yet. */
  migrations: Migration[];
  pending: Migration[];
  privileges: Privileges | null;
  /** The last migration that every running process knows. */
  running: number;
  /** Tables without rows are read and written anew in no time. */
  hasRows: (table: string) => boolean;
  /** What the roles may do now; null: not known, and not compared. */
  rights: string[] | null;
};

/** What a check must know of the database that will be migrated. It is only read. */
export type MigratedDatabase = {
  running: number;
  rights: string[];
  /** Of tables with rows, partitions included. */
  bytes: ReadonlyMap<string, number>;
};

export async function readMigrated(databaseUrl: string): Promise<MigratedDatabase> {
  return await withClient(databaseUrl, async (client) => {
    const found = await client.query<{ migrated: boolean }>(
      `select to_regclass('schema_migrations') is not null as migrated`,
    );
    if (!found.rows[0]?.migrated) return { running: 0, rights: [], bytes: new Map() };
    const applied = await client.query<{ running: number }>('select max(version) as running from schema_migrations');
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `select c.oid::regclass::text as name,
         (select sum(pg_total_relation_size(part.relid)) from pg_partition_tree(c.oid) part) as bytes
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
    );
    const bytes = new Map<string, number>();
    for (const each of rows)
      if ((await client.query(`select from ${each.name} limit 1`)).rows.length > 0)
        bytes.set(each.name, Number(each.bytes));
    return { running: applied.rows[0]?.running ?? 0, rights: await readRights(client), bytes };
  });
}

/** What is wrong with the pending migrations. The database of the URL must be empty, and is left with their schema. */
export async function checkMigrations(scratchUrl: string, check: MigrationCheck): Promise<MigrationFinding[]> {
  return await withTurns(
    scratchUrl,
    () => undefined,
    async (turns) => {
      const { client } = turns;
      await prepareRecord(turns);
      if (check.privileges) await requireRoles(client, null);
      const pending = new Set(check.pending.map(({ version }) => version));
      for (const migration of check.migrations)
        if (!pending.has(migration.version)) await applyMigration(turns, migration);
      await addPartitions(client);
      const baseline = await readFacts(client);
      const findings: MigrationFinding[] = [];
      for (const migration of check.pending) findings.push(...(await tryMigration(turns, migration, baseline, check)));
      return [...findings, ...(await tryPrivileges(turns, baseline, check))];
    },
  );
}

/** The service creates partitions while it runs. A table without any has no rows that could be written anew. */
async function addPartitions(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; parent: string }>(
    `select quote_ident(c.relname || '_rows') as name, c.oid::regclass::text as parent
     from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
     where p.partstrat in ('r', 'l') and c.relnamespace = 'public'::regnamespace
       and not exists (select from pg_inherits i where i.inhparent = c.oid)`,
  );
  for (const { name, parent } of rows) await client.query(`create table ${name} partition of ${parent} default`);
}

async function tryMigration(
  turns: MigrationTurns,
  migration: Migration,
  baseline: SchemaFacts,
  { running, hasRows }: MigrationCheck,
): Promise<MigrationFinding[]> {
  const { client } = turns;
  const steps: MigrationStep[] = [];
  let before = await readFacts(client);
  let held = await readLocks(client);
  await applyMigration(turns, migration, async (statement, run) => {
    const { command } = await run();
    const after = await readFacts(client);
    const locks = await readLocks(client);
    steps.push({ statement, command, before, after, held, locks });
    before = after;
    held = locks;
  });
  const breaches = findBreaches(steps, baseline).filter(({ kind, table }) =>
    kind === 'meaning'
      ? migration.needs === null
      : table === null || (!migration.quick.includes(table) && hasRows(table)),
  );
  const findings = breaches.map((breach) => findingOf(migration, breach));
  const unique = findings.filter(
    (finding, index) => findings.findIndex(({ line, why }) => line === finding.line && why === finding.why) === index,
  );
  return [...tooEarly(migration, running), ...unique];
}

/** A contract step belongs to a release after the one that stopped using what it takes away. */
function tooEarly({ file, needs }: Migration, running: number): MigrationFinding[] {
  if (needs === null || needs <= running) return [];
  const number = String(needs).padStart(4, '0');
  return [
    {
      file,
      line: 1,
      statement: `-- contract: after ${number}`,
      table: null,
      lock: null,
      why: `Processes that do not know migration ${number} may be running, and they still use what is taken away.`,
      instead:
        'Upgrade to a version between the two first, and let it run everywhere; or stop every process, then migrate.',
    },
  ];
}

function findingOf({ file }: Migration, { step, table, why, instead }: Breach): MigrationFinding {
  const text = step.statement.sql.replaceAll(/\s+/g, ' ');
  const statement = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return { file, line: step.statement.line, statement, table, lock: strongestLock(step.locks, table), why, instead };
}

/** Rights that the version before has, on what is still there, and that privileges.sql does not give any more. */
async function tryPrivileges(
  turns: MigrationTurns,
  baseline: SchemaFacts,
  { privileges, rights, pending }: MigrationCheck,
): Promise<MigrationFinding[]> {
  if (!privileges) return [];
  await applyPrivileges(turns, privileges);
  const may = new Set(await readRights(turns.client));
  // A column that a contract step has dropped takes its rights along.
  const facts = await readFacts(turns.client);
  const dropped = new Set(
    [...baseline]
      .filter(([key]) => !facts.has(key))
      .map(([, { kind, name, table }]) => (kind === 'column' ? `${table}.${name}` : name)),
  );
  const isThere = (right: string) => {
    const object = /^\w+ may (?:delete from|\w+) (.+)$/.exec(right)?.[1] ?? '';
    return !dropped.has(object) && !dropped.has(object.split('.')[0] ?? '');
  };
  // What a contract step takes away needs no rights.
  if (pending.some(({ needs }) => needs !== null)) return [];
  const lost = (rights ?? []).filter((right) => !may.has(right) && isThere(right));
  return lost.map((right) => ({
    file: 'privileges.sql',
    line: 1,
    statement: `not any more: ${right}`,
    table: null,
    lock: null,
    why: 'The version before may use this right.',
    instead:
      'Leave it in this release. In the next one, take it away together with a migration that is marked as a contract step.',
  }));
}
