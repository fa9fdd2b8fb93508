// Breaks: where a statement and our books do not agree. They follow the facts by themselves: reconciliation opens what it finds and
// closes what a later line or posting has explained. A person resolves what stays, with a reason; it stays resolved while the
// difference is the same.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createUuid, holderOfUuid } from '../platform/ids.ts';
import type { BreakKind, FoundBreak } from './groups.ts';

/** What the gateway itself writes into a break that ends; pages have these in every language. */
export const BY_ITSELF = 'reconciliation';
export const EXPLAINED = 'A later line or posting explains it.';
export const EVENED = 'Both days are closed.';
export const WITHDRAWN = 'The statement was withdrawn.';
const MIN_REASON = 3;

export type Break = {
  id: string;
  connection: string;
  currency: string;
  kind: BreakKind;
  leg: FoundBreak['leg'];
  line_key: Buffer | null;
  holder_id: bigint | null;
  /** The transaction, or the case whose money it is. */
  transaction_id: string | null;
  expected: bigint | null;
  found: bigint | null;
  difference: bigint;
  day: string;
  counter_day: string | null;
  opened_at: Date;
  status: 'open' | 'resolved';
  resolved_at: Date | null;
  resolved_by: string | null;
  resolution: string | null;
  /** False: the difference is gone, or became another one. What people resolved can still hold. */
  holds: boolean;
};

/** A break that was found about a payment, or about a line alone. */
export type WantedBreak = FoundBreak & { transactionId: string | null };

const BREAK_COLUMNS = `id, connection, currency, kind, leg, line_key, holder_id, transaction_id, expected, found, difference,
  day::text as day, counter_day::text as counter_day, opened_at, status, resolved_at, resolved_by, resolution, holds`;

const NEW_BREAKS = columns<WantedBreak & { id: string }>(3, {
  id: 'uuid',
  currency: 'text',
  kind: 'text',
  leg: 'text',
  line_key: ['bytea', (each) => each.lineKey],
  holder_id: ['bigint', ({ transactionId }) => (transactionId === null ? null : holderOfUuid(transactionId))],
  transaction_id: ['uuid', (each) => each.transactionId],
  expected: 'bigint',
  found: 'bigint',
  difference: 'bigint',
  day: 'date',
  counter_day: ['date', (each) => each.counterDay],
});

type BreakKey = {
  kind: string;
  leg: string;
  line: Buffer | null;
  transaction: string | null;
  counterDay: string | null;
};
const keyOf = ({ kind, leg, line, transaction, counterDay }: BreakKey) =>
  `${kind} ${leg} ${line?.toString('hex') ?? ''} ${transaction ?? ''} ${counterDay ?? ''}`;
const keyOfWanted = (each: WantedBreak) => keyOf({ ...each, line: each.lineKey, transaction: each.transactionId });
const keyOfKnown = (each: Break) =>
  keyOf({ ...each, line: each.line_key, transaction: each.transaction_id, counterDay: each.counter_day });

const sameFacts = (known: Break, wanted: WantedBreak) =>
  known.difference === wanted.difference &&
  known.expected === wanted.expected &&
  known.found === wanted.found &&
  known.day === wanted.day;

/** What was compared: everything that is known about these payments and lines, and what was found wrong. */
export type Comparison = {
  connection: string;
  kinds: readonly BreakKind[];
  transactionIds: readonly string[];
  lineKeys: readonly Buffer[];
  /** Currencies whose statement reached further before: what it does not decide any more ends, unless a person has resolved it. */
  uncovered?: ReadonlySet<string>;
  /** Everything of these kinds on these days was compared. */
  days?: { first: string; last: string };
  wanted: readonly WantedBreak[];
};

/** Opens what is new, keeps what is known, and closes what no longer holds. */
export async function syncBreaks(
  tx: Tx,
  comparison: Comparison,
  at: Date,
): Promise<{ opened: number; closed: number }> {
  const { connection, wanted, uncovered } = comparison;
  const isKept = ({ status, currency }: Break) => status === 'resolved' || !uncovered?.has(currency);
  // Two runs at once find the same: the second waits, and finds it known.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('breaks of ' || $1, 0))`, [connection]);
  const gone = new Map((await readKnown(tx, comparison)).map((each) => [keyOfKnown(each), each]));
  const once = new Map(wanted.map((each) => [keyOfWanted(each), each]));
  const changed = [...once.values()].filter((each) => {
    const known = gone.get(keyOfWanted(each));
    const isKnown = known !== undefined && (each.undecided ? isKept(known) : sameFacts(known, each));
    if (isKnown) gone.delete(keyOfWanted(each));
    return !isKnown && !each.undecided;
  });
  // A break whose facts changed ends and begins anew, so that its history is seen.
  const closed = await endBreaks(tx, [...gone.values()], at, uncovered ? WITHDRAWN : EXPLAINED);
  if (changed.length > 0)
    await tx.query(
      `insert into breaks (connection, opened_at, ${NEW_BREAKS.names}) select $1, $2, ${NEW_BREAKS.names} from ${NEW_BREAKS.rows}`,
      [connection, at, ...NEW_BREAKS.arrays(changed.map((each) => ({ ...each, id: createUuid(at.getTime()) })))],
    );
  return { opened: changed.length, closed };
}

/** Breaks that hold, open or resolved by people. */
function readKnown(tx: Tx, { connection, kinds, transactionIds, lineKeys, days }: Comparison): Promise<Break[]> {
  if (days)
    return tx.query<Break>(
      `select ${BREAK_COLUMNS} from breaks where connection = $1 and kind = any ($2) and day between $3 and $4 and holds`,
      [connection, kinds, days.first, days.last],
    );
  return tx.query<Break>(
    `select ${BREAK_COLUMNS} from breaks where transaction_id = any ($2::uuid[]) and connection = $1 and kind = any ($4) and holds
     union
     select ${BREAK_COLUMNS} from breaks where line_key = any ($3::bytea[]) and connection = $1 and kind = any ($4) and holds`,
    [connection, transactionIds, lineKeys, kinds],
  );
}

async function endBreaks(tx: Tx, gone: readonly Pick<Break, 'id'>[], at: Date, why: string): Promise<number> {
  if (gone.length === 0) return 0;
  const rows = await tx.query(
    `update breaks set holds = false, status = 'resolved', resolved_at = coalesce(resolved_at, $2),
       resolved_by = coalesce(resolved_by, $3), resolution = coalesce(resolution, $4)
     where id = any ($1::uuid[]) and holds returning id`,
    [gone.map((each) => each.id), at, BY_ITSELF, why],
  );
  return rows.length;
}

/** The lines of a withdrawn statement are gone, and so is every break about one. What people said of a break stays. */
export async function endBreaksOfLines(
  tx: Tx,
  { connection, fileId, after, last }: { connection: string; fileId: bigint; after: number; last: number },
  at: Date,
): Promise<void> {
  const gone = await tx.query<Pick<Break, 'id'>>(
    `select b.id from breaks b join statement_lines l on l.connection = b.connection and l.line_key = b.line_key
     where b.connection = $1 and l.file_id = $2 and l.line_number > $3 and l.line_number <= $4 and b.holds`,
    [connection, fileId, after, last],
  );
  await endBreaks(tx, gone, at, WITHDRAWN);
}

/** Each side has had its day: the difference is gone when the later of the two days is signed. */
export async function closeEvened(
  tx: Tx,
  { connection, currency, day }: Pick<Break, 'connection' | 'currency' | 'day'>,
  by: string,
  at: Date,
): Promise<void> {
  await tx.query(
    `update breaks set status = 'resolved', resolved_at = $4, resolved_by = $5, resolution = $6
     where connection = $1 and currency = $2 and kind = 'other_day' and status = 'open' and greatest(day, counter_day) <= $3`,
    [connection, currency, day, at, by, EVENED],
  );
}

export type BreakFilter = {
  connection?: string | undefined;
  currency?: string | undefined;
  kind?: BreakKind | undefined;
  status?: Break['status'] | undefined;
  day?: string | undefined;
  /** Only those that are older. */
  openedBefore?: Date | undefined;
  after?: string | undefined;
};

/** Oldest first, page by page. */
export function listBreaks(reader: Reader, filter: BreakFilter, limit: number): Promise<Break[]> {
  const { connection, currency, kind, status, day, openedBefore, after } = filter;
  return reader.query<Break>(
    `select ${BREAK_COLUMNS} from breaks
     where ($1::text is null or connection = $1) and ($2::text is null or currency = $2) and ($3::text is null or kind = $3)
       and ($4::text is null or status = $4) and ($5::date is null or $5 in (day, counter_day))
       and ($6::uuid is null or id > $6) and ($8::timestamptz is null or opened_at < $8)
     order by id limit $7`,
    [
      connection ?? null,
      currency ?? null,
      kind ?? null,
      status ?? null,
      day ?? null,
      after ?? null,
      limit,
      openedBefore ?? null,
    ],
  );
}

/** Those of these ids that exist, oldest first. */
export function readBreaks(reader: Reader, ids: readonly string[]): Promise<Break[]> {
  return reader.query<Break>(`select ${BREAK_COLUMNS} from breaks where id = any ($1::uuid[]) order by id`, [ids]);
}

export type OpenBreaks = {
  connection: string;
  currency: string;
  kind: BreakKind;
  /** Whether they count on the day that was asked for. */
  isOfDay: boolean;
  breaks: number;
  oldest: Date;
};

/** Every open break, counted by account and kind, apart for those of one day. */
export function countOpenBreaks(reader: Reader, day: string): Promise<OpenBreaks[]> {
  return reader.query<OpenBreaks>(
    `select connection, currency, kind, coalesce($1::date in (day, counter_day), false) as "isOfDay", count(*)::int as breaks,
       min(opened_at) as oldest
     from breaks where status = 'open' group by 1, 2, 3, 4 order by 1, 2, 3`,
    [day],
  );
}

/** A sum as text: many wrong lines add up to more than a bigint holds. */
type Summed<T> = Omit<T, 'difference'> & { difference: string };

export type DayDifference = { connection: string; currency: string; day: string; difference: bigint };

/** By how much operators' accounts moved more than our ledger on each of some days, by the breaks that hold. */
export async function dailyDifferences(
  reader: Reader,
  days: { first: string; last: string },
): Promise<DayDifference[]> {
  const rows = await reader.query<Summed<DayDifference>>(
    `select connection, currency, day::text as day, sum(difference)::text as difference from (
       select connection, currency, day, difference from breaks
       where holds and kind <> 'fee' and day between $1 and $2
       union all
       select connection, currency, counter_day, -difference from breaks
       where holds and kind <> 'fee' and counter_day between $1 and $2
     ) as counted group by 1, 2, 3 order by 1, 2, 3`,
    [days.first, days.last],
  );
  return rows.map((row) => ({ ...row, difference: BigInt(row.difference) }));
}

export async function findBreak(reader: Reader, id: string): Promise<Break | null> {
  const [row] = await reader.query<Break>(`select ${BREAK_COLUMNS} from breaks where id = $1`, [id]);
  return row ?? null;
}

type BreakCount = { kind: BreakKind; currency: string; breaks: number; difference: bigint };

/** How many breaks of each kind are open on some days, and what they add up to. */
export async function countBreaks(
  reader: Reader,
  connection: string,
  days: { first: string; last: string },
): Promise<BreakCount[]> {
  const rows = await reader.query<Summed<BreakCount>>(
    `select kind, currency, count(*)::int as breaks, sum(difference)::text as difference from breaks
     where connection = $1 and status = 'open' and day between $2 and $3 group by kind, currency order by kind, currency`,
    [connection, days.first, days.last],
  );
  return rows.map((row) => ({ ...row, difference: BigInt(row.difference) }));
}

/** A person says why a break needs no more work. No money moves by it: the close of its day still names it. */
export async function resolveBreak(
  ctx: Pick<Context, 'clock'>,
  tx: Tx,
  id: string,
  by: string,
  reason: string,
): Promise<Break> {
  if (reason.trim().length < MIN_REASON)
    throw new Problem('invalid_params', { message: 'Say in a few words why the break is resolved.' });
  const [row] = await tx.query<Break>(
    `update breaks set status = 'resolved', resolved_at = $2, resolved_by = $3, resolution = $4
     where id = $1 and status = 'open' returning ${BREAK_COLUMNS}`,
    [id, ctx.clock.now(), by, reason.trim()],
  );
  if (!row) throw new Problem('not_found', { message: 'There is no such open break.' });
  return row;
}
