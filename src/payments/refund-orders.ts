// The rows behind refunds: which collection a refund gives back, who asked for it, and what was given back of each
// collection in all. The database refuses more than was collected (refunds_within_collection).

import { columns } from '../platform/columns.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { byHolder, queryByHolder } from '../platform/one-holder.ts';
import { OrderRefusal } from './order-refusals.ts';
import type { Status } from './states.ts';
import { TRANSACTION_COLUMNS, TRANSACTION_KEYS, type Transaction } from './transactions.ts';

const MAX_REFUNDS_SHOWN = 200;

export type RefundOrder = {
  transaction_id: string;
  collection_id: string;
  fee_returned: bigint;
  as_payout: boolean;
  reason: string | null;
  approval: 'not_needed' | 'waiting' | 'approved';
  created_by: string;
  created_by_member: bigint | null;
  approved_by: string | null;
  approved_at: Date | null;
  cancelled_by: string | null;
  cancelled_at: Date | null;
  /** What of its money came out of the rolling reserve, and until when that was to be held. */
  from_held: bigint;
  held_until: Date | null;
};

const ORDER_COLUMNS = `o.transaction_id, o.collection_id, o.fee_returned, o.as_payout, o.reason, o.approval, o.created_by,
  o.created_by_member, o.approved_by, o.approved_at, o.cancelled_by, o.cancelled_at, o.from_held, o.held_until`;

export type Refund = Transaction & RefundOrder;

/** The orders of these refunds. Collection and fee never change, so no lock is needed. */
export async function readRefundOrders(reader: Reader, ids: string[]): Promise<Map<string, RefundOrder>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.query<RefundOrder>(
    {
      name: 'read_refund_orders',
      text: `select ${ORDER_COLUMNS} from ${TRANSACTION_KEYS.rows}
             join refund_orders o on o.holder_id = input.holder_id and o.transaction_id = input.id`,
    },
    TRANSACTION_KEYS.arrays(ids),
  );
  return new Map(rows.map((row) => [row.transaction_id, row]));
}

/** A refund of this holder; null when there is none. */
export async function findRefundById(reader: Reader, holderId: bigint, id: string): Promise<Refund | null> {
  const [row] = await reader.query<Refund>(
    `select ${TRANSACTION_COLUMNS}, ${ORDER_COLUMNS} from refund_orders o
     join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and o.transaction_id = $2`,
    [holderId, id],
  );
  return row ?? null;
}

/** The refunds of a collection, oldest first. */
export function listRefundsOf(reader: Reader, holderId: bigint, collectionId: string): Promise<Refund[]> {
  return reader.query<Refund>(
    `select ${TRANSACTION_COLUMNS}, ${ORDER_COLUMNS} from refund_orders o
     join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and o.collection_id = $2 order by o.transaction_id limit ${MAX_REFUNDS_SHOWN}`,
    [holderId, collectionId],
  );
}

/** Refunds that wait for a second person, oldest first. */
export function listWaitingRefunds(reader: Reader, holderId: bigint, limit: number): Promise<Refund[]> {
  return reader.query<Refund>(
    `select ${TRANSACTION_COLUMNS}, ${ORDER_COLUMNS} from refund_orders o
     join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and o.approval = 'waiting' and o.cancelled_at is null order by o.transaction_id limit $2`,
    [holderId, limit],
  );
}

export async function countWaitingRefunds(reader: Reader, holderId: bigint): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from refund_orders o where o.holder_id = $1 and o.approval = 'waiting' and o.cancelled_at is null`,
    [holderId],
  );
  return Number(row?.count ?? 0n);
}

/** What was given back of one collection, and what is under way. */
export type RefundTotals = {
  collection_id: string;
  under_way: bigint;
  refunded: bigint;
  refunded_late: bigint;
  fee_under_way: bigint;
  fee_refunded: bigint;
  /** In open disputes, and given back by disputes that were lost. Their fees are in the two sums above. */
  disputed: bigint;
  dispute_lost: bigint;
};

const TOTALS_COLUMNS = `t.collection_id, t.under_way, t.refunded, t.refunded_late, t.fee_under_way, t.fee_refunded, t.disputed,
  t.dispute_lost`;

const LOCK_TOTALS = byHolder(
  'lock_refund_totals',
  3,
  (ofOne) => `
    select ${TOTALS_COLUMNS} from ${TRANSACTION_KEYS.rows}
    join refund_totals t on t.holder_id = input.holder_id and t.collection_id = input.id
    where ${ofOne('t')} order by t.holder_id, t.collection_id for no key update of t`,
);

/** Locks the totals of collections, whose own rows are locked before. Collections without refunds have none. */
export async function lockRefundTotals(tx: Tx, collectionIds: string[]): Promise<Map<string, RefundTotals>> {
  if (collectionIds.length === 0) return new Map();
  const ids = [...new Set(collectionIds)];
  const rows = await queryByHolder<RefundTotals, string>(tx, LOCK_TOTALS, TRANSACTION_KEYS, ids, holderOfUuid);
  return new Map(rows.map((row) => [row.collection_id, row]));
}

export async function findRefundTotals(
  reader: Reader,
  holderId: bigint,
  collectionId: string,
): Promise<RefundTotals | null> {
  const [row] = await reader.query<RefundTotals>(
    `select ${TOTALS_COLUMNS} from refund_totals t where t.holder_id = $1 and t.collection_id = $2`,
    [holderId, collectionId],
  );
  return row ?? null;
}

/** What refunds and lost disputes have given back of a collection. */
export function givenBack(totals: RefundTotals | null | undefined): bigint {
  return totals ? totals.refunded + totals.refunded_late + totals.dispute_lost : 0n;
}

/** What refunds and disputes may still give back. */
export function givingBack(totals: RefundTotals | null | undefined): bigint {
  return totals ? totals.under_way + totals.disputed : 0n;
}

/** What can still be refunded, or disputed, of a collection. */
export function leftToRefund(collection: Transaction, totals: RefundTotals | null): bigint {
  const left = collection.amount - givenBack(totals) - givingBack(totals);
  return left > 0n ? left : 0n;
}

/** Adds a refund to what is under way of its collection. The database refuses more than was collected. */
export async function addToRefundTotals(
  tx: Tx,
  collection: Transaction,
  refund: { amount: bigint; feeReturned: bigint },
): Promise<void> {
  try {
    await tx.query(
      `insert into refund_totals as t (holder_id, collection_id, collected, fee, under_way, fee_under_way)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (holder_id, collection_id) do update
       set under_way = t.under_way + excluded.under_way, fee_under_way = t.fee_under_way + excluded.fee_under_way`,
      [collection.holder_id, collection.id, collection.amount, collection.fee, refund.amount, refund.feeReturned],
    );
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'refunds_within_collection' || constraint === 'refunds_within_fee')
      throw new Problem('refund_too_large');
    throw error;
  }
}

/** Counts the amount of a dispute. The database refuses more than was collected. */
export async function addToDisputed(
  tx: Tx,
  collection: Transaction,
  dispute: { amount: bigint; feeReturned: bigint },
): Promise<void> {
  await tx.query(
    `insert into refund_totals as t (holder_id, collection_id, collected, fee, disputed, fee_under_way)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (holder_id, collection_id) do update
     set disputed = t.disputed + excluded.disputed, fee_under_way = t.fee_under_way + excluded.fee_under_way`,
    [collection.holder_id, collection.id, collection.amount, collection.fee, dispute.amount, dispute.feeReturned],
  );
}

/** A dispute has ended: it was lost, or its amount can be refunded again. Returns the totals after it. */
export async function endDisputed(
  tx: Tx,
  collection: Transaction,
  dispute: { amount: bigint; feeReturned: bigint; isLost: boolean },
): Promise<RefundTotals> {
  const [row] = await tx.query<RefundTotals>(
    `update refund_totals t set disputed = t.disputed - $3, fee_under_way = t.fee_under_way - $4,
       dispute_lost = t.dispute_lost + case when $5 then $3 else 0 end,
       fee_refunded = t.fee_refunded + case when $5 then $4 else 0 end
     where t.holder_id = $1 and t.collection_id = $2 returning ${TOTALS_COLUMNS}`,
    [collection.holder_id, collection.id, dispute.amount, dispute.feeReturned, dispute.isLost],
  );
  if (!row) throw new Error(`collection ${collection.id} has no totals`);
  return row;
}

/** The totals after a refund entered a state. Pure. */
export function concludeRefund(
  totals: RefundTotals,
  refund: { amount: bigint; fee_returned: bigint },
  status: Status,
  late: boolean,
): RefundTotals {
  const { amount, fee_returned: fee } = refund;
  // The reserve of a refund that failed is released already, so a late success takes nothing from what is under way. It
  // returns no fee: another refund may have returned it since.
  if (late) return { ...totals, refunded_late: totals.refunded_late + amount };
  const released = { ...totals, under_way: totals.under_way - amount, fee_under_way: totals.fee_under_way - fee };
  if (status === 'failed') return released;
  if (status !== 'success') return totals;
  return { ...released, refunded: totals.refunded + amount, fee_refunded: totals.fee_refunded + fee };
}

const TOTALS = columns<RefundTotals>(1, {
  holder_id: ['bigint', (totals) => holderOfUuid(totals.collection_id)],
  collection_id: 'uuid',
  under_way: 'bigint',
  refunded: 'bigint',
  refunded_late: 'bigint',
  fee_under_way: 'bigint',
  fee_refunded: 'bigint',
});

export async function updateRefundTotals(tx: Tx, totals: RefundTotals[]): Promise<void> {
  if (totals.length === 0) return;
  await tx.query(
    `update refund_totals t set under_way = input.under_way, refunded = input.refunded, refunded_late = input.refunded_late,
       fee_under_way = input.fee_under_way, fee_refunded = input.fee_refunded
     from ${TOTALS.rows} where t.holder_id = input.holder_id and t.collection_id = input.collection_id`,
    TOTALS.arrays(totals),
  );
}

/** A late success returns no fee (concludeRefund). The order must not say that it did. */
export async function keepFee(tx: Tx, refundIds: string[]): Promise<void> {
  if (refundIds.length === 0) return;
  await tx.query(
    `update refund_orders o set fee_returned = 0 from ${TRANSACTION_KEYS.rows}
     where o.holder_id = input.holder_id and o.transaction_id = input.id`,
    TRANSACTION_KEYS.arrays(refundIds),
  );
}

/** A condition on `cases c`: the operator says that it has reversed the payment, also with another amount or receipt, or never had it. */
const CONTRADICTS = `c.status = 'open' and (c.kind = 'contradiction'
  or (c.kind in ('amount_mismatch', 'different_receipt') and c.detail ->> 'state' = 'reversed'))`;

/** Until what the operator says is settled, nothing more of a collection is given back. */
export async function refuseContradicted(tx: Tx, holderId: bigint, collectionId: string): Promise<void> {
  const rows = await tx.query(
    `select from cases c where c.holder_id = $1 and c.transaction_id = $2 and ${CONTRADICTS}`,
    [holderId, collectionId],
  );
  if (rows.length === 0) return;
  const sentence = 'The operator contradicts the success of this payment. Its case must be resolved first.';
  throw new OrderRefusal('contradicted', 'refund_not_possible', { errors: { id: [sentence] } });
}

/**
 * A condition on `refund_totals t`: a refund that had failed succeeded after all. With those that are under way, more would be given
 * back than was collected.
 */
const OVERTAKEN = 't.refunded + t.refunded_late + t.dispute_lost + t.under_way + t.disputed > t.collected';

/** A refund that would give the same money back a second time is not approved. */
export async function refuseOvertaken(tx: Tx, holderId: bigint, collectionId: string): Promise<void> {
  const rows = await tx.query(
    `select from refund_totals t where t.holder_id = $1 and t.collection_id = $2 and ${OVERTAKEN}`,
    [holderId, collectionId],
  );
  if (rows.length === 0) return;
  const sentence =
    'An earlier refund of this payment succeeded after all, and too little is left for this one. Cancel it.';
  throw new OrderRefusal('overtaken', 'refund_not_possible', { errors: { id: [sentence] } });
}

/** Whether a refund that was ordered before must wait for people: for one of these two reasons. */
export async function waitsForPeople(
  reader: Reader,
  { holder_id: holderId, id }: Pick<Transaction, 'holder_id' | 'id'>,
): Promise<boolean> {
  const rows = await reader.query(
    `select from refund_orders o where o.holder_id = $1 and o.transaction_id = $2 and (
       exists (select from cases c where c.holder_id = o.holder_id and c.transaction_id = o.collection_id and ${CONTRADICTS})
       or exists (select from refund_totals t
                  where t.holder_id = o.holder_id and t.collection_id = o.collection_id and ${OVERTAKEN}))`,
    [holderId, id],
  );
  return rows.length > 0;
}

/** Why a refund is refused, with the field of the request that it is about. */
export function notPossible(field: string, sentence: string): Problem {
  return new Problem('refund_not_possible', { errors: { [field]: [sentence] } });
}
