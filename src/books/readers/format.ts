// What a form of statement is: how it is recognised, and how one row of it becomes a line.

import type { LineFacts } from '../line-keys.ts';
import type { LocalTimes } from './values.ts';

export const FORMAT_NAMES = [
  'safaricom',
  'telecel',
  'mtn',
  'airtel',
  'pawapay',
  'paystack',
  'wave',
  'sonatel',
  'mapped',
] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** A row of a table. `number` as a spreadsheet, or an editor, counts. */
export type CellRow = { number: number; cells: string[]; raw: string };
/** An object of a list. */
export type RecordRow = { number: number; record: JsonRecord; raw: string };
/** What could not even be split. */
export type BrokenRow = { number: number; reason: string; raw: string };
export type SourceRow = CellRow | RecordRow | BrokenRow;

export type JsonRecord = { readonly [name: string]: unknown };

/** What a file does not say of itself. */
export type ReadingContext = {
  times: LocalTimes;
  /** Of lines that name none; null where the connection has several. */
  currency: string | null;
  /** Our own number or account, where a file names two parties and not which of them we are. */
  account: string | null;
  /** Of the connection, where an operator's amounts depend on one. */
  settings: Readonly<Record<string, string>>;
};

/** Null: a row that is no line, such as totals. Throws a RowError. */
export type RowReader = (cells: readonly string[]) => LineFacts | null;

export type TableFormat = {
  readonly name: FormatName;
  /** The zone of its times; null: that of the connection's country. */
  readonly zone: string | null;
  /** The currency of all its lines; null: the file or the connection says. */
  readonly currency: string | null;
  /** Where the header is among the first rows; null: this is another form. -1: it has lines at once. */
  headerAt(rows: readonly CellRow[]): number | null;
  /** `lines`: the first rows after the header. */
  open(header: readonly string[], lines: readonly CellRow[], context: ReadingContext): RowReader;
};

export type RecordFormat = {
  readonly name: FormatName;
  readonly zone: string | null;
  readonly currency: string | null;
  isRecord(record: JsonRecord): boolean;
  read(record: JsonRecord, context: ReadingContext): LineFacts | null;
};

/** "Receipt No." and "receipt_no" are the same name. */
export function plainName(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** The first row that has a cell for each of the names. */
export function headerWith(rows: readonly CellRow[], ...names: string[]): number | null {
  const index = rows.findIndex(({ cells }) => {
    const found = new Set(cells.map(plainName));
    return names.every((name) => name.split('|').some((one) => found.has(one)));
  });
  return index === -1 ? null : index;
}

/** Reads cells by the names of their columns; of several names the first that the file has and that is not empty counts. */
export function cellsByName(header: readonly string[]): (cells: readonly string[], ...names: string[]) => string {
  const places = new Map<string, number>();
  for (const [index, name] of header.entries()) {
    const plain = plainName(name);
    if (plain !== '' && !places.has(plain)) places.set(plain, index);
  }
  return (cells, ...names) => {
    for (const name of names) {
      const place = places.get(name);
      const cell = place === undefined ? '' : (cells[place] ?? '').trim();
      if (cell !== '') return cell;
    }
    return '';
  };
}

/** Whether the file has one of these columns. */
export function hasColumn(header: readonly string[], ...names: string[]): boolean {
  return header.some((name) => names.includes(plainName(name)));
}

/** A member as text: operators send numbers as texts and texts as numbers. */
export function textOf(record: JsonRecord, ...names: string[]): string {
  for (const name of names) {
    const value = record[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  }
  return '';
}

export function memberOf(record: JsonRecord, name: string): JsonRecord {
  const value = record[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonRecord) : {};
}
