// The one place where a transaction changes state. Whoever learned something (the submit job, an operator's
// callback, the sweeper, a person) brings it here as outcomes; on arrays, in any order, any number of times.
// State, evidence, ledger, events, cases and the next job are written in the caller's transaction.

import { type EventType, type NewEvent, type RecordedEvent, recordEvents } from '../callbacks/events.ts';
import { type FailureCode, failureMessage } from '../catalog/failures.ts';
import type { Tx } from '../platform/db.ts';
import type { Observation } from '../rails/rail.ts';
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
  type Status,
  type Transition,
  UNANSWERED_MS,
} from './states.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

export type Outcome = {
  transactionId: string;
  source: EvidenceSource;
  observation: Observation;
  raw: string;
  /** The rail that said so, when it spoke unasked: it can only speak of its own transactions. */
  rail?: string;
  /** When the operator was asked, if it was. */
  askedAt?: Date;
};

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

export async function applyOutcomes(tx: Tx, ctx: PaymentsContext, outcomes: Outcome[]): Promise<AppliedOutcomes> {
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
  await postAll(tx, all, at);
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
             from transactions t left join payment_jobs j on j.transaction_id = t.id
             where t.id = any($1) order by t.id for update of t`,
    },
    [[...new Set(outcomes.map((outcome) => outcome.transactionId))]],
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
  for (const status of verdict.transitions) enter(subject, status, observation, verdict.late, at);
  if ('railReference' in observation && observation.railReference && subject.row.rail_reference === null) {
    subject.row = { ...subject.row, rail_reference: observation.railReference };
    subject.changed = true;
  }
  if (verdict.caseKind) subject.cases.push({ kind: verdict.caseKind, observation });
  if (!isFinal(subject.row.status)) planNext(ctx, subject, outcome, at);
  return verdict.effect;
}

/** Moves to a state: the row, the money that moves with it, the event that tells of it. */
function enter(subject: Subject, status: Status, observation: Observation, late: boolean, at: Date): void {
  const failure = observation.state === 'failed' ? observation : null;
  const receipt = 'receipt' in observation ? observation.receipt : null;
  const row: Transaction = {
    ...subject.row,
    status,
    receipt: subject.row.receipt ?? receipt,
    failure_code: failure?.failureCode ?? null,
    failure_message: failure ? failureMessage(failure.failureCode as FailureCode) : null,
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

/** When the operator is asked next; or, where it certainly never saw the reference, that it is submitted again. */
function planNext(ctx: PaymentsContext, subject: Subject, { observation, askedAt }: Outcome, at: Date): void {
  const { row, job } = subject;
  // Still to be sent: that the operator does not know it is no news, and its turn to be sent must not be lost.
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

/** Where the payer was told to pay: incoming money is matched by it. */
async function insertInstructions(tx: Tx, outcomes: Outcome[], subjects: Map<string, Subject>): Promise<void> {
  for (const { transactionId, observation } of outcomes) {
    const subject = subjects.get(transactionId);
    if (!subject || observation.state !== 'pending' || !observation.instructions) continue;
    const { accountReference, payTo, expiresAt } = observation.instructions;
    await tx.query(
      `insert into payment_instructions (account_reference, transaction_id, rail, pay_to, expires_at) values ($1, $2, $3, $4, $5)
       on conflict (account_reference) do nothing`,
      [accountReference, transactionId, subject.row.rail, payTo, expiresAt],
    );
  }
}

async function updateTransactions(tx: Tx, subjects: Subject[]): Promise<void> {
  if (subjects.length === 0) return;
  const rows = subjects.map((subject) => subject.row);
  await tx.query(
    {
      name: 'update_transactions',
      text: `update transactions t
             set status = u.status, rail_reference = u.rail_reference, receipt = u.receipt, failure_code = u.failure_code,
                 failure_message = u.failure_message, balance_after = u.balance_after, updated_at = u.updated_at, settled_at = u.settled_at
             from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[], $9::timestamptz[])
               as u (id, status, rail_reference, receipt, failure_code, failure_message, balance_after, updated_at, settled_at)
             where t.id = u.id`,
    },
    [
      rows.map((row) => row.id),
      rows.map((row) => row.status),
      rows.map((row) => row.rail_reference),
      rows.map((row) => row.receipt),
      rows.map((row) => row.failure_code),
      rows.map((row) => row.failure_message),
      rows.map((row) => row.balance_after),
      rows.map((row) => row.updated_at),
      rows.map((row) => row.settled_at),
    ],
  );
}

async function scheduleNext(tx: Tx, subjects: Subject[], at: Date): Promise<void> {
  const over = subjects
    .filter((subject) => subject.job && isFinal(subject.row.status))
    .map((subject) => subject.row.id);
  if (over.length > 0)
    await tx.query({ name: 'end_jobs', text: 'delete from payment_jobs where transaction_id = any($1)' }, [over]);
  const open = subjects.flatMap(({ row, next }) => (next && !isFinal(row.status) ? [{ id: row.id, ...next }] : []));
  if (open.length === 0) return;
  await tx.query(
    {
      name: 'schedule_jobs',
      text: `insert into payment_jobs (transaction_id, kind, due_at, attempts, since)
             select id, kind, due_at, attempts, $5 from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::int[]) as j (id, kind, due_at, attempts)
             on conflict (transaction_id) do update set kind = excluded.kind, due_at = excluded.due_at, attempts = excluded.attempts`,
    },
    [
      open.map((job) => job.id),
      open.map((job) => job.kind),
      open.map((job) => new Date(at.getTime() + job.delayMs)),
      open.map((job) => job.attempts),
      at,
    ],
  );
}

function casesOf(subject: Subject): NewCase[] {
  return subject.cases.map(({ kind, observation }) => ({
    holderId: subject.row.holder_id,
    transactionId: subject.row.id,
    kind,
    detail: describeObservation(observation),
  }));
}

function eventsOf(ctx: PaymentsContext, subject: Subject): NewEvent[] {
  const family = subject.row.direction === 'payin' ? 'collection' : 'payout';
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
