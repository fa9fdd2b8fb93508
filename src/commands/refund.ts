// simbi refund: gives collections back to their payers. Refunds are written to the database; a running gateway sends them.

import type { Command } from 'commander';
import type { Refund } from '../payments/refund-orders.ts';
import type { RefundRequest } from '../payments/refunds.ts';
import { formatAmount } from '../platform/money.ts';
import {
  HOLDER_OPTION,
  requireActor,
  requireHolder,
  sayWhenSent,
  withPayments,
  workersOf,
} from './payments-context.ts';
import { addCommand, CommandError, confirm, EXIT, print, requireAmount, type Terminal, table } from './terminal.ts';

type Shared = { json?: boolean; holder?: string; as?: string };
type CreateOptions = Shared & { amount?: string; reason?: string; asPayout?: boolean; yes?: boolean };

export function refundCommands(group: Command, terminal: Terminal): void {
  addCreate(group, terminal);

  addCommand(group, 'approve <ref>', 'approve a refund that another user asked for', [
    'npx simbi refund approve RF_01J… --as bola@example.org',
  ])
    .requiredOption('--as <email>', 'e-mail of the user who approves')
    .option(...HOLDER_OPTION)
    .action(async (ref: string, options: Shared) => {
      await withPayments(terminal, async (ctx) => {
        const { approveRefund } = await import('../payments/order-decisions.ts');
        const holder = await requireHolder(terminal, ctx, options.holder);
        await approveRefund(ctx, workersOf(ctx), await requireActor(ctx, holder, options.as), holder.id, ref);
        print(terminal, options, { ref, approved: true }, `${ref} is approved.`);
        sayWhenSent(terminal, ctx, 1);
      });
    });

  addCommand(group, 'cancel <ref>', 'cancel a refund before it is sent', ['npx simbi refund cancel RF_01J… --yes'])
    .option('--as <email>', 'e-mail of the user who cancels')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .action(async (ref: string, options: Shared & { yes?: boolean }) => {
      await confirm(terminal, options, `Cancelling ${ref} cannot be undone.`);
      await withPayments(terminal, async (ctx) => {
        const { cancelRefund } = await import('../payments/order-decisions.ts');
        const holder = await requireHolder(terminal, ctx, options.holder);
        const { status } = await cancelRefund(ctx, await requireActor(ctx, holder, options.as), holder.id, ref);
        print(terminal, options, { ref, status }, `${ref} is cancelled. Its amount is available again.`);
      });
    });

  addCommand(group, 'list <collection>', 'list the refunds of a collection', ['npx simbi refund list TX_01J…'])
    .option(...HOLDER_OPTION)
    .action(async (collection: string, options: Shared) => {
      const refunds = await withPayments(terminal, async (ctx) => {
        const [{ listRefundsOf }, { idFromRef }, { refundRecord }] = await Promise.all([
          import('../payments/refund-orders.ts'),
          import('../payments/transactions.ts'),
          import('../payments/record.ts'),
        ]);
        const holder = await requireHolder(terminal, ctx, options.holder);
        const id = idFromRef(collection);
        const rows = id === null ? [] : await listRefundsOf(ctx.db, holder.id, id);
        return rows.map((row) => refundRecord(row));
      });
      const rows = refunds.map(({ ref, status, amount, currency, reason }) => [
        ref,
        status,
        `${amount} ${currency}`,
        reason ?? '',
      ]);
      print(terminal, options, refunds, table(['ref', 'status', 'amount', 'reason'], rows));
    });
}

function addCreate(group: Command, terminal: Terminal): void {
  addCommand(group, 'create <collection>', 'refund a collection; without --amount, what is left of it', [
    'npx simbi refund create TX_01J…',
    'npx simbi refund create TX_01J… --amount 500 --reason "One item was missing" --yes --json',
  ])
    .option('--amount <amount>', 'give back a part of it')
    .option('--reason <text>', 'why, for your records')
    .option('--as-payout', 'where the operator cannot refund, send the money as a payout')
    .option('--as <email>', 'e-mail of the user who asks for it')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .action((collection: string, options: CreateOptions) => createRefund(terminal, collection, options));
}

function createRefund(terminal: Terminal, ref: string, options: CreateOptions): Promise<void> {
  return withPayments(terminal, async (ctx) => {
    const [refunds, { findTransaction, idFromRef }, { refundRecord }] = await Promise.all([
      import('../payments/refunds.ts'),
      import('../payments/transactions.ts'),
      import('../payments/record.ts'),
    ]);
    const holder = await requireHolder(terminal, ctx, options.holder);
    const actor = await requireActor(ctx, holder, options.as);
    const id = idFromRef(ref);
    const collection = id === null ? null : await findTransaction(ctx.db, holder.id, id);
    if (!collection) throw new CommandError(`There is no collection ${ref}.`, EXIT.notFound);
    const amount = options.amount === undefined ? null : requireAmount(options.amount, collection.currency);
    const refundable = await refunds.findRefundable(ctx, ctx.db, collection);
    const shown = `${formatAmount(amount ?? refundable?.left ?? 0n)} ${collection.currency}`;
    await confirm(terminal, options, `Give ${shown} back to ${collection.msisdn ?? 'the payer'}.`);
    const request: RefundRequest = {
      collection: ref,
      amount,
      reason: options.reason,
      asPayout: options.asPayout,
    };
    const refund: Refund = await refunds.createRefund(ctx, workersOf(ctx), actor, holder.id, request);
    const record = refundRecord(refund);
    print(terminal, options, { ...record, waits_for_approval: refund.approval === 'waiting' }, record.ref);
    if (refund.approval === 'waiting')
      terminal.say(`It needs the approval of a second person: npx simbi refund approve ${record.ref} --as …`);
    else sayWhenSent(terminal, ctx, 1);
  });
}
