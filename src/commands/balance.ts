// simbi balance: the wallets of a holder; simbi topup: test money for them.

import type { Command } from 'commander';
import { HOLDER_OPTION, requireHolder, withPayments } from './payments-context.ts';
import { CREDENTIALS_HELP, postSigned, readCredentials } from './remote.ts';
import { addCommand, CommandError, EXIT, print, requireAmount, type Terminal, table } from './terminal.ts';

type Wallet = {
  wallet_account: number;
  currency: string;
  balance: number;
  available: number;
  pending: number;
  reserved: number;
};

export function balanceCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'balance', 'show the wallet balances', ['npx simbi balance', 'npx simbi balance --currency UGX'])
    .option('--currency <code>', 'only this currency')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean; currency?: string }) => {
      const credentials = await readCredentials(terminal);
      const params = options.currency === undefined ? {} : { currency: options.currency.toUpperCase() };
      const wallets = (await postSigned(credentials, '/api/v3/get-unified-balance', params)).body.data as Wallet[];
      const rows = wallets.map((one) =>
        [one.wallet_account, one.currency, one.balance, one.available, one.pending, one.reserved].map(String),
      );
      print(
        terminal,
        options,
        wallets,
        table(['wallet', 'currency', 'balance', 'available', 'pending', 'reserved'], rows),
      );
      if (wallets.length === 0) terminal.say('No wallet yet. The first payment creates one.');
    });
}

export function topUpCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'topup <amount> <currency>', 'add test money to a sandbox wallet', ['npx simbi topup 100000 UGX'])
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
