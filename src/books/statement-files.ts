// The files of operators' statements: what came, when, from whom, how far it is read, and the original in parts.

import type { Reader, Tx } from '../platform/db.ts';
import type { DateOrder } from './readers/values.ts';

/** As the table allows; each part is one statement. */
export const PART_BYTES = 1024 * 1024;

export type StatementSource = 'console' | 'command' | 'rail';

export type StatementFile = {
  id: bigint;
  connection: string;
  name: string;
  source: StatementSource;
  format: string;
  mapping: unknown;
  zone: string;
  sha256: Buffer;
  bytes: bigint;
  status: 'reading' | 'read' | 'broken_off' | 'withdrawn';
  /** Why the reading broke off. */
  problem: string | null;
  /** Lines that were read, bad ones included. */
  lines: number;
  linesNew: number;
  /** Those that the connection already had, from another file. */
  linesKnown: number;
  linesBad: number;
  openingBalance: bigint | null;
  closingBalance: bigint | null;
  /** Of lines that name none. */
  currency: string | null;
  /** What a person said about the file, so that it can be read again in the same way. */
  account: string | null;
  dateOrder: DateOrder | null;
  importedBy: string;
  importedAt: Date;
  finishedAt: Date | null;
};

export type NewStatementFile = Pick<
  StatementFile,
  | 'connection'
  | 'name'
  | 'source'
  | 'format'
  | 'mapping'
  | 'zone'
  | 'sha256'
  | 'bytes'
  | 'currency'
  | 'account'
  | 'dateOrder'
  | 'importedBy'
>;

const FILE_COLUMNS = `id, connection, name, source, format, mapping, zone, sha256, bytes, status, problem, lines,
  lines_new as "linesNew", lines_known as "linesKnown", lines_bad as "linesBad", opening_balance as "openingBalance",
  closing_balance as "closingBalance", currency, account, date_order as "dateOrder",
  imported_by as "importedBy", imported_at as "importedAt",  finished_at as "finishedAt"`;

/**
 * The file of these bytes, new or to be read once more, as it is asked for now. The problems of an earlier reading are forgotten. One
 * that was withdrawn is imported anew, by the person who does it now.
 */
export async function openFile(tx: Tx, file: NewStatementFile, at: Date): Promise<StatementFile> {
  const mapping = file.mapping === null ? null : JSON.stringify(file.mapping);
  const given = [file.connection, file.name, file.source, file.format, mapping, file.zone];
  const [row] = await tx.query<StatementFile>(
    `insert into statement_files as known (connection, name, source, format, mapping, zone, sha256, bytes, currency, imported_by,
       imported_at, account, date_order, status)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'reading')
     on conflict (connection, sha256) do update set status = 'reading', problem = null, format = excluded.format,
       mapping = excluded.mapping, zone = excluded.zone, currency = excluded.currency, account = excluded.account,
       date_order = excluded.date_order, ${['name', 'source', 'imported_by', 'imported_at'].map(ofNewImport).join(', ')}
     returning ${FILE_COLUMNS}`,
    [...given, file.sha256, file.bytes, file.currency, file.importedBy, at, file.account, file.dateOrder],
  );
  if (!row) throw new Error('The row of a statement file was not returned.');
  await tx.query('delete from statement_problems where file_id = $1', [row.id]);
  return row;
}

const ofNewImport = (column: string) =>
  `${column} = case when known.status = 'withdrawn' then excluded.${column} else known.${column} end`;

/** An import begins, or a statement is withdrawn: a line must not be known by a file whose lines are going. */
export async function lockStatements(tx: Tx, connection: string, by: 'import' | 'withdrawal'): Promise<void> {
  const lock = by === 'withdrawal' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
  await tx.query(`select ${lock}(hashtextextended('statements of ' || $1, 0))`, [connection]);
}

export async function findFileOf(reader: Reader, connection: string, sha256: Buffer): Promise<StatementFile | null> {
  const [row] = await reader.query<StatementFile>(
    `select ${FILE_COLUMNS} from statement_files where connection = $1 and sha256 = $2`,
    [connection, sha256],
  );
  return row ?? null;
}

export async function storePart(tx: Tx, fileId: bigint, number: number, content: Buffer): Promise<void> {
  await tx.query(
    `insert into statement_file_parts (file_id, number, content) values ($1, $2, $3) on conflict (file_id, number) do nothing`,
    [fileId, number, content],
  );
}

export async function readPart(reader: Reader, fileId: bigint, number: number): Promise<Buffer | null> {
  const [row] = await reader.query<{ content: Buffer }>(
    'select content from statement_file_parts where file_id = $1 and number = $2',
    [fileId, number],
  );
  return row?.content ?? null;
}

export async function countParts(reader: Reader, fileId: bigint): Promise<number> {
  const [row] = await reader.query<{ parts: bigint }>(
    'select count(*) as parts from statement_file_parts where file_id = $1',
    [fileId],
  );
  return Number(row?.parts ?? 0n);
}

/** A line that could not be read. */
export type StatementProblem = { lineNumber: number; reason: string; raw: string };

export async function insertProblems(tx: Tx, fileId: bigint, problems: readonly StatementProblem[]): Promise<void> {
  if (problems.length === 0) return;
  await tx.query(
    `insert into statement_problems (file_id, line_number, reason, raw)
     select $1, line_number, reason, raw from unnest($2::integer[], $3::text[], $4::text[]) as input (line_number, reason, raw)
     on conflict (file_id, line_number) do nothing`,
    [
      fileId,
      problems.map((each) => each.lineNumber),
      problems.map((each) => each.reason),
      problems.map((each) => each.raw),
    ],
  );
}

export async function readProblems(
  reader: Reader,
  fileId: bigint,
  { after, limit }: { after: number; limit: number },
): Promise<StatementProblem[]> {
  return await reader.query<StatementProblem>(
    `select line_number as "lineNumber", reason, raw from statement_problems
     where file_id = $1 and line_number > $2 order by line_number limit $3`,
    [fileId, after, limit],
  );
}

export type FileProgress = Pick<StatementFile, 'lines' | 'linesNew' | 'linesKnown' | 'linesBad'>;

/** How far the file is read. */
export async function noteProgress(tx: Tx, fileId: bigint, progress: FileProgress): Promise<void> {
  await tx.query(
    `update statement_files set status = 'reading', problem = null, lines = $2, lines_new = $3, lines_known = $4, lines_bad = $5
     where id = $1`,
    [fileId, progress.lines, progress.linesNew, progress.linesKnown, progress.linesBad],
  );
}

export type FileEnding = FileProgress & Pick<StatementFile, 'status' | 'problem' | 'openingBalance' | 'closingBalance'>;

export async function closeFile(tx: Tx, fileId: bigint, ending: FileEnding, at: Date): Promise<void> {
  await noteProgress(tx, fileId, ending);
  await tx.query(
    `update statement_files set status = $2, problem = $3, opening_balance = $4, closing_balance = $5, finished_at = $6
     where id = $1`,
    [fileId, ending.status, ending.problem, ending.openingBalance, ending.closingBalance, at],
  );
}

export async function findFile(reader: Reader, id: bigint): Promise<StatementFile | null> {
  const [row] = await reader.query<StatementFile>(`select ${FILE_COLUMNS} from statement_files where id = $1`, [id]);
  return row ?? null;
}

/** Newest first; of every connection where none is given. */
export async function listFiles(
  reader: Reader,
  wanted: { connection?: string; before?: bigint; limit: number },
): Promise<StatementFile[]> {
  return await reader.query<StatementFile>(
    `select ${FILE_COLUMNS} from statement_files
     where ($1::text is null or connection = $1) and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [wanted.connection ?? null, wanted.before ?? null, wanted.limit],
  );
}
