// Login links that anybody can ask for by typing an address.

import type { Context } from '../platform/context.ts';
import { randomSecret } from '../platform/ids.ts';
import type { Mail } from '../platform/mail.ts';
import { dropMail, queueLinkMail } from './mail-queue.ts';
import { findMemberByEmail, insertLoginLink, MAILED_LINK } from './members.ts';

/**
 * Sends a login link to the person with this address. For an address without an account the mail is written and taken back:
 * the same statements and one commit, so that the time of the answer tells nobody who has an account.
 */
export async function mailLoginLink(
  ctx: Context,
  email: string,
  write: (token: string) => Pick<Mail, 'subject' | 'text'>,
): Promise<void> {
  const token = `${MAILED_LINK}${randomSecret()}`;
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const member = await findMemberByEmail(tx, email);
    const mailId = await queueLinkMail(ctx, tx, { to: email, ...write(token) }, at);
    if (member) await insertLoginLink(tx, token, member.id, at);
    else await dropMail(tx, mailId);
  });
}
