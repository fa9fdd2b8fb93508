// Applies the outcomes that wait together, in one transaction. If one of them cannot be applied, each is applied alone and
// that one is set aside: its transaction stays open, is asked about again, and has a case.

import { isDataError, type Tx } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import { describeObservation } from './evidence.ts';
import { DEFERRED, type InTurn, takeTurns } from './holder-turns.ts';
import { type Applied, type AppliedOutcomes, applyOutcomes } from './outcomes.ts';
import { mayPass, quarantine } from './quarantine.ts';
import type { EvidenceSource, Outcome } from './states.ts';
import { readTransactions, refOf } from './transactions.ts';

/** A member who decides is answered with the error instead. */
const FROM_OPERATOR: ReadonlySet<EvidenceSource> = new Set(['submit', 'callback', 'matched', 'poll', 'statement']);

export type AppliedBatch = { applied: (Applied | typeof DEFERRED)[]; events: AppliedOutcomes['events'] };

export async function applyBatch(ctx: PaymentsContext, queued: readonly InTurn<Outcome>[]): Promise<AppliedBatch> {
  const outcomes = queued.map(({ item }) => item);
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

async function applyFree(tx: Tx, ctx: PaymentsContext, queued: readonly InTurn<Outcome>[]): Promise<AppliedBatch> {
  const { taken, isTaken } = await takeTurns(tx, queued, ({ transactionId }) => [holderOfUuid(transactionId)]);
  if (taken.length === 0) return { applied: queued.map(() => DEFERRED), events: [] };
  const { applied, events } = await applyOutcomes(tx, ctx, taken);
  let next = 0;
  return { applied: queued.map((entry) => (isTaken(entry) && applied[next++]) || DEFERRED), events };
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
