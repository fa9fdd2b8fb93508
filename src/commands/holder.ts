// simbi holder: the businesses that use the gateway.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { addressState } from '../holders/credentials.ts';
import {
  createHolder,
  findHolder,
  type Holder,
  type HolderStatus,
  listHolders,
  MAX_HOLDERS_LISTED,
  type NewHolder,
} from '../holders/holders.ts';
import { inviteMember } from '../holders/invitations.ts';
import { ROLES } from '../holders/members.ts';
import { createHolderWithOwner } from '../holders/registration.ts';
import type { Context } from '../platform/context.ts';
import { formatAmount } from '../platform/money.ts';
import { isTimeZone } from '../platform/time-zones.ts';
import { describeInvitation, explainInvitation, type PrintedInvitation } from './invitation.ts';
import {
  addCommand,
  CommandError,
  confirm,
  EXIT,
  parseId,
  parseLimit,
  print,
  readName,
  requireAmount,
  requireEmail,
  type Terminal,
  table,
  withContext,
} from './terminal.ts';

function addReserveCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'reserve <id>', 'hold a share of its collections for some days; without options show it', [
    'npx simbi holder reserve 3 --percent 10 --days 30',
    'npx simbi holder reserve 3 --none',
  ])
    .option('--percent <share>', 'the share of each collection, in percent')
    .option('--days <number>', 'for how long')
    .option('--none', 'hold nothing more; what is held stays until its day')
    .action(async (id: string, options: { json?: boolean; percent?: string; days?: string; none?: boolean }) => {
      const rule = await withContext(terminal, async (ctx) => {
        const { findReserveRule, setReserveRule } = await import('../payments/rolling-reserve.ts');
        const holder = await findHolder(ctx.db, parseId(id));
        if (!holder) throw new CommandError(`There is no holder ${id}.`, EXIT.notFound);
        if (options.none) await setReserveRule(ctx, COMMAND_LINE, holder.id, null);
        else if (options.percent !== undefined || options.days !== undefined)
          await setReserveRule(ctx, COMMAND_LINE, holder.id, {
            // Two decimals of a percent: the amount reader gives hundredths of one, which are basis points.
            basisPoints: requireAmount(options.percent ?? '', 'XXX'),
            days: Number(options.days ?? '0'),
          });
        return findReserveRule(ctx.db, holder.id);
      });
      const data = rule && { percent: formatAmount(rule.basisPoints), days: rule.days };
      const sentence = data ? `${data.percent} percent is held for ${data.days} days.` : 'Nothing is held.';
      print(terminal, options, { reserve: data }, sentence);
    });
}

export function holderCommands(group: Command, terminal: Terminal): void {
  addCreateCommand(group, terminal);

  addCommand(group, 'invite <id> <email>', 'make a link that gives a person a role at a holder', [
    'npx simbi holder invite 3 ada@example.org',
    'npx simbi holder invite 3 ben@example.org --role finance',
  ])
    .option('--role <role>', `${ROLES.join(', ')}`, 'owner')
    .action(async (id: string, email: string, options: { json?: boolean; role: string }) => {
      requireEmail(email);
      const role = ROLES.find((each) => each === options.role);
      if (!role) throw new CommandError(`--role must be one of ${ROLES.join(', ')}.`, EXIT.usage);
      const printed = await withContext(terminal, async (ctx) => {
        const holder = await findHolder(ctx.db, parseId(id));
        if (!holder) throw new CommandError(`There is no holder ${id}.`, EXIT.notFound);
        const state = await addressState(ctx.db, email);
        const invitation = await inviteMember(ctx, COMMAND_LINE, holder.id, email, role, 'host');
        return describeInvitation(ctx, email, state, invitation);
      });
      print(terminal, options, printed, printed.link);
      explainInvitation(terminal, printed);
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

  addReserveCommand(group, terminal);

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

function addCreateCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'create <name>', 'create a holder', [
    'npx simbi holder create "Mama Put Kitchen"',
    'npx simbi holder create "Mama Put Kitchen" --owner ada@example.org',
    'npx simbi holder create "Duka la Amani" --time-zone Africa/Nairobi',
  ])
    .option('--owner <email>', 'e-mail of the owner, who gets a link')
    .option('--time-zone <name>', 'where its days begin at midnight, such as Africa/Nairobi')
    .action(async (text: string, options: { json?: boolean; owner?: string; timeZone?: string }) => {
      const { owner: email, timeZone } = options;
      const name = readName(text, 'name');
      if (email !== undefined) requireEmail(email);
      if (timeZone !== undefined && !isTimeZone(timeZone))
        throw new CommandError(`"${timeZone}" is not a time zone. Use a name such as Africa/Nairobi.`, EXIT.usage);
      const { holder, owner } = await withContext(terminal, (ctx) => create(ctx, { name, timeZone }, email));
      const lines = owner ? `${rowsOf([holder])}\n\n${owner.link}` : rowsOf([holder]);
      print(terminal, options, owner ? { ...holder, owner } : holder, lines);
      if (owner) explainInvitation(terminal, owner);
      terminal.say(`Next: npx simbi integration create ${holder.id} "${name}"`);
    });
}

/** The owner gets the role with the link that is printed. */
async function create(
  ctx: Context,
  business: NewHolder,
  email: string | undefined,
): Promise<{ holder: Holder; owner: PrintedInvitation | null }> {
  if (email === undefined)
    return { holder: await createHolder(ctx, COMMAND_LINE, business.name, business.timeZone), owner: null };
  const state = await addressState(ctx.db, email);
  const { holder, invitation } = await createHolderWithOwner(ctx, COMMAND_LINE, business, email, 'host');
  return { holder, owner: describeInvitation(ctx, email, state, invitation) };
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
