// Hints: what an operator says without a proof. The operator is asked after each of them, also about a transaction that has
// ended: a hint may announce the success of a payment that was taken for failed, or a reversal. Hints are durable, because
// nobody asks about a final transaction by itself.

import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import { createDueFloor, type DueFrom } from '../platform/due-floor.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import type { Observation } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { isFinal, nextQueryDelayMs, UNANSWERED_MS } from './states.ts';
import { readTransactions, refOf, type Transaction } from './transactions.ts';

export type Hint = { transactionId: string; rail: string };
/** A hint that a process is asking about. */
export type ClaimedHint = { hints: number; attempts: number; firstAt: Date };

const HINTS = columns<Hint>(2, {
  holder_id: ['bigint', ({ transactionId }) => holderOfUuid(transactionId)],
  id: ['uuid', ({ transactionId }) => transactionId],
  rail: 'text',
});

/** Anybody can send hints about a reference that he knows. After so many that wait, the next question waits a second more. */
const HINTS_A_SECOND = 3;
const LONGEST_WAIT_SECONDS = 30;
const floorOf = perProcess(() => createDueFloor());

/** A rail can only hint at its own transactions. Returns the ids of those that there are. */
export async function recordHints(tx: Tx, hints: Hint[], at: Date): Promise<ReadonlySet<string>> {
  if (hints.length === 0) return new Set();
  const rows = await tx.query<{ transaction_id: string }>(
    {
      name: 'record_hints',
      text: `insert into operator_hints as h (holder_id, transaction_id, hints, first_at, due_at)
             select t.holder_id, t.id, count(*), $1, $1
             from ${HINTS.rows} join transactions t using (holder_id, id) where t.rail = input.rail
             group by t.holder_id, t.id order by t.holder_id, t.id
             on conflict (holder_id, transaction_id) do update
               set hints = h.hints + excluded.hints, attempts = 0, first_at = excluded.first_at,
                 due_at = least(h.due_at, excluded.due_at
                   + least(h.hints / ${HINTS_A_SECOND}, ${LONGEST_WAIT_SECONDS}) * interval '1 second')
             returning transaction_id`,
    },
    [at, ...HINTS.arrays(hints)],
  );
  return new Set(rows.map((row) => row.transaction_id));
}

/** `found`: how many were due, also those that another process claimed at the same moment. */
type Claim = { found: number; claimed: ClaimedRow[] };
type ClaimedRow = { transaction_id: string; hints: number; attempts: number; first_at: Date };

async function claimRows(ctx: PaymentsContext, now: Date, from: DueFrom, limit: number): Promise<Claim> {
  const claimed = await ctx.db.query<ClaimedRow>(
    {
      name: 'claim_hints',
      byIndex: true,
      text: `with due as (
               select ctid as place from operator_hints where due_at <= $1 and due_at > $4
               order by due_at limit $2 for update skip locked
             )
             update operator_hints h set due_at = $3 from due
             where h.ctid = due.place
             returning h.transaction_id, h.hints, h.attempts, h.first_at`,
    },
    [now, limit, new Date(now.getTime() + LEASE_MS), from],
  );
  return { found: claimed.length, claimed };
}

type DueRow = { holder_id: bigint; transaction_id: string; due_at: string };
const DUE = columns<DueRow>(2, { holder_id: 'bigint', transaction_id: 'uuid', due_at: 'timestamptz' });

/** As the claim of payment jobs: who changes the date first has the hint. */
async function claimOnServers(ctx: PaymentsContext, now: Date, from: DueFrom, limit: number): Promise<Claim> {
  const due = await ctx.db.query<DueRow>(
    `select holder_id, transaction_id, due_at::text from operator_hints where due_at <= $1 and due_at > $3
     order by operator_hints.due_at limit $2`,
    [now, limit, from],
  );
  if (due.length === 0) return { found: 0, claimed: [] };
  const claimed = await ctx.db.query<ClaimedRow>(
    `update operator_hints h set due_at = $1 from ${DUE.rows}
     where h.holder_id = input.holder_id and h.transaction_id = input.transaction_id and h.due_at = input.due_at
     returning h.transaction_id, h.hints, h.attempts, h.first_at`,
    [new Date(now.getTime() + LEASE_MS), ...DUE.arrays(due)],
  );
  return { found: due.length, claimed };
}

export async function claimHints(
  ctx: PaymentsContext,
  limit: number,
): Promise<{ transaction: Transaction; hint: ClaimedHint }[]> {
  const now = ctx.clock.now();
  const floor = floorOf(ctx);
  const from = floor.from(now);
  const claim = ctx.db.isDistributed() ? claimOnServers : claimRows;
  const { found, claimed } = await claim(ctx, now, from, limit);
  if (found < limit) floor.drained(now, from);
  if (claimed.length === 0) return [];
  const ids = claimed.map((row) => row.transaction_id);
  const byId = new Map((await readTransactions(ctx.db, ids)).map((row) => [row.id, row]));
  return claimed.flatMap(({ transaction_id, hints, attempts, first_at: firstAt }) => {
    const transaction = byId.get(transaction_id);
    return transaction ? [{ transaction, hint: { hints, attempts, firstAt } }] : [];
  });
}

/**
 * The operator has answered, and the answer is applied. While it does not say how a final transaction stands, it is asked
 * again for a day; the job of an open one asks by itself. After that the transaction stays as it is: a hint proves nothing.
 * `observation` null: it was not asked yet, because the transaction is not sent, or is being sent.
 */
export async function concludeHint(
  ctx: PaymentsContext,
  { holder_id: holderId, id, status }: Transaction,
  { hints, attempts, firstAt }: ClaimedHint,
  observation: Observation | null,
): Promise<void> {
  const now = ctx.clock.now();
  const openForMs = now.getTime() - firstAt.getTime();
  const isAnswered = observation !== null && (!isFinal(status) || saysHowItStands(observation));
  if (isAnswered || openForMs >= UNANSWERED_MS) {
    if (!isAnswered) ctx.log.warn({ ref: refOf({ id }) }, 'the operator does not say what its hint was about');
    return forgetHint(ctx, { holder_id: holderId, id }, { hints });
  }
  const dueAt = new Date(now.getTime() + nextQueryDelayMs(attempts, openForMs));
  await ctx.db.query(
    `update operator_hints set due_at = $4, attempts = attempts + 1
     where holder_id = $1 and transaction_id = $2 and hints = $3`,
    [holderId, id, hints, dueAt],
  );
}

/** A hint that came meanwhile is due by itself. */
export async function forgetHint(
  ctx: PaymentsContext,
  { holder_id: holderId, id }: Pick<Transaction, 'holder_id' | 'id'>,
  { hints }: Pick<ClaimedHint, 'hints'>,
): Promise<void> {
  await ctx.db.query('delete from operator_hints where holder_id = $1 and transaction_id = $2 and hints = $3', [
    holderId,
    id,
    hints,
  ]);
}

function saysHowItStands(observation: Observation): boolean {
  if (observation.state === 'unknown') return observation.definitelyNotFound === true;
  return observation.state !== 'pending';
}
