// simbi admin: who of the ops team sees every holder in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { setAdmin } from '../holders/members.ts';
import { addCommand, addGroup, CommandError, EXIT, print, type Terminal, withContext } from './terminal.ts';

const EMAIL = /^[^\s@]+@[^\s@]+$/;

export function adminCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'admin', 'administrators: people who manage every holder');
  const change = (isAdmin: boolean) => async (email: string, options: { json?: boolean }) => {
    if (!EMAIL.test(email)) throw new CommandError(`"${email}" is not an e-mail address.`, EXIT.usage);
    const member = await withContext(terminal, (ctx) => setAdmin(ctx, COMMAND_LINE, email, isAdmin));
    print(terminal, options, { email: member.email, admin: member.is_admin }, member.email);
    if (isAdmin) terminal.say(`Sign in with: npx simbi login-link ${member.email}`);
  };
  addCommand(group, 'add <email>', 'let a person see and manage every holder', [
    'npx simbi admin add ops@example.org',
  ]).action(change(true));
  addCommand(group, 'remove <email>', 'take that back; the person stays', [
    'npx simbi admin remove ops@example.org',
  ]).action(change(false));
}
