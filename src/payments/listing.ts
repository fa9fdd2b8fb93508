// Lists a holder's transactions: filters, search, pages by key, and daily totals. Ids grow with time, so a range of days is
// a range of ids. A filter that no index supports scans a limited number of rows per page.

import type { Reader } from '../platform/db.ts';
import { lowestUuid } from '../platform/ids.ts';
import type { Status, TransactionDirection } from './states.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

/** Rows that one page may scan. With a filter that matches few rows the page says how far it got; the next goes on there. */
const SCAN_ROWS = 20_000;
/** A text search compares five columns of each row, so it scans fewer rows. */
const TEXT_SCAN_ROWS = 8_000;
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const OLDEST = '00000000-0000-0000-0000-000000000000';

export type TransactionFilter = {
  direction?: TransactionDirection | undefined;
  status?: Status | undefined;
  method?: string | undefined;
  countryId?: number | undefined;
  currency?: string | undefined;
  /** From this moment, inclusive, to that one, exclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
  min?: bigint | undefined;
  max?: bigint | undefined;
  /** Digits with the dial code. */
  number?: string | undefined;
  /** One of the two references of the caller, exactly. */
  reference?: string | undefined;
  linkId?: string | undefined;
  /** Part of a number, receipt, payee, invoice or description. */
  text?: string | undefined;
};

export type TransactionPage = {
  rows: Transaction[];
  /** Where the next page begins; null when there is none. */
  next: string | null;
  /** Set when the page ended because it scanned enough rows, not because it is full: the moment it got to. */
  lookedBackTo: Date | null;
};

/** One page, newest first. `before` is the id where the page before ended. */
export async function listTransactions(
  reader: Reader,
  holderId: bigint,
  filter: TransactionFilter,
  page: { before?: string | null; limit: number },
): Promise<TransactionPage> {
  const before = page.before ?? NEWEST;
  const high = filter.to ? smaller(before, lowestUuid(filter.to)) : before;
  const low = filter.from ? lowestUuid(filter.from) : OLDEST;
  const { where, values } = conditions(filter, [holderId, high, low, page.limit + 1]);
  const rows = await reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from ${source(filter)} t ${where} order by t.id desc limit $4`,
    values,
  );
  const shown = rows.slice(0, page.limit);
  if (rows.length > page.limit) return { rows: shown, next: shown.at(-1)?.id ?? null, lookedBackTo: null };
  const edge = isScan(filter) ? await scanEdge(reader, holderId, high, low, scanRows(filter)) : null;
  return { rows: shown, next: edge, lookedBackTo: edge === null ? null : momentOf(edge) };
}

/** True when no index finds the rows, so that a limited number is scanned. */
function isScan(filter: TransactionFilter): boolean {
  return filter.number === undefined && filter.reference === undefined && filter.linkId === undefined;
}

function scanRows(filter: TransactionFilter): number {
  return filter.text === undefined ? SCAN_ROWS : TEXT_SCAN_ROWS;
}

function source(filter: TransactionFilter): string {
  if (filter.number !== undefined)
    return `(select * from transactions where holder_id = $1 and msisdn = $5 and id < $2 and id >= $3)`;
  if (filter.reference !== undefined)
    return `(select * from transactions where holder_id = $1 and reference_1 = $5 and id < $2 and id >= $3
             union select * from transactions where holder_id = $1 and reference_2 = $5 and id < $2 and id >= $3)`;
  if (filter.linkId !== undefined)
    return `(select * from transactions where holder_id = $1 and link_id = $5 and id < $2 and id >= $3)`;
  return `(select * from transactions where holder_id = $1 and id < $2 and id >= $3 order by id desc limit ${scanRows(filter)})`;
}

function conditions(filter: TransactionFilter, first: unknown[]): { where: string; values: unknown[] } {
  const values = [...first];
  const clauses: string[] = [];
  const found = filter.number ?? filter.reference ?? filter.linkId;
  if (found !== undefined) values.push(found);
  const add = (clause: (place: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    clauses.push(clause(`$${values.length}`));
  };
  add((place) => `t.direction = ${place}`, filter.direction);
  add((place) => `t.status = ${place}`, filter.status);
  add((place) => `t.method = ${place}`, filter.method);
  add((place) => `t.country_id = ${place}`, filter.countryId);
  add((place) => `t.currency = ${place}`, filter.currency);
  add((place) => `t.amount >= ${place}`, filter.min);
  add((place) => `t.amount <= ${place}`, filter.max);
  if (filter.number !== undefined && filter.reference !== undefined)
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
  high: string,
  low: string,
  rows: number,
): Promise<string | null> {
  const [row] = await reader.query<{ id: string }>(
    `select id from transactions where holder_id = $1 and id < $2 and id >= $3 order by id desc offset ${rows - 1} limit 1`,
    [holderId, high, low],
  );
  return row?.id ?? null;
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

function momentOf(id: string): Date {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16));
}

function smaller(left: string, right: string): string {
  return left < right ? left : right;
}
