// Columns of a batched statement. Each column is written once, with its name, its PostgreSQL type and where its value comes
// from; the text of the statement and its array parameters follow from that and cannot get out of step.
//
//   const EVIDENCE = columns<NewEvidence>(2, {
//     holder_id: ['bigint', (row) => row.holderId],
//     state: 'text',                                    // same as ['text', (row) => row.state]
//   });
//   `insert into evidence (${EVIDENCE.names}, at) select ${EVIDENCE.names}, $1 from ${EVIDENCE.rows}`
//   [at, ...EVIDENCE.arrays(evidence)]

import { isoMillis } from './clock.ts';

export type ColumnSpec<Row> = string | readonly [type: string, value: (row: Row) => unknown];

export type Columns<Row> = {
  /** The names in order: "holder_id, state". */
  readonly names: string;
  /** The array parameters alone, for a function call: "$2::bigint[], $3::text[]". */
  readonly parameters: string;
  /** The rows as a table: "unnest($2::bigint[], $3::text[]) as input (holder_id, state)". */
  readonly rows: string;
  /** One array a column, in the order of the parameters, each as the text that PostgreSQL reads. */
  arrays(rows: readonly Row[]): string[];
  /** One row, whose parameters are plain values: "select $2::bigint as holder_id, $3::text as state". The planner sees through it. */
  readonly row: string;
  /** The values of one row, in the order of the parameters. */
  values(row: Row): (string | Buffer | null)[];
};

/** `firstParameter` is the number of the first array parameter; plain parameters stand before it. */
export function columns<Row>(firstParameter: number, specs: Record<string, ColumnSpec<Row>>): Columns<Row> {
  const list = Object.entries(specs).map(([name, spec]) => {
    const [type, value] = typeof spec === 'string' ? [spec, (row: Row) => row[name as keyof Row]] : spec;
    return { name, type, value };
  });
  const names = list.map((column) => column.name).join(', ');
  const parameters = list.map((column, index) => `$${firstParameter + index}::${column.type}[]`).join(', ');
  return {
    names,
    parameters,
    rows: `unnest(${parameters}) as input (${names})`,
    arrays: (rows) => list.map(({ type, value }) => arrayText(rows, value, type === 'bytea' ? bytesText : elementText)),
    row: `select ${list.map(({ name, type }, index) => `$${firstParameter + index}::${type} as ${name}`).join(', ')}`,
    values: (row) => list.map(({ type, value }) => parameterOf(value(row), type)),
  };
}

/** As the driver sends it without looking at it again. */
function parameterOf(value: unknown, type: string): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' && type === 'bytea') return bytesOfDigits(value);
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value as bigint | number | boolean);
  if (value instanceof Date) return isoMillis(value);
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value);
  return JSON.stringify(value);
}

/**
 * The text of an array. Written here because the driver looks at each element three times, and prints a date part by part in the
 * zone of the machine; a batch of accepted payments has thirty arrays. Many rows have what the row before has: its text is used again.
 */
function arrayText<Row>(
  rows: readonly Row[],
  value: (row: Row) => unknown,
  textOf: (element: unknown) => string,
): string {
  let text = '';
  let last: unknown;
  let written = 'NULL';
  for (const row of rows) {
    const element = value(row);
    if (element !== last) written = textOf(element);
    last = element;
    text += text === '' ? written : `,${written}`;
  }
  return `{${text}}`;
}

/** Texts are always in quotes, so that none can be read as NULL or as two elements. */
function elementText(element: unknown): string {
  if (element === null || element === undefined) return 'NULL';
  if (typeof element === 'string') return quoted(element);
  if (typeof element !== 'object') return String(element as bigint | number | boolean);
  if (element instanceof Date) return `"${isoMillis(element)}"`;
  if (element instanceof Uint8Array) return `\\\\x${hexOf(element)}`;
  return quoted(JSON.stringify(element));
}

/** Hexadecimal digits as PostgreSQL reads bytes. */
export const bytesOfDigits = (digits: string) => `\\x${digits}`;
/** Bytes may also be given as their hexadecimal digits. */
const bytesText = (element: unknown) => (typeof element === 'string' ? `\\\\x${element}` : elementText(element));
const hexOf = (bytes: Uint8Array) => (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('hex');

function quoted(text: string): string {
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
