// Cases: what people must decide. A case is opened once per transaction and kind; a case that holds money (in suspense, or
// owed by the holder) once for each sum. It closes when its money is even: by a decision, by the operator's answer, or by
// the recovery of a debt. Only a case that reports a fact, and holds nothing, is closed by a note.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createHolderUuid, holderOfUuid, NO_HOLDER } from '../platform/ids.ts';
import type { CaseKind } from './states.ts';

const MAX_CASES_OF_TRANSACTION = 50;

export type NewCase = {
  /** Given where money in suspense is posted under the id of the case. */
  id?: string;
  /** NO_HOLDER: the holder is not known. */
  holderId: bigint;
  transactionId: string | null;
  kind: CaseKind;
  detail: Record<string, unknown>;
  /** What the case holds: in suspense, where `rail` says where it came from, or owed by the holder. */
  money?: CaseMoney;
};

type CaseMoney = { amount: bigint; currency: string; rail?: string };

export type Case = {
  id: string;
  holder_id: bigint;
  transaction_id: string | null;
  kind: CaseKind;
  detail: Record<string, unknown>;
  status: 'open' | 'resolved';
  opened_at: Date;
  resolved_at: Date | null;
  resolved_by: string | null;
  resolution: string | null;
  amount: bigint | null;
  currency: string | null;
  /** How much of `amount` has been moved on. */
  settled: bigint;
  rail: string | null;
};

/** Cases that report a fact. Every other kind stands for a decision, or for money. */
const CLOSED_BY_NOTE: readonly CaseKind[] = ['late_success', 'link_paid_twice', 'unreadable_report', 'payer_report'];

/** Whether a note is enough to close the case. */
export function closesByNote({ kind, amount }: Pick<Case, 'kind' | 'amount'>): boolean {
  return amount === null && CLOSED_BY_NOTE.includes(kind);
}

const CASES = columns<NewCase & { id: string }>(2, {
  holder_id: ['bigint', (entry) => entry.holderId],
  id: 'uuid',
  transaction_id: ['uuid', (entry) => entry.transactionId],
  kind: 'text',
  detail: ['jsonb', (entry) => JSON.stringify(entry.detail)],
  amount: ['bigint', (entry) => entry.money?.amount ?? null],
  currency: ['text', (entry) => entry.money?.currency ?? null],
  rail: ['text', (entry) => entry.money?.rail ?? null],
});

export async function openCases(tx: Tx, ctx: Context, cases: NewCase[]): Promise<void> {
  if (cases.length === 0) return;
  const at = ctx.clock.now();
  const rows = cases.map((entry) => ({ ...entry, id: entry.id ?? createHolderUuid(at.getTime(), entry.holderId) }));
  await tx.query(
    `insert into cases (${CASES.names}, opened_at) select ${CASES.names}, $1 from ${CASES.rows}
     on conflict (holder_id, transaction_id, kind)
       where status = 'open' and kind not in ('wrong_amount', 'second_payment', 'debt', 'unreadable_report', 'unknown_reference', 'dispute')
     do nothing`,
    [at, ...CASES.arrays(rows)],
  );
}

/** The operator answered that it does not know what it was sent. */
export const NOT_FOUND_KINDS: readonly CaseKind[] = ['payout_not_found', 'refund_not_found'];

/** A case of any holder; `locked` keeps it from changing until the transaction ends. */
export async function findCase(reader: Reader, id: string, lock?: 'locked'): Promise<Case | null> {
  const [row] = await reader.query<Case>(
    `select * from cases where holder_id = $1 and id = $2 ${lock ? 'for update' : ''}`,
    [holderOfUuid(id), id],
  );
  return row ?? null;
}

/** Every case about one transaction. */
export function listCasesOf(reader: Reader, holderId: bigint, transactionId: string): Promise<Case[]> {
  return reader.query<Case>(
    `select * from cases where holder_id = $1 and transaction_id = $2
     order by opened_at limit ${MAX_CASES_OF_TRANSACTION}`,
    [holderId, transactionId],
  );
}

/** Closes a case that reports a fact and holds no money. Returns false when there is no such open case. */
export async function resolveCase(
  tx: Tx,
  holderId: bigint,
  id: string,
  by: string,
  resolution: string,
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `update cases set status = 'resolved', resolved_at = $3, resolved_by = $4, resolution = $5
     where holder_id = $1 and id = $2 and status = 'open' and amount is null and kind = any($6) returning id`,
    [holderId, id, at, by, resolution, CLOSED_BY_NOTE],
  );
  return rows.length > 0;
}

/** Closes a case of any holder. Returns the holder (null: none), or undefined when there is no such open case. For admins. */
export async function resolveAnyCase(
  tx: Tx,
  id: string,
  by: string,
  resolution: string,
  at: Date,
): Promise<bigint | null | undefined> {
  const holderId = holderOfUuid(id);
  if (!(await resolveCase(tx, holderId, id, by, resolution, at))) return undefined;
  return holderId === NO_HOLDER ? null : holderId;
}

/** Part of a statement: nobody can approve a proposal about a case that `changed` has closed. $1 is the time. */
const END_PROPOSALS = `ended as (
  update decisions d set status = 'overtaken', decided_by = changed.resolved_by, decided_at = $1
  from changed
  where changed.status = 'resolved' and d.holder_id = changed.holder_id and d.case_id = changed.id and d.status = 'proposed'
)`;

/** Money of a case that was moved on, and who decided that. */
export type SettledMoney = { caseId: string; amount: bigint; by: string; resolution: string };

const SETTLED_MONEY = columns<SettledMoney>(2, {
  holder_id: ['bigint', (entry) => holderOfUuid(entry.caseId)],
  id: ['uuid', (entry) => entry.caseId],
  amount: 'bigint',
  by: 'text',
  resolution: 'text',
});

/** Moves the money of cases on, each case once, and closes those that are even now. */
export async function settleCaseMoney(tx: Tx, settled: SettledMoney[], at: Date): Promise<void> {
  if (settled.length === 0) return;
  const rows = await tx.query(
    `with changed as (
       update cases c set settled = c.settled + input.amount,
         status = case when c.settled + input.amount = c.amount then 'resolved' else 'open' end,
         resolved_at = case when c.settled + input.amount = c.amount then $1::timestamptz end,
         resolved_by = case when c.settled + input.amount = c.amount then input.by end,
         resolution = case when c.settled + input.amount = c.amount then input.resolution end
       from ${SETTLED_MONEY.rows}
       where c.holder_id = input.holder_id and c.id = input.id and c.status = 'open'
       returning c.holder_id, c.id, c.status, c.resolved_by
     ), ${END_PROPOSALS}
     select 1 from changed`,
    [at, ...SETTLED_MONEY.arrays(settled)],
  );
  if (rows.length !== settled.length) throw new Error('a case whose money moves is not open');
}

/** Closes a case without money that two people have decided, unless the outcome of the decision has closed it. */
export async function closeDecidedCase(tx: Tx, each: Case, by: string, resolution: string, at: Date): Promise<void> {
  await tx.query(
    `update cases set status = 'resolved', resolved_at = $3, resolved_by = $4, resolution = $5
     where holder_id = $1 and id = $2 and (status = 'open' or resolved_at = $3)`,
    [each.holder_id, each.id, at, by, resolution],
  );
}

type AnsweredCases = {
  transactionId: string;
  kinds: readonly CaseKind[];
  /** Only cases about this state that the operator reported. */
  reported?: string;
  resolution: string;
};

const ANSWERED = columns<Omit<AnsweredCases, 'kinds'> & { kind: CaseKind }>(2, {
  holder_id: ['bigint', (entry) => holderOfUuid(entry.transactionId)],
  transaction_id: ['uuid', (entry) => entry.transactionId],
  kind: 'text',
  resolution: 'text',
  reported: ['text', (entry) => entry.reported ?? null],
});

/** Closes open cases that an outcome has answered. A case that holds money stays open. */
export async function closeAnsweredCases(tx: Tx, answered: AnsweredCases[], by: string, at: Date): Promise<void> {
  const entries = answered.flatMap(({ kinds, ...rest }) => kinds.map((kind) => ({ ...rest, kind })));
  if (entries.length === 0) return;
  await tx.query(
    `with changed as (
       update cases c set status = 'resolved', resolved_at = $1, resolved_by = $7, resolution = input.resolution
       from ${ANSWERED.rows}
       where c.holder_id = input.holder_id and c.transaction_id = input.transaction_id and c.kind = input.kind
         and c.status = 'open' and c.amount is null
         and (input.reported is null or c.detail ->> 'state' = input.reported)
       returning c.holder_id, c.id, c.status, c.resolved_by
     ), ${END_PROPOSALS}
     select 1 from changed`,
    [at, ...ANSWERED.arrays(entries), by],
  );
}
