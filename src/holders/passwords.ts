// Passwords of members: comparing one at sign-in, and setting one.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { type Actor, recordAudit } from './audit.ts';
import { takeGuess } from './guesses.ts';
import { recordNotice } from './notices.ts';
import { hashOf, isPasswordOf } from './password-hashing.ts';
import { MAX_PASSWORD_CHARACTERS } from './password-strength.ts';
import type { RequestOrigin } from './sessions.ts';

/** Whose password was right, and the version of the credentials that it belongs to. */
export type PasswordProof = { memberId: bigint; credentialsVersion: bigint };

/**
 * Compares a password. Null: it is wrong. Throws `rate_limited` when too many guesses were wrong. `browser` names one that this
 * person signed in with before: it has a count of its own, which strangers cannot use up.
 */
export async function provePassword(
  ctx: Context,
  email: string,
  password: string,
  from: { address: string; browser: string | null },
): Promise<PasswordProof | null> {
  const account = email.toLowerCase();
  const person = from.browser === null ? account : `${account} ${from.browser}`;
  const guess = await takeGuess(ctx, { kind: 'password', person, shownAs: account, address: from.address });
  if (!guess.allowed) throw new Problem('rate_limited', { retryAfterSeconds: guess.retryAfterSeconds });
  const [row] = await ctx.db.query<{ id: bigint; password_hash: string | null; credentials_version: bigint }>(
    'select id, password_hash, credentials_version from members where email = $1',
    [account],
  );
  try {
    const right = await isPasswordOf(ctx, row?.password_hash ?? null, password.slice(0, MAX_PASSWORD_CHARACTERS));
    if (!right || !row) return null;
    await guess.giveBack();
    return { memberId: row.id, credentialsVersion: row.credentials_version };
  } catch (error) {
    // Nothing was compared.
    await guess.giveBack();
    throw error;
  }
}

/**
 * Whether this is the password of a member who is signed in. It has the count of the session: strangers who guess at the
 * sign-in page cannot keep the owner from confirming.
 */
export async function isOwnPassword(
  ctx: Context,
  { id, member }: { id: bigint; member: { id: bigint; email: string } },
  password: string,
  address: string,
): Promise<boolean> {
  const proof = await provePassword(ctx, member.email, password, { address, browser: `session ${id}` });
  return proof?.memberId === member.id;
}

/**
 * Changes a password and ends every other session of the member, who is told about it when it came `from` a page. The password
 * was accepted by `findPasswordProblem`.
 */
export async function setPassword(
  ctx: Context,
  actor: Actor,
  memberId: bigint,
  password: string,
  keep: { sessionId: bigint | null; holderId: bigint | null; from?: RequestOrigin },
): Promise<void> {
  const hashed = await hashOf(ctx, password);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await storePassword(tx, actor, memberId, hashed, keep, at);
    if (keep.from) await recordNotice(tx, ctx, memberId, { kind: 'password_changed' }, keep.from, at);
  });
}

/** Hashing takes tens of milliseconds, so it is done before the transaction that stores the hash. */
export async function storePassword(
  tx: Tx,
  actor: Actor,
  memberId: bigint,
  hashed: string,
  keep: { sessionId: bigint | null; holderId: bigint | null },
  at: Date,
): Promise<void> {
  const rows = await tx.query(
    `update members set password_hash = $2 where id = $1
       and ($3::bigint is null or credentials_version = (select credentials_version from sessions where id = $3))
     returning 1`,
    [memberId, hashed, keep.sessionId],
  );
  // The credentials were forgotten while the password was hashed: the session that asked for this is over.
  if (rows.length === 0) throw new Problem('unauthenticated');
  await tx.query(
    `update sessions set revoked_at = $3
     where member_id = $1 and revoked_at is null and ($2::bigint is null or id <> $2)`,
    [memberId, keep.sessionId, at],
  );
  await recordAudit(tx, { holderId: keep.holderId, actor, action: 'member.password_set' }, at);
}
