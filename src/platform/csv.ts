// CSV as spreadsheets write and read it (RFC 4180; also with semicolons, as where the comma is the decimal sign, and tabs).

import { pipeline, type Readable } from 'node:stream';
import { parse as parseStream } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { type Options, stringify } from 'csv-stringify/sync';

export type CsvCell = string | number | bigint | null;
export type CsvRow = readonly CsvCell[];

/** A row that is not empty, with its number as a spreadsheet shows it and its cells trimmed. */
export type CsvRecord = { row: number; cells: string[] };

/** Rows of a file, those included whose cells are all empty: spreadsheets write them as far as anything was ever typed. */
const MAX_ROWS_IN_ALL = 50_000;

/**
 * The rows of a file. Null: a quote never ends, or there are more than `maxRows`. So many may also have another width than the
 * first: the parser makes an error of each of them, which takes it as long as hundreds of others.
 */
export function parseCsv(text: string, maxRows: number): CsvRecord[] | null {
  let [rows, uneven, width] = [0, 0, 0];
  const records: CsvRecord[] = [];
  const keep = (cells: string[], { empty_lines: emptyLines }: { empty_lines: number }): null => {
    if (rows === 0) width = cells.length;
    rows++;
    if (cells.length !== width) uneven++;
    if (cells.some((cell) => cell !== '')) records.push({ row: rows + emptyLines, cells });
    if (Math.max(records.length, uneven) > maxRows || rows > MAX_ROWS_IN_ALL) throw new RangeError('too many rows');
    return null;
  };
  try {
    parse(text, {
      bom: true,
      delimiter: separatorOf(text),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      trim: true,
      on_record: keep,
    });
    return records;
  } catch {
    return null;
  }
}

/** Decided by the heading: a semicolon or a tab (cells pasted from a spreadsheet) only where there is no comma. */
function separatorOf(text: string): string {
  const heading = /[^\r\n]+/.exec(text)?.[0] ?? '';
  return [',', ';', '\t'].find((separator) => heading.includes(separator)) ?? ',';
}

/**
 * Rows as a file, every text in quotes. Text that a spreadsheet would run as a formula gets an apostrophe in front and stays
 * text; numbers, also those that were given as text, stay numbers.
 */
export function writeCsv(rows: readonly CsvRow[]): string {
  return printRows(rows, { quoted_string: true });
}

/** The same for a page, where people read and change it: quotes only where they are needed. */
export function writeCsvToRead(rows: readonly CsvRow[]): string {
  return printRows(rows, { quoted_match: /[;\t]/ });
}

function printRows(rows: readonly CsvRow[], quotes: Options): string {
  const cells = rows.map((row) => row.map(plainCell));
  return stringify(cells, { record_delimiter: 'windows', cast: { bigint: String, number: String }, ...quotes });
}

const NUMBER = /^[+-]?\d[\d .()]*$/;
/** What begins a formula: also after spaces and line breaks, and in the wide forms of East Asian keyboards. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;
/** Where the semicolon separates cells (French), a reader that ignores quotes begins a cell after it. */
const FORMULA_INSIDE = /([;\t\r\n]\s*)(?=[=+\-@＝＋－＠])/g;

function plainCell(cell: CsvCell): CsvCell {
  if (typeof cell !== 'string' || cell === '') return cell === '' ? null : cell;
  return withoutFormula(cell);
}

/** Text that no spreadsheet runs, as `writeCsv` writes it; also for files of spreadsheets, which people save as CSV. */
export function withoutFormula(text: string): string {
  if (NUMBER.test(text)) return text;
  return `${FORMULA.test(text) ? "'" : ''}${text.replace(FORMULA_INSIDE, "$1'")}`;
}

/** A file with a heading, row by row, with the cells of some columns changed. */
export async function* changeColumns(
  file: Readable,
  changes: Readonly<Record<string, (cell: string) => string>>,
): AsyncGenerator<Buffer> {
  // What goes wrong with the file is thrown by the loop.
  const rows = pipeline(file, parseStream(), () => undefined);
  let changeOf: (((cell: string) => string) | undefined)[] | null = null;
  for await (const cells of rows as AsyncIterable<string[]>) {
    yield Buffer.from(stringify([cells.map((cell, column) => changeOf?.[column]?.(cell) ?? cell)]));
    changeOf ??= cells.map((name) => changes[name]);
  }
}
