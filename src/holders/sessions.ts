// Ending sessions, and what an operation on an account knows about the session that asks for it.

import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { Actor } from './audit.ts';

/** Where a request came from. Notices are written in the language of the page. */
export type RequestOrigin = { address: string; userAgent: string; language: 'en' | 'fr' | 'pt' | 'sw' };

/** A member who changes their own account from one of their sessions. */
export type SignedInMember = {
  actor: Actor;
  memberId: bigint;
  sessionId: bigint;
  /** The holder whose audit log shows the change. */
  holderId: bigint | null;
  from: RequestOrigin;
};

/**
 * Locks the member, and refuses a session that is over: a request that was on its way when the credentials were forgotten, or the
 * session ended, must leave no factor behind. First in its transaction.
 */
export async function requireLiveSession(tx: Tx, { memberId, sessionId }: SignedInMember): Promise<void> {
  const [member] = await tx.query<{ credentials_version: bigint }>(
    'select credentials_version from members where id = $1 for update',
    [memberId],
  );
  const live = await tx.query(
    `select 1 from sessions
     where id = $1 and member_id = $2 and revoked_at is null and credentials_version = $3 for share`,
    [sessionId, memberId, member?.credentials_version ?? null],
  );
  if (live.length === 0) throw new Problem('unauthenticated');
}

/** Ends every session of a member, or all but one. Returns how many there were. */
export async function endSessions(tx: Tx, memberId: bigint, keep: bigint | null, at: Date): Promise<number> {
  const ended = await tx.query(
    `update sessions set revoked_at = $3
     where member_id = $1 and revoked_at is null and ($2::bigint is null or id <> $2) returning 1`,
    [memberId, keep, at],
  );
  return ended.length;
}
