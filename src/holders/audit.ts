// The audit log: who did what. An entry is written in the transaction of the change it records. Rows are never changed.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';

/** Who acts. A command typed on the host acts as "command line". */
export type Actor = { memberId: bigint | null; name: string };

export const COMMAND_LINE: Actor = { memberId: null, name: 'command line' };

type AuditEntry = {
  holderId: bigint | null;
  actor: Actor;
  action: string;
  subject?: string;
  details?: Record<string, unknown>;
};

const ENTRIES = columns<AuditEntry>(2, {
  holder_id: ['bigint', (entry) => entry.holderId],
  member_id: ['bigint', (entry) => entry.actor.memberId],
  actor: ['text', (entry) => entry.actor.name],
  action: 'text',
  subject: ['text', (entry) => entry.subject ?? ''],
  details: ['jsonb', (entry) => JSON.stringify(entry.details ?? {})],
});

export function recordAudit(tx: Tx, entry: AuditEntry, at: Date): Promise<void> {
  return recordAudits(tx, [entry], at);
}

export async function recordAudits(tx: Tx, entries: readonly AuditEntry[], at: Date): Promise<void> {
  await tx.query(`insert into audit_log (${ENTRIES.names}, at) select ${ENTRIES.names}, $1 from ${ENTRIES.rows}`, [
    at,
    ...ENTRIES.arrays(entries),
  ]);
}

export type AuditRow = {
  id: bigint;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  details: Record<string, unknown>;
};

/** The newest entries of one holder, older than `before` when given. Null: those of the gateway itself, sign-ins among them. */
export function listAudit(
  reader: Reader,
  holderId: bigint | null,
  limit: number,
  before?: bigint,
): Promise<AuditRow[]> {
  return reader.query<AuditRow>(
    `select id, at, actor, action, subject, details from audit_log
     where holder_id is not distinct from $1 and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [holderId, before ?? null, limit],
  );
}
