// Calls that an operator wants before the one that moves money: a token, the id of a recipient. What they return is committed
// first, so a crash between is followed by the same call. Where a rail prepares, nothing was sent while nothing is stored.

import type { Context } from '../platform/context.ts';
import type { SealedColumns } from '../platform/reseal.ts';
import { unaskedReply } from '../rails/evidence.ts';
import type { Prepared } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { refOf, type Transaction } from './transactions.ts';

type Place = Pick<Transaction, 'holder_id' | 'id'>;

const sealPurpose = ({ id }: Pick<Transaction, 'id'>) => `prepared call ${id}`;

/** `unreadable`: something is stored that the vault does not open. Nothing is sent or asked without it. */
export async function readPrepared(ctx: PaymentsContext, transaction: Place): Promise<Prepared | null | 'unreadable'> {
  const [row] = await ctx.db.query<{ sealed: Buffer }>(
    'select sealed from prepared_calls where holder_id = $1 and transaction_id = $2',
    [transaction.holder_id, transaction.id],
  );
  if (!row) return null;
  try {
    return JSON.parse(await ctx.vault.open(row.sealed, sealPurpose(transaction))) as Prepared;
  } catch (error) {
    ctx.log.error({ err: error, ref: refOf(transaction) }, 'a prepared call cannot be opened');
    return 'unreadable';
  }
}

/** What is said of a transaction whose prepared call does not open. It is tried again, and is a case after a day. */
export const UNREADABLE_PREPARED = unaskedReply('what the operator gave us for it cannot be opened with our keys');

/**
 * Keeps what the operator gave us, and the job for as long as the next call takes. False: another process has the job by now,
 * so this one does not send.
 */
export async function keepPrepared(
  ctx: PaymentsContext,
  transaction: Transaction,
  prepared: Prepared,
  submittedAt: Date | null,
): Promise<boolean> {
  const { holder_id: holderId, id, rail } = transaction;
  const now = ctx.clock.now();
  const sealed = ctx.vault.seal(JSON.stringify(prepared), sealPurpose(transaction));
  return ctx.db.transaction(async (tx) => {
    const kept = await tx.query(
      // Always another moment than before: a process that has not seen what is stored cannot take the job for unsent.
      `update payment_jobs set due_at = $4, submitted_at = greatest($5, submitted_at + interval '1 millisecond')
       where holder_id = $1 and transaction_id = $2 and kind = 'query' and submitted_at is not distinct from $3 returning 1`,
      [holderId, id, submittedAt, new Date(now.getTime() + LEASE_MS), now],
    );
    if (kept.length === 0) return false;
    const rows = await tx.query(
      `insert into prepared_calls (holder_id, transaction_id, connection, sealed, at) values ($1, $2, $3, $4, $5)
       on conflict do nothing returning 1`,
      [holderId, id, rail, sealed, now],
    );
    return rows.length > 0;
  });
}

/** Whether the submit that began at `submittedAt` is still that of this process. */
export async function holdsSubmit(
  ctx: PaymentsContext,
  transaction: Place,
  submittedAt: Date | null,
): Promise<boolean> {
  const rows = await ctx.db.query(
    `select from payment_jobs
     where holder_id = $1 and transaction_id = $2 and kind = 'query' and submitted_at is not distinct from $3`,
    [transaction.holder_id, transaction.id, submittedAt],
  );
  return rows.length > 0;
}

type SealedRow = Place & { sealed: Buffer };

export const SEALED_PREPARED_CALLS: SealedColumns = {
  columns: ['prepared_calls.sealed'],
  reseal: (ctx, limit) =>
    ctx.db.transaction(async (tx) => {
      const rows = await tx.query<SealedRow>(
        `select holder_id, transaction_id as id, sealed from prepared_calls
         where substring(sealed from 1 for 5) <> $1 limit $2`,
        [ctx.vault.sealedPrefix(), limit],
      );
      let changed = 0;
      for (const row of rows) {
        const sealed = await sealAgain(ctx, row);
        if (sealed === null) continue;
        // Not locked when it was read: another process may have changed it meanwhile.
        const written = await tx.query(
          `update prepared_calls set sealed = $3 where holder_id = $1 and transaction_id = $2 and sealed = $4 returning 1`,
          [row.holder_id, row.id, sealed, row.sealed],
        );
        changed += written.length;
      }
      return changed;
    }),
  async countOthers(reader, prefix) {
    const [row] = await reader.query<{ count: number }>(
      'select count(*)::int as count from prepared_calls where substring(sealed from 1 for 5) <> $1',
      [prefix],
    );
    return row?.count ?? 0;
  },
};

/** Null: it does not open. It is left as it is and logged. */
async function sealAgain(ctx: Context, row: SealedRow): Promise<Buffer | null> {
  try {
    return ctx.vault.seal(await ctx.vault.open(row.sealed, sealPurpose(row)), sealPurpose(row));
  } catch (error) {
    ctx.log.error({ err: error, ref: refOf(row) }, 'a prepared call cannot be opened');
    return null;
  }
}
