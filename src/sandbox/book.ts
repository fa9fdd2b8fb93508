// The operator's own book: what it holds for the gateway, by currency, from its own records alone. Tests compare the gateway's
// clearing accounts with it. Records older than the retention time have left it.

import type { Reader } from '../platform/db.ts';

export type BookEntry = {
  currency: string;
  /** Collections that succeeded, also those that were reversed later. */
  collected: bigint;
  /** Money that a payer sent without a payment that awaits it. */
  unmatched: bigint;
  /** Payouts that succeeded, also those that were reversed later. */
  paidOut: bigint;
  refunded: bigint;
  /** What was left of reversed collections after their refunds. */
  collectionsReversed: bigint;
  payoutsReversed: bigint;
  /** What the operator holds for the gateway: all that came in less all that went out. */
  balance: bigint;
};

export function readBook(reader: Reader): Promise<BookEntry[]> {
  return reader.query<BookEntry>(
    `with movements (currency, kind, amount) as (
       select currency, direction, amount from sandbox_payments where status in ('succeeded', 'reversed')
       union all
       select p.currency, p.direction || '_reversed', p.amount - coalesce(
           (select sum(r.amount) from sandbox_refunds r where r.payment_reference = p.reference and r.status = 'succeeded'), 0)
       from sandbox_payments p where p.status = 'reversed'
       union all
       select currency, 'refund', amount from sandbox_refunds where status = 'succeeded'
       union all
       select currency, 'unmatched', amount from sandbox_unmatched_money
     ), sums as (
       select currency,
         coalesce(sum(amount) filter (where kind = 'collection'), 0)::bigint as collected,
         coalesce(sum(amount) filter (where kind = 'unmatched'), 0)::bigint as unmatched,
         coalesce(sum(amount) filter (where kind = 'payout'), 0)::bigint as "paidOut",
         coalesce(sum(amount) filter (where kind = 'refund'), 0)::bigint as refunded,
         coalesce(sum(amount) filter (where kind = 'collection_reversed'), 0)::bigint as "collectionsReversed",
         coalesce(sum(amount) filter (where kind = 'payout_reversed'), 0)::bigint as "payoutsReversed"
       from movements group by currency
     )
     select *, collected + unmatched + "payoutsReversed" - "paidOut" - refunded - "collectionsReversed" as balance
     from sums order by currency`,
  );
}

/** Whether the pretend operator ever worked on this database. */
export async function hasRecords(reader: Reader): Promise<boolean> {
  const rows = await reader.query(
    `select from sandbox_payments union all select from sandbox_refunds union all select from sandbox_messages limit 1`,
  );
  return rows.length > 0;
}
