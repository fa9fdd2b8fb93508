// Reads a file of payouts as console and command line get it: CSV whose first row names the columns. Every row is checked;
// nothing is written.

import type { AmountLanguage } from '../platform/amount-sentences.ts';
import { parseCsv } from '../platform/csv.ts';
import type { PaymentsContext } from './context.ts';
import { type PayoutReading, type PayoutRequest, readPayout } from './payout-requests.ts';

/**
 * A file is ordered in one transaction that keeps the wallet locked. With 20,000 rows that took nine seconds, and other
 * postings of the holder give up after four.
 */
export const MAX_PAYOUT_FILE_ROWS = 5_000;
export const MAX_PAYOUT_FILE_BYTES = 1024 * 1024;
/** The first row names the columns, and people count rows from one. */
const FIRST_LINE = 2;

export const REQUIRED_COLUMNS = ['amount', 'currency', 'mobile'] as const;
export const OPTIONAL_COLUMNS = ['method', 'payee', 'invoice_no', 'detail', 'callback_url'] as const;
/** Written beside the rows to fix, and ignored when such a file is read again. */
export const PROBLEM_COLUMN = 'problem';
const KNOWN_COLUMNS: readonly string[] = [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS, PROBLEM_COLUMN];

type ColumnName = (typeof REQUIRED_COLUMNS)[number] | (typeof OPTIONAL_COLUMNS)[number];

export type CheckedRow = { line: number; cells: string[]; reading: PayoutReading };

export type PayoutFileReading =
  | { ok: true; columns: string[]; rows: CheckedRow[] }
  | { ok: false; reason: 'too_large' | 'unreadable' | 'empty' }
  | { ok: false; reason: 'columns'; missing: string[]; unknown: string[] };

export async function readPayoutFile(
  ctx: PaymentsContext,
  holderId: bigint,
  text: string,
  options: { language?: AmountLanguage; progress?: (done: number, all: number) => void } = {},
): Promise<PayoutFileReading> {
  if (Buffer.byteLength(text) > MAX_PAYOUT_FILE_BYTES) return { ok: false, reason: 'too_large' };
  const table = parseCsv(text, MAX_PAYOUT_FILE_ROWS + 1);
  if (table === null) return { ok: false, reason: 'unreadable' };
  const [head = [], ...lines] = table;
  const columns = head.map((name) => name.toLowerCase().replace(/[\s-]+/g, '_'));
  const missing = REQUIRED_COLUMNS.filter((name) => !columns.includes(name));
  const unknown = columns.filter((name) => !KNOWN_COLUMNS.includes(name));
  if (missing.length > 0 || unknown.length > 0) return { ok: false, reason: 'columns', missing, unknown };
  if (lines.length === 0) return { ok: false, reason: 'empty' };
  const rows: CheckedRow[] = [];
  for (const [index, cells] of lines.entries()) {
    const request = requestOf((name) => cells[columns.indexOf(name)] ?? '');
    const reading = await readPayout(ctx, holderId, { ...request, language: options.language });
    rows.push({ line: index + FIRST_LINE, cells, reading });
    options.progress?.(rows.length, lines.length);
  }
  return { ok: true, columns, rows };
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

/** The rows with errors as CSV records, each with its error in a column that an import ignores. */
export function rowsToFix(columns: readonly string[], rows: readonly CheckedRow[]): string[][] {
  const kept = columns.flatMap((name, index) => (name === PROBLEM_COLUMN ? [] : [{ name, index }]));
  const records = rows
    .filter(({ reading }) => !reading.ok)
    .map((row) => [...kept.map(({ index }) => row.cells[index] ?? ''), problemOf(row)]);
  return [[...kept.map(({ name }) => name), PROBLEM_COLUMN], ...records];
}
