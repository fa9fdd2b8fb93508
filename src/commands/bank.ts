// simbi bank: our own accounts at banks.

import type { Command } from 'commander';
import { formatAmount } from '../platform/money.ts';
import { addCommand, addNeededOption, print, type Terminal, table, withContext } from './terminal.ts';

type AddOptions = { bank: string; number: string; zone: string; json?: boolean };

export function bankCommands(group: Command, terminal: Terminal): void {
  const add = addCommand(group, 'add <name> <currency>', 'add an account of ours at a bank', [
    'npx simbi bank add equity KES --bank "Equity Bank" --number 0170299123456 --zone Africa/Nairobi',
  ]);
  addNeededOption(add, '--bank <bank>', 'the name of the bank').option(
    '--zone <zone>',
    'the zone of the times in its statements',
    'UTC',
  );
  addNeededOption(add, '--number <number>', 'the number of the account').action(
    async (name: string, currency: string, options: AddOptions) => {
      const { bank, number, zone } = options;
      await withContext(terminal, async (ctx) => {
        const [{ addBankAccount }, { COMMAND_LINE }] = await Promise.all([
          import('../books/bank-accounts.ts'),
          import('../holders/audit.ts'),
        ]);
        const account = { name, currency: currency.toUpperCase(), bank, account_number: number, zone };
        await addBankAccount(ctx, COMMAND_LINE, account);
      });
      print(terminal, options, { name }, `Added. Its statements are imported with --connection bank.${name}.`);
    },
  );

  addCommand(group, 'list', 'list our accounts at banks, with what the ledger says they hold', [
    'npx simbi bank list',
  ]).action(async (options: { json?: boolean }) => {
    const rows = await withContext(terminal, async (ctx) => {
      const { balanceAtBank, listBankAccounts, maskedNumber } = await import('../books/bank-accounts.ts');
      const accounts = await listBankAccounts(ctx.db);
      const balances = await Promise.all(accounts.map((account) => balanceAtBank(ctx.db, account)));
      return accounts.map(({ name, currency, bank, account_number: number, zone }, index) => {
        const balance = formatAmount(balances[index] ?? 0n);
        return { name, connection: `bank.${name}`, currency, bank, number: maskedNumber(number), zone, balance };
      });
    });
    const lines = rows.map(({ name, currency, bank, number, balance }) => [name, currency, bank, number, balance]);
    const shown = table(['Name', 'Currency', 'Bank', 'Number', 'Balance'], lines);
    print(terminal, options, rows, rows.length === 0 ? 'There is no bank account.' : shown);
  });
}
