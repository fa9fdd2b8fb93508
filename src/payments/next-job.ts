// What is done next about a transaction that is still open: planned from what its operator said, and written over the job
// only as it was when the plan was made. A person, or another process, may have changed the job since; then theirs stays.

import { DAY_MS } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import { queueStatement, statementFor } from '../platform/queue-statement.ts';
import type { RailCapabilities } from '../rails/rail.ts';
import type { JobKind } from './payment-jobs.ts';
import { type CaseKind, isFinal, nextQueryDelayMs, type Outcome, UNANSWERED_MS, VERIFICATION_MS } from './states.ts';
import { TRANSACTION_KEYS, type Transaction } from './transactions.ts';

/** What a restored job goes on with when the operator does not know the transaction. */
type Resume = 'submit' | 'send_token' | 'expire' | 'approval';

/** The job as it was read with its transaction. */
export type ReadJob = {
  kind: JobKind;
  attempts: number;
  since: Date;
  /** When it was last sent, or was about to be. */
  submittedAt: Date | null;
  resume: Resume | null;
};

/** `job` null: nothing is left to do until a person decides. */
export type NextStep = { job: { kind: JobKind; dueAt: Date; attempts: number; resume: Resume | null } | null };

type Plan = { next: NextStep | null; cases: CaseKind[] };
type Subject = {
  row: Transaction;
  job: ReadJob | null;
  next: NextStep | null;
  /** Of a refund: its order. */
  refund: { order: { as_payout: boolean } } | null;
};

/** Who approved what a backup has as waiting, and what its operator knows: that is lost. Pages say it in their language. */
export const BEFORE_RESTORE = 'somebody before the restore';

const NOTHING: Plan = { next: null, cases: [] };

/** Plans the next query, or a new submit where the operator certainly never received the reference. */
export function planNext(capabilities: RailCapabilities | null, subject: Subject, outcome: Outcome, at: Date): Plan {
  const { row, job, next } = subject;
  const { observation } = outcome;
  // Another outcome of the same batch may have shown that the operator knows it.
  const resume = next ? (next.job?.resume ?? null) : (job?.resume ?? null);
  const isKnown = observation.state !== 'unknown';
  // Not sent yet: that the operator does not know it is expected, and the submit job must stay.
  if (job?.kind === 'submit' && !isKnown) return NOTHING;
  // A callback and a reader do not count as queries of the schedule.
  if (!isOwnCall(outcome) && job?.kind === 'query' && !(resume && isKnown)) return NOTHING;
  const attempts = job?.attempts ?? 0;
  const openForMs = at.getTime() - (job?.since ?? row.created_at).getTime();
  const dueAt = nextQueryAt(capabilities, subject, openForMs, at);
  const plan: Plan = {
    next: { job: { kind: 'query', dueAt, attempts: attempts + 1, resume: isKnown ? null : resume } },
    cases: openForMs >= UNANSWERED_MS ? ['no_answer'] : [],
  };
  if (!capabilities || !isNotFound(capabilities, row, job, outcome, at)) return plan;
  if (resume) return { next: goOn(resume, row, at), cases: [] };
  return afterNotFound(capabilities, subject, plan, at);
}

/** When to ask next. An operator that nobody can ask is waited for until its silence is a case. */
function nextQueryAt(capabilities: RailCapabilities | null, { row, job }: Subject, openForMs: number, at: Date): Date {
  if (capabilities?.query === 'none')
    return new Date(at.getTime() + (openForMs < UNANSWERED_MS ? UNANSWERED_MS - openForMs : DAY_MS));
  const firstAt = (job?.submittedAt ?? row.created_at).getTime() + (capabilities?.firstQueryAfterMs ?? 0);
  return new Date(Math.max(at.getTime() + nextQueryDelayMs(job?.attempts ?? 0, openForMs), firstAt));
}

/** Whether the call was made by the job of the transaction. */
function isOwnCall({ source, onRead }: Outcome): boolean {
  return source === 'submit' || (source === 'poll' && !onRead);
}

/** Whether the operator itself says that it never received the reference, late enough to believe it. */
export function isNotFound(
  capabilities: RailCapabilities,
  row: Transaction,
  job: Pick<ReadJob, 'submittedAt'> | null,
  { observation, askedAt }: Pick<Outcome, 'observation' | 'askedAt'>,
  at: Date,
): boolean {
  if (observation.state !== 'unknown' || !observation.definitelyNotFound) return false;
  // Counted from the last submit (or the restore): an answer to a query made before that says nothing about it.
  const sentForMs = (askedAt ?? at).getTime() - (job?.submittedAt ?? row.created_at).getTime();
  const finalAfterMs = capabilities.notFoundIsFinalAfterMs;
  return finalAfterMs !== null && sentForMs > 0 && sentForMs >= finalAfterMs;
}

/**
 * A payout whose outcome is unknown is never sent again automatically: people decide. A refund that is sent as a payout is
 * one too. Another refund is sent again where the operator refuses a reference that it knows.
 */
function afterNotFound({ idempotentSubmit }: RailCapabilities, { row, refund }: Subject, plan: Plan, at: Date): Plan {
  if (row.direction === 'payout') return { ...plan, cases: [...plan.cases, 'payout_not_found'] };
  if (idempotentSubmit && !refund?.order.as_payout)
    return { ...plan, next: { job: { kind: 'submit', dueAt: at, attempts: 0, resume: null } } };
  return refund ? { ...plan, cases: [...plan.cases, 'refund_not_found'] } : plan;
}

/** The operator does not know a restored transaction: what the backup was about to do is right. */
function goOn(resume: Resume, row: Transaction, at: Date): NextStep {
  if (resume === 'approval') return { job: null };
  const expiresAt = new Date(row.created_at.getTime() + VERIFICATION_MS);
  // Never due in the past, where a pass does not look at once.
  const dueAt = resume === 'expire' && expiresAt > at ? expiresAt : at;
  return { job: { kind: resume, dueAt, attempts: 0, resume: null } };
}

type JobChange = Subject & { next: NextStep };

/** The keys of a job as it was read. A job that is not the same any more was changed by somebody else. */
const READ_JOB = {
  holder_id: ['bigint', ({ row }: JobChange) => row.holder_id],
  transaction_id: ['uuid', ({ row }: JobChange) => row.id],
  was_kind: ['text', ({ job }: JobChange) => job?.kind],
  was_attempts: ['int', ({ job }: JobChange) => job?.attempts],
  was_submitted_at: ['timestamptz', ({ job }: JobChange) => job?.submittedAt],
  was_resume: ['text', ({ job }: JobChange) => job?.resume],
} as const;

const NEW_JOB = {
  kind: ['text', ({ next }: JobChange) => next.job?.kind],
  due_at: ['timestamptz', ({ next }: JobChange) => next.job?.dueAt],
  attempts: ['int', ({ next }: JobChange) => next.job?.attempts],
  resume: ['text', ({ next }: JobChange) => next.job?.resume],
} as const;

const AS_READ = `j.kind = input.was_kind and j.attempts = input.was_attempts
  and j.submitted_at is not distinct from input.was_submitted_at and j.resume is not distinct from input.was_resume`;

const CHANGED = columns<JobChange>(1, { ...READ_JOB, ...NEW_JOB });
const REMOVED = columns<JobChange>(1, READ_JOB);
const ADDED = columns<JobChange>(2, {
  holder_id: READ_JOB.holder_id,
  transaction_id: READ_JOB.transaction_id,
  ...NEW_JOB,
});

/** Writes the next jobs and ends those of final transactions. Returns the transactions whose plan was written. */
export async function scheduleNext(tx: Tx, subjects: readonly Subject[], at: Date): Promise<Set<string>> {
  await endJobs(tx, subjects);
  await recordLostApprovals(tx, subjects, at);
  const changes = subjects.filter((subject): subject is JobChange => !isFinal(subject.row.status) && !!subject.next);
  if (changes.length === 0) return new Set();
  const written = await Promise.all([
    changeJobs(
      tx,
      changes.filter(({ job, next }) => job && next.job),
    ),
    removeJobs(
      tx,
      changes.filter(({ job, next }) => job && !next.job),
    ),
    addJobs(
      tx,
      changes.filter(({ job, next }) => !job && next.job),
      at,
    ),
  ]);
  return new Set(written.flat().map((row) => row.transaction_id));
}

type WrittenJob = { transaction_id: string };

const END_JOBS = queueStatement(
  'end_jobs',
  (is) => `
    delete from payment_jobs j using ${TRANSACTION_KEYS.rows}
    where ${is('j.holder_id', 'input.holder_id')} and ${is('j.transaction_id', 'input.id')}`,
);

const CHANGE_JOBS = queueStatement(
  'change_jobs',
  (is) => `
    update payment_jobs j set kind = input.kind, due_at = input.due_at, attempts = input.attempts, resume = input.resume
    from ${CHANGED.rows}
    where ${is('j.holder_id', 'input.holder_id')} and ${is('j.transaction_id', 'input.transaction_id')} and ${AS_READ}
    returning j.transaction_id`,
);

const REMOVE_JOBS = queueStatement(
  'remove_jobs',
  (is) => `
    delete from payment_jobs j using ${REMOVED.rows}
    where ${is('j.holder_id', 'input.holder_id')} and ${is('j.transaction_id', 'input.transaction_id')} and ${AS_READ}
    returning j.transaction_id`,
);

/** Also where none was read: one that was written meanwhile must not outlive its transaction. */
async function endJobs(tx: Tx, subjects: readonly (Subject & { changed?: boolean })[]): Promise<void> {
  const ended = subjects.filter(({ row, job, changed }) => isFinal(row.status) && (job || changed));
  if (ended.length === 0) return;
  await tx.query(statementFor(tx, END_JOBS), TRANSACTION_KEYS.arrays(ended.map((subject) => subject.row.id)));
}

/** The operator knows what waits for approval: somebody approved it after the backup. Who that was is lost. */
async function recordLostApprovals(tx: Tx, subjects: readonly Subject[], at: Date): Promise<void> {
  const approved = subjects.filter(
    ({ row, job, next }) => job?.resume === 'approval' && (isFinal(row.status) || next?.job?.resume === null),
  );
  if (approved.length === 0) return;
  const keys = TRANSACTION_KEYS.arrays(approved.map(({ row }) => row.id));
  for (const table of ['payout_orders', 'refund_orders'])
    await tx.query(
      `update ${table} o set approval = 'approved', approved_by = $4, approved_at = $3
       from ${TRANSACTION_KEYS.rows}
       where o.holder_id = input.holder_id and o.transaction_id = input.id and o.approval = 'waiting'`,
      [...keys, at, BEFORE_RESTORE],
    );
}

async function changeJobs(tx: Tx, changes: JobChange[]): Promise<WrittenJob[]> {
  if (changes.length === 0) return [];
  return tx.query<WrittenJob>(statementFor(tx, CHANGE_JOBS), CHANGED.arrays(changes));
}

async function removeJobs(tx: Tx, changes: JobChange[]): Promise<WrittenJob[]> {
  if (changes.length === 0) return [];
  return tx.query<WrittenJob>(statementFor(tx, REMOVE_JOBS), REMOVED.arrays(changes));
}

async function addJobs(tx: Tx, changes: JobChange[], at: Date): Promise<WrittenJob[]> {
  if (changes.length === 0) return [];
  return tx.query<WrittenJob>(
    `insert into payment_jobs (${ADDED.names}, since) select ${ADDED.names}, $1 from ${ADDED.rows}
     on conflict (holder_id, transaction_id) do nothing returning transaction_id`,
    [at, ...ADDED.arrays(changes)],
  );
}
