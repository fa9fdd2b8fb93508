// simbi block: numbers that are asked for nothing and paid nothing, for one holder or for the whole gateway.

import type { Command } from 'commander';
import type { Country } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { addCommand, CommandError, EXIT, print, type Terminal, table, withContext } from './terminal.ts';

type Shared = { json?: boolean; holder?: string; gateway?: boolean };
/** Written by an earlier version, without its country: it may be anybody's in any country. */
const BLOCKS_NOBODY = '(blocks nobody: remove it, and add it with its country)';
const GATEWAY_OPTION = ['--gateway', 'for every holder'] as const;

export function blockCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'add <number> <reason>', 'block a number', [
    'npx simbi block add 256772123456 "stolen SIM" --holder 3',
    'npx simbi block add 256772123456 "court order 12/2026" --gateway',
  ])
    .option(...HOLDER_OPTION)
    .option(...GATEWAY_OPTION)
    .action(async (number: string, reason: string, options: Shared) => {
      const msisdn = await withContext(terminal, async (ctx) => {
        const digits = await readNumber(ctx, number);
        const [{ blockNumber }, { COMMAND_LINE }] = await loadLimits();
        await blockNumber(ctx, COMMAND_LINE, await ownerOf(terminal, ctx, options), { msisdn: digits, reason });
        return digits;
      });
      print(terminal, options, { msisdn, blocked: true }, `+${msisdn} is blocked.`);
    });

  addCommand(group, 'remove <number>', 'take a number off the list', ['npx simbi block remove 256772123456 --holder 3'])
    .option(...HOLDER_OPTION)
    .option(...GATEWAY_OPTION)
    .action(async (number: string, options: Shared) => {
      const msisdn = digitsOf(number);
      await withContext(terminal, async (ctx) => {
        const [{ unblockNumber }, { COMMAND_LINE }] = await loadLimits();
        if (!(await unblockNumber(ctx, COMMAND_LINE, await ownerOf(terminal, ctx, options), msisdn)))
          throw new CommandError(`+${msisdn} is not blocked.`, EXIT.notFound);
      });
      print(terminal, options, { msisdn, blocked: false }, `+${msisdn} is no longer blocked.`);
    });

  addCommand(group, 'list', 'list blocked numbers', ['npx simbi block list', 'npx simbi block list --gateway --json'])
    .option(...HOLDER_OPTION)
    .option(...GATEWAY_OPTION)
    .action(async (options: Shared) => {
      const data = await withContext(terminal, async (ctx) => {
        const [[{ listBlockedNumbers }], { isNormalised }, countries] = await Promise.all([
          loadLimits(),
          import('../catalog/phone.ts'),
          loadCountries(ctx),
        ]);
        const numbers = await listBlockedNumbers(ctx.db, await ownerOf(terminal, ctx, options));
        return numbers.map(({ msisdn, reason, added_by, added_at }) => {
          const effective = isNormalised(msisdn, countries);
          return { msisdn, reason, added_by, added_at, effective };
        });
      });
      const rows = data.map((each) => [
        each.effective ? `+${each.msisdn}` : `${each.msisdn} ${BLOCKS_NOBODY}`,
        each.reason,
        each.added_by,
        each.added_at.toISOString(),
      ]);
      const lines = table(['Number', 'Reason', 'By', 'Since'], rows);
      print(terminal, options, data, rows.length === 0 ? 'No number is blocked.' : lines);
    });
}

function loadLimits() {
  return Promise.all([import('../payments/payment-limits.ts'), import('../holders/audit.ts')]);
}

async function ownerOf(terminal: Terminal, ctx: Context, options: Shared): Promise<bigint> {
  return options.gateway ? NO_HOLDER : (await requireHolder(terminal, ctx, options.holder)).id;
}

async function loadCountries(ctx: Context): Promise<Country[]> {
  const { loadCatalog } = await import('../catalog/catalog.ts');
  return [...loadCatalog(ctx.config.catalogFile).countries.values()];
}

/** In national form it would be on the list and block nobody. */
async function readNumber(ctx: Context, number: string): Promise<string> {
  const [{ readWithCountry }, countries] = await Promise.all([import('../catalog/phone.ts'), loadCountries(ctx)]);
  const digits = readWithCountry(number, countries);
  if (digits === null) throw new CommandError('Write the mobile number with its country, as 256772123456.', EXIT.usage);
  return digits;
}

function digitsOf(number: string): string {
  const digits = number.replace(/[\s+-]/g, '');
  if (!/^\d{6,15}$/.test(digits))
    throw new CommandError('Write the number with its country, as 256772123456.', EXIT.usage);
  return digits;
}
