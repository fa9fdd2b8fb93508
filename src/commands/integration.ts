// simbi integration: the API credentials of a holder. Secrets are shown once, when they are created.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import {
  createIntegration,
  type Integration,
  listAllIntegrations,
  listIntegrations,
  MAX_INTEGRATIONS_LISTED,
  rotateSecret,
  updateIntegration,
} from '../holders/integrations.ts';
import { integrationKeyCommands, requireByClientId } from './integration-keys.ts';
import {
  addCommand,
  CommandError,
  confirm,
  EXIT,
  parseId,
  print,
  readName,
  readOverlap,
  type Terminal,
  table,
  withContext,
} from './terminal.ts';

export function integrationCommands(group: Command, terminal: Terminal): void {
  addCreate(group, terminal);
  addRotate(group, terminal);
  integrationKeyCommands(group, terminal);

  addCommand(group, 'list', 'list integrations', [
    'npx simbi integration list',
    'npx simbi integration list --holder 3',
  ])
    .option('--holder <id>', 'only those of one holder')
    .action(async (options: { json?: boolean; holder?: string }) => {
      const holderId = options.holder === undefined ? null : parseId(options.holder);
      const found = await withContext(terminal, (ctx) =>
        holderId === null ? listAllIntegrations(ctx.db) : listIntegrations(ctx.db, holderId),
      );
      print(terminal, options, found.map(dataOf), rowsOf(found));
      if (found.length === MAX_INTEGRATIONS_LISTED)
        terminal.say(`Only the first ${MAX_INTEGRATIONS_LISTED} are shown. Use --holder to list those of one holder.`);
    });

  addCommand(group, 'revoke <client_id>', 'refuse its requests permanently', [
    'npx simbi integration revoke client_7k… --yes',
  ])
    .option('--yes', 'do not ask for confirmation')
    .action(async (clientId: string, options: { json?: boolean; yes?: boolean }) => {
      await confirm(terminal, options, `Revoking ${clientId} cannot be undone. Its requests are refused at once.`);
      const revoked = await withContext(terminal, async (ctx) => {
        const { holderId, id } = await requireByClientId(ctx, clientId);
        return await updateIntegration(ctx, COMMAND_LINE, holderId, id, { status: 'revoked' });
      });
      print(terminal, options, dataOf(revoked), rowsOf([revoked]));
    });
}

function addCreate(group: Command, terminal: Terminal): void {
  addCommand(group, 'create <holder> <title>', 'create an integration and show its secrets once', [
    'npx simbi integration create 3 "Web shop"',
    'npx simbi integration create 3 "Web shop" --callback-url https://shop.example.org/paid',
  ])
    .option('--callback-url <url>', 'default URL for callbacks')
    .action(async (holder: string, text: string, options: { json?: boolean; callbackUrl?: string }) => {
      const title = readName(text, 'title');
      const made = await withContext(terminal, async (ctx) => {
        const found = await findHolder(ctx.db, parseId(holder));
        if (!found) throw new CommandError(`There is no holder ${holder}.`, EXIT.notFound);
        const defaults = options.callbackUrl ? { defaultCallbackUrl: options.callbackUrl } : {};
        return await createIntegration(ctx, COMMAND_LINE, found.id, title, defaults);
      });
      const lines = [
        `client_id        ${made.clientId}`,
        `sender           ${made.title}`,
        `secret_key       ${made.secretKey}`,
        `callback_secret  ${made.callbackSecret}`,
      ];
      const secrets = { secret_key: made.secretKey, callback_secret: made.callbackSecret };
      print(terminal, options, { ...dataOf(made), ...secrets }, lines.join('\n'));
      terminal.say('Store both secrets now. They are not shown again.');
    });
}

function addRotate(group: Command, terminal: Terminal): void {
  addCommand(group, 'rotate <client_id>', 'create a new secret; the current one keeps working for a while', [
    'npx simbi integration rotate client_7k…',
    'npx simbi integration rotate client_7k… --kind callback --overlap 3600',
  ])
    .option('--kind <kind>', 'api or callback', 'api')
    .option(
      '--overlap <seconds>',
      'how long the current secret and its tokens keep working; 0 when it has leaked',
      '86400',
    )
    .action(async (clientId: string, options: { json?: boolean; kind: string; overlap: string }) => {
      const { kind } = options;
      if (kind !== 'api' && kind !== 'callback') throw new CommandError('--kind must be api or callback.', EXIT.usage);
      const overlap = readOverlap(options.overlap);
      const rotated = await withContext(terminal, async (ctx) => {
        const { holderId, id } = await requireByClientId(ctx, clientId);
        return await rotateSecret(ctx, COMMAND_LINE, holderId, id, kind, overlap);
      });
      const data = {
        client_id: clientId,
        kind,
        secret: rotated.secret,
        previous_expires_at: rotated.previousExpiresAt,
      };
      print(terminal, options, data, rotated.secret);
      terminal.say(
        `Store it now; it is not shown again. The previous secret works until ${rotated.previousExpiresAt.toISOString()}.`,
      );
    });
}

/** The JSON of an integration, with the field names of the API. */
function dataOf(one: Integration): Record<string, unknown> {
  return {
    client_id: one.clientId,
    sender: one.title,
    holder_id: one.holderId,
    status: one.status,
    allowed_addresses: one.allowedAddresses,
    default_callback_url: one.defaultCallbackUrl,
    created_at: one.createdAt,
  };
}

function rowsOf(integrations: Integration[]): string {
  return table(
    ['client_id', 'holder', 'title', 'status', 'callback URL'],
    integrations.map((one) => [
      one.clientId,
      String(one.holderId),
      one.title,
      one.status,
      one.defaultCallbackUrl ?? '-',
    ]),
  );
}
