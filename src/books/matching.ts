// Reconciliation: the lines of an operator's statement, our transactions and the clearing accounts of our ledger, compared. No money
// moves here. It works page by page, each in a transaction of its own: memory stays the same however many lines there are, and what
// was broken off goes on when it is started again.
//
//   1. lines that are not matched: by their ids                    (match-rules.ts), and settlements (settlement-matching.ts)
//   2. what is left: by search
//   3. each payment that has a line on these days: its lines against its moves, breaks opened and closed   (groups.ts, breaks.ts)
//   4. each payment that moved on these days and has no line on them
//   5. fees that differ from what the same amount usually costs    (fee-breaks.ts)

import { isBankPlace } from '../ledger/chart.ts';
import { type ClearingPosition, pageClearing, readClearingMoves } from '../ledger/clearing.ts';
import {
  findLostDisputes,
  findReceiptUses,
  readSubjects,
  type StatementSubject,
} from '../payments/statement-lookups.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { type Break, countBreaks, syncBreaks, type WantedBreak } from './breaks.ts';
import { type Calendar, type CloseSpan, openCalendar } from './calendar.ts';
import { type ClosedDays, readClosedDays } from './closed-days.ts';
import { compareFees } from './fee-breaks.ts';
import { compareGroup, type GroupMove, legOfMove, unknownLine } from './groups.ts';
import { matchByIds, matchBySearch } from './match-rules.ts';
import { matchSettlements } from './settlement-matching.ts';
import type { OperatorLine } from './statement-lines.ts';
import {
  countedLinesOf,
  findRivals,
  heldLines,
  keepMatches,
  linesOfGroups,
  type MatchedLine,
  type OpenLine,
  openLinesOf,
  pageCountedLines,
  pageLateLines,
  pageOpenLines,
  takenLegs,
} from './statement-matches.ts';

const PAGE = 4_000;
/** The kinds that payments and lines have; those of fees are found apart. */
const GROUP_KINDS = ['missing_with_us', 'missing_with_them', 'amount', 'state', 'twice', 'other_day'] as const;

export type ReconcileRequest = {
  connection: string;
  from: Date;
  to: Date;
  /** A person says that the statement of the span is whole. Otherwise it reaches as far as its newest line, in each currency. */
  isWhole?: boolean;
  /** The currency of which the person says so. Left out: all. */
  currency?: string;
  /** A person has read at the operator that its account did not move: what has no line has none. */
  mayBeEmpty?: boolean;
  onProgress?: (stage: string, rows: number) => void;
};

export type Reconciliation = {
  connection: string;
  days: { first: string; last: string };
  lines: number;
  /** Lines by the rule that matched them; `none`: not matched. */
  rules: Readonly<Record<string, number>>;
  opened: number;
  closed: number;
  /** Open on these days now. */
  breaks: Awaited<ReturnType<typeof countBreaks>>;
};

type Work = {
  readonly ctx: Pick<Context, 'db' | 'clock'>;
  readonly connection: string;
  readonly span: CloseSpan;
  readonly days: { first: string; last: string };
  readonly calendar: Calendar;
  readonly closed: ClosedDays;
  /** Whether the statements reach a moment, by currency: each wallet has its own. */
  readonly covered: (currency: string, at: Date) => boolean;
  /** Currencies whose statement reached further before. */
  readonly uncovered?: ReadonlySet<string>;
  readonly changes: { opened: number; closed: number };
  readonly progress: (stage: string, rows: number) => void;
};

/** Compares whole days: `from` and `to` are where days of the connection begin. */
export async function reconcile(
  ctx: Pick<Context, 'db' | 'clock'>,
  request: ReconcileRequest,
): Promise<Reconciliation> {
  const { connection, from, to } = request;
  const calendar = await openCalendar(ctx.db, connection);
  const days = { first: calendar.dayOf(from), last: calendar.dayOf(new Date(to.getTime() - 1)) };
  const span = { from: calendar.spanOf(days.first).from, to: calendar.spanOf(days.last).to };
  const { days: closed, since } = await readClosedDays(ctx.db, connection);
  if (!request.isWhole) await requireLines(ctx.db, connection, span);
  const reach = await readReach(ctx.db, connection);
  const isWhole = (currency: string) => request.isWhole && (request.currency ?? currency) === currency;
  const work: Work = {
    ctx,
    connection,
    span,
    days,
    calendar,
    closed,
    covered: (currency, at) => (isWhole(currency) ? at <= span.to : isWithin(reach.get(currency), at)),
    changes: { opened: 0, closed: 0 },
    progress: request.onProgress ?? (() => undefined),
  };
  if (since) await matchLate(work, since);
  await matchOpen(work);
  await searchOpen(work);
  if (request.isWhole && !request.mayBeEmpty) await requireStatement(work, request.currency ?? null);
  await compareLines(work);
  await compareMoves(work);
  await comparePage(work, (tx) => compareFees(tx, connection, days, ctx.clock.now()));
  const rules = await countRules(ctx.db, connection, days);
  return {
    connection,
    days,
    lines: Object.values(rules).reduce((total, count) => total + count, 0),
    rules,
    ...work.changes,
    breaks: await countBreaks(ctx.db, connection, days),
  };
}

/** Compares what some breaks of one connection are about once more, after something was done about them. */
export async function compareBreaks(
  ctx: Pick<Context, 'db' | 'clock'>,
  connection: string,
  breaks: readonly Break[],
): Promise<void> {
  const days = breaks.map(({ day }) => day).sort();
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return;
  const calendar = await openCalendar(ctx.db, connection);
  const span = { from: calendar.spanOf(first).from, to: calendar.spanOf(last).to };
  const reach = await readReach(ctx.db, connection);
  const work: Work = {
    ctx,
    connection,
    span,
    days: { first, last },
    calendar,
    closed: (await readClosedDays(ctx.db, connection)).days,
    covered: (currency, at) => isWithin(reach.get(currency), at),
    changes: { opened: 0, closed: 0 },
    progress: () => undefined,
  };
  const keys = breaks.flatMap(({ line_key: key }) => key ?? []);
  await matchPage(work, await openLinesOf(ctx.db, connection, keys));
  const lines = await countedLinesOf(ctx.db, connection, keys);
  const ids = [
    ...breaks.flatMap(({ transaction_id: id }) => id ?? []),
    ...lines.flatMap((line) => line.transactionId ?? line.caseId ?? []),
  ];
  const alone = lines.filter((line) => line.transactionId === null && line.caseId === null);
  await compareGroups(work, [...new Set(ids)], alone);
}

/**
 * Compares what a withdrawn statement was about: its days, its payments on any day, and what was missing only because it reached so
 * far. Lines that it never compared have changed nothing.
 */
export async function compareAfterWithdrawal(
  ctx: Pick<Context, 'db' | 'clock'>,
  connection: string,
  withdrawalId: bigint,
): Promise<void> {
  const counted = await ctx.db.query<{ day: string; currency: string }>(
    `select distinct day::text as day, currency from withdrawn_matches where withdrawal_id = $1 order by day`,
    [withdrawalId],
  );
  const days = [...new Set(counted.map(({ day }) => day))];
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return;
  const calendar = await openCalendar(ctx.db, connection);
  const { days: closed, since } = await readClosedDays(ctx.db, connection);
  const reach = await readReach(ctx.db, connection);
  const work: Work = {
    ctx,
    connection,
    span: { from: calendar.spanOf(first).from, to: calendar.spanOf(last).to },
    days: { first, last },
    calendar,
    closed,
    // A signed day had its whole statement: what was missing then is missing still.
    covered: (currency, at) => calendar.dayOf(at) <= (closed.get(currency) ?? '') || isWithin(reach.get(currency), at),
    uncovered: reachedFurther(counted, reach, calendar),
    changes: { opened: 0, closed: 0 },
    progress: () => undefined,
  };
  if (since) await matchLate(work, since);
  await matchOpen(work);
  await searchOpen(work);
  await compareLines(work);
  await compareMoves(work);
  for await (const ids of touchedIds(ctx.db, work, withdrawalId)) await compareGroups(work, ids, []);
  for (const day of days)
    await comparePage(work, (tx) => compareFees(tx, connection, { first: day, last: day }, ctx.clock.now()));
}

/** Those of which no other line is older than its first day, or newer than its last one. */
function reachedFurther(
  counted: readonly { day: string; currency: string }[],
  reach: ReadonlyMap<string, CloseSpan>,
  calendar: Calendar,
): Set<string> {
  const isFurther = ({ day, currency }: { day: string; currency: string }) => {
    const left = reach.get(currency);
    return left === undefined || calendar.dayOf(left.to) <= day || calendar.dayOf(left.from) >= day;
  };
  return new Set(counted.filter(isFurther).map(({ currency }) => currency));
}

/** Payments and cases that its lines were matched with, then those that are missing in its currencies. */
async function* touchedIds(reader: Reader, work: Work, withdrawalId: bigint): AsyncGenerator<string[]> {
  type Ids = Promise<{ id: string }[]>;
  const matched = (after: string): Ids =>
    reader.query(
      `select distinct coalesce(transaction_id, case_id) as id from withdrawn_matches
       where withdrawal_id = $1 and coalesce(transaction_id, case_id) > $2 order by id limit $3`,
      [withdrawalId, after, PAGE],
    );
  const missing = (after: string): Ids =>
    reader.query(
      `select distinct transaction_id as id from breaks where connection = $1 and status = 'open' and line_key is null
         and currency = any ($4) and transaction_id > $2 order by id limit $3`,
      [work.connection, after, PAGE, [...(work.uncovered ?? [])]],
    );
  for (const read of [matched, missing]) {
    let after: string | undefined = '00000000-0000-0000-0000-000000000000';
    while (after !== undefined) {
      const ids: string[] = (await read(after)).map(({ id }) => id);
      if (ids.length > 0) yield ids;
      after = ids.length < PAGE ? undefined : ids.at(-1);
    }
  }
}

/** A span without any line has no statement: everything would be missing in it. */
async function requireLines(
  reader: Reader,
  connection: string,
  span: CloseSpan,
  currency: string | null = null,
): Promise<void> {
  if (await hasLines(reader, connection, span, currency)) return;
  const [from, to] = [span.from.toISOString(), span.to.toISOString()];
  const named = currency === null ? connection : `${connection} in ${currency}`;
  throw new Problem('not_found', {
    message: `There is no line of a statement of ${named} from ${from} to ${to}. Import it first.`,
  });
}

async function hasLines(
  reader: Reader,
  connection: string,
  { from, to }: CloseSpan,
  currency: string | null,
): Promise<boolean> {
  const rows = await reader.query(
    `select from statement_lines where connection = $1 and occurred_at >= $2 and occurred_at < $3
       and ($4::text is null or currency = $4) limit 1`,
    [connection, from, to, currency],
  );
  return rows.length > 0;
}

/**
 * On a day on which nothing moved at the operator there is no line, and our ledger may move all the same: the fees of the day before
 * are booked, its statement is applied. Only what no line explains says that the statement was forgotten.
 */
async function requireStatement(work: Work, currency: string | null): Promise<void> {
  const { ctx, connection, span, days } = work;
  if (await hasLines(ctx.db, connection, span, currency)) return;
  const isMissing = (each: WantedBreak) =>
    each.kind === 'missing_with_them' &&
    each.day >= days.first &&
    each.day <= days.last &&
    (currency === null || each.currency === currency);
  let after: ClearingPosition | null = null;
  do {
    const page: Awaited<ReturnType<typeof pageClearing>> = await pageClearing(ctx.db, connection, span, after, PAGE);
    const { found } = await findInGroups(work, page.transactionIds);
    if (found.some(isMissing)) await requireLines(ctx.db, connection, span, currency);
    after = page.last;
  } while (after !== null);
}

function isWithin(span: CloseSpan | undefined, at: Date): boolean {
  return span !== undefined && at >= span.from && at <= span.to;
}

/** From the oldest to the newest line of each currency. A file that has not come must not be judged by that of another wallet. */
async function readReach(reader: Reader, connection: string): Promise<Map<string, CloseSpan>> {
  const rows = await reader.query<CloseSpan & { currency: string }>(
    // Along the index, from one currency to the next: lines are many, currencies few.
    `with recursive named as (
       (select currency from statement_lines where connection = $1 order by currency limit 1)
       union all
       select (select l.currency from statement_lines l where l.connection = $1 and l.currency > n.currency order by l.currency limit 1)
       from named n where n.currency is not null
     )
     select n.currency, (select min(occurred_at) from statement_lines where connection = $1 and currency = n.currency) as "from",
       (select max(occurred_at) from statement_lines where connection = $1 and currency = n.currency) as "to"
     from named n where n.currency is not null`,
    [connection],
  );
  return new Map(rows.map((row) => [row.currency, row]));
}

/** Lines that came after their day was signed: they count on the first open day. */
async function matchLate(work: Work, since: Date): Promise<void> {
  const { ctx, connection, calendar, closed, span } = work;
  const lastClosed = [...closed.values()].sort().at(-1);
  if (lastClosed === undefined) return;
  const before = new Date(Math.min(span.from.getTime(), calendar.spanOf(lastClosed).to.getTime()));
  for (;;) {
    const lines = await pageLateLines(ctx.db, connection, { before, since, limit: PAGE });
    await matchPage(work, lines);
    if (lines.length < PAGE) return;
  }
}

async function matchOpen(work: Work): Promise<void> {
  let matched = 0;
  for await (const lines of openPages(work)) {
    await matchPage(work, lines);
    matched += lines.length;
    work.progress('lines', matched);
  }
}

async function* openPages(work: Work): AsyncGenerator<OpenLine[]> {
  const { from } = work.span;
  // A line of the next day can be that of a payment of this one.
  const to = new Date(work.span.to.getTime() + DAY_MS);
  let after: OperatorLine | null = null;
  for (;;) {
    const lines: OpenLine[] = await pageOpenLines(work.ctx.db, { connection: work.connection, from, to }, after, PAGE);
    if (lines.length > 0) yield lines;
    after = lines.at(-1) ?? null;
    if (lines.length < PAGE) return;
  }
}

async function matchPage({ ctx, connection, calendar }: Work, lines: OpenLine[]): Promise<void> {
  if (lines.length === 0) return;
  const byIds = isBankPlace(connection)
    ? []
    : await matchByIds(ctx.db, connection, lines, (ids) => takenLegs(ctx.db, ids));
  const known = new Set(byIds.map(({ line }) => line));
  const settled = await matchSettlements(
    ctx.db,
    connection,
    lines.filter((line) => !known.has(line)),
  );
  const matches = [...byIds, ...settled];
  const matched = new Set(matches.map(({ line }) => line));
  const fresh = lines.filter((line) => !line.seen || matched.has(line));
  await ctx.db.transaction((tx) => keepMatches(tx, connection, fresh, matches, { calendar, at: ctx.clock.now() }));
}

/** Only payments and their reversals that succeeded: what did not move money is not searched for. */
async function searchOpen(work: Work): Promise<void> {
  if (isBankPlace(work.connection)) return;
  for await (const page of openPages(work)) {
    const lines = page.filter(
      ({ kind, state }) => state === 'succeeded' && (kind === 'payment' || kind === 'reversal'),
    );
    if (lines.length > 0) await work.ctx.db.transaction((tx) => searchPage(tx, work, lines));
  }
}

async function searchPage(tx: Tx, { ctx, connection, calendar }: Work, lines: OpenLine[]): Promise<void> {
  // It reads every payment of two days: on a busy machine that takes longer than a request may.
  await tx.query(`set local statement_timeout = '60s'`);
  const rivals = await findRivals(tx, connection, lines);
  const matches = await matchBySearch(
    tx,
    connection,
    lines,
    (line) => rivals.has(line.lineKey.toString('hex')),
    (ids) => takenLegs(tx, ids),
  );
  const matched = matches.map(({ line }) => line);
  await keepMatches(tx, connection, matched, matches, { calendar, at: ctx.clock.now() });
}

async function compareLines(work: Work): Promise<void> {
  const { ctx, connection, days } = work;
  let after: MatchedLine | null = null;
  let compared = 0;
  for (;;) {
    const lines: MatchedLine[] = await pageCountedLines(ctx.db, connection, days, after, PAGE);
    const alone = lines.filter((line) => line.transactionId === null && line.caseId === null);
    const ids = lines.flatMap((line) => line.transactionId ?? line.caseId ?? []);
    await compareGroups(work, [...new Set(ids)], alone);
    compared += lines.length;
    work.progress('payments', compared);
    after = lines.at(-1) ?? null;
    if (lines.length < PAGE) return;
  }
}

/** Payments that moved on these days and were not compared by their lines. */
async function compareMoves(work: Work): Promise<void> {
  const { ctx, connection, span, days } = work;
  let after: ClearingPosition | null = null;
  let compared = 0;
  do {
    const page: Awaited<ReturnType<typeof pageClearing>> = await pageClearing(ctx.db, connection, span, after, PAGE);
    const done = await comparedByLines(ctx.db, connection, page.transactionIds, days);
    await compareGroups(
      work,
      page.transactionIds.filter((id) => !done.has(id)),
      [],
    );
    compared += page.transactionIds.length;
    work.progress('moves', compared);
    after = page.last;
  } while (after !== null);
}

async function comparedByLines(
  reader: Reader,
  connection: string,
  ids: readonly string[],
  days: { first: string; last: string },
): Promise<Set<string>> {
  const rows = await reader.query<{ id: string }>(
    `select transaction_id as id from statement_matches
     where transaction_id = any ($2::uuid[]) and connection = $1 and day between $3 and $4
     union
     select case_id from statement_matches where case_id = any ($2::uuid[]) and connection = $1 and day between $3 and $4`,
    [connection, ids, days.first, days.last],
  );
  return new Set(rows.map((row) => row.id));
}

async function compareGroups(work: Work, ids: string[], alone: readonly MatchedLine[]): Promise<void> {
  if (ids.length === 0 && alone.length === 0) return;
  const { ctx, connection } = work;
  const { groups, found } = await findInGroups(work, ids);
  const unknown = alone
    .filter((line) => line.moved !== 0n)
    .map((line): WantedBreak => ({ ...unknownLine(line), transactionId: null }));
  const lineKeys = [...alone, ...groups.flatMap(({ lines }) => lines)].map(({ lineKey }) => lineKey);
  const transactionIds = groups.flatMap((group) => group.ids);
  const comparison = {
    connection,
    kinds: GROUP_KINDS,
    transactionIds,
    lineKeys,
    wanted: [...unknown, ...found],
    ...(work.uncovered ? { uncovered: work.uncovered } : {}),
  };
  await comparePage(work, (tx) => syncBreaks(tx, comparison, ctx.clock.now()));
}

/** What does not agree about some payments. Nothing is written. */
async function findInGroups(work: Work, ids: string[]): Promise<{ groups: Group[]; found: WantedBreak[] }> {
  const { ctx, connection } = work;
  const groups = await readGroups(ctx.db, connection, ids);
  const all = [...groups.values()];
  const transactions = all.flatMap((group) => group.subject?.id ?? []);
  const known = new Set(transactions);
  const cases = all.flatMap((group) => group.ids).filter((id) => !known.has(id));
  const moves = await readClearingMoves(ctx.db, connection, { transactions, cases });
  const movesOf = Map.groupBy(moves, (move) => move.transactionId);
  const found: WantedBreak[] = [];
  for (const [id, group] of groups) {
    const own = group.ids.flatMap((each) =>
      (movesOf.get(each) ?? []).map((move) => toGroupMove(work, move, group.held.includes(each) ? 'payment' : null)),
    );
    const isOpen = group.subject?.status === 'pending' || group.subject?.status === 'processing';
    for (const each of compareGroup(group.lines, own, isOpen)) found.push({ ...each, transactionId: id });
  }
  return { groups: all, found };
}

async function comparePage(
  { ctx, changes }: Work,
  sync: (tx: Tx) => Promise<{ opened: number; closed: number }>,
): Promise<void> {
  const { opened, closed } = await ctx.db.transaction(sync);
  changes.opened += opened;
  changes.closed += closed;
}

function toGroupMove(
  { calendar, covered }: Work,
  move: Awaited<ReturnType<typeof readClearingMoves>>[number],
  leg: 'payment' | null,
): GroupMove {
  const { amount, currency, kind, postedAt } = move;
  const isCovered = covered(currency, postedAt);
  return { leg: leg ?? legOfMove(kind), amount, currency, day: calendar.dayOf(postedAt), covered: isCovered };
}

/**
 * A payment with all its lines. `ids`: its own, those of its lost disputes, and those of `held`: cases whose money it took out of
 * suspense.
 */
type Group = { ids: string[]; held: string[]; lines: MatchedLine[]; subject: StatementSubject | null };

/**
 * Money in suspense that a transaction has claimed belongs to that transaction: both are one group. So does what its lost disputes gave
 * back: the operator names the payment.
 */
async function readGroups(reader: Reader, connection: string, asked: string[]): Promise<Map<string, Group>> {
  const disputes = await findLostDisputes(reader, asked);
  const cases = new Set(disputes.map((each) => each.case_id));
  const collections = disputes.map((each) => each.collection_id);
  const ids = [...new Set([...asked.filter((id) => !cases.has(id)), ...collections])];
  const own = await linesOfGroups(reader, connection, ids);
  const subjects = new Map((await readSubjects(reader, connection, ids)).map((row) => [row.id, row]));
  const lined = new Set(own.map((line) => line.transactionId ?? ''));
  const unlined = [...subjects.values()].filter(({ id }) => !lined.has(id)).flatMap(({ receipt }) => receipt ?? []);
  const held = [...own.filter((line) => line.caseId !== null), ...(await heldLines(reader, connection, unlined))];
  const uses = await findReceiptUses(reader, connection, [...new Set(held.flatMap(({ receipt }) => receipt ?? []))]);
  const claimedBy = new Map(
    uses.flatMap((use) => (use.transaction_id && use.case_id ? [[use.case_id, use.transaction_id]] : [])),
  );
  const groups = new Map<string, Group>();
  const groupOf = (id: string) => {
    const group = groups.get(id) ?? { ids: [id], held: [], lines: [], subject: subjects.get(id) ?? null };
    groups.set(id, group);
    return group;
  };
  for (const id of ids) if (!claimedBy.has(id)) groupOf(id);
  const lines = new Map([...own, ...held].map((line) => [line.lineKey.toString('hex'), line]));
  for (const line of lines.values()) {
    const claimed = line.caseId === null ? undefined : claimedBy.get(line.caseId);
    const group = groupOf(claimed ?? line.transactionId ?? line.caseId ?? '');
    group.lines.push(line);
    if (claimed && line.caseId && !group.ids.includes(line.caseId)) {
      group.ids.push(line.caseId);
      group.held.push(line.caseId);
    }
  }
  for (const { case_id: caseId, collection_id: id } of disputes) groups.get(id)?.ids.push(caseId);
  return groups;
}

async function countRules(
  reader: Reader,
  connection: string,
  days: { first: string; last: string },
): Promise<Record<string, number>> {
  const rows = await reader.query<{ rule: string; lines: number }>(
    `select coalesce(rule, 'none') as rule, count(*)::int as lines from statement_matches
     where connection = $1 and day between $2 and $3 group by 1 order by 1`,
    [connection, days.first, days.last],
  );
  return Object.fromEntries(rows.map(({ rule, lines }) => [rule, lines]));
}
