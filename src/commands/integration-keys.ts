// simbi integration key: the API keys of an integration. Each has a name, scopes and addresses of its own.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { findByClientId, type Integration, rotateSecret } from '../holders/integrations.ts';
import { addKey, type ListedKey, listKeys, revokeKey } from '../holders/keys.ts';
import type { Context } from '../platform/context.ts';
import { isScope, type KeyScope, SCOPES } from '../platform/scopes.ts';
import {
  addCommand,
  addGroup,
  CommandError,
  confirm,
  EXIT,
  print,
  readOverlap,
  type Terminal,
  table,
  withContext,
} from './terminal.ts';

export function integrationKeyCommands(integration: Command, terminal: Terminal): void {
  const group = addGroup(integration, 'key', 'add, list, rotate and revoke the API keys of an integration');
  addAdd(group, terminal);
  addRotate(group, terminal);

  addCommand(group, 'list <client_id>', 'list the keys of an integration', [
    'npx simbi integration key list client_7k…',
  ]).action(async (clientId: string, options: { json?: boolean }) => {
    const keys = await withContext(terminal, async (ctx) => {
      const { holderId, id } = await requireByClientId(ctx, clientId);
      return await listKeys(ctx.db, holderId, id, ctx.clock.now());
    });
    print(terminal, options, keys.map(dataOf), rowsOf(keys));
  });

  addCommand(group, 'revoke <client_id> <name>', 'end a key and every token that was made with it', [
    'npx simbi integration key revoke client_7k… shop --yes',
  ])
    .option('--yes', 'do not ask for confirmation')
    .action(async (clientId: string, name: string, options: { json?: boolean; yes?: boolean }) => {
      await confirm(terminal, options, `Revoking the key ${name} cannot be undone. Its requests are refused at once.`);
      const { at } = await withContext(terminal, async (ctx) => {
        const { holderId, id } = await requireByClientId(ctx, clientId);
        return await revokeKey(ctx, COMMAND_LINE, holderId, id, name);
      });
      print(
        terminal,
        options,
        { client_id: clientId, name, revoked_at: at },
        `The key ${name} of ${clientId} is revoked.`,
      );
    });
}

function addAdd(group: Command, terminal: Terminal): void {
  addCommand(group, 'add <client_id>', 'add a key and show its secret once', [
    'npx simbi integration key add client_7k… --name shop --scopes collect,read --allow 203.0.113.0/24',
    'npx simbi integration key add client_7k… --name books --scopes read',
  ])
    .requiredOption('--name <name>', 'name of the key')
    .option('--scopes <list>', `what it may do: ${SCOPES.join(', ')}; all of them without this option`)
    .option('--allow <list>', 'addresses and ranges that it works from; any without this option')
    .action(async (clientId: string, options: { json?: boolean; name: string; scopes?: string; allow?: string }) => {
      const access = {
        name: options.name,
        scopes: options.scopes === undefined ? SCOPES : readScopes(options.scopes),
        allowedAddresses: splitList(options.allow ?? ''),
      };
      const { secret } = await withContext(terminal, async (ctx) => {
        const { holderId, id } = await requireByClientId(ctx, clientId);
        return await addKey(ctx, COMMAND_LINE, holderId, id, access);
      });
      const { name, scopes, allowedAddresses } = access;
      const data = { client_id: clientId, name, scopes, allowed_addresses: allowedAddresses, secret_key: secret };
      print(terminal, options, data, secret);
      terminal.say('Store it now; it is not shown again.');
    });
}

function addRotate(group: Command, terminal: Terminal): void {
  addCommand(group, 'rotate <client_id> <name>', 'create a new secret; the current one keeps working for a while', [
    'npx simbi integration key rotate client_7k… shop',
    'npx simbi integration key rotate client_7k… shop --overlap 0',
  ])
    .option(
      '--overlap <seconds>',
      'how long the current secret and its tokens keep working; 0 when it has leaked',
      '86400',
    )
    .action(async (clientId: string, name: string, options: { json?: boolean; overlap: string }) => {
      const overlap = readOverlap(options.overlap);
      const { secret, previousExpiresAt } = await withContext(terminal, async (ctx) => {
        const { holderId, id } = await requireByClientId(ctx, clientId);
        return await rotateSecret(ctx, COMMAND_LINE, holderId, id, 'api', overlap, name);
      });
      const data = { client_id: clientId, name, secret_key: secret, previous_expires_at: previousExpiresAt };
      print(terminal, options, data, secret);
      terminal.say(
        `Store it now; it is not shown again. The previous secret works until ${previousExpiresAt.toISOString()}.`,
      );
    });
}

const splitList = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function readScopes(text: string): KeyScope[] {
  const given = splitList(text);
  const wrong = given.find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new CommandError(`"${wrong}" is not a scope. Scopes are ${SCOPES.join(', ')}.`, EXIT.usage);
  return given.filter(isScope);
}

export async function requireByClientId(ctx: Context, clientId: string): Promise<Integration> {
  const integration = await findByClientId(ctx.db, clientId);
  if (!integration) throw new CommandError(`There is no integration ${clientId}.`, EXIT.notFound);
  return integration;
}

/** The JSON of a key, with the field names of the API. */
function dataOf(key: ListedKey): Record<string, unknown> {
  return {
    name: key.name,
    secret_id: key.id,
    status: key.status,
    scopes: key.scopes,
    allowed_addresses: key.allowedAddresses,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
  };
}

function rowsOf(keys: readonly ListedKey[]): string {
  return table(
    ['name', 'secret', 'status', 'scopes', 'addresses', 'created', 'last used'],
    keys.map((key) => [
      key.name,
      String(key.id),
      key.status,
      key.scopes.join(','),
      key.allowedAddresses.join(',') || 'any',
      key.createdAt.toISOString(),
      key.lastUsedAt?.toISOString() ?? '-',
    ]),
  );
}
