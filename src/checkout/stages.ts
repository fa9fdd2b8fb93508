// The stage of a payment: what the payer has to do now, derived from the transaction. Unknown is never failed: a
// transaction that stays open longer than a prompt can live is "unclear", and the page says so.

import type { PayerStep } from '../payments/payer-steps.ts';
import type { Transaction } from '../payments/transactions.ts';

export type Stage =
  /** Waiting for the PIN on the phone. */
  | 'prompt'
  /** Waiting until the payer has dialled the code of the SMS. */
  | 'shortcode'
  /** Waiting for the code of the SMS, entered on this page. */
  | 'otp'
  /** Waiting for a code that the operator gave the payer, entered on this page. */
  | 'code'
  /** Waiting until the payer has confirmed on a page or in an app of the operator. */
  | 'outside'
  /** Waiting until the payer has scanned a code with the operator's app. */
  | 'qr'
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
/** A step outside of this page, where the operator does not say how long it lives. */
const STEP_LIVES_MS = 15 * 60_000;
const UNCLEAR_AFTER_EXPIRY_MS = 90_000;

export function stageOf(transaction: Transaction, step: PayerStep | null, now: Date): Stage {
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
      return openStage(transaction, step, now);
    case 'processing':
      return openStage(transaction, step, now);
  }
}

const STEP_STAGES = {
  dial: 'shortcode',
  code: 'code',
  redirect: 'outside',
  deep_link: 'outside',
  qr: 'qr',
  transfer: 'instructions',
} as const satisfies Record<Exclude<PayerStep['kind'], 'prompt'>, Stage>;

function openStage(transaction: Transaction, step: PayerStep | null, now: Date): Stage {
  const age = now.getTime() - transaction.created_at.getTime();
  if (step?.kind === 'prompt') return age > UNCLEAR_AFTER_MS.prompt ? 'unclear' : 'prompt';
  if (step) {
    const end = 'expiresAt' in step ? step.expiresAt : null;
    const livesUntil = end?.getTime() ?? transaction.created_at.getTime() + STEP_LIVES_MS;
    return now.getTime() > livesUntil + UNCLEAR_AFTER_EXPIRY_MS ? 'unclear' : STEP_STAGES[step.kind];
  }
  switch (transaction.verification) {
    case 'prompt':
    case 'shortcode':
      return age > UNCLEAR_AFTER_MS[transaction.verification] ? 'unclear' : transaction.verification;
    case 'instructions':
      return age > UNCLEAR_AFTER_MS.working ? 'unclear' : 'working';
    case 'otp':
    case 'none':
      return now.getTime() - transaction.updated_at.getTime() > UNCLEAR_AFTER_MS.working ? 'unclear' : 'working';
  }
}

export function isWaiting(stage: Stage): boolean {
  return !['paid', 'reversed', 'failed', 'expired'].includes(stage);
}
