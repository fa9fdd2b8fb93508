// Reads about payouts: who ordered and who approved one, and how many payouts of a file are in which state.

import type { Reader } from '../platform/db.ts';
import type { PaymentsContext } from './context.ts';
import type { PayoutTotal } from './payout-files.ts';
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

export type PayoutRow = Transaction & {
  batch_id: string | null;
  created_by: string;
  approved_by: string | null;
  waits_for_approval: boolean;
};

/** What a list of payouts may be narrowed to. */
export const PAYOUT_GROUPS = ['waiting', 'open', 'paid', 'failed'] as const;
export type PayoutGroup = (typeof PAYOUT_GROUPS)[number];

const GROUP_CONDITIONS: Record<PayoutGroup, string> = {
  waiting: WAITS_FOR_APPROVAL,
  open: `t.status in ('pending', 'processing') and not ${WAITS_FOR_APPROVAL}`,
  paid: `t.status = 'success'`,
  failed: `t.status in ('failed', 'expired', 'reversed')`,
};

export type PayoutListOptions = { group?: PayoutGroup | undefined; before?: string | undefined; limit: number };

/** The newest payouts of a holder, before the one with this id. */
export function listPayouts(ctx: PaymentsContext, holderId: bigint, options: PayoutListOptions): Promise<PayoutRow[]> {
  const { group, before = null, limit } = options;
  return ctx.db.query<PayoutRow>(
    `select ${TRANSACTION_COLUMNS}, o.batch_id, o.created_by, o.approved_by, ${WAITS_FOR_APPROVAL} as waits_for_approval
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and ($3::uuid is null or o.transaction_id < $3) and ${group ? GROUP_CONDITIONS[group] : 'true'}
     order by o.transaction_id desc limit $2`,
    [holderId, limit, before],
  );
}

export type PayoutFileSummary = {
  id: string;
  name: string;
  payouts: number;
  totals: [currency: string, total: PayoutTotal][];
  created_by: string;
  created_by_member: bigint | null;
  created_at: Date;
  approval: 'not_needed' | 'waiting' | 'approved';
  approved_by: string | null;
  approved_at: Date | null;
  cancelled_by: string | null;
  cancelled_at: Date | null;
  waits_for_approval: boolean;
  states: Partial<Record<Status, number>>;
};

type StoredTotals = Record<string, { payouts: number; amount: string; fee: string }>;

const FILE_COLUMNS = `
  b.id, b.name, b.payouts, b.totals, b.created_by, b.created_by_member, b.created_at, b.approval, b.approved_by,
  b.approved_at, b.cancelled_by, b.cancelled_at, b.approval = 'waiting' and b.cancelled_at is null as waits_for_approval,
  coalesce((select jsonb_object_agg(s.status, s.count) from (
     select t.status, count(*) as count
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = b.holder_id and o.batch_id = b.id group by t.status) s), '{}') as states`;

async function readFiles(reader: Reader, condition: string, parameters: unknown[]): Promise<PayoutFileSummary[]> {
  const rows = await reader.query<Omit<PayoutFileSummary, 'totals'> & { totals: StoredTotals }>(
    `select ${FILE_COLUMNS} from payout_batches b where ${condition} order by b.id desc limit ${MAX_BATCHES}`,
    parameters,
  );
  return rows.map((row) => ({
    ...row,
    totals: Object.entries(row.totals).map(([currency, { payouts, amount, fee }]) => [
      currency,
      { payouts, amount: BigInt(amount), fee: BigInt(fee) },
    ]),
  }));
}

/** The newest files of a holder, with the number of their payouts in each state. */
export function listPayoutFiles(reader: Reader, holderId: bigint): Promise<PayoutFileSummary[]> {
  return readFiles(reader, 'b.holder_id = $1', [holderId]);
}

/** The newest files of a holder that wait for approval. */
export function listWaitingFiles(reader: Reader, holderId: bigint): Promise<PayoutFileSummary[]> {
  return readFiles(reader, `b.holder_id = $1 and b.approval = 'waiting' and b.cancelled_at is null`, [holderId]);
}

export async function findPayoutFile(
  reader: Reader,
  holderId: bigint,
  batchId: string,
): Promise<PayoutFileSummary | null> {
  const [file] = await readFiles(reader, 'b.holder_id = $1 and b.id = $2', [holderId, batchId]);
  return file ?? null;
}

/** A page of the payouts of a file, by their row; `after` is the row that the page before ended with. */
export function listFilePayouts(
  reader: Reader,
  holderId: bigint,
  batchId: string,
  page: { after: number; limit: number },
): Promise<(Transaction & { line: number })[]> {
  return reader.query<Transaction & { line: number }>(
    `select ${TRANSACTION_COLUMNS}, o.line
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and o.batch_id = $2 and o.line > $3 order by o.line limit $4`,
    [holderId, batchId, page.after, page.limit],
  );
}

/** Payouts and files that wait for approval; a file counts as one. */
export async function countWaitingApprovals(reader: Reader, holderId: bigint): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(distinct coalesce(o.batch_id, o.transaction_id)) as count
     from payout_orders o where o.holder_id = $1 and ${WAITS_FOR_APPROVAL}`,
    [holderId],
  );
  return Number(row?.count ?? 0n);
}

/** Payouts that wait for approval: how many and how much of each currency, and who created the newest. */
export type WaitingPayouts = {
  currency: string;
  payouts: number;
  amount: bigint;
  created_by: string;
  created_at: Date;
};

export async function sumWaitingPayouts(reader: Reader, holderId: bigint): Promise<WaitingPayouts[]> {
  const rows = await reader.query<Omit<WaitingPayouts, 'payouts'> & { payouts: bigint }>(
    `select t.currency, count(*) as payouts, sum(t.amount)::bigint as amount, max(t.created_at) as created_at,
            (array_agg(o.created_by order by o.transaction_id desc))[1] as created_by
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 and ${WAITS_FOR_APPROVAL} group by t.currency order by t.currency`,
    [holderId],
  );
  return rows.map((row) => ({ ...row, payouts: Number(row.payouts) }));
}

/** The names of the files that payouts came in. By payout. */
export async function readPayoutFileNames(
  reader: Reader,
  holderId: bigint,
  transactionIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await reader.query<{ id: string; name: string }>(
    `select o.transaction_id as id, b.name
     from payout_orders o join payout_batches b on b.holder_id = o.holder_id and b.id = o.batch_id
     where o.holder_id = $1 and o.transaction_id = any($2::uuid[])`,
    [holderId, transactionIds],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Every payout of a holder, or of one group, newest first, page by page. */
export async function* eachPayout(
  reader: Reader,
  holderId: bigint,
  { pageRows, group }: { pageRows: number; group: PayoutGroup | undefined },
): AsyncGenerator<PayoutRow[]> {
  let before = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  for (;;) {
    const rows = await reader.query<PayoutRow>(
      `select ${TRANSACTION_COLUMNS}, o.batch_id, o.created_by, o.approved_by, ${WAITS_FOR_APPROVAL} as waits_for_approval
       from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
       where o.holder_id = $1 and o.transaction_id < $2 and ${group ? GROUP_CONDITIONS[group] : 'true'}
       order by o.transaction_id desc limit $3`,
      [holderId, before, pageRows],
    );
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < pageRows) return;
    before = last.id;
  }
}
