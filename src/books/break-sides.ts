// Both sides of one break: what the operator's statement says, and what we have of it.

import { type ClearingMove, readClearingMoves } from '../ledger/clearing.ts';
import { type Case, findCase } from '../payments/cases.ts';
import { findTransaction, type Transaction } from '../payments/transactions.ts';
import type { Reader } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import type { Break } from './breaks.ts';
import { LINE_COLUMNS, type OperatorLine } from './statement-lines.ts';

const MAX_LINES = 20;

/** A line with what it was matched by; null: by nothing. */
export type BreakLine = OperatorLine & {
  rule: string | null;
  day: string;
  late: boolean;
  fileName: string;
  /** Whether it is the line that the break is about. */
  isNamed: boolean;
};

export type BreakSides = {
  /** Every line of the payment, oldest first. */
  lines: BreakLine[];
  transaction: Transaction | null;
  /** Where its money is in suspense. */
  held: Case | null;
  moves: ClearingMove[];
};

export async function readSides(reader: Reader, each: Break): Promise<BreakSides> {
  const { connection, line_key: key, transaction_id: id } = each;
  const lines = await reader.query<BreakLine>(
    `select ${LINE_COLUMNS}, rule, day, late, "fileName", line_key = $2 as "isNamed" from (
       select l.*, m.rule, m.day::text as day, m.late, f.name as "fileName"
       from statement_matches m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
       join statement_files f on f.id = l.file_id
       where m.connection = $1 and (m.line_key = $2 or m.transaction_id = $3 or m.case_id = $3)
     ) as own order by occurred_at, line_key limit ${MAX_LINES}`,
    [connection, key, id],
  );
  const transaction = id === null ? null : await findTransaction(reader, holderOfUuid(id), id);
  const held = id === null || transaction ? null : await findCase(reader, id);
  const moves =
    id === null
      ? []
      : await readClearingMoves(
          reader,
          connection,
          transaction ? { transactions: [id], cases: [] } : { transactions: [], cases: [id] },
        );
  return { lines, transaction, held, moves: moves.sort((left, right) => +left.postedAt - +right.postedAt) };
}
