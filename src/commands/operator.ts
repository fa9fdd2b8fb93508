// simbi operator: who of the ops team sees every holder in the console.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { setOperator } from '../holders/members.ts';
import { addCommand, addGroup, CommandFault, EXIT, show, type Terminal, withContext } from './terminal.ts';

const EMAIL = /^[^\s@]+@[^\s@]+$/;

export function operatorCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'operator', 'the ops team: people who see every holder');
  const change = (isOperator: boolean) => async (email: string, options: { json?: boolean }) => {
    if (!EMAIL.test(email)) throw new CommandFault(`"${email}" is not an e-mail address.`, EXIT.usage);
    const member = await withContext(terminal, (ctx) => setOperator(ctx, COMMAND_LINE, email, isOperator));
    show(terminal, options, { email: member.email, operator: member.is_operator }, member.email);
    if (isOperator) terminal.say(`Sign in with: npx simbi login-link ${member.email}`);
  };
  addCommand(group, 'add <email>', 'let a person see and manage every holder', [
    'npx simbi operator add ops@example.org',
  ]).action(change(true));
  addCommand(group, 'remove <email>', 'take that back; the person stays', [
    'npx simbi operator remove ops@example.org',
  ]).action(change(false));
}
