// Cases: what a member or an admin must decide. A case is opened once per transaction and kind, or once per payment for
// money that matches no transaction. Resolving it records who did it and why.

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
};

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
};

const CASES = columns<NewCase & { id: string }>(2, {
  holder_id: ['bigint', (entry) => entry.holderId],
  id: 'uuid',
  transaction_id: ['uuid', (entry) => entry.transactionId],
  kind: 'text',
  detail: ['jsonb', (entry) => JSON.stringify(entry.detail)],
});

export async function openCases(tx: Tx, ctx: Context, cases: NewCase[]): Promise<void> {
  if (cases.length === 0) return;
  const at = ctx.clock.now();
  const rows = cases.map((entry) => ({ ...entry, id: entry.id ?? createHolderUuid(at.getTime(), entry.holderId) }));
  await tx.query(
    `insert into cases (${CASES.names}, opened_at) select ${CASES.names}, $1 from ${CASES.rows}
     on conflict (holder_id, transaction_id, kind) where status = 'open' and kind not in ('wrong_amount', 'second_payment')
     do nothing`,
    [at, ...CASES.arrays(rows)],
  );
}

export function listOpenCases(reader: Reader, holderId: bigint, limit: number): Promise<Case[]> {
  return reader.query<Case>(
    `select * from cases where holder_id = $1 and status = 'open' order by opened_at desc limit $2`,
    [holderId, limit],
  );
}

/** Open cases of every holder, and those without a holder. For admins. */
export function listAllOpenCases(reader: Reader, limit: number): Promise<Case[]> {
  return reader.query<Case>(`select * from cases where status = 'open' order by opened_at desc limit $1`, [limit]);
}

/** Every case about one transaction. */
export function listCasesOf(reader: Reader, holderId: bigint, transactionId: string): Promise<Case[]> {
  return reader.query<Case>(
    `select * from cases where holder_id = $1 and transaction_id = $2
     order by opened_at limit ${MAX_CASES_OF_TRANSACTION}`,
    [holderId, transactionId],
  );
}

/** Closes a case of this holder. Returns false when there is no such open case. */
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
     where holder_id = $1 and id = $2 and status = 'open' returning id`,
    [holderId, id, at, by, resolution],
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
