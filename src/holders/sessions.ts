// Ending sessions, and what an operation on an account knows about the session that asks for it.

import type { Tx } from '../platform/db.ts';
import type { Actor } from './audit.ts';

/** Where a request came from. Notices are written in the language of the page. */
export type RequestOrigin = { address: string; userAgent: string; language: 'en' | 'fr' };

/** A member who changes their own account from one of their sessions. */
export type SignedInMember = {
  actor: Actor;
  memberId: bigint;
  sessionId: bigint;
  /** The holder whose audit log shows the change. */
  holderId: bigint | null;
  from: RequestOrigin;
};

/** Ends every session of a member, or all but one. Returns how many there were. */
export async function endSessions(tx: Tx, memberId: bigint, keep: bigint | null, at: Date): Promise<number> {
  const ended = await tx.query(
    `update sessions set revoked_at = $3
     where member_id = $1 and revoked_at is null and ($2::bigint is null or id <> $2) returning 1`,
    [memberId, keep, at],
  );
  return ended.length;
}
