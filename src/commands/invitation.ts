// How commands print the link that gives a right.

import type { AddressState } from '../holders/credentials.ts';
import { invitationUrl, type MadeInvitation } from '../holders/invitations.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { runningServer } from '../running-server.ts';
import type { Terminal } from './terminal.ts';

/** The origin that links of this host begin with. */
export function linkOrigin({ config }: Context): string {
  return config.publicUrl || runningServer(config)?.url || publicUrl(config);
}

/** What using the link does to an account that exists already. */
const ABOUT: Record<AddressState, (email: string) => string> = {
  new: (email) => `Give the link to ${email} yourself: nobody else may see it. The right holds when it is used.`,
  proven: (email) => `${email} has an account: the right holds when that person is signed in and uses the link.`,
  unproven: (email) =>
    `Caution: ${email} has an account whose address nobody confirmed, so it may be anybody's.\n` +
    'Using the link ends its password, second factor and sessions, and asks for a new password.',
};

export type PrintedInvitation = { email: string; account: AddressState; link: string; expires_at: string };

export function describeInvitation(
  ctx: Context,
  email: string,
  state: AddressState,
  invitation: MadeInvitation,
): PrintedInvitation {
  return {
    email: email.toLowerCase(),
    account: state,
    link: invitationUrl(linkOrigin(ctx), invitation.token ?? ''),
    expires_at: invitation.expiresAt.toISOString(),
  };
}

/** What a person should know who passes the link on. */
export function explainInvitation(terminal: Terminal, { email, account, expires_at }: PrintedInvitation): void {
  terminal.say(ABOUT[account](email));
  terminal.say(`The link works once and expires at ${expires_at}.`);
}
