// The states of a transaction and what each observation does to each of them. Pure: no clock, no database.
//
//   pending ──▶ processing ──▶ success ──▶ reversed
//      │            │  ├─────▶ failed  ─┐
//      └────────────┘  └─────▶ expired ─┴─▶ success (late: booked once, and opens a case)
//
// An observation that contradicts a final state changes nothing and opens a case. A refund never expires and is never
// reversed; a collection is also `reversed` when refunds have given all of it back.

import type { Direction } from '../catalog/catalog.ts';
import type { Observation } from '../rails/rail.ts';

export const STATUS_CODES = {
  pending: '100',
  processing: '102',
  success: '200',
  failed: '400',
  expired: '408',
  reversed: '205',
} as const;

export type Status = keyof typeof STATUS_CODES;
export type TransactionDirection = Direction | 'refund';
/** matched: a callback that is not signed, but came to the address of its transaction and says what we stored. */
export type EvidenceSource = 'submit' | 'callback' | 'matched' | 'poll' | 'verification' | 'statement' | 'person';

/** Why a case is opened. */
export type CaseKind =
  | 'late_success'
  | 'contradiction'
  | 'different_receipt'
  | 'amount_mismatch'
  | 'no_answer'
  | 'payout_not_found'
  | 'refund_not_found'
  /** The wallet no longer held money that was taken back: the holder owes it. */
  | 'debt'
  | 'wrong_amount'
  | 'unknown_reference'
  | 'second_payment'
  /** Another transaction has this receipt. */
  | 'receipt_used'
  /** The operator sent a value that cannot be right. */
  | 'unreadable_report'
  | 'link_paid_twice'
  /** A payer looks for a payment that is not found, or did not succeed. */
  | 'payer_report'
  /** A payer, or the operator, asks for the money back (disputes.ts). */
  | 'dispute';

/** One observation of a transaction, and where it came from. */
export type Outcome = {
  transactionId: string;
  source: EvidenceSource;
  observation: Observation;
  raw: string;
  /** The rail of an operator callback: it can only report its own transactions. */
  rail?: string;
  /** Matched, and it answers a question of ours. */
  isAnswer?: true;
  /** When the operator was asked, if it was. */
  askedAt?: Date;
  /** Two people decided that the collection brought another amount. It replaces the amount that was asked for. */
  amended?: { amount: bigint; fee: bigint };
  /** Somebody who reads the status made us ask. The job keeps its own schedule. */
  onRead?: true;
};

/** A transaction before the observation. */
export type KnownTransaction = {
  status: Status;
  direction: TransactionDirection;
  amount: bigint;
  currency: string;
  receipt: string | null;
};

/** What refunds and disputes have given back of a collection, and what they may be giving back now. */
type RefundProgress = { underWay: bigint; givenBack: bigint };

export type Transition = {
  /** The states it goes through, in order; usually none or one. A reversal that arrives before its success gives two. */
  transitions: Status[];
  effect: 'applied' | 'confirmed' | 'ignored' | 'case';
  caseKind: CaseKind | null;
  /** A success after `failed` or `expired`. */
  late: boolean;
};

const FINAL: ReadonlySet<Status> = new Set(['success', 'failed', 'expired', 'reversed']);

export function isFinal(status: Status): boolean {
  return FINAL.has(status);
}

/** The effect of one observation on a transaction. `refunds` are those of a collection. */
export function decide(known: KnownTransaction, observation: Observation, refunds?: RefundProgress): Transition {
  switch (observation.state) {
    case 'unknown':
    case 'pending':
      // The operator has it, or may have it: from now on only the operator's answer ends it.
      return known.status === 'pending' ? go('processing') : nothing('ignored');
    case 'succeeded':
      return decideSuccess(known, observation);
    case 'reversed':
      return decideReversal(known, observation, refunds ?? { underWay: 0n, givenBack: 0n });
    case 'failed':
      return decideFailure(known, observation);
  }
}

function decideSuccess(known: KnownTransaction, observation: Observation & { state: 'succeeded' }): Transition {
  if (!sameMoney(known, observation)) return open('amount_mismatch');
  switch (known.status) {
    case 'pending':
    case 'processing':
      return go('success');
    case 'failed':
    case 'expired':
      return { transitions: ['success'], effect: 'applied', caseKind: 'late_success', late: true };
    case 'success':
    case 'reversed':
      return sameReceipt(known, observation) ? nothing('confirmed') : open('different_receipt');
  }
}

function decideReversal(
  known: KnownTransaction,
  observation: Observation & { state: 'reversed' },
  { underWay, givenBack }: RefundProgress,
): Transition {
  // After partial refunds an operator may name all of it, or what was left.
  const left = { ...known, amount: known.amount - givenBack };
  if (!sameMoney(known, observation) && !sameMoney(left, observation)) return open('amount_mismatch');
  if (known.direction === 'refund') return open('contradiction');
  switch (known.status) {
    case 'pending':
    case 'processing':
      return { transitions: ['success', 'reversed'], effect: 'applied', caseKind: null, late: false };
    case 'success':
      // Is this the refund that is under way, or a second time? Only the answer about the refund tells.
      if (underWay > 0n) return open('contradiction');
      return sameReceipt(known, observation) ? go('reversed') : open('different_receipt');
    case 'reversed':
      return nothing('confirmed');
    case 'failed':
    case 'expired':
      return open('contradiction');
  }
}

function decideFailure(known: KnownTransaction, observation: Observation & { state: 'failed' }): Transition {
  const failed =
    observation.failureCode === 'PROMPT_EXPIRED' && known.direction === 'collection' ? 'expired' : 'failed';
  switch (known.status) {
    case 'pending':
    case 'processing':
      return go(failed);
    case 'failed':
    case 'expired':
      return nothing(known.status === failed ? 'confirmed' : 'ignored');
    case 'success':
    case 'reversed':
      return open('contradiction');
  }
}

function go(status: Status): Transition {
  return { transitions: [status], effect: 'applied', caseKind: null, late: false };
}

function nothing(effect: 'confirmed' | 'ignored'): Transition {
  return { transitions: [], effect, caseKind: null, late: false };
}

function open(caseKind: CaseKind): Transition {
  return { transitions: [], effect: 'case', caseKind, late: false };
}

/** If the operator reports an amount or a currency, it must be ours. */
function sameMoney(known: KnownTransaction, said: { amount?: bigint; currency?: string }): boolean {
  return (said.amount ?? known.amount) === known.amount && (said.currency ?? known.currency) === known.currency;
}

function sameReceipt(known: KnownTransaction, said: { receipt: string | null }): boolean {
  return said.receipt === null || known.receipt === null || said.receipt === known.receipt;
}

/** How long a payer has to give the token back (`otp`). */
export const VERIFICATION_MS = 10 * 60_000;

/** Delay before the next query, by the number of queries made. */
const QUERY_DELAYS_SECONDS = [5, 10, 20, 40, 60, 120, 300, 300, 300, 300, 300, 900, 1_800, 3_600] as const;
/** After this long without a final answer a case is opened. Queries go on, rarely. */
export const UNANSWERED_MS = 24 * 3_600_000;
const RARE_QUERY_MS = 6 * 3_600_000;

export function nextQueryDelayMs(attempts: number, openForMs: number): number {
  if (openForMs >= UNANSWERED_MS) return RARE_QUERY_MS;
  return (QUERY_DELAYS_SECONDS[attempts] ?? 3_600) * 1000;
}
