// The picture of a day for those who close it: what each account with an operator did by our ledger and by its statement, what does
// not agree, and whether it is signed. Nothing is compared or written here.

import { type ClearingFlows, clearingFlows, listClearing } from '../ledger/clearing.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { addDays } from '../platform/time-zones.ts';
import { countOpenBreaks, dailyDifferences, type OpenBreaks } from './breaks.ts';
import { type Calendar, openCalendar } from './calendar.ts';
import { type Close, describeDay, findClose, type PreparedClose } from './closes.ts';

export const PICTURE_DAYS = 14;
/** More accounts than a page can show: the first of them. */
const MAX_ACCOUNTS = 40;

/** One account with an operator, in one currency. */
export type BooksAccount = { connection: string; currency: string };

/**
 * `signed`: by a person; `ready`: it could be signed; `no_statement`: money moved, and no line came; `quiet`: nothing happened;
 * `waiting`: the day is not over, or something keeps it open.
 */
export type DayStatus = 'signed' | 'ready' | 'waiting' | 'no_statement' | 'quiet';

export type AccountDay = BooksAccount & {
  day: string;
  zone: string;
  status: DayStatus;
  figures: PreparedClose;
  ledger: ClearingFlows;
  /** By how much the account moved more, by the statement, than by our ledger. Null: there is no statement. */
  difference: bigint | null;
  /** Open ones of the day, by kind, and how many there are of other days. */
  breaks: OpenBreaks[];
  otherBreaks: number;
  close: Close | null;
  /** The last days, oldest first. */
  differences: { day: string; difference: bigint }[];
};

/** Every account that moved money or has a statement. */
export async function listBooksAccounts(reader: Reader): Promise<BooksAccount[]> {
  const seen = await reader.query<BooksAccount>(
    // Along the index, from one connection to the next: matches are many, connections few.
    `with recursive named as (
       (select connection from statement_matches order by connection limit 1)
       union all
       select (select m.connection from statement_matches m where m.connection > n.connection order by m.connection limit 1)
       from named n where n.connection is not null
     )
     select n.connection, c.currency from named n
     cross join lateral (select distinct currency from statement_matches m where m.connection = n.connection
       and m.day = (select max(day) from statement_matches l where l.connection = n.connection)) as c
     where n.connection is not null`,
  );
  const all = [...(await listClearing(reader)), ...seen];
  return [...new Map(all.map((each) => [`${each.connection} ${each.currency}`, each])).entries()]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, account]) => account);
}

/** The last day that is over at every connection. */
export async function lastDayOver(
  ctx: Pick<Context, 'db' | 'clock'>,
  accounts: readonly BooksAccount[],
): Promise<string> {
  const now = ctx.clock.now();
  const days = [addDays(now.toISOString().slice(0, 10), -1)];
  for (const connection of new Set(accounts.map((each) => each.connection)))
    days.push(addDays((await openCalendar(ctx.db, connection)).dayOf(now), -1));
  return days.sort()[0] ?? '';
}

export async function pictureOfDay(
  ctx: Pick<Context, 'db' | 'clock'>,
  accounts: readonly BooksAccount[],
  day: string,
): Promise<AccountDay[]> {
  const days = { first: addDays(day, 1 - PICTURE_DAYS), last: day };
  const [breaks, differences] = [await countOpenBreaks(ctx.db, day), await dailyDifferences(ctx.db, days)];
  const pictures: AccountDay[] = [];
  for (const account of accounts.slice(0, MAX_ACCOUNTS)) {
    const isOwn = (each: BooksAccount) => each.connection === account.connection && each.currency === account.currency;
    const open = breaks.filter(isOwn);
    const known = new Map(differences.filter(isOwn).map((each) => [each.day, each.difference]));
    const calendar = await openCalendar(ctx.db, account.connection);
    pictures.push({
      ...(await pictureOf(ctx, account, day, calendar)),
      breaks: open.filter(({ isOfDay }) => isOfDay),
      otherBreaks: open.reduce((total, each) => total + (each.isOfDay ? 0 : each.breaks), 0),
      differences: Array.from({ length: PICTURE_DAYS }, (_, index) => {
        const each = addDays(days.first, index);
        return { day: each, difference: known.get(each) ?? 0n };
      }),
    });
  }
  return pictures;
}

async function pictureOf(
  ctx: Pick<Context, 'db' | 'clock'>,
  { connection, currency }: BooksAccount,
  day: string,
  calendar: Calendar,
): Promise<Omit<AccountDay, 'breaks' | 'otherBreaks' | 'differences'>> {
  const request = { connection, currency, day };
  const figures = await describeDay(ctx, ctx.db, request);
  const close = await findClose(ctx.db, request);
  const ledger = await clearingFlows(ctx.db, connection, currency, calendar.spanOf(day));
  const { linesIn, linesOut, fees, openingOurs, closingOurs, lines } = figures;
  const difference = lines === 0 ? null : linesIn - linesOut - fees - (closingOurs - openingOurs);
  const status = statusOf(figures, close);
  return { ...request, zone: calendar.rule.zone, status, figures, ledger, difference, close };
}

function statusOf({ lines, openingOurs, closingOurs, blocks }: PreparedClose, close: Close | null): DayStatus {
  if (close) return 'signed';
  if (lines === 0 && openingOurs === closingOurs) return 'quiet';
  // The fees of the day before are booked on a day that may have no lines.
  if (blocks.length === 0) return 'ready';
  return lines === 0 ? 'no_statement' : 'waiting';
}
