// Reads a file line by line: finds its form, and makes lines of its rows. Nothing is written here, and never more than the first
// rows and one batch are held.

import { Problem } from '../platform/errors.ts';
import { isTimeZone } from '../platform/time-zones.ts';
import type { AccountDefaults } from './account-defaults.ts';
import { type FoundRecords, type FoundTable, findRecords, findTable } from './formats.ts';
import { identityOf, type LineFacts, lineKeyOf, RepeatCounter } from './line-keys.ts';
import type { CellRow, FormatName, ReadingContext, RecordRow, SourceRow } from './readers/format.ts';
import type { Mapping } from './readers/mapping.ts';
import { createLocalTimes, type DateOrder, findDateOrder, RowError } from './readers/values.ts';
import type { StatementProblem } from './statement-files.ts';
import type { NewLine } from './statement-lines.ts';
import { type FileFacts, openRows, type StatementRows } from './statement-source.ts';

/** Rows that are looked at before the form is known; title rows are among them. */
const SAMPLE_ROWS = 500;
/** Of the rows that are held at once, for the form or as a batch: there are fewer of them where they are long. */
const HELD_CHARACTERS = 4 * 1024 * 1024;
/** Twice the most that the console's limit of bytes can hold in usual lines. */
export const MAX_STATEMENT_LINES = 4_000_000;
const BATCH_LINES = 1_000;
const MAX_RAW = 8_000;
const MAX_DESCRIPTION = 1_000;

/** What a person may say about a file. */
export type ReadingChoices = {
  format?: FormatName | undefined;
  mapping?: Mapping | undefined;
  currency?: string | undefined;
  zone?: string | undefined;
  /** Our own number, where a file names two parties and not which is ours. */
  account?: string | undefined;
  dateOrder?: DateOrder | undefined;
};

export type LineBatch = { lines: NewLine[]; problems: StatementProblem[] };

export type StatementReading = {
  format: FormatName;
  zone: string;
  currency: string | null;
  batches(at: Date): AsyncGenerator<LineBatch>;
  /** Known when all batches were read; null where the lines have no balance. */
  balances(): { openingBalance: bigint | null; closingBalance: bigint | null };
  close(): Promise<void>;
};

const refuse = (message: string) => new Problem('invalid_params', { message });

/** Opens a file and finds its form, or refuses it. */
export async function openStatement(
  path: string,
  facts: FileFacts,
  account: AccountDefaults,
  choices: ReadingChoices,
  now: Date,
): Promise<StatementReading> {
  const source = await openRows(path, facts);
  try {
    const sample = await takeRows(source, SAMPLE_ROWS);
    const found = findForm(sample, choices);
    const zone = choices.zone ?? choices.mapping?.zone ?? found.format.zone ?? account.zone;
    if (zone === null)
      throw refuse('The connection is used in several time zones. Say which one the times of the file are in.');
    if (!isTimeZone(zone))
      throw refuse(`"${zone.slice(0, 64)}" is not a time zone. Use a name such as Africa/Nairobi.`);
    const currency = choices.currency?.toUpperCase() ?? found.format.currency ?? account.currency;
    if (currency !== null && !/^[A-Z]{3}$/.test(currency))
      throw refuse(`"${currency.slice(0, 10)}" is not a currency.`);
    const dateOrder = choices.dateOrder ?? findDateOrder(datesIn(sample), now);
    const times = createLocalTimes({ zone, dateOrder, serialDates: source.serialDates });
    const context = { times, currency, account: choices.account ?? null, settings: account.settings };
    const ends = new BalanceEnds();
    return {
      format: found.format.name,
      zone,
      currency,
      batches: (at) => batchesOf(rowsAfterHeader(source, sample, found), readerOf(found, sample, context), ends, at),
      balances: () => ends.balances(),
      close: () => source.close(),
    };
  } catch (error) {
    await source.close();
    throw error;
  }
}

async function takeRows({ rows }: StatementRows, count: number): Promise<SourceRow[]> {
  const taken: SourceRow[] = [];
  let characters = 0;
  while (taken.length < count && characters < HELD_CHARACTERS) {
    const next = await rows.next();
    if (next.done) break;
    taken.push(next.value);
    characters += next.value.raw.length;
  }
  return taken;
}

const isCells = (row: SourceRow): row is CellRow => 'cells' in row;
const isRecord = (row: SourceRow): row is RecordRow => 'record' in row;

type FoundForm = FoundTable | FoundRecords;

function findForm(sample: readonly SourceRow[], choices: ReadingChoices): FoundForm {
  const records = sample.filter(isRecord);
  if (records.length > 0) return findRecords(records, choices);
  const cells = sample.filter(isCells);
  if (cells.length === 0)
    throw refuse(
      sample[0] && 'reason' in sample[0] ? `Nothing can be read: ${sample[0].reason}` : 'The file has no lines.',
    );
  return findTable(cells, choices);
}

const DATE_WITH_SLASHES = /^\s*\d{1,2}\/\d{1,2}\/\d{4}\b/;

const datesIn = (sample: readonly SourceRow[]) =>
  sample.filter(isCells).flatMap(({ cells }) => cells.filter((cell) => DATE_WITH_SLASHES.test(cell)));

const linesIn = (sample: readonly SourceRow[], { header }: FoundTable) => sample.filter(isCells).slice(header + 1);

/** The rest of the file is read when it is asked for. Rows up to the header are no lines. */
async function* rowsAfterHeader(
  { rows }: StatementRows,
  sample: readonly SourceRow[],
  found: FoundForm,
): AsyncGenerator<SourceRow> {
  const header = found.kind === 'table' ? sample.filter(isCells)[found.header] : undefined;
  yield* sample.filter((row) => row.number > (header?.number ?? 0));
  yield* rows;
}

type AnyReader = (row: CellRow | RecordRow) => LineFacts | null;

function readerOf(found: FoundForm, sample: readonly SourceRow[], context: ReadingContext): AnyReader {
  if (found.kind === 'records') {
    return (row) => {
      if (!('record' in row) || !found.format.isRecord(row.record))
        throw new RowError('The record has another form than the others.');
      return found.format.read(row.record, context);
    };
  }
  const header = found.header < 0 ? [] : (sample.filter(isCells)[found.header]?.cells ?? []);
  const read = found.format.open(header, linesIn(sample, found), context);
  return (row) => ('cells' in row ? read(row.cells) : null);
}

async function* batchesOf(
  rows: AsyncIterable<SourceRow>,
  read: AnyReader,
  ends: BalanceEnds,
  at: Date,
): AsyncGenerator<LineBatch> {
  const repeats = new RepeatCounter();
  let batch: LineBatch = { lines: [], problems: [] };
  let count = 0;
  let characters = 0;
  for await (const row of rows) {
    const line = readRow(row, read);
    if (line === null) continue;
    if (++count > MAX_STATEMENT_LINES)
      throw refuse(`The file has more than ${MAX_STATEMENT_LINES} lines. Import it in parts.`);
    if ('reason' in line) batch.problems.push(line);
    else {
      const identity = identityOf(line);
      const lineKey = lineKeyOf(identity, repeats.count(identity));
      ends.see(line);
      batch.lines.push({ ...line, lineKey, lineNumber: row.number, raw: storable(row.raw, MAX_RAW), readAt: at });
    }
    characters += row.raw.length;
    if (batch.lines.length + batch.problems.length >= BATCH_LINES || characters >= HELD_CHARACTERS) {
      yield batch;
      batch = { lines: [], problems: [] };
      characters = 0;
    }
  }
  yield batch;
}

/** Null: the row is no line. */
function readRow(row: SourceRow, read: AnyReader): LineFacts | StatementProblem | null {
  const problem = (reason: string) => ({ lineNumber: row.number, reason, raw: storable(row.raw, MAX_RAW) });
  if ('reason' in row) return problem(row.reason);
  try {
    const line = read(row);
    return line && cleaned(line);
  } catch (error) {
    if (error instanceof RowError) return problem(storable(error.message, MAX_DESCRIPTION));
    throw error;
  }
}

function cleaned(line: LineFacts): LineFacts {
  const clean = (text: string | null) => text && storable(text, MAX_DESCRIPTION);
  return {
    ...line,
    receipt: clean(line.receipt),
    reference: clean(line.reference),
    description: storable(line.description, MAX_DESCRIPTION),
  };
}

/** What PostgreSQL can store as text. */
function storable(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replaceAll('\0', '\u2400').toWellFormed();
}

/** The first and the last line with a balance, in the order of the file, which may be either way round. */
class BalanceEnds {
  #first: LineFacts | null = null;
  #second: LineFacts | null = null;
  #last: LineFacts | null = null;
  #currencies = new Set<string>();

  see(line: LineFacts): void {
    if (line.balance === null || line.state !== 'succeeded') return;
    if (this.#first) this.#second ??= line;
    this.#first ??= line;
    this.#last = line;
    this.#currencies.add(line.currency);
  }

  balances(): { openingBalance: bigint | null; closingBalance: bigint | null } {
    const [first, last] = [this.#first, this.#last];
    if (!first || !last || this.#currencies.size !== 1) return { openingBalance: null, closingBalance: null };
    const [oldest, newest] = this.#isNewestFirst(first, last) ? [last, first] : [first, last];
    return { openingBalance: balanceBefore(oldest), closingBalance: newest.balance };
  }

  /** Where all lines have one time, the balances show which came first. */
  #isNewestFirst(first: LineFacts, last: LineFacts): boolean {
    if (first.occurredAt.getTime() !== last.occurredAt.getTime()) return first.occurredAt > last.occurredAt;
    return this.#second !== null && balanceBefore(first) === this.#second.balance;
  }
}

/** Null where the line has a fee: no file says whether its balance is before or after it. */
function balanceBefore({ balance, direction, gross, fee }: LineFacts): bigint | null {
  if (balance === null || (fee ?? 0n) !== 0n) return null;
  return direction === 'in' ? balance - gross : balance + gross;
}
