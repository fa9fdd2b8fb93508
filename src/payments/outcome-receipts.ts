// Every receipt of a rail proves one success. A success claims its receipt before it is decided.

import type { Tx } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { type OutcomeSubject, progressOf } from './outcome-subjects.ts';
import { claimReceipts, findHeldReceipt, findSharedReceipts, readWrongAmounts } from './receipts.ts';
import { decide, isFinal, type Outcome, type Transition } from './states.ts';
import type { Transaction } from './transactions.ts';

/** Notes in each subject whether its receipt is free, and what money came under it. The outcomes are of the rails of their subjects. */
export async function claimSuccesses(
  tx: Tx,
  { rails }: Pick<PaymentsContext, 'rails'>,
  outcomes: Outcome[],
  subjects: Map<string, OutcomeSubject>,
  at: Date,
): Promise<void> {
  const candidates = outcomes.flatMap(({ transactionId, observation, amended }) => {
    const subject = subjects.get(transactionId);
    const receipt = receiptOf(observation);
    if (!subject || receipt === null) return [];
    const row = { ...subject.row, ...amended };
    const transition = decide(row, observation, progressOf(subject));
    return needsReceipt(row, transition) && !subject.reversedByPeople ? [{ row, receipt }] : [];
  });
  const held = new Map<string, string>();
  for (const { transactionId, source, observation, amended } of outcomes) {
    const subject = subjects.get(transactionId);
    if (source !== 'person' || observation.state !== 'succeeded' || !subject?.hasCases) continue;
    const row = { ...subject.row, ...amended };
    const receipt = observation.receipt === null && !isFinal(row.status) ? await findHeldReceipt(tx, row) : null;
    if (receipt === null) continue;
    candidates.push({ row, receipt });
    held.set(row.id, receipt);
  }
  const unproven = withoutReceipt(outcomes, subjects, new Set(candidates.map(({ row }) => row.id)));
  for (const { row, receipt } of await findSharedReceipts(tx, unproven)) {
    candidates.push({ row, receipt });
    held.set(row.id, receipt);
  }
  // A success that names neither receipt nor amount is held to a payment that came with another amount.
  const unnamed = outcomes.filter(
    ({ transactionId, observation }) => subjects.get(transactionId)?.hasCases && isUnnamed(observation),
  );
  if (candidates.length + unnamed.length === 0) return;
  const { released, taken, received } = await claimReceipts(tx, rails, candidates, at);
  const ids = unnamed.map((outcome) => outcome.transactionId);
  const wrong = await readWrongAmounts(tx, [...new Set(ids)]);
  for (const subject of subjects.values()) {
    subject.released = released.get(subject.row.id) ?? [];
    subject.receiptTaken = taken.has(subject.row.id);
    subject.heldReceipt = subject.receiptTaken ? null : (held.get(subject.row.id) ?? null);
    subject.received = received.get(subject.row.id) ?? null;
    subject.wrongAmount = wrong.get(subject.row.id) ?? null;
  }
}

/** Collections that succeed without a receipt. Those in `claiming` have one. */
function withoutReceipt(
  outcomes: Outcome[],
  subjects: Map<string, OutcomeSubject>,
  claiming: ReadonlySet<string>,
): Transaction[] {
  const rows = outcomes.flatMap(({ transactionId, observation, amended }) => {
    const subject = subjects.get(transactionId);
    if (subject?.row.direction !== 'collection' || claiming.has(transactionId)) return [];
    if (observation.state !== 'succeeded' || observation.receipt !== null) return [];
    const row = { ...subject.row, ...amended };
    return decide(row, observation, progressOf(subject)).transitions.includes('success') ? [row] : [];
  });
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** A success that names neither receipt nor amount. */
export function isUnnamed(observation: Observation): boolean {
  return observation.state === 'succeeded' && observation.receipt === null && observation.amount === undefined;
}

/** A success, or the receipt of a success that had none. */
export function needsReceipt(row: Transaction, { transitions, effect }: Transition): boolean {
  if (transitions.includes('success')) return true;
  return row.receipt === null && (effect === 'confirmed' || transitions.includes('reversed'));
}

export function receiptOf(observation: Observation): string | null {
  return 'receipt' in observation ? observation.receipt : null;
}
