// Lists a holder's transactions: filters, pages by key in both directions, and totals. Ids grow with time, so a range of days is
// a range of ids. A filter that no index supports scans a limited number of rows per page.

import type { Reader } from '../platform/db.ts';
import { lowestUuid } from '../platform/ids.ts';
import type { Status, TransactionDirection } from './states.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

/** Rows that one page may scan. With a filter that matches few rows the page says how far it got; the next goes on there. */
const SCAN_ROWS = 20_000;
/** A text search compares five columns of each row, so it scans fewer rows. */
const TEXT_SCAN_ROWS = 8_000;
/** Totals, and an order by amount, are those of the newest rows: to read all of a million would take seconds. */
export const COUNTED_ROWS = 10_000;
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const OLDEST = '00000000-0000-0000-0000-000000000000';

export type TransactionFilter = {
  direction?: TransactionDirection | undefined;
  /** One of these. */
  statuses?: readonly Status[] | undefined;
  method?: string | undefined;
  countryId?: number | undefined;
  currency?: string | undefined;
  integrationId?: bigint | undefined;
  /** From this moment, inclusive, to that one, exclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
  min?: bigint | undefined;
  max?: bigint | undefined;
  /** One of these: digits with the dial code. */
  numbers?: readonly string[] | undefined;
  /** One of the two references of the caller, exactly. */
  reference?: string | undefined;
  linkId?: string | undefined;
  /** Part of a number, receipt, payee, invoice or description. */
  text?: string | undefined;
};

export type TransactionPage = {
  /** Newest first. */
  rows: Transaction[];
  /** Where the page of older rows begins; null when there is none. */
  next: string | null;
  /** Where the page of newer rows begins; null when there is none. */
  newer: string | null;
  /** Set when the page ended because it scanned enough rows, not because it is full: the moment it got to. */
  lookedBackTo: Date | null;
};

/** `before`: rows older than this id; `after`: the rows that follow this id. Without both: the newest. */
type PagePlace = { before?: string | null; after?: string | null; limit: number };

export async function listTransactions(
  reader: Reader,
  holderId: bigint,
  filter: TransactionFilter,
  page: PagePlace,
): Promise<TransactionPage> {
  const { before = null, after = null, limit } = page;
  const span = spanOf(filter, { before, after });
  const order = after === null ? 'desc' : 'asc';
  const { where, values } = conditions(filter, [holderId, span.high, span.low, limit + 1]);
  const rows = await reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from ${source(filter, order)} t ${where} order by t.id ${order} limit $4`,
    values,
  );
  const shown = rows.slice(0, limit);
  const isFull = rows.length > limit;
  const edge = !isFull && isScan(filter) ? await scanEdge(reader, holderId, span, scanRows(filter), order) : null;
  const ahead = isFull ? (shown.at(-1)?.id ?? null) : edge;
  const lookedBackTo = edge === null ? null : momentOf(edge);
  if (after === null) {
    const newer = before === null ? null : (shown[0]?.id ?? neighbour(before, -1n));
    return { rows: shown, next: ahead, newer, lookedBackTo };
  }
  const older = after === OLDEST ? null : (shown[0]?.id ?? neighbour(after, 1n));
  return { rows: shown.toReversed(), next: older, newer: ahead, lookedBackTo };
}

/** The place before every row: the page after it has the oldest. */
export const BEFORE_ALL = OLDEST;

/** Ids from `low`, inclusive, to `high`, exclusive. */
type IdSpan = { low: string; high: string };

function spanOf(filter: TransactionFilter, { before, after }: { before: string | null; after: string | null }): IdSpan {
  let low = filter.from ? lowestUuid(filter.from) : OLDEST;
  let high = filter.to ? lowestUuid(filter.to) : NEWEST;
  const start = after === null ? OLDEST : neighbour(after, 1n);
  if (start > low) low = start;
  if (before !== null && before < high) high = before;
  return { low, high };
}

/** The id before or after an id. */
function neighbour(id: string, step: 1n | -1n): string {
  const value = BigInt(`0x${id.replaceAll('-', '')}`) + step;
  if (value < 0n || value >> 128n !== 0n) return id;
  const hex = value.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** True when no index finds the rows, so that a limited number is scanned. */
function isScan(filter: TransactionFilter): boolean {
  return filter.numbers === undefined && filter.reference === undefined && filter.linkId === undefined;
}

function scanRows(filter: TransactionFilter): number {
  return filter.text === undefined ? SCAN_ROWS : TEXT_SCAN_ROWS;
}

/** The rows to look at: $1 holder, $2 and $3 the span, $5 what an index finds. */
function source(filter: TransactionFilter, order: 'asc' | 'desc', rows = scanRows(filter)): string {
  const found = (condition: string) =>
    `select * from transactions where holder_id = $1 and ${condition} and id < $2 and id >= $3`;
  if (filter.numbers !== undefined) return `(${found('msisdn = any($5::text[])')})`;
  if (filter.reference !== undefined) return `(${found('reference_1 = $5')} union ${found('reference_2 = $5')})`;
  if (filter.linkId !== undefined) return `(${found('link_id = $5')})`;
  return `(${found('true')} order by id ${order} limit ${rows})`;
}

function conditions(filter: TransactionFilter, first: unknown[]): { where: string; values: unknown[] } {
  const values = [...first];
  const clauses: string[] = [];
  const found = filter.numbers ?? filter.reference ?? filter.linkId;
  if (found !== undefined) values.push(found);
  const add = (clause: (place: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    clauses.push(clause(`$${values.length}`));
  };
  add((place) => `t.direction = ${place}`, filter.direction);
  add((place) => `t.status = any(${place}::text[])`, filter.statuses);
  add((place) => `t.method = ${place}`, filter.method);
  add((place) => `t.country_id = ${place}`, filter.countryId);
  add((place) => `t.currency = ${place}`, filter.currency);
  add((place) => `t.integration_id = ${place}`, filter.integrationId);
  add((place) => `t.amount >= ${place}`, filter.min);
  add((place) => `t.amount <= ${place}`, filter.max);
  if (filter.numbers !== undefined)
    add((place) => `(t.reference_1 = ${place} or t.reference_2 = ${place})`, filter.reference);
  add(
    (place) =>
      `(t.msisdn like ${place} or t.receipt ilike ${place} or t.payee ilike ${place}
        or t.invoice_no ilike ${place} or t.detail ilike ${place})`,
    filter.text === undefined ? undefined : `%${filter.text.replace(/[\\%_]/g, '\\$&')}%`,
  );
  return { where: clauses.length > 0 ? `where ${clauses.join(' and ')}` : '', values };
}

/** The row where a limited scan ended; null when it reached the end of the list. */
async function scanEdge(
  reader: Reader,
  holderId: bigint,
  { low, high }: IdSpan,
  rows: number,
  order: 'asc' | 'desc',
): Promise<string | null> {
  const [row] = await reader.query<{ id: string }>(
    `select id from transactions where holder_id = $1 and id < $2 and id >= $3 order by id ${order} offset ${rows - 1} limit 1`,
    [holderId, high, low],
  );
  return row?.id ?? null;
}

/** The largest or smallest amounts among the newest rows: no index has amounts, so only those are compared. */
export function listByAmount(
  reader: Reader,
  holderId: bigint,
  filter: TransactionFilter,
  page: { order: 'asc' | 'desc'; offset: number; limit: number },
): Promise<Transaction[]> {
  const { low, high } = spanOf(filter, { before: null, after: null });
  const { where, values } = conditions(filter, [holderId, high, low, page.limit]);
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from ${source(filter, 'desc', COUNTED_ROWS)} t ${where}
     order by t.amount ${page.order}, t.id desc offset ${page.offset} limit $4`,
    values,
  );
}

/** Every transaction that matches, page by page: an export needs the memory of one page. */
export async function* eachTransaction(
  reader: Reader,
  holderId: bigint,
  filter: TransactionFilter,
  pageRows: number,
): AsyncGenerator<Transaction[]> {
  let before: string | null = null;
  do {
    const page: TransactionPage = await listTransactions(reader, holderId, filter, { before, limit: pageRows });
    if (page.rows.length > 0) yield page.rows;
    before = page.next;
  } while (before !== null);
}

export type TransactionTotal = {
  direction: TransactionDirection;
  currency: string;
  method: string;
  status: Status;
  failure_code: string | null;
  transactions: number;
  amount: bigint;
  fee: bigint;
};

/**
 * Totals of the transactions created in each of these spans, in their order: by direction, currency, method, status and
 * reason of failure.
 */
export async function countTransactions(
  reader: Reader,
  holderId: bigint,
  spans: readonly { from: Date; to: Date }[],
): Promise<TransactionTotal[][]> {
  const rows = await reader.query<Omit<TransactionTotal, 'transactions'> & { transactions: bigint; place: number }>(
    `select span.place::int as place, counted.*
     from unnest($2::uuid[], $3::uuid[]) with ordinality as span (from_id, to_id, place)
     cross join lateral (
       select direction, currency, method, status, failure_code,
              count(*) as transactions, sum(amount)::bigint as amount, sum(fee)::bigint as fee
       from transactions where holder_id = $1 and id >= span.from_id and id < span.to_id
       group by direction, currency, method, status, failure_code
     ) as counted`,
    [holderId, spans.map(({ from }) => lowestUuid(from)), spans.map(({ to }) => lowestUuid(to))],
  );
  const totals: TransactionTotal[][] = spans.map(() => []);
  for (const { place, ...row } of rows) totals[place - 1]?.push({ ...row, transactions: Number(row.transactions) });
  return totals;
}

/** More than a page counts: reads that many keys of an index at most. */
export async function hasManyTransactions(reader: Reader, holderId: bigint): Promise<boolean> {
  const rows = await reader.query(
    `select 1 as one from transactions where holder_id = $1 order by id desc offset ${COUNTED_ROWS} limit 1`,
    [holderId],
  );
  return rows.length > 0;
}

/** `complete` is false when there are more rows than were read: the totals are those of the newest. */
export type FilteredTotals = { totals: TransactionTotal[]; complete: boolean };

/** Totals of what a filter matches, of the newest rows at most. */
export async function totalOfFilter(
  reader: Reader,
  holderId: bigint,
  filter: TransactionFilter,
): Promise<FilteredTotals> {
  const span = spanOf(filter, { before: null, after: null });
  const { where, values } = conditions(filter, [holderId, span.high, span.low, COUNTED_ROWS]);
  const [rows, edge] = await Promise.all([
    reader.query<Omit<TransactionTotal, 'transactions'> & { transactions: bigint }>(
      `select t.direction, t.currency, t.status, count(*) as transactions, sum(t.amount)::bigint as amount,
              sum(t.fee)::bigint as fee
       from (select * from ${source(filter, 'desc', COUNTED_ROWS)} found order by id desc limit $4) t ${where}
       group by t.direction, t.currency, t.status`,
      values,
    ),
    isScan(filter) ? scanEdge(reader, holderId, span, COUNTED_ROWS + 1, 'desc') : null,
  ]);
  return { totals: rows.map((row) => ({ ...row, transactions: Number(row.transactions) })), complete: edge === null };
}

function momentOf(id: string): Date {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16));
}
