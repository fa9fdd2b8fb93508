// The ledger's part of an outcome: which transfers each entered state posts, and what is posted instead when the wallet no
// longer holds the money. It changes nothing that it is given; outcomes.ts applies the result to its rows, events and cases.

import { type PostedTransfer, postEach } from '../ledger/ledger.ts';
import {
  collectionReversed,
  collectionReversedFromSuspense,
  collectionSucceeded,
  latePayoutSucceeded,
  latePayoutSucceededFromSuspense,
  payoutPosted,
  payoutReleased,
  payoutReversed,
  type Transfer,
} from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { claimReceipts } from './incoming-payments.ts';
import type { Status } from './states.ts';
import type { Transaction } from './transactions.ts';

/** A state that a transaction entered, and the transaction as it was then. */
export type EnteredState = {
  status: Status;
  /** A success after `failed` or `expired`. */
  late: boolean;
  row: Transaction;
};

/** What was posted for one entered state. */
export type Booking = {
  /** Balance of the wallet after the transfers; null: they did not change it. */
  balanceAfter: bigint | null;
  /** The wallet no longer held the money, so the fallback took it from suspense. A case must be opened. */
  walletShort: boolean;
};

type Posting = {
  transfers: Transfer[];
  /** Posted instead when the wallet no longer holds the money; null: the ledger must accept the transfers. */
  fallback: Transfer[] | null;
};

type PlannedPosting = Posting & { state: EnteredState };

/**
 * Posts the transfers of all states, and `held` ones that belong to none, together: so locks are taken in one order.
 * States that move no money have no booking.
 */
export async function bookStates(
  tx: Tx,
  states: EnteredState[],
  held: Transfer[][],
  at: Date,
): Promise<Map<EnteredState, Booking>> {
  const planned = await planPostings(tx, states, at);
  const bookings = new Map<EnteredState, Booking>();
  const refused: PlannedPosting[] = [];
  for (const { posting, transfers } of await postPlanned(tx, planned, 'transfers', held, at)) {
    if (transfers) bookings.set(posting.state, { balanceAfter: walletBalanceAfter(transfers), walletShort: false });
    else if (posting.fallback) refused.push(posting);
    else throw refusedByLedger(posting);
  }
  // The holder has already spent the money that is taken back. It stays in suspense until the case is closed.
  for (const { posting, transfers } of await postPlanned(tx, refused, 'fallback', [], at)) {
    if (!transfers) throw refusedByLedger(posting);
    bookings.set(posting.state, { balanceAfter: null, walletShort: true });
  }
  return bookings;
}

async function planPostings(tx: Tx, states: EnteredState[], at: Date): Promise<PlannedPosting[]> {
  const fromSuspense = await claimFromSuspense(tx, states, at);
  return states.flatMap((state) => {
    const posting = postingFor(state);
    if (!posting) return [];
    const released = fromSuspense.get(state) ?? [];
    return [{ state, transfers: [...released, ...posting.transfers], fallback: posting.fallback }];
  });
}

/** Transfers that release money which arrived, and was put in suspense, before its collection succeeded. */
async function claimFromSuspense(tx: Tx, states: EnteredState[], at: Date): Promise<Map<EnteredState, Transfer[]>> {
  // The receipt may come with a later state of the same batch, so the newest row of each transaction counts.
  const newest = new Map(states.map(({ row }) => [row.id, row]));
  const succeeded = states.filter(({ status }) => status === 'success');
  const claimed = await claimReceipts(
    tx,
    succeeded.map(({ row }) => newest.get(row.id) ?? row),
    at,
  );
  return new Map(succeeded.map((state) => [state, claimed.get(state.row.id) ?? []]));
}

/** `transfers` is null where the ledger refused them. */
async function postPlanned(
  tx: Tx,
  planned: PlannedPosting[],
  which: 'transfers' | 'fallback',
  held: Transfer[][],
  at: Date,
): Promise<{ posting: PlannedPosting; transfers: readonly PostedTransfer[] | null }[]> {
  if (planned.length + held.length === 0) return [];
  const results = await postEach(tx, [...held, ...planned.map((posting) => posting[which] ?? [])], at);
  return planned.map((posting, index) => {
    const result = results[held.length + index];
    return { posting, transfers: result?.ok ? result.transfers : null };
  });
}

/** The transfers of an entered state; null: it moves no money. */
function postingFor({ row, status, late }: EnteredState): Posting | null {
  const fact = {
    transactionId: row.id,
    holderId: row.holder_id,
    currency: row.currency,
    amount: row.amount,
    fee: row.fee,
    rail: row.rail,
  };
  if (row.direction === 'collection') {
    if (status === 'success') return { transfers: collectionSucceeded(fact), fallback: null };
    if (status === 'reversed')
      return { transfers: collectionReversed(fact), fallback: collectionReversedFromSuspense(fact) };
    return null;
  }
  if (status === 'success')
    return late
      ? { transfers: latePayoutSucceeded(fact), fallback: latePayoutSucceededFromSuspense(fact) }
      : { transfers: payoutPosted(fact), fallback: null };
  if (status === 'failed') return { transfers: payoutReleased(fact), fallback: null };
  if (status === 'reversed') return { transfers: payoutReversed(fact), fallback: null };
  return null;
}

function walletBalanceAfter(transfers: readonly PostedTransfer[]): bigint | null {
  let balance: bigint | null = null;
  for (const transfer of transfers) {
    if (transfer.credit.kind === 'wallet_available') balance = transfer.creditBalance;
    else if (transfer.debit.kind === 'wallet_available') balance = transfer.debitBalance;
  }
  return balance;
}

function refusedByLedger({ state }: PlannedPosting): Error {
  return new Error(`the ledger refused a posting that must succeed: transaction ${state.row.id}`);
}
