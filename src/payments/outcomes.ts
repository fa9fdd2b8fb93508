// The one place where a transaction changes state. The submit job, an operator callback, a poll and a member's decision all
// bring their outcomes here: on arrays, in any order, any number of times. State, evidence, ledger, events, cases and the
// next job are written in the caller's transaction, in this order:
//
//   1. lock the transactions, sorted                      (lockSubjects)
//   2. decide, outcome by outcome: states, cases, next job (applyOne; nothing is written)
//   3. post to the ledger                                 (bookStates), then put its balances on rows and events and
//      open a case where the wallet was short             (applyBooking)
//   4. write the rest; these statements do not depend on each other

import { type EventType, type NewEvent, type RecordedEvent, recordEvents } from '../callbacks/events.ts';
import { type FailureCode, failureMessage } from '../catalog/failures.ts';
import type { Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
import { type Booking, bookStates, type EnteredState } from './booking.ts';
import { type NewCase, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation, type NewEvidence, recordEvidence } from './evidence.ts';
import { insertInstructions, type NewInstructions } from './incoming-payments.ts';
import { eventData } from './record.ts';
import {
  type CaseKind,
  decide,
  type EvidenceSource,
  isFinal,
  nextQueryDelayMs,
  type Outcome,
  type Status,
  type Transition,
  UNANSWERED_MS,
} from './states.ts';
import { TRANSACTION_COLUMNS, TRANSACTION_KEYS, TRANSACTION_TYPES, type Transaction } from './transactions.ts';

export type Applied = {
  /** The transaction as it stands now; null when there is none with that id. */
  transaction: Transaction | null;
  effect: Transition['effect'] | 'unknown_transaction';
};

type AppliedOutcomes = { applied: Applied[]; events: RecordedEvent[] };

type Job = {
  kind: string;
  attempts: number;
  since: Date;
  /** When it was last sent, or was about to be. */
  submittedAt: Date | null;
};

/** A locked transaction and what its outcomes change. */
type Subject = {
  row: Transaction;
  changed: boolean;
  job: Job | null;
  /** The states entered, in order. */
  entered: EnteredState[];
  /** With what the operator reported; null: the ledger gave the reason. */
  cases: { kind: CaseKind; observation: Observation | null }[];
  next: { kind: 'query' | 'submit'; delayMs: number; attempts: number } | null;
};

/** `held` are transfers of payments that match no transaction; they are posted together with the rest. */
export async function applyOutcomes(
  tx: Tx,
  ctx: PaymentsContext,
  outcomes: Outcome[],
  held: Transfer[][] = [],
): Promise<AppliedOutcomes> {
  const at = ctx.clock.now();
  const subjects = await lockSubjects(tx, outcomes);
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
    for (const state of subject.entered) applyBooking(subject, state, bookings.get(state) ?? null);
  const settled = all
    .filter((subject) => subject.entered.some(({ status }) => status === 'success'))
    .map((subject) => subject.row);
  const [events] = await Promise.all([
    recordEvents(
      tx,
      all.flatMap((subject) => eventsOf(ctx, subject)),
      at,
    ),
    recordEvidence(tx, evidence, at),
    insertInstructions(tx, instructionsOf(outcomes, subjects)),
    updateTransactions(
      tx,
      all.filter((subject) => subject.changed),
    ),
    scheduleNext(tx, all, at),
    openCases(tx, ctx, all.flatMap(casesOf)),
    ...(settled.length > 0 ? ctx.onCollectionsSettled.map((hook) => hook(tx, settled, at)) : []),
  ]);
  const applied = decided.map((entry): Applied => {
    if (!entry) return { transaction: null, effect: 'unknown_transaction' };
    return { transaction: entry.subject.row, effect: entry.effect };
  });
  return { applied, events };
}

async function lockSubjects(tx: Tx, outcomes: Outcome[]): Promise<Map<string, Subject>> {
  // Sorted, so that two batches over the same transactions cannot deadlock.
  type Row = Transaction & { job: string | null; attempts: number; since: Date; submitted_at: Date | null };
  const rows = await tx.query<Row>(
    {
      name: 'lock_transactions',
      text: `select ${TRANSACTION_COLUMNS}, j.kind as job, j.attempts, j.since, j.submitted_at
             from ${TRANSACTION_KEYS.rows}
             join transactions t using (holder_id, id)
             left join payment_jobs j on j.holder_id = t.holder_id and j.transaction_id = t.id
             order by t.holder_id, t.id for no key update of t`,
    },
    TRANSACTION_KEYS.arrays([...new Set(outcomes.map((outcome) => outcome.transactionId))]),
  );
  return new Map(
    rows.map(({ job, attempts, since, submitted_at: submittedAt, ...row }) => [
      row.id,
      {
        row,
        changed: false,
        job: job === null ? null : { kind: job, attempts, since, submittedAt },
        entered: [],
        cases: [],
        next: null,
      },
    ]),
  );
}

function applyOne(ctx: PaymentsContext, subject: Subject, outcome: Outcome, at: Date): Transition['effect'] {
  const { observation } = outcome;
  const transition = decide(subject.row, observation);
  for (const status of transition.transitions) transitionTo(subject, status, outcome, transition.late, at);
  if ('railReference' in observation && observation.railReference && subject.row.rail_reference === null) {
    subject.row = { ...subject.row, rail_reference: observation.railReference };
    subject.changed = true;
  }
  if (transition.caseKind) subject.cases.push({ kind: transition.caseKind, observation });
  if (!isFinal(subject.row.status)) planNext(ctx, subject, outcome, at);
  return transition.effect;
}

function transitionTo(
  subject: Subject,
  status: Status,
  { source, observation }: Outcome,
  late: boolean,
  at: Date,
): void {
  const failure = observation.state === 'failed' ? observation : null;
  const receipt = 'receipt' in observation ? observation.receipt : null;
  const row: Transaction = {
    ...subject.row,
    status,
    receipt: subject.row.receipt ?? receipt,
    failure_code: failure?.failureCode ?? null,
    failure_message: failure ? failureSentence(source, failure) : null,
    settled_at: status === 'success' ? at : subject.row.settled_at,
    updated_at: at,
  };
  subject.row = row;
  subject.changed = true;
  subject.entered.push({ status, late, row });
}

/** The record shows the wallet's newest balance, the event of each state the balance right after that state. */
function applyBooking(subject: Subject, state: EnteredState, booking: Booking | null): void {
  if (!booking) return;
  if (booking.walletShort) return void subject.cases.push({ kind: 'wallet_short', observation: null });
  const balanceAfter = booking.balanceAfter ?? subject.row.balance_after;
  subject.row = { ...subject.row, balance_after: balanceAfter };
  state.row = { ...state.row, balance_after: balanceAfter };
}

/** A decision brings its own sentence. An operator's failure code has a sentence in the catalogue. */
function failureSentence(source: EvidenceSource, failure: Observation & { state: 'failed' }): string {
  return source === 'person' ? failure.message : failureMessage(failure.failureCode as FailureCode);
}

/** Plans the next query, or a new submit where the operator certainly never received the reference. */
function planNext(ctx: PaymentsContext, subject: Subject, { observation, askedAt }: Outcome, at: Date): void {
  const { row, job } = subject;
  // Not sent yet: that the operator does not know it is expected, and the submit job must stay.
  if (job?.kind === 'submit' && observation.state === 'unknown') return;
  const attempts = job?.attempts ?? 0;
  const openForMs = at.getTime() - (job?.since ?? row.created_at).getTime();
  if (openForMs >= UNANSWERED_MS) subject.cases.push({ kind: 'no_answer', observation });
  subject.next = { kind: 'query', delayMs: nextQueryDelayMs(attempts, openForMs), attempts: attempts + 1 };
  if (observation.state !== 'unknown' || !observation.definitelyNotFound) return;
  const capabilities = ctx.rails.byName(row.rail)?.capabilities;
  // Counted from the last submit: an answer to a query made before that says nothing about it.
  const sentForMs = (askedAt ?? at).getTime() - (job?.submittedAt ?? row.created_at).getTime();
  if (!capabilities || sentForMs <= 0 || sentForMs < capabilities.notFoundIsFinalAfterMs) return;
  // A payout whose outcome is unknown is never sent again automatically: a member decides.
  if (row.direction === 'payout') subject.cases.push({ kind: 'payout_not_found', observation });
  else if (capabilities.idempotentSubmit) subject.next = { kind: 'submit', delayMs: 0, attempts: 0 };
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
  if (subjects.length === 0) return;
  await tx.query(
    {
      name: 'update_transactions',
      text: `update transactions t set ${CHANGEABLE.map((name) => `${name} = input.${name}`).join(', ')}
             from ${CHANGES.rows} where t.holder_id = input.holder_id and t.id = input.id`,
    },
    CHANGES.arrays(subjects.map((subject) => subject.row)),
  );
}

type NextJob = { row: Transaction; kind: string; dueAt: Date; attempts: number };

const NEXT_JOBS = columns<NextJob>(2, {
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
  kind: 'text',
  due_at: ['timestamptz', (job) => job.dueAt],
  attempts: 'int',
});

async function scheduleNext(tx: Tx, subjects: Subject[], at: Date): Promise<void> {
  const ended = subjects.filter((subject) => subject.job && isFinal(subject.row.status));
  if (ended.length > 0)
    await tx.query(
      {
        name: 'end_jobs',
        text: `delete from payment_jobs j using ${TRANSACTION_KEYS.rows}
               where j.holder_id = input.holder_id and j.transaction_id = input.id`,
      },
      TRANSACTION_KEYS.arrays(ended.map((subject) => subject.row.id)),
    );
  const open = subjects.flatMap(({ row, next }): NextJob[] => {
    if (!next || isFinal(row.status)) return [];
    return [{ row, kind: next.kind, dueAt: new Date(at.getTime() + next.delayMs), attempts: next.attempts }];
  });
  if (open.length === 0) return;
  await tx.query(
    {
      name: 'schedule_jobs',
      text: `insert into payment_jobs (${NEXT_JOBS.names}, since) select ${NEXT_JOBS.names}, $1 from ${NEXT_JOBS.rows}
             on conflict (holder_id, transaction_id) do update
             set kind = excluded.kind, due_at = excluded.due_at, attempts = excluded.attempts`,
    },
    [at, ...NEXT_JOBS.arrays(open)],
  );
}

function casesOf(subject: Subject): NewCase[] {
  return subject.cases.map(({ kind, observation }) => ({
    holderId: subject.row.holder_id,
    transactionId: subject.row.id,
    kind,
    detail: observation ? describeObservation(observation) : {},
  }));
}

function eventsOf(ctx: PaymentsContext, subject: Subject): NewEvent[] {
  const family = subject.row.direction;
  const final = subject.entered.filter(({ status }) => isFinal(status));
  return final.flatMap(({ status, late, row }) => {
    const event = {
      holderId: row.holder_id,
      integrationId: row.integration_id,
      transactionId: row.id,
      data: eventData(ctx.catalog, row, late),
      // Callbacks are signed with the secret of an integration; without one they cannot be sent.
      url: row.integration_id === null ? null : row.callback_url,
    };
    // Only final states have events, and a payout never expires.
    const events: NewEvent[] = [{ ...event, type: `${family}.${status}` as EventType }];
    if (status === 'success' && row.link_id !== null) events.push({ ...event, type: 'payment_link.paid' });
    return events;
  });
}
