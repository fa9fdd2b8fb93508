// Any CSV or XLSX file, read as a mapping says.

import { Problem } from '../../platform/errors.ts';
import { isTimeZone } from '../../platform/time-zones.ts';
import { createReader } from '../../platform/validation.ts';
import type { LineFacts } from '../line-keys.ts';
import { plainName, type ReadingContext, type RowReader, type TableFormat } from './format.ts';
import { type Mapping, MappingSchema } from './mapping.ts';
import {
  type DecimalSign,
  idOrNull,
  isDatePattern,
  magnitudeOf,
  optionalAmount,
  phoneIn,
  RowError,
  requireCurrency,
} from './values.ts';

const reader = createReader(MappingSchema);

/** A mapping that can be used, or a refusal that names every error. */
export function requireMapping(input: unknown): Mapping {
  const reading = reader.read(input);
  const { amount, paidIn, withdrawn, dateFormat, zone } = reading.fields;
  if (amount === undefined && paidIn === undefined && withdrawn === undefined)
    reading.add('amount', 'Give the column `amount`, or the columns `paidIn` and `withdrawn`.');
  if (amount !== undefined && (paidIn !== undefined || withdrawn !== undefined))
    reading.add('amount', 'Give either `amount`, or `paidIn` and `withdrawn`, not both.');
  if (dateFormat !== undefined && !isDatePattern(dateFormat))
    reading.add('dateFormat', 'It must have year, month and day once each, such as dd/MM/yyyy HH:mm:ss.');
  if (zone !== undefined && !isTimeZone(zone)) reading.add('zone', 'It must be a time zone such as Africa/Lagos.');
  if (!reading.hasErrors()) return reading.fields as Mapping;
  const sentences = Object.entries(reading.errors).map(([field, list]) => `${field}: ${list.join(' ')}`);
  throw new Problem('invalid_params', {
    message: `The mapping cannot be used. ${sentences.join(' ')}`,
    errors: reading.errors,
  });
}

type Column = Mapping['date'];

export function mappedFormat(mapping: Mapping): TableFormat {
  const hasHeader = mapping.header ?? true;
  const skip = mapping.skip ?? 0;
  return {
    name: 'mapped',
    zone: mapping.zone ?? null,
    currency: null,
    headerAt(rows) {
      if (!hasHeader) return skip - 1;
      if (mapping.skip !== undefined) return skip;
      const wanted = namesIn(mapping);
      const index = rows.findIndex(({ cells }) => {
        const found = new Set(cells.map(plainName));
        return wanted.every((name) => found.has(name));
      });
      return index === -1 ? null : index;
    },
    open: (header, _, context) => rowReader(mapping, hasHeader ? header : [], context),
  };
}

/** The names of the columns that every file must have. */
function namesIn(mapping: Mapping): string[] {
  const needed = [mapping.date, mapping.time, mapping.amount, mapping.paidIn, mapping.withdrawn];
  return needed.filter((column) => typeof column === 'string').map(plainName);
}

function rowReader(mapping: Mapping, header: readonly string[], { times, currency }: ReadingContext): RowReader {
  const sign = mapping.decimalSign ?? null;
  const place = placesOf(header);
  const cell = (cells: readonly string[], column: Column | undefined) =>
    column === undefined ? '' : (cells[place(column)] ?? '').trim();
  return (cells) => {
    const date = cell(cells, mapping.date);
    if (date === '' && cells.filter((text) => text !== '').length <= 3) return null;
    const written = mapping.time === undefined ? date : `${date} ${cell(cells, mapping.time)}`;
    const movement = movementOf(mapping, (column) => cell(cells, column), sign);
    const fee = optionalAmount(cell(cells, mapping.fee), sign);
    return {
      occurredAt: mapping.dateFormat === undefined ? times.read(written) : times.readAs(written, mapping.dateFormat),
      kind: kindOf(mapping, cell(cells, mapping.kind?.column)),
      ...movement,
      state: stateOf(mapping, cell(cells, mapping.state?.column)),
      fee: fee === null ? null : magnitudeOf(fee),
      currency: requireCurrency(cell(cells, mapping.currency), currency),
      receipt: idOrNull(cell(cells, mapping.receipt)),
      reference: idOrNull(cell(cells, mapping.reference)),
      msisdn: phoneIn(cell(cells, mapping.msisdn)),
      balance: optionalAmount(cell(cells, mapping.balance), sign),
      description: cell(cells, mapping.description),
    };
  };
}

function placesOf(header: readonly string[]): (column: Column) => number {
  const names = header.map(plainName);
  return (column) => (typeof column === 'number' ? column - 1 : names.indexOf(plainName(column)));
}

function movementOf(
  mapping: Mapping,
  cell: (column: Column | undefined) => string,
  sign: DecimalSign | null,
): Pick<LineFacts, 'direction' | 'gross'> {
  if (mapping.amount === undefined) {
    const into = optionalAmount(cell(mapping.paidIn), sign) ?? 0n;
    const out = magnitudeOf(optionalAmount(cell(mapping.withdrawn), sign) ?? 0n);
    if ((into === 0n) === (out === 0n)) throw new RowError('Exactly one of the two amounts must be given.');
    return { direction: into > 0n ? 'in' : 'out', gross: magnitudeOf(into) + out };
  }
  const amount = optionalAmount(cell(mapping.amount), sign);
  if (amount === null) throw new RowError('The amount is missing.');
  const said = mapping.direction ? directionOf(mapping.direction, cell(mapping.direction.column)) : null;
  const positive = mapping.positive ?? 'in';
  const bySign = amount < 0n ? (positive === 'in' ? 'out' : 'in') : positive;
  return { direction: said ?? bySign, gross: magnitudeOf(amount) };
}

const isIn = (values: readonly string[] | undefined, text: string) =>
  values?.some((value) => plainName(value) === plainName(text)) === true;

function directionOf(direction: NonNullable<Mapping['direction']>, text: string): 'in' | 'out' {
  if (isIn(direction.in, text)) return 'in';
  if (isIn(direction.out, text)) return 'out';
  throw new RowError(`The direction "${text}" is not in the mapping.`);
}

function stateOf({ state }: Mapping, text: string): LineFacts['state'] {
  if (!state || isIn(state.succeeded, text)) return 'succeeded';
  if (isIn(state.failed, text)) return 'failed';
  if (isIn(state.pending, text)) return 'pending';
  throw new RowError(`The state "${text}" is not in the mapping.`);
}

function kindOf({ kind }: Mapping, text: string): LineFacts['kind'] {
  const found = (['fee', 'reversal', 'settlement', 'other'] as const).find((name) => isIn(kind?.[name], text));
  return found ?? 'payment';
}
