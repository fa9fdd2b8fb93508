// simbi balance: the wallets of a holder.

import type { Command } from 'commander';
import { CREDENTIALS_HELP, type Credentials, postSigned, readCredentials } from './remote.ts';
import { print, type Terminal, table, withExamples } from './terminal.ts';

type Wallet = {
  wallet_account: number;
  currency: string;
  balance: number;
  available: number;
  pending: number;
  reserved: number;
};

export function balanceCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi balance', 'npx simbi balance --currency UGX'])
    .option('--currency <code>', 'only this currency')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean; currency?: string }) => {
      const credentials = await readCredentials(terminal);
      const params = options.currency === undefined ? {} : { currency: options.currency.toUpperCase() };
      const wallets = (await postSigned(credentials, '/api/v3/get-unified-balance', params)).body.data as Wallet[];
      if (wallets.length === 0 && params.currency) await requireCurrency(credentials, params.currency);
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

/** A wallet that does not exist yet is no error; a currency that does not exist is one. */
async function requireCurrency(credentials: Credentials, currency: string): Promise<void> {
  const { readCountries, unknownCurrency } = await import('./collect.ts');
  const { collections, payment_links } = await readCountries(credentials);
  const rows = [...collections, ...payment_links];
  if (!rows.some((row) => row.currency === currency)) throw unknownCurrency(rows, currency);
}
