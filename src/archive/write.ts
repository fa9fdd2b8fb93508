// Writes months of payments to an archive: transactions, evidence, the ledger, events, attempts and requests as CSV. All tables of a
// month are read from one snapshot, in a stream. Then every file is read back and compared with the database, read once more.

import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { type CopyToStreamQuery, to as copyTo } from 'pg-copy-streams';
import { ATTEMPT_ROWS, EVENT_ROWS } from '../callbacks/archived-rows.ts';
import { COMMAND_LINE, recordAudit } from '../holders/audit.ts';
import { REQUEST_ROWS } from '../holders/request-log.ts';
import { BLOCK_ROWS, HEAD_ROWS, PARTITION_BLOCK_ROWS, TRANSFER_ROWS } from '../ledger/archived-rows.ts';
import { formatHead, lastHeadAt } from '../ledger/chain.ts';
import { EVIDENCE_ROWS, newestEvidence, oldestTransaction, TRANSACTION_ROWS } from '../payments/archived-rows.ts';
import { beginCopy, connectForCopy, readerOf } from '../platform/copy-connection.ts';
import { changeColumns } from '../platform/csv.ts';
import type { Database, Reader } from '../platform/db.ts';
import { readMigrations } from '../platform/migration-files.ts';
import { type ArchivedRows, type Month, monthsUntil } from '../platform/months.ts';
import {
  type ArchivedFile,
  ArchiveError,
  type Content,
  createContentCounter,
  fileName,
  listArchive,
  type Manifest,
  nameMonth,
  readFacts,
  removeUnfinished,
  unfinishedFolderOf,
  writeManifest,
} from './month-folder.ts';

const TABLES: readonly ArchivedRows[] = [
  TRANSACTION_ROWS,
  EVIDENCE_ROWS,
  TRANSFER_ROWS,
  BLOCK_ROWS,
  PARTITION_BLOCK_ROWS,
  HEAD_ROWS,
  EVENT_ROWS,
  ATTEMPT_ROWS,
  REQUEST_ROWS,
];

export type ArchiveProgress = (what: { month: string; table: string; rows: number }) => void;

export type WriteOptions = {
  /** With the rights of the owner of the tables. */
  databaseUrl: string;
  owner: Database;
  folder: string;
  /** Months that ended by then are written. */
  before: Date;
  at: Date;
  version: string;
  mode: string;
  onProgress?: ArchiveProgress;
};

export type WrittenMonth = { month: string; rows: Record<string, number>; bytes: number; manifest_sha256: string };

/** Writes the months that the archive does not have yet. A month that broke off is written anew. */
export async function writeArchive(options: WriteOptions): Promise<WrittenMonth[]> {
  const first = await oldestTransaction(options.owner);
  if (first === null) return [];
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const present = new Set((await listArchive(options.folder)).months.map(({ name }) => name));
  const written: WrittenMonth[] = [];
  // A month that goes on is not written, whatever was asked for: the next run would take it for complete.
  const before = new Date(Math.min(options.before.getTime(), options.at.getTime()));
  for (const month of monthsUntil(first, before))
    if (!present.has(month.name)) written.push(await writeMonth(options, month));
  return written;
}

async function writeMonth(options: WriteOptions, month: Month): Promise<WrittenMonth> {
  await removeUnfinished(options.folder, month);
  await mkdir(unfinishedFolderOf(options.folder, month), { mode: 0o700 });
  const manifest = await withSnapshot(options.databaseUrl, async (client) => {
    const reader = readerOf(client);
    const files: ArchivedFile[] = [];
    for (const rows of TABLES) files.push(await writeTable(options, client, month, rows));
    return { ...(await describe(options, reader, month)), files };
  });
  const manifestSha256 = await writeManifest(options.folder, month, manifest);
  const rows = Object.fromEntries(manifest.files.map((file) => [file.table, file.rows]));
  const details = { rows, manifest_sha256: manifestSha256 };
  // First: after a crash in between it is written, and recorded, once more. A month with its name is never without a record.
  await options.owner.transaction((tx) =>
    recordAudit(
      tx,
      { holderId: null, actor: COMMAND_LINE, action: 'archive.written', subject: month.name, details },
      options.at,
    ),
  );
  await nameMonth(options.folder, month);
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  return { month: month.name, rows, bytes, manifest_sha256: manifestSha256 };
}

/** One moment for all tables of a month: a payment and its transfers agree. */
async function withSnapshot<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectForCopy(databaseUrl, 'simbi-archive');
  try {
    await beginCopy(client, 'read');
    return await work(client);
  } finally {
    await client.end();
  }
}

async function describe(options: WriteOptions, reader: Reader, month: Month): Promise<Omit<Manifest, 'files'>> {
  const head = await lastHeadAt(reader, options.at);
  return {
    format: 1,
    month: month.name,
    version: options.version,
    mode: options.mode,
    written_at: options.at.toISOString(),
    schema: (await readMigrations()).at(-1)?.version ?? 0,
    ledger_block: head && formatHead(head),
    last_evidence: String(await newestEvidence(reader, month)),
  };
}

async function writeTable(
  options: WriteOptions,
  client: pg.Client,
  month: Month,
  rows: ArchivedRows,
): Promise<ArchivedFile> {
  const folder = unfinishedFolderOf(options.folder, month);
  const path = join(folder, fileName(rows.name));
  const content = createContentCounter();
  await pipeline(
    csvOf(copyCsv(client, rows.query(month)), rows),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        content.add(chunk);
        options.onProgress?.({ month: month.name, table: rows.name, rows: content.rows() });
        yield chunk;
      }
    },
    createGzip(),
    createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
  );
  const [file, database] = [await readFacts(folder, rows.name), await contentOf(client, rows.query(month), rows)];
  if (file.content_sha256 !== database.content_sha256 || file.rows !== database.rows)
    throw new ArchiveError(
      `${join(month.name, fileName(rows.name))} differs from the database after it was written: ${file.rows} rows, ` +
        `the database has ${database.rows}. Check the disk and write the archive again.`,
    );
  return file;
}

/** The hash and the number of rows that a query gives as CSV. The number is that of the server. */
export async function contentOf(
  client: pg.Client,
  query: string,
  rows: Pick<ArchivedRows, 'readable'> = {},
): Promise<Content> {
  const stream = copyCsv(client, query);
  const content = createContentCounter();
  for await (const chunk of csvOf(stream, rows)) content.add(chunk);
  // The server sends the number after the last row; the answer to another statement shows that it has arrived.
  await client.query('select 1');
  return { ...content.end(), rows: stream.rowCount };
}

function copyCsv(client: pg.Client, query: string) {
  return client.query(copyTo(`copy (${query}) to stdout with (format csv, header true)`));
}

/** The CSV of the server, with the columns that only we can read as text. */
function csvOf(stream: CopyToStreamQuery, { readable }: Pick<ArchivedRows, 'readable'>): AsyncIterable<Buffer> {
  return readable ? changeColumns(stream, readable) : stream;
}
