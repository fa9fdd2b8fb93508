// The one place where a transaction changes state. The submit job, an operator callback, a poll and a member's decision all
// bring their outcomes here: on arrays, in any order, any number of times. State, evidence, ledger, events, cases and the
// next job are written in the caller's transaction, in this order:
//
//   1. lock the transactions, sorted, a refund with its collection, then the totals of refunds   (lockSubjects)
//   2. claim the receipts of successes, each once                                               (claimSuccesses)
//   3. decide, outcome by outcome: states, cases, next job; nothing is written                  (applyOne)
//   4. post to the ledger, then put its balances on rows and events                             (bookStates, applyBooking)
//   5. write the rest; these statements do not depend on each other

import { type EventType, type NewEvent, type RecordedEvent, recordEvents } from '../callbacks/events.ts';
import { type FailureCode, failureMessage } from '../catalog/failures.ts';
import type { PostingGroup } from '../ledger/ledger.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import { lesserOf } from '../platform/money.ts';
import type { Observation } from '../rails/rail.ts';
import { type Booking, bookStates, type EnteredState } from './booking.ts';
import { capabilitiesFor } from './capabilities.ts';
import { closeAnsweredCases, type NewCase, NOT_FOUND_KINDS, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';
import { describeObservation, type NewEvidence, recordEvidence } from './evidence.ts';
import { markRefused, NOT_SENT } from './float-waits.ts';
import { insertHeldParts, type NewHeldPart } from './held-parts.ts';
import { insertInstructions, type NewInstructions } from './incoming-payments.ts';
import { planNext, scheduleNext } from './next-job.ts';
import { claimSuccesses, isUnnamed, needsReceipt, receiptOf } from './outcome-receipts.ts';
import { lockSubjects, markDecidedReversals, type OutcomeSubject, progressOf } from './outcome-subjects.ts';
import { type NewPayerStep, recordPayerSteps, stepOf } from './payer-steps.ts';
import { giveBackLimits } from './payment-limits.ts';
import { eventData, refundRecord } from './record.ts';
import { concludeRefund, givenBack, keepFee, updateRefundTotals } from './refund-orders.ts';
import { reserveShare, reserveUntil } from './rolling-reserve.ts';
import {
  type CaseKind,
  decide,
  type EvidenceSource,
  isFinal,
  type Outcome,
  type Status,
  type Transition,
} from './states.ts';
import { TRANSACTION_TYPES, type Transaction } from './transactions.ts';

/** What a transaction's own end answers. That the operator knows it answers "not found". */
const ANSWERED_BY_END: readonly CaseKind[] = [...NOT_FOUND_KINDS, 'no_answer', 'amount_mismatch'];

export type Applied = {
  /** The transaction as it stands now; null when there is none with that id. */
  transaction: Transaction | null;
  effect: Transition['effect'] | 'unknown_transaction';
};

export type AppliedOutcomes = { applied: Applied[]; events: RecordedEvent[] };

/** `held` are transfers of payments that match no transaction; they are posted together with the rest. */
export async function applyOutcomes(
  tx: Tx,
  ctx: PaymentsContext,
  outcomes: Outcome[],
  held: PostingGroup[] = [],
): Promise<AppliedOutcomes> {
  const at = ctx.clock.now();
  const subjects = await lockSubjects(tx, outcomes);
  const counted = outcomes.filter((outcome) => {
    const row = subjects.get(outcome.transactionId)?.row;
    return row !== undefined && isOfItsRail(row, outcome) && mayCount(ctx, row, outcome);
  });
  await markDecidedReversals(tx, counted, subjects);
  await claimSuccesses(tx, ctx, counted, subjects, at);
  const doesCount = new Set(counted);
  const evidence: NewEvidence[] = [];
  const decided = outcomes.map((outcome) => {
    const subject = subjects.get(outcome.transactionId);
    if (!subject || !isOfItsRail(subject.row, outcome)) return null;
    const effect = doesCount.has(outcome) ? applyOne(ctx, subject, outcome, at) : 'ignored';
    evidence.push({ ...outcome, effect });
    return { subject, effect };
  });
  const all = [...subjects.values()];
  for (const subject of all) planHolds(ctx, subject, at);
  const bookings = await bookStates(
    tx,
    all.flatMap((subject) => subject.entered),
    [...held, ...releasedLate(all)],
    at,
  );
  for (const subject of all)
    for (const state of subject.entered) applyBooking(subject, state, bookings.byState.get(state) ?? null);
  const [events] = await Promise.all([
    recordEvents(
      tx,
      refundsFirst(all).flatMap((subject) => eventsOf(ctx, subject)),
      at,
    ),
    recordEvidence(tx, evidence, at),
    insertInstructions(tx, instructionsOf(counted, subjects)),
    recordPayerSteps(tx, stepsOf(counted, subjects), at),
    updateTransactions(tx, all),
    scheduleNext(tx, all, at).then((written) => openCases(tx, ctx, casesOf(all, written))),
    closeAnswered(tx, all, at),
    runHooks(tx, ctx, all, at),
  ]);
  await giveBackLimits(
    tx,
    all.filter(hasFailed).map(({ row }) => row),
  );
  await insertHeldParts(tx, all.flatMap(heldPartsOf), at);
  await markRefused(tx, refusedForFloat(counted, subjects), at);
  await recordDebts(tx, ctx, bookings.posted, at);
  const applied = decided.map((entry): Applied => {
    if (!entry) return { transaction: null, effect: 'unknown_transaction' };
    return { transaction: entry.subject.row, effect: entry.effect };
  });
  return { applied, events };
}

/** An operator can only report the transactions of its own connection. */
function isOfItsRail(row: Transaction, { rail }: Outcome): boolean {
  return rail === undefined || rail === row.rail;
}

/** A message that is not signed counts if its connection allows it or we asked, and it names the operator's reference that we stored. */
function mayCount(ctx: PaymentsContext, row: Transaction, { source, observation, isAnswer }: Outcome): boolean {
  if (source !== 'matched') return true;
  const named = ('railReference' in observation && observation.railReference) || null;
  const isSame = named === null || row.rail_reference === null || named === row.rail_reference;
  return isSame && (isAnswer === true || ctx.rails.matchedCallbacks(row.rail) === 'apply');
}

/** Payouts that an operator has refused for lack of float. */
function refusedForFloat(outcomes: Outcome[], subjects: Map<string, OutcomeSubject>): Transaction[] {
  return outcomes.flatMap(({ transactionId, observation }) => {
    const row = subjects.get(transactionId)?.row;
    if (row?.direction !== 'payout' || observation.state !== 'failed' || observation.rawCode === NOT_SENT) return [];
    return observation.failureCode === 'FLOAT_INSUFFICIENT' ? [row] : [];
  });
}

/** The receipt of a success that people settled is learned later: its money leaves suspense then, and enters no state. */
function releasedLate(subjects: OutcomeSubject[]): PostingGroup[] {
  return subjects
    .filter(({ released, entered }) => released.length > 0 && entered.every((state) => state.released.length === 0))
    .map(({ released }) => ({ transfers: released, mayBorrow: false }));
}

/** Payment links follow the collections that were made through them. */
async function runHooks(tx: Tx, ctx: PaymentsContext, subjects: OutcomeSubject[], at: Date): Promise<void> {
  const rowsWith = (isMeant: (state: EnteredState) => boolean) =>
    subjects
      .filter(({ row, entered }) => row.direction === 'collection' && entered.some(isMeant))
      .map((subject) => subject.row);
  const settled = rowsWith(({ status }) => status === 'success');
  const late = rowsWith((state) => state.late);
  const reversed = rowsWith(({ status }) => status === 'reversed');
  if (settled.length > 0) for (const hook of ctx.onCollectionsSettled) await hook(tx, settled, at, late);
  if (reversed.length > 0) for (const hook of ctx.onCollectionsReversed) await hook(tx, reversed, at, []);
}

function applyOne(ctx: PaymentsContext, subject: OutcomeSubject, outcome: Outcome, at: Date): Transition['effect'] {
  const { observation } = outcome;
  if (outcome.amended) amend(subject, outcome.amended);
  const transition = decideOne(subject, observation);
  for (const status of transition.transitions) transitionTo(subject, status, outcome, transition.late, at);
  if ('railReference' in observation && observation.railReference && subject.row.rail_reference === null) {
    subject.row = { ...subject.row, rail_reference: observation.railReference };
    subject.changed = true;
  }
  if (transition.effect === 'confirmed' && subject.row.receipt === null && receiptOf(observation) !== null) {
    subject.row = { ...subject.row, receipt: receiptOf(observation) };
    subject.changed = true;
  }
  if (transition.caseKind) subject.cases.push({ kind: transition.caseKind, observation });
  if (isFinal(subject.row.status)) {
    if (transition.effect === 'applied') answer(subject, ANSWERED_BY_END);
  } else {
    if (observation.state === 'pending') subject.answered = NOT_FOUND_KINDS;
    const capabilities = capabilitiesFor(ctx, subject.row, subject.refund?.order.as_payout);
    const plan = planNext(capabilities, subject, outcome, at);
    subject.next = plan.next ?? subject.next;
    subject.cases.push(...plan.cases.map((kind) => ({ kind, observation })));
  }
  return transition.effect;
}

/** Also what an earlier outcome of the same batch would have opened. A later one may open it anew. */
function answer(subject: OutcomeSubject, kinds: readonly CaseKind[]): void {
  subject.answered = kinds;
  subject.cases = subject.cases.filter(({ kind }) => !kinds.includes(kind));
}

function decideOne(subject: OutcomeSubject, observation: Observation): Transition {
  // Restored, and the operator says nothing about it: it stays as the backup has it.
  if (subject.job?.resume && observation.state === 'unknown')
    return { transitions: [], effect: 'ignored', caseKind: null, late: false };
  // An operator that names no amount is held to the money that arrived.
  const arrived = subject.received ?? (isUnnamed(observation) ? subject.wrongAmount : null);
  const said = arrived && observation.state === 'succeeded' ? { ...observation, ...arrived } : observation;
  const transition = decide(subject.row, said, progressOf(subject));
  if (subject.reversedByPeople && transition.effect === 'confirmed') return caseOnly('contradiction');
  const claims = receiptOf(observation) !== null && needsReceipt(subject.row, transition);
  return claims && subject.receiptTaken ? caseOnly('receipt_used') : transition;
}

function caseOnly(caseKind: CaseKind): Transition {
  return { transitions: [], effect: 'case', caseKind, late: false };
}

function amend(subject: OutcomeSubject, { amount, fee }: { amount: bigint; fee: bigint }): void {
  if (isFinal(subject.row.status) || subject.row.direction !== 'collection')
    throw new Error(`transaction ${subject.row.id} cannot get another amount`);
  subject.row = { ...subject.row, amount, fee };
  subject.amended = true;
}

function transitionTo(
  subject: OutcomeSubject,
  status: Status,
  { source, observation }: Outcome,
  late: boolean,
  at: Date,
): void {
  const failure = observation.state === 'failed' ? observation : null;
  const receipt = receiptOf(observation);
  enter(
    subject,
    status,
    late,
    {
      receipt: subject.row.receipt ?? receipt ?? subject.heldReceipt,
      failure_code: failure?.failureCode ?? null,
      failure_message: failure ? failureSentence(source, failure) : null,
    },
    at,
  );
  if (subject.refund) concludeInCollection(subject.refund, subject.row, status, late, at);
}

function enter(subject: OutcomeSubject, status: Status, late: boolean, changes: Partial<Transaction>, at: Date): void {
  const settledAt = status === 'success' ? at : subject.row.settled_at;
  const row: Transaction = { ...subject.row, ...changes, status, settled_at: settledAt, updated_at: at };
  subject.row = row;
  subject.changed = true;
  const order = subject.refund?.order;
  subject.entered.push({
    status,
    late,
    row,
    left: leftOf(subject),
    feeReturned: late ? 0n : (order?.fee_returned ?? 0n),
    released: status === 'success' ? subject.released : [],
    hold: null,
  });
}

/** What of the money of its states goes into the rolling reserve. */
function planHolds(ctx: PaymentsContext, { row, reserve, refund, entered }: OutcomeSubject, at: Date): void {
  for (const state of entered) {
    if (row.direction === 'collection' && state.status === 'success' && reserve) {
      const decimals = ctx.catalog.methods.get(row.method)?.collection.decimals ?? 2;
      state.hold = { amount: reserveShare(reserve, state.row, decimals), releaseAt: reserveUntil(reserve, at) };
    }
    const order = refund?.order;
    if (state.status === 'failed' && order?.held_until)
      state.hold = { amount: order.from_held, releaseAt: order.held_until };
  }
}

/** It had counted under a limit of its holder, and does not any more. */
function hasFailed({ limited, entered }: OutcomeSubject): boolean {
  return limited && entered.some(({ status }) => status === 'failed' || status === 'expired');
}

function heldPartsOf({ entered }: OutcomeSubject): NewHeldPart[] {
  return entered.flatMap(({ hold, row }) =>
    hold && hold.amount > 0n ? [{ holderId: row.holder_id, sourceId: row.id, currency: row.currency, ...hold }] : [],
  );
}

/** What refunds have not given back of a collection. */
function leftOf({ row, totals }: OutcomeSubject): EnteredState['left'] {
  const amount = row.amount - givenBack(totals);
  if (amount <= 0n) return { amount: 0n, fee: 0n };
  const fee = row.fee - (totals?.fee_refunded ?? 0n);
  return { amount, fee: lesserOf(fee, amount) };
}

/** A refund that ended changes the totals of its collection; the one that gives back the rest makes it `reversed`. */
function concludeInCollection(
  { order, collection }: NonNullable<OutcomeSubject['refund']>,
  row: Transaction,
  status: Status,
  late: boolean,
  at: Date,
): void {
  if (!collection.totals) throw new Error(`collection ${collection.row.id} has no totals of refunds`);
  collection.totals = concludeRefund(collection.totals, { ...order, amount: row.amount }, status, late);
  collection.totalsChanged = true;
  const whole = givenBack(collection.totals) >= collection.row.amount;
  if (!whole || collection.row.status !== 'success') return;
  enter(collection, 'reversed', false, {}, at);
  // A reversal that the operator reported while the refund was under way was this one.
  collection.cases = collection.cases.filter(
    ({ kind, observation }) => kind !== 'contradiction' || observation.state !== 'reversed',
  );
}

/** The record shows the wallet's newest balance, the event of each state the balance right after that state. */
function applyBooking(subject: OutcomeSubject, state: EnteredState, booking: Booking | null): void {
  if (!booking) return;
  const changes = {
    balance_after: booking.balanceAfter ?? subject.row.balance_after,
    // The ledger's time: a success is settled on the day on which it is posted.
    ...(state.status === 'success' ? { settled_at: booking.postedAt } : {}),
  };
  subject.row = { ...subject.row, ...changes };
  state.row = { ...state.row, ...changes };
}

/** A decision brings its own sentence. An operator's failure code has a sentence in the catalogue. */
function failureSentence(source: EvidenceSource, failure: Observation & { state: 'failed' }): string {
  return source === 'person' ? failure.message : failureMessage(failure.failureCode as FailureCode);
}

function instructionsOf(outcomes: Outcome[], subjects: Map<string, OutcomeSubject>): NewInstructions[] {
  return outcomes.flatMap(({ transactionId, observation }): NewInstructions[] => {
    const subject = subjects.get(transactionId);
    if (!subject || observation.state !== 'pending') return [];
    const { step } = observation;
    return step?.kind === 'transfer' ? [{ row: subject.row, instructions: step }] : [];
  });
}

function stepsOf(outcomes: Outcome[], subjects: Map<string, OutcomeSubject>): NewPayerStep[] {
  return outcomes.flatMap((outcome) => {
    const row = subjects.get(outcome.transactionId)?.row;
    const step = stepOf(outcome);
    return row && step && !isFinal(row.status) ? [{ row, step }] : [];
  });
}

/** The columns that an outcome may change. */
const CHANGEABLE = [
  'status',
  'rail_reference',
  'receipt',
  'failure_code',
  'failure_message',
  'balance_after',
  'updated_at',
  'settled_at',
] as const;

const CHANGES = columns<Transaction>(1, {
  holder_id: 'bigint',
  id: 'uuid',
  ...Object.fromEntries(CHANGEABLE.map((name) => [name, TRANSACTION_TYPES[name]])),
});

async function updateTransactions(tx: Tx, subjects: OutcomeSubject[]): Promise<void> {
  // First: the database refuses another amount once it counts as paid.
  for (const { row } of subjects.filter((subject) => subject.amended))
    await tx.query('update transactions set amount = $3, fee = $4 where holder_id = $1 and id = $2', [
      row.holder_id,
      row.id,
      row.amount,
      row.fee,
    ]);
  const changed = subjects.filter((subject) => subject.changed);
  if (changed.length > 0)
    await tx.query(
      {
        name: 'update_transactions',
        text: `update transactions t set ${CHANGEABLE.map((name) => `${name} = input.${name}`).join(', ')}
               from ${CHANGES.rows} where t.holder_id = input.holder_id and t.id = input.id`,
      },
      CHANGES.arrays(changed.map((subject) => subject.row)),
    );
  await updateRefundTotals(
    tx,
    subjects.flatMap(({ totals, totalsChanged }) => (totals && totalsChanged ? [totals] : [])),
  );
  await keepFee(
    tx,
    subjects.filter(({ refund, entered }) => refund && entered.some(({ late }) => late)).map(({ row }) => row.id),
  );
}

/** "Not found" is a case only where the plan was written: people may have decided to send it again meanwhile. */
function casesOf(subjects: OutcomeSubject[], written: ReadonlySet<string>): NewCase[] {
  return subjects.flatMap(({ row, cases }) =>
    cases
      .filter(({ kind }) => written.has(row.id) || !NOT_FOUND_KINDS.includes(kind))
      .map(({ kind, observation }) => ({
        holderId: row.holder_id,
        transactionId: row.id,
        kind,
        detail: describeObservation(observation),
      })),
  );
}

/** Closes what the outcomes have answered, unless they ask it anew. */
async function closeAnswered(tx: Tx, subjects: OutcomeSubject[], at: Date): Promise<void> {
  const doubted = subjects.filter(({ hasCases }) => hasCases);
  const answered = doubted.map(({ row, answered: kinds, cases }) => ({
    transactionId: row.id,
    kinds: kinds.filter((kind) => !cases.some((opened) => opened.kind === kind)),
    resolution: isFinal(row.status) ? `The payment is ${row.status}.` : 'The operator knows it.',
  }));
  const givenBackWhole = doubted
    .filter(({ totalsChanged, entered }) => totalsChanged && entered.some(({ status }) => status === 'reversed'))
    .map(({ row }) => ({
      transactionId: row.id,
      kinds: ['contradiction' as const],
      reported: 'reversed',
      resolution: 'Refunds have given it back.',
    }));
  await closeAnsweredCases(tx, [...answered, ...givenBackWhole], 'operator', at);
}

/** A refund is reported before the reversal of its collection, which follows from it. */
function refundsFirst(subjects: OutcomeSubject[]): OutcomeSubject[] {
  return subjects.toSorted((a, b) => Number(b.refund !== null) - Number(a.refund !== null));
}

function eventsOf(ctx: PaymentsContext, subject: OutcomeSubject): NewEvent[] {
  const family = subject.row.direction;
  const final = subject.entered.filter(({ status }) => isFinal(status));
  return final.flatMap((state) => {
    const { status, late, row, feeReturned } = state;
    const event = {
      holderId: row.holder_id,
      integrationId: row.integration_id,
      transactionId: row.id,
      data: subject.refund
        ? refundRecord({ ...subject.refund.order, ...row, fee_returned: feeReturned }, late)
        : eventData(ctx.catalog, row, late),
      // Callbacks are signed with the secret of an integration; without one they cannot be sent.
      url: row.integration_id === null ? null : row.callback_url,
    };
    // Only final states have events; a payout and a refund never expire, and a refund is never reversed.
    const events: NewEvent[] = [{ ...event, type: `${family}.${status}` as EventType }];
    if (status === 'success' && row.link_id !== null) events.push({ ...event, type: 'payment_link.paid' });
    return events;
  });
}
