// The end of a sign-in: the session, the browser it is in, and a notice when the member never used that browser before.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { recordAudit } from './audit.ts';
import { rememberBrowser } from './known-browsers.ts';
import { insertSession, type NewSession } from './members.ts';
import { recordNotice } from './notices.ts';
import { endSessions, type RequestOrigin, type SignedInMember } from './sessions.ts';

/** Opens a session in the browser of this long-lived token. */
export function openSession(
  ctx: Context,
  memberId: bigint,
  from: RequestOrigin,
  browser: string,
  session: Omit<NewSession, keyof RequestOrigin>,
): Promise<{ token: string; expiresAt: Date }> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const isFirst = !(await hasSignedInBefore(tx, memberId));
    const isKnown = await rememberBrowser(tx, memberId, browser, at);
    const opened = await insertSession(
      tx,
      memberId,
      { ...session, userAgent: from.userAgent, address: from.address },
      at,
    );
    // The first sign-in of all is that of a new member, who has nobody to be warned of.
    if (!isKnown && !isFirst) await recordNotice(tx, ctx, memberId, { kind: 'new_browser' }, from, at);
    return opened;
  });
}

/** Ends every session of the member but the one that asks. */
export function endOtherSessions(ctx: Context, who: SignedInMember): Promise<void> {
  const at = ctx.clock.now();
  const { memberId, holderId, actor } = who;
  return ctx.db.transaction(async (tx) => {
    const sessions = await endSessions(tx, memberId, who.sessionId, at);
    await recordAudit(tx, { holderId, actor, action: 'member.sessions_ended', details: { sessions } }, at);
  });
}

async function hasSignedInBefore(reader: Reader, memberId: bigint): Promise<boolean> {
  const [row] = await reader.query<{ before: boolean }>(
    `select exists (select 1 from sessions where member_id = $1)
         or exists (select 1 from known_browsers where member_id = $1) as before`,
    [memberId],
  );
  return row?.before === true;
}
