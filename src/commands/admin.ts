// simbi admin: who may manage every holder in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { addressState } from '../holders/credentials.ts';
import { inviteAdmin } from '../holders/invitations.ts';
import { findMemberByEmail, removeAdmin } from '../holders/members.ts';
import { describeInvitation, explainInvitation } from './invitation.ts';
import { addCommand, CommandError, EXIT, print, requireEmail, type Terminal, withContext } from './terminal.ts';

export function adminCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'add <email>', 'make a link that lets a person manage every holder', [
    'npx simbi admin add ops@example.org',
  ]).action(async (email: string, options: { json?: boolean }) => {
    requireEmail(email);
    await withContext(terminal, async (ctx) => {
      const member = await findMemberByEmail(ctx.db, email);
      if (member?.is_admin) {
        print(terminal, options, { email: member.email, admin: true }, `${member.email} is an admin already.`);
        return;
      }
      const state = await addressState(ctx.db, email);
      const invitation = await inviteAdmin(ctx, COMMAND_LINE, email);
      const printed = describeInvitation(ctx, email, state, invitation);
      print(terminal, options, { ...printed, admin: false }, printed.link);
      explainInvitation(terminal, printed);
    });
  });

  addCommand(group, 'remove <email>', 'revoke admin rights; the user stays', [
    'npx simbi admin remove ops@example.org',
  ]).action(async (email: string, options: { json?: boolean }) => {
    requireEmail(email);
    const address = email.toLowerCase();
    // Otherwise who mistyped the address would believe that the rights are gone.
    if (!(await withContext(terminal, (ctx) => removeAdmin(ctx, COMMAND_LINE, address))))
      throw new CommandError(
        `${address} is no admin, and has no link to become one. Nothing was changed.`,
        EXIT.notFound,
      );
    print(terminal, options, { email: address, admin: false }, address);
  });
}
