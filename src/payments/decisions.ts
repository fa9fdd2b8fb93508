// Decisions of people about what no operator will answer any more: one proposes, with a reason and a reference, and another
// one approves. The operator is asked once more first. Then the decision goes through applyOutcomes and the ledger like
// every other outcome, and closes its case. A case closes when its money is even, never by a note alone.

import type { RecordedEvent } from '../callbacks/events.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { lockAccounts } from '../ledger/accounts.ts';
import { holderReceivable } from '../ledger/chart.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createHolderUuid, holderOfUuid, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { answeredByOperator, refuseWhileSending } from './ask-before-decision.ts';
import { type Case, findCase, NOT_FOUND_KINDS } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { carryOut, settledFee } from './decision-effects.ts';
import {
  type Decision,
  type DecisionAction,
  type DecisionDocument,
  findDecision,
  insertDecision,
  lockDecision,
  writeDecisionStatus,
} from './decision-rows.ts';
import { disputeAccounts } from './disputes.ts';
import type { PaymentEngine } from './engine.ts';
import { isFinal } from './states.ts';
import { findTransaction, type Transaction } from './transactions.ts';

export const MAX_DECISION_REASON_CHARACTERS = 500;
export const MAX_DECISION_REFERENCE_CHARACTERS = 120;
const MIN_REASON_CHARACTERS = 3;

/** A person who decides: an admin, or a member of the holder that the case belongs to. */
export type Decider = { actor: Actor & { memberId: bigint }; isAdmin: boolean; holderId: bigint | null };

export type DecisionRequest = {
  action: DecisionAction;
  reason: string;
  /** A receipt, a line of a statement, or what the document shows. */
  reference: string;
  /** Of `settle_amount`, in hundredths. */
  amount?: bigint | null;
  /** Of `credit_holder`. */
  toHolder?: bigint | null;
  document?: DecisionDocument | null;
};

/** What can be decided about a case. Empty: nothing, or a note closes it (closesByNote). */
export function decisionsFor(each: Case, transaction: Transaction | null): DecisionAction[] {
  if (each.status !== 'open') return [];
  if (each.kind === 'debt') return ['write_off'];
  // What the operator has reversed meanwhile cannot be given back again: the hold ends.
  if (each.kind === 'dispute')
    return transaction?.status === 'success' ? ['dispute_won', 'dispute_lost'] : ['dispute_won'];
  if (each.amount !== null) return ['credit_holder', 'return_to_payer', 'take_to_income'];
  if (!transaction) return ['keep'];
  const open = !isFinal(transaction.status);
  switch (each.kind) {
    case 'no_answer':
    case 'amount_mismatch':
    case 'receipt_used':
      if (open) return transaction.direction === 'collection' ? [...SETTLE, 'settle_amount'] : [...SETTLE];
      return decisionsAfterEnd(transaction);
    case 'payout_not_found':
    case 'refund_not_found':
      return open ? [...SETTLE, 'send_again'] : ['keep'];
    case 'contradiction':
    case 'different_receipt':
      return open ? [...SETTLE] : decisionsAfterEnd(transaction);
    default:
      return [];
  }
}

/** A failed payment may turn out to be paid, and a paid one to be taken back, but a refund is never reversed. */
function decisionsAfterEnd({ status, direction }: Transaction): DecisionAction[] {
  if (status === 'failed' || status === 'expired') return ['keep', 'settle_success'];
  return status === 'success' && direction !== 'refund' ? ['keep', 'settle_reversed'] : ['keep'];
}

const SETTLE = ['settle_success', 'settle_failed'] as const;
/** The gateway's own money, or nobody's: a holder cannot even ask for it. */
export const ADMINS_ONLY: readonly DecisionAction[] = ['credit_holder', 'take_to_income', 'write_off'];

/** Proposes a decision. Another person, an admin, must approve it before anything happens. */
export async function proposeDecision(
  ctx: PaymentsContext,
  decider: Decider,
  caseId: string,
  request: DecisionRequest,
): Promise<Decision> {
  const at = ctx.clock.now();
  const holderId = holderOfUuid(caseId);
  checkRequest(request);
  const proposed = await ctx.db.transaction(async (tx) => {
    const { each, transaction } = await requireOpenCase(tx, decider, caseId);
    if (!decisionsFor(each, transaction).includes(request.action))
      throw new Problem('invalid_params', { message: 'This cannot be decided about this case.' });
    checkDecimals(ctx, transaction, request);
    if (!decider.isAdmin && ADMINS_ONLY.includes(request.action))
      throw new Problem('forbidden', { message: 'Only an admin can propose this.' });
    const decision: Decision = {
      holder_id: holderId,
      id: createHolderUuid(at.getTime(), holderId),
      case_id: caseId,
      action: request.action,
      amount: request.action === 'settle_amount' ? (request.amount ?? null) : null,
      to_holder: request.action === 'credit_holder' ? (request.toHolder ?? null) : null,
      reason: request.reason,
      reference: request.reference,
      document_type: request.document?.type ?? null,
      status: 'proposed',
      proposed_by: decider.actor.name,
      proposed_by_member: decider.actor.memberId,
      proposed_at: at,
      decided_by: null,
      decided_by_member: null,
      decided_at: null,
    };
    await insertDecision(tx, decision, request.document ?? null);
    await auditDecision(tx, decider.actor, decision, 'proposed', at);
    return decision;
  });
  failpoint('decision-proposed');
  return proposed;
}

function checkRequest({ action, reason, reference, amount, toHolder }: DecisionRequest): void {
  const errors: Record<string, string[]> = {};
  const length = Array.from(reason).length;
  if (length < MIN_REASON_CHARACTERS || length > MAX_DECISION_REASON_CHARACTERS)
    errors.reason = [`Write a reason of ${MIN_REASON_CHARACTERS} to ${MAX_DECISION_REASON_CHARACTERS} characters.`];
  const referenceLength = Array.from(reference).length;
  if (referenceLength < 1 || referenceLength > MAX_DECISION_REFERENCE_CHARACTERS)
    errors.reference = [
      `Name the receipt or statement line, in at most ${MAX_DECISION_REFERENCE_CHARACTERS} characters.`,
    ];
  if (action === 'settle_amount' && (amount ?? 0n) <= 0n) errors.amount = ['Enter the amount that was paid.'];
  if (action === 'credit_holder' && !toHolder) errors.holder = ['Choose the account that the money belongs to.'];
  if (Object.keys(errors).length > 0) throw new Problem('invalid_params', { errors });
}

/** An amount that the method cannot take was not paid, and could not be given back. */
function checkDecimals(
  { catalog }: PaymentsContext,
  transaction: Transaction | null,
  { action, amount }: DecisionRequest,
): void {
  const method = transaction && catalog.methods.get(transaction.method);
  if (action !== 'settle_amount' || !amount || !method) return;
  const { decimals } = method.collection;
  if (amount % 10n ** BigInt(2 - decimals) !== 0n)
    throw new Problem('invalid_params', {
      errors: { amount: [`${method.name} takes at most ${decimals} decimals of ${method.currency}.`] },
    });
}

/**
 * Approves a decision and carries it out. The operator is asked first: when it answers, its answer counts and the
 * decision is overtaken.
 */
export async function approveDecision(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'apply' | 'wake'>,
  decider: Decider,
  ref: string,
): Promise<Decision> {
  const proposed = await requireDecision(ctx, ref);
  if (!decider.isAdmin) throw new Problem('forbidden', { message: 'Only an admin can approve a decision.' });
  const { isAnswered, reversal } = await answeredByOperator(ctx, engine, proposed);
  if (isAnswered) {
    await ctx.db.transaction((tx) => endDecision(tx, ctx, decider.actor, proposed, 'overtaken'));
    throw new Problem('decision_overtaken');
  }
  failpoint('decision-asked');
  const { decision, events } = await carryOutOnce(ctx, decider, proposed).catch(async (error: unknown) => {
    // Only a proposal that can still be approved may stay open: it keeps others from proposing.
    if (error instanceof Problem && error.code === 'decision_overtaken')
      await ctx.db.transaction((tx) => endDecision(tx, ctx, decider.actor, proposed, 'overtaken'));
    throw error;
  });
  failpoint('decision-committed');
  ctx.sendCallbacksNow(events);
  // The operator said that it was reversed, and people settled what came before: both are true, in this order.
  if (reversal && SETTLES.includes(decision.action))
    await engine
      .apply(reversal)
      .catch((error: unknown) => ctx.log.warn({ err: error }, 'a reversal waits for the operator to report it again'));
  engine.wake();
  return decision;
}

const SETTLES: readonly DecisionAction[] = ['settle_success', 'settle_amount'];

async function carryOutOnce(
  ctx: PaymentsContext,
  decider: Decider,
  proposed: Decision,
): Promise<{ decision: Decision; events: RecordedEvent[] }> {
  const at = ctx.clock.now();
  const fee = await settledFee(ctx, proposed);
  return ctx.db.transaction(async (tx) => {
    const { each, transaction } = await requireOpenCase(tx, decider, proposed.case_id);
    const locked = await lockDecision(tx, proposed);
    if (!decisionsFor(each, transaction).includes(locked.action)) throw new Problem('decision_overtaken');
    if (transaction && !NOT_FOUND_KINDS.includes(each.kind)) await refuseWhileSending(tx, transaction, at);
    const approved = await approve(tx, decider.actor, locked, at);
    const events = await carryOut(tx, ctx, decider.actor, approved, { each, transaction, fee });
    await auditDecision(tx, decider.actor, approved, 'approved', at);
    failpoint('decision-approving');
    return { decision: approved, events };
  });
}

async function approve(tx: Tx, actor: Decider['actor'], decision: Decision, at: Date): Promise<Decision> {
  try {
    return await writeDecisionStatus(tx, decision, 'approved', actor, at);
  } catch (error) {
    if (violatedConstraint(error) === 'decision_by_two_people')
      throw new Problem('forbidden', {
        message: 'A decision must be approved by somebody other than the person who proposed it.',
      });
    throw error;
  }
}

/** Rejects a proposed decision; the person who proposed it withdraws it. The case stays open. */
export async function rejectDecision(ctx: PaymentsContext, decider: Decider, ref: string): Promise<void> {
  const proposed = await requireDecision(ctx, ref);
  if (!decider.isAdmin && proposed.proposed_by_member !== decider.actor.memberId)
    throw new Problem('forbidden', { message: 'Only an admin, or the person who proposed it, can reject a decision.' });
  await ctx.db.transaction((tx) => endDecision(tx, ctx, decider.actor, proposed, 'rejected'));
}

async function endDecision(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Decider['actor'],
  proposed: Decision,
  status: 'rejected' | 'overtaken',
): Promise<void> {
  const at = ctx.clock.now();
  const decision = await writeDecisionStatus(tx, await lockDecision(tx, proposed), status, actor, at);
  await auditDecision(tx, actor, decision, status, at);
}

async function requireOpenCase(
  tx: Tx,
  decider: Decider,
  caseId: string,
): Promise<{ each: Case; transaction: Transaction | null }> {
  const found = await findCase(tx, caseId);
  const allowed = found && (decider.isAdmin || found.holder_id === decider.holderId);
  if (!allowed) throw new Problem('not_found', { message: 'There is no such case.' });
  await lockBefore(tx, found);
  const each = await findCase(tx, caseId, 'locked');
  if (each?.status !== 'open') throw new Problem('decision_overtaken');
  const id = each.transaction_id;
  return { each, transaction: id === null ? null : await findTransaction(tx, each.holder_id, id) };
}

/** What applyOutcomes and postings lock before the case: its transaction, a refund after its collection, and the accounts. */
async function lockBefore(tx: Tx, { holder_id, transaction_id, kind, currency, rail, opened_at }: Case): Promise<void> {
  if (transaction_id !== null)
    await tx.query(
      `select from transactions t
       where t.holder_id = $1 and t.id in
         (select $2::uuid union all select collection_id from refund_orders where holder_id = $1 and transaction_id = $2)
       order by t.id for no key update of t`,
      [holder_id, transaction_id],
    );
  if (kind === 'debt' && currency !== null) await lockAccounts(tx, [holderReceivable(holder_id, currency)], opened_at);
  if (kind === 'dispute' && currency !== null && rail !== null)
    await lockAccounts(tx, disputeAccounts(holder_id, currency, rail), opened_at);
}

async function requireDecision(ctx: PaymentsContext, ref: string): Promise<Decision> {
  const id = uuidFromPublicId('dec', ref);
  const decision = id === null ? null : await findDecision(ctx.db, id);
  if (!decision) throw new Problem('not_found', { message: 'There is no such decision.' });
  return decision;
}

function auditDecision(tx: Tx, actor: Actor, decision: Decision, verb: Decision['status'], at: Date): Promise<void> {
  const { action, reason, reference, case_id: caseId } = decision;
  return recordAudit(
    tx,
    {
      holderId: decision.holder_id === 0n ? null : decision.holder_id,
      actor,
      action: `decision.${verb}`,
      subject: publicId('dec', decision.id),
      details: { action, reason, reference, case: publicId('case', caseId) },
    },
    at,
  );
}
