// The transactions that a batch of outcomes is about, locked and read with everything that decides what an outcome does: the
// job, open cases, refunds. Outcomes change these copies; applyOutcomes writes them.

import type { Transfer } from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { holderOfUuid, isRefundId } from '../platform/ids.ts';
import { byHolder, queryByHolder } from '../platform/one-holder.ts';
import { isOneOf } from '../platform/queue-statement.ts';
import type { Observation } from '../rails/rail.ts';
import type { EnteredState } from './booking.ts';
import type { NextStep, ReadJob } from './next-job.ts';
import type { JobKind } from './payment-jobs.ts';
import {
  givenBack,
  givingBack,
  lockRefundTotals,
  type RefundOrder,
  type RefundTotals,
  readRefundOrders,
} from './refund-orders.ts';
import type { ReserveRule } from './rolling-reserve.ts';
import type { CaseKind, Outcome } from './states.ts';
import { lockTransactions, TRANSACTION_KEYS, type Transaction } from './transactions.ts';

type Money = { amount: bigint; currency: string };

/** A locked transaction and what its outcomes change. */
export type OutcomeSubject = {
  row: Transaction;
  changed: boolean;
  amended: boolean;
  job: ReadJob | null;
  hasCases: boolean;
  /** It counts under a limit of its holder. */
  limited: boolean;
  /** What the holder's rolling reserve takes of a collection; null: nothing. */
  reserve: ReserveRule | null;
  /** Of a refund: its order, and the collection that it gives back. */
  refund: { order: RefundOrder; collection: OutcomeSubject } | null;
  /** Of a collection that has refunds, where an outcome needs them. */
  totals: RefundTotals | null;
  totalsChanged: boolean;
  /** Money of this collection that came before its success, and is in suspense. */
  released: Transfer[];
  /** Its receipt belongs to another transaction. */
  receiptTaken: boolean;
  /** The receipt of money in suspense that people settle it with. */
  heldReceipt: string | null;
  /** It is `reversed` because people said so, and not the operator. */
  reversedByPeople: boolean;
  /** What arrived under its receipt, where that is not what was asked for. */
  received: Money | null;
  /** What came for it with another amount, and is in suspense. */
  wrongAmount: Money | null;
  /** The states entered, in order. */
  entered: EnteredState[];
  /** With what the operator reported. */
  cases: { kind: CaseKind; observation: Observation }[];
  answered: readonly CaseKind[];
  next: NextStep | null;
};
/** Sorted, so that two batches over the same transactions cannot deadlock; totals of refunds after their collections. */
export async function lockSubjects(tx: Tx, outcomes: Outcome[]): Promise<Map<string, OutcomeSubject>> {
  const ids = [...new Set(outcomes.map((outcome) => outcome.transactionId))];
  const orders = await readRefundOrders(tx, ids.filter(isRefundId));
  const collectionIds = [...orders.values()].map((order) => order.collection_id);
  const subjects = await lockRows(tx, [...new Set([...ids, ...collectionIds])]);
  const reversed = outcomes
    .filter(({ transactionId, observation }) => observation.state === 'reversed' && !isRefundId(transactionId))
    .map((outcome) => outcome.transactionId);
  const totals = await lockRefundTotals(tx, [...collectionIds, ...reversed]);
  for (const subject of subjects.values()) subject.totals = totals.get(subject.row.id) ?? null;
  for (const subject of subjects.values()) {
    if (subject.row.direction !== 'refund') continue;
    const order = orders.get(subject.row.id);
    const collection = order && subjects.get(order.collection_id);
    if (!order || !collection?.totals) throw new Error(`refund ${subject.row.id} has no collection`);
    subject.refund = { order, collection };
  }
  return subjects;
}

async function lockRows(tx: Tx, ids: string[]): Promise<Map<string, OutcomeSubject>> {
  // Two statements, sent together: the second sees what the owner of a lock wrote while the first waited for it.
  const [rows, surroundings] = await Promise.all([lockTransactions(tx, ids), readSurroundings(tx, ids)]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        row,
        changed: false,
        amended: false,
        job: surroundings.get(row.id)?.job ?? null,
        hasCases: surroundings.get(row.id)?.hasCases ?? false,
        reserve: surroundings.get(row.id)?.reserve ?? null,
        limited: surroundings.get(row.id)?.limited ?? false,
        refund: null,
        totals: null,
        totalsChanged: false,
        released: [],
        receiptTaken: false,
        heldReceipt: null,
        reversedByPeople: false,
        received: null,
        wrongAmount: null,
        entered: [],
        cases: [],
        answered: [],
        next: null,
      },
    ]),
  );
}

type SurroundingsRow = Pick<ReadJob, 'attempts' | 'since' | 'resume'> & {
  id: string;
  kind: JobKind | null;
  submitted_at: Date | null;
  has_cases: boolean;
  limited: boolean;
  basis_points: number | null;
  days: number | null;
};

const SURROUNDINGS = byHolder(
  'read_jobs_and_cases',
  3,
  (ofOne) => `
    select input.id, j.kind, j.attempts, j.since, j.submitted_at, j.resume,
      exists (select from cases c where c.holder_id = input.holder_id and c.transaction_id = input.id and c.status = 'open'
                and ${ofOne('c')}) as has_cases,
      exists (select from limit_parts l where l.holder_id = input.holder_id and l.transaction_id = input.id
                and ${ofOne('l')}) as limited,
      r.basis_points, r.days
    from ${TRANSACTION_KEYS.rows}
    left join payment_jobs j
      on ${isOneOf('j.holder_id', 'input.holder_id')} and ${isOneOf('j.transaction_id', 'input.id')} and ${ofOne('j')}
    left join reserve_rules r on r.holder_id = input.holder_id and ${ofOne('r')}`,
  { byIndex: true },
);

/** The jobs of transactions, whether they have open cases, and the rolling reserve of their holders. */
async function readSurroundings(
  tx: Tx,
  ids: string[],
): Promise<Map<string, Pick<OutcomeSubject, 'job' | 'hasCases' | 'reserve' | 'limited'>>> {
  const rows = await queryByHolder<SurroundingsRow, string>(tx, SURROUNDINGS, TRANSACTION_KEYS, ids, holderOfUuid);
  return new Map(
    rows.map(
      ({ id, kind, attempts, since, submitted_at: submittedAt, resume, has_cases: hasCases, limited, ...rule }) => [
        id,
        {
          job: kind === null ? null : { kind, attempts, since, submittedAt, resume },
          hasCases,
          limited,
          reserve:
            rule.basis_points === null || rule.days === null
              ? null
              : { basisPoints: BigInt(rule.basis_points), days: rule.days },
        },
      ],
    ),
  );
}

/** People may have been wrong: an operator that reports success after their reversal contradicts them. */
export async function markDecidedReversals(
  tx: Tx,
  outcomes: Outcome[],
  subjects: Map<string, OutcomeSubject>,
): Promise<void> {
  const doubtful = outcomes.filter(
    ({ transactionId, observation }) =>
      observation.state === 'succeeded' && subjects.get(transactionId)?.row.status === 'reversed',
  );
  if (doubtful.length === 0) return;
  const rows = await tx.query<{ id: string }>(
    `select distinct v.transaction_id as id from ${TRANSACTION_KEYS.rows}
     join evidence v on v.holder_id = input.holder_id and v.transaction_id = input.id
     where v.source = 'person' and v.state = 'reversed' and v.effect = 'applied'`,
    TRANSACTION_KEYS.arrays(doubtful.map(({ transactionId }) => transactionId)),
  );
  for (const { id } of rows) {
    const subject = subjects.get(id);
    if (subject) subject.reversedByPeople = true;
  }
}

export function progressOf({ totals }: OutcomeSubject): { underWay: bigint; givenBack: bigint } {
  return { underWay: givingBack(totals), givenBack: givenBack(totals) };
}
