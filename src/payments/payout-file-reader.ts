// Reads a file of payouts as console and command line get it: CSV whose first row names the columns. Every row is checked;
// nothing is written.

import type { AmountLanguage } from '../platform/amount-sentences.ts';
import { parseCsv } from '../platform/csv.ts';
import type { PaymentsContext } from './context.ts';
import { type PayoutReading, type PayoutRequest, readPayout } from './payout-requests.ts';
import { PAYOUT_SENTENCES } from './payout-sentences.ts';

/**
 * A file is ordered in one transaction that keeps the wallet locked. With 20,000 rows that took nine seconds, and other
 * postings of the holder give up after four.
 */
export const MAX_PAYOUT_FILE_ROWS = 5_000;
export const MAX_PAYOUT_FILE_BYTES = 1024 * 1024;
export const REQUIRED_COLUMNS = ['amount', 'currency', 'mobile'] as const;
export const OPTIONAL_COLUMNS = ['method', 'payee', 'invoice_no', 'detail', 'callback_url'] as const;
/** Written beside the rows to fix, and ignored when such a file is read again. */
export const PROBLEM_COLUMN = 'problem';
const KNOWN_COLUMNS: readonly string[] = [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS, PROBLEM_COLUMN];

type ColumnName = (typeof REQUIRED_COLUMNS)[number] | (typeof OPTIONAL_COLUMNS)[number];

/** `line`: the row as a spreadsheet counts it. */
export type CheckedRow = { line: number; cells: string[]; reading: PayoutReading };

export type PayoutFileReading =
  | { ok: true; columns: string[]; rows: CheckedRow[] }
  | { ok: false; reason: 'too_large' | 'encoding' | 'unreadable' | 'empty' }
  | ({ ok: false; reason: 'columns' } & ColumnProblems);

export type ColumnProblems = { missing: string[]; unknown: string[]; repeated: string[] };

export async function readPayoutFile(
  ctx: PaymentsContext,
  holderId: bigint,
  text: string,
  options: { language?: AmountLanguage; progress?: (done: number, all: number) => void } = {},
): Promise<PayoutFileReading> {
  if (Buffer.byteLength(text) > MAX_PAYOUT_FILE_BYTES) return { ok: false, reason: 'too_large' };
  // What is not UTF-8 was decoded with replacement characters: a name would be stored wrong, and not as the file has it.
  if (/[\0\uFFFD]/.test(text)) return { ok: false, reason: 'encoding' };
  const table = parseCsv(text, MAX_PAYOUT_FILE_ROWS + 1);
  if (table === null) return { ok: false, reason: 'unreadable' };
  const [head, ...records] = table;
  const columns = withoutEmptyEnd(head?.cells ?? []).map((name) => name.toLowerCase().replace(/[\s-]+/g, '_'));
  const problems = checkColumns(columns);
  if (problems) return { ok: false, reason: 'columns', ...problems };
  if (records.length === 0) return { ok: false, reason: 'empty' };
  const rows: CheckedRow[] = [];
  for (const record of records) {
    const cells = withoutEmptyEnd(record.cells);
    rows.push({ line: record.row, cells, reading: await readCells(ctx, holderId, columns, cells, options.language) });
    options.progress?.(rows.length, records.length);
  }
  return { ok: true, columns, rows };
}

/** Spreadsheets write empty cells up to the widest row they ever had. */
function withoutEmptyEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

function checkColumns(columns: readonly string[]): ColumnProblems | null {
  const missing = REQUIRED_COLUMNS.filter((name) => !columns.includes(name));
  const unknown = columns.filter((name) => !KNOWN_COLUMNS.includes(name)).map((name) => name || '""');
  const repeated = columns.filter((name, index) => columns.indexOf(name) < index);
  return missing.length + unknown.length + repeated.length > 0 ? { missing, unknown, repeated } : null;
}

async function readCells(
  ctx: PaymentsContext,
  holderId: bigint,
  columns: readonly string[],
  cells: readonly string[],
  language: AmountLanguage | undefined,
): Promise<PayoutReading> {
  // A comma in an amount without quotes makes two cells of it: "1,500" must not become a payout of 1.
  if (cells.length > columns.length)
    return { ok: false, errors: { row: [PAYOUT_SENTENCES[language ?? 'en'].moreCells] } };
  return readPayout(ctx, holderId, { ...requestOf((name) => cells[columns.indexOf(name)] ?? ''), language });
}

function requestOf(cell: (name: ColumnName) => string): PayoutRequest {
  return {
    amount: cell('amount'),
    currency: cell('currency').toUpperCase(),
    mobile: cell('mobile'),
    method: cell('method') || undefined,
    payee: cell('payee') || undefined,
    invoiceNo: cell('invoice_no') || undefined,
    detail: cell('detail') || undefined,
    callbackUrl: cell('callback_url') || undefined,
  };
}

/** The errors of a row, as one text. */
export function problemOf({ reading }: CheckedRow): string {
  if (reading.ok) return '';
  return Object.entries(reading.errors)
    .map(([field, sentences]) => `${field}: ${sentences.join(' ')}`)
    .join('; ');
}

/** The rows with errors as CSV records, each with its error in a column that an import ignores, and the cells without one. */
export function rowsToFix(columns: readonly string[], rows: readonly CheckedRow[]): string[][] {
  const kept = columns.flatMap((name, index) => (name === PROBLEM_COLUMN ? [] : [{ name, index }]));
  const records = rows
    .filter(({ reading }) => !reading.ok)
    .map((row) => [
      ...kept.map(({ index }) => row.cells[index] ?? ''),
      problemOf(row),
      ...row.cells.slice(columns.length),
    ]);
  return [[...kept.map(({ name }) => name), PROBLEM_COLUMN], ...records];
}
