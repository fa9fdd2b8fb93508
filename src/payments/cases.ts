// Cases: what only a person can decide. A case is opened once per transaction and kind (money that fits nothing: once
// per payment); resolving it says who and why.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createUuid } from '../platform/ids.ts';
import type { CaseKind } from './states.ts';

export type NewCase = {
  /** Given where money in suspense is booked under the case's id. */
  id?: string;
  holderId: bigint | null;
  transactionId: string | null;
  kind: CaseKind;
  detail: Record<string, unknown>;
};

export type Case = {
  id: string;
  holder_id: bigint | null;
  transaction_id: string | null;
  kind: CaseKind;
  detail: Record<string, unknown>;
  status: 'open' | 'resolved';
  opened_at: Date;
  resolved_at: Date | null;
  resolved_by: string | null;
  resolution: string | null;
};

export async function openCases(tx: Tx, ctx: Context, cases: NewCase[]): Promise<void> {
  if (cases.length === 0) return;
  const at = ctx.clock.now();
  await tx.query(
    `insert into cases (id, holder_id, transaction_id, kind, detail, opened_at)
     select id, holder_id, transaction_id, kind, detail::jsonb, $6
     from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[]) as c (id, holder_id, transaction_id, kind, detail)
     on conflict (transaction_id, kind) where status = 'open' and kind not in ('wrong_amount', 'second_payment') do nothing`,
    [
      cases.map((entry) => entry.id ?? createUuid(at.getTime())),
      cases.map((entry) => entry.holderId),
      cases.map((entry) => entry.transactionId),
      cases.map((entry) => entry.kind),
      cases.map((entry) => JSON.stringify(entry.detail)),
      at,
    ],
  );
}

export function listOpenCases(reader: Reader, holderId: bigint, limit: number): Promise<Case[]> {
  return reader.query<Case>(
    `select * from cases where holder_id = $1 and status = 'open' order by opened_at desc limit $2`,
    [holderId, limit],
  );
}

/** Open cases of every holder, and those that fit no holder: for whoever runs the gateway. */
export function listAllOpenCases(reader: Reader, limit: number): Promise<Case[]> {
  return reader.query<Case>(`select * from cases where status = 'open' order by opened_at desc limit $1`, [limit]);
}

/** Every case about one transaction. The caller has found the transaction by its holder. */
export function listCasesOf(reader: Reader, transactionId: string): Promise<Case[]> {
  return reader.query<Case>('select * from cases where transaction_id = $1 order by opened_at limit 50', [
    transactionId,
  ]);
}

/** Closes a case that belongs to no holder. Answers false when there is no such open case. */
export async function resolveGatewayCase(
  tx: Tx,
  id: string,
  by: string,
  resolution: string,
  at: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `update cases set status = 'resolved', resolved_at = $2, resolved_by = $3, resolution = $4
     where id = $1 and status = 'open' returning id`,
    [id, at, by, resolution],
  );
  return rows.length > 0;
}

/** Closes a case of this holder. Answers false when there is no such open case. */
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
     where id = $1 and holder_id = $2 and status = 'open' returning id`,
    [id, holderId, at, by, resolution],
  );
  return rows.length > 0;
}
