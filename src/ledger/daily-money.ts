// What a holder collected, gave back and paid out on each of some days, from the transfers posted on them. Transfers never change, so
// a day that is over is final: what is given back later belongs to the day on which it is given back.

import type { Reader } from '../platform/db.ts';

/** `returned`: payouts that the operator returned to the wallet. */
export type MoneyFact = 'collected' | 'given_back' | 'paid_out' | 'returned';

export type MoneyTotal = {
  fact: MoneyFact;
  currency: string;
  transactions: number;
  /** What payers paid or got back, or what payees got. */
  amount: bigint;
  /** What the holder paid for it, or got back. */
  fee: bigint;
};

/** From one moment, inclusive, to another, exclusive. */
export type PostingSpan = { from: Date; to: Date };

/** Totals of the transfers posted in each of these spans, in their order. */
export async function sumMoney(
  reader: Reader,
  holderId: bigint,
  spans: readonly PostingSpan[],
): Promise<MoneyTotal[][]> {
  const rows = await reader.query<Omit<MoneyTotal, 'transactions'> & { transactions: bigint; place: number }>(
    // Everything that leaves or enters the gateway passes clearing; the fee of a payout goes from the wallet to the fees.
    `with accounts as (
       select id from ledger_accounts where holder_id = $1 and kind in ('operator_clearing', 'fee_income')
     ), posted as (
       select span.place, moved.*
       from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as span (from_at, to_at, place)
       cross join lateral (
         select t.kind, t.currency, t.transaction_id, t.amount from accounts a
         join ledger_transfers t on t.holder_id = $1 and t.debit_account = a.id
           and t.posted_at >= span.from_at and t.posted_at < span.to_at
         union all
         select t.kind, t.currency, t.transaction_id, t.amount from accounts a
         join ledger_transfers t on t.holder_id = $1 and t.credit_account = a.id
           and t.posted_at >= span.from_at and t.posted_at < span.to_at
         where t.debit_account not in (select id from accounts)
       ) as moved
     ), named as (
       select place, currency, transaction_id, amount, kind in (
                'collection_fee', 'collection_fee_reversal', 'payout_fee', 'payout_fee_reversal', 'refund_fee',
                'dispute_loss_fee') as is_fee,
              case when kind in ('collection', 'collection_fee') then 'collected'
                   when kind in ('collection_reversal', 'collection_fee_reversal', 'refund', 'refund_fee',
                                'dispute_loss', 'dispute_loss_short', 'dispute_loss_fee') then 'given_back'
                   when kind in ('payout', 'payout_fee') then 'paid_out'
                   when kind in ('payout_reversal', 'payout_fee_reversal') then 'returned' end as fact
       from posted
     )
     select place::int as place, fact, currency, count(distinct transaction_id) as transactions,
            coalesce(sum(amount) filter (where not is_fee or fact in ('collected', 'given_back')), 0)::bigint as amount,
            coalesce(sum(amount) filter (where is_fee), 0)::bigint as fee
     from named where fact is not null group by place, fact, currency order by place, currency, fact`,
    [holderId, spans.map((span) => span.from), spans.map((span) => span.to)],
  );
  const totals: MoneyTotal[][] = spans.map(() => []);
  for (const { place, ...row } of rows) totals[place - 1]?.push({ ...row, transactions: Number(row.transactions) });
  return totals;
}
