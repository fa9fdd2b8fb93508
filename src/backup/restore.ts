// Reads a backup into an empty database, in one transaction. The rows are loaded with our own triggers off (they would
// move money a second time); foreign keys, checks and unique keys stay on and are enforced for every row.

import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { beginCopy, connectForCopy } from '../platform/copy-connection.ts';
import type { Tx } from '../platform/db.ts';
import { keyCheck, localWrapperName, signBackup } from '../platform/key-wrapper.ts';
import { migrate } from '../platform/migrate.ts';
import { readMigrations } from '../platform/migration-files.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import {
  type BackupHeader,
  type BackupProgress,
  type BackupSummary,
  type BackupTable,
  countLines,
  listTables,
} from './backup.ts';
import { type BackupEnd, BackupError, type BackupFrame, readBackup } from './backup-file.ts';
import { type BackupKeys, NO_KEYS } from './encryption.ts';

/** The names and bounds that our partitions have. Nothing else from the file becomes SQL. */
const PARTITION_NAME = /^[a-z0-9_]{1,63}$/;
const PARTITION_BOUND = /^(DEFAULT|FOR VALUES FROM \((MINVALUE|'[^'\\]{1,64}')\) TO \('[^'\\]{1,64}'\))$/;

/** `finish` needs the tables of this migration. A backup from before it is migrated first, and finished after its commit. */
const FINISH_SCHEMA = 14;

export type CheckedBackup = { header: BackupHeader; rows: Record<string, number> };

export type RestoreOptions = {
  databaseUrl: string;
  path: string;
  /** The key this instance will run with; null if it has none yet and uses the one in the backup, if any. */
  masterKey: Buffer | null;
  /** The master key before that one, for a backup from before it was replaced. */
  previousMasterKey?: Buffer | null;
  /** What opens the file, if it is encrypted. */
  keys?: BackupKeys;
  /** Takes a file that was not signed with the master key, as older versions wrote them. */
  allowUnsigned?: boolean;
  onProgress?: BackupProgress;
  onStep?: (sentence: string) => void;
  /** Changes that modules make to the restored rows, in the transaction that loads them. */
  finish?: (tx: Tx, header: BackupHeader) => Promise<void>;
};

/** Reads the file to its end and checks it: what it contains, and that it is complete. Writes nothing. */
export async function checkBackup(
  path: string,
  onProgress?: BackupProgress,
  keys: BackupKeys = NO_KEYS,
): Promise<CheckedBackup> {
  const file = await openFile(path, keys);
  const expectedRows = expectedOf(file.header);
  let rows = 0;
  for (let frame = await file.next(); frame.kind !== 'S'; frame = await file.next()) {
    if (frame.kind !== 'E') continue;
    const { name, rows: copied } = read<{ name: string; rows: number }>(frame);
    rows += copied;
    onProgress?.({ table: name, rows, expectedRows: Math.max(expectedRows, rows) });
  }
  const summary = file.summary();
  await file.end();
  return { header: file.header, rows: summary.rows };
}

/** Only the header: enough to reject a backup before anything is written. */
export async function readHeader(path: string, keys: BackupKeys = NO_KEYS): Promise<BackupHeader> {
  const file = await openFile(path, keys);
  await file.close();
  return file.header;
}

export async function restoreBackup(options: RestoreOptions): Promise<CheckedBackup> {
  const keys = options.keys ?? NO_KEYS;
  const file = await openFile(options.path, keys);
  try {
    requireKey(file.header, options.masterKey, options.previousMasterKey ?? null);
    await prepareSchema(options.databaseUrl, file.header, options.onStep);
    const client = await connectForCopy(options.databaseUrl, 'simbi-restore');
    try {
      await beginCopy(client, 'write');
      const summary = await load(client, file, options).catch(async (error: unknown) => {
        // The database rejected a row. Most likely the file is damaged there; then report that instead.
        await checkBackup(options.path, undefined, keys);
        throw error;
      });
      const finish = async () => options.finish?.(transactionOf(client), file.header);
      const isOld = (file.header.schema.at(-1)?.version ?? 0) < FINISH_SCHEMA;
      if (!isOld) await finish();
      await client.query('commit');
      options.onStep?.('Collecting planner statistics');
      await client.query('analyze');
      // The backup may be older than this code.
      await migrate(options.databaseUrl, options.onStep);
      if (isOld) await inTransaction(client, finish);
      return { header: file.header, rows: summary.rows };
    } finally {
      // Also rolls back a transaction that was not committed.
      await client.end();
    }
  } finally {
    await file.close();
  }
}

/** Throws when the secrets in the backup cannot be decrypted with this key. */
export function requireKey(header: BackupHeader, masterKey: Buffer | null, previous: Buffer | null = null): void {
  const given = [masterKey, previous].filter((key) => key !== null);
  const wrappers = header.key_wrappers ?? [];
  const local = wrappers.filter((name) => name.startsWith('local:'));
  // Keys of a key service are opened by that service, after the restore.
  if (wrappers.length > 0 && local.every((name) => given.some((key) => localWrapperName(key) === name))) return;
  if (wrappers.length === 0 && header.key_check === null) return;
  if (wrappers.length === 0 && given.some((key) => keyCheck(key) === header.key_check)) return;
  if (given.length > 0)
    throw new BackupError(
      'The secrets in this backup are encrypted with another master key. Set MASTER_KEY to that key.',
    );
  throw new BackupError(
    'The master key is not in this backup, and its secrets cannot be decrypted without it. ' +
      'Set MASTER_KEY, or copy the old master.key into the new data directory.',
  );
}

/** Throws when somebody without the master key wrote the file. Without a master key here there is nothing to compare. */
function requireSignature({ digest, signature }: BackupEnd, options: RestoreOptions): void {
  const given = [options.masterKey, options.previousMasterKey ?? null].filter((key) => key !== null);
  if (given.length === 0 || options.allowUnsigned) return;
  if (given.some((key) => constantTimeEqual(signBackup(key, digest), signature))) return;
  throw new BackupError(
    'The backup is not signed with this master key: another program may have written it. Nothing was restored. ' +
      'Older versions did not sign; if one of them wrote this file, add --allow-unsigned.',
  );
}

/** Gives an empty database the schema of the backup; a database with rows is rejected. */
async function prepareSchema(databaseUrl: string, header: BackupHeader, onStep?: (sentence: string) => void) {
  const known = new Map((await readMigrations()).map((migration) => [migration.version, migration]));
  for (const { version, name, checksum } of header.schema)
    if (known.get(version)?.checksum !== checksum)
      throw new BackupError(
        `The backup was made by version ${header.version}, whose schema (migration ${version}, ${name}) this version does not know. ` +
          `Restore it with version ${header.version}.`,
      );
  const last = header.schema.at(-1)?.version ?? 0;
  const client = await connectForCopy(databaseUrl, 'simbi-restore');
  let isNew = false;
  try {
    isNew = (await listTables(client)).length === 0;
    const full = await findRows(client);
    if (full !== null)
      throw new BackupError(
        `The database is not empty: ${full} has rows. Restore into a new data directory or an empty database.`,
      );
  } finally {
    await client.end();
  }
  await migrate(databaseUrl, onStep, undefined, last).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    // A login that may not create tables, for instance.
    if (isNew) throw new BackupError(reason);
    throw new BackupError(`The database has tables of another version. Restore into an empty database. (${reason})`);
  });
}

/** The name of a table that has rows, or null. Tables with a column `single`, and the rules of partitions, have rows from the start. */
async function findRows(client: pg.Client): Promise<string | null> {
  for (const { name, columns } of await listTables(client)) {
    if (columns.includes('single') || name === 'partition_rules') continue;
    const { rows } = await client.query(`select from ${pg.escapeIdentifier(name)} limit 1`);
    if (rows.length > 0) return name;
  }
  return null;
}

async function load(client: pg.Client, file: BackupFile, options: RestoreOptions): Promise<BackupSummary> {
  const tables = await listTables(client);
  requireSameTables(file.header, tables);
  for (const table of file.header.tables) await createPartitions(client, table);
  const names = tables.map(({ name }) => pg.escapeIdentifier(name));
  for (const name of names) await client.query(`alter table ${name} disable trigger user`);
  for (const name of names.toReversed()) await client.query(`delete from ${name}`);
  const counts = await loadTables(client, file, options.onProgress);
  for (const name of names) await client.query(`alter table ${name} enable trigger user`);
  const summary = file.summary();
  // Read to the end before the commit: only then is it certain that the file is complete, and who wrote it.
  requireSignature(await file.end(), options);
  for (const [name, rows] of Object.entries(summary.rows))
    if (counts[name] !== rows)
      throw new BackupError(`Row count mismatch in ${name}: expected ${rows}, restored ${counts[name] ?? 0}.`);
  await setSequences(client, summary);
  return summary;
}

function requireSameTables(header: BackupHeader, tables: BackupTable[]): void {
  const shape = (list: BackupTable[]) =>
    list
      .map(({ name, columns }) => `${name}(${columns.join()})`)
      .sort()
      .join();
  if (shape(header.tables) !== shape(tables))
    throw new BackupError(
      'The tables in the backup do not match its schema version. The file was not written by simbi backup.',
    );
}

async function createPartitions(client: pg.Client, table: BackupTable): Promise<void> {
  for (const { name, bound } of table.partitions) {
    if (!PARTITION_NAME.test(name) || !PARTITION_BOUND.test(bound))
      throw new BackupError(`The backup has a partition with an invalid name or range in ${table.name}.`);
    const { rows } = await client.query('select to_regclass($1) is not null as present', [name]);
    if ((rows[0] as { present: boolean }).present) continue;
    const parent = pg.escapeIdentifier(table.name);
    await client.query(`create table ${pg.escapeIdentifier(name)} partition of ${parent} ${bound}`);
  }
}

async function loadTables(
  client: pg.Client,
  file: BackupFile,
  onProgress: BackupProgress | undefined,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const expectedRows = expectedOf(file.header);
  let rowsBefore = 0;
  for (let frame = await file.next(); frame.kind !== 'S'; frame = await file.next()) {
    if (frame.kind !== 'T')
      throw new BackupError(
        'The parts of the backup are in the wrong order. The file was not written by simbi backup.',
      );
    const { name, columns } = read<{ name: string; columns: string[] }>(frame);
    if (!file.header.tables.some((table) => table.name === name))
      throw new BackupError(`The backup has rows of ${name}, which its header does not list.`);
    const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
    const stream = client.query(copyFrom(`copy ${pg.escapeIdentifier(name)} (${list}) from stdin`));
    let rows = rowsBefore;
    await pipeline(async function* () {
      for (let part = await file.next(); part.kind === 'D'; part = await file.next()) {
        rows += countLines(part.bytes);
        onProgress?.({ table: name, rows, expectedRows: Math.max(expectedRows, rows) });
        yield part.bytes;
      }
    }, stream);
    counts[name] = stream.rowCount;
    rowsBefore += stream.rowCount;
  }
  onProgress?.({ table: '', rows: rowsBefore, expectedRows: rowsBefore });
  return counts;
}

async function setSequences(client: pg.Client, summary: BackupSummary): Promise<void> {
  for (const { table, column, lastValue, isCalled } of summary.sequences)
    await client.query('select setval(pg_get_serial_sequence(quote_ident($1), $2), $3::bigint, $4)', [
      table,
      column,
      lastValue,
      isCalled,
    ]);
}

type BackupFile = {
  readonly header: BackupHeader;
  next(): Promise<BackupFrame>;
  /** The content of the frame that `next` returned last. */
  summary(): BackupSummary;
  /** Reads the rest and verifies the checksum. */
  end(): Promise<BackupEnd>;
  close(): Promise<void>;
};

async function openFile(path: string, keys: BackupKeys): Promise<BackupFile> {
  const frames = readBackup(path, keys);
  let last: BackupFrame | null = null;
  async function next(): Promise<BackupFrame> {
    const { done, value } = await frames.next();
    if (done) throw new BackupError(`${path} has no summary at its end.`);
    last = value;
    return value;
  }
  const first = await next();
  if (first.kind !== 'H') throw new BackupError(`${path} has no header.`);
  return {
    header: read<BackupHeader>(first),
    next,
    summary() {
      if (last?.kind !== 'S') throw new Error('the summary was not reached');
      return read<BackupSummary>(last);
    },
    async end() {
      const { done, value } = await frames.next();
      if (!done) throw new BackupError(`${path} has data after its end marker.`);
      return value;
    },
    async close() {
      await frames.return({ digest: Buffer.alloc(0), signature: Buffer.alloc(0) });
    },
  };
}

function read<T>(frame: BackupFrame): T {
  try {
    // Written by simbi backup; the checksum is verified before anything is committed.
    return JSON.parse(frame.bytes.toString('utf8')) as T;
  } catch {
    throw new BackupError('The backup is damaged: a part of it cannot be read. Nothing was restored.');
  }
}

const expectedOf = (header: BackupHeader) => header.tables.reduce((sum, table) => sum + table.estimatedRows, 0);

async function inTransaction(client: pg.Client, perform: () => Promise<void>): Promise<void> {
  await beginCopy(client, 'write');
  await perform();
  await client.query('commit');
}

function transactionOf(client: pg.Client): Tx {
  return {
    isTransaction: true,
    async query<R extends object>(statement: string | { text: string }, values?: unknown[]) {
      const text = typeof statement === 'string' ? statement : statement.text;
      return (await client.query<R>(text, values)).rows;
    },
  };
}
