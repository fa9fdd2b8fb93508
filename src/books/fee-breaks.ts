// Fees that need a look. Operators do not tell us their tariffs, but the same amount by the same method costs the same: a payment
// whose fee differs from what nearly all others with its amount cost is a break, and so is a fee that no payment explains.

import type { Tx } from '../platform/db.ts';
import { syncBreaks, type WantedBreak } from './breaks.ts';

/** A usual fee needs this many payments with the same amount, and this share of them. */
const MIN_PAYMENTS = 10;
const MIN_SHARE = 0.8;

type OddFee = {
  line_key: Buffer;
  transaction_id: string | null;
  currency: string;
  day: string;
  usual: bigint | null;
  charged: bigint;
};

const ODD_FEES = `
  with counted as materialized (
    select m.line_key, m.transaction_id, m.currency, m.day, m.method, m.leg, m.fee, l.direction, l.gross, l.kind,
      l.fee is not null as is_stated
    from statement_matches m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
    where m.connection = $1 and m.day between $2 and $3 and l.state = 'succeeded'
  ), charged_apart as (
    select transaction_id, sum(fee)::bigint as fee from counted where leg = 'fee' and transaction_id is not null group by transaction_id
  ), cost as materialized (
    select c.line_key, c.transaction_id, c.currency, c.day, c.method, c.direction, c.gross, c.fee + coalesce(a.fee, 0) as charged
    from counted c left join charged_apart a using (transaction_id)
    where c.leg = 'payment' and c.transaction_id is not null and (c.is_stated or a.transaction_id is not null)
  ), usual as (
    select method, currency, direction, gross, mode() within group (order by charged) as charged, count(*) as payments
    from cost group by method, currency, direction, gross having count(*) >= ${MIN_PAYMENTS}
  ), odd as (
    select c.*, u.charged as usual, u.payments,
      count(*) over (partition by c.method, c.currency, c.direction, c.gross) as odd_ones
    from cost c join usual u using (method, currency, direction, gross) where c.charged <> u.charged
  )
  select line_key, transaction_id, currency, day::text as day, usual, charged from odd
  where odd_ones <= payments * (1 - ${MIN_SHARE})
  union all
  select line_key, null, currency, day::text, null, fee from counted
  where kind = 'fee' and transaction_id is null and fee <> 0`;

/** Fees are booked as they were charged, so these breaks explain no difference of a close. */
export async function compareFees(
  tx: Tx,
  connection: string,
  days: { first: string; last: string },
  at: Date,
): Promise<{ opened: number; closed: number }> {
  // One statement over all lines of the days; on a busy machine it takes longer than a request may.
  await tx.query(`set local statement_timeout = '60s'`);
  const odd = await tx.query<OddFee>(ODD_FEES, [connection, days.first, days.last]);
  const wanted = odd.map(
    (fee): WantedBreak => ({
      kind: 'fee',
      leg: 'fee',
      lineKey: fee.line_key,
      transactionId: fee.transaction_id,
      currency: fee.currency,
      expected: fee.usual,
      found: fee.charged,
      difference: (fee.usual ?? 0n) - fee.charged,
      day: fee.day,
      counterDay: null,
    }),
  );
  return await syncBreaks(tx, { connection, kinds: ['fee'], transactionIds: [], lineKeys: [], days, wanted }, at);
}
