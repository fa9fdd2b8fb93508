// Applies the outcomes that wait together, in one transaction. If one of them cannot be applied, each is applied alone and
// that one is set aside: its transaction stays open, is asked about again, and has a case.
//
// Two processes that post to the wallet of one holder take turns at its row, and a batch has many holders: soon every process would
// wait for every other. So a batch leaves out the holders of a batch that another process is writing; they are in its next one.

import { isDataError, type Statement, type Tx } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation } from './evidence.ts';
import { type Applied, type AppliedOutcomes, applyOutcomes } from './outcomes.ts';
import { mayPass, quarantine } from './quarantine.ts';
import type { EvidenceSource, Outcome } from './states.ts';
import { readTransactions, refOf } from './transactions.ts';

/** A member who decides is answered with the error instead. */
const FROM_OPERATOR: ReadonlySet<EvidenceSource> = new Set(['submit', 'callback', 'matched', 'poll', 'statement']);

export type QueuedOutcome = {
  outcome: Outcome;
  /** False: it was left out often enough, and now waits for its turn. */
  mayBeDeferred: boolean;
};

export type AppliedBatch = { applied: (Applied | 'deferred')[]; events: AppliedOutcomes['events'] };

export async function applyBatch(ctx: PaymentsContext, queued: readonly QueuedOutcome[]): Promise<AppliedBatch> {
  const outcomes = queued.map(({ outcome }) => outcome);
  try {
    return await ctx.db.transaction((tx) => applyFree(tx, ctx, queued));
  } catch (error) {
    const [only] = outcomes;
    if (outcomes.length !== 1 || !only) {
      // The batch itself splits on an error of the database about one row.
      if (mayPass(error) || isDataError(error)) throw error;
      ctx.log.warn({ err: error }, 'outcomes are applied one by one');
      const each: AppliedBatch[] = [];
      for (const one of queued) each.push(await applyBatch(ctx, [one]));
      return { applied: each.flatMap(({ applied }) => applied), events: each.flatMap(({ events }) => events) };
    }
    if (mayPass(error) || !FROM_OPERATOR.has(only.source)) throw error;
    return await setAside(ctx, only, error instanceof Error ? error.message : String(error));
  }
}

/** "outc" in ASCII, beside the number of a holder: one batch at a time has it. It holds nothing back but other batches. */
const HOLDER_LOCK = 0x6f757463;
const TAKE_HOLDERS: Statement = {
  name: 'take_holders',
  text: `select holder_id from unnest($1::bigint[]) as holder_id where pg_try_advisory_xact_lock(${HOLDER_LOCK}, holder_id::int)`,
};

/** Without those whose holder is in the batch of another process. If that would leave none, this one waits for its turn. */
async function applyFree(tx: Tx, ctx: PaymentsContext, queued: readonly QueuedOutcome[]): Promise<AppliedBatch> {
  const holders = [...new Set(queued.map(({ outcome }) => holderOfUuid(outcome.transactionId)))];
  const rows = await tx.query<{ holder_id: bigint }>(TAKE_HOLDERS, [holders]);
  const free = new Set(rows.map(({ holder_id }) => holder_id));
  const isTaken = ({ outcome, mayBeDeferred }: QueuedOutcome) =>
    !mayBeDeferred || free.size === 0 || free.has(holderOfUuid(outcome.transactionId));
  const taken = queued.filter(isTaken);
  const { applied, events } = await applyOutcomes(
    tx,
    ctx,
    taken.map(({ outcome }) => outcome),
  );
  const byItem = new Map(taken.map((item, index) => [item, applied[index]]));
  return { applied: queued.map((item) => byItem.get(item) ?? 'deferred'), events };
}

function setAside(ctx: PaymentsContext, outcome: Outcome, error: string): Promise<AppliedOutcomes> {
  const { transactionId, source, observation } = outcome;
  return ctx.db.transaction(async (tx) => {
    const [transaction] = await readTransactions(tx, [transactionId]);
    const rail = outcome.rail ?? transaction?.rail ?? '';
    const raw = outcome.raw || JSON.stringify(describeObservation(observation));
    await quarantine(tx, ctx, [{ rail, source, reference: refOf({ id: transactionId }), transactionId, error, raw }]);
    // It is asked about again as after an answer that says nothing.
    return applyOutcomes(tx, ctx, [{ ...outcome, observation: { state: 'unknown', reason: error } }]);
  });
}
