// simbi login-link: a one-time link to sign in to the console.

import type { Command } from 'commander';
import { DEMO_EMAIL, loginUrl } from '../demo.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { addressState, resetCredentials } from '../holders/credentials.ts';
import { createLoginLink, findMemberByEmail } from '../holders/members.ts';
import { linkOrigin } from './invitation.ts';
import { CommandError, EXIT, print, type Terminal, withContext, withExamples } from './terminal.ts';

export function loginLinkCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi login-link',
    'npx simbi login-link ada@example.org',
    'npx simbi login-link ada@example.org --reset',
  ])
    .option('--reset', 'for a lost second factor: end the password, all second factors and all sessions first')
    .action(async (email: string | undefined, options: { json?: boolean; reset?: boolean }) => {
      const address = email ?? DEMO_EMAIL;
      const link = await withContext(terminal, async (ctx) => {
        const member = await findMemberByEmail(ctx.db, address);
        if (!member) throw new CommandError(`No user with the e-mail ${address}.`, EXIT.notFound);
        if (options.reset) await resetCredentials(ctx, COMMAND_LINE, member);
        const made = await createLoginLink(ctx, member.id);
        const login_link = loginUrl(linkOrigin(ctx), made.token);
        const state = await addressState(ctx.db, address);
        return { facts: { login_link, expires_at: made.expiresAt.toISOString() }, state };
      });
      print(terminal, options, link.facts, link.facts.login_link);
      if (link.state === 'unproven')
        terminal.say(
          `Give the link to ${address} yourself. Using it confirms the address, and ends the password, second factor and sessions ` +
            'that were set before.',
        );
      terminal.say(`The link works once and expires at ${link.facts.expires_at}.`);
    });
}
