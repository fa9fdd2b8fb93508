// Attempts to pay a link: the rows, and the rules under which one is written. The database lets one form make one
// attempt, and one attempt of a single-use link be live at a time.

import { linkStatus, lockLink } from '../links/links.ts';
import { readTransactions } from '../payments/transactions.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';

const TEN_MINUTES_MS = 10 * 60_000;
/** Attempts that a single-use link may have in ten minutes. Not for ever: a stranger with its address could then end it. */
const ATTEMPTS_PER_TEN_MINUTES = 20;
const MAX_SHOWN = 60;

export type NewAttempt = {
  transactionId: string;
  link: { id: string; reusable: boolean };
  /** The form that makes this attempt. */
  formId: Buffer;
  /** How many attempts the link had when that form was shown, as `countShown` gives it. */
  attemptsSeen: number;
  msisdn: string;
  payer: { firstName: string; lastName: string; email: string };
};

/** Why no attempt was written. */
export type AttemptRefusal =
  /** This form made an attempt already, or another attempt of the link is live. */
  | { kind: 'exists'; transactionId: string }
  /** The same, but decided by a constraint: the transaction is aborted and cannot say which attempt it is. */
  | { kind: 'exists_elsewhere' }
  | { kind: 'link_closed' }
  | { kind: 'link_limit' };

/** Thrown by `writeAttempt`, so that the collection in the same transaction is rolled back. */
export class AttemptRefusedError extends Error {
  readonly refusal: AttemptRefusal;
  constructor(refusal: AttemptRefusal) {
    super(refusal.kind);
    this.refusal = refusal;
  }
}

/** Writes the attempt beside its collection, or throws an AttemptRefusedError. */
export async function writeAttempt(tx: Tx, { clock }: Pick<Context, 'clock'>, attempt: NewAttempt): Promise<void> {
  const { link, formId, msisdn, payer } = attempt;
  // From here on, the attempts of one link are made one after the other. Who locked it before may have seen that it has expired.
  const locked = await lockLink(tx, link.id);
  const at = clock.now();
  if (!locked || linkStatus(locked, at) !== 'active') throw new AttemptRefusedError({ kind: 'link_closed' });
  const same = await findAttemptByForm(tx, link.id, formId);
  if (same) throw new AttemptRefusedError({ kind: 'exists', transactionId: same });
  if (!link.reusable) await endFailedAttempts(tx, attempt, at);
  await tx
    .query(
      `insert into checkout_attempts
         (holder_id, transaction_id, link_id, form_id, single_use, msisdn, first_name, last_name, email, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        holderOfUuid(link.id),
        attempt.transactionId,
        link.id,
        formId,
        !link.reusable,
        msisdn,
        payer.firstName || null,
        payer.lastName || null,
        payer.email || null,
        at,
      ],
    )
    .catch((error: unknown) => {
      const constraint = violatedConstraint(error);
      if (constraint !== 'attempt_once_per_form' && constraint !== 'attempt_one_live') throw error;
      throw new AttemptRefusedError({ kind: 'exists_elsewhere' });
    });
}

/** Makes room on a single-use link: failed attempts stop being live; one that is open or paid refuses the new one. */
async function endFailedAttempts(tx: Tx, { link, attemptsSeen }: NewAttempt, at: Date): Promise<void> {
  const { attempts, count } = await findAttempts(tx, link.id);
  const recent = attempts.filter(({ createdAt }) => at.getTime() - createdAt.getTime() < TEN_MINUTES_MS);
  if (recent.length >= ATTEMPTS_PER_TEN_MINUTES) throw new AttemptRefusedError({ kind: 'link_limit' });
  const transactions = await readTransactions(
    tx,
    attempts.filter((attempt) => attempt.live).map((attempt) => attempt.transactionId),
  );
  const open = transactions.find(({ status }) => status !== 'failed' && status !== 'expired');
  if (open) throw new AttemptRefusedError({ kind: 'exists', transactionId: open.id });
  // The form was shown before another attempt was made: the payer should see how that one ended first.
  const [latest] = attempts;
  if (latest && countShown(count) !== attemptsSeen)
    throw new AttemptRefusedError({ kind: 'exists', transactionId: latest.transactionId });
  await tx.query('update checkout_attempts set live = false where holder_id = $1 and transaction_id = any($2)', [
    holderOfUuid(link.id),
    transactions.map(({ id }) => id),
  ]);
}

export type PayAttempt = { transactionId: string; live: boolean; createdAt: Date };

/**
 * The newest attempts of a link, newest first, and how many there are in all. For single-use links only: a reusable one
 * has as many as it has payers.
 */
export async function findAttempts(reader: Reader, linkId: string): Promise<{ attempts: PayAttempt[]; count: number }> {
  const rows = await reader.query<{ transaction_id: string; live: boolean; created_at: Date; count: bigint }>(
    `select transaction_id, live, created_at, count(*) over () from checkout_attempts where holder_id = $1 and link_id = $2
     order by transaction_id desc limit $3`,
    [holderOfUuid(linkId), linkId, MAX_SHOWN],
  );
  return {
    attempts: rows.map((row) => ({ transactionId: row.transaction_id, live: row.live, createdAt: row.created_at })),
    count: Number(rows[0]?.count ?? 0n),
  };
}

/** The number of attempts as a form carries it, in one byte. */
export function countShown(attempts: number): number {
  return attempts % 256;
}

/** The transaction that a form made, if it made one. */
export async function findAttemptByForm(reader: Reader, linkId: string, formId: Buffer): Promise<string | null> {
  const [row] = await reader.query<{ transaction_id: string }>(
    'select transaction_id from checkout_attempts where holder_id = $1 and link_id = $2 and form_id = $3',
    [holderOfUuid(linkId), linkId, formId],
  );
  return row?.transaction_id ?? null;
}

/** Whether this transaction is an attempt to pay this link. */
export async function isAttemptOf(reader: Reader, linkId: string, transactionId: string): Promise<boolean> {
  const rows = await reader.query(
    'select from checkout_attempts where holder_id = $1 and transaction_id = $2 and link_id = $3',
    [holderOfUuid(linkId), transactionId, linkId],
  );
  return rows.length > 0;
}
