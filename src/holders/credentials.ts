// What lets a person in: password, second factors, sessions. And the proof that the person has the e-mail address: until then
// all of it may have been set by somebody else, who took the address first.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { type Actor, recordAudit } from './audit.ts';
import { forgetBrowsers } from './known-browsers.ts';
import { forgetRecoveryCodes } from './recovery-codes.ts';

/** `unproven`: there is an account, and nobody has shown that they read mail at its address. */
export type AddressState = 'new' | 'unproven' | 'proven';

export async function addressState(reader: Reader, email: string): Promise<AddressState> {
  const [row] = await reader.query<{ proven: boolean }>(
    'select email_proven_at is not null as proven from members where email = lower($1)',
    [email],
  );
  if (!row) return 'new';
  return row.proven ? 'proven' : 'unproven';
}

const HAS_FACTOR = '(totp_sealed is not null or exists (select from passkeys p where p.member_id = m.id))';

/** Whether a second factor stands before an account whose address was never proven. */
export async function isGuarded(reader: Reader, email: string): Promise<boolean> {
  const rows = await reader.query(
    `select from members m where email = lower($1) and email_proven_at is null and ${HAS_FACTOR}`,
    [email],
  );
  return rows.length > 0;
}

/**
 * Takes away everything that a person can sign in with, and ends what is signed in. The version ends also what is on its way: a
 * sign-in or a change of the password that began before.
 */
export async function forgetCredentials(tx: Tx, memberId: bigint, at: Date): Promise<void> {
  await tx.query(
    `update members set password_hash = null, totp_sealed = null, totp_pending = null, totp_last_step = null,
       credentials_version = credentials_version + 1
     where id = $1`,
    [memberId],
  );
  await tx.query('update sessions set revoked_at = $2 where member_id = $1 and revoked_at is null', [memberId, at]);
  // A link that was stopped by the second factor would be enough without it.
  await tx.query('update login_links set used_at = $2 where member_id = $1 and used_at is null', [memberId, at]);
  await tx.query('delete from passkeys where member_id = $1', [memberId]);
  await tx.query('delete from passkey_challenges where member_id = $1', [memberId]);
  await forgetRecoveryCodes(tx, memberId);
  await forgetBrowsers(tx, memberId);
}

/** For a person who has lost the second factor and the recovery codes: only a login link lets them in again. */
export function resetCredentials(ctx: Context, actor: Actor, member: { id: bigint; email: string }): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await forgetCredentials(tx, member.id, at);
    const action = 'member.credentials_reset';
    await recordAudit(tx, { holderId: null, actor, action, subject: member.email }, at);
  });
}

/** Where the link came from that proves an address. The host has the database anyway; a mailbox may be read by others. */
export type LinkOrigin = 'mail' | 'host';

/**
 * The person used a link that only the owner of the address could have. What was set before is forgotten; but a mailbox alone does
 * not outrank a second factor, so behind one a link by mail proves nothing yet. False: nothing was changed.
 */
export async function proveEmail(tx: Tx, memberId: bigint, origin: LinkOrigin, at: Date): Promise<boolean> {
  const [row] = await tx.query<{ email: string }>(
    `update members m set email_proven_at = $2
     where id = $1 and email_proven_at is null and ($3 = 'host' or not ${HAS_FACTOR}) returning email`,
    [memberId, at, origin],
  );
  if (!row) return false;
  await forgetCredentials(tx, memberId, at);
  await recordProof(tx, memberId, row.email, at);
  return true;
}

/** The person used such a link and proved the second factor too. So what was set before is theirs, and stays. */
export function proveEmailWithFactor(ctx: Context, memberId: bigint): Promise<void> {
  return ctx.db.transaction((tx) => keepAndProve(tx, memberId, ctx.clock.now()));
}

/** The same in the transaction of the caller. */
export async function keepAndProve(tx: Tx, memberId: bigint, at: Date): Promise<void> {
  const [row] = await tx.query<{ email: string }>(
    `update members m set email_proven_at = $2 where id = $1 and email_proven_at is null and ${HAS_FACTOR} returning email`,
    [memberId, at],
  );
  if (row) await recordProof(tx, memberId, row.email, at);
}

async function recordProof(tx: Tx, memberId: bigint, email: string, at: Date): Promise<void> {
  const actor = { memberId, name: email };
  await recordAudit(tx, { holderId: null, actor, action: 'member.email_proven', subject: email }, at);
}
