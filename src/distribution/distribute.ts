// Spreads the tables of holders over the servers of a Citus cluster. Tables that are tied by foreign keys are moved in one transaction,
// so a run that breaks off leaves each table either where it was or distributed with its keys, and the next run goes on.

import pg from 'pg';
import { SERVICE_ROLE, TENANT_ROLE } from '../platform/database-roles.ts';
import { connectClient } from '../platform/database-servers.ts';
import { DISTRIBUTED_MARK } from '../platform/db.ts';
import { findObstacles } from './obstacles.ts';
import { DROPPED_KEYS, FIRST_TABLE, POSTING_RIGHTS, readKinds } from './tables.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** The store cannot be distributed. The message says why; nothing was done. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

export type Distribution = {
  /** Tables that this run has distributed. */
  distributed: string[];
  /** How many were distributed before. */
  before: number;
};

/** `url` is of the coordinator, by the login that owns the tables: Citus also wants it to be a superuser. */
export async function distribute(
  url: string,
  shards: number,
  say: (sentence: string) => void = () => undefined,
): Promise<Distribution> {
  const client = await connectClient({
    connectionString: url,
    application_name: 'simbi-distribute',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 0,
  });
  try {
    await requireCluster(client);
    const obstacles = await findObstacles({
      query: async (text, values) => (await client.query(text as string, values)).rows,
    });
    if (obstacles.length > 0) throw new DistributionError(`The schema cannot be distributed: ${obstacles.join(' ')}`);
    await prepareServers(client, say);
    const wanted = [...readKinds()].filter(([, { kind }]) => kind === 'distributed').map(([name]) => name);
    const before = await alreadyDistributed(client);
    const groups = groupTables(
      wanted.filter((name) => !before.has(name)),
      await readForeignKeys(client, wanted),
    );
    for (const group of groups) await distributeGroup(client, group, shards, say);
    await postAsService(client);
    await markDistributed(client);
    return { distributed: groups.flatMap(({ tables }) => tables), before: before.size };
  } finally {
    await client.end();
  }
}

/**
 * Citus lets one role write in a transaction, so the service posts with its own rights. Triggers on every server still refuse a
 * transfer or a balance that does not come from post_transfers. An update of the grants repeats this (migrations/privileges.sql).
 */
async function postAsService(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc where proname = 'post_transfers'`,
  );
  for (const { name } of rows) await client.query(`alter function ${name} security invoker`);
  for (const [table, right] of Object.entries(POSTING_RIGHTS))
    await client.query(`grant ${right} on ${table} to ${SERVICE_ROLE}`);
}

/** From here on every process sends statements as several servers take them. */
export async function markDistributed(client: pg.Client): Promise<void> {
  await client.query(
    `create or replace function ${DISTRIBUTED_MARK}() returns boolean language sql immutable as 'select true'`,
  );
}

async function requireCluster(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ present: boolean }>(
    `select exists (select from pg_extension where extname = 'citus') as present`,
  );
  if (!rows[0]?.present)
    throw new DistributionError(
      'This PostgreSQL has no Citus: DATABASE_URL must name the coordinator of a Citus cluster.',
    );
  const nodes = await client.query<{ coordinator: boolean; holding: boolean }>(
    `select citus_is_coordinator() as coordinator,
       exists (select from pg_dist_node where isactive and noderole = 'primary' and shouldhaveshards) as holding`,
  );
  if (!nodes.rows[0]?.coordinator)
    throw new DistributionError('DATABASE_URL names a worker: it must name the coordinator.');
  if (!nodes.rows[0].holding)
    throw new DistributionError('No server of the cluster may hold rows yet: add them with citus_add_node.');
}

/**
 * What a distributed database is set to. Triggers that only look at their row may be on the servers. The holder that a statement reads
 * for, and the guard of postings, reach them with `set local`. Citus would let only one change of several holders at a time into a
 * shard, until its commit, so that no two wait for each other. Ours lock the rows of holders in one order (platform/one-holder.ts);
 * two that wait for each other all the same are found by Citus, and one of them is tried again.
 */
export const DATABASE_SETTINGS: Record<string, string> = {
  'citus.enable_unsafe_triggers': 'on',
  'citus.propagate_set_commands': 'local',
  'citus.multi_shard_modify_mode': 'sequential',
  'citus.enable_deadlock_prevention': 'off',
};

/**
 * What the servers must know before rows are there. The coordinator speaks to them as the role of the statement, so the roles may log
 * in; they have no password, and pg_hba.conf of the servers says who may come from where.
 */
async function prepareServers(client: pg.Client, say: (sentence: string) => void): Promise<void> {
  const name = await databaseName(client);
  for (const [setting, value] of Object.entries(DATABASE_SETTINGS)) {
    await client.query(`alter database ${name} set ${setting} = '${value}'`);
    await client.query(`set ${setting} = '${value}'`);
  }
  for (const role of [SERVICE_ROLE, TENANT_ROLE]) await client.query(`alter role ${role} login`);
  say('The servers know the roles and settings.');
}

async function databaseName(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  return pg.escapeIdentifier(rows[0]?.name ?? '');
}

async function alreadyDistributed(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string; column_name: string | null }>(
    `select logicalrelid::text as name, column_to_column_name(logicalrelid, partkey) as column_name from pg_dist_partition
     where partmethod = 'h' and not (select relispartition from pg_class where oid = logicalrelid)`,
  );
  const other = rows.find(({ column_name: column }) => column !== 'holder_id');
  if (other) throw new DistributionError(`${other.name} is distributed by ${other.column_name}, not by holder_id.`);
  return new Set(rows.map(({ name }) => name));
}

type ForeignKey = { name: string; from: string; to: string; definition: string };

/** Those that begin at one of the tables. */
async function readForeignKeys(client: pg.Client, tables: string[]): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select conname as name, conrelid::regclass::text as from, confrelid::regclass::text as to, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and conparentid = 0 and conrelid::regclass::text = any ($1) order by conname`,
    [tables],
  );
  return rows;
}

type Group = { tables: string[]; keys: ForeignKey[] };

/** Tables with the foreign keys that tie them; the first table of all comes first. */
export function groupTables(tables: readonly string[], keys: readonly ForeignKey[]): Group[] {
  const groups: Group[] = tables
    .toSorted((a, b) => Number(b === FIRST_TABLE) - Number(a === FIRST_TABLE))
    .map((table) => ({
      tables: [table],
      keys: [],
    }));
  for (const key of keys) {
    const own = groups.find((group) => group.tables.includes(key.from));
    const other = groups.find((group) => group.tables.includes(key.to));
    if (!own) continue;
    own.keys.push(key);
    if (!other || other === own) continue;
    own.tables.push(...other.tables);
    own.keys.push(...other.keys);
    groups.splice(groups.indexOf(other), 1);
  }
  return groups;
}

async function distributeGroup(
  client: pg.Client,
  { tables, keys }: Group,
  shards: number,
  say: (sentence: string) => void,
): Promise<void> {
  await client.query('begin');
  try {
    for (const key of keys) await client.query(`alter table ${key.from} drop constraint ${key.name}`);
    for (const table of tables)
      await (table === FIRST_TABLE
        ? client.query(`select create_distributed_table($1, 'holder_id', shard_count => $2)`, [table, shards])
        : client.query(`select create_distributed_table($1, 'holder_id', colocate_with => '${FIRST_TABLE}')`, [table]));
    for (const key of keys)
      if (!DROPPED_KEYS.includes(key.name))
        await client.query(`alter table ${key.from} add constraint ${key.name} ${key.definition}`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new DistributionError(`${tables.join(', ')}: ${reason}`, { cause: error });
  }
  for (const table of tables) say(`${table} is distributed.`);
}
