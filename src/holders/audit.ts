// The audit log: who did what. An entry is written in the transaction of the change it records. Rows are never changed.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { AUDIT_ACTIONS, type AuditAction, type AuditKind } from './audit-actions.ts';

/** Who acts. A command typed on the host acts as "command line". */
export type Actor = { memberId: bigint | null; name: string };

export const COMMAND_LINE: Actor = { memberId: null, name: 'command line' };

type AuditEntry = {
  holderId: bigint | null;
  actor: Actor;
  action: AuditAction;
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
  /** The e-mail address of the person when they acted, or what acted instead of a person. */
  actor: string;
  /** The person's name today; null for what is no person. */
  name: string | null;
  action: string;
  subject: string;
  details: Record<string, unknown>;
};

export type AuditFilter = {
  readonly before?: bigint | undefined;
  readonly actor?: string | undefined;
  readonly kind?: AuditKind | undefined;
  /** From this moment, inclusive, to that one, exclusive. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** The newest entries of one holder, older than `before` when given. Null: those of the gateway itself, sign-ins among them. */
export function listAudit(
  reader: Reader,
  holderId: bigint | null,
  limit: number,
  filter: AuditFilter = {},
): Promise<AuditRow[]> {
  const { before, actor, kind, from, to } = filter;
  return reader.query<AuditRow>(
    `select l.id, l.at, l.actor, m.name, l.action, l.subject, l.details
     from audit_log l left join members m on m.id = l.member_id
     where l.holder_id is not distinct from $1 and ($2::bigint is null or l.id < $2)
       and ($4::text is null or l.actor = $4) and ($5::text[] is null or l.action = any ($5))
       and ($6::timestamptz is null or l.at >= $6) and ($7::timestamptz is null or l.at < $7)
     order by l.id desc limit $3`,
    [holderId, before ?? null, limit, actor ?? null, kind ? AUDIT_ACTIONS[kind] : null, from ?? null, to ?? null],
  );
}
