// Tells the owners by mail about a role that waits: a day in which nobody looks at the page of the team protects nobody.

import type { Holder } from '../holders/holders.ts';
import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import { listTeam, type MemberRole } from '../holders/members.ts';
import { publicUrl } from '../platform/config.ts';
import { nameInMail } from '../platform/mail.ts';
import type { ConsoleRequest } from './console-request.ts';

export async function tellOwners(
  { ctx, t }: ConsoleRequest,
  holder: Pick<Holder, 'id' | 'name'>,
  waiting: { email: string; role: MemberRole },
): Promise<void> {
  if (!mailIsConfigured(ctx)) return;
  const owners = (await listTeam(ctx.db, holder.id)).filter(({ role }) => role === 'owner');
  const url = `${publicUrl(ctx.config)}/console/team`;
  const facts = { holder: nameInMail(holder.name), email: waiting.email, role: t.roles[waiting.role], url };
  const mail = t.mails.roleWaits(facts);
  await ctx.db.transaction(async (tx) => {
    for (const { email } of owners) await queueMail(tx, { to: email, ...mail }, ctx.clock.now());
  });
}
