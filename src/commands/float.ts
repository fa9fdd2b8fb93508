// simbi float: what our accounts with operators hold for payouts, how long it lasts, and the payouts that wait for it.

import type { Command } from 'commander';
import type { FloatReport } from '../payments/float-report.ts';
import type { FloatWait } from '../payments/float-waits.ts';
import { formatAmount } from '../platform/money.ts';
import { requireCurrency, withPayments } from './payments-context.ts';
import {
  addCommand,
  addNeededOption,
  CommandError,
  EXIT,
  print,
  requireAmount,
  type Terminal,
  table,
  withExamples,
} from './terminal.ts';

type Options = { json?: boolean };
type FloatOptions = Options & { currency: string };
type SetOptions = FloatOptions & { low: string; stop: string; account?: string; shared?: boolean };

const MAX_WAITS = 1_000;
const CURRENCY_OPTION = ['--currency <code>', 'such as KES'] as const;

export function floatCommands(group: Command, terminal: Terminal): void {
  withExamples(group, ['npx simbi float', 'npx simbi float --json']).action(async (options: Options) => {
    const floats = await withPayments(terminal, async (ctx) =>
      (await import('../payments/float-report.ts')).readFloats(ctx),
    );
    const text = floats.length === 0 ? 'No operator has said what it holds, and no payout waits.' : floatTable(floats);
    print(terminal, options, { floats: floats.map(dataOf) }, text);
  });
  addSetCommand(group, terminal);
  addRemoveCommand(group, terminal);
  addWaitingCommand(group, terminal);
}

function addSetCommand(group: Command, terminal: Terminal): void {
  const command = addCommand(group, 'set <connection>', 'watch a float: when it is low, and where payouts stop', [
    'npx simbi float set kenya --currency KES --low 500000 --stop 20000',
    'npx simbi float set pawapay --currency ZMW --low 10000 --shared',
  ]);
  addNeededOption(command, ...CURRENCY_OPTION);
  addNeededOption(command, '--low <amount>', 'below it the administrators get a mail');
  command
    .option('--stop <amount>', 'no payout takes the float below it: it waits', '0')
    .option('--account <name>', 'the account that pays out, as the operator names it; default: the usual one')
    .option('--shared', 'collections arrive on the account that pays out')
    .action(async (connection: string, options: SetOptions) => {
      const { account = null, shared = false } = options;
      const currency = options.currency.toUpperCase();
      const setting = {
        connection,
        currency,
        account,
        low: amountOf(options.low, currency),
        stop: amountOf(options.stop, currency),
        isShared: shared,
      };
      await withPayments(terminal, async (ctx) => {
        requireCurrency(ctx, currency);
        const [{ setFloat }, { COMMAND_LINE }] = await Promise.all([
          import('../payments/float-settings.ts'),
          import('../holders/audit.ts'),
        ]);
        await setFloat(ctx, COMMAND_LINE, setting);
      });
      print(terminal, options, { ok: true }, `The ${currency} float of ${connection} is watched.`);
    });
}

function addRemoveCommand(group: Command, terminal: Terminal): void {
  const command = addCommand(group, 'remove <connection>', 'watch a float no more; what waits is sent', [
    'npx simbi float remove kenya --currency KES',
  ]);
  addNeededOption(command, ...CURRENCY_OPTION).action(async (connection: string, options: FloatOptions) => {
    const currency = options.currency.toUpperCase();
    const isRemoved = await withPayments(terminal, async (ctx) => {
      const [{ removeFloat }, { COMMAND_LINE }] = await Promise.all([
        import('../payments/float-settings.ts'),
        import('../holders/audit.ts'),
      ]);
      return removeFloat(ctx, COMMAND_LINE, { connection, currency });
    });
    if (!isRemoved) throw new CommandError(`Nobody watches the ${currency} float of ${connection}.`, EXIT.notFound);
    print(terminal, options, { ok: true }, `The ${currency} float of ${connection} is not watched any more.`);
  });
}

function addWaitingCommand(group: Command, terminal: Terminal): void {
  const command = addCommand(group, 'waiting <connection>', 'list the payouts that wait for float, the oldest first', [
    'npx simbi float waiting kenya --currency KES',
  ]);
  addNeededOption(command, ...CURRENCY_OPTION).action(async (connection: string, options: FloatOptions) => {
    const currency = options.currency.toUpperCase();
    const waits = await withPayments(terminal, async (ctx) => {
      const { listWaits } = await import('../payments/float-waits.ts');
      return listWaits(ctx.db, { connection, currency, limit: MAX_WAITS });
    });
    const { publicId } = await import('../platform/ids.ts');
    const data = waits.map((wait) => waitData(wait, publicId('TX', wait.transaction_id)));
    const rows = data.map(({ id, holder, amount, reason, tries, since }) => [
      id,
      String(holder),
      `${amount} ${currency}`,
      reason,
      String(tries),
      since.toISOString(),
    ]);
    const text = table(['payout', 'holder', 'amount', 'reason', 'refused', 'since'], rows);
    print(terminal, options, { payouts: data }, rows.length === 0 ? 'No payout waits.' : text);
  });
}

/** Nothing is an amount here. */
const amountOf = (text: string, currency: string) => (/^0+$/.test(text) ? 0n : requireAmount(text, currency));

const waitData = ({ holder_id, amount, reason, tries, since, released_at }: FloatWait, id: string) => ({
  id,
  holder: holder_id,
  amount: formatAmount(amount),
  reason,
  tries,
  since,
  released_at,
});

function dataOf({ connection, currency, level, setting, end, waiting, refusedAt, lowSince }: FloatReport) {
  return {
    connection,
    currency,
    level: level.level === null ? null : formatAmount(level.level),
    source: level.source,
    as_of: level.asOf,
    low: setting && formatAmount(setting.low),
    stop: setting && formatAmount(setting.stop),
    lasts_until: end,
    low_since: lowSince,
    refused_at: refusedAt,
    waiting: waiting
      ? { payouts: waiting.payouts, amount: formatAmount(waiting.amount), oldest: waiting.oldest }
      : { payouts: 0, amount: '0.00', oldest: null },
  };
}

function floatTable(floats: FloatReport[]): string {
  const rows = floats.map(({ connection, currency, level, setting, end, waiting, lowSince }) => [
    connection,
    level.level === null ? `not known ${currency}` : `${formatAmount(level.level)} ${currency}`,
    level.source,
    setting ? `${formatAmount(setting.low)}${lowSince ? ' (low)' : ''}` : '',
    setting ? formatAmount(setting.stop) : '',
    setting && level.level !== null ? lasts(end) : '',
    waiting ? `${waiting.payouts}: ${formatAmount(waiting.amount)} ${currency}` : '',
  ]);
  return table(['connection', 'float', 'known from', 'low', 'stop', 'lasts until about', 'waiting payouts'], rows);
}

const WEEKDAY_AND_TIME = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** "Thursday 5 Mar, 14:00 UTC", to the quarter of an hour. */
function lasts(end: Date | null): string {
  if (end === null) return 'over two weeks';
  const quarter = 15 * 60_000;
  return `${WEEKDAY_AND_TIME.format(new Date(Math.floor(end.getTime() / quarter) * quarter))} UTC`;
}
