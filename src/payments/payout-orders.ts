// Reads about payouts: who ordered and who approved one, and how many payouts of a file are in which state.

import type { Reader } from '../platform/db.ts';
import type { PaymentsContext } from './context.ts';
import type { Status } from './states.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

const MAX_BATCHES = 50;

/** A condition on `payout_orders o`. */
const WAITS_FOR_APPROVAL = `(o.approval = 'waiting' and o.cancelled_at is null)`;

export type PayoutOrderRow = {
  created_by: string;
  created_by_member: bigint | null;
  approved_by: string | null;
  approved_at: Date | null;
  cancelled_by: string | null;
  cancelled_at: Date | null;
  batch_id: string | null;
  waits_for_approval: boolean;
};

export async function findPayoutOrder(
  reader: Reader,
  holderId: bigint,
  transactionId: string,
): Promise<PayoutOrderRow | null> {
  const [row] = await reader.query<PayoutOrderRow>(
    `select o.created_by, o.created_by_member, o.approved_by, o.approved_at, o.cancelled_by, o.cancelled_at, o.batch_id,
            ${WAITS_FOR_APPROVAL} as waits_for_approval
     from payout_orders o where o.holder_id = $1 and o.transaction_id = $2`,
    [holderId, transactionId],
  );
  return row ?? null;
}

export type PayoutRow = Transaction & { created_by: string; approved_by: string | null; waits_for_approval: boolean };

/** The newest payouts of a holder. */
export function listPayouts(ctx: PaymentsContext, holderId: bigint, limit: number): Promise<PayoutRow[]> {
  return ctx.db.query<PayoutRow>(
    `select ${TRANSACTION_COLUMNS}, o.created_by, o.approved_by, ${WAITS_FOR_APPROVAL} as waits_for_approval
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 order by o.transaction_id desc limit $2`,
    [holderId, limit],
  );
}

export type PayoutBatchRow = {
  id: string;
  name: string;
  created_by: string;
  created_at: Date;
  payouts: number;
  states: Partial<Record<Status, number>>;
};

/** The newest files of a holder, with the number of their payouts in each state. */
export async function listPayoutBatches(reader: Reader, holderId: bigint): Promise<PayoutBatchRow[]> {
  const rows = await reader.query<
    Omit<PayoutBatchRow, 'payouts' | 'states'> & { states: Record<string, number> | null }
  >(
    `select b.id, b.name, b.created_by, b.created_at,
            (select jsonb_object_agg(s.status, s.count) from (
               select t.status, count(*) as count
               from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
               where o.holder_id = b.holder_id and o.batch_id = b.id group by t.status) s) as states
     from payout_batches b where b.holder_id = $1 order by b.id desc limit ${MAX_BATCHES}`,
    [holderId],
  );
  return rows.map((row) => {
    const states = (row.states ?? {}) as Partial<Record<Status, number>>;
    return { ...row, states, payouts: Object.values(states).reduce((sum, count) => sum + count, 0) };
  });
}

/** Payouts that wait for approval. */
export async function countWaitingApprovals(reader: Reader, holderId: bigint): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from payout_orders o where o.holder_id = $1 and ${WAITS_FOR_APPROVAL}`,
    [holderId],
  );
  return Number(row?.count ?? 0n);
}
