// simbi settle operator: money between our account with an operator and our bank.

import type { Command } from 'commander';
import type { OperatorSettlement, ProposedSettlement } from '../books/operator-settlements.ts';
import { formatAmount } from '../platform/money.ts';
import { withPayments } from './payments-context.ts';
import { addCommand, CommandError, EXIT, print, requireAmount, type Terminal, table } from './terminal.ts';

type OperatorOptions = {
  bank?: string;
  reference?: string;
  amount?: string;
  received?: string;
  toOperator?: boolean;
  json?: boolean;
};

export function settleOperatorCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'operator <connection>', 'book what an operator sent to our bank, or what we sent to it', [
    'npx simbi settle operator mtn-uganda',
    'npx simbi settle operator mtn-uganda --bank stanbic --reference FT26320',
    'npx simbi settle operator mtn-uganda --bank stanbic --reference FT26320 --amount 400000 --received 398500',
    'npx simbi settle operator mtn-uganda --bank stanbic --reference FL-1 --amount 500000 --to-operator',
  ])
    .option('--bank <name>', 'our account at the bank')
    .option('--reference <reference>', 'of the transfer; it is booked once for each')
    .option('--amount <amount>', 'what left the operator; default: the line of its statement with this reference')
    .option('--received <amount>', 'what arrived at the bank, where that is less; the rest is a cost')
    .option('--to-operator', 'we sent money to the operator')
    .addHelpText('after', '\nWithout --reference the lines of its statement are listed that no booking explains.\n')
    .action(async (connection: string, options: OperatorOptions) => {
      await withPayments(terminal, async (ctx) => {
        const [{ defaultsOf }, settlements, { requireBankAccount }, { COMMAND_LINE }] = await Promise.all([
          import('../books/account-defaults.ts'),
          import('../books/operator-settlements.ts'),
          import('../books/bank-accounts.ts'),
          import('../holders/audit.ts'),
        ]);
        await defaultsOf(ctx, connection);
        const { reference, bank } = options;
        if (reference === undefined) {
          const proposed = await settlements.proposeSettlements(ctx.db, connection);
          const booked = await settlements.listOperatorSettlements(ctx.db, connection);
          const data = { proposed: proposed.map(proposalOf), booked: booked.map(bookingOf) };
          return print(terminal, options, data, describe(data));
        }
        if (bank === undefined) throw new CommandError('Say which account of ours it is: --bank <name>.', EXIT.usage);
        const { currency } = await requireBankAccount(ctx.db, bank);
        const amount = options.amount === undefined ? undefined : requireAmount(options.amount, currency);
        const received = options.received === undefined ? undefined : requireAmount(options.received, currency);
        const direction = options.toOperator ? 'to_operator' : 'to_bank';
        const request = { connection, bank, direction, reference, amount, received } as const;
        const { settlement, outcome } = await settlements.bookOperatorSettlement(ctx, COMMAND_LINE, request);
        const text =
          outcome === 'known' ? 'It was booked before.' : `Booked ${formatAmount(settlement.amount)} ${currency}.`;
        print(terminal, options, { outcome, ...bookingOf(settlement) }, text);
      });
    });
}

const proposalOf = ({ line, direction, reference }: ProposedSettlement) => ({
  reference,
  direction,
  amount: formatAmount(line.gross),
  currency: line.currency,
  at: line.occurredAt,
  description: line.description,
});

const bookingOf = ({ reference, direction, bank, amount, received, currency, posted_at }: OperatorSettlement) => ({
  reference,
  direction,
  bank,
  amount: formatAmount(amount),
  received: formatAmount(received),
  currency,
  posted_at,
});

type Overview = { proposed: ReturnType<typeof proposalOf>[]; booked: ReturnType<typeof bookingOf>[] };

function describe({ proposed, booked }: Overview): string {
  const wanted = proposed.map((each) => [
    each.reference,
    each.direction.replaceAll('_', ' '),
    `${each.amount} ${each.currency}`,
    each.at.toISOString(),
    each.description,
  ]);
  const known = booked.map((each) => [
    each.reference,
    each.direction.replaceAll('_', ' '),
    `${each.amount} ${each.currency}`,
    each.received,
    each.bank,
    each.posted_at.toISOString(),
  ]);
  return [
    wanted.length === 0
      ? 'Every settlement of its statement is booked.'
      : `To book, with --bank and --reference:\n${table(['Reference', 'Direction', 'Amount', 'At', 'Description'], wanted)}`,
    known.length === 0
      ? 'Nothing is booked yet.'
      : `Booked:\n${table(['Reference', 'Direction', 'Amount', 'At the bank', 'Bank', 'Booked at'], known)}`,
  ].join('\n\n');
}
