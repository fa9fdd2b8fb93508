// simbi topup: test money for a wallet of the sandbox.

import type { Command } from 'commander';
import { HOLDER_OPTION, requireHolder, withPayments } from './payments-context.ts';
import { CommandError, EXIT, print, requireAmount, type Terminal, withExamples } from './terminal.ts';

export function topUpCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi topup 100000 UGX'])
    .option(...HOLDER_OPTION)
    .action(async (text: string, code: string, options: { json?: boolean; holder?: string }) => {
      const currency = code.toUpperCase();
      const amount = requireAmount(text, currency);
      const wallet = await withPayments(terminal, async (ctx) => {
        const [{ topUpSandbox }, { listBalances }, { COMMAND_LINE }] = await Promise.all([
          import('../payments/sandbox-top-up.ts'),
          import('../payments/status.ts'),
          import('../holders/audit.ts'),
        ]);
        if (![...ctx.catalog.methods.values()].some((method) => method.currency === currency))
          throw new CommandError(`The catalogue has no currency ${currency}.`, EXIT.usage);
        const holder = await requireHolder(terminal, ctx, options.holder);
        await topUpSandbox(ctx, COMMAND_LINE, holder.id, currency, amount);
        return (await listBalances(ctx.db, holder.id, { currency }))[0];
      });
      print(terminal, options, wallet, `${Number(wallet?.available)} ${currency} available`);
    });
}
