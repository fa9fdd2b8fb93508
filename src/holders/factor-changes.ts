// What every change of a second factor brings with it: other sessions end, the owner is told, and recovery codes exist as
// long as there is a factor that they replace.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { recordAudit } from './audit.ts';
import type { AuditAction } from './audit-actions.ts';
import type { NoticeKind } from './notice-mails.ts';
import { recordNotice } from './notices.ts';
import { countRecoveryCodes, forgetRecoveryCodes, issueRecoveryCodes } from './recovery-codes.ts';
import { endSessions, type SignedInMember } from './sessions.ts';

/** What a member can prove themselves with after a password or link. */
export type Factors = { totp: boolean; passkeys: number; recoveryCodes: number; credentialsVersion: bigint };

export async function findFactors(reader: Reader, memberId: bigint): Promise<Factors> {
  const [row] = await reader.query<{ totp: boolean; passkeys: number; credentials_version: bigint }>(
    `select totp_sealed is not null as totp, credentials_version,
            (select count(*)::integer from passkeys p where p.member_id = m.id) as passkeys
     from members m where id = $1`,
    [memberId],
  );
  return {
    totp: row?.totp ?? false,
    passkeys: row?.passkeys ?? 0,
    recoveryCodes: await countRecoveryCodes(reader, memberId),
    credentialsVersion: row?.credentials_version ?? 0n,
  };
}

export function hasAnyFactor({ totp, passkeys }: Factors): boolean {
  return totp || passkeys > 0;
}

/** Called after the change, in its transaction. Returns recovery codes when this was the first factor, else none. */
export async function recordFactorChange(
  tx: Tx,
  ctx: Context,
  who: SignedInMember,
  change: { action: AuditAction; kind: NoticeKind; detail?: string },
  at: Date,
): Promise<{ recoveryCodes: string[] }> {
  const { memberId, holderId, actor } = who;
  const factors = await findFactors(tx, memberId);
  const sessionsEnded = await endSessions(tx, memberId, who.sessionId, at);
  await recordAudit(
    tx,
    { holderId, actor, action: change.action, subject: change.detail ?? '', details: { sessionsEnded } },
    at,
  );
  await recordNotice(tx, ctx, memberId, change, who.from, at);
  if (!hasAnyFactor(factors)) await forgetRecoveryCodes(tx, memberId);
  const isNew = change.kind === 'factor_on' || change.kind === 'passkey_added';
  const needsCodes = isNew && factors.recoveryCodes === 0;
  return { recoveryCodes: needsCodes ? await issueRecoveryCodes(tx, memberId, at) : [] };
}
