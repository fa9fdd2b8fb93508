// simbi token: exchanges the credentials for a bearer token.

import type { Command } from 'commander';
import { CREDENTIALS_HELP, fetchToken, readCredentials } from './remote.ts';
import { addCommand, print, type Terminal } from './terminal.ts';

export function tokenCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'token', 'get an API token', [
    'npx simbi token',
    'curl -H "Authorization: Bearer $(npx simbi token)" http://localhost:8080/api/payment-link-api/list',
  ])
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean }) => {
      const credentials = await readCredentials(terminal);
      const data = await fetchToken(credentials);
      print(terminal, options, data, data.token);
      terminal.say(`Valid until ${data.expires_at}.`);
    });
}
