// The end of a dispute, in the transaction that approves the decision about it, or applies the operator's notice: what was held is
// released or given back, and the totals of the collection, the dispute and its case follow.

import type { RecordedEvent } from '../callbacks/events.ts';
import { type PostingGroup, postEach } from '../ledger/ledger.ts';
import { disputeLost, disputeWon } from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { type Case, settleCaseMoney } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';
import { type Dispute, factOf, findDispute } from './disputes.ts';
import { applyOutcomes } from './outcomes.ts';
import { endDisputed, givenBack } from './refund-orders.ts';
import type { Outcome } from './states.ts';
import type { Transaction } from './transactions.ts';

/** `source`, `raw`: who says so, and with what. */
export type DisputeEnd = { isLost: boolean; source: 'person' | 'callback'; raw: string };

/** The accounts of the dispute and its collection are locked already, so `short` is what is lacking now. */
export async function endDispute(
  tx: Tx,
  ctx: PaymentsContext,
  { isLost, ...evidence }: DisputeEnd,
  { each, transaction }: { each: Case; transaction: Transaction | null },
  note: { by: string; resolution: string },
): Promise<RecordedEvent[]> {
  const at = ctx.clock.now();
  const dispute = await findDispute(tx, each.id);
  if (dispute?.status !== 'open' || !transaction) throw new Problem('decision_overtaken');
  const totals = await endDisputed(tx, transaction, {
    amount: dispute.amount,
    feeReturned: dispute.fee_returned,
    isLost,
  });
  await tx.query('update disputes set status = $3, ended_at = $4 where holder_id = $1 and case_id = $2', [
    dispute.holder_id,
    dispute.case_id,
    isLost ? 'lost' : 'won',
    at,
  ]);
  const group = isLost ? lostGroup(dispute, transaction) : { transfers: disputeWon(factOf(dispute)), mayBorrow: false };
  // A refund that succeeded late may have reversed the collection already: then both have given it back.
  const reverses = isLost && transaction.status === 'success' && givenBack(totals) >= transaction.amount;
  const events = reverses ? await reverse(tx, ctx, evidence, transaction, group) : await move(tx, ctx, group, at);
  await settleCaseMoney(tx, [{ caseId: each.id, amount: dispute.amount, ...note }], at);
  return events;
}

function lostGroup(dispute: Dispute, { rail }: Transaction): PostingGroup {
  const fact = { ...factOf(dispute), rail, feeReturned: dispute.fee_returned };
  return { transfers: disputeLost(fact), mayBorrow: true };
}

async function move(tx: Tx, ctx: PaymentsContext, group: PostingGroup, at: Date): Promise<RecordedEvent[]> {
  const [result] = await postEach(tx, [group], at);
  if (!result?.ok) throw new Error('the ledger refused the end of a dispute');
  await recordDebts(tx, ctx, result.transfers, at);
  return [];
}

/** Nothing is left of the collection: it is reversed, like one whose refunds have given all of it back. */
async function reverse(
  tx: Tx,
  ctx: PaymentsContext,
  evidence: Pick<DisputeEnd, 'source' | 'raw'>,
  { id, rail }: Transaction,
  group: PostingGroup,
): Promise<RecordedEvent[]> {
  const outcome: Outcome = {
    transactionId: id,
    ...evidence,
    ...(evidence.source === 'callback' ? { rail } : {}),
    observation: { state: 'reversed', receipt: null, rawCode: '', message: 'the dispute was lost' },
  };
  const { applied, events } = await applyOutcomes(tx, ctx, [outcome], [group]);
  if (applied[0]?.effect !== 'applied') throw new Problem('decision_overtaken');
  return events;
}
