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

/** The person used a link that only the owner of the address could have. What was set before is forgotten. False: it was proven. */
export async function proveEmail(tx: Tx, memberId: bigint, at: Date): Promise<boolean> {
  const [row] = await tx.query<{ email: string }>(
    'update members set email_proven_at = $2 where id = $1 and email_proven_at is null returning email',
    [memberId, at],
  );
  if (!row) return false;
  await forgetCredentials(tx, memberId, at);
  const actor = { memberId, name: row.email };
  await recordAudit(tx, { holderId: null, actor, action: 'member.email_proven', subject: row.email }, at);
  return true;
}
