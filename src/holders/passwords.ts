// Passwords: argon2id, a minimum length, and a limit of failures that slows guessing down.

import { hash, verify } from '@node-rs/argon2';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { perProcess } from '../platform/memory.ts';
import { type Actor, recordAudit } from './audit.ts';
import { memberGuesses } from './limits.ts';
import { recordNotice } from './notices.ts';
import type { RequestOrigin } from './sessions.ts';

const MIN_CHARACTERS = 10;
const MAX_CHARACTERS = 200;
/** argon2id as OWASP recommends: 19 MiB, two passes, one lane. The defaults of the library, made explicit. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Compared with when the e-mail is unknown, so that the response takes as long as for a wrong password. */
const unknownMemberHash = perProcess(() => hash('nobody has this password', COST));

/** Throws when too many passwords or codes were wrong from this address, for this person or in all. */
export function refuseGuessing(ctx: Context, person: string, address: string): void {
  memberGuesses(ctx).refuse(person, address);
}

export function countFailure(ctx: Context, person: string, address: string): void {
  memberGuesses(ctx).addFailure(person, address);
}

/** The member with this e-mail and password, or null. */
export async function findByPassword(
  ctx: Context,
  email: string,
  password: string,
  address: string,
): Promise<bigint | null> {
  const person = email.toLowerCase();
  refuseGuessing(ctx, person, address);
  const [row] = await ctx.db.query<{ id: bigint; password_hash: string | null }>(
    'select id, password_hash from members where email = $1',
    [person],
  );
  const right = await verify(row?.password_hash ?? (await unknownMemberHash(ctx)), password.slice(0, MAX_CHARACTERS));
  if (right && row?.password_hash) return row.id;
  countFailure(ctx, person, address);
  return null;
}

/** Why a password is not accepted; null when it is. */
export function passwordError(password: string): 'short' | 'long' | null {
  if (Array.from(password).length < MIN_CHARACTERS) return 'short';
  return password.length > MAX_CHARACTERS ? 'long' : null;
}

/** Changes a password and ends every other session of the member, who is told about it when it came `from` a page. */
export async function setPassword(
  ctx: Context,
  actor: Actor,
  memberId: bigint,
  password: string,
  keep: { sessionId: bigint | null; holderId: bigint | null; from?: RequestOrigin },
): Promise<void> {
  const hashed = await hashPassword(password);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await storePassword(tx, actor, memberId, hashed, keep, at);
    if (keep.from) await recordNotice(tx, ctx, memberId, { kind: 'password_changed' }, keep.from, at);
  });
}

/** Hashing takes tens of milliseconds, so it is done before the transaction that stores the hash. */
export async function hashPassword(password: string): Promise<string> {
  if (passwordError(password) !== null)
    throw new Problem('invalid_params', { message: `A password needs at least ${MIN_CHARACTERS} characters.` });
  return hash(password, COST);
}

export async function storePassword(
  tx: Tx,
  actor: Actor,
  memberId: bigint,
  hashed: string,
  keep: { sessionId: bigint | null; holderId: bigint | null },
  at: Date,
): Promise<void> {
  await tx.query('update members set password_hash = $2 where id = $1', [memberId, hashed]);
  await tx.query(
    `update sessions set revoked_at = $3
     where member_id = $1 and revoked_at is null and ($2::bigint is null or id <> $2)`,
    [memberId, keep.sessionId, at],
  );
  await recordAudit(tx, { holderId: keep.holderId, actor, action: 'member.password_set' }, at);
}
