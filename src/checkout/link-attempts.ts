// Attempts to pay a link. An attempt and its collection are written together; the database lets one form make one
// attempt, and one attempt of a single-use link live at a time.

import { createHash } from 'node:crypto';
import { linkStatus, lockLink, type PaymentLink } from '../links/links.ts';
import { acceptWithin, type CollectionOrder } from '../payments/accept.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { readTransactions, type Transaction } from '../payments/transactions.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import type { FormToken } from './form-tokens.ts';

/** Prompts a number may get that it did not answer by paying: a stranger's phone is not a toy. */
const PROMPTS_PER_TEN_MINUTES = 3;
const PROMPTS_PER_DAY = 10;
const TEN_MINUTES_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
const ATTEMPTS_PER_LINK = 60;
const MAX_COUNTED = 100;

export type Payer = { firstName: string; lastName: string; email: string };

export type Start =
  | { kind: 'started'; transaction: Transaction }
  /** This form made an attempt already, or another one of the link lives: nothing new was made. */
  | { kind: 'there_is_one'; transactionId: string }
  | { kind: 'link_closed' }
  | { kind: 'number_tired'; until: Date }
  | { kind: 'too_many' };

/** Thrown inside the transaction to give it up; never leaves this file. */
class Refused extends Error {
  readonly start: Start;
  constructor(start: Start) {
    super(start.kind);
    this.start = start;
  }
}

/** Makes the attempt and its collection, or says why not. */
export async function startAttempt(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  link: PaymentLink,
  token: FormToken,
  order: CollectionOrder & { msisdn: string },
  payer: Payer,
): Promise<Start> {
  try {
    const transaction = await acceptWithin(ctx, engine, order, async (tx, accepted) => {
      const at = ctx.clock.now();
      // Two people at one single-use link take turns from here on.
      const locked = await lockLink(tx, link.id);
      if (!locked || linkStatus(locked, at) !== 'active') throw new Refused({ kind: 'link_closed' });
      const same = await findAttemptByForm(tx, link.id, token.id);
      if (same) throw new Refused({ kind: 'there_is_one', transactionId: same });
      if (!link.reusable) await makeRoom(tx, link.id, token);
      await checkNumber(tx, order.msisdn, at);
      await tx.query(
        `insert into checkout_attempts
           (holder_id, transaction_id, link_id, form_id, single_use, msisdn, first_name, last_name, email, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        [
          accepted.holder_id,
          accepted.id,
          link.id,
          token.id,
          !link.reusable,
          order.msisdn,
          payer.firstName || null,
          payer.lastName || null,
          payer.email || null,
          at,
        ],
      );
    });
    return { kind: 'started', transaction };
  } catch (error) {
    if (error instanceof Refused) return error.start;
    const constraint = violatedConstraint(error);
    if (constraint !== 'attempt_once_per_form' && constraint !== 'attempt_one_live') throw error;
    const existing =
      (await findAttemptByForm(ctx.db, link.id, token.id)) ?? (await findAttempts(ctx.db, link.id))[0]?.transactionId;
    if (existing === undefined) throw error;
    return { kind: 'there_is_one', transactionId: existing };
  }
}

/** Ends the attempts that the operator refused; one that is not over, or was paid, keeps the place. */
async function makeRoom(tx: Tx, linkId: string, token: FormToken): Promise<void> {
  const attempts = await findAttempts(tx, linkId);
  if (attempts.length >= ATTEMPTS_PER_LINK) throw new Refused({ kind: 'too_many' });
  const transactions = await readTransactions(
    tx,
    attempts.filter((attempt) => attempt.live).map((attempt) => attempt.transactionId),
  );
  const open = transactions.find(({ status }) => status !== 'failed' && status !== 'expired');
  if (open) throw new Refused({ kind: 'there_is_one', transactionId: open.id });
  // The form was shown before another attempt was made: its sender should see how that one ended first.
  const [latest] = attempts;
  if (latest && attempts.length !== token.number)
    throw new Refused({ kind: 'there_is_one', transactionId: latest.transactionId });
  await tx.query('update checkout_attempts set live = false where holder_id = $1 and transaction_id = any($2)', [
    holderOfUuid(linkId),
    transactions.map(({ id }) => id),
  ]);
}

async function checkNumber(tx: Tx, msisdn: string, at: Date): Promise<void> {
  // Requests for one number take turns, so that many at once cannot pass together.
  const lock = createHash('sha256').update(`checkout ${msisdn}`).digest().readBigInt64BE();
  await tx.query('select pg_advisory_xact_lock($1)', [lock]);
  const rows = await tx.query<{ transaction_id: string; created_at: Date }>(
    `select transaction_id, created_at from checkout_attempts where msisdn = $1 and created_at > $2
     order by created_at desc limit $3`,
    [msisdn, new Date(at.getTime() - DAY_MS), MAX_COUNTED],
  );
  const recent = rows.filter((row) => at.getTime() - row.created_at.getTime() < TEN_MINUTES_MS);
  if (rows.length < PROMPTS_PER_DAY && recent.length < PROMPTS_PER_TEN_MINUTES) return;
  const transactions = await readTransactions(
    tx,
    rows.map((row) => row.transaction_id),
  );
  const paid = new Set(transactions.filter(({ status }) => status === 'success').map(({ id }) => id));
  const unpaid = rows.filter((row) => !paid.has(row.transaction_id));
  refuseTired(unpaid, at, PROMPTS_PER_DAY, DAY_MS);
  refuseTired(unpaid, at, PROMPTS_PER_TEN_MINUTES, TEN_MINUTES_MS);
}

function refuseTired(unpaid: { created_at: Date }[], at: Date, limit: number, windowMs: number): void {
  const within = unpaid.filter((row) => at.getTime() - row.created_at.getTime() < windowMs);
  const oldest = within[limit - 1];
  if (oldest) throw new Refused({ kind: 'number_tired', until: new Date(oldest.created_at.getTime() + windowMs) });
}

export type PayAttempt = { transactionId: string; live: boolean };

/** The attempts of a link, newest first. Only asked of single-use links: another has as many as it has payers. */
export async function findAttempts(reader: Reader, linkId: string): Promise<PayAttempt[]> {
  const rows = await reader.query<{ transaction_id: string; live: boolean }>(
    `select transaction_id, live from checkout_attempts where holder_id = $1 and link_id = $2
     order by transaction_id desc limit $3`,
    [holderOfUuid(linkId), linkId, ATTEMPTS_PER_LINK],
  );
  return rows.map((row) => ({ transactionId: row.transaction_id, live: row.live }));
}

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
