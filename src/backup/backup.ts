// Writes a backup: every logged table as of one moment, while the service keeps running. Each table is copied in a short
// transaction of its own on one exported snapshot, so no table is locked for longer than its own copy takes.
// Unlogged tables (the simulated operator's state) are left out.

import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { beginCopy, connectForCopy, readerOf } from '../platform/copy-connection.ts';
import { keyCheck, localWrapperName, signBackup } from '../platform/key-wrapper.ts';
import { readWrapperNames } from '../platform/vault-keys.ts';
import { BackupError, type BackupWriter, createBackupWriter } from './backup-file.ts';
import type { BackupEncryption } from './encryption.ts';

export type SchemaVersion = { version: number; name: string; checksum: string };
export type Partition = { name: string; bound: string };
export type BackupTable = { name: string; columns: string[]; partitions: Partition[]; estimatedRows: number };

export type BackupHeader = {
  version: string;
  made_at: string;
  mode: string;
  postgres: string;
  schema: SchemaVersion[];
  tables: BackupTable[];
  /** Shows whether a master key is the one that encrypted the secrets; reveals nothing about the key. */
  key_check: string | null;
  /** What protects the keys in it, by name; absent in backups from before versions of keys. */
  key_wrappers?: string[];
  master_key?: string;
};

export type SequenceState = { table: string; column: string; lastValue: string; isCalled: boolean };
export type BackupSummary = { rows: Record<string, number>; sequences: SequenceState[] };
export type BackupProgress = (progress: { table: string; rows: number; expectedRows: number }) => void;

export type BackupOptions = {
  databaseUrl: string;
  path: string;
  version: string;
  mode: string;
  madeAt: Date;
  masterKey: Buffer | null;
  includeMasterKey: boolean;
  /** Null: the file is readable for everybody who has it. */
  encryption?: BackupEncryption | null;
  onProgress?: BackupProgress;
};

export type WrittenBackup = { header: BackupHeader; rows: Record<string, number>; sha256: string; bytes: number };

export async function writeBackup(options: BackupOptions): Promise<WrittenBackup> {
  const keeper = await connectForCopy(options.databaseUrl, 'simbi-backup');
  const reader = await connectForCopy(options.databaseUrl, 'simbi-backup');
  let writer: BackupWriter | null = null;
  try {
    await beginCopy(keeper, 'read');
    const snapshot = (await keeper.query<{ id: string }>('select pg_export_snapshot() as id')).rows[0]?.id ?? '';
    const header = await describe(keeper, options);
    writer = await createBackupWriter(options.path, options.encryption ?? null);
    await writer.write('H', header);
    const rows = await copyTables(reader, writer, snapshot, header.tables, options.onProgress);
    // Sequences are not part of a snapshot: read last, they are past every id that was copied.
    const summary: BackupSummary = { rows, sequences: await readSequences(reader) };
    await writer.write('S', summary);
    const bytes = writer.bytes();
    return { header, rows, bytes, sha256: await writer.finish(signer(options.masterKey)) };
  } catch (error) {
    await writer?.discard();
    throw error;
  } finally {
    await Promise.all([keeper.end(), reader.end()]);
  }
}

function signer(masterKey: Buffer | null): ((digest: Buffer) => Buffer) | undefined {
  return masterKey ? (digest) => signBackup(masterKey, digest) : undefined;
}

async function copyTables(
  client: pg.Client,
  writer: BackupWriter,
  snapshot: string,
  tables: BackupTable[],
  onProgress: BackupProgress | undefined,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const expectedRows = tables.reduce((sum, table) => sum + table.estimatedRows, 0);
  let rowsBefore = 0;
  for (const { name, columns } of tables) {
    onProgress?.({ table: name, rows: rowsBefore, expectedRows: Math.max(expectedRows, rowsBefore) });
    await beginCopy(client, 'read');
    await client.query(`set transaction snapshot ${pg.escapeLiteral(snapshot)}`);
    await writer.write('T', { name, columns });
    const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
    // A query, not the table: not every version of PostgreSQL copies a partitioned table by its name.
    const statement = `copy (select ${list} from ${pg.escapeIdentifier(name)}) to stdout`;
    const stream = client.query(copyTo(statement));
    let rows = rowsBefore;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      await writer.write('D', chunk);
      rows += countLines(chunk);
      onProgress?.({ table: name, rows, expectedRows: Math.max(expectedRows, rows) });
    }
    await client.query('commit');
    // The server sends the count after the last row; the answer to the commit shows that it has arrived.
    const copied = stream.rowCount;
    await writer.write('E', { name, rows: copied });
    counts[name] = copied;
    rowsBefore += copied;
  }
  onProgress?.({ table: '', rows: rowsBefore, expectedRows: rowsBefore });
  return counts;
}

/** COPY writes one row a line. */
export function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
  return lines;
}

async function describe(client: pg.Client, options: BackupOptions): Promise<BackupHeader> {
  const schema = await client.query<SchemaVersion>(
    'select version, name, checksum from schema_migrations order by version',
  );
  const server = await client.query<{ version: string }>(`select current_setting('server_version') as version`);
  const { masterKey, includeMasterKey } = options;
  const wrappers = await readWrapperNames(readerOf(client));
  if (includeMasterKey && masterKey && wrappers.some((name) => name !== localWrapperName(masterKey)))
    throw new BackupError(
      'The keys in this database are protected by another key than MASTER_KEY, so the file could not be restored. ' +
        'Run npx simbi keys rotate --master first.',
    );
  return {
    version: options.version,
    made_at: options.madeAt.toISOString(),
    mode: options.mode,
    postgres: server.rows[0]?.version ?? '',
    schema: schema.rows,
    tables: await listTables(client),
    key_wrappers: wrappers,
    key_check: masterKey ? keyCheck(masterKey) : null,
    ...(includeMasterKey && masterKey ? { master_key: masterKey.toString('hex') } : {}),
  };
}

/** Every table of a backup, each after those it references, so that they can be loaded with foreign keys on. */
export async function listTables(client: pg.Client): Promise<BackupTable[]> {
  const { rows } = await client.query<BackupTable & { refers_to: string[] }>(
    `select c.relname as name,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       coalesce((select json_agg(json_build_object('name', p.relname, 'bound', pg_get_expr(p.relpartbound, p.oid)) order by p.relname)
                 from pg_inherits i join pg_class p on p.oid = i.inhrelid where i.inhparent = c.oid), '[]') as partitions,
       (select greatest(0, coalesce(sum(greatest(p.reltuples, 0)), 0))::float8 from pg_class p
        where p.oid = c.oid or p.oid in (select inhrelid from pg_inherits where inhparent = c.oid)) as "estimatedRows",
       array(select distinct f.confrelid::regclass::text from pg_constraint f
             where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as refers_to
     from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relpersistence = 'p' and c.relname <> 'schema_migrations'
     order by c.relname`,
  );
  const sorted: BackupTable[] = [];
  const waiting = new Map(rows.map((row) => [row.name, row]));
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter((row) => !row.refers_to.some((name) => waiting.has(name)));
    if (free.length === 0) throw new Error('tables reference each other in a circle');
    for (const { refers_to: _, ...table } of free) {
      sorted.push(table);
      waiting.delete(table.name);
    }
  }
  return sorted;
}

async function readSequences(client: pg.Client): Promise<SequenceState[]> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `select c.relname as table, a.attname as column, pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relpersistence = 'p' and a.attidentity <> '' order by 1, 2`,
  );
  const states: SequenceState[] = [];
  for (const { table, column, sequence } of rows) {
    const state = await client.query<{ last: string; called: boolean }>(
      `select last_value::text as last, is_called as called from ${sequence}`,
    );
    const [row] = state.rows;
    if (row) states.push({ table, column, lastValue: row.last, isCalled: row.called });
  }
  return states;
}
