// Notes of the team on a transaction: what a customer said on the phone, what was agreed. They are written once and shown
// with the transaction; the API does not have them.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { refOf } from './transactions.ts';

export const MAX_NOTE_CHARACTERS = 1_000;
/** Of one transaction. The database refuses more. */
const MAX_NOTES = 100;

export type TransactionNote = { number: number; body: string; created_by: string; created_at: Date };

/** Adds a note; false when the transaction has as many as it may have. */
export function addNote(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  transactionId: string,
  body: string,
): Promise<boolean> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const number = await nextNumber(tx, holderId, transactionId);
    if (number > MAX_NOTES) return false;
    await tx.query(
      `insert into transaction_notes (holder_id, transaction_id, number, body, created_by, created_by_member, created_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [holderId, transactionId, number, body, actor.name, actor.memberId, at],
    );
    const subject = refOf({ id: transactionId });
    await recordAudit(tx, { holderId, actor, action: 'transaction.note_added', subject, details: { number } }, at);
    return true;
  });
}

/** The transaction is locked, so that two notes at once get two numbers. */
async function nextNumber(tx: Tx, holderId: bigint, transactionId: string): Promise<number> {
  await tx.query('select from transactions where holder_id = $1 and id = $2 for update', [holderId, transactionId]);
  const [row] = await tx.query<{ last: number | null }>(
    'select max(number) as last from transaction_notes where holder_id = $1 and transaction_id = $2',
    [holderId, transactionId],
  );
  return (row?.last ?? 0) + 1;
}

/** The notes of a transaction, oldest first. */
export function listNotes(reader: Reader, holderId: bigint, transactionId: string): Promise<TransactionNote[]> {
  return reader.query<TransactionNote>(
    `select number, body, created_by, created_at from transaction_notes
     where holder_id = $1 and transaction_id = $2 order by number limit ${MAX_NOTES}`,
    [holderId, transactionId],
  );
}
