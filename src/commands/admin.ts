// simbi admin: who may manage every holder in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { setAdmin } from '../holders/members.ts';
import { addCommand, addGroup, print, requireEmail, type Terminal, withContext } from './terminal.ts';

export function adminCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'admin', 'administrators: people who manage every holder');
  const change = (isAdmin: boolean) => async (email: string, options: { json?: boolean }) => {
    requireEmail(email);
    const member = await withContext(terminal, (ctx) => setAdmin(ctx, COMMAND_LINE, email, isAdmin));
    print(terminal, options, { email: member.email, admin: member.is_admin }, member.email);
    if (isAdmin) terminal.say(`Sign in with: npx simbi login-link ${member.email}`);
  };
  addCommand(group, 'add <email>', 'let a person manage every holder', ['npx simbi admin add ops@example.org']).action(
    change(true),
  );
  addCommand(group, 'remove <email>', 'revoke admin rights; the user stays', [
    'npx simbi admin remove ops@example.org',
  ]).action(change(false));
}
