// What an approved decision does, in the transaction that approves it: an outcome of a transaction, or a posting that
// moves the money of a case on. Then the case is closed.

import type { RecordedEvent } from '../callbacks/events.ts';
import type { Actor } from '../holders/audit.ts';
import { holdHolder, requireActiveHolder } from '../holders/holders.ts';
import { postEach } from '../ledger/ledger.ts';
import {
  debtWrittenOff,
  suspenseCredited,
  suspenseReturned,
  suspenseTakenToIncome,
  type Transfer,
} from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { publicId } from '../platform/ids.ts';
import type { Observation } from '../rails/rail.ts';
import { type Case, closeDecidedCase, findCase, settleCaseMoney } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';
import type { Decision } from './decision-rows.ts';
import { endDispute } from './dispute-end.ts';
import { feeFor } from './fees.ts';
import { applyOutcomes } from './outcomes.ts';
import { findRefundTotals, givingBack } from './refund-orders.ts';
import { refuseBeforeAsked } from './requery-after-restore.ts';
import type { Outcome } from './states.ts';
import { findTransaction, type Transaction } from './transactions.ts';

/** What a decision is about. */
export type DecisionSubject = {
  each: Case;
  transaction: Transaction | null;
  /** Of the amount that people settle with. */
  fee: bigint;
};

/** The fee of `settle_amount`. Read before the transaction that carries the decision out. */
export async function settledFee(ctx: PaymentsContext, { case_id: caseId, amount }: Decision): Promise<bigint> {
  const each = amount === null ? null : await findCase(ctx.db, caseId);
  const id = each?.transaction_id ?? null;
  const transaction = each && id !== null ? await findTransaction(ctx.db, each.holder_id, id) : null;
  const method = transaction && ctx.catalog.methods.get(transaction.method);
  return method && amount !== null ? feeFor(ctx, transaction.holder_id, method, 'collection', amount) : 0n;
}

/** Carries the decision out and closes its case. Returns the events to send after the commit. */
export async function carryOut(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  decision: Decision,
  { each, transaction, fee }: DecisionSubject,
): Promise<RecordedEvent[]> {
  const at = ctx.clock.now();
  const by = `${decision.proposed_by}, ${actor.name}`;
  const resolution = `${decision.action}: ${decision.reason} (${decision.reference})`;
  switch (decision.action) {
    case 'credit_holder':
    case 'return_to_payer':
    case 'take_to_income':
    case 'write_off':
      await moveMoneyOn(tx, ctx, decision, each, { by, resolution }, at);
      return [];
    case 'dispute_won':
    case 'dispute_lost':
      return endDispute(
        tx,
        ctx,
        {
          isLost: decision.action === 'dispute_lost',
          source: 'person',
          raw: `dispute lost, decided by ${by}: ${decision.reason} (${decision.reference})`,
        },
        { each, transaction },
        { by, resolution },
      );
    case 'keep':
      await closeDecidedCase(tx, each, by, resolution, at);
      return [];
    case 'send_again':
      await sendAgain(tx, each, at);
      await closeDecidedCase(tx, each, by, resolution, at);
      return [];
    default: {
      if (!transaction) throw new Error(`decision ${decision.id} is about no transaction`);
      const outcome = outcomeOf(decision, transaction, fee, by);
      const { applied, events } = await applyOutcomes(tx, ctx, [outcome]);
      if (applied[0]?.effect !== 'applied') throw await notApplied(tx, decision, transaction);
      await closeDecidedCase(tx, each, by, resolution, at);
      return events;
    }
  }
}

/** Why the outcome of a decision changes nothing. */
async function notApplied(tx: Tx, { action }: Decision, transaction: Transaction): Promise<Problem> {
  const totals = await findRefundTotals(tx, transaction.holder_id, transaction.id);
  if (action !== 'settle_reversed' || givingBack(totals) === 0n) return new Problem('decision_overtaken');
  const message = totals?.under_way
    ? 'A refund of this payment is not finished. Cancel it, or wait for its result, and approve again.'
    : 'A dispute of this payment is open. Decide about it first, and approve again.';
  return new Problem('invalid_params', { message });
}

function outcomeOf(decision: Decision, transaction: Transaction, fee: bigint, by: string): Outcome {
  const { currency } = transaction;
  const raw = `${publicId('dec', decision.id)}: ${by} decided: ${decision.reason} (${decision.reference})`;
  const outcome = { transactionId: transaction.id, source: 'person', raw } as const;
  if (decision.action !== 'settle_amount' || decision.amount === null)
    return { ...outcome, observation: observationOf(decision, transaction) };
  const { amount } = decision;
  return { ...outcome, observation: { state: 'succeeded', receipt: null, amount, currency }, amended: { amount, fee } };
}

function observationOf({ action }: Decision, { amount, currency }: Transaction): Observation {
  switch (action) {
    case 'settle_success':
      return { state: 'succeeded', receipt: null, amount, currency };
    case 'settle_reversed':
      return { state: 'reversed', receipt: null, rawCode: '', message: 'decided by people' };
    default:
      return {
        state: 'failed',
        failureCode: 'UNSPECIFIED',
        rawCode: '',
        message: 'No money moved. The operator’s records show it.',
      };
  }
}

/** The operator does not know it, and two people want it sent once more, under the same reference. */
async function sendAgain(tx: Tx, { holder_id, transaction_id }: Case, at: Date): Promise<void> {
  await requireActiveHolder(tx, holder_id);
  await refuseBeforeAsked(tx, holder_id, transaction_id);
  const rows = await tx.query(
    `update payment_jobs set kind = 'submit', due_at = $3, since = $3
     where holder_id = $1 and transaction_id = $2 and kind = 'query' returning 1`,
    [holder_id, transaction_id, at],
  );
  if (rows.length === 0) throw new Problem('decision_overtaken');
}

/** Moves all the money that a case still holds. */
async function moveMoneyOn(
  tx: Tx,
  ctx: PaymentsContext,
  decision: Decision,
  each: Case,
  note: { by: string; resolution: string },
  at: Date,
): Promise<void> {
  const amount = (each.amount ?? 0n) - each.settled;
  if (amount <= 0n || each.currency === null) throw new Problem('decision_overtaken');
  const fact = { holderId: each.holder_id, transactionId: each.id, currency: each.currency, amount };
  const transfers = await transfersOf(tx, decision, each, fact);
  const [result] = await postEach(tx, [transfers], at);
  if (!result?.ok) throw new Error(`the ledger refused decision ${decision.id}`);
  await settleCaseMoney(tx, [{ caseId: each.id, amount, ...note }], at);
  await recordDebts(tx, ctx, result.transfers, at);
}

async function transfersOf(
  tx: Tx,
  { action, to_holder: toHolder }: Decision,
  { rail }: Case,
  fact: { holderId: bigint; transactionId: string; currency: string; amount: bigint },
): Promise<Transfer[]> {
  if (action === 'write_off') return debtWrittenOff(fact);
  if (action === 'take_to_income') return suspenseTakenToIncome(fact);
  if (rail === null) throw new Error('it is not known where this money came from');
  if (action === 'return_to_payer') return suspenseReturned({ ...fact, rail });
  const holder = toHolder === null ? null : await holdHolder(tx, toHolder);
  if (!holder || holder.status === 'closed')
    throw new Problem('invalid_params', { errors: { holder: ['There is no such account, or it is closed.'] } });
  return suspenseCredited({ ...fact, rail }, holder.id);
}
