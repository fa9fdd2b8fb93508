// simbi holder: the businesses that use the gateway.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createHolder, type Holder, type HolderStatus, listHolders, MAX_HOLDERS_LISTED } from '../holders/holders.ts';
import { createHolderWithOwner } from '../holders/registration.ts';
import {
  addCommand,
  addGroup,
  confirm,
  parseId,
  parseLimit,
  print,
  requireEmail,
  type Terminal,
  table,
  withContext,
} from './terminal.ts';

export function holderCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'holder', 'create, list, suspend and close holders');

  addCommand(group, 'create <name>', 'create a holder', [
    'npx simbi holder create "Mama Put Kitchen"',
    'npx simbi holder create "Mama Put Kitchen" --owner ada@example.org',
  ])
    .option('--owner <email>', 'e-mail of the owner')
    .action(async (name: string, options: { json?: boolean; owner?: string }) => {
      if (options.owner !== undefined) requireEmail(options.owner);
      const holder = await withContext(terminal, async (ctx) => {
        if (options.owner === undefined) return createHolder(ctx, COMMAND_LINE, name);
        const owner = { email: options.owner, name: options.owner };
        return (await createHolderWithOwner(ctx, COMMAND_LINE, name, owner)).holder;
      });
      print(terminal, options, holder, rowsOf([holder]));
      terminal.say(`Next: npx simbi integration create ${holder.id} "${name}"`);
    });

  addCommand(group, 'list', 'list holders, newest first', [
    'npx simbi holder list',
    'npx simbi holder list --limit 50 --json',
    'npx simbi holder list --limit 50 --before 120',
  ])
    .option('--limit <number>', 'maximum number of rows', String(MAX_HOLDERS_LISTED))
    .option('--before <id>', 'only older holders than this id')
    .action(async (options: { json?: boolean; limit: string; before?: string }) => {
      const limit = parseLimit(options.limit, MAX_HOLDERS_LISTED);
      const before = options.before === undefined ? undefined : parseId(options.before);
      const holders = await withContext(terminal, (ctx) => listHolders(ctx.db, { limit, before }));
      print(terminal, options, holders, rowsOf(holders));
      const last = holders.at(-1);
      if (last && holders.length === limit) terminal.say(`Next page: npx simbi holder list --before ${last.id}`);
    });

  const change = async (id: string, status: HolderStatus, options: { json?: boolean }) => {
    const { setHolderStatus } = await import('../payments/holder-status.ts');
    const holder = await withContext(terminal, (ctx) => setHolderStatus(ctx, COMMAND_LINE, parseId(id), status));
    print(terminal, options, holder, rowsOf([holder]));
  };

  addCommand(group, 'suspend <id>', 'refuse its requests until it is resumed', ['npx simbi holder suspend 3']).action(
    (id: string, options: { json?: boolean }) => change(id, 'suspended', options),
  );

  addCommand(group, 'resume <id>', 'accept the requests of a suspended holder again', [
    'npx simbi holder resume 3',
  ]).action((id: string, options: { json?: boolean }) => change(id, 'active', options));

  addCommand(group, 'close <id>', 'close a holder permanently', ['npx simbi holder close 3 --yes'])
    .option('--yes', 'do not ask for confirmation')
    .action(async (id: string, options: { json?: boolean; yes?: boolean }) => {
      await confirm(terminal, options, `Closing holder ${parseId(id)} cannot be undone.`);
      await change(id, 'closed', options);
    });
}

function rowsOf(holders: Holder[]): string {
  return table(
    ['id', 'name', 'status', 'since'],
    holders.map((holder) => [
      String(holder.id),
      holder.name,
      holder.status,
      holder.created_at.toISOString().slice(0, 10),
    ]),
  );
}
