// The rows of settlements, and their lists.

import { listInactiveHolders } from '../holders/holders.ts';
import { readTransactions } from '../payments/transactions.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { holderOfUuid, publicId, uuidFromPublicId } from '../platform/ids.ts';
import type { Destination } from './settlement-rules.ts';

export const MAX_SETTLEMENTS_LISTED = 1_000;
/** Of one file for a bank. One that was cut would look whole. */
const MAX_TRANSFERS = 100_000;

export type SettlementStatus = 'waiting' | 'proposed' | 'paid' | 'cancelled' | 'payout';

export type Settlement = {
  holder_id: bigint;
  id: string;
  currency: string;
  /** What it is for; one settlement for each. */
  period: string;
  amount: bigint;
  /** What the holder owed when it was taken, and what stayed for it. */
  owed: bigint;
  destination: Destination;
  /** The payout, where the destination is a number. */
  transaction_id: string | null;
  status: SettlementStatus;
  since: Date;
  taken_by: string;
  taken_at: Date;
  bank: string | null;
  bank_reference: string | null;
  proposed_by: string | null;
  proposed_by_member: bigint | null;
  proposed_at: Date | null;
  ended_by: string | null;
  ended_at: Date | null;
  reason: string | null;
};

const COLUMNS = `holder_id, id, currency, period, amount, owed, destination, transaction_id, status, since, taken_by, taken_at, bank,
  bank_reference, proposed_by, proposed_by_member, proposed_at, ended_by, ended_at, reason`;

export const settlementRef = ({ id }: { id: string }): string => publicId('set', id);

export type NewSettlement = Pick<
  Settlement,
  | 'holder_id'
  | 'id'
  | 'currency'
  | 'period'
  | 'amount'
  | 'owed'
  | 'destination'
  | 'transaction_id'
  | 'taken_by'
  | 'taken_at'
>;

/** The report of a settlement begins where that of the one before ended. */
export async function insertSettlement(tx: Tx, row: NewSettlement): Promise<Settlement> {
  const status = row.transaction_id === null ? 'waiting' : 'payout';
  const [written] = await tx.query<Settlement>(
    `insert into settlements (holder_id, id, currency, period, amount, owed, destination, transaction_id, status, taken_by, taken_at, since)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce(
       (select max(taken_at) from settlements where holder_id = $1 and currency = $3), to_timestamp(0)))
     returning ${COLUMNS}`,
    [
      row.holder_id,
      row.id,
      row.currency,
      row.period,
      row.amount,
      row.owed,
      JSON.stringify(row.destination),
      row.transaction_id,
      status,
      row.taken_by,
      row.taken_at,
    ],
  );
  if (!written) throw new Error('the settlement was not written');
  return written;
}

export async function findSettlementOf(
  reader: Reader,
  holderId: bigint,
  currency: string,
  period: string,
): Promise<Settlement | null> {
  const [row] = await reader.query<Settlement>(
    `select ${COLUMNS} from settlements where holder_id = $1 and currency = $2 and period = $3`,
    [holderId, currency, period],
  );
  return row ?? null;
}

/** How many settlements were asked for by hand under this name: the name itself, or with a number behind it. */
export async function countPeriods(
  reader: Reader,
  holderId: bigint,
  currency: string,
  period: string,
): Promise<number> {
  const [row] = await reader.query<{ count: number }>(
    `select count(*)::int as count from settlements
     where holder_id = $1 and currency = $2 and (period = $3 or period like $3 || '-%')`,
    [holderId, currency, period],
  );
  return row?.count ?? 0;
}

/** Throws where there is none. A holder's page gives the holder, whose settlements are the only ones that it finds. */
export async function requireSettlement(
  reader: Reader,
  ref: string,
  { holderId, locked }: { holderId?: bigint; locked?: true } = {},
): Promise<Settlement> {
  const id = uuidFromPublicId('set', ref);
  const [row] =
    id === null || (holderId !== undefined && holderId !== holderOfUuid(id))
      ? []
      : await reader.query<Settlement>(
          `select ${COLUMNS} from settlements where holder_id = $1 and id = $2 ${locked ? 'for update' : ''}`,
          [holderOfUuid(id), id],
        );
  if (!row) throw new Problem('not_found', { message: 'There is no such settlement.' });
  return row;
}

export type SettlementFilter = {
  holderId?: bigint | undefined;
  currency?: string | undefined;
  statuses?: readonly SettlementStatus[] | undefined;
  limit?: number;
};

/** The newest first. */
export function listSettlements(reader: Reader, filter: SettlementFilter): Promise<Settlement[]> {
  const { holderId, currency, statuses, limit = MAX_SETTLEMENTS_LISTED } = filter;
  return reader.query<Settlement>(
    `select ${COLUMNS} from settlements
     where ($1::bigint is null or holder_id = $1) and ($2::text is null or currency = $2) and ($3::text[] is null or status = any ($3))
     order by taken_at desc, id desc limit $4`,
    [holderId ?? null, currency ?? null, statuses ?? null, Math.min(limit, MAX_SETTLEMENTS_LISTED)],
  );
}

/** `held`: those of holders that are suspended or closed, which no money leaves. */
export type TransfersToMake = { ready: Settlement[]; held: Settlement[] };

/** Every settlement in a currency that waits for its transfer, the oldest first. */
export async function listTransfersToMake(reader: Reader, currency: string): Promise<TransfersToMake> {
  const waiting = await reader.query<Settlement>(
    `select ${COLUMNS} from settlements where status = 'waiting' and currency = $1 order by taken_at, id limit ${MAX_TRANSFERS}`,
    [currency],
  );
  if (waiting.length === MAX_TRANSFERS)
    throw new Error(`more than ${MAX_TRANSFERS} settlements wait for their transfer`);
  const inactive = await listInactiveHolders(reader, [...new Set(waiting.map((each) => each.holder_id))]);
  return {
    ready: waiting.filter((each) => !inactive.has(each.holder_id)),
    held: waiting.filter((each) => inactive.has(each.holder_id)),
  };
}

/** What became of it, for people. That of a payout is what became of the payout. */
export type SettlementState = 'waiting' | 'sending' | 'paid' | 'failed' | 'cancelled';

const STATES: Readonly<Record<Exclude<SettlementStatus, 'payout'>, SettlementState>> = {
  waiting: 'waiting',
  proposed: 'sending',
  paid: 'paid',
  cancelled: 'cancelled',
};

/** By the id of the settlement. */
export async function readStates(reader: Reader, rows: readonly Settlement[]): Promise<Map<string, SettlementState>> {
  const payouts = await readTransactions(
    reader,
    rows.flatMap((row) => row.transaction_id ?? []),
  );
  const statusOf = new Map(payouts.map(({ id, status }) => [id, status]));
  return new Map(
    rows.map((row): [string, SettlementState] => {
      if (row.status !== 'payout') return [row.id, STATES[row.status]];
      const status = statusOf.get(row.transaction_id ?? '');
      if (status === 'success') return [row.id, 'paid'];
      return [row.id, status === 'pending' || status === 'processing' ? 'sending' : 'failed'];
    }),
  );
}
