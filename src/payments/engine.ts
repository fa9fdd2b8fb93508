// The engine of one process: it calls operators about open transactions and applies what they say. Work comes from
// two sides: handed over directly by the request that just committed it, and claimed from the table of due jobs
// (whatever another process, or this one before a crash, left behind). Calls happen outside any transaction.

import { randomInt } from 'node:crypto';
import { findLiveIntegration } from '../holders/integrations.ts';
import { type Batch, createBatch } from '../platform/batch.ts';
import { columns } from '../platform/columns.ts';
import type { Reader } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { callResult } from '../rails/breakers.ts';
import type { RailReply } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { type Applied, applyOutcomes } from './outcomes.ts';
import { type EvidenceSource, isFinal, type Outcome } from './states.ts';
import { readTransactions, refOf, type Transaction } from './transactions.ts';
import { expireVerification, sendVerificationToken } from './verification.ts';

/** How long whoever claimed a job may take: an operator's call takes 15 s at most. */
export const LEASE_MS = 30_000;
const MAX_CALLS_IN_FLIGHT = 256;
/** Work that may wait in this process; beyond that it waits in the table, for any process. */
const MAX_QUEUED = 1_000;
/** Work that waited longer is left alone: a call that begins now could outlast the lease, and others ask by then. */
const MAX_QUEUED_MS = LEASE_MS / 2;
const CLAIM_LIMIT = 200;
/** While an operator is down its transactions wait this long, and a little more so that they do not come back at once. */
const BREAKER_PAUSE_MS = 5_000;
const ASKED_RECENTLY_MS = 2_000;
const MAX_ASKED = 10_000;
const MAX_COUNTED = 100_000;

export type JobKind = 'send_token' | 'submit' | 'query' | 'expire';
export type Work = { kind: JobKind; transaction: Transaction };

export interface PaymentEngine {
  /** Whether work can be handed over now. Ask before committing; then `hand` it over after the commit. */
  hasCapacity(): boolean;
  enqueue(work: Work): void;
  /** Applies an outcome together with whatever others are waiting. Settles after the commit. */
  apply(outcome: Outcome): Promise<Applied>;
  /** One pass over the table of due jobs. Answers how many were claimed. */
  pass(): Promise<number>;
  /** Called when work was left in the table for lack of room here, and there is room again: the loop's `wake`. */
  onCapacity(wake: () => void): void;
  /** Asks the operator about a transaction, unless it was just asked, and waits a moment for the answer to be applied. */
  refresh(transaction: Transaction, patienceMs: number): Promise<void>;
  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void>;
  /** Finishes the calls under way, gives the rest back to the table. */
  stop(): Promise<void>;
}

export function createPaymentEngine(ctx: PaymentsContext): PaymentEngine {
  const queue: (Work & { queuedAt: number })[] = [];
  let calls = 0;
  let stopping = false;
  let leftBehind = false;
  let wake = () => {};
  let idleWaiters: (() => void)[] = [];
  /** When a reader last made us ask about a transaction. */
  const asked = new Map<string, number>();

  const outcomes: Batch<Outcome, Applied> = createBatch({
    maxItems: 256,
    maxWaiting: 20_000,
    concurrency: 1,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'outcomes' }, items),
    async run(items) {
      const { applied, events } = await ctx.db.transaction((tx) => applyOutcomes(tx, ctx, items));
      failpoint('outcomes-committed');
      for (const { transaction, effect } of applied)
        if (transaction && effect === 'applied')
          ctx.metrics.outcomes.inc({ rail: transaction.rail, status: transaction.status });
      ctx.sendCallbacksNow(events);
      return applied;
    },
  });

  const enqueue = (work: Work) => queue.push({ ...work, queuedAt: ctx.clock.millis() });
  const isStale = (work: { queuedAt: number }) => ctx.clock.millis() - work.queuedAt > MAX_QUEUED_MS;

  function pump(): void {
    while (!stopping && calls < MAX_CALLS_IN_FLIGHT) {
      const work = queue.shift();
      if (!work) break;
      if (isStale(work)) continue;
      calls++;
      if (leftBehind && queue.length < CLAIM_LIMIT) {
        leftBehind = false;
        wake();
      }
      perform(work)
        // The job's lease ends by itself, and the operator is then asked: nothing is lost.
        .catch((error: unknown) =>
          ctx.log.warn({ err: error, kind: work.kind, ref: refOf(work.transaction) }, 'work on a transaction failed'),
        )
        .finally(() => {
          calls--;
          pump();
          if (calls === 0 && queue.length === 0) {
            for (const wake of idleWaiters) wake();
            idleWaiters = [];
          }
        });
    }
  }

  async function perform(work: Work): Promise<void> {
    const { transaction } = work;
    switch (work.kind) {
      case 'send_token':
        return sendVerificationToken(ctx, transaction);
      case 'expire':
        return expireVerification(ctx, transaction);
      case 'submit':
        if (!ctx.rails.health.mayCall(transaction.rail, transaction.method)) return postpone(ctx, transaction);
        failpoint('before-submit');
        return learn(transaction, 'submit', () => submit(ctx, transaction));
      case 'query':
        return learn(transaction, 'poll', () => query(ctx, transaction));
    }
  }

  async function learn(
    transaction: Transaction,
    source: EvidenceSource,
    call: () => Promise<RailReply>,
  ): Promise<void> {
    const started = performance.now();
    const askedAt = ctx.clock.now();
    const { observation, raw } = await call();
    const milliseconds = performance.now() - started;
    failpoint(`after-${source}`);
    ctx.rails.health.record(transaction.rail, transaction.method, callResult(observation), milliseconds);
    ctx.metrics.railSeconds.observe({ rail: transaction.rail, call: source }, milliseconds / 1000);
    await outcomes.add({ transactionId: transaction.id, source, observation, raw, askedAt });
  }

  return {
    // A process that only answers requests leaves the work to the others.
    hasCapacity() {
      const room = !stopping && queue.length < MAX_QUEUED && ctx.config.role !== 'api';
      if (!room) leftBehind = true;
      return room;
    },
    onCapacity(callback) {
      wake = callback;
    },
    enqueue(work) {
      enqueue(work);
      pump();
    },
    apply: (outcome) => outcomes.add(outcome),
    async pass() {
      if (stopping) return 0;
      if (queue.length >= CLAIM_LIMIT) {
        leftBehind = true;
        return 0;
      }
      const claimed = await claimDue(ctx, CLAIM_LIMIT);
      for (const work of claimed) enqueue(work);
      pump();
      return claimed.length;
    },
    async refresh(transaction, patienceMs) {
      const now = ctx.clock.millis();
      if (isFinal(transaction.status) || transaction.status === 'pending') return;
      if (now - (asked.get(transaction.id) ?? 0) < ASKED_RECENTLY_MS || calls >= MAX_CALLS_IN_FLIGHT) return;
      asked.delete(transaction.id);
      asked.set(transaction.id, now);
      if (asked.size > MAX_ASKED) asked.delete(asked.keys().next().value ?? transaction.id);
      const answer = learn(transaction, 'poll', () => query(ctx, transaction)).catch((error: unknown) =>
        ctx.log.warn({ err: error, ref: refOf(transaction) }, 'asking the operator failed'),
      );
      // Patience is real time: a person waits for the answer.
      await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, patienceMs).unref())]);
    },
    async idle() {
      if (calls > 0 || queue.length > 0) await new Promise<void>((resolve) => idleWaiters.push(resolve));
      await outcomes.idle();
    },
    async stop() {
      stopping = true;
      const waiting = queue.splice(0).filter((work) => !isStale(work));
      await returnJobs(ctx, waiting);
      if (calls > 0) await new Promise<void>((resolve) => idleWaiters.push(resolve));
      await outcomes.idle();
    },
  };
}

/** Sends the transaction to its operator. Its reference was committed before: after a crash we ask, we do not send again. */
async function submit(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  const call = {
    reference: refOf(transaction),
    method,
    msisdn: transaction.msisdn ?? transaction.account_number ?? '',
    amount: transaction.amount,
    currency: transaction.currency,
    merchantName: await merchantName(ctx, transaction),
  };
  return transaction.direction === 'collection'
    ? rail.collect({ ...call, verified: transaction.verification === 'otp' })
    : rail.payout(call);
}

async function query(ctx: PaymentsContext, transaction: Transaction): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail || !method) return noLongerConnected(transaction);
  return rail.query({
    reference: refOf(transaction),
    direction: transaction.direction,
    method,
    railReference: transaction.rail_reference,
  });
}

/** A rail or method was taken out of the configuration: nobody can be asked, so nothing is known. */
function noLongerConnected({ rail, method }: Transaction): RailReply {
  return {
    observation: { state: 'unknown', reason: `this gateway has no rail "${rail}" for ${method} any more` },
    raw: '',
  };
}

/** The business' name as the payer's prompt shows it. */
export async function merchantName(ctx: PaymentsContext, transaction: Transaction): Promise<string> {
  if (transaction.integration_id === null) return ctx.config.brandName;
  const integration = await findLiveIntegration(ctx, { id: transaction.integration_id });
  return integration?.title ?? ctx.config.brandName;
}

/**
 * Claims due jobs. A 'submit' becomes a 'query' in the same statement: that commit is our durable intent, and
 * whoever finds the job after a crash will ask the operator, who alone knows whether the call arrived.
 */
async function claimDue(ctx: PaymentsContext, limit: number): Promise<Work[]> {
  const now = ctx.clock.now();
  const claimed = await ctx.db.query<{ transaction_id: string; was: JobKind }>(
    {
      name: 'claim_payment_jobs',
      text: `with due as (
               select holder_id, transaction_id, kind as was from payment_jobs where due_at <= $1
               order by due_at limit $2 for update skip locked
             )
             update payment_jobs j
             set due_at = $3, kind = case when due.was = 'submit' then 'query' else due.was end,
                 submitted_at = case when due.was = 'submit' then $1 else j.submitted_at end
             from due where j.holder_id = due.holder_id and j.transaction_id = due.transaction_id
             returning j.transaction_id, due.was`,
    },
    [now, limit, new Date(now.getTime() + LEASE_MS)],
  );
  if (claimed.length === 0) return [];
  const rows = await readTransactions(
    ctx.db,
    claimed.map((job) => job.transaction_id),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return claimed.flatMap(({ transaction_id, was }) => {
    const transaction = byId.get(transaction_id);
    return transaction ? [{ kind: was, transaction }] : [];
  });
}

/** The operator is known to be down: the call is put off without having been made. */
async function postpone(ctx: PaymentsContext, { holder_id, id }: Transaction): Promise<void> {
  const dueAt = new Date(ctx.clock.millis() + BREAKER_PAUSE_MS + randomInt(1_000));
  await ctx.db.query(
    `update payment_jobs set kind = 'submit', due_at = $3 where holder_id = $1 and transaction_id = $2`,
    [holder_id, id, dueAt],
  );
}

const RETURNED = columns<Work>(2, {
  holder_id: ['bigint', ({ transaction }) => transaction.holder_id],
  transaction_id: ['uuid', ({ transaction }) => transaction.id],
  kind: 'text',
});

/** Work that was queued here and not begun goes back to the table as it was. */
async function returnJobs(ctx: PaymentsContext, waiting: Work[]): Promise<void> {
  if (waiting.length === 0) return;
  await ctx.db.query(
    `update payment_jobs j set kind = input.kind, due_at = $1 from ${RETURNED.rows}
     where j.holder_id = input.holder_id and j.transaction_id = input.transaction_id`,
    [ctx.clock.now(), ...RETURNED.arrays(waiting)],
  );
}

/** Jobs that are due and not yet done, of all holders, counted up to a bound. */
export async function countDuePayments(reader: Reader, now: Date): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from (select from payment_jobs where due_at <= $1 limit ${MAX_COUNTED}) as due`,
    [now],
  );
  return Number(row?.count ?? 0n);
}
