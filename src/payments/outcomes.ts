// The one place where a transaction changes state. What the submit job, an operator callback, a poll or a person learned
// comes here as outcomes: on arrays, in any order, any number of times. State, evidence, ledger, events, cases and the
// next job are written in the caller's transaction, in this order:
//
//   1. lock the transactions, sorted                       (lockSubjects)
//   2. decide, outcome by outcome: states, postings, cases (applyOne; nothing is written)
//   3. post to the ledger, which notes the balance on the row and on its event, and may add a case (postAll)
//   4. write what is left, which needs nothing of each other

import { type EventType, type NewEvent, type RecordedEvent, recordEvents } from '../callbacks/events.ts';
import { type FailureCode, failureMessage } from '../catalog/failures.ts';
import type { Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import type { Observation, PayInstructions } from '../rails/rail.ts';
import { type Bookable, postAll, postingFor } from './booking.ts';
import { type NewCase, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation, type NewEvidence, recordEvidence } from './evidence.ts';
import { eventData } from './record.ts';
import {
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

export type AppliedOutcomes = { applied: Applied[]; events: RecordedEvent[] };

type Job = {
  kind: string;
  attempts: number;
  since: Date;
  /** When it was last sent, or was about to be. */
  submittedAt: Date | null;
};
/** A transaction on its way through its outcomes. */
type Subject = Bookable & {
  changed: boolean;
  job: Job | null;
  next: { kind: 'query' | 'submit'; delayMs: number; attempts: number } | null;
};

/** `held` are transfers of payments that fit no transaction; they are posted together with the rest. */
export async function applyOutcomes(
  tx: Tx,
  ctx: PaymentsContext,
  outcomes: Outcome[],
  held: Transfer[][] = [],
): Promise<AppliedOutcomes> {
  const at = ctx.clock.now();
  const subjects = await lockSubjects(tx, outcomes);
  const applied: Applied[] = [];
  const evidence: NewEvidence[] = [];
  for (const outcome of outcomes) {
    const subject = subjects.get(outcome.transactionId);
    if (!subject || (outcome.rail ?? subject.row.rail) !== subject.row.rail) {
      applied.push({ transaction: null, effect: 'unknown_transaction' });
      continue;
    }
    const effect = applyOne(ctx, subject, outcome, at);
    evidence.push({ ...outcome, effect });
    applied.push({ transaction: subject.row, effect });
  }
  const all = [...subjects.values()];
  await postAll(tx, all, held, at);
  const settled = all
    .filter((subject) => subject.events.some((event) => event.status === 'success'))
    .map((subject) => subject.row);
  // What is left needs nothing of each other: it leaves together.
  const [events] = await Promise.all([
    recordEvents(
      tx,
      all.flatMap((subject) => eventsOf(ctx, subject)),
      at,
    ),
    recordEvidence(tx, evidence, at),
    insertInstructions(tx, outcomes, subjects),
    updateTransactions(
      tx,
      all.filter((subject) => subject.changed),
    ),
    scheduleNext(tx, all, at),
    openCases(tx, ctx, all.flatMap(casesOf)),
    ...(settled.length > 0 ? ctx.onCollectionsSettled.map((hook) => hook(tx, settled, at)) : []),
  ]);
  // `applied` was filled while rows were still changing; the final row of each is what callers see.
  for (const entry of applied)
    if (entry.transaction) entry.transaction = subjects.get(entry.transaction.id)?.row ?? null;
  return { applied, events };
}

async function lockSubjects(tx: Tx, outcomes: Outcome[]): Promise<Map<string, Subject>> {
  // In sorted order, so that two batches over the same transactions never wait for each other in a circle.
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
        postings: [],
        events: [],
        cases: [],
        next: null,
      },
    ]),
  );
}

function applyOne(ctx: PaymentsContext, subject: Subject, outcome: Outcome, at: Date): Transition['effect'] {
  const { observation } = outcome;
  const verdict = decide(subject.row, observation);
  for (const status of verdict.transitions) enter(subject, status, outcome, verdict.late, at);
  if ('railReference' in observation && observation.railReference && subject.row.rail_reference === null) {
    subject.row = { ...subject.row, rail_reference: observation.railReference };
    subject.changed = true;
  }
  if (verdict.caseKind) subject.cases.push({ kind: verdict.caseKind, observation });
  if (!isFinal(subject.row.status)) planNext(ctx, subject, outcome, at);
  return verdict.effect;
}

/** Moves to a state: the row, the money that moves with it, the event that tells of it. */
function enter(subject: Subject, status: Status, { source, observation }: Outcome, late: boolean, at: Date): void {
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
  const event = isFinal(status) ? { status, late, row } : null;
  if (event) subject.events.push(event);
  const posting = postingFor(row, status, late);
  if (posting) subject.postings.push({ ...posting, event });
}

/** What a person decided is told in that person's sentence; an operator's code in ours. */
function failureSentence(source: EvidenceSource, failure: Observation & { state: 'failed' }): string {
  return source === 'person' ? failure.message : failureMessage(failure.failureCode as FailureCode);
}

/** When the operator is asked next; or, where it certainly never saw the reference, that it is submitted again. */
function planNext(ctx: PaymentsContext, subject: Subject, { observation, askedAt }: Outcome, at: Date): void {
  const { row, job } = subject;
  // Not sent yet: that the operator does not know it means nothing, and its turn to be sent must not be lost.
  if (job?.kind === 'submit' && observation.state === 'unknown') return;
  const attempts = job?.attempts ?? 0;
  const openForMs = at.getTime() - (job?.since ?? row.created_at).getTime();
  if (openForMs >= UNANSWERED_MS) subject.cases.push({ kind: 'no_answer', observation });
  subject.next = { kind: 'query', delayMs: nextQueryDelayMs(attempts, openForMs), attempts: attempts + 1 };
  if (observation.state !== 'unknown' || !observation.definitelyNotFound) return;
  const capabilities = ctx.rails.byName(row.rail)?.capabilities;
  // Counted from the last time it was sent: an answer to a question asked before that is about the time before.
  const sentForMs = (askedAt ?? at).getTime() - (job?.submittedAt ?? row.created_at).getTime();
  if (!capabilities || sentForMs <= 0 || sentForMs < capabilities.notFoundIsFinalAfterMs) return;
  // A payout whose outcome is unknown is never sent again by us: a person decides.
  if (row.direction === 'payout') subject.cases.push({ kind: 'payout_not_found', observation });
  else if (capabilities.idempotentSubmit) subject.next = { kind: 'submit', delayMs: 0, attempts: 0 };
}

type NewInstructions = { row: Transaction; instructions: PayInstructions };

const INSTRUCTIONS = columns<NewInstructions>(1, {
  account_reference: ['text', ({ instructions }) => instructions.accountReference],
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
  rail: ['text', ({ row }) => row.rail],
  pay_to: ['jsonb', ({ instructions }) => JSON.stringify(instructions.payTo)],
  expires_at: ['timestamptz', ({ instructions }) => instructions.expiresAt],
});

/** Where the payer was told to pay: incoming money is matched by it. */
async function insertInstructions(tx: Tx, outcomes: Outcome[], subjects: Map<string, Subject>): Promise<void> {
  const rows = outcomes.flatMap(({ transactionId, observation }): NewInstructions[] => {
    const subject = subjects.get(transactionId);
    if (!subject || observation.state !== 'pending' || !observation.instructions) return [];
    return [{ row: subject.row, instructions: observation.instructions }];
  });
  if (rows.length === 0) return;
  await tx.query(
    `insert into payment_instructions (${INSTRUCTIONS.names}) select ${INSTRUCTIONS.names} from ${INSTRUCTIONS.rows}
     on conflict (account_reference) do nothing`,
    INSTRUCTIONS.arrays(rows),
  );
}

/** What an outcome may change. */
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
  return subject.events.flatMap(({ status, late, row }) => {
    const event = {
      holderId: row.holder_id,
      integrationId: row.integration_id,
      transactionId: row.id,
      data: eventData(ctx.catalog, row, late),
      // Callbacks are signed with an integration's secret: without one there is nobody to send them.
      url: row.integration_id === null ? null : row.callback_url,
    };
    // Only final states are told, and a payout never expires.
    const told: NewEvent[] = [{ ...event, type: `${family}.${status}` as EventType }];
    if (status === 'success' && row.link_id !== null) told.push({ ...event, type: 'payment_link.paid' });
    return told;
  });
}
