// Verification by a six-digit token (`otp`): the gateway creates it, the operator sends it by SMS, and the payer enters it at
// the merchant or on the checkout. Nothing is submitted before the token is verified. So only here may the gateway end a
// transaction itself: the payer was certainly not charged. After a restore that is certain only once the operator was asked.

import { createHmac, randomInt } from 'node:crypto';
import type { RecordedEvent } from '../callbacks/events.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import type { Observation } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { takeTokenGuess } from './number-limits.ts';
import { applyOutcomes } from './outcomes.ts';
import { refuseBeforeAsked } from './requery-after-restore.ts';
import { type Status, VERIFICATION_MS } from './states.ts';
import { findTransaction, type Transaction } from './transactions.ts';

const RESEND_AFTER_MS = 30_000;
const MAX_WRONG_TOKENS = 5;
const TOKEN = /^\d{6}$/;
export const NOT_WAITING_FOR_TOKEN = 'This transaction does not wait for a token.';

type TokenRow = { token_hash: Buffer; wrong_tries: number; sent_at: Date; expires_at: Date };

/** The hash to store; with more than one, the keys changed a moment ago and any of them is right. */
function hashToken(ctx: PaymentsContext, transactionId: string, token: string): [Buffer, ...Buffer[]] {
  // Keyed, because all million tokens can be hashed in a second.
  const hash = (key: Buffer) => createHmac('sha256', key).update(`${transactionId}:${token}`).digest();
  const [first, ...others] = ctx.vault.deriveKeys('verification-token');
  return [hash(first), ...others.map(hash)];
}

/** Creates a token, stores its hash and sends it. A token that did not arrive can be sent again on request. */
export async function sendVerificationToken(ctx: PaymentsContext, transaction: Transaction): Promise<void> {
  const token = String(randomInt(1_000_000)).padStart(6, '0');
  const at = ctx.clock.now();
  const expiresAt = new Date(transaction.created_at.getTime() + VERIFICATION_MS);
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      `insert into verification_tokens (holder_id, transaction_id, token_hash, sent_at, expires_at)
       values ($1, $2, $3, $4, $5)
       on conflict (holder_id, transaction_id) do update set token_hash = excluded.token_hash, sent_at = excluded.sent_at`,
      [transaction.holder_id, transaction.id, hashToken(ctx, transaction.id, token)[0], at, expiresAt],
    );
    await tx.query(
      `update payment_jobs set kind = 'expire', due_at = $3
       where holder_id = $1 and transaction_id = $2 and kind = 'send_token'`,
      [transaction.holder_id, transaction.id, expiresAt],
    );
  });
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail?.sendToken || !method) throw new Error(`the rail "${transaction.rail}" cannot send tokens`);
  const amount = `${transaction.currency} ${formatAmount(transaction.amount)}`;
  const text = `${token} is your code to pay ${amount}. Give it only to the business you are paying.`;
  await rail.sendToken({ msisdn: transaction.msisdn ?? '', text, method });
}

/**
 * Checks a token. If it is right, the transaction is due to be submitted; after five wrong tokens it has failed. A wrong
 * token is returned, not thrown, so that the counted try is committed.
 */
export async function verifyToken(
  ctx: PaymentsContext,
  holderId: bigint,
  id: string,
  token: string,
  within: (tx: Tx) => Promise<void>,
): Promise<Transaction | Problem> {
  const decision = await checkToken(ctx, holderId, id, token, within);
  if (decision.right) return decision.transaction;
  ctx.sendCallbacksNow(decision.events);
  const left =
    decision.left === 0
      ? 'The transaction has failed.'
      : `${decision.left} ${decision.left === 1 ? 'try is' : 'tries are'} left.`;
  return new Problem('verification_failed', {
    errors: { token: [`The token is wrong. ${left}`] },
    extra: { tries_left: decision.left },
  });
}

type TokenCheck = { transaction: Transaction; right: boolean; left: number; events: RecordedEvent[] };

function checkToken(
  ctx: PaymentsContext,
  holderId: bigint,
  id: string,
  token: string,
  within: (tx: Tx) => Promise<void>,
): Promise<TokenCheck> {
  return ctx.db.transaction(async (tx) => {
    const transaction = await findTransaction(tx, holderId, id);
    if (!transaction) throw new Problem('transaction_not_found');
    await refuseBeforeAsked(tx, holderId, id);
    const row = await lockToken(tx, holderId, id);
    if (
      transaction.verification !== 'otp' ||
      transaction.status !== 'pending' ||
      !row ||
      row.expires_at <= ctx.clock.now()
    )
      throw new Problem('verification_failed', {
        message: NOT_WAITING_FOR_TOKEN,
        errors: { id: ['The transaction was already verified, has ended, or is not verified by a token.'] },
      });
    await within(tx);
    const guess = await takeTokenGuess(tx, ctx, transaction.msisdn ?? '');
    const right =
      TOKEN.test(token) && hashToken(ctx, id, token).some((hash) => constantTimeEqual(row.token_hash, hash));
    const wrongTries = row.wrong_tries + (right ? 0 : 1);
    if (!right)
      await tx.query('update verification_tokens set wrong_tries = $3 where holder_id = $1 and transaction_id = $2', [
        holderId,
        id,
        wrongTries,
      ]);
    if (!right && wrongTries < MAX_WRONG_TOKENS)
      return { transaction, right, left: MAX_WRONG_TOKENS - wrongTries, events: [] };
    const observation: Observation = right
      ? { state: 'pending' }
      : { state: 'failed', failureCode: 'VERIFICATION_FAILED', rawCode: '', message: 'wrong token five times' };
    await deleteToken(tx, holderId, id);
    const { applied, events } = await applyOutcomes(tx, ctx, [
      { transactionId: id, source: 'verification', observation, raw: right ? 'right token' : 'wrong token five times' },
    ]);
    const after = applied[0]?.transaction ?? transaction;
    // Verified: it may be sent to the operator now.
    if (right) await guess.giveBack();
    if (right)
      await tx.query(
        `update payment_jobs set kind = 'submit', due_at = $3, since = $3 where holder_id = $1 and transaction_id = $2`,
        [holderId, id, ctx.clock.now()],
      );
    return { transaction: after, right, left: 0, events };
  });
}

async function lockToken(tx: Tx, holderId: bigint, id: string): Promise<TokenRow | null> {
  const [row] = await tx.query<TokenRow>(
    `select token_hash, wrong_tries, sent_at, expires_at from verification_tokens
     where holder_id = $1 and transaction_id = $2 for update`,
    [holderId, id],
  );
  return row ?? null;
}

async function deleteToken(tx: Tx, holderId: bigint, id: string): Promise<void> {
  await tx.query('delete from verification_tokens where holder_id = $1 and transaction_id = $2', [holderId, id]);
}

/** Sends the token again, at most once in 30 seconds. */
export async function resendToken(
  ctx: PaymentsContext,
  holderId: bigint,
  id: string,
  within: (tx: Tx) => Promise<void>,
): Promise<Transaction> {
  const transaction = await ctx.db.transaction(async (tx) => {
    const found = await findTransaction(tx, holderId, id);
    if (!found) throw new Problem('transaction_not_found');
    await refuseBeforeAsked(tx, holderId, id);
    const row = await lockToken(tx, holderId, id);
    const now = ctx.clock.millis();
    if (found.verification !== 'otp' || found.status !== 'pending' || (row && row.expires_at.getTime() <= now))
      throw new Problem('verification_failed', { message: NOT_WAITING_FOR_TOKEN });
    const waitMs = row ? row.sent_at.getTime() + RESEND_AFTER_MS - now : 0;
    if (waitMs > 0) throw new Problem('resend_too_soon', { retryAfterSeconds: Math.ceil(waitMs / 1000) });
    await within(tx);
    // Reserved here, so that two requests at once send one SMS.
    if (row)
      await tx.query('update verification_tokens set sent_at = $3 where holder_id = $1 and transaction_id = $2', [
        holderId,
        id,
        ctx.clock.now(),
      ]);
    return found;
  });
  await sendVerificationToken(ctx, transaction);
  return transaction;
}

/** Expires a transaction ten minutes after its token was sent. It was not submitted, so the payer was not charged. */
export async function expireVerification(ctx: PaymentsContext, transaction: Transaction): Promise<void> {
  const now = ctx.clock.now();
  const events = await ctx.db.transaction(async (tx) => {
    await refuseBeforeAsked(tx, transaction.holder_id, transaction.id);
    // The token is locked and deleted first, as in a verification, so that only one of the two decides.
    const token = await lockToken(tx, transaction.holder_id, transaction.id);
    if (now < (token?.expires_at ?? new Date(transaction.created_at.getTime() + VERIFICATION_MS))) return [];
    await deleteToken(tx, transaction.holder_id, transaction.id);
    const [row] = await tx.query<{ status: Status }>(
      'select status from transactions where holder_id = $1 and id = $2 for update',
      [transaction.holder_id, transaction.id],
    );
    if (row?.status !== 'pending') return [];
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: transaction.id,
        source: 'verification',
        observation: {
          state: 'failed',
          failureCode: 'PROMPT_EXPIRED',
          rawCode: '',
          message: 'the token was not given back in time',
        },
        raw: 'the token was not given back within ten minutes; nothing was submitted',
      },
    ]);
    return result.events;
  });
  ctx.sendCallbacksNow(events);
}
