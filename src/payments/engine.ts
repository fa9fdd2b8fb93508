// The engine of one process: it calls operators about open transactions and applies their answers. Work comes from the request
// that has just committed it, and from the table of due jobs (work that another process, or this one before a crash, did not
// finish). Calls are made outside any transaction.

import { findHolder } from '../holders/holders.ts';
import { readLostHead } from '../ledger/lost-history.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createWaker } from '../platform/jobs.ts';
import { readLastRestore } from '../platform/restores.ts';
import { callResult } from '../rails/breakers.ts';
import type { Observation } from '../rails/rail.ts';
import { applyBatch } from './apply-batch.ts';
import { type CallLimits, createCallLimits } from './call-limits.ts';
import { canBeAsked, capabilitiesFor } from './capabilities.ts';
import { PAYMENTS_JOB, type PaymentsContext } from './context.ts';
import { enterFloatGate, forgetFloat, type GateAnswer } from './float-gate.ts';
import { holdPayout, isRefusedForFloat } from './float-waits.ts';
import { createTurnBatch, DEFERRED, type TurnBatch } from './holder-turns.ts';
import { isSentAsPayout, queryOperator, type SubmitReply, submitToOperator } from './operator-calls.ts';
import { claimHints, concludeHint, forgetHint } from './operator-hints.ts';
import type { Applied } from './outcomes.ts';
import { type ClaimedJob, claimDue, postponeSubmit, rememberUnstarted, returnJobs } from './payment-jobs.ts';
import { readPrepared } from './prepared-calls.ts';
import { waitsForPeople } from './refund-orders.ts';
import { isFinal, type Outcome } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';
import { wasPaidByAnotherTry } from './tries.ts';
import { endOvertaken, reportUnsent } from './unsent-submits.ts';
import { expireVerification, sendVerificationToken } from './verification.ts';
import { createWorkQueue, type Work } from './work-queue.ts';

/**
 * Work that may wait in this process; more stays in the table, for any process. To claim it from there is half of what a payment
 * writes to `payment_jobs`, so a burst should fit. It is a few seconds of work, and far from what the lease allows.
 */
const MAX_QUEUED = 2_000;
const CLAIM_LIMIT = 200;
const ASKED_RECENTLY_MS = 2_000;
const MAX_ASKED = 10_000;
/** How long what must not leave now waits before it is looked at again; resuming a suspended holder makes it due at once. */
const FROZEN_PAUSE_MS = 60_000;
/** Payers wait for outcomes, so the rest is short; it leaves half of the time to requests. */
const OUTCOME_REST = { times: 1, longestMs: 50 } as const;
/** How long a submit waits when the operator has too many calls before it. */
const TURN_PAUSE_MS = 2_000;
/** How long a submit waits when a call that must come before it was not answered. */
const PREPARE_AGAIN_MS = { shortest: 5_000, longest: 600_000 } as const;

export interface PaymentEngine {
  /** Whether this process can take more work. Ask before the commit, and call `enqueue` after it. */
  hasCapacity(): boolean;
  /** To be called after the commit when there was no capacity: another process may have some. */
  leaveToOthers(): void;
  enqueue(work: Work): void;
  /** Applies an outcome together with the others that are waiting. Settles after the commit. */
  apply(outcome: Outcome): Promise<Applied>;
  /** Claims due jobs from the table, once. Returns how many were claimed. */
  pass(): Promise<number>;
  /** Starts a pass in the background, after a commit that ordered work. Never throws: a failure is logged. */
  wake(): void;
  /** Called when work was left in the table and this process has capacity again: the loop's `wake`. */
  onCapacity(wake: () => void): void;
  /** Queries the operator about a transaction, unless it was just queried, and waits up to `patienceMs` for the result. */
  refresh(transaction: Transaction, patienceMs: number): Promise<void>;
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>;
  /** Finishes the calls that are running and puts the rest back in the table. */
  stop(): Promise<void>;
}

export function createPaymentEngine(ctx: PaymentsContext): PaymentEngine {
  let stopping = false;
  let workLeftInTable = false;
  let onCapacity = () => {};
  const outcomes = createOutcomeBatch(ctx);
  const mayAsk = createAskLimit(ctx);
  const parts: EngineParts = { ctx, outcomes, limits: createCallLimits() };
  const queue = createWorkQueue(ctx, {
    perform: (work, isStale) => perform(parts, work, isStale),
    onStart() {
      if (!workLeftInTable || queue.waiting() >= CLAIM_LIMIT) return;
      workLeftInTable = false;
      onCapacity();
    },
    onDrop: (work) => putBackLater(ctx, work),
  });

  async function pass(): Promise<number> {
    if (stopping) return 0;
    if (queue.waiting() >= CLAIM_LIMIT) {
      workLeftInTable = true;
      return 0;
    }
    const claimed = await claimDue(ctx, CLAIM_LIMIT);
    queue.add(claimed);
    const hints = (await claimHints(ctx, CLAIM_LIMIT)).map((claim) => ({ ...claim, kind: 'hint' as const }));
    queue.add(hints);
    return claimed.length + hints.length;
  }
  const waker = createWaker(ctx, { name: PAYMENTS_JOB, pass });

  return {
    // A process that only answers requests leaves the work to the others.
    hasCapacity() {
      const capacity = !stopping && queue.waiting() < MAX_QUEUED && ctx.config.role !== 'api';
      if (!capacity) workLeftInTable = true;
      return capacity;
    },
    leaveToOthers: () => ctx.tellOthers(PAYMENTS_JOB),
    onCapacity(callback) {
      onCapacity = callback;
    },
    enqueue: (work) => queue.add([work]),
    apply: (outcome) => outcomes.add(outcome),
    pass,
    wake: () => waker.wake(),
    async refresh(transaction, patienceMs) {
      if (isFinal(transaction.status) || transaction.status === 'pending') return;
      if (queue.isBusy() || !isWorthAsking(parts, transaction) || !mayAsk(transaction.id)) return;
      const answer = callAndRecord(parts, transaction, 'poll', { onRead: true }).catch((error: unknown) =>
        ctx.log.warn({ err: error, ref: refOf(transaction) }, 'the query to the operator failed'),
      );
      // Real time, not the clock of the context: an HTTP request waits for the answer.
      await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, patienceMs).unref())]);
    },
    async idle() {
      await waker.idle();
      await queue.idle();
      await outcomes.idle();
    },
    async stop() {
      stopping = true;
      await waker.idle();
      const left = queue.close();
      // A hint is found again when its lease ends.
      await returnJobs(
        ctx,
        left.filter((work) => work.kind !== 'hint'),
      );
      await queue.idle();
      await outcomes.idle();
    },
  };
}

type OutcomeBatch = TurnBatch<Outcome, Applied>;

function createOutcomeBatch(ctx: PaymentsContext): OutcomeBatch {
  return createTurnBatch({
    maxItems: 256,
    maxWaiting: 20_000,
    concurrency: 1,
    rest: OUTCOME_REST,
    processes: ctx.config.processes,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'outcomes' }, items),
    async run(items) {
      const { applied, events } = await applyBatch(ctx, items);
      const done = applied.filter((each) => each !== DEFERRED);
      failpoint('outcomes-committed', ...done.flatMap(({ transaction }) => transaction?.direction ?? []));
      for (const { transaction, effect } of done)
        if (transaction && effect === 'applied')
          ctx.metrics.outcomes.inc({ rail: transaction.rail, status: transaction.status });
      ctx.sendCallbacksNow(events);
      return applied;
    },
  });
}

/** Limits how often requests for the status make us query the operator about one transaction. */
function createAskLimit(ctx: PaymentsContext): (transactionId: string) => boolean {
  const askedAt = new Map<string, number>();
  return (id) => {
    const now = ctx.clock.millis();
    if (now - (askedAt.get(id) ?? 0) < ASKED_RECENTLY_MS) return false;
    askedAt.delete(id);
    askedAt.set(id, now);
    if (askedAt.size > MAX_ASKED) askedAt.delete(askedAt.keys().next().value ?? id);
    return true;
  };
}

/**
 * Money does not leave a holder that is suspended or closed, nor a gateway whose database went back in time, nor for what may have been
 * given back, or was paid, by another way meanwhile. Read from the database, not from a cache.
 */
async function isFrozen(ctx: PaymentsContext, transaction: Transaction): Promise<boolean> {
  const { direction, holder_id: holderId } = transaction;
  if (direction === 'collection') return false;
  if (await isOvertaken(ctx, transaction)) return true;
  return (await findHolder(ctx.db, holderId))?.status !== 'active' || (await readLostHead(ctx.db)) !== null;
}

/** Whether what it sends may have been given back, or was paid, by another way. */
function isOvertaken({ db }: PaymentsContext, transaction: Transaction): Promise<boolean> {
  return transaction.direction === 'refund' ? waitsForPeople(db, transaction) : wasPaidByAnotherTry(db, transaction);
}

function putBackLater(ctx: PaymentsContext, work: Work): void {
  if (work.kind === 'submit') rememberUnstarted(ctx, work);
}

/** What the work of one engine shares. */
type EngineParts = { ctx: PaymentsContext; outcomes: OutcomeBatch; limits: CallLimits };

async function perform(parts: EngineParts, work: Work, isStale: () => boolean): Promise<void> {
  const { ctx } = parts;
  const { transaction } = work;
  switch (work.kind) {
    case 'send_token':
      return sendVerificationToken(ctx, transaction);
    case 'expire':
      return expireVerification(ctx, transaction);
    case 'submit':
      return performSubmit(parts, work, isStale);
    case 'query':
      if (await isNotSentYet(ctx, work)) return postponeSubmit(ctx, transaction, work.submittedAt, 0);
      // Its turn comes too late: it is found again when its lease ends.
      if (!(await takeTurn(parts, transaction, 'poll'))) return;
      await callAndRecord(parts, transaction, 'poll', { submittedAt: work.submittedAt });
      return;
    case 'hint': {
      // Asking about what was not sent would make it look sent.
      if (transaction.status === 'pending') return concludeHint(ctx, transaction, work.hint, null);
      if (!canBeAsked(capabilitiesFor(ctx, transaction))) return forgetHint(ctx, transaction, work.hint);
      if (!(await takeTurn(parts, transaction, 'poll'))) return;
      const { observation, after } = await callAndRecord(parts, transaction, 'poll', { onRead: true });
      return concludeHint(ctx, after ?? transaction, work.hint, observation);
    }
  }
}

async function performSubmit(parts: EngineParts, work: Work & ClaimedJob, isStale: () => boolean): Promise<void> {
  let isCalled = false;
  const onCall = () => {
    isCalled = true;
  };
  try {
    const float = await enterFloatGate(parts.ctx, work.transaction);
    let wasSent: boolean | null = null;
    try {
      wasSent = await checkAndSubmit(parts, work, { ...float, isStale, onCall });
    } finally {
      float.leave(wasSent ?? isCalled);
    }
  } catch (error) {
    if (!isCalled) rememberUnstarted(parts.ctx, work);
    throw error;
  }
}

/** `onCall` is called right before the operator is. */
type SubmitParts = GateAnswer & { isStale: () => boolean; onCall: () => void };

/** True: the operator has it, or may have it. */
async function checkAndSubmit(
  parts: EngineParts,
  work: Work & ClaimedJob,
  { reason, isWatched, isStale, onCall }: SubmitParts,
): Promise<boolean> {
  const { ctx } = parts;
  const { transaction, submittedAt } = work;
  const postpone = async (pauseMs?: number) => {
    await postponeSubmit(ctx, transaction, submittedAt, pauseMs);
    return false;
  };
  const isHeld = await isFrozen(ctx, transaction);
  // The checks took too long: another process may be asking about it now, so it is not sent from here.
  if (isStale()) {
    rememberUnstarted(ctx, work);
    return false;
  }
  // What was sent before cannot be cancelled. It stays the query that its claim made of it, so that its silence becomes a case.
  if (isHeld && transaction.status !== 'pending' && (await isOvertaken(ctx, transaction))) return false;
  if (isHeld) return postpone(FROZEN_PAUSE_MS);
  if (!ctx.rails.health.mayCall(transaction.rail, transaction.method)) {
    await postpone();
    await reportUnsent(ctx, transaction, 'the operator does not answer');
    return false;
  }
  if (reason) {
    await holdPayout(ctx, transaction, { reason, isWatched, submittedAt });
    return false;
  }
  // Only what had to wait is asked about: a try that is sent at once was compared with the others when it was ordered.
  if (work.wasPutOff && transaction.direction === 'collection' && (await isOvertaken(ctx, transaction))) {
    if (transaction.status === 'pending') await endOvertaken(ctx, transaction, submittedAt);
    return false;
  }
  // A turn comes well within the lease, but the call after it might not.
  if (!(await takeTurn(parts, transaction, 'submit')) || isStale()) return postpone(TURN_PAUSE_MS);
  failpoint('before-submit', transaction.direction);
  const { observation } = await callAndRecord(parts, transaction, 'submit', { submittedAt, isWatched, onCall });
  return observation.state !== 'failed';
}

/** Where a rail prepares, what it prepares is committed before anything is sent. A process that ended before sent nothing. */
async function isNotSentYet(ctx: PaymentsContext, { transaction, isRestored }: Work & ClaimedJob): Promise<boolean> {
  if (transaction.status !== 'pending' || isRestored || !ctx.rails.byName(transaction.rail)?.prepare) return false;
  const isPrepared = transaction.direction !== 'refund' || (await isSentAsPayout(ctx, transaction));
  if (!isPrepared || (await readPrepared(ctx, transaction)) !== null) return false;
  // What was prepared and sent between a backup and its restore is not in the backup.
  const restoredAt = await readLastRestore(ctx.db);
  return restoredAt === null || transaction.created_at > restoredAt;
}

type Call = 'submit' | 'poll';

const limitOf = (ctx: PaymentsContext, transaction: Transaction, call: Call) => ({
  kind: `${transaction.rail} ${transaction.direction} ${call}`,
  perSecond: capabilitiesFor(ctx, transaction)?.callsPerSecond ?? null,
});

function takeTurn({ ctx, limits }: EngineParts, transaction: Transaction, call: Call): Promise<boolean> {
  const { kind, perSecond } = limitOf(ctx, transaction, call);
  return limits.take(kind, perSecond);
}

/** Whether a reader may make us ask: not where nobody can be asked, too early, or when it would hold up the schedule. */
function isWorthAsking({ ctx, limits }: EngineParts, transaction: Transaction): boolean {
  const capabilities = capabilitiesFor(ctx, transaction);
  if (!canBeAsked(capabilities)) return false;
  const sentForMs = ctx.clock.millis() - transaction.updated_at.getTime();
  const { kind, perSecond } = limitOf(ctx, transaction, 'poll');
  return sentForMs >= (capabilities?.firstQueryAfterMs ?? 0) && limits.isFree(kind, perSecond);
}

const CALLS = { submit: submitToOperator, poll: queryOperator } satisfies Record<
  Call,
  (ctx: PaymentsContext, transaction: Transaction, submittedAt: Date | null, onCall: () => void) => Promise<SubmitReply>
>;

type CallReason = Pick<Outcome, 'onRead'> & {
  submittedAt?: Date | null;
  onCall?: () => void;
  /** Of a payout: somebody watches the float of its connection. */
  isWatched?: boolean;
};

/** Calls the operator, records how the call went, and applies what it reported. */
async function callAndRecord(
  { ctx, outcomes }: EngineParts,
  transaction: Transaction,
  source: Call,
  { submittedAt = null, isWatched = false, onCall = () => undefined, ...reason }: CallReason,
): Promise<{ observation: Observation; after: Transaction | null }> {
  const started = performance.now();
  const askedAt = ctx.clock.now();
  const reply: SubmitReply = await CALLS[source](ctx, transaction, submittedAt, onCall);
  const { observation, raw, notSent, notCalled } = reply;
  const milliseconds = performance.now() - started;
  failpoint(`after-${source}`, transaction.direction);
  if (!notCalled) {
    ctx.rails.health.record(transaction.rail, transaction.method, callResult(observation), milliseconds);
    ctx.metrics.railSeconds.observe({ rail: transaction.rail, call: source }, milliseconds / 1000);
  }
  if (notSent === 'try_again') {
    await postponeSubmit(ctx, transaction, submittedAt, prepareAgainMs(ctx, transaction));
    await reportUnsent(ctx, transaction, observation.state === 'unknown' ? observation.reason : 'it cannot be used');
  }
  if (notSent) return { observation, after: null };
  if (source === 'submit' && isRefusedForFloat(transaction, reply)) {
    const hold = { reason: 'refused', isWatched, submittedAt, refusal: { observation, raw } } as const;
    const isHeld = await holdPayout(ctx, transaction, hold);
    forgetFloat(ctx, transaction);
    if (isHeld) return { observation, after: null };
  }
  const outcome = { transactionId: transaction.id, source, observation, raw, askedAt, ...reason };
  return { observation, after: (await outcomes.add(outcome)).transaction };
}

/** The older the transaction, the rarer. */
function prepareAgainMs(ctx: PaymentsContext, { created_at: createdAt }: Transaction): number {
  const age = ctx.clock.millis() - createdAt.getTime();
  return Math.min(Math.max(age / 4, PREPARE_AGAIN_MS.shortest), PREPARE_AGAIN_MS.longest);
}
