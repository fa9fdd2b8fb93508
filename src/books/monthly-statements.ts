// The statements of past months. When a month of a holder is over, a job makes the statement of each wallet and stores its CSV with
// its hash: what was shown for a month stays what was shown, whatever zone the holder chooses later.

import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { type Holder, listHolders } from '../holders/holders.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { firstCredit } from '../ledger/wallet-history.ts';
import { HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { tryEach } from '../platform/jobs.ts';
import { perProcess } from '../platform/memory.ts';
import { addDays, dayIn, firstOfMonth, firstOfMonthBefore, startOfDay } from '../platform/time-zones.ts';
import { writeStatement } from './merchant-statement-files.ts';
import { type MerchantStatement, prepareStatement, type StatementPeriod, sumTotals } from './merchant-statements.ts';

/** Holders of one pass. A pass begins where the one before ended. */
const HOLDERS_PER_PASS = 50;
/** A posting of the last second of a month may still be on its way. */
const AFTER_MONTH_MS = HOUR_MS;
const PART_BYTES = 1_048_576;
const MAX_LISTED = 120;
/** After a long stop, at most the statements of a year are made. */
const MAX_MONTHS_BACK = 12;
const MAX_REMEMBERED = 50_000;

export type MonthlyStatement = {
  currency: string;
  /** Its first day: 2026-11-01. */
  month: string;
  time_zone: string;
  opening: bigint;
  gross: bigint;
  fee: bigint;
  net: bigint;
  closing: bigint;
  lines: number;
  bytes: bigint;
  /** Hexadecimal. */
  sha256: string;
  made_at: Date;
};

const COLUMNS = `currency, month::text as month, time_zone, opening, gross, fee, net, closing, lines, bytes,
  encode(sha256, 'hex') as sha256, made_at`;

/** The newest months first. */
export function listMonthlyStatements(
  reader: Reader,
  holderId: bigint,
  filter: { currency?: string; madeAfter?: Date } = {},
): Promise<MonthlyStatement[]> {
  return reader.query<MonthlyStatement>(
    `select ${COLUMNS} from monthly_statements
     where holder_id = $1 and ($2::text is null or currency = $2) and ($3::timestamptz is null or made_at > $3)
     order by month desc, currency limit ${MAX_LISTED}`,
    [holderId, filter.currency ?? null, filter.madeAfter ?? null],
  );
}

/** One of them; null when there is none. */
export async function findMonthlyStatement(
  reader: Reader,
  holderId: bigint,
  currency: string,
  month: string,
): Promise<MonthlyStatement | null> {
  const [row] = await reader.query<MonthlyStatement>(
    `select ${COLUMNS} from monthly_statements where holder_id = $1 and currency = $2 and month = $3::date`,
    [holderId, currency, month],
  );
  return row ?? null;
}

/** The stored CSV of one of them, a part at a time. */
export async function* readMonthlyCsv(
  reader: Reader,
  holderId: bigint,
  { currency, month }: Pick<MonthlyStatement, 'currency' | 'month'>,
): AsyncGenerator<Buffer> {
  for (let number = 1; ; number++) {
    const [part] = await reader.query<{ content: Buffer }>(
      `select content from monthly_statement_parts
       where holder_id = $1 and currency = $2 and month = $3::date and number = $4`,
      [holderId, currency, month, number],
    );
    if (!part) return;
    yield part.content;
  }
}

type Place = { before: bigint | undefined };
const placeOf = perProcess((): Place => ({ before: undefined }));

/** One pass over some holders. Returns how many statements it made. */
export async function makeMonthlyStatements(ctx: Context): Promise<number> {
  const place = placeOf(ctx);
  const holders = await listHolders(ctx.db, { before: place.before, limit: HOLDERS_PER_PASS });
  place.before = holders.length < HOLDERS_PER_PASS ? undefined : holders.at(-1)?.id;
  let made = 0;
  await tryEach(holders, async (holder) => {
    made += await makeStatementsOf(ctx, holder);
  });
  return made;
}

async function makeStatementsOf(ctx: Context, holder: Holder): Promise<number> {
  const { firstDay } = pastMonth(holder.time_zone, new Date(ctx.clock.millis() - AFTER_MONTH_MS));
  const stored = await storedMonths(ctx.db, holder.id);
  const wallets = await balancesOf(ctx.db, holder.id);
  let made = 0;
  for (const { currency } of wallets) {
    const months = stored.get(currency) ?? [];
    const first = months.length > 0 ? firstDay : await firstMonth(ctx, holder, currency);
    for (const month of missingMonths(months, first, firstDay)) {
      try {
        if (await makeStatement(ctx, holder, currency, month)) made++;
      } catch (error) {
        // The statement of another wallet must not wait for it. The next pass tries again.
        ctx.log.error({ holder: holder.id, currency, month, err: error }, 'a monthly statement was not made');
      }
    }
  }
  return made;
}

/** When wallets without a statement first had money: asked for once, not in every pass. */
const firstCredits = perProcess(() => new Map<string, Date>());

/** The month in which a wallet first had money; the one that goes on now where it never had any. */
async function firstMonth(ctx: Context, { id, time_zone: zone }: Holder, currency: string): Promise<string> {
  const known = firstCredits(ctx);
  const key = `${id} ${currency}`;
  const at = known.get(key) ?? (await firstCredit(ctx.db, id, currency)) ?? ctx.clock.now();
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(key, at);
  return firstOfMonth(dayIn(zone, at));
}

/** The months of each currency that have a statement. */
async function storedMonths(reader: Reader, holderId: bigint): Promise<Map<string, string[]>> {
  const rows = await reader.query<{ currency: string; months: string[] }>(
    'select currency, array_agg(month::text) as months from monthly_statements where holder_id = $1 group by currency',
    [holderId],
  );
  return new Map(rows.map(({ currency, months }) => [currency, months]));
}

/**
 * The months from the first one, or the oldest statement, to the past one that have no statement because the gateway was stopped or
 * they have just ended, the oldest first: a month begins where the one before ended.
 */
export function missingMonths(stored: readonly string[], first: string, past: string): string[] {
  const [oldest = past] = [...stored, first].sort();
  const missing: string[] = [];
  let month = past;
  for (let count = 0; month >= oldest && count < MAX_MONTHS_BACK; count++) {
    if (!stored.includes(month)) missing.unshift(month);
    month = firstOfMonthBefore(month);
  }
  return missing;
}

/** Months of wallets that had no money and no line. They are over, so they stay empty. */
const emptyMonths = perProcess(() => new Set<string>());

/** False: there is nothing to state, or another process was faster. */
async function makeStatement(ctx: Context, holder: Holder, currency: string, month: string): Promise<boolean> {
  const empty = emptyMonths(ctx);
  const key = `${holder.id} ${currency} ${month} ${holder.time_zone}`;
  if (empty.has(key)) return false;
  const statement = await prepareStatement(ctx, holder, await monthOf(ctx.db, holder, currency, month));
  if (statement.lines > 0 || statement.opening !== 0n)
    return ctx.db.transaction((tx) => storeStatement(tx, ctx, statement));
  if (empty.size >= MAX_REMEMBERED) empty.clear();
  empty.add(key);
  return false;
}

/** A month of a wallet. It begins where the statement of the month before ended, also if the holder has chosen another zone since. */
export async function monthOf(
  reader: Reader,
  { id, time_zone: zone }: Pick<Holder, 'id' | 'time_zone'>,
  currency: string,
  firstDay: string,
): Promise<StatementPeriod> {
  const lastDay = addDays(firstOfMonth(addDays(firstDay, 31)), -1);
  const before = await findMonthlyStatement(reader, id, currency, firstOfMonthBefore(firstDay));
  const period = { currency, firstDay, lastDay };
  return !before || before.time_zone === zone
    ? period
    : { ...period, beginsAt: startOfDay(before.time_zone, firstDay) };
}

/** The month before the one of this moment. */
export function pastMonth(timeZone: string, moment: Date): { firstDay: string; lastDay: string } {
  const today = dayIn(timeZone, moment);
  return { firstDay: firstOfMonthBefore(today), lastDay: addDays(firstOfMonth(today), -1) };
}

/** False: another process was faster. */
async function storeStatement(tx: Tx, ctx: Context, statement: MerchantStatement): Promise<boolean> {
  const { holder, currency, firstDay, walletAccount, opening, closing, lines, madeAt } = statement;
  const [taken] = await tx.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended($1, 54)) and not exists (
       select from monthly_statements where holder_id = $2 and currency = $3 and month = $4::date) as free`,
    [`monthly statement ${holder.id} ${currency} ${firstDay}`, holder.id, currency, firstDay],
  );
  if (!taken?.free) return false;
  const { content } = writeStatement(ctx, statement, 'csv', 'en');
  const { bytes, sha256 } = await storeParts(tx, statement, content);
  const { gross, fee, net } = sumTotals(statement.totals);
  const facts = [holder.id, currency, firstDay, holder.time_zone, walletAccount];
  await tx.query(
    `insert into monthly_statements (holder_id, currency, month, time_zone, wallet_account, opening, gross, fee, net, closing,
       lines, bytes, sha256, made_at)
     values ($1, $2, $3::date, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [...facts, opening, gross, fee, net, closing, lines, bytes, sha256, madeAt],
  );
  return true;
}

async function storeParts(
  tx: Tx,
  { holder, currency, firstDay }: MerchantStatement,
  content: Readable,
): Promise<{ bytes: bigint; sha256: Buffer }> {
  const hash = createHash('sha256');
  let bytes = 0;
  let number = 0;
  let held = Buffer.alloc(0);
  const flush = async (part: Buffer) => {
    number++;
    await tx.query(
      'insert into monthly_statement_parts (holder_id, currency, month, number, content) values ($1, $2, $3::date, $4, $5)',
      [holder.id, currency, firstDay, number, part],
    );
  };
  for await (const chunk of content as AsyncIterable<Buffer | string>) {
    const piece = Buffer.from(chunk);
    hash.update(piece);
    bytes += piece.length;
    held = Buffer.concat([held, piece]);
    for (; held.length >= PART_BYTES; held = held.subarray(PART_BYTES)) await flush(held.subarray(0, PART_BYTES));
  }
  if (held.length > 0) await flush(held);
  return { bytes: BigInt(bytes), sha256: hash.digest() };
}
