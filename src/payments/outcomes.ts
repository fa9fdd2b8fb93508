// The one place where a transaction changes state. The submit job, an operator callback, a poll and a member's decision all
// bring their outcomes here: on arrays, in any order, any number of times. State, evidence, ledger, events, cases and the
// next job are written in the caller's transaction, in this order:
//
//   1. lock the transactions, sorted, a refund with its collection, then the totals of refunds   (lockSubjects)
//   2. claim the receipts of successes, each once                                               (claimReceipts)
//   3. decide, outcome by outcome: states, cases, next job; nothing is written                  (applyOne)
//   4. post to the ledger, then put its balances on rows and events                             (bookStates, applyBooking)
//   5. write the rest; these statements do not depend on each other

import { type EventType, type NewEvent, type RecordedEvent, recordEvents } from '../callbacks/events.ts';
import { type FailureCode, failureMessage } from '../catalog/failures.ts';
import type { PostingGroup } from '../ledger/ledger.ts';
import type { Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import { isRefundId } from '../platform/ids.ts';
import { lesserOf } from '../platform/money.ts';
import type { Observation } from '../rails/rail.ts';
import { type Booking, bookStates, type EnteredState } from './booking.ts';
import { closeAnsweredCases, type NewCase, NOT_FOUND_KINDS, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';
import { describeObservation, type NewEvidence, recordEvidence } from './evidence.ts';
import { insertInstructions, type NewInstructions } from './incoming-payments.ts';
import { type NextStep, planNext, type ReadJob, scheduleNext } from './next-job.ts';
import type { JobKind } from './payment-jobs.ts';
import { claimReceipts, findHeldReceipt, readWrongAmounts } from './receipts.ts';
import { eventData, refundRecord } from './record.ts';
import {
  concludeRefund,
  givenBack,
  keepFee,
  lockRefundTotals,
  type RefundOrder,
  type RefundTotals,
  readRefundOrders,
  updateRefundTotals,
} from './refund-orders.ts';
import {
  type CaseKind,
  decide,
  type EvidenceSource,
  isFinal,
  type Outcome,
  type Status,
  type Transition,
} from './states.ts';
import { TRANSACTION_COLUMNS, TRANSACTION_KEYS, TRANSACTION_TYPES, type Transaction } from './transactions.ts';

/** What a transaction's own end answers. That the operator knows it answers "not found". */
const ANSWERED_BY_END: readonly CaseKind[] = [...NOT_FOUND_KINDS, 'no_answer', 'amount_mismatch'];

export type Applied = {
  /** The transaction as it stands now; null when there is none with that id. */
  transaction: Transaction | null;
  effect: Transition['effect'] | 'unknown_transaction';
};

export type AppliedOutcomes = { applied: Applied[]; events: RecordedEvent[] };

type Money = { amount: bigint; currency: string };

/** A locked transaction and what its outcomes change. */
type Subject = {
  row: Transaction;
  changed: boolean;
  amended: boolean;
  job: ReadJob | null;
  hasCases: boolean;
  /** Of a refund: its order, and the collection that it gives back. */
  refund: { order: RefundOrder; collection: Subject } | null;
  /** Of a collection that has refunds, where an outcome needs them. */
  totals: RefundTotals | null;
  totalsChanged: boolean;
  /** Money of this collection that came before its success, and is in suspense. */
  released: Transfer[];
  /** Its receipt belongs to another transaction. */
  receiptTaken: boolean;
  /** The receipt of money in suspense that people settle it with. */
  heldReceipt: string | null;
  /** It is `reversed` because people said so, and not the operator. */
  reversedByPeople: boolean;
  /** What arrived under its receipt, where that is not what was asked for. */
  received: Money | null;
  /** The states entered, in order. */
  entered: EnteredState[];
  /** With what the operator reported. */
  cases: { kind: CaseKind; observation: Observation }[];
  answered: readonly CaseKind[];
  next: NextStep | null;
};

/** `held` are transfers of payments that match no transaction; they are posted together with the rest. */
export async function applyOutcomes(
  tx: Tx,
  ctx: PaymentsContext,
  outcomes: Outcome[],
  held: PostingGroup[] = [],
): Promise<AppliedOutcomes> {
  const at = ctx.clock.now();
  const subjects = await lockSubjects(tx, outcomes);
  await Promise.all([claimSuccesses(tx, outcomes, subjects, at), markDecidedReversals(tx, outcomes, subjects)]);
  const evidence: NewEvidence[] = [];
  const decided = outcomes.map((outcome) => {
    const subject = subjects.get(outcome.transactionId);
    if (!subject || (outcome.rail ?? subject.row.rail) !== subject.row.rail) return null;
    const effect = applyOne(ctx, subject, outcome, at);
    evidence.push({ ...outcome, effect });
    return { subject, effect };
  });
  const all = [...subjects.values()];
  const bookings = await bookStates(
    tx,
    all.flatMap((subject) => subject.entered),
    held,
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
    insertInstructions(tx, instructionsOf(outcomes, subjects)),
    updateTransactions(tx, all),
    scheduleNext(tx, all, at).then((written) => openCases(tx, ctx, casesOf(all, written))),
    closeAnswered(tx, all, at),
    runHooks(tx, ctx, all, at),
  ]);
  await recordDebts(tx, ctx, bookings.posted, at);
  const applied = decided.map((entry): Applied => {
    if (!entry) return { transaction: null, effect: 'unknown_transaction' };
    return { transaction: entry.subject.row, effect: entry.effect };
  });
  return { applied, events };
}

/** Payment links follow the collections that were made through them. */
async function runHooks(tx: Tx, ctx: PaymentsContext, subjects: Subject[], at: Date): Promise<void> {
  const rowsIn = (status: Status) =>
    subjects
      .filter(({ row, entered }) => row.direction === 'collection' && entered.some((state) => state.status === status))
      .map((subject) => subject.row);
  const settled = rowsIn('success');
  const reversed = rowsIn('reversed');
  if (settled.length > 0) for (const hook of ctx.onCollectionsSettled) await hook(tx, settled, at);
  if (reversed.length > 0) for (const hook of ctx.onCollectionsReversed) await hook(tx, reversed, at);
}

/** Sorted, so that two batches over the same transactions cannot deadlock; totals of refunds after their collections. */
async function lockSubjects(tx: Tx, outcomes: Outcome[]): Promise<Map<string, Subject>> {
  const ids = [...new Set(outcomes.map((outcome) => outcome.transactionId))];
  const orders = await readRefundOrders(tx, ids.filter(isRefundId));
  const collectionIds = [...orders.values()].map((order) => order.collection_id);
  const subjects = await lockRows(tx, [...new Set([...ids, ...collectionIds])]);
  const reversed = outcomes
    .filter(({ transactionId, observation }) => observation.state === 'reversed' && !isRefundId(transactionId))
    .map((outcome) => outcome.transactionId);
  const totals = await lockRefundTotals(tx, [...collectionIds, ...reversed]);
  for (const subject of subjects.values()) subject.totals = totals.get(subject.row.id) ?? null;
  for (const subject of subjects.values()) {
    if (subject.row.direction !== 'refund') continue;
    const order = orders.get(subject.row.id);
    const collection = order && subjects.get(order.collection_id);
    if (!order || !collection?.totals) throw new Error(`refund ${subject.row.id} has no collection`);
    subject.refund = { order, collection };
  }
  return subjects;
}

async function lockRows(tx: Tx, ids: string[]): Promise<Map<string, Subject>> {
  const keys = TRANSACTION_KEYS.arrays(ids);
  // Two statements, sent together: the second sees what the owner of a lock wrote while the first waited for it.
  const [rows, surroundings] = await Promise.all([
    tx.query<Transaction>(
      {
        name: 'lock_transactions',
        text: `select ${TRANSACTION_COLUMNS} from ${TRANSACTION_KEYS.rows} join transactions t using (holder_id, id)
               order by t.holder_id, t.id for no key update of t`,
      },
      keys,
    ),
    readSurroundings(tx, keys),
  ]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        row,
        changed: false,
        amended: false,
        job: surroundings.get(row.id)?.job ?? null,
        hasCases: surroundings.get(row.id)?.hasCases ?? false,
        refund: null,
        totals: null,
        totalsChanged: false,
        released: [],
        receiptTaken: false,
        heldReceipt: null,
        reversedByPeople: false,
        received: null,
        entered: [],
        cases: [],
        answered: [],
        next: null,
      },
    ]),
  );
}

/** The jobs of transactions, and whether they have open cases. Transactions that have neither are left out. */
async function readSurroundings(tx: Tx, keys: unknown[]): Promise<Map<string, Pick<Subject, 'job' | 'hasCases'>>> {
  type Row = Pick<ReadJob, 'attempts' | 'since' | 'resume'> & {
    id: string;
    kind: JobKind | null;
    submitted_at: Date | null;
    has_cases: boolean;
  };
  const rows = await tx.query<Row>(
    {
      name: 'read_jobs_and_cases',
      text: `select input.id, j.kind, j.attempts, j.since, j.submitted_at, j.resume,
               exists (select from cases c
                       where c.holder_id = input.holder_id and c.transaction_id = input.id and c.status = 'open') as has_cases
             from ${TRANSACTION_KEYS.rows}
             left join payment_jobs j on j.holder_id = input.holder_id and j.transaction_id = input.id`,
    },
    keys,
  );
  return new Map(
    rows.map(({ id, kind, attempts, since, submitted_at: submittedAt, resume, has_cases: hasCases }) => [
      id,
      { job: kind === null ? null : { kind, attempts, since, submittedAt, resume }, hasCases },
    ]),
  );
}

/** Every receipt of a rail proves one success. */
async function claimSuccesses(tx: Tx, outcomes: Outcome[], subjects: Map<string, Subject>, at: Date): Promise<void> {
  const candidates = outcomes.flatMap(({ transactionId, observation, rail, amended }) => {
    const subject = subjects.get(transactionId);
    const receipt = receiptOf(observation);
    if (!subject || receipt === null || (rail ?? subject.row.rail) !== subject.row.rail) return [];
    const row = { ...subject.row, ...amended };
    const transition = decide(row, observation, progressOf(subject));
    return needsReceipt(row, transition) ? [{ row, receipt }] : [];
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
  // A success that names neither receipt nor amount is held to a payment that came with another amount.
  const unnamed = outcomes.filter(({ transactionId, observation }) => {
    const subject = subjects.get(transactionId);
    if (!subject?.hasCases || subject.row.verification !== 'instructions') return false;
    return observation.state === 'succeeded' && observation.receipt === null && observation.amount === undefined;
  });
  if (candidates.length + unnamed.length === 0) return;
  const { released, taken, received } = await claimReceipts(tx, candidates, at);
  const ids = unnamed.map((outcome) => outcome.transactionId);
  const wrong = await readWrongAmounts(tx, [...new Set(ids)]);
  for (const subject of subjects.values()) {
    subject.released = released.get(subject.row.id) ?? [];
    subject.receiptTaken = taken.has(subject.row.id);
    subject.heldReceipt = subject.receiptTaken ? null : (held.get(subject.row.id) ?? null);
    subject.received = received.get(subject.row.id) ?? wrong.get(subject.row.id) ?? null;
  }
}

/** People may have been wrong: an operator that reports success after their reversal contradicts them. */
async function markDecidedReversals(tx: Tx, outcomes: Outcome[], subjects: Map<string, Subject>): Promise<void> {
  const doubtful = outcomes.filter(
    ({ transactionId, observation }) =>
      observation.state === 'succeeded' && subjects.get(transactionId)?.row.status === 'reversed',
  );
  if (doubtful.length === 0) return;
  const rows = await tx.query<{ id: string }>(
    `select distinct v.transaction_id as id from ${TRANSACTION_KEYS.rows}
     join evidence v on v.holder_id = input.holder_id and v.transaction_id = input.id
     where v.source = 'person' and v.state = 'reversed' and v.effect = 'applied'`,
    TRANSACTION_KEYS.arrays(doubtful.map(({ transactionId }) => transactionId)),
  );
  for (const { id } of rows) {
    const subject = subjects.get(id);
    if (subject) subject.reversedByPeople = true;
  }
}

/** A success, or the receipt of a success that had none. */
function needsReceipt(row: Transaction, { transitions, effect }: Transition): boolean {
  if (transitions.includes('success')) return true;
  return row.receipt === null && (effect === 'confirmed' || transitions.includes('reversed'));
}

function receiptOf(observation: Observation): string | null {
  return 'receipt' in observation ? observation.receipt : null;
}

function progressOf({ totals }: Subject): { underWay: bigint; givenBack: bigint } {
  return { underWay: totals?.under_way ?? 0n, givenBack: givenBack(totals) };
}

function applyOne(ctx: PaymentsContext, subject: Subject, outcome: Outcome, at: Date): Transition['effect'] {
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
    const plan = planNext(ctx.rails.byName(subject.row.rail)?.capabilities, subject, outcome, at);
    subject.next = plan.next ?? subject.next;
    subject.cases.push(...plan.cases.map((kind) => ({ kind, observation })));
  }
  return transition.effect;
}

/** Also what an earlier outcome of the same batch would have opened. A later one may open it anew. */
function answer(subject: Subject, kinds: readonly CaseKind[]): void {
  subject.answered = kinds;
  subject.cases = subject.cases.filter(({ kind }) => !kinds.includes(kind));
}

function decideOne(subject: Subject, observation: Observation): Transition {
  // Restored, and the operator says nothing about it: it stays as the backup has it.
  if (subject.job?.resume && observation.state === 'unknown')
    return { transitions: [], effect: 'ignored', caseKind: null, late: false };
  // An operator that names no amount is held to the money that arrived.
  const said =
    subject.received && observation.state === 'succeeded' ? { ...observation, ...subject.received } : observation;
  const transition = decide(subject.row, said, progressOf(subject));
  if (subject.reversedByPeople && transition.effect === 'confirmed') return caseOnly('contradiction');
  const claims = receiptOf(observation) !== null && needsReceipt(subject.row, transition);
  return claims && subject.receiptTaken ? caseOnly('receipt_used') : transition;
}

function caseOnly(caseKind: CaseKind): Transition {
  return { transitions: [], effect: 'case', caseKind, late: false };
}

function amend(subject: Subject, { amount, fee }: { amount: bigint; fee: bigint }): void {
  if (isFinal(subject.row.status) || subject.row.direction !== 'collection')
    throw new Error(`transaction ${subject.row.id} cannot get another amount`);
  subject.row = { ...subject.row, amount, fee };
  subject.amended = true;
}

function transitionTo(
  subject: Subject,
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

function enter(subject: Subject, status: Status, late: boolean, changes: Partial<Transaction>, at: Date): void {
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
  });
}

/** What refunds have not given back of a collection. */
function leftOf({ row, totals }: Subject): EnteredState['left'] {
  const amount = row.amount - givenBack(totals);
  if (amount <= 0n) return { amount: 0n, fee: 0n };
  const fee = row.fee - (totals?.fee_refunded ?? 0n);
  return { amount, fee: lesserOf(fee, amount) };
}

/** A refund that ended changes the totals of its collection; the one that gives back the rest makes it `reversed`. */
function concludeInCollection(
  { order, collection }: NonNullable<Subject['refund']>,
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
function applyBooking(subject: Subject, state: EnteredState, booking: Booking | null): void {
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

function instructionsOf(outcomes: Outcome[], subjects: Map<string, Subject>): NewInstructions[] {
  return outcomes.flatMap(({ transactionId, observation }) => {
    const subject = subjects.get(transactionId);
    if (!subject || observation.state !== 'pending' || !observation.instructions) return [];
    return [{ row: subject.row, instructions: observation.instructions }];
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

async function updateTransactions(tx: Tx, subjects: Subject[]): Promise<void> {
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
function casesOf(subjects: Subject[], written: ReadonlySet<string>): NewCase[] {
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
async function closeAnswered(tx: Tx, subjects: Subject[], at: Date): Promise<void> {
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
function refundsFirst(subjects: Subject[]): Subject[] {
  return subjects.toSorted((a, b) => Number(b.refund !== null) - Number(a.refund !== null));
}

function eventsOf(ctx: PaymentsContext, subject: Subject): NewEvent[] {
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
