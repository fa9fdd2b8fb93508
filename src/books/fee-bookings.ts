// What operators charge us, booked to its cost account: one transfer for the lines of a day, a method and a page, so that a hundred
// thousand fees make a few dozen transfers. Each line names its booking, and `ledger verify` adds them up again.

import { postEach } from '../ledger/ledger.ts';
import { operatorFeeCharged, operatorFeeReturned } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createHolderUuid, NO_HOLDER } from '../platform/ids.ts';

const PAGE = 10_000;

type Days = { first: string; last: string };

/** Fees that are not booked yet. */
export type UnbookedFees = { method: string; currency: string; lines: number; amount: bigint };

type FeeLine = { line_key: Buffer; day: string; currency: string; method: string; fee: bigint };
type Booking = { id: string; day: string; currency: string; method: string; amount: bigint; lines: FeeLine[] };

const UNBOOKED = `from statement_matches m
  where m.connection = $1 and m.day between $2 and $3 and m.fee <> 0 and m.currency <> all ($4)
    and not exists (select from statement_effects e
      where e.connection = m.connection and e.line_key = m.line_key and e.effect = 'fee')`;

/** `except`: none in these currencies. */
export async function sumUnbooked(
  reader: Reader,
  connection: string,
  { first, last }: Days,
  except: readonly string[],
): Promise<UnbookedFees[]> {
  // As text: many wrong lines add up to more than a bigint holds.
  const rows = await reader.query<Omit<UnbookedFees, 'amount'> & { amount: string }>(
    `select coalesce(m.method, '') as method, m.currency, count(*)::int as lines, sum(m.fee)::text as amount
     ${UNBOOKED} group by 1, 2 order by 1, 2`,
    [connection, first, last, except],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

/** Books what is not booked. Returns how many lines that were. */
export async function bookFees(
  ctx: Pick<Context, 'db' | 'clock'>,
  by: string,
  connection: string,
  days: Days,
  except: readonly string[],
): Promise<number> {
  let booked = 0;
  for (;;) {
    const lines = await ctx.db.transaction((tx) => bookPage(tx, ctx.clock.now(), by, connection, days, except));
    booked += lines;
    if (lines < PAGE) return booked;
  }
}

async function bookPage(
  tx: Tx,
  at: Date,
  by: string,
  connection: string,
  { first, last }: Days,
  except: readonly string[],
): Promise<number> {
  // Two runs at once would find the same lines: the second waits, and finds them booked.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('fee bookings ' || $1, 0))`, [connection]);
  const lines = await tx.query<FeeLine>(
    `select m.line_key, m.day::text as day, m.currency, coalesce(m.method, '') as method, m.fee ${UNBOOKED}
     order by m.day, m.line_key limit ${PAGE}`,
    [connection, first, last, except],
  );
  if (lines.length === 0) return 0;
  const groups = Map.groupBy(lines, ({ day, currency, method, fee }) => `${day} ${currency} ${method} ${fee > 0n}`);
  const bookings = [...groups.values()].flatMap((group): Booking[] => {
    const [line] = group;
    if (!line) return [];
    const { day, currency, method } = line;
    const amount = group.reduce((total, { fee }) => total + fee, 0n);
    return [{ id: createHolderUuid(at.getTime(), NO_HOLDER), day, currency, method, amount, lines: group }];
  });
  const results = await postEach(
    tx,
    bookings.map(({ id, currency, amount }) => {
      const fact = { holderId: NO_HOLDER, transactionId: id, currency, rail: connection };
      return amount > 0n ? operatorFeeCharged({ ...fact, amount }) : operatorFeeReturned({ ...fact, amount: -amount });
    }),
    at,
  );
  const [posted] = results.flatMap((result) => (result.ok ? result.transfers : []));
  if (!posted || results.some((result) => !result.ok)) throw new Error('fees of an operator were not posted');
  await insertBookings(tx, connection, bookings, { by, postedAt: posted.postedAt, at });
  return lines.length;
}

const BOOKINGS = columns<Booking>(4, {
  id: 'uuid',
  day: 'date',
  currency: 'text',
  method: 'text',
  amount: 'bigint',
  lines: ['integer', ({ lines }) => lines.length],
});
const BOOKED = columns<{ line: FeeLine; booking: string }>(4, {
  line_key: ['bytea', ({ line }) => line.line_key],
  fee_booking: ['uuid', ({ booking }) => booking],
});

async function insertBookings(
  tx: Tx,
  connection: string,
  bookings: readonly Booking[],
  { by, postedAt, at }: { by: string; postedAt: Date; at: Date },
): Promise<void> {
  await tx.query(
    `insert into fee_bookings (connection, booked_by, posted_at, ${BOOKINGS.names})
     select $1, $2, $3, ${BOOKINGS.names} from ${BOOKINGS.rows}`,
    [connection, by, postedAt, ...BOOKINGS.arrays(bookings)],
  );
  await tx.query(
    `insert into statement_effects (connection, applied_by, applied_at, effect, ${BOOKED.names})
     select $1, $2, $3, 'fee', ${BOOKED.names} from ${BOOKED.rows} order by line_key`,
    [
      connection,
      by,
      at,
      ...BOOKED.arrays(bookings.flatMap(({ id, lines }) => lines.map((line) => ({ line, booking: id })))),
    ],
  );
}
