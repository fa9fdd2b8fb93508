// Columns of a batched statement. Each column is written once, with its name, its PostgreSQL type and where its value comes
// from; the text of the statement and its array parameters follow from that and cannot get out of step.
//
//   const EVIDENCE = columns<NewEvidence>(2, {
//     holder_id: ['bigint', (row) => row.holderId],
//     state: 'text',                                    // same as ['text', (row) => row.state]
//   });
//   `insert into evidence (${EVIDENCE.names}, at) select ${EVIDENCE.names}, $1 from ${EVIDENCE.rows}`
//   [at, ...EVIDENCE.arrays(evidence)]

export type ColumnSpec<Row> = string | readonly [type: string, value: (row: Row) => unknown];

export type Columns<Row> = {
  /** The names in order: "holder_id, state". */
  readonly names: string;
  /** The array parameters alone, for a function call: "$2::bigint[], $3::text[]". */
  readonly parameters: string;
  /** The rows as a table: "unnest($2::bigint[], $3::text[]) as input (holder_id, state)". */
  readonly rows: string;
  /** One array a column, in the order of the parameters. */
  arrays(rows: readonly Row[]): unknown[][];
};

/** `firstParameter` is the number of the first array parameter; plain parameters stand before it. */
export function columns<Row>(firstParameter: number, specs: Record<string, ColumnSpec<Row>>): Columns<Row> {
  const list = Object.entries(specs).map(([name, spec]) => {
    const [type, value] = typeof spec === 'string' ? [spec, (row: Row) => row[name as keyof Row]] : spec;
    return { name, type, value: type === 'timestamptz' ? (row: Row) => isoMoment(value(row)) : value };
  });
  const names = list.map((column) => column.name).join(', ');
  const parameters = list.map((column, index) => `$${firstParameter + index}::${column.type}[]`).join(', ');
  return {
    names,
    parameters,
    rows: `unnest(${parameters}) as input (${names})`,
    arrays: (rows) => list.map((column) => rows.map(column.value)),
  };
}

/** The driver prints a date in the zone of the machine, part by part; this is the same moment at a tenth of the cost. */
function isoMoment(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
