// simbi login-link: a one-time link to sign in to the console.

import type { Command } from 'commander';
import { DEMO_EMAIL, loginUrl } from '../demo.ts';
import { createLoginLink, findMemberByEmail } from '../holders/members.ts';
import { runningServer } from '../open-context.ts';
import { publicUrl } from '../platform/config.ts';
import { addCommand, CommandError, EXIT, print, type Terminal, withContext } from './terminal.ts';

export function loginLinkCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'login-link [email]', 'create a one-time sign-in link', [
    'npx simbi login-link',
    'npx simbi login-link ada@example.org',
  ]).action(async (email: string | undefined, options: { json?: boolean }) => {
    const address = email ?? DEMO_EMAIL;
    const link = await withContext(terminal, async (ctx) => {
      const member = await findMemberByEmail(ctx.db, address);
      if (!member) throw new CommandError(`No user with the e-mail ${address}.`, EXIT.notFound);
      const made = await createLoginLink(ctx, member.id);
      const base = ctx.config.publicUrl || runningServer(ctx.config)?.url || publicUrl(ctx.config);
      return { login_link: loginUrl(base, made.token), expires_at: made.expiresAt.toISOString() };
    });
    print(terminal, options, link, link.login_link);
    terminal.say(`The link works once and expires at ${link.expires_at}.`);
  });
}
