// Tells the owners by mail what waits a day before it applies: a day in which nobody looks at the page protects nobody.

import { describeDestination, type SettlementRule } from '../books/settlement-rules.ts';
import type { Holder } from '../holders/holders.ts';
import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import { listTeam, type MemberRole } from '../holders/members.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { nameInMail } from '../platform/mail.ts';
import type { ConsoleRequest, HolderRequest } from './console-request.ts';

type Team = Pick<Holder, 'id' | 'name'>;

/** A role that can approve money. */
export async function mailRole(
  request: ConsoleRequest,
  holder: Team,
  waiting: { email: string; role: MemberRole },
): Promise<void> {
  const { ctx, t } = request;
  const url = `${publicUrl(ctx.config)}/console/team`;
  const facts = { holder: nameInMail(holder.name), email: waiting.email, role: t.roles[waiting.role], url };
  await ctx.db.transaction((tx) => mailOwners(tx, ctx, holder, t.mails.roleWaits(facts)));
}

/** A destination of settlements. */
export async function mailDestination(tx: Tx, request: HolderRequest, rule: SettlementRule): Promise<void> {
  const { ctx, t, holder } = request;
  const facts = {
    by: rule.updated_by,
    holder: nameInMail(holder.name),
    currency: rule.currency,
    destination: nameInMail(describeDestination(rule.destination)),
    url: `${publicUrl(ctx.config)}/console/settlements`,
  };
  await mailOwners(tx, ctx, holder, t.mails.destinationWaits(facts));
}

async function mailOwners(tx: Tx, ctx: Context, holder: Team, mail: { subject: string; text: string }): Promise<void> {
  if (!mailIsConfigured(ctx)) return;
  const owners = (await listTeam(tx, holder.id)).filter(({ role }) => role === 'owner');
  for (const { email } of owners) await queueMail(tx, { to: email, ...mail }, ctx.clock.now());
}
