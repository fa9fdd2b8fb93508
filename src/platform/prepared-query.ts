// One statement on a connection of ours, sent with less than the driver's own query sends: the columns of a prepared statement are
// asked for once per connection, not each time, and a setting of the transaction goes in the same message, without a begin and a
// commit around it. What is sent up to one sync is one transaction.

import { createRequire } from 'node:module';
import pg from 'pg';

type Prepared = { readonly name: string; readonly text: string };

/** Executed first in the transaction of another statement. What it answers is not read. */
export type Preamble = Prepared & { readonly values: readonly string[] };

type ParseText = (text: string) => unknown;

/** What is known of a statement's columns. PostgreSQL refuses a prepared statement whose columns have changed. */
type Columns = { names: string[]; parsers: (ParseText | null)[]; empty: Record<string, unknown> };

/** The columns of the prepared statements of each connection. */
export type KnownColumns = WeakMap<object, Map<string, Columns>>;

type Wire = pg.Connection & {
  /** By name, with their text. */
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
};

type Encoded = string | Buffer | null;

/** The driver's own translation of a value, which it exports to its other packages only. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as {
  prepareValue: (value: unknown) => Encoded;
};

/** A connection that sends statements without waiting for answers takes only queries of this class. */
const DriverQuery = pg.Query as unknown as new (text: string) => object;

const NO_COLUMNS: Columns = { names: [], parsers: [], empty: {} };

type Done = (error: Error | null, rows?: object[]) => void;

class PreparedQuery extends DriverQuery {
  // The driver reads the name and the text when PostgreSQL has parsed or refused a statement: they are those of the one it is at.
  name: string;
  text: string;
  /** The driver puts its own in between, which ends the wait for an answer. */
  callback: Done;
  readonly #main: Prepared;
  readonly #values: Encoded[];
  readonly #known: KnownColumns;
  #preamble: Preamble | null;
  #connection: Wire | null = null;
  #columns: Columns | null = null;
  #failure: Error | null = null;
  readonly #rows: object[] = [];

  constructor(known: KnownColumns, main: Prepared, values: unknown[], preamble: Preamble | null, done: Done) {
    super('');
    this.#known = known;
    this.#main = main;
    this.#values = values.map((value) => prepareValue(value));
    this.#preamble = preamble;
    ({ name: this.name, text: this.text } = preamble ?? main);
    this.callback = done;
  }

  submit(connection: pg.Connection): Error | null {
    const wire = connection as Wire;
    const earlier = textOf(wire, this.#main.name);
    if (earlier !== undefined && earlier !== this.#main.text)
      return new Error(`The name "${this.#main.name}" was given to another statement before.`);
    this.#connection = wire;
    this.#columns = this.#known.get(wire)?.get(this.#main.name) ?? null;
    // Written together: one call of the system, and PostgreSQL wakes up once.
    wire.stream.cork();
    try {
      if (this.#preamble) execute(wire, this.#preamble, this.#preamble.values, false);
      execute(wire, this.#main, this.#values, this.#columns === null);
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#columns = columnsOf(fields);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.#preamble || this.#failure) return;
    try {
      this.#rows.push(rowOf(this.#columns ?? NO_COLUMNS, fields));
    } catch (error) {
      this.#failure = error as Error;
    }
  }

  handleCommandComplete(): void {
    if (this.#preamble) {
      this.#preamble = null;
      ({ name: this.name, text: this.text } = this.#main);
    } else if (this.#connection && this.#main.name !== '')
      remember(this.#known, this.#connection, this.#main.name, this.#columns ?? NO_COLUMNS);
  }

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#rows);
  }

  handleError(error: Error): void {
    // Where the preamble failed, the driver forgets only that this one was on its way.
    if (this.#connection) delete this.#connection.submittedNamedStatements[this.#main.name];
    this.callback(error);
  }
}

/** Sends one statement. With an empty name it is parsed anew. */
export async function sendPrepared<R extends object>(
  known: KnownColumns,
  client: pg.ClientBase,
  statement: Prepared,
  values: unknown[],
  preamble: Preamble | null,
): Promise<R[]> {
  const { promise, resolve, reject } = Promise.withResolvers<R[]>();
  const done: Done = (error, rows = []) => (error ? reject(error) : resolve(rows as R[]));
  client.query(new PreparedQuery(known, statement, values, preamble, done));
  try {
    return await promise;
  } catch (error) {
    // Its own stack leads to the socket that the answer came from; this one leads to who asked.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

function remember(known: KnownColumns, wire: Wire, name: string, columns: Columns): void {
  const here = known.get(wire);
  if (here) here.set(name, columns);
  else known.set(wire, new Map([[name, columns]]));
}

function textOf(wire: Wire, name: string): string | undefined {
  return name === '' ? undefined : (wire.parsedStatements[name] ?? wire.submittedNamedStatements[name]);
}

function execute(wire: Wire, { name, text }: Prepared, values: readonly Encoded[], describe: boolean): void {
  if (textOf(wire, name) === undefined) {
    wire.parse({ name, text, types: [] }, true);
    if (name !== '') wire.submittedNamedStatements[name] = text;
  }
  wire.bind({ statement: name, values: values as Encoded[] }, true);
  if (describe) wire.describe({ type: 'P' }, true);
  wire.execute(null, true);
}

function columnsOf(fields: pg.FieldDef[]): Columns {
  const names = fields.map(({ name }) => name);
  return {
    names,
    // Of two columns with one name the last is read.
    parsers: fields.map(({ dataTypeID, name }, index) =>
      names.lastIndexOf(name) === index ? (pg.types.getTypeParser(dataTypeID, 'text') as ParseText) : null,
    ),
    // Copied for each row, so that all have their members in one order, and V8 finds them fast.
    empty: Object.fromEntries(names.map((name) => [name, null])),
  };
}

function rowOf({ names, parsers, empty }: Columns, fields: (string | null)[]): object {
  const row = { ...empty };
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as string | null;
    const parse = parsers[index];
    if (field !== null && parse) row[names[index] as string] = parse(field);
  }
  return row;
}
