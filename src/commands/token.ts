// simbi token: exchanges the credentials for a bearer token; token list and token revoke are for the host: tokens of everybody.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { type ListedToken, listTokens, MAX_TOKENS_LISTED, revokeToken } from '../holders/tokens.ts';
import { requireByClientId } from './integration-keys.ts';
import { CREDENTIALS_HELP, fetchToken, readCredentials } from './remote.ts';
import { addCommand, parseId, parseLimit, print, type Terminal, table, withContext, withExamples } from './terminal.ts';

export function tokenCommand(command: Command, terminal: Terminal): void {
  const token = withExamples(command, [
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

  addList(token, terminal);

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

function addList(token: Command, terminal: Terminal): void {
  addCommand(token, 'list', 'list live tokens', [
    'npx simbi token list',
    'npx simbi token list --client-id client_7k… --key shop',
  ])
    .option('--client-id <client_id>', 'only those of one integration')
    .option('--key <name>', 'only those that were made with one key')
    .option('--limit <number>', `at most this many, up to ${MAX_TOKENS_LISTED}`, '100')
    .action(async (options: { json?: boolean; clientId?: string; key?: string; limit: string }) => {
      const limit = parseLimit(options.limit, MAX_TOKENS_LISTED);
      const { clientId, key } = options;
      const tokens = await withContext(terminal, async (ctx) => {
        const integrationId = clientId === undefined ? undefined : (await requireByClientId(ctx, clientId)).id;
        return await listTokens(ctx.db, { integrationId, key }, { now: ctx.clock.now(), limit });
      });
      print(terminal, options, tokens, rowsOf(tokens));
    });
}

function rowsOf(tokens: readonly ListedToken[]): string {
  return table(
    ['id', 'client_id', 'key', 'secret', 'created', 'expires', 'last used', 'from'],
    tokens.map((token) => [
      String(token.id),
      token.client_id,
      token.key,
      String(token.secret_id),
      token.created_at.toISOString(),
      token.expires_at.toISOString(),
      token.last_used_at?.toISOString() ?? '-',
      token.last_address ?? token.address,
    ]),
  );
}
