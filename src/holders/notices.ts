// Notices of what happened to an account: a sign-in from a new browser, a change of password or second factor. The owner
// sees each of them in the console until they have read it, and by e-mail where the gateway can send one.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { recordAudit } from './audit.ts';
import { forgetBrowsers } from './known-browsers.ts';
import { mailIsConfigured, queueMail } from './mail-queue.ts';
import { type NoticeKind, writeNoticeMail } from './notice-mails.ts';
import { endSessions, type RequestOrigin, type SignedInMember } from './sessions.ts';

const MAX_SHOWN = 20;
const MAX_DETAIL_CHARACTERS = 60;
const MAX_USER_AGENT_CHARACTERS = 300;

export type SecurityNotice = {
  id: bigint;
  kind: NoticeKind;
  detail: string;
  address: string;
  user_agent: string;
  at: Date;
  read_at: Date | null;
};

const COLUMNS = 'id, kind, detail, address, user_agent, at, read_at';

/** Tells a member what happened, in the transaction in which it happens. */
export async function recordNotice(
  tx: Tx,
  ctx: Context,
  memberId: bigint,
  notice: { kind: NoticeKind; detail?: string },
  from: RequestOrigin,
  at: Date,
): Promise<void> {
  const { kind, detail = '' } = notice;
  await tx.query(
    `insert into security_notices (member_id, kind, detail, address, user_agent, at) values ($1, $2, $3, $4, $5, $6)`,
    [
      memberId,
      kind,
      Array.from(detail).slice(0, MAX_DETAIL_CHARACTERS).join(''),
      from.address,
      from.userAgent.slice(0, MAX_USER_AGENT_CHARACTERS),
      at,
    ],
  );
  if (!mailIsConfigured(ctx)) return;
  const [member] = await tx.query<{ email: string }>('select email from members where id = $1', [memberId]);
  if (member) await queueMail(tx, { to: member.email, ...writeNoticeMail(ctx.config, { kind, detail, at }, from) }, at);
}

/** What the member has not read yet, newest first. */
export function listUnreadNotices(reader: Reader, memberId: bigint): Promise<SecurityNotice[]> {
  return reader.query<SecurityNotice>(
    `select ${COLUMNS} from security_notices where member_id = $1 and read_at is null order by id desc limit $2`,
    [memberId, MAX_SHOWN],
  );
}

export async function readNotice(ctx: Context, memberId: bigint, id: bigint): Promise<void> {
  await ctx.db.query('update security_notices set read_at = $3 where id = $2 and member_id = $1 and read_at is null', [
    memberId,
    id,
    ctx.clock.now(),
  ]);
}

/**
 * The owner says that it was somebody else: every session ends, this one too, the password and open login links stop
 * working, and no browser is known any more. What was added since then goes, if an older second factor stays: without any,
 * a login link would be enough.
 */
export function disownNotice(ctx: Context, who: SignedInMember, id: bigint): Promise<void> {
  const { memberId, holderId, actor } = who;
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [notice] = await tx.query<{ kind: NoticeKind; at: Date }>(
      'select kind, at from security_notices where id = $2 and member_id = $1',
      [memberId, id],
    );
    if (!notice) throw new Problem('not_found');
    await tx.query('update security_notices set read_at = $2 where member_id = $1 and read_at is null', [memberId, at]);
    // The version ends also a sign-in that is on its way.
    await tx.query(
      `update members set password_hash = null, totp_pending = null, credentials_version = credentials_version + 1 where id = $1`,
      [memberId],
    );
    await tx.query('update login_links set used_at = $2 where member_id = $1 and used_at is null', [memberId, at]);
    await endSessions(tx, memberId, null, at);
    const removed = await removeAddedSince(tx, memberId, notice.at);
    await forgetBrowsers(tx, memberId);
    await recordAudit(
      tx,
      { holderId, actor, action: 'member.disowned', details: { notice: notice.kind, ...removed } },
      at,
    );
  });
}

/** A passkey signs in alone: that of a thief must not outlive the answer of its victim. */
async function removeAddedSince(tx: Tx, memberId: bigint, since: Date): Promise<Record<string, unknown>> {
  await tx.query('delete from recovery_codes where member_id = $1 and created_at >= $2', [memberId, since]);
  const [older] = await tx.query<{ totp: boolean; passkey: boolean }>(
    `select totp_sealed is not null and not exists (
              select 1 from security_notices n where n.member_id = m.id and n.kind = 'factor_on' and n.at >= $2) as totp,
            exists (select 1 from passkeys p where p.member_id = m.id and p.created_at < $2) as passkey
     from members m where id = $1`,
    [memberId, since],
  );
  if (!older?.totp && !older?.passkey) return {};
  const passkeys = await tx.query('delete from passkeys where member_id = $1 and created_at >= $2 returning 1', [
    memberId,
    since,
  ]);
  const apps = older.totp
    ? []
    : await tx.query(
        'update members set totp_sealed = null, totp_last_step = null where id = $1 and totp_sealed is not null returning 1',
        [memberId],
      );
  return { passkeysRemoved: passkeys.length, appRemoved: apps.length > 0 };
}
