// simbi ledger verify: recomputes every balance from the transfers and reports differences.

import type { Command } from 'commander';
import { verifyLedger } from '../ledger/verify.ts';
import { createProgressBar } from './progress.ts';
import { addCommand, addGroup, CommandError, EXIT, print, type Terminal, withContext } from './terminal.ts';

export function ledgerCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'ledger', 'check the ledger');
  addCommand(group, 'verify', 'recompute every balance and check the hash chain; exit code 1 if something differs', [
    'npx simbi ledger verify',
    'npx simbi ledger verify --json',
    'npx simbi ledger verify --known-block 12:9f86d081…',
  ])
    .option('--known-block <number:hash>', 'a block recorded earlier, to prove that older transfers were not changed')
    .action(async (options: { json?: boolean; knownBlock?: string }) => {
      const knownBlock = readBlock(options.knownBlock);
      const result = await withContext(terminal, async (ctx) => {
        const [size] = await ctx.db.query<{ rows: number }>(
          `select greatest(reltuples, 0)::int as rows from pg_class where oid = 'ledger_transfers'::regclass`,
        );
        const bar = createProgressBar(terminal, 'Verifying');
        const verification = await verifyLedger(ctx, {
          onProgress: (transfers) => bar.show(transfers, Math.max(size?.rows ?? 0, transfers), 'transfers'),
          ...(knownBlock ? { knownBlock } : {}),
        });
        bar.end();
        return verification;
      });
      const { checked, differences, differencesInAll } = result;
      const head = checked.head ? `${checked.head.number}:${checked.head.hash}` : null;
      const lines = [
        `${checked.transfers} transfers, ${checked.accounts} accounts, ${checked.wallets} wallets, ` +
          `${checked.currencies} currencies, ${checked.blocks} blocks (${checked.unsealed} transfers not sealed yet).`,
        ...(head ? [`Newest block, to record outside the database: ${head}`] : []),
        ...differences.map((difference) => `DIFFERS  ${difference.sentence}`),
        ...(differencesInAll > differences.length ? [`… and ${differencesInAll - differences.length} more.`] : []),
      ];
      const { head: _, ...counts } = checked;
      const data = { ok: result.ok, checked: { ...counts, head }, differences, differences_in_all: differencesInAll };
      print(terminal, options, data, lines.join('\n'));
      terminal.say(
        result.ok ? 'Ledger verified: all balances match.' : `Ledger check failed: ${differencesInAll} differences.`,
      );
      if (!result.ok) process.exitCode = EXIT.error;
    });
}

function readBlock(text: string | undefined): { number: bigint; hash: string } | null {
  if (text === undefined) return null;
  const match = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text);
  if (!match?.[1] || !match[2])
    throw new CommandError('--known-block must be <number>:<64 hexadecimal digits>.', EXIT.usage);
  return { number: BigInt(match[1]), hash: match[2] };
}
