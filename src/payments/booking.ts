// The money side of an outcome: which transfers each new state posts, who bears them when the wallet cannot, and what the
// wallet held afterwards.

import { walletAvailable } from '../ledger/chart.ts';
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
import type { Observation } from '../rails/rail.ts';
import { claimReceipts } from './incoming-payments.ts';
import type { CaseKind, Status } from './states.ts';
import type { Transaction } from './transactions.ts';

type Posting = { transfers: Transfer[]; otherwise: Transfer[] | null };

/** A final state that was entered, and the transaction as it stood then. */
export type EnteredState = { status: Status; late: boolean; row: Transaction };

/** A transaction whose outcomes move money. */
export type Bookable = {
  row: Transaction;
  /** Postings of each transition, with what bears the cost if the wallet cannot. */
  postings: (Posting & { event: EnteredState | null })[];
  events: EnteredState[];
  /** With what the operator said; null: the case follows from our own books. */
  cases: { kind: CaseKind; observation: Observation | null }[];
};

/** What entering this state moves; null: nothing. */
export function postingFor(row: Transaction, status: Status, late: boolean): Posting | null {
  const fact = {
    transactionId: row.id,
    holderId: row.holder_id,
    currency: row.currency,
    amount: row.amount,
    fee: row.fee,
    rail: row.rail,
  };
  if (row.direction === 'collection') {
    if (status === 'success') return { transfers: collectionSucceeded(fact), otherwise: null };
    if (status === 'reversed')
      return { transfers: collectionReversed(fact), otherwise: collectionReversedFromSuspense(fact) };
    return null;
  }
  if (status === 'success')
    return late
      ? { transfers: latePayoutSucceeded(fact), otherwise: latePayoutSucceededFromSuspense(fact) }
      : { transfers: payoutPosted(fact), otherwise: null };
  if (status === 'failed') return { transfers: payoutReleased(fact), otherwise: null };
  if (status === 'reversed') return { transfers: payoutReversed(fact), otherwise: null };
  return null;
}

/** Money that came before its transaction was known to expect it is booked already: it only changes its place. */
async function takeOutOfSuspense(tx: Tx, succeeded: Bookable[], at: Date): Promise<void> {
  const rows = succeeded.map((subject) => subject.row);
  for (const [id, transfers] of await claimReceipts(tx, rows, at)) {
    const posting = succeeded.find((subject) => subject.row.id === id)?.postings[0];
    posting?.transfers.unshift(...transfers);
  }
}

/** Posts everything at once, locks in one order. */
export async function postAll(tx: Tx, subjects: Bookable[], held: Transfer[][], at: Date): Promise<void> {
  const succeeded = subjects.filter((subject) => subject.events.some((event) => event.status === 'success'));
  await takeOutOfSuspense(tx, succeeded, at);
  const planned = subjects.flatMap((subject) => subject.postings.map((posting) => ({ subject, ...posting })));
  if (planned.length + held.length === 0) return;
  const results = await postEach(tx, [...held, ...planned.map((entry) => entry.transfers)], at);
  const borne: typeof planned = [];
  for (const [index, entry] of planned.entries()) {
    const result = results[held.length + index];
    if (result?.ok) noteBalance(entry.subject, entry.event, result.transfers);
    else if (entry.otherwise) borne.push(entry);
    else throw refusedByLedger(entry.subject);
  }
  if (borne.length === 0) return;
  // The holder has spent what is taken back. Suspense bears it until a person has settled that.
  const bearing = await postEach(
    tx,
    borne.map((entry) => entry.otherwise ?? []),
    at,
  );
  for (const [index, entry] of borne.entries()) {
    if (!bearing[index]?.ok) throw refusedByLedger(entry.subject);
    entry.subject.cases.push({ kind: 'wallet_short', observation: null });
  }
}

function refusedByLedger(subject: Bookable): Error {
  return new Error(`the ledger refused what must be possible: transaction ${subject.row.id}`);
}

/** Keeps the wallet's balance right after this transaction: the record shows it, and each event as it was then. */
function noteBalance(subject: Bookable, event: EnteredState | null, transfers: PostedTransfer[]): void {
  const wallet = walletAvailable(subject.row.holder_id, subject.row.currency);
  for (const transfer of transfers) {
    if (transfer.credit.kind === wallet.kind) subject.row = { ...subject.row, balance_after: transfer.creditBalance };
    else if (transfer.debit.kind === wallet.kind)
      subject.row = { ...subject.row, balance_after: transfer.debitBalance };
  }
  if (event) event.row = { ...event.row, balance_after: subject.row.balance_after };
}
