// The states of a transaction and what each observation does to each of them. Pure: no clock, no database.
//
//   pending ──▶ processing ──▶ success ──▶ reversed
//      │            │  ├─────▶ failed  ─┐
//      └────────────┘  └─────▶ expired ─┴─▶ success (late: booked once, and a case for a person)
//
// A final state absorbs everything else: what contradicts it changes nothing and opens a case.

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
export type EvidenceSource = 'submit' | 'callback' | 'poll' | 'verification' | 'statement' | 'person';

/** Why a person must look. */
export type CaseKind =
  | 'late_success'
  | 'contradiction'
  | 'different_receipt'
  | 'amount_mismatch'
  | 'no_answer'
  | 'payout_not_found'
  /** The wallet no longer held money that was taken back; suspense carries it. */
  | 'wallet_short'
  | 'wrong_amount'
  | 'unknown_reference'
  | 'second_payment';

/** What somebody learned about a transaction. */
export type Outcome = {
  transactionId: string;
  source: EvidenceSource;
  observation: Observation;
  raw: string;
  /** The rail of an operator callback: it can only speak of its own transactions. */
  rail?: string;
  /** When the operator was asked, if it was. */
  askedAt?: Date;
};

/** What is known of a transaction before the observation. */
export type KnownTransaction = {
  status: Status;
  direction: Direction;
  amount: bigint;
  currency: string;
  receipt: string | null;
};

export type Transition = {
  /** The states it goes through, in order; usually none or one. A reversal that overtook its success gives two. */
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

/** What one observation does to a transaction. */
export function decide(known: KnownTransaction, observation: Observation): Transition {
  switch (observation.state) {
    case 'unknown':
    case 'pending':
      // The operator has it, or may have it: from now on only its own word ends it.
      return known.status === 'pending' ? go('processing') : nothing('ignored');
    case 'succeeded':
      return decideSuccess(known, observation);
    case 'reversed':
      return decideReversal(known, observation);
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

function decideReversal(known: KnownTransaction, observation: Observation & { state: 'reversed' }): Transition {
  if (!sameMoney(known, observation)) return open('amount_mismatch');
  switch (known.status) {
    case 'pending':
    case 'processing':
      return { transitions: ['success', 'reversed'], effect: 'applied', caseKind: null, late: false };
    case 'success':
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

/** An operator that names an amount or a currency must name ours. */
function sameMoney(known: KnownTransaction, said: { amount?: bigint; currency?: string }): boolean {
  return (said.amount ?? known.amount) === known.amount && (said.currency ?? known.currency) === known.currency;
}

function sameReceipt(known: KnownTransaction, said: { receipt: string | null }): boolean {
  return said.receipt === null || known.receipt === null || said.receipt === known.receipt;
}

/** When to ask the operator again, by how often it was asked already. */
const QUERY_DELAYS_SECONDS = [5, 10, 20, 40, 60, 120, 300, 300, 300, 300, 300, 900, 1_800, 3_600] as const;
/** After this long without a final word a person is told. Asking goes on, rarely. */
export const UNANSWERED_MS = 24 * 3_600_000;
const RARE_QUERY_MS = 6 * 3_600_000;

export function nextQueryDelayMs(attempts: number, openForMs: number): number {
  if (openForMs >= UNANSWERED_MS) return RARE_QUERY_MS;
  return (QUERY_DELAYS_SECONDS[attempts] ?? 3_600) * 1000;
}
