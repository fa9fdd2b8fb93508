// The stage of a payment: what the payer has to do now, derived from the transaction. Unknown is never failed: a
// transaction that stays open longer than a prompt can live is "unclear", and the page says so.

import type { Instructions } from '../payments/incoming-payments.ts';
import type { Transaction } from '../payments/transactions.ts';

export type Stage =
  /** Waiting for the PIN on the phone. */
  | 'prompt'
  /** Waiting until the payer has dialled the code of the SMS. */
  | 'shortcode'
  /** Waiting for the code of the SMS, entered on this page. */
  | 'otp'
  /** Waiting until the payer has sent the money. */
  | 'instructions'
  /** The operator is processing it; the payer can only wait. */
  | 'working'
  | 'unclear'
  | 'paid'
  | 'reversed'
  | 'failed'
  | 'expired';

/** A prompt lives two minutes, a short code five. The rest is time for the operator to report the end. */
export const UNCLEAR_AFTER_MS = { prompt: 180_000, shortcode: 360_000, working: 90_000 } as const;
const UNCLEAR_AFTER_EXPIRY_MS = 90_000;

export function stageOf(transaction: Transaction, instructions: Instructions | null, now: Date): Stage {
  switch (transaction.status) {
    case 'success':
      return 'paid';
    case 'reversed':
      return 'reversed';
    case 'failed':
      return 'failed';
    case 'expired':
      return 'expired';
    case 'pending':
      if (transaction.verification === 'otp') return 'otp';
      return openStage(transaction, instructions, now);
    case 'processing':
      return openStage(transaction, instructions, now);
  }
}

function openStage(transaction: Transaction, instructions: Instructions | null, now: Date): Stage {
  const age = now.getTime() - transaction.created_at.getTime();
  switch (transaction.verification) {
    case 'prompt':
    case 'shortcode':
      return age > UNCLEAR_AFTER_MS[transaction.verification] ? 'unclear' : transaction.verification;
    case 'instructions':
      if (instructions === null) return age > UNCLEAR_AFTER_MS.working ? 'unclear' : 'working';
      return now.getTime() > instructions.expiresAt.getTime() + UNCLEAR_AFTER_EXPIRY_MS ? 'unclear' : 'instructions';
    case 'otp':
    case 'none':
      return now.getTime() - transaction.updated_at.getTime() > UNCLEAR_AFTER_MS.working ? 'unclear' : 'working';
  }
}

export function isWaiting(stage: Stage): boolean {
  return !['paid', 'reversed', 'failed', 'expired'].includes(stage);
}
