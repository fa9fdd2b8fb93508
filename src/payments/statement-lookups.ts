// Which transactions the lines of an operator's statement can be about: by receipt, by what the payer was shown, by refund, or by
// amount, number and time. Each is one statement over an array, along indexes that exist.

import { listHolderIds } from '../holders/holders.ts';
import { columns } from '../platform/columns.ts';
import type { Reader } from '../platform/db.ts';
import { lowestUuid } from '../platform/ids.ts';
import type { TransactionDirection } from './states.ts';
import { TRANSACTION_KEYS, type Transaction } from './transactions.ts';

/** Orders with one account reference that are looked at; the newest. */
const NEWEST_ORDERS = 20;
/** Candidates of one page of lines. A page with more has lines that no number tells apart. */
const MAX_CANDIDATES = 50_000;

/** What a statement is compared with. */
export type StatementSubject = Pick<
  Transaction,
  | 'id'
  | 'holder_id'
  | 'direction'
  | 'status'
  | 'amount'
  | 'fee'
  | 'currency'
  | 'method'
  | 'rail'
  | 'msisdn'
  | 'receipt'
  | 'rail_reference'
  | 'created_at'
>;

const SUBJECT_COLUMNS = `t.id, t.holder_id, t.direction, t.status, t.amount, t.fee, t.currency, t.method, t.rail, t.msisdn, t.receipt,
  t.rail_reference, t.created_at`;

/** Those of these transactions that are of this rail. */
export function readSubjects(reader: Reader, rail: string, ids: readonly string[]): Promise<StatementSubject[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return reader.query<StatementSubject>(
    // One lookup a key, however large the table is: for thousands of keys the planner would rather read all of it.
    `select ${SUBJECT_COLUMNS} from ${TRANSACTION_KEYS.rows}
     cross join lateral (select * from transactions t where t.holder_id = input.holder_id and t.id = input.id offset 0) as t
     where t.rail = $3`,
    [...TRANSACTION_KEYS.arrays(ids), rail],
  );
}

type ReceiptUse = { receipt: string; transaction_id: string | null; case_id: string | null };

/** What these receipts were used for. Behind one connection several operators can give the same one. */
export function findReceiptUses(reader: Reader, rail: string, receipts: readonly string[]): Promise<ReceiptUse[]> {
  if (receipts.length === 0) return Promise.resolve([]);
  return reader.query<ReceiptUse>(
    `select r.receipt, r.transaction_id, r.case_id
     from unnest($2::text[]) as said (receipt)
     cross join lateral (select * from operator_receipts r where r.rail = $1 and r.receipt = said.receipt offset 0) as r`,
    [rail, receipts],
  );
}

/** The orders that payers were shown these account references for. */
export function findOrders(
  reader: Reader,
  rail: string,
  accountReferences: readonly string[],
): Promise<{ reference: string; id: string }[]> {
  if (accountReferences.length === 0) return Promise.resolve([]);
  return reader.query(
    `select said.reference, newest.id from unnest($2::text[]) as said (reference)
     cross join lateral (
       select p.transaction_id as id from payment_instructions p
       where p.rail = $1 and p.account_reference = said.reference
       order by p.transaction_id desc limit ${NEWEST_ORDERS}) newest`,
    [rail, accountReferences],
  );
}

/** `given_back`: the collection was reversed by its operator, or is or was disputed: money that left may have nothing to do with it. */
type RefundSubject = StatementSubject & { collection_id: string; given_back: boolean };

/** The refunds of these collections, the oldest first. */
export function findRefunds(reader: Reader, collectionIds: readonly string[]): Promise<RefundSubject[]> {
  if (collectionIds.length === 0) return Promise.resolve([]);
  return reader.query(
    `select ${SUBJECT_COLUMNS}, o.collection_id, r.disputed + r.dispute_lost > 0
       or (c.status = 'reversed' and r.refunded + r.refunded_late < c.amount) as given_back
     from ${TRANSACTION_KEYS.rows}
     join refund_orders o on o.holder_id = input.holder_id and o.collection_id = input.id
     join refund_totals r on r.holder_id = o.holder_id and r.collection_id = o.collection_id
     join transactions c on c.holder_id = o.holder_id and c.id = o.collection_id
     join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     order by t.id`,
    TRANSACTION_KEYS.arrays(collectionIds),
  );
}

/** The lost disputes of these collections, and of those that these cases are about. Their money left under the id of the case. */
export function findLostDisputes(
  reader: Reader,
  ids: readonly string[],
): Promise<{ case_id: string; collection_id: string }[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return reader.query(
    `with named as (
       select holder_id, id from ${TRANSACTION_KEYS.rows}
       union
       select d.holder_id, d.transaction_id from ${TRANSACTION_KEYS.rows}
       join disputes d on d.holder_id = input.holder_id and d.case_id = input.id
     )
     select d.case_id, d.transaction_id as collection_id from named
     join disputes d on d.holder_id = named.holder_id and d.transaction_id = named.id where d.status = 'lost'`,
    TRANSACTION_KEYS.arrays(ids),
  );
}

/** What a line says of a payment that names none of our ids. */
export type StatementClue = {
  place: number;
  directions: readonly TransactionDirection[];
  amount: bigint;
  currency: string;
  /** The last three digits of the number, which masked forms show too; empty: the line has no number. */
  ending: string;
  /** The operator's own id of the request, where the line has one. */
  operatorReference: string | null;
  /** When the order can have been made. */
  from: Date;
  to: Date;
  /** An order that ended before this is not meant. */
  endedFrom: Date;
};

const CLUES = columns<StatementClue>(5, {
  place: 'integer',
  directions: ['text', ({ directions }) => directions.join(' ')],
  amount: 'bigint',
  currency: 'text',
  ending: 'text',
  reference: ['text', ({ operatorReference }) => operatorReference],
  from_at: ['timestamptz', ({ from }) => from],
  to_at: ['timestamptz', ({ to }) => to],
  ended_from: ['timestamptz', ({ endedFrom }) => endedFrom],
});

export type Candidate = StatementSubject & { place: number; by: 'operator_reference' | 'number' };

/**
 * Transactions of a rail that fit the clues. Neither the operator's reference nor the number is in an index without the holder (a
 * column that changes has none), so all of the span are read once, along the primary key of each holder, whose ids begin with time.
 */
export async function findCandidates(
  reader: Reader,
  rail: string,
  clues: readonly StatementClue[],
): Promise<Candidate[]> {
  if (clues.length === 0) return [];
  const from = new Date(Math.min(...clues.map((clue) => clue.from.getTime())));
  const to = new Date(Math.max(...clues.map((clue) => clue.to.getTime())) + 1);
  return await reader.query<Candidate>(
    `with clue as materialized (
       select * from ${CLUES.rows}
     ), recent as materialized (
       select ${SUBJECT_COLUMNS},
              case when t.status not in ('pending', 'processing') then coalesce(t.settled_at, t.updated_at) end as ended_at
       from transactions t
       where t.holder_id = any ($4::bigint[]) and t.id >= $2 and t.id < $3 and t.rail = $1
     )
     select c.place, 'operator_reference' as by, t.* from clue c
     join recent t on t.rail_reference = c.reference and t.currency = c.currency and t.direction = any (string_to_array(c.directions, ' '))
     union all
     select c.place, 'number' as by, t.* from clue c
     join recent t on t.amount = c.amount and right(t.msisdn, 3) = c.ending and t.currency = c.currency
       and t.direction = any (string_to_array(c.directions, ' ')) and t.created_at between c.from_at and c.to_at
       and (t.ended_at is null or t.ended_at >= c.ended_from)
     limit ${MAX_CANDIDATES}`,
    [rail, lowestUuid(from), lowestUuid(to), await listHolderIds(reader), ...CLUES.arrays(clues)],
  );
}
