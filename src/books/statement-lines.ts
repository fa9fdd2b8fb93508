// The lines of operators' statements: added on arrays, each once, never changed; read page by page in the order of their times.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';

export type LineKind = 'payment' | 'fee' | 'reversal' | 'settlement' | 'other';

export type OperatorLine = {
  connection: string;
  /** What makes it the same line in another file: `line-keys.ts`. */
  lineKey: Buffer;
  fileId: bigint;
  lineNumber: number;
  occurredAt: Date;
  kind: LineKind;
  /** Into or out of our account with the operator. */
  direction: 'in' | 'out';
  state: 'succeeded' | 'failed' | 'pending';
  gross: bigint;
  /** Null: the file does not say. That is not the same as zero. */
  fee: bigint | null;
  currency: string;
  /** The id of the operator. */
  receipt: string | null;
  /** Our id, where the file has it. */
  reference: string | null;
  /** May be masked: 2547****678. */
  msisdn: string | null;
  /** Of the account after the line. */
  balance: bigint | null;
  description: string;
  /** The line as it was. */
  raw: string;
  readAt: Date;
};

export type NewLine = Omit<OperatorLine, 'connection' | 'fileId'>;

const NEW_LINES = columns<NewLine>(3, {
  line_key: ['bytea', (line) => line.lineKey],
  line_number: ['integer', (line) => line.lineNumber],
  occurred_at: ['timestamptz', (line) => line.occurredAt],
  kind: 'text',
  direction: 'text',
  state: 'text',
  gross: 'bigint',
  fee: 'bigint',
  currency: 'text',
  receipt: 'text',
  reference: 'text',
  msisdn: 'text',
  balance: 'bigint',
  description: 'text',
  raw: 'text',
  read_at: ['timestamptz', (line) => line.readAt],
});

/** Adds the lines that the connection does not have yet. */
export async function insertLines(
  tx: Tx,
  connection: string,
  fileId: bigint,
  lines: readonly NewLine[],
): Promise<{ added: number }> {
  if (lines.length === 0) return { added: 0 };
  const [row] = await tx.query<{ added: bigint }>(
    `with added as (
       insert into statement_lines (connection, file_id, ${NEW_LINES.names})
       select $1, $2, ${NEW_LINES.names} from ${NEW_LINES.rows}
       on conflict (connection, line_key) do nothing
       returning 1)
     select count(*) as added from added`,
    [connection, fileId, ...NEW_LINES.arrays(lines)],
  );
  return { added: Number(row?.added ?? 0n) };
}

/** Where a page of lines ended. */
export type LinePosition = Pick<OperatorLine, 'occurredAt' | 'lineKey'>;

export const LINE_COLUMNS = `connection, line_key as "lineKey", file_id as "fileId", line_number as "lineNumber",
  occurred_at as "occurredAt", kind, direction, state, gross, fee, currency, receipt, reference, msisdn, balance, description, raw,
  read_at as "readAt"`;

/** The lines of a connection from a time up to, and not at, another one, oldest first. */
export async function readLines(
  reader: Reader,
  wanted: { connection: string; from: Date; to: Date; after?: LinePosition; limit: number },
): Promise<OperatorLine[]> {
  return await reader.query<OperatorLine>(
    `select ${LINE_COLUMNS} from statement_lines
     where connection = $1 and occurred_at >= $2 and occurred_at < $3
       and ($4::timestamptz is null or (occurred_at, line_key) > ($4, $5::bytea))
     order by connection, occurred_at, line_key
     limit $6`,
    [
      wanted.connection,
      wanted.from,
      wanted.to,
      wanted.after?.occurredAt ?? null,
      wanted.after?.lineKey ?? null,
      wanted.limit,
    ],
  );
}

/** The lines that a file brought, in its order; those that another file had brought before are not among them. */
export async function readLinesOfFile(
  reader: Reader,
  fileId: bigint,
  { after, limit }: { after: number; limit: number },
): Promise<OperatorLine[]> {
  return await reader.query<OperatorLine>(
    `select ${LINE_COLUMNS} from statement_lines where file_id = $1 and line_number > $2
     order by file_id, line_number limit $3`,
    [fileId, after, limit],
  );
}

export async function countLinesOfFile(reader: Reader, fileId: bigint): Promise<number> {
  const [row] = await reader.query<{ lines: bigint }>(
    'select count(*) as lines from statement_lines where file_id = $1',
    [fileId],
  );
  return Number(row?.lines ?? 0n);
}
