// The table of payment jobs: what is due for an open transaction, claimed with a lease by one process at a time.

import { randomInt } from 'node:crypto';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createDueFloor, type DueFrom } from '../platform/due-floor.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import type { PaymentsContext } from './context.ts';
import { readTransactions, type Transaction } from './transactions.ts';

/** How long a claimed job belongs to its process: an operator call takes 15 s at most. */
export const LEASE_MS = 30_000;
/** How long a submit waits while its operator is down, plus up to a second so that the submits do not all return at once. */
const BREAKER_PAUSE_MS = 5_000;
const MAX_COUNTED = 100_000;
const floorOf = perProcess(() => createDueFloor());

export type JobKind = 'send_token' | 'submit' | 'query' | 'expire';
export type ClaimedJob = {
  kind: JobKind;
  transaction: Transaction;
  /** When it was last sent, or is about to be. */
  submittedAt: Date | null;
  /** Restored from a backup: what it knows of the transaction may be long past. */
  isRestored?: boolean;
  /** It was claimed before, and nothing was sent: much may have happened since it was ordered. */
  wasPutOff?: boolean;
};

/** `found`: how many were due, also those that another process claimed at the same moment. */
type Claim = { found: number; claimed: ClaimedRow[] };
type ClaimedRow = {
  transaction_id: string;
  was: JobKind;
  was_put_off: boolean;
  submitted_at: Date | null;
  is_restored: boolean;
};
/** A submit that was claimed before has the date of it. */
const PUT_OFF = `kind = 'submit' and submitted_at is not null as was_put_off`;

const CLAIM = {
  name: 'claim_payment_jobs',
  byIndex: true,
  text: `with due as (
           select ctid as place, kind as was, ${PUT_OFF} from payment_jobs where due_at <= $1 and due_at > $4
           order by due_at limit $2 for update skip locked
         )
         update payment_jobs j
         set due_at = $3, kind = case when due.was = 'submit' then 'query' else due.was end,
             submitted_at = case when due.was = 'submit' then $1 else j.submitted_at end
         from due where j.ctid = due.place
         returning j.transaction_id, due.was, due.was_put_off, j.submitted_at, j.resume is not null as is_restored`,
} as const;

async function claimRows(ctx: PaymentsContext, now: Date, from: DueFrom, limit: number): Promise<Claim> {
  const claimed = await ctx.db.query<ClaimedRow>(CLAIM, [now, limit, new Date(now.getTime() + LEASE_MS), from]);
  return { found: claimed.length, claimed };
}

type DueRow = { holder_id: bigint; transaction_id: string; was: JobKind; due_at: string; was_put_off: boolean };
const DUE = columns<DueRow>(3, {
  holder_id: 'bigint',
  transaction_id: 'uuid',
  was: 'text',
  due_at: 'timestamptz',
  was_put_off: 'boolean',
});

/**
 * The same where the jobs are on several servers, which cannot be locked by one statement. Two processes may find the same job:
 * one of them changes its date, and the other one then finds another date than it read.
 */
async function claimOnServers(ctx: PaymentsContext, now: Date, from: DueFrom, limit: number): Promise<Claim> {
  const due = await ctx.db.query<DueRow>(
    `select holder_id, transaction_id, kind as was, due_at::text, ${PUT_OFF} from payment_jobs where due_at <= $1 and due_at > $3
     order by payment_jobs.due_at limit $2`,
    [now, limit, from],
  );
  if (due.length === 0) return { found: 0, claimed: [] };
  const claimed = await ctx.db.query<ClaimedRow>(
    `update payment_jobs j
     set due_at = $2, kind = case when input.was = 'submit' then 'query' else input.was end,
         submitted_at = case when input.was = 'submit' then $1 else j.submitted_at end
     from ${DUE.rows}
     where j.holder_id = input.holder_id and j.transaction_id = input.transaction_id
       and j.due_at = input.due_at and j.kind = input.was
     returning j.transaction_id, input.was, input.was_put_off, j.submitted_at, j.resume is not null as is_restored`,
    [now, new Date(now.getTime() + LEASE_MS), ...DUE.arrays(due)],
  );
  return { found: due.length, claimed };
}

/**
 * Claims due jobs. A 'submit' becomes a 'query' in the same statement, so the intent to send is durable: after a crash the
 * next process asks the operator whether the call arrived, and does not send it again.
 *
 * The rows are locked, so their places stand. A join by their key would read the whole index when the table was empty at the
 * last look of the planner, with every row that cannot be cleaned away yet.
 */
export async function claimDue(ctx: PaymentsContext, limit: number): Promise<ClaimedJob[]> {
  await putBackUnstarted(ctx);
  const now = ctx.clock.now();
  const floor = floorOf(ctx);
  const from = floor.from(now);
  const claim = ctx.db.isDistributed() ? claimOnServers : claimRows;
  const { found, claimed } = await claim(ctx, now, from, limit);
  if (found < limit) floor.drained(now, from);
  if (claimed.length === 0) return [];
  const ids = claimed.map((job) => job.transaction_id);
  const rows = await readTransactions(ctx.db, ids).catch((error: unknown) => {
    unstartedOf(ctx).push(...claimed.map((job) => ({ ...job, kind: job.was })));
    throw error;
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return claimed.flatMap(({ transaction_id, was, was_put_off, submitted_at: submittedAt, is_restored: isRestored }) => {
    const transaction = byId.get(transaction_id);
    return transaction ? [{ kind: was, transaction, submittedAt, isRestored, wasPutOff: was_put_off }] : [];
  });
}

/**
 * Puts off a submit that was claimed and not made, because the operator is known to be down or the holder is suspended. The
 * job is still ours as long as nobody has sent it since `submittedAt`.
 */
export async function postponeSubmit(
  ctx: PaymentsContext,
  { holder_id, id }: Transaction,
  submittedAt: Date | null,
  pauseMs = BREAKER_PAUSE_MS,
): Promise<void> {
  const dueAt = new Date(ctx.clock.millis() + pauseMs + randomInt(1_000));
  await ctx.db.query(
    `update payment_jobs set kind = 'submit', due_at = $3
     where holder_id = $1 and transaction_id = $2 and submitted_at is not distinct from $4`,
    [holder_id, id, dueAt, submittedAt],
  );
}

type ReturnedRow = { transaction_id: string; kind: JobKind; submitted_at: Date | null };
const RETURNED = columns<ReturnedRow>(2, {
  holder_id: ['bigint', ({ transaction_id }) => holderOfUuid(transaction_id)],
  transaction_id: 'uuid',
  kind: 'text',
  submitted_at: 'timestamptz',
});

/** Puts claimed jobs that were not started back in the table, due now. Each is ours as long as nobody has sent it since. */
async function putBack(ctx: PaymentsContext, waiting: readonly ReturnedRow[]): Promise<void> {
  if (waiting.length === 0) return;
  await ctx.db.query(
    `update payment_jobs j set kind = input.kind, due_at = $1 from ${RETURNED.rows}
     where j.holder_id = input.holder_id and j.transaction_id = input.transaction_id
       and j.submitted_at is not distinct from input.submitted_at`,
    [ctx.clock.now(), ...RETURNED.arrays(waiting)],
  );
}

const rowOf = ({ transaction, kind, submittedAt }: ClaimedJob): ReturnedRow => ({
  transaction_id: transaction.id,
  kind,
  submitted_at: submittedAt,
});

export function returnJobs(ctx: PaymentsContext, waiting: readonly ClaimedJob[]): Promise<void> {
  return putBack(ctx, waiting.map(rowOf));
}

/**
 * Claimed jobs that certainly were not started, because the database was away before. Without this memory they would look as if
 * they may have been sent: a collection would wait for the operator's word, a payout for a person.
 */
const unstartedOf = perProcess((): ReturnedRow[] => []);

/** To be called for a claimed job of which certainly nothing was sent; the next claim makes it due again. */
export function rememberUnstarted(ctx: PaymentsContext, job: ClaimedJob): void {
  unstartedOf(ctx).push(rowOf(job));
}

async function putBackUnstarted(ctx: PaymentsContext): Promise<void> {
  const unstarted = unstartedOf(ctx);
  const taken = unstarted.splice(0);
  try {
    await putBack(ctx, taken);
  } catch (error) {
    unstarted.push(...taken);
    throw error;
  }
}

/** Due jobs of all holders, counted up to a limit. */
export async function countDuePayments(reader: Reader, now: Date): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from (select from payment_jobs where due_at <= $1 limit ${MAX_COUNTED}) as due`,
    [now],
  );
  return Number(row?.count ?? 0n);
}

/** Since when the oldest of them is due. */
export async function oldestDuePayment(reader: Reader, now: Date): Promise<Date | null> {
  const [row] = await reader.query<{ due_at: Date }>(
    'select due_at from payment_jobs where due_at <= $1 order by due_at limit 1',
    [now],
  );
  return row?.due_at ?? null;
}

/** Queues a payout or refund that was approved. False: it was sent or has ended, so it is not sent again. */
export async function queueApproved(tx: Tx, holderId: bigint, transactionId: string, at: Date): Promise<boolean> {
  const rows = await tx.query(
    `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
     select t.holder_id, t.id, 'submit', $3, $3 from transactions t
     where t.holder_id = $1 and t.id = $2 and t.status = 'pending' for no key update
     returning 1`,
    [holderId, transactionId, at],
  );
  return rows.length > 0;
}

/** Removes a submit that nobody has claimed. Claiming makes it a query, which is not removed. */
export async function removeSubmit(tx: Tx, holderId: bigint, transactionId: string): Promise<boolean> {
  const rows = await tx.query(
    `delete from payment_jobs where holder_id = $1 and transaction_id = $2 and kind = 'submit' returning 1`,
    [holderId, transactionId],
  );
  return rows.length > 0;
}
