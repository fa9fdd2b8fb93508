// simbi token: exchanges the credentials for a bearer token; simbi token revoke ends one before it expires.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { revokeToken } from '../holders/tokens.ts';
import { CREDENTIALS_HELP, fetchToken, readCredentials } from './remote.ts';
import { addCommand, parseId, print, type Terminal, withContext } from './terminal.ts';

export function tokenCommand(program: Command, terminal: Terminal): void {
  const token = addCommand(program, 'token', 'get an API token', [
    'npx simbi token',
    'curl -H "Authorization: Bearer $(npx simbi token)" http://localhost:8080/api/payment-link-api/list',
  ])
    .enablePositionalOptions()
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean }) => {
      const credentials = await readCredentials(terminal);
      const data = await fetchToken(credentials);
      print(terminal, options, data, data.token);
      terminal.say(`Valid until ${data.expires_at}.`);
    });

  addCommand(token, 'revoke <id>', 'end a token before it expires', [
    'npx simbi token revoke 7',
    `npx simbi token revoke '7|kX3…'`,
  ])
    .addHelpText('after', '\nThe id is the number before the | of a token.')
    .action(async (given: string, options: { json?: boolean }) => {
      const id = parseId(given.split('|', 1)[0] ?? given);
      const revoked = await withContext(terminal, (ctx) => revokeToken(ctx, COMMAND_LINE, id));
      const data = { id, client_id: revoked.clientId, revoked_at: revoked.at };
      print(terminal, options, data, `Token ${id} of ${revoked.clientId} is revoked.`);
    });
}
