// simbi ledger verify: recomputes every balance from the transfers, compares the ledger with transactions, refunds, events,
// incoming payments and cases, and reports differences. simbi ledger head: what to keep outside.

import type { Command } from 'commander';
import { BOOKS_CHECKS } from '../books/books-checks.ts';
import { formatHead, newestHead } from '../ledger/chain.ts';
import { compareOutside, createHeadSigner } from '../ledger/outside-heads.ts';
import { outboundOptions } from '../open-payments.ts';
import { verifyBooks } from '../payments/verify-books.ts';
import { addVerifyRun, resumeVerifyRun, type VerifyRun } from '../payments/verify-runs.ts';
import type { Context } from '../platform/context.ts';
import { createOutbound } from '../platform/outbound.ts';
import { createProgressBar } from './progress.ts';
import { addCommand, CommandError, EXIT, print, readTime, type Terminal, withContext } from './terminal.ts';

type VerifyOptions = { json?: boolean; knownBlock?: string; since?: Date; resume?: boolean };

export function ledgerCommands(group: Command, terminal: Terminal): void {
  addCommand(
    group,
    'verify',
    'recompute every balance, check the hash chain, and compare the ledger with all payments',
    [
      'npx simbi ledger verify',
      'npx simbi ledger verify --since 2026-03-02T00:00:00Z --json',
      'npx simbi ledger verify --resume',
      'npx simbi ledger verify --known-block 12:9f86d081…',
    ],
  )
    .option('--known-block <number:hash>', 'a head recorded earlier, to prove that older transfers were not changed')
    .option(
      '--since <moment>',
      'only what was posted, created or open since then; all balances are still compared',
      readTime,
    )
    .option('--resume', 'go on with the run that broke off, where it stopped')
    .addHelpText('after', SINCE_HELP)
    .action(async (options: VerifyOptions) => {
      if (options.resume && options.since)
        throw new CommandError('--resume goes on with the --since of the run that broke off.', EXIT.usage);
      const knownBlock = readBlock(options.knownBlock);
      const run = await withContext(terminal, (ctx) => verify(ctx, terminal, options, knownBlock), 'asItIs');
      report(terminal, options, run);
      if (run.differences > 0n) process.exitCode = EXIT.error;
    });
  addCommand(group, 'head', 'print the newest head of the hash chain, signed, and the key to check it with', [
    'npx simbi ledger head',
    'npx simbi ledger head --json',
  ]).action((options: { json?: boolean }) => showHead(terminal, options));
}

async function showHead(terminal: Terminal, options: { json?: boolean }): Promise<void> {
  const read = async (ctx: Context) => {
    const signer = await createHeadSigner(ctx);
    const newest = await newestHead(ctx.db);
    return { head: newest, line: newest && signer.line(newest), publicKey: signer.publicKey };
  };
  const { head, line, publicKey } = await withContext(terminal, read, 'asItIs');
  if (!head || line === null) throw new CommandError('Nothing was sealed yet.', EXIT.notFound);
  print(
    terminal,
    options,
    { head: formatHead(head), line, public_key: publicKey },
    `${line}\nPublic key: ${publicKey}`,
  );
}

const SINCE_HELP = `
--since compares the blocks sealed and the transfers posted after that time, the transactions that were created (from two days
before), posted or are open since then, their events and refunds, and every case. The balance of every account is compared
with its newest transfers, and reserves, suspense and debts of every holder with what explains them. Older transfers and
transactions are trusted: run it without --since from time to time. Exit code 1: something differs.
`;

async function verify(
  ctx: Context,
  terminal: Terminal,
  options: VerifyOptions,
  knownBlock: { number: bigint; hash: string } | null,
): Promise<VerifyRun> {
  const at = ctx.clock.now();
  const run = options.resume
    ? await resumeVerifyRun(ctx.db, at)
    : await addVerifyRun(ctx.db, { by: 'command line', since: options.since ?? null, inBackground: false }, at);
  if (!run) throw new CommandError('There is no run that broke off.', EXIT.notFound);
  const sizes = await estimateSizes(ctx);
  const bar = createProgressBar(terminal, 'Verifying');
  const outbound = createOutbound(outboundOptions(ctx.config));
  const done = await verifyBooks(ctx, run, {
    onProgress: (stage, rows) => bar.show(rows, Math.max(sizes.get(stage) ?? 0, rows), stage.replaceAll('_', ' ')),
    ...(knownBlock ? { knownHeads: [knownBlock] } : {}),
    more: BOOKS_CHECKS,
    outside: () => compareOutside(ctx, outbound),
  });
  bar.end();
  await outbound.close();
  return done;
}

async function estimateSizes(ctx: Context): Promise<Map<string, number>> {
  const rows = await ctx.db.query<{ name: string; rows: number }>(
    `select relname as name, greatest(reltuples, 0)::int as rows from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  const sizes = new Map(rows.map((row) => [row.name, row.rows]));
  const transfers = sizes.get('ledger_transfers') ?? 0;
  return sizes.set('ledger', transfers).set('transfers', transfers);
}

function report(terminal: Terminal, options: VerifyOptions, run: VerifyRun): void {
  const { checked, findings: differences } = run;
  const ok = run.differences === 0n;
  const left = run.differences - BigInt(differences.length);
  const counts = Object.entries(checked).filter(([name, count]) => name !== 'head' && count !== null);
  const lines = [
    `${counts.map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`).join(', ')}.`,
    ...(checked.head ? [`Newest block, to record outside the database: ${checked.head}`] : []),
    ...differences.map((difference) => `DIFFERS  ${difference.sentence}`),
    ...(left > 0n ? [`… and ${left} more.`] : []),
  ];
  const data = { ok, since: run.since, checked, differences, differences_in_all: Number(run.differences) };
  print(terminal, options, data, lines.join('\n'));
  terminal.say(
    ok ? 'Ledger verified: it agrees with all payments.' : `Ledger check failed: ${run.differences} differences.`,
  );
}

function readBlock(text: string | undefined): { number: bigint; hash: string } | null {
  if (text === undefined) return null;
  const match = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text);
  if (!match?.[1] || !match[2])
    throw new CommandError('--known-block must be <number>:<64 hexadecimal digits>.', EXIT.usage);
  return { number: BigInt(match[1]), hash: match[2] };
}
