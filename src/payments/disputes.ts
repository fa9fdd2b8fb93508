// Disputes: a payer, or the operator, asks for the money of a collection back. The amount is held from the moment the dispute is
// opened; what the wallet lacks is brought by the next credits. Two people decide (decisions.ts): won, and the money is released;
// or lost, and it is given back with what the gateway returns of its fee. Only what is lacking then becomes a debt.

import { refundedFee } from '../catalog/amounts.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { lockAccounts } from '../ledger/accounts.ts';
import {
  type AccountRef,
  accountKey,
  feeIncome,
  operatorClearing,
  walletAvailable,
  walletDisputed,
} from '../ledger/chart.ts';
import { postEach } from '../ledger/ledger.ts';
import { disputeOpened } from '../ledger/postings.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createHolderUuid, holderOfUuid, publicId } from '../platform/ids.ts';
import { formatAmount, lesserOf } from '../platform/money.ts';
import { findCase, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import type { DecisionDocument } from './decision-rows.ts';
import { addToDisputed, leftToRefund, lockRefundTotals } from './refund-orders.ts';
import { idFromRef, refOf, TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

export const DISPUTE_ANSWER_DAYS = 7;
export const MAX_ANSWER_DAYS = 365;
export const MIN_DISPUTE_REASON = 3;
export const MAX_DISPUTE_REASON = 500;
export const MAX_DISPUTE_REFERENCE = 120;
export const MAX_DISPUTE_NOTE = 4_000;
const MAX_LISTED = 100;

export type Dispute = {
  holder_id: bigint;
  case_id: string;
  transaction_id: string;
  amount: bigint;
  fee_returned: bigint;
  short: bigint;
  currency: string;
  source: 'operator' | 'person';
  reason: string;
  reference: string | null;
  answer_by: Date;
  status: 'open' | 'won' | 'lost';
  opened_by: string;
  opened_at: Date;
  ended_at: Date | null;
};

const COLUMNS = `d.holder_id, d.case_id, d.transaction_id, d.amount, d.fee_returned, d.short, d.currency, d.source, d.reason,
  d.reference, d.answer_by, d.status, d.opened_by, d.opened_at, d.ended_at`;

export type DisputeRequest = {
  /** The collection, by its ref. */
  collection: string;
  /** In hundredths; null: what was not given back of it. */
  amount: bigint | null;
  reason: string;
  /** The number of the operator's notice; null: a person says so. */
  reference: string | null;
  /** Until when evidence can be given; null: a week. */
  answerBy: Date | null;
};

/** Opens a dispute and holds its amount. */
export async function openDispute(ctx: PaymentsContext, actor: Actor, request: DisputeRequest): Promise<Dispute> {
  const opened = await ctx.db.transaction((tx) => openDisputeWithin(tx, ctx, actor, request));
  failpoint('dispute-opened');
  return opened;
}

export async function openDisputeWithin(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  request: DisputeRequest,
): Promise<Dispute> {
  const at = ctx.clock.now();
  const answerBy = request.answerBy ?? new Date(at.getTime() + DISPUTE_ANSWER_DAYS * DAY_MS);
  checkRequest(request, answerBy, at);
  const collection = await lockCollection(tx, request.collection);
  const plan = await planDispute(tx, ctx, collection, request.amount);
  const dispute: Dispute = {
    holder_id: collection.holder_id,
    case_id: createHolderUuid(at.getTime(), collection.holder_id),
    transaction_id: collection.id,
    ...plan,
    short: await holdAmount(tx, collection, plan, at),
    currency: collection.currency,
    source: request.reference === null ? 'person' : 'operator',
    reason: request.reason,
    reference: request.reference,
    answer_by: answerBy,
    status: 'open',
    opened_by: actor.name,
    opened_at: at,
    ended_at: null,
  };
  await postHold(tx, dispute, at);
  await writeDispute(tx, ctx, dispute, collection);
  await auditDispute(tx, actor, dispute, collection, at);
  failpoint('dispute-opening');
  return dispute;
}

function checkRequest({ reason, reference, amount }: DisputeRequest, answerBy: Date, at: Date): void {
  const errors: Record<string, string[]> = {};
  const length = Array.from(reason).length;
  if (length < MIN_DISPUTE_REASON || length > MAX_DISPUTE_REASON)
    errors.reason = [`Write a reason of ${MIN_DISPUTE_REASON} to ${MAX_DISPUTE_REASON} characters.`];
  if (reference !== null && (reference === '' || Array.from(reference).length > MAX_DISPUTE_REFERENCE))
    errors.reference = [`Name the notice in at most ${MAX_DISPUTE_REFERENCE} characters.`];
  if (amount !== null && amount <= 0n) errors.amount = ['The amount must be more than zero.'];
  if (answerBy <= at || answerBy.getTime() > at.getTime() + MAX_ANSWER_DAYS * DAY_MS)
    errors.answer_by = [`Choose a day within the next ${MAX_ANSWER_DAYS} days.`];
  if (Object.keys(errors).length > 0) throw new Problem('invalid_params', { errors });
}

async function lockCollection(tx: Tx, ref: string): Promise<Transaction> {
  const id = idFromRef(ref);
  const [collection] =
    id === null
      ? []
      : await tx.query<Transaction>(
          `select ${TRANSACTION_COLUMNS} from transactions t
           where t.holder_id = $1 and t.id = $2 and t.direction = 'collection' for no key update`,
          [holderOfUuid(id), id],
        );
  if (!collection) throw new Problem('transaction_not_found', { message: 'There is no such payment.' });
  if (collection.status !== 'success')
    throw notPossible('id', `This payment is ${collection.status}. Only a successful payment can be disputed.`);
  return collection;
}

type DisputePlan = Pick<Dispute, 'amount' | 'fee_returned'>;

/** What is disputed, counted in the totals of the collection: it can no longer be refunded. */
async function planDispute(
  tx: Tx,
  ctx: PaymentsContext,
  collection: Transaction,
  asked: bigint | null,
): Promise<DisputePlan> {
  const totals = (await lockRefundTotals(tx, [collection.id])).get(collection.id) ?? null;
  const left = leftToRefund(collection, totals);
  const amount = asked ?? left;
  if (left === 0n || amount > left)
    throw notPossible('amount', `${formatAmount(left)} ${collection.currency} of this payment can still be disputed.`);
  const method = ctx.catalog.methods.get(collection.method);
  const feeReturned = method
    ? refundedFee(method, collection, {
        amount,
        isRest: amount === left,
        returned: (totals?.fee_refunded ?? 0n) + (totals?.fee_under_way ?? 0n),
      })
    : 0n;
  await addToDisputed(tx, collection, { amount, feeReturned });
  return { amount, fee_returned: feeReturned };
}

/** Locks the wallet. Returns what it lacks. */
async function holdAmount(tx: Tx, collection: Transaction, plan: DisputePlan, at: Date): Promise<bigint> {
  const available = walletAvailable(collection.holder_id, collection.currency);
  const locked = await lockAccounts(tx, [available, walletDisputed(collection.holder_id, collection.currency)], at);
  const needed = plan.amount - plan.fee_returned;
  return needed - lesserOf(needed, locked.get(accountKey(available))?.balance ?? 0n);
}

async function postHold(tx: Tx, dispute: Dispute, at: Date): Promise<void> {
  const [result] = await postEach(tx, [disputeOpened(factOf(dispute))], at);
  if (!result?.ok) throw new Error(`the ledger refused to hold the amount of dispute ${dispute.case_id}`);
}

/** What the postings of a dispute are about: the part of the holder. */
export function factOf(dispute: Dispute) {
  return {
    holderId: dispute.holder_id,
    transactionId: dispute.case_id,
    currency: dispute.currency,
    amount: dispute.amount - dispute.fee_returned,
    short: dispute.short,
  };
}

/** Every account that the end of a dispute may move, locked together and before its case. */
export function disputeAccounts(holderId: bigint, currency: string, rail: string): AccountRef[] {
  return [
    walletAvailable(holderId, currency),
    walletDisputed(holderId, currency),
    operatorClearing(holderId, rail, currency),
    feeIncome(holderId, currency),
  ];
}

async function writeDispute(tx: Tx, ctx: Context, dispute: Dispute, { rail }: Transaction): Promise<void> {
  const { amount, currency, reason, reference } = dispute;
  await openCases(tx, ctx, [
    {
      id: dispute.case_id,
      holderId: dispute.holder_id,
      transactionId: dispute.transaction_id,
      kind: 'dispute',
      detail: { reason, ...(reference === null ? {} : { reference }) },
      money: { amount, currency, rail },
    },
  ]);
  try {
    await tx.query(
      `insert into disputes (holder_id, case_id, transaction_id, amount, fee_returned, short, currency, source, reason, reference,
                             answer_by, opened_by, opened_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        dispute.holder_id,
        dispute.case_id,
        dispute.transaction_id,
        amount,
        dispute.fee_returned,
        dispute.short,
        currency,
        dispute.source,
        reason,
        reference,
        dispute.answer_by,
        dispute.opened_by,
        dispute.opened_at,
      ],
    );
  } catch (error) {
    if (violatedConstraint(error) === 'dispute_notice_once')
      throw notPossible('reference', 'A dispute with this notice is recorded already.');
    throw error;
  }
}

function auditDispute(tx: Tx, actor: Actor, dispute: Dispute, collection: Transaction, at: Date): Promise<void> {
  return recordAudit(
    tx,
    {
      holderId: dispute.holder_id,
      actor,
      action: 'dispute.opened',
      subject: refOf(collection),
      details: {
        case: publicId('case', dispute.case_id),
        amount: String(dispute.amount),
        currency: dispute.currency,
        reason: dispute.reason,
        ...(dispute.reference === null ? {} : { reference: dispute.reference }),
      },
    },
    at,
  );
}

function notPossible(field: string, sentence: string): Problem {
  return new Problem('invalid_params', { errors: { [field]: [sentence] } });
}

export async function findDispute(reader: Reader, caseId: string): Promise<Dispute | null> {
  const [row] = await reader.query<Dispute>(
    `select ${COLUMNS} from disputes d where d.holder_id = $1 and d.case_id = $2`,
    [holderOfUuid(caseId), caseId],
  );
  return row ?? null;
}

/** The dispute with the operator's number. */
export async function findDisputeByReference(
  reader: Reader,
  { holder_id: holderId, id }: Transaction,
  reference: string,
): Promise<Dispute | null> {
  const [known] = await reader.query<Dispute>(
    `select ${COLUMNS} from disputes d where d.holder_id = $1 and d.transaction_id = $2 and d.reference = $3`,
    [holderId, id, reference],
  );
  return known ?? null;
}

/** Those that people opened without the operator's number, the oldest first. */
export function listDisputesWithoutReference(
  reader: Reader,
  { holder_id: holderId, id }: Transaction,
): Promise<Dispute[]> {
  return reader.query<Dispute>(
    `select ${COLUMNS} from disputes d
     where d.holder_id = $1 and d.transaction_id = $2 and d.status = 'open' and d.reference is null
     order by d.opened_at, d.case_id limit ${MAX_LISTED}`,
    [holderId, id],
  );
}

export async function setDisputeReference(tx: Tx, dispute: Dispute, reference: string): Promise<Dispute> {
  await tx.query('update disputes set reference = $3 where holder_id = $1 and case_id = $2', [
    dispute.holder_id,
    dispute.case_id,
    reference,
  ]);
  return { ...dispute, reference };
}

/** Disputes of one holder, or (null) of all, the newest first. */
export function listDisputes(reader: Reader, holderId: bigint | null, status?: Dispute['status']): Promise<Dispute[]> {
  return reader.query<Dispute>(
    `select ${COLUMNS} from disputes d
     where ($1::bigint is null or d.holder_id = $1) and ($2::text is null or d.status = $2)
     order by d.opened_at desc, d.case_id limit ${MAX_LISTED}`,
    [holderId, status ?? null],
  );
}

/** Open disputes of a holder whose evidence is due before this moment. */
export function listDisputesToAnswer(reader: Reader, holderId: bigint, before: Date): Promise<Dispute[]> {
  return reader.query<Dispute>(
    `select ${COLUMNS} from disputes d where d.holder_id = $1 and d.status = 'open' and d.answer_by < $2
     order by d.answer_by, d.case_id limit ${MAX_LISTED}`,
    [holderId, before],
  );
}

export type DisputeEvidence = {
  id: string;
  note: string;
  document_type: DecisionDocument['type'] | null;
  added_by: string;
  added_at: Date;
};

/** Adds a note, and a document where there is one, to an open dispute. `holderId`: null for an admin. */
export function addDisputeEvidence(
  ctx: Context,
  actor: Actor,
  holderId: bigint | null,
  caseId: string,
  evidence: { note: string; document: DecisionDocument | null },
): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const found = await findCase(tx, caseId, 'locked');
    if (found?.kind !== 'dispute' || (holderId !== null && found.holder_id !== holderId))
      throw new Problem('not_found', { message: 'There is no such dispute.' });
    if (found.status !== 'open') throw new Problem('decision_overtaken');
    const length = Array.from(evidence.note).length;
    if (length < 1 || length > MAX_DISPUTE_NOTE)
      throw new Problem('invalid_params', { errors: { note: [`Write at most ${MAX_DISPUTE_NOTE} characters.`] } });
    await insertDisputeEvidence(tx, actor, { holder_id: found.holder_id, case_id: caseId }, evidence, at);
    const subject = publicId('case', caseId);
    await recordAudit(tx, { holderId: found.holder_id, actor, action: 'dispute.evidence_added', subject }, at);
  });
}

/** False: the same note of the same author, without a document, is there already. */
export async function insertDisputeEvidence(
  tx: Tx,
  actor: Actor,
  dispute: Pick<Dispute, 'holder_id' | 'case_id'>,
  evidence: { note: string; document: DecisionDocument | null },
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into dispute_evidence (holder_id, id, case_id, note, document, document_type, added_by, added_at)
     select $1, $2, $3, $4, $5, $6, $7, $8
     where $5::bytea is not null or not exists (
       select from dispute_evidence where holder_id = $1 and case_id = $3 and note = $4 and added_by = $7)
     returning id`,
    [
      dispute.holder_id,
      createHolderUuid(at.getTime(), dispute.holder_id),
      dispute.case_id,
      evidence.note,
      evidence.document?.bytes ?? null,
      evidence.document?.type ?? null,
      actor.name,
      at,
    ],
  );
  return rows.length > 0;
}

export function listDisputeEvidence(reader: Reader, caseId: string): Promise<DisputeEvidence[]> {
  return reader.query<DisputeEvidence>(
    `select id, note, document_type, added_by, added_at from dispute_evidence
     where holder_id = $1 and case_id = $2 order by added_at, id limit ${MAX_LISTED}`,
    [holderOfUuid(caseId), caseId],
  );
}

export async function readDisputeDocument(
  reader: Reader,
  caseId: string,
  id: string,
): Promise<DecisionDocument | null> {
  const [row] = await reader.query<{ document: Buffer | null; document_type: DecisionDocument['type'] | null }>(
    'select document, document_type from dispute_evidence where holder_id = $1 and case_id = $2 and id = $3',
    [holderOfUuid(caseId), caseId, id],
  );
  return row?.document && row.document_type ? { bytes: row.document, type: row.document_type } : null;
}
