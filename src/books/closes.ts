// The daily close of a connection in one currency. Opening, movements and closing of the statement must add up to the operator's
// closing balance, and the difference to the movement of our ledger must be explained to the cent by a list of breaks. Then a person
// signs, and the day is immutable: a row in a chain. Reopening is a row too. What comes later counts on the next day.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { clearingAt } from '../ledger/clearing.ts';
import { listOperatorBalances } from '../payments/operator-balances.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { closeEvened } from './breaks.ts';
import { openCalendar } from './calendar.ts';
import { CLOSE_HASH, contentHash, FIRST_HASH } from './close-chain.ts';
import {
  type BalanceSource,
  blockSentence,
  type CloseBlock,
  type CloseItem,
  type DayFigures,
  findBlocks,
  MAX_CLOSE_ITEMS,
} from './close-figures.ts';
import { IN_FORCE, lockDays } from './closed-days.ts';
import { reconcile } from './matching.ts';

const MIN_REASON = 3;

export type PreparedClose = DayFigures & {
  blocks: CloseBlock[];
  /** The same as sentences. Why it cannot be signed; empty: it can. */
  problems: string[];
};

export type CloseRequest = {
  connection: string;
  currency: string;
  day: string;
  /** The operator's closing balance, as a person reads it. */
  balance?: bigint | undefined;
};

export type Close = {
  connection: string;
  currency: string;
  number: bigint;
  kind: 'close' | 'reopening';
  day: string;
  opening_theirs: bigint;
  lines_in: bigint;
  lines_out: bigint;
  fees: bigint;
  closing_theirs: bigint;
  balance_source: BalanceSource;
  opening_ours: bigint;
  closing_ours: bigint;
  lines: number;
  late_lines: number;
  reason: string;
  hash: Buffer;
  signed_by: string;
  signed_at: Date;
  in_force: boolean;
};

/** The picture of a day, and what keeps it from being signed. The day is compared first, as a whole. */
export async function prepareClose(ctx: Context, request: CloseRequest): Promise<PreparedClose> {
  const { connection, currency, day, balance } = request;
  const { from, to } = (await openCalendar(ctx.db, connection)).spanOf(day);
  // A balance that a person read must follow from the day before: a statement that was forgotten shows.
  const mayBeEmpty = balance !== undefined && (await findPrevious(ctx.db, connection, currency)) !== null;
  await reconcile(ctx, { connection, from, to, isWhole: true, currency, mayBeEmpty });
  return await describeDay(ctx, ctx.db, request);
}

/** A person signs the day. Nothing about it changes afterwards, unless it is reopened. */
export async function signClose(ctx: Context, actor: Actor, request: CloseRequest): Promise<PreparedClose> {
  await prepareClose(ctx, request);
  const at = ctx.clock.now();
  return await ctx.db.transaction(async (tx) => {
    await lockDays(tx, request.connection, 'signing');
    const prepared = await describeDay(ctx, tx, request);
    if (prepared.problems.length > 0)
      throw new Problem('invalid_params', { message: `The day cannot be signed. ${prepared.problems.join(' ')}` });
    await insertClose(tx, prepared, actor, at);
    await closeEvened(tx, request, actor.name, at);
    await audit(tx, actor, 'day.closed', request, at);
    return prepared;
  });
}

function audit(
  tx: Tx,
  actor: Actor,
  action: 'day.closed' | 'day.reopened',
  { connection, currency, day }: CloseRequest,
  at: Date,
): Promise<void> {
  const details = { currency, day };
  return recordAudit(tx, { holderId: null, actor, action, subject: connection, details }, at);
}

/** The same without comparing: what is known of the day now. Nothing is written. */
export async function describeDay(
  ctx: Pick<Context, 'clock'>,
  reader: Reader,
  request: CloseRequest,
): Promise<PreparedClose> {
  const { connection, currency, day } = request;
  const { from, to } = (await openCalendar(reader, connection)).spanOf(day);
  const previous = await findPrevious(reader, connection, currency);
  const sums = await sumLines(reader, request);
  const moved = sums.linesIn - sums.linesOut - sums.fees;
  const unchanged = previous && sums.lines === 0 ? previous.closing_theirs : null;
  const stated =
    (await findBalance(reader, request, { from, to }, previous ? previous.closing_theirs + moved : null)) ??
    (unchanged === null ? null : { balance: unchanged, source: 'unchanged' as const });
  const openingTheirs = previous?.closing_theirs ?? (stated ? stated.balance - moved : null);
  const [openingOurs, closingOurs] = [
    await clearingAt(reader, connection, currency, from),
    await clearingAt(reader, connection, currency, to),
  ];
  const items = await listItems(reader, request, { from, to });
  const explained = items.reduce((total, { difference }) => total + difference, 0n);
  const figures: DayFigures = {
    connection,
    currency,
    day,
    from,
    to,
    ...sums,
    openingTheirs,
    closingTheirs: stated?.balance ?? null,
    balanceSource: stated?.source ?? null,
    openingOurs,
    closingOurs,
    items,
    unexplained: moved - (closingOurs - openingOurs) - explained,
  };
  const unbooked = await countUnbooked(reader, request);
  const blocks = findBlocks(figures, { previousDay: previous?.day ?? null, unbooked, now: ctx.clock.now() });
  return { ...figures, blocks, problems: blocks.map((block) => blockSentence(block, figures)) };
}

const CLOSE_COLUMNS = `c.connection, c.currency, c.number, c.kind, c.day::text as day, c.opening_theirs, c.lines_in, c.lines_out, c.fees,
  c.closing_theirs, c.balance_source, c.opening_ours, c.closing_ours, c.lines, c.late_lines, c.reason, c.hash, c.signed_by, c.signed_at`;

async function findPrevious(reader: Reader, connection: string, currency: string): Promise<Close | null> {
  const [row] = await reader.query<Close>(
    `select ${CLOSE_COLUMNS}, true as in_force from closes c
     where c.connection = $1 and c.currency = $2 and ${IN_FORCE} order by c.day desc, c.number desc limit 1`,
    [connection, currency],
  );
  return row ?? null;
}

/** The chain of a connection, newest first. */
export function listCloses(reader: Reader, connection: string, limit: number): Promise<Close[]> {
  return reader.query<Close>(
    `select ${CLOSE_COLUMNS}, (${IN_FORCE}) as in_force from closes c
     where c.connection = $1 order by c.signed_at desc, c.number desc limit $2`,
    [connection, limit],
  );
}

/** The chain of a connection in one currency, newest first, page by page. */
export function pageCloses(
  reader: Reader,
  { connection, currency }: Pick<CloseRequest, 'connection' | 'currency'>,
  before: bigint | null,
  limit: number,
): Promise<Close[]> {
  return reader.query<Close>(
    `select ${CLOSE_COLUMNS}, (${IN_FORCE}) as in_force from closes c
     where c.connection = $1 and c.currency = $2 and ($3::bigint is null or c.number < $3) order by c.number desc limit $4`,
    [connection, currency, before, limit],
  );
}

/** The signature of a day that nobody has reopened. */
export async function findClose(
  reader: Reader,
  { connection, currency, day }: Pick<CloseRequest, 'connection' | 'currency' | 'day'>,
): Promise<Close | null> {
  const [row] = await reader.query<Close>(
    `select ${CLOSE_COLUMNS}, true as in_force from closes c
     where c.connection = $1 and c.currency = $2 and c.day = $3 and ${IN_FORCE} order by c.number desc limit 1`,
    [connection, currency, day],
  );
  return row ?? null;
}

/** What explained the difference of a signed day. */
export function listCloseItems(reader: Reader, { connection, currency, number }: Close): Promise<CloseItem[]> {
  return reader.query<CloseItem>(
    `select kind, break_id, lines, difference from close_items
     where connection = $1 and currency = $2 and number = $3 order by place limit ${MAX_CLOSE_ITEMS}`,
    [connection, currency, number],
  );
}

/**
 * The currencies in which lines count on a day, and those that were signed up to the day before: one that rests for a day would keep
 * its next day from being closed. Of a day without lines, all that were signed before it.
 */
export async function currenciesOf(reader: Reader, connection: string, day: string): Promise<string[]> {
  const rows = await reader.query<{ currency: string }>(
    `with counted as (select distinct currency from statement_matches where connection = $1 and day = $2)
     select currency from counted
     union
     select c.currency from closes c where c.connection = $1 and c.day < $2 and ${IN_FORCE}
       and (c.day = $2::date - 1 or not exists (select from counted))
     order by currency`,
    [connection, day],
  );
  return rows.map((row) => row.currency);
}

type LineSums = Pick<DayFigures, 'lines' | 'lateLines' | 'linesIn' | 'linesOut' | 'fees'>;

async function sumLines(reader: Reader, { connection, currency, day }: CloseRequest): Promise<LineSums> {
  // As text: a column of ids that was read as amounts adds up to more than a bigint holds, and must be seen to be withdrawn.
  const [row] = await reader.query<Record<keyof LineSums, string>>(
    `select count(*) as lines, count(*) filter (where late) as "lateLines",
            coalesce(sum(moved) filter (where moved > 0), 0)::text as "linesIn",
            coalesce(-sum(moved) filter (where moved < 0), 0)::text as "linesOut", coalesce(sum(fee), 0)::text as fees
     from statement_matches where connection = $1 and currency = $2 and day = $3`,
    [connection, currency, day],
  );
  return {
    lines: Number(row?.lines ?? 0),
    lateLines: Number(row?.lateLines ?? 0),
    linesIn: BigInt(row?.linesIn ?? 0),
    linesOut: BigInt(row?.linesOut ?? 0),
    fees: BigInt(row?.fees ?? 0),
  };
}

/**
 * The operator's closing balance: typed, that of the last line, that of the file, or what the operator said right after the day
 * while nothing moved. Several lines of the last second can claim to be the last: `expected` tells which.
 */
async function findBalance(
  reader: Reader,
  { connection, currency, day, balance }: CloseRequest,
  { from, to }: { from: Date; to: Date },
  expected: bigint | null,
): Promise<{ balance: bigint; source: BalanceSource } | null> {
  if (balance !== undefined) return { balance, source: 'typed' };
  const lines = await reader.query<{ balance: bigint; line_number: number; file_id: bigint; newest_first: boolean }>(
    `with of_day as (
       select l.* from statement_lines l join statement_matches m on m.connection = l.connection and m.line_key = l.line_key
       where l.connection = $1 and l.currency = $2 and l.occurred_at >= $3 and l.occurred_at < $4
         and l.balance is not null and l.state = 'succeeded' and m.day = $5
     )
     select l.balance, l.line_number, l.file_id,
       coalesce((select e.line_number > l.line_number from of_day e where e.file_id = l.file_id and e.occurred_at < l.occurred_at
                 order by e.occurred_at limit 1), false) as newest_first
     from of_day l where l.occurred_at = (select max(occurred_at) from of_day)
     order by l.file_id desc, l.line_number desc limit 1000`,
    [connection, currency, from, to, day],
  );
  const [lowest, highest] = [lines.at(-1), lines[0]];
  const last = lines.find((line) => line.balance === expected) ?? (highest?.newest_first ? lowest : highest);
  if (last) return { balance: last.balance, source: 'line' };
  const [file] = await reader.query<{ closing_balance: bigint }>(
    `select f.closing_balance from statement_files f
     cross join lateral (select max(l.occurred_at) as at from statement_lines l where l.file_id = f.id) as newest
     where f.connection = $1 and f.closing_balance is not null and (f.currency is null or f.currency = $2)
       and newest.at >= $3 and newest.at < $4
     order by newest.at desc, f.id desc limit 1`,
    [connection, currency, from, to],
  );
  if (file) return { balance: file.closing_balance, source: 'file' };
  return await findReadBalance(reader, connection, currency, to);
}

async function findReadBalance(
  reader: Reader,
  connection: string,
  currency: string,
  to: Date,
): Promise<{ balance: bigint; source: BalanceSource } | null> {
  const reported = (await listOperatorBalances(reader)).filter(
    (each) => each.connection === connection && each.currency === currency && each.reportedAt >= to,
  );
  const [only, another] = reported;
  if (!only || another) return null;
  const [atEnd, then] = [
    await clearingAt(reader, connection, currency, to),
    await clearingAt(reader, connection, currency, only.reportedAt),
  ];
  return atEnd === then ? { balance: only.available, source: 'read' } : null;
}

/** Breaks that hold count on their day, and the other way on the other one. Fees count where lines and posting are days apart. */
async function listItems(
  reader: Reader,
  { connection, currency, day }: CloseRequest,
  { from, to }: { from: Date; to: Date },
): Promise<CloseItem[]> {
  return await reader.query<CloseItem>(
    `select kind, id as break_id, 1 as lines, case when day = $3 then difference else -difference end as difference from breaks
     where connection = $1 and currency = $2 and holds and kind <> 'fee' and difference <> 0 and $3::date in (day, counter_day)
     union all
     select 'other_day', null, lines, -amount from fee_bookings
     where connection = $1 and currency = $2 and day = $3 and (posted_at < $4 or posted_at >= $5)
     union all
     select 'other_day', null, lines, amount from fee_bookings
     where connection = $1 and currency = $2 and day <> $3 and posted_at >= $4 and posted_at < $5
     order by kind, break_id limit ${MAX_CLOSE_ITEMS}`,
    [connection, currency, day, from, to],
  );
}

async function countUnbooked(reader: Reader, { connection, currency, day }: CloseRequest): Promise<number> {
  const [row] = await reader.query<{ lines: number }>(
    `select count(*)::int as lines from statement_matches m
     where connection = $1 and currency = $2 and day = $3 and fee <> 0 and not exists (
       select from statement_effects e where e.connection = m.connection and e.line_key = m.line_key and e.effect = 'fee')`,
    [connection, currency, day],
  );
  return row?.lines ?? 0;
}

const ITEMS = columns<CloseItem & { place: number }>(4, {
  place: 'integer',
  kind: 'text',
  break_id: 'uuid',
  lines: 'integer',
  difference: 'bigint',
});

/** The last row of the chain. The caller holds the lock of the days. */
const CHAIN_END = `coalesce((select number from closes where connection = $1 and currency = $2 order by number desc limit 1), 0)`;
const CHAIN_HASH = `coalesce((select hash from closes where connection = $1 and currency = $2 order by number desc limit 1),
  ${FIRST_HASH})`;

const itemsText = (items: readonly CloseItem[]) =>
  items
    .map(({ kind, break_id: id, lines, difference }, place) => [place, kind, id ?? '', lines, difference].join(','))
    .join(';');

async function insertClose(tx: Tx, figures: DayFigures, actor: Actor, at: Date): Promise<void> {
  const { connection, currency, day, from, to, items } = figures;
  const [row] = await tx.query<{ number: bigint }>(
    `with c as (
       select n.*, ${contentHash('n')} as content_hash from (
         select $1::text as connection, $2::text as currency, ${CHAIN_END} + 1 as number, 'close' as kind, $3::date as day,
           $4::timestamptz as from_at, $5::timestamptz as to_at, $6::bigint as opening_theirs, $7::bigint as lines_in,
           $8::bigint as lines_out, $9::bigint as fees, $10::bigint as closing_theirs, $11::text as balance_source,
           $12::bigint as opening_ours, $13::bigint as closing_ours, $14::integer as lines, $15::integer as late_lines, '' as reason,
           ${CHAIN_HASH} as previous_hash, $16::text as signed_by, $17::timestamptz as signed_at, $18::text as items) as n
     )
     insert into closes (${CHAIN_COLUMNS}, hash) select ${CHAIN_COLUMNS}, ${CLOSE_HASH} from c returning number`,
    [
      connection,
      currency,
      day,
      from,
      to,
      figures.openingTheirs,
      figures.linesIn,
      figures.linesOut,
      figures.fees,
      figures.closingTheirs,
      figures.balanceSource,
      figures.openingOurs,
      figures.closingOurs,
      figures.lines,
      figures.lateLines,
      actor.name,
      at,
      itemsText(items),
    ],
  );
  await tx.query(
    `insert into close_items (connection, currency, number, ${ITEMS.names}) select $1, $2, $3, ${ITEMS.names} from ${ITEMS.rows}`,
    [connection, currency, row?.number, ...ITEMS.arrays(items.map((item, place) => ({ ...item, place })))],
  );
}

const CHAIN_COLUMNS = `connection, currency, number, kind, day, from_at, to_at, opening_theirs, lines_in, lines_out, fees,
  closing_theirs, balance_source, opening_ours, closing_ours, lines, late_lines, reason, content_hash, previous_hash, signed_by,
  signed_at`;

/** The day, and every closed day after it, can be signed again. The reopening stays visible in the chain. */
export async function reopenClose(ctx: Context, actor: Actor, request: CloseRequest, reason: string): Promise<void> {
  if (reason.trim().length < MIN_REASON)
    throw new Problem('invalid_params', { message: 'Say in a few words why the day is reopened.' });
  const { connection, currency, day } = request;
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await lockDays(tx, connection, 'signing');
    const rows = await tx.query(
      `with c as (
         select c.connection, c.currency, ${CHAIN_END} + 1 as number, 'reopening' as kind, c.day, c.from_at, c.to_at, c.opening_theirs,
           c.lines_in, c.lines_out, c.fees, c.closing_theirs, c.balance_source, c.opening_ours, c.closing_ours, c.lines, c.late_lines,
           $4::text as reason, c.content_hash, ${CHAIN_HASH} as previous_hash, $5::text as signed_by, $6::timestamptz as signed_at,
           '' as items
         from closes c where c.connection = $1 and c.currency = $2 and c.day = $3 and ${IN_FORCE}
       )
       insert into closes (${CHAIN_COLUMNS}, hash) select ${CHAIN_COLUMNS}, ${CLOSE_HASH} from c returning number`,
      [connection, currency, day, reason.trim(), actor.name, at],
    );
    if (rows.length === 0)
      throw new Problem('not_found', { message: `${day} of ${connection} in ${currency} is not closed.` });
    await audit(tx, actor, 'day.reopened', request, at);
  });
}
