// CSV as spreadsheets write and read it (RFC 4180; also with semicolons, as where the comma is the decimal sign).

import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

export type CsvCell = string | number | bigint | null;
export type CsvRow = readonly CsvCell[];

/** The rows of a file with trimmed cells, without empty lines. Null: a quote never ends, or there are more than `maxRows`. */
export function parseCsv(text: string, maxRows: number): string[][] | null {
  try {
    const rows = parse(text, {
      bom: true,
      delimiter: separatorOf(text),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
      to: maxRows + 1,
    }) as string[][];
    return rows.length > maxRows ? null : rows;
  } catch {
    return null;
  }
}

/** Decided by the heading: a semicolon only where there is no comma. */
function separatorOf(text: string): string {
  const heading = /^[^\r\n]*/.exec(text)?.[0] ?? '';
  return heading.includes(';') && !heading.includes(',') ? ';' : ',';
}

/**
 * Rows as text. Text that a spreadsheet would run as a formula gets an apostrophe in front and stays text; numbers,
 * also those that were given as text, stay numbers.
 */
export function writeCsv(rows: readonly CsvRow[]): string {
  return stringify(
    rows.map((row) => row.map(plainCell)),
    { record_delimiter: 'windows', quoted_match: /[;\t]/ },
  );
}

const NUMBER = /^[+-]?\d[\d\s.()]*$/;

function plainCell(cell: CsvCell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  return /^[=+\-@\t\r]/.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
}
