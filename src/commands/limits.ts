// simbi limits: who is held back by a limit now, or was in the last hour; and the limits of a holder's day.

import type { Command } from 'commander';
import { readHeldBack } from '../console/held-back-list.ts';
import type { LimitChange, LimitSubject, PaymentLimit } from '../payments/payment-limits.ts';
import type { TransactionDirection } from '../payments/states.ts';
import { formatAmount } from '../platform/money.ts';
import { HOLDER_OPTION, requireCurrency, requireHolder, withPayments } from './payments-context.ts';
import {
  addCommand,
  CommandError,
  EXIT,
  print,
  requireAmount,
  type Terminal,
  table,
  withContext,
  withExamples,
} from './terminal.ts';

const DIRECTIONS: readonly TransactionDirection[] = ['collection', 'payout', 'refund'];
const SUBJECTS: readonly LimitSubject[] = ['holder', 'member', 'number'];

export function limitsCommands(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi limits', 'npx simbi limits --json']).action(async (options: { json?: boolean }) => {
    const entries = await withContext(terminal, readHeldBack);
    const data = entries.map(({ kind, guess, subject, count, since, until }) => ({
      kind,
      ...(guess && { guess }),
      subject,
      count,
      since,
      until,
    }));
    const rows = data.map(({ kind, guess, subject, count, since, until }) => [
      guess ? `${kind}: ${guess}` : kind,
      subject,
      String(count),
      since.toISOString(),
      until.toISOString(),
    ]);
    const lines = table(['Limit', 'Who', 'Count', 'Since', 'Until'], rows);
    print(terminal, options, { held_back: data }, rows.length === 0 ? 'Nobody is held back.' : lines);
  });
  addListCommand(command, terminal);
  addSetCommand(command, terminal);
}

type Shared = { json?: boolean; holder?: string };

function addListCommand(command: Command, terminal: Terminal): void {
  addCommand(command, 'list', "list the limits of a holder's day", ['npx simbi limits list --holder 3'])
    .option(...HOLDER_OPTION)
    .action(async (options: Shared) => {
      const limits = await withContext(terminal, async (ctx) => {
        const { listLimits } = await import('../payments/payment-limits.ts');
        return listLimits(ctx.db, (await requireHolder(terminal, ctx, options.holder)).id);
      });
      print(terminal, options, limits.map(dataOf), limits.length === 0 ? 'There is no limit.' : rowsOf(limits));
    });
}

function addSetCommand(command: Command, terminal: Terminal): void {
  addCommand(command, 'set <direction> <currency>', "set a limit of a holder's day, or remove it", [
    'npx simbi limits set collection UGX --holder 3 --amount 5000000',
    'npx simbi limits set payout UGX --holder 3 --of number --amount 500000 --count 3',
    'npx simbi limits set refund UGX --holder 3 --of member --none',
  ])
    .option(...HOLDER_OPTION)
    .option('--of <whose>', `whose orders count together: ${SUBJECTS.join(', ')}`, 'holder')
    .option('--amount <amount>', 'the most in a day')
    .option('--count <number>', 'the most orders in a day')
    .option('--none', 'remove the limit')
    .action(async (direction: string, currency: string, options: SetOptions) => {
      const change = readChange(direction, currency.toUpperCase(), options);
      await withPayments(terminal, async (ctx) => {
        requireCurrency(ctx, change.currency);
        const [{ setLimit }, { COMMAND_LINE }] = await Promise.all([
          import('../payments/payment-limits.ts'),
          import('../holders/audit.ts'),
        ]);
        const holder = await requireHolder(terminal, ctx, options.holder);
        await setLimit(ctx, COMMAND_LINE, holder.id, 'gateway', change);
      });
      print(terminal, options, { ok: true }, options.none ? 'The limit is removed.' : 'The limit is set.');
    });
}

type SetOptions = Shared & { of: string; amount?: string; count?: string; none?: boolean };

function readChange(direction: string, currency: string, options: SetOptions): LimitChange {
  const known = DIRECTIONS.find((each) => each === direction);
  const subject = SUBJECTS.find((each) => each === options.of);
  if (!known) throw new CommandError(`The direction must be one of ${DIRECTIONS.join(', ')}.`, EXIT.usage);
  if (!subject) throw new CommandError(`--of must be one of ${SUBJECTS.join(', ')}.`, EXIT.usage);
  if (options.count !== undefined && !/^\d{1,8}$/.test(options.count))
    throw new CommandError('--count must be a whole number.', EXIT.usage);
  if (!options.none && options.amount === undefined && options.count === undefined)
    throw new CommandError('Give --amount, --count or --none.', EXIT.usage);
  return {
    direction: known,
    subject,
    currency,
    day_amount: options.none || options.amount === undefined ? null : requireAmount(options.amount, currency),
    day_count: options.none || options.count === undefined ? null : Number(options.count),
  };
}

function dataOf({ direction, subject, currency, set_by, day_amount, day_count }: PaymentLimit) {
  const amount = day_amount === null ? null : formatAmount(day_amount);
  return { direction, of: subject, currency, set_by, day_amount: amount, day_count };
}

function rowsOf(limits: PaymentLimit[]): string {
  return table(
    ['Direction', 'Of', 'Currency', 'Set by', 'Amount a day', 'Count a day'],
    limits.map((limit) => {
      const { direction, of, currency, set_by, day_amount, day_count } = dataOf(limit);
      return [direction, of, currency, set_by, day_amount ?? '', String(day_count ?? '')];
    }),
  );
}
