// Notices of an operator about a dispute: they open it and hold its amount, move its deadline, or say how it ended. An operator
// sends each several times, and in any order: the same notice again changes nothing. Only a loss that has taken the money ends a
// dispute; what else the operator says is added to its evidence, and people decide.

import type { RecordedEvent } from '../callbacks/events.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { lockAccounts } from '../ledger/accounts.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { holderOfUuid, publicId } from '../platform/ids.ts';
import { lesserOf } from '../platform/money.ts';
import type { DisputeNotice } from '../rails/rail.ts';
import { findCase, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { endDispute } from './dispute-end.ts';
import {
  type Dispute,
  disputeAccounts,
  findDisputeByReference,
  insertDisputeEvidence,
  listDisputesWithoutReference,
  MAX_ANSWER_DAYS,
  MAX_DISPUTE_REASON,
  MAX_DISPUTE_REFERENCE,
  MIN_DISPUTE_REASON,
  openDisputeWithin,
  setDisputeReference,
} from './disputes.ts';
import { visibleText } from './observations.ts';
import { findRefundTotals, leftToRefund } from './refund-orders.ts';
import { refOf, TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

const OPERATOR: Actor = { memberId: null, name: 'operator' };
const NO_REASON = 'The operator gives no reason.';

export type DisputeReport = { rail: string; transactionId: string; notice: DisputeNotice; raw: string };

/** Throws where the notice cannot be applied: it is then set aside with a case, like every report that cannot be right. */
export async function applyDisputeNotice(
  tx: Tx,
  ctx: PaymentsContext,
  { rail, transactionId, notice, raw }: DisputeReport,
): Promise<RecordedEvent[]> {
  const collection = await lockCollection(tx, transactionId, rail);
  if (!collection) throw new Error('a dispute about no payment of this connection');
  if (notice.id === '' || Array.from(notice.id).length > MAX_DISPUTE_REFERENCE)
    throw new Error('a dispute whose number cannot be right');
  const dispute = (await findDisputeByReference(tx, collection, notice.id)) ?? (await adopt(tx, collection, notice));
  if (!dispute) {
    if (notice.state === 'open') await open(tx, ctx, collection, notice);
    return [];
  }
  if (dispute.status !== 'open') return [];
  await note(tx, ctx, dispute, notice);
  if (notice.state !== 'lost') return [];
  return await lose(tx, ctx, dispute, collection, raw);
}

async function lockCollection(tx: Tx, id: string, rail: string): Promise<Transaction | null> {
  const [row] = await tx.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from transactions t
     where t.holder_id = $1 and t.id = $2 and t.rail = $3 and t.direction = 'collection' for no key update`,
    [holderOfUuid(id), id, rail],
  );
  return row ?? null;
}

/** A dispute that a person opened before the notice came has its number from then on, if both are about the same money. */
async function adopt(tx: Tx, collection: Transaction, { id, amount }: DisputeNotice): Promise<Dispute | null> {
  const open = await listDisputesWithoutReference(tx, collection);
  if (open.length === 0) return null;
  const left = leftToRefund(collection, await findRefundTotals(tx, collection.holder_id, collection.id));
  // Of a payment that was refunded in part, the operator may dispute more than there is.
  const isSame = (dispute: Dispute) => amount === null || lesserOf(amount, dispute.amount + left) === dispute.amount;
  const dispute = open.find(isSame);
  if (!dispute) throw new Error('a dispute about another amount than the one that a person opened');
  return await setDisputeReference(tx, dispute, id);
}

async function open(tx: Tx, ctx: PaymentsContext, collection: Transaction, notice: DisputeNotice): Promise<void> {
  // The end of the dispute came first, and the operator was asked: the money is back with the payer.
  if (collection.status === 'reversed') return;
  if (collection.status !== 'success') throw new Error(`a dispute about a payment that is ${collection.status}`);
  if (notice.currency !== null && notice.currency !== collection.currency)
    throw new Error(`a dispute in ${notice.currency} about a payment in ${collection.currency}`);
  const totals = await findRefundTotals(tx, collection.holder_id, collection.id);
  const left = leftToRefund(collection, totals);
  const underWay = totals?.under_way ?? 0n;
  if (underWay > 0n && (notice.amount ?? left + underWay) > left) await keepRefundsBack(tx, ctx, collection, notice);
  // The operator sends a reminder: once the refund is cancelled, that opens the dispute.
  if (left === 0n && underWay > 0n) return;
  if (left === 0n) throw new Error('a dispute about a payment of which nothing is left');
  const reason = textOf(notice.reason).trim();
  await openDisputeWithin(tx, ctx, OPERATOR, {
    collection: refOf(collection),
    amount: notice.amount === null ? null : lesserOf(notice.amount, left),
    reason: Array.from(reason).length < MIN_DISPUTE_REASON ? NO_REASON : reason,
    reference: notice.id,
    answerBy: answerBy(ctx, notice),
  });
}

/** What the operator wrote, as it can be stored and shown. */
function textOf(said: string): string {
  return visibleText(said).slice(0, MAX_DISPUTE_REASON).toWellFormed();
}

/** The payer asks both sides for the same money. What was not sent yet waits until people have decided which of them gives it back. */
function keepRefundsBack(tx: Tx, ctx: PaymentsContext, collection: Transaction, notice: DisputeNotice): Promise<void> {
  const { id: reference, amount } = notice;
  const said = { reason: textOf(notice.reason), message: textOf(notice.message) };
  const detail = { reference, ...said, ...(amount === null ? {} : { amount: String(amount) }) };
  const { holder_id: holderId, id: transactionId } = collection;
  return openCases(tx, ctx, [{ holderId, transactionId, kind: 'contradiction', detail }]);
}

/** Null where the operator names no day, or one that nobody can keep: the usual time counts. */
function answerBy({ clock }: PaymentsContext, notice: DisputeNotice): Date | null {
  const now = clock.millis();
  const day = notice.answerBy?.getTime() ?? 0;
  return day > now && day <= now + MAX_ANSWER_DAYS * DAY_MS ? notice.answerBy : null;
}

/** What the notice says anew: another deadline, or the operator's decision. */
async function note(tx: Tx, ctx: PaymentsContext, dispute: Dispute, notice: DisputeNotice): Promise<void> {
  const at = ctx.clock.now();
  const by = answerBy(ctx, notice);
  const isMoved = by !== null && by.getTime() !== dispute.answer_by.getTime();
  if (notice.state === 'open' && !isMoved) return;
  if (isMoved)
    await tx.query('update disputes set answer_by = $3 where holder_id = $1 and case_id = $2', [
      dispute.holder_id,
      dispute.case_id,
      by,
    ]);
  const said = textOf(notice.message);
  const day = isMoved ? ` Answer by ${by.toISOString().slice(0, 10)}.` : '';
  const isNew = await insertDisputeEvidence(tx, OPERATOR, dispute, { note: `${said}${day}`, document: null }, at);
  if (!isNew) return;
  const subject = publicId('case', dispute.case_id);
  const { holder_id: holderId } = dispute;
  await recordAudit(tx, { holderId, actor: OPERATOR, action: 'dispute.evidence_added', subject }, at);
}

async function lose(
  tx: Tx,
  ctx: PaymentsContext,
  dispute: Dispute,
  collection: Transaction,
  raw: string,
): Promise<RecordedEvent[]> {
  const { holder_id: holderId, currency, case_id: caseId, opened_at: openedAt } = dispute;
  await lockAccounts(tx, disputeAccounts(holderId, currency, collection.rail), openedAt);
  const each = await findCase(tx, caseId, 'locked');
  if (each?.status !== 'open') return [];
  const end = { isLost: true, source: 'callback', raw } as const;
  const resolution = `dispute_lost: the operator took the money back (${dispute.reference ?? ''})`;
  const events = await endDispute(tx, ctx, end, { each, transaction: collection }, { by: OPERATOR.name, resolution });
  const details = { case: publicId('case', caseId), amount: String(dispute.amount), currency };
  await recordAudit(
    tx,
    { holderId, actor: OPERATOR, action: 'dispute.lost', subject: refOf(collection), details },
    ctx.clock.now(),
  );
  return events;
}
