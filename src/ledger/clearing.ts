// What moved at the operator of one connection, by our ledger: the transfers of its clearing accounts, of all holders together. For
// those who compare it with the operator's statement. Positive: into our account with the operator. An account of ours at a bank is
// read in the same way, under the name that its statements have.

import { columns } from '../platform/columns.ts';
import type { Reader } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { isBankPlace } from './chart.ts';
import type { TransferKind } from './postings.ts';

export type ClearingMove = {
  /** Of the transaction or case that it belongs to. Fees of the operator belong to neither, and are left out. */
  transactionId: string;
  kind: TransferKind;
  currency: string;
  amount: bigint;
  postedAt: Date;
};

/** Booked for many lines at once, and compared apart. */
const OPERATOR_FEES = `('operator_fee', 'operator_fee_return', 'bank_fee', 'bank_fee_return')`;
/** Written out, so that the index over the accounts of one kind is used. */
const kindAt = (place: string) => (isBankPlace(place) ? `'bank'` : `'operator_clearing'`);

const IDS = columns<string>(3, { holder_id: ['bigint', holderOfUuid], transaction_id: ['uuid', (id) => id] });

/** Every move of these transactions and cases at the operator. */
export function readClearingMoves(
  reader: Reader,
  rail: string,
  { transactions, cases }: { transactions: readonly string[]; cases: readonly string[] },
): Promise<ClearingMove[]> {
  if (transactions.length + cases.length === 0) return Promise.resolve([]);
  return reader.query<ClearingMove>(
    // Money of a case may have been credited to a holder other than the one in the id of the case.
    `with wanted as (
       select holder_id, transaction_id from ${IDS.rows}
       union
       select a.holder_id, transaction_id from unnest($2::uuid[]) as transaction_id
       join ledger_accounts a on a.kind = ${kindAt(rail)} and a.rail = $1
     )
     select t.transaction_id as "transactionId", t.kind, t.currency, t.posted_at as "postedAt",
            case when a.id = t.debit_account then t.amount else -t.amount end as amount
     from wanted w
     -- One lookup a key: for thousands of keys the planner would rather read the whole table.
     cross join lateral (select * from ledger_transfers t
       where t.holder_id = w.holder_id and t.transaction_id = w.transaction_id offset 0) as t
     join ledger_accounts a on a.holder_id = t.holder_id and a.id in (t.debit_account, t.credit_account)
       and a.kind = ${kindAt(rail)} and a.rail = $1
     where t.kind not in ${OPERATOR_FEES}`,
    [rail, cases, ...IDS.arrays(transactions)],
  );
}

/** The last transfer of a page. */
export type ClearingPosition = { account: bigint; postedAt: string; id: bigint };

type ClearingPage = { transactionIds: string[]; last: ClearingPosition | null };

/** Transactions and cases with a move at the operator in a span of time, page by page; one can be on several pages. */
export async function pageClearing(
  reader: Reader,
  rail: string,
  span: { from: Date; to: Date },
  after: ClearingPosition | null,
  limit: number,
): Promise<ClearingPage> {
  const rows = await reader.query<{ account: bigint; id: bigint; posted_at: string; transaction_id: string }>(
    // Account by account along the indexes of their transfers: no more is read than a page needs.
    `with account as materialized (
       select holder_id, id from ledger_accounts where kind = ${kindAt(rail)} and rail = $1 and id >= $4 order by id
     )
     select a.id as account, t.id, t.posted_at::text as posted_at, t.transaction_id
     from account a cross join lateral (
       select * from (
         (select id, posted_at, transaction_id from ledger_transfers
          where holder_id = a.holder_id and debit_account = a.id and posted_at >= $2 and posted_at < $3 and kind not in ${OPERATOR_FEES}
            and (a.id > $4 or (posted_at, id) > ($5::timestamptz, $6)) order by posted_at, id limit $7)
         union all
         (select id, posted_at, transaction_id from ledger_transfers
          where holder_id = a.holder_id and credit_account = a.id and posted_at >= $2 and posted_at < $3 and kind not in ${OPERATOR_FEES}
            and (a.id > $4 or (posted_at, id) > ($5::timestamptz, $6)) order by posted_at, id limit $7)
       ) as moved order by posted_at, id limit $7
     ) as t
     limit $7`,
    [rail, span.from, span.to, after?.account ?? -1n, after?.postedAt ?? '-infinity', after?.id ?? 0n, limit],
  );
  const last = rows.at(-1);
  return {
    transactionIds: [...new Set(rows.map((row) => row.transaction_id))],
    last: last && rows.length === limit ? { account: last.account, postedAt: last.posted_at, id: last.id } : null,
  };
}

/** What the operator holds for us at a moment, by our ledger. A transfer posted at that very moment counts after it. */
export async function clearingAt(reader: Reader, rail: string, currency: string, moment: Date): Promise<bigint> {
  const [row] = await reader.query<{ amount: bigint }>(
    `select coalesce(-sum(newest.balance), 0)::bigint as amount
     from ledger_accounts a cross join lateral (
       select balance from (
         (select debit_balance as balance, posted_at, id from ledger_transfers
          where holder_id = a.holder_id and debit_account = a.id and posted_at < $3 order by posted_at desc, id desc limit 1)
         union all
         (select credit_balance, posted_at, id from ledger_transfers
          where holder_id = a.holder_id and credit_account = a.id and posted_at < $3 order by posted_at desc, id desc limit 1)
       ) as last order by posted_at desc, id desc limit 1
     ) as newest
     where a.kind = ${kindAt(rail)} and a.rail = $1 and a.currency = $2`,
    [rail, currency, moment],
  );
  return row?.amount ?? 0n;
}

/** Every account that we have with an operator, by our ledger. */
export function listClearing(reader: Reader): Promise<{ connection: string; currency: string }[]> {
  return reader.query(
    `select distinct rail as connection, currency from ledger_accounts where kind = 'operator_clearing' order by rail, currency`,
  );
}

/** What came in and went out in a span of time, and what the operator charged, by our ledger. */
export type ClearingFlows = { in: bigint; out: bigint; fees: bigint };

export async function clearingFlows(
  reader: Reader,
  rail: string,
  currency: string,
  { from, to }: { from: Date; to: Date },
): Promise<ClearingFlows> {
  const [row] = await reader.query<ClearingFlows>(
    `select coalesce(sum(t.amount) filter (where t.amount > 0 and not t.is_fee), 0)::bigint as "in",
            coalesce(-sum(t.amount) filter (where t.amount < 0 and not t.is_fee), 0)::bigint as out,
            coalesce(-sum(t.amount) filter (where t.is_fee), 0)::bigint as fees
     from ledger_accounts a cross join lateral (
       select amount, kind in ${OPERATOR_FEES} as is_fee from ledger_transfers
       where holder_id = a.holder_id and debit_account = a.id and posted_at >= $3 and posted_at < $4
       union all
       select -amount, kind in ${OPERATOR_FEES} from ledger_transfers
       where holder_id = a.holder_id and credit_account = a.id and posted_at >= $3 and posted_at < $4
     ) as t
     where a.kind = 'operator_clearing' and a.rail = $1 and a.currency = $2`,
    [rail, currency, from, to],
  );
  return row ?? { in: 0n, out: 0n, fees: 0n };
}

/**
 * What left our account with the operator, and what arrived on it, in an hour: payments, refunds, lost disputes and money of nobody,
 * without fees of the operator. `paidIn` is below zero where more money of nobody was given back than arrived.
 */
export type ClearingHour = { hour: Date; paidOut: bigint; paidIn: bigint };

/** The hours of a span in which something moved. */
export function readClearingHours(
  reader: Reader,
  rail: string,
  currency: string,
  span: { from: Date; to: Date },
): Promise<ClearingHour[]> {
  return reader.query<ClearingHour>(
    // Money of nobody leaves suspense for the clearing account also when somebody gets it: only both together say what arrived.
    `with account as materialized (
       select holder_id, id from ledger_accounts where kind = 'operator_clearing' and rail = $1 and currency = $2
     ), credited as (
       select posted_at, amount, t.kind not in ('suspense_return', 'suspense_credit_reversal', 'suspense_income_reversal') as is_out
       from account a
       join ledger_transfers t on t.holder_id = a.holder_id and t.credit_account = a.id and posted_at >= $3 and posted_at < $4
       where t.kind in ('payout', 'refund', 'refund_fee', 'collection_reversal', 'collection_fee_reversal',
         'dispute_loss', 'dispute_loss_short', 'dispute_loss_fee',
         'suspense_return', 'suspense_credit_reversal', 'suspense_income_reversal')
     ), moved as (
       select posted_at, amount as paid_out, 0 as paid_in from credited where is_out
       union all
       select posted_at, 0, -amount from credited where not is_out
       union all
       select posted_at, 0, amount from account a
       join ledger_transfers t on t.holder_id = a.holder_id and t.debit_account = a.id and posted_at >= $3 and posted_at < $4
       where t.kind in ('collection', 'collection_fee', 'payout_reversal', 'suspense', 'suspense_credit')
     )
     select date_trunc('hour', posted_at, 'UTC') as hour, sum(paid_out)::bigint as "paidOut", sum(paid_in)::bigint as "paidIn"
     from moved group by 1 order by 1`,
    [rail, currency, span.from, span.to],
  );
}
