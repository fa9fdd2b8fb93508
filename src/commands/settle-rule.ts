// simbi settle rule: where the money of a wallet goes, and when.

import type { Command } from 'commander';
import type { Schedule, SettlementRuleRequest } from '../books/settlement-rules.ts';
import { formatAmount } from '../platform/money.ts';
import { HOLDER_OPTION, requireActor, requireHolder, withPayments } from './payments-context.ts';
import { addCommand, CommandError, EXIT, print, requireAmount, type Terminal, table } from './terminal.ts';

const SCHEDULES: readonly Schedule[] = ['none', 'daily', 'weekly', 'monthly'];

type RuleOptions = {
  holder?: string;
  as?: string;
  bank?: string;
  branch: string;
  account?: string;
  phone?: string;
  method?: string;
  name?: string;
  schedule: string;
  weekday?: string;
  minimum: string;
  json?: boolean;
};

export function settleRuleCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'rule [currency]', 'set where a wallet is settled to, and when; without a currency: list', [
    'npx simbi settle rule --holder 3',
    'npx simbi settle rule KES --holder 3 --bank "KCB" --branch 01100 --account 1100123456 --name "Duka Ltd" --schedule daily',
    'npx simbi settle rule UGX --holder 3 --phone 256772123456 --name "Duka Ltd" --schedule weekly --weekday 5 --minimum 50000',
  ])
    .option(...HOLDER_OPTION)
    .option('--as <email>', 'who sets it; default: the command line')
    .option('--bank <bank>', "the holder's bank")
    .option('--branch <code>', 'the code of the bank or its branch, or a SWIFT code', '')
    .option('--account <number>', 'the number of the account')
    .option('--phone <number>', 'a number of mobile money, instead of a bank')
    .option('--method <code>', 'the method of the number, where the number does not tell it')
    .option('--name <name>', 'the name of the account')
    .option('--schedule <schedule>', SCHEDULES.join(', '), 'none')
    .option('--weekday <day>', 'of a weekly schedule: 1 is Monday')
    .option('--minimum <amount>', 'nothing is settled below it', '0')
    .action(async (currency: string | undefined, options: RuleOptions) => {
      await withPayments(terminal, async (ctx) => {
        const { describeDestination, listSettlementRules, setSettlementRule } = await import(
          '../books/settlement-rules.ts'
        );
        const holder = await requireHolder(terminal, ctx, options.holder);
        if (currency !== undefined) {
          const actor = await requireActor(ctx, holder, options.as);
          await setSettlementRule(ctx, actor, holder.id, readRule(currency.toUpperCase(), options));
        }
        const rules = (await listSettlementRules(ctx.db, holder.id)).map((rule) => ({
          currency: rule.currency,
          to: describeDestination(rule.destination),
          schedule: rule.schedule === 'weekly' ? `weekly, day ${rule.weekday}` : rule.schedule,
          minimum: formatAmount(rule.minimum),
          usable_from: rule.usable_from,
          next_at: rule.next_at,
        }));
        const rows = rules.map((rule) => [
          rule.currency,
          rule.to,
          rule.schedule,
          rule.minimum,
          rule.usable_from.toISOString(),
          rule.next_at?.toISOString() ?? '',
        ]);
        const shown = table(['Currency', 'To', 'Schedule', 'Minimum', 'Usable from', 'Next'], rows);
        print(terminal, options, rules, rules.length === 0 ? 'No destination is set.' : shown);
      });
    });
}

function readRule(currency: string, options: RuleOptions): SettlementRuleRequest {
  const schedule = SCHEDULES.find((each) => each === options.schedule);
  if (!schedule) throw new CommandError(`--schedule must be one of ${SCHEDULES.join(', ')}.`, EXIT.usage);
  const { bank, account, phone, name = '' } = options;
  if ((bank === undefined) === (phone === undefined))
    throw new CommandError('Give --bank with --account, or --phone.', EXIT.usage);
  const destination =
    phone === undefined
      ? ({ kind: 'bank', bank: bank ?? '', branch: options.branch, account: account ?? '', name } as const)
      : ({ kind: 'mobile', mobile: phone, method: options.method, name } as const);
  const weekday = options.weekday === undefined ? null : Number(options.weekday);
  const minimum = options.minimum === '0' ? 0n : requireAmount(options.minimum, currency);
  return { currency, destination, schedule, weekday, minimum };
}
