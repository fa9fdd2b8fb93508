// simbi dispute: opens and lists disputes. Two people decide about one in the console: a command line has no person.

import type { Command } from 'commander';
import type { Dispute } from '../payments/disputes.ts';
import { publicId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { withPayments } from './payments-context.ts';
import { addCommand, CommandError, EXIT, print, requireAmount, type Terminal, table, withContext } from './terminal.ts';

type OpenOptions = { json?: boolean; amount?: string; notice?: string; answerBy?: string };

export function disputeCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'open <ref> <reason>', 'open a dispute about a collection; its amount is held', [
    'npx simbi dispute open TX_01J… "never delivered"',
    'npx simbi dispute open TX_01J… "chargeback" --notice CB-778 --amount 500 --answer-by 2026-12-01',
  ])
    .option('--amount <amount>', 'the amount; default: all that was not refunded')
    .option('--notice <number>', "the number of the operator's notice")
    .option('--answer-by <day>', 'until when evidence can be given; default: in a week')
    .action(async (ref: string, reason: string, options: OpenOptions) => {
      const dispute = await withPayments(terminal, async (ctx) => {
        const [{ openDispute }, { COMMAND_LINE }, { findTransaction, idFromRef }, { holderOfUuid }] = await Promise.all(
          [
            import('../payments/disputes.ts'),
            import('../holders/audit.ts'),
            import('../payments/transactions.ts'),
            import('../platform/ids.ts'),
          ],
        );
        const id = idFromRef(ref);
        const collection = id === null ? null : await findTransaction(ctx.db, holderOfUuid(id), id);
        if (!collection) throw new CommandError(`There is no payment ${ref}.`, EXIT.notFound);
        return openDispute(ctx, COMMAND_LINE, {
          collection: ref,
          amount: options.amount === undefined ? null : requireAmount(options.amount, collection.currency),
          reason,
          reference: options.notice ?? null,
          answerBy: options.answerBy === undefined ? null : endOfDay(options.answerBy),
        });
      });
      print(terminal, options, dataOf(dispute), rowsOf([dispute]));
    });

  addCommand(group, 'list', 'list disputes, newest first', ['npx simbi dispute list', 'npx simbi dispute list --open'])
    .option('--open', 'only those that are not decided')
    .action(async (options: { json?: boolean; open?: boolean }) => {
      const disputes = await withContext(terminal, async (ctx) => {
        const { listDisputes } = await import('../payments/disputes.ts');
        return listDisputes(ctx.db, null, options.open ? 'open' : undefined);
      });
      print(terminal, options, disputes.map(dataOf), disputes.length === 0 ? 'There is no dispute.' : rowsOf(disputes));
    });
}

function endOfDay(day: string): Date {
  const date = new Date(`${day}T23:59:59Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(date.getTime()))
    throw new CommandError('--answer-by must be a day, as 2026-12-01.', EXIT.usage);
  return date;
}

function dataOf(dispute: Dispute) {
  const { holder_id, status, amount, currency, short, reason, reference, answer_by, opened_at } = dispute;
  return {
    case: publicId('case', dispute.case_id),
    holder: String(holder_id),
    status,
    amount: formatAmount(amount),
    missing: formatAmount(short),
    currency,
    reason,
    notice: reference,
    answer_by,
    opened_at,
  };
}

function rowsOf(disputes: Dispute[]): string {
  return table(
    ['Case', 'Holder', 'Status', 'Amount', 'Missing', 'Reason', 'Answer by'],
    disputes.map((dispute) => {
      const data = dataOf(dispute);
      const { holder, status, amount, currency, missing, reason } = data;
      return [
        data.case,
        holder,
        status,
        `${amount} ${currency}`,
        missing,
        reason,
        data.answer_by.toISOString().slice(0, 10),
      ];
    }),
  );
}
