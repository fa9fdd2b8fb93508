// Payouts that wait for float. A payout waits where nothing of it is with the operator: it was not sent, or the operator answered
// the submit with a refusal for lack of float and kept nothing of it. Its job stays a submit, its status `pending`, and its money
// reserved, so it can be cancelled like any payout that was not sent. It is sent when the float returns, the oldest first.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import type { RailReply } from '../rails/rail.ts';
import { recordEvidence } from './evidence.ts';
import type { Transaction } from './transactions.ts';

/** Where nobody watches the float, a payout is tried again after a quarter of the time that it has waited, within these. */
const TRY_AGAIN = { shortest: '1 minute', longest: '10 minutes' } as const;
/** Where somebody does, it is made due by float-watch.ts; it is looked at again this late if that does not happen. */
const LOOK_AGAIN = '1 hour';

/** What stands for the operator's code where nothing was sent. */
export const NOT_SENT = 'NOT_SENT';

/** refused: the operator did not take it. not_covered: it was not sent. in_order: others wait before it. */
export type WaitReason = 'refused' | 'not_covered' | 'in_order';

export type FloatWait = {
  holder_id: bigint;
  transaction_id: string;
  connection: string;
  currency: string;
  amount: bigint;
  reason: WaitReason;
  since: Date;
  tries: number;
  released_at: Date | null;
};

/** The operator's refusal of a submit for lack of float, if it kept nothing of the payout: the same reference can be sent again. */
export function isRefusedForFloat({ direction, status }: Transaction, { observation }: RailReply): boolean {
  if (direction !== 'payout' || status !== 'pending' || observation.state !== 'failed') return false;
  return observation.failureCode === 'FLOAT_INSUFFICIENT' && observation.notTaken === true;
}

type Hold = { reason: WaitReason; isWatched: boolean; submittedAt: Date | null; refusal?: RailReply };

/**
 * Makes a payout wait whose job this process has claimed. False: the job is not ours any more, because somebody sent it or asked
 * about it meanwhile; then nothing is written.
 */
export function holdPayout(ctx: Context, transaction: Transaction, hold: Hold): Promise<boolean> {
  const { holder_id: holderId, id, rail, currency, amount } = transaction;
  const { reason, isWatched, submittedAt, refusal } = hold;
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const ours = await tx.query(
      `select from payment_jobs where holder_id = $1 and transaction_id = $2 and submitted_at is not distinct from $3
       for update`,
      [holderId, id, submittedAt],
    );
    if (ours.length === 0) return false;
    await tx.query(
      `insert into float_waits as known (holder_id, transaction_id, connection, currency, amount, reason, since, tries)
       values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (holder_id, transaction_id) do update
         set reason = excluded.reason, tries = known.tries + excluded.tries, released_at = null`,
      [holderId, id, rail, currency, amount, reason, at, refusal ? 1 : 0],
    );
    await tx.query(
      `update payment_jobs j set kind = 'submit',
         due_at = $3::timestamptz + case when $4::boolean then interval '${LOOK_AGAIN}'
           else greatest(interval '${TRY_AGAIN.shortest}', least(interval '${TRY_AGAIN.longest}', ($3 - w.since) / 4)) end
       from float_waits w
       where j.holder_id = $1 and j.transaction_id = $2 and w.holder_id = $1 and w.transaction_id = $2`,
      [holderId, id, at, isWatched],
    );
    if (!refusal) return true;
    const { observation, raw } = refusal;
    await recordEvidence(tx, [{ transactionId: id, source: 'submit', observation, raw, effect: 'ignored' }], at);
    await markRefused(tx, [transaction], at);
    return true;
  });
}

/** Remembers that operators refused payouts for lack of float. Only where somebody watches it: the others wait behind it then. */
export async function markRefused(tx: Tx, payouts: readonly Transaction[], at: Date): Promise<void> {
  if (payouts.length === 0) return;
  await tx.query(
    `insert into float_states (connection, currency, refused_at)
     select s.connection, s.currency, $3 from float_settings s
     where (s.connection, s.currency) in (select * from unnest($1::text[], $2::text[]))
     order by s.connection, s.currency
     on conflict (connection, currency) do update set refused_at = excluded.refused_at`,
    [payouts.map(({ rail }) => rail), payouts.map(({ currency }) => currency), at],
  );
}

/** Whether it is the payout's turn, and whether older ones wait before it. */
export async function findTurn(
  reader: Reader,
  { holder_id: holderId, id, rail, currency }: Transaction,
): Promise<{ isReleased: boolean; isBehind: boolean }> {
  const [row] = await reader.query<{ released: boolean; behind: boolean }>(
    `select exists (select from float_waits
                    where holder_id = $1 and transaction_id = $2 and released_at is not null) as released,
            exists (select from float_waits
                    where connection = $3 and currency = $4 and transaction_id < $2 and released_at is null) as behind`,
    [holderId, id, rail, currency],
  );
  return { isReleased: row?.released ?? false, isBehind: row?.behind ?? false };
}

const RELEASED = columns<Pick<FloatWait, 'holder_id' | 'transaction_id'>>(2, {
  holder_id: 'bigint',
  transaction_id: 'uuid',
});

/** It is the turn of these: they become due in their order. */
export async function releaseWaits(tx: Tx, waits: readonly FloatWait[], at: Date): Promise<void> {
  if (waits.length === 0) return;
  const values = [at, ...RELEASED.arrays([...waits])];
  await tx.query(
    `update float_waits w set released_at = $1 from ${RELEASED.rows}
     where w.holder_id = input.holder_id and w.transaction_id = input.transaction_id`,
    values,
  );
  // Jobs are claimed in the order in which they are due.
  await tx.query(
    `update payment_jobs j set due_at = $1::timestamptz + (place - 1) * interval '1 microsecond'
     from (select input.*, row_number() over (order by transaction_id) as place from ${RELEASED.rows}) as input
     where j.holder_id = input.holder_id and j.transaction_id = input.transaction_id and j.kind = 'submit'`,
    values,
  );
}

export async function releaseAllWaits(
  tx: Tx,
  { connection, currency }: Pick<FloatWait, 'connection' | 'currency'>,
  at: Date,
): Promise<void> {
  await releaseWaits(tx, await listWaits(tx, { connection, currency }), at);
}

/** What waits, the oldest first. A payout that was sent, or has ended, does not. */
export function listWaits(
  reader: Reader,
  { connection, currency, limit = null }: { connection: string; currency: string; limit?: number | null },
): Promise<FloatWait[]> {
  return reader.query<FloatWait>(
    `select w.* from float_waits w join transactions t on t.holder_id = w.holder_id and t.id = w.transaction_id
     where w.connection = $1 and w.currency = $2 and t.status = 'pending'
     order by w.transaction_id limit $3`,
    [connection, currency, limit],
  );
}

export type WaitingSum = { connection: string; currency: string; payouts: number; amount: bigint; oldest: Date };

export async function sumWaits(reader: Reader): Promise<WaitingSum[]> {
  const rows = await reader.query<Omit<WaitingSum, 'payouts'> & { payouts: bigint }>(
    `select w.connection, w.currency, count(*) as payouts, sum(w.amount)::bigint as amount, min(w.since) as oldest
     from float_waits w join transactions t on t.holder_id = w.holder_id and t.id = w.transaction_id
     where t.status = 'pending' group by w.connection, w.currency order by w.connection, w.currency`,
  );
  return rows.map((row) => ({ ...row, payouts: Number(row.payouts) }));
}

/** Since when a payout of a holder waits; null: it does not. */
export async function findWait(reader: Reader, { holder_id, id, status }: Transaction): Promise<Date | null> {
  if (status !== 'pending') return null;
  const [row] = await reader.query<{ since: Date }>(
    'select since from float_waits where holder_id = $1 and transaction_id = $2',
    [holder_id, id],
  );
  return row?.since ?? null;
}
