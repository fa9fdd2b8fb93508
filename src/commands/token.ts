// simbi token: exchanges the credentials for a bearer token.

import type { Command } from 'commander';
import { CREDENTIALS_HELP, postJson, readCredentials } from './remote.ts';
import { addCommand, show, type Terminal } from './terminal.ts';

export function tokenCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'token', 'get an API token', [
    'npx simbi token',
    'curl -H "Authorization: Bearer $(npx simbi token)" http://localhost:8080/api/payment-link-api/list',
  ])
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean }) => {
      const credentials = await readCredentials(terminal);
      const { body } = await postJson(credentials, '/api/integration/get-token', {
        client_id: credentials.clientId,
        secret_key: credentials.secretKey,
      });
      const data = body.data as { token: string; expires_at: string };
      show(terminal, options, data, data.token);
      terminal.say(`Valid until ${data.expires_at}.`);
    });
}
