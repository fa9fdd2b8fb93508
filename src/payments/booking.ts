// The ledger's part of an outcome: which transfers each entered state posts. Facts that have happened at the operator cannot
// be refused: what the wallet lacks becomes a debt of its holder. It changes nothing that it is given; outcomes.ts applies
// the result to its rows, events and cases.

import { balancesOf, type PostedTransfer, type PostingGroup, postEach } from '../ledger/ledger.ts';
import {
  collectionReversed,
  collectionSucceeded,
  latePayoutSucceeded,
  lateRefundSucceeded,
  payoutPosted,
  payoutReleased,
  payoutReversed,
  refundPosted,
  refundReleased,
  reserveHeld,
  type Transfer,
} from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import type { Status } from './states.ts';
import type { Transaction } from './transactions.ts';

/** A state that a transaction entered, and the transaction as it was then. */
export type EnteredState = {
  status: Status;
  /** A success after `failed` or `expired`. */
  late: boolean;
  row: Transaction;
  /** What a reversal gives back: of a collection, what refunds have not given back already. */
  left: { amount: bigint; fee: bigint };
  /** Of a refund: the part that the gateway pays out of its fee. */
  feeReturned: bigint;
  /** Transfers that release money which came before its collection succeeded, and was put in suspense. */
  released: Transfer[];
  /** What goes into the rolling reserve: a share of a collection, or what a failed refund had used. */
  hold: { amount: bigint; releaseAt: Date } | null;
};

/** What was posted for one entered state. */
export type Booking = {
  /** Balance of the wallet after the transfers. */
  balanceAfter: bigint | null;
  postedAt: Date;
};

export type Bookings = { byState: Map<EnteredState, Booking>; posted: PostedTransfer[] };

type Posting = { state: EnteredState; transfers: Transfer[]; mayBorrow: boolean };

/**
 * Posts the transfers of all states, and `held` ones that belong to none, together: so locks are taken in one order.
 * States that move no money have no booking.
 */
export async function bookStates(tx: Tx, states: EnteredState[], held: PostingGroup[], at: Date): Promise<Bookings> {
  const planned = states.flatMap((state): Posting[] => {
    const posting = postingFor(state);
    return posting ? [{ state, ...posting, transfers: [...state.released, ...posting.transfers] }] : [];
  });
  if (planned.length + held.length === 0) return { byState: new Map(), posted: [] };
  const results = await postEach(tx, [...held, ...planned], at);
  if (results.slice(0, held.length).some((result) => !result.ok))
    throw new Error('the ledger refused to move money of a payment into or out of suspense');
  const byState = new Map<EnteredState, Booking>();
  for (const [index, { state }] of planned.entries()) {
    const result = results[held.length + index];
    if (!result?.ok) throw new Error(`the ledger refused a posting that must succeed: transaction ${state.row.id}`);
    const balanceAfter = walletBalanceAfter(result.transfers) ?? (await walletBalance(tx, state.row));
    byState.set(state, { balanceAfter, postedAt: result.transfers[0]?.postedAt ?? at });
  }
  return { byState, posted: results.flatMap((result) => (result.ok ? result.transfers : [])) };
}

/** The transfers of an entered state; null: it moves no money. */
function postingFor(state: EnteredState): { transfers: Transfer[]; mayBorrow: boolean } | null {
  const { row, status, late } = state;
  const fact = {
    transactionId: row.id,
    holderId: row.holder_id,
    currency: row.currency,
    amount: row.amount,
    fee: row.fee,
    rail: row.rail,
    feeReturned: state.feeReturned,
  };
  const hold = state.hold ? reserveHeld({ ...fact, amount: state.hold.amount }) : [];
  const sure = (transfers: Transfer[]) => ({ transfers: [...transfers, ...hold], mayBorrow: false });
  const fromWallet = (transfers: Transfer[]) => ({ transfers, mayBorrow: true });
  switch (row.direction) {
    case 'collection':
      if (status === 'success') return sure(collectionSucceeded(fact));
      if (status === 'reversed') return fromWallet(collectionReversed({ ...fact, ...state.left }));
      return null;
    case 'payout':
      if (status === 'success') return late ? fromWallet(latePayoutSucceeded(fact)) : sure(payoutPosted(fact));
      if (status === 'failed') return sure(payoutReleased(fact));
      if (status === 'reversed') return sure(payoutReversed(fact));
      return null;
    case 'refund':
      if (status === 'success') return late ? fromWallet(lateRefundSucceeded(fact)) : sure(refundPosted(fact));
      if (status === 'failed') return sure(refundReleased(fact));
      return null;
  }
}

function walletBalanceAfter(transfers: readonly PostedTransfer[]): bigint | null {
  let balance: bigint | null = null;
  for (const transfer of transfers) {
    if (transfer.credit.kind === 'wallet_available') balance = transfer.creditBalance;
    if (transfer.debit.kind === 'wallet_available') balance = transfer.debitBalance;
  }
  return balance;
}

/** Where the fee takes all, nothing of the collection reaches the wallet. */
async function walletBalance(tx: Tx, row: Transaction): Promise<bigint | null> {
  const [wallet] = await balancesOf(tx, row.holder_id, { currency: row.currency });
  return wallet?.available ?? 0n;
}
