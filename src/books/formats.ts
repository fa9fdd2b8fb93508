// Which form a statement has: found from its first rows, unless a person says it.

import { Problem } from '../platform/errors.ts';
import {
  type CellRow,
  FORMAT_NAMES,
  type FormatName,
  type RecordFormat,
  type RecordRow,
  type TableFormat,
} from './readers/format.ts';
import { airtel, safaricomPull, sonatel, wave, waveTable } from './readers/json-operators.ts';
import { mappedFormat } from './readers/mapped.ts';
import type { Mapping } from './readers/mapping.ts';
import { mtn } from './readers/mtn.ts';
import { pawapay } from './readers/pawapay.ts';
import { paystack, paystackTable } from './readers/paystack.ts';
import { safaricom, telecel } from './readers/safaricom.ts';

/** The first that fits: those with more columns to recognise come first. */
const TABLES: readonly TableFormat[] = [telecel, safaricom, pawapay, waveTable, mtn, paystackTable];
const RECORDS: readonly RecordFormat[] = [safaricomPull, airtel, sonatel, wave, paystack];

/** `header`: its place among the rows; -1 where the lines begin at once. */
export type FoundTable = { kind: 'table'; format: TableFormat; header: number };
export type FoundRecords = { kind: 'records'; format: RecordFormat };

export type FormatChoice = { format?: FormatName | undefined; mapping?: Mapping | undefined };

const refuse = (message: string) => new Problem('invalid_params', { message });

export function requireFormatName(text: string): FormatName {
  const name = FORMAT_NAMES.find((each) => each === text);
  if (name) return name;
  throw refuse(`There is no format "${text.slice(0, 40)}". The formats are: ${FORMAT_NAMES.join(', ')}.`);
}

export function findTable(rows: readonly CellRow[], { format, mapping }: FormatChoice): FoundTable {
  if (mapping) {
    const mapped = mappedFormat(mapping);
    const header = mapped.headerAt(rows);
    if (header === null || header >= rows.length)
      throw refuse('The columns of the mapping are not in the first rows of the file. Compare their names.');
    return { kind: 'table', format: mapped, header };
  }
  if (format === 'mapped') throw refuse('The format "mapped" needs a mapping.');
  for (const each of TABLES) {
    if (format !== undefined && each.name !== format) continue;
    const header = each.headerAt(rows);
    if (header !== null) return { kind: 'table', format: each, header };
  }
  const first = rows[0]?.cells.filter((cell) => cell !== '').slice(0, 12) ?? [];
  const seen = first.length > 0 ? ` The first row is: ${first.join(' | ').slice(0, 200)}.` : '';
  throw refuse(
    format === undefined
      ? `The file has the form of no operator that we know. Say with a mapping what its columns are.${seen}`
      : `The file has not the form "${format}".${seen}`,
  );
}

export function findRecords(rows: readonly RecordRow[], { format }: FormatChoice): FoundRecords {
  for (const each of RECORDS) {
    if (format !== undefined && each.name !== format) continue;
    if (rows.some(({ record }) => each.isRecord(record))) return { kind: 'records', format: each };
  }
  const members = Object.keys(rows[0]?.record ?? {})
    .join(', ')
    .slice(0, 200);
  throw refuse(
    `The file has the form of no operator that we know${format ? `, or not the form "${format}"` : ''}. Its members are: ${members}.`,
  );
}
