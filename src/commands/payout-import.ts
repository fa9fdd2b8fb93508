// simbi payout import: orders a CSV file of payouts, as a whole. Every row is checked first; if some are wrong, nothing is
// ordered and they are written to a second file with the reason in each row.

import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { Holder } from '../holders/holders.ts';
import type { PaymentsContext } from '../payments/context.ts';
import {
  type CheckedRow,
  MAX_PAYOUT_FILE_BYTES,
  MAX_PAYOUT_FILE_ROWS,
  OPTIONAL_COLUMNS,
  type PayoutFileReading,
  problemOf,
  REQUIRED_COLUMNS,
  readPayoutFile,
  rowsToFix,
} from '../payments/payout-file-reader.ts';
import type { PayoutFileRow } from '../payments/payouts.ts';
import type { SimilarPayout } from '../payments/similar-payouts.ts';
import { writeCsv } from '../platform/csv.ts';
import { formatAmount } from '../platform/money.ts';
import {
  HOLDER_OPTION,
  requireActor,
  requireHolder,
  sayWhenSent,
  withPayments,
  workersOf,
} from './payments-context.ts';
import { createProgressBar } from './progress.ts';
import { addCommand, CommandError, confirm, EXIT, print, type Terminal } from './terminal.ts';

/** Rows that are named on the terminal; the file to fix has all of them. */
const MAX_SHOWN = 20;

type ImportOptions = {
  json?: boolean;
  holder?: string;
  as?: string;
  dryRun?: boolean;
  yes?: boolean;
  confirmRepeats?: boolean;
  toFix?: string;
};
type ReadFile = Extract<PayoutFileReading, { ok: true }>;

export function payoutImportCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'import <file>', 'order the payouts of a CSV file, all or none', [
    'npx simbi payout import salaries.csv --dry-run',
    'npx simbi payout import salaries.csv --as ada@example.org',
    'npx simbi payout import salaries.csv --to-fix wrong.csv --yes --json',
  ])
    .option('--dry-run', 'check every row, order nothing')
    .option('--to-fix <file>', 'file for the rows with problems; default: <file>.to-fix.csv')
    .option('--as <email>', 'e-mail of the user who orders them')
    .option('--confirm-repeats', 'also pay those who were paid the same amount in the last seven days')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .addHelpText(
      'after',
      `\nThe first line names the columns: ${REQUIRED_COLUMNS.join(', ')} (required), ${OPTIONAL_COLUMNS.join(', ')} (optional).` +
        `\nAt most ${MAX_PAYOUT_FILE_ROWS} rows and ${MAX_PAYOUT_FILE_BYTES / 1024 / 1024} MiB.` +
        ' The same rows are ordered once, under whatever name.' +
        '\nAmounts are 1500, 1500.50, 1500,50 or 1 500. 1,500 and 1.500 are refused: they have two meanings.' +
        '\nExit code 1 if rows have to be fixed; nothing is ordered then.',
    )
    .action((path: string, options: ImportOptions) => importPayouts(terminal, path, options));
}

function importPayouts(terminal: Terminal, path: string, options: ImportOptions): Promise<void> {
  return withPayments(terminal, async (ctx) => {
    const text = await readText(path);
    const holder = await requireHolder(terminal, ctx, options.holder);
    const actor = await requireActor(ctx, holder, options.as);
    const file = await checkFile(terminal, ctx, holder, path, text);
    const rows = file.rows.flatMap(({ line, reading }) => (reading.ok ? [{ line, order: reading.order }] : []));
    const { orderPayoutFile, totalsOf } = await import('../payments/payout-files.ts');
    const total = sumOf(totalsOf(rows));
    const data = { rows: file.rows.length, ordered: 0, dry_run: options.dryRun === true, total };
    if (rows.length < file.rows.length) {
      const toFix = await writeToFix(terminal, options.toFix ?? `${path}.to-fix.csv`, file);
      const sentence = `Nothing was ordered. ${toFix.rows} of ${file.rows.length} rows to fix: ${toFix.file}`;
      print(terminal, options, { ...data, to_fix: toFix, file: null, refs: [] }, sentence);
      process.exitCode = EXIT.error;
      return;
    }
    const { ALL_REPEATS, findSimilarPayouts } = await import('../payments/similar-payouts.ts');
    const orders = rows.map(({ order }) => order);
    sayRepeats(terminal, rows, await findSimilarPayouts(ctx, ctx.db, holder.id, orders));
    if (options.dryRun) {
      const sentence = `All ${rows.length} rows can be ordered: ${total}. Nothing was ordered.`;
      print(terminal, options, { ...data, to_fix: null, file: null, refs: [] }, sentence);
      return;
    }
    const question = `Order ${rows.length} payouts: ${total}. A payout cannot be cancelled after it was sent.`;
    await confirm(terminal, options, question);
    const { refOf } = await import('../payments/transactions.ts');
    const ordered = await orderPayoutFile(
      ctx,
      workersOf(ctx),
      actor,
      holder.id,
      { name: basename(path), rows },
      options.confirmRepeats ? { confirmedRepeats: ALL_REPEATS } : {},
    );
    const refs = ordered.transactions.map(refOf);
    print(
      terminal,
      options,
      { ...data, ordered: refs.length, to_fix: null, file: ordered.ref, refs },
      `${refs.length} payouts were ordered: ${total}. File: ${ordered.ref}`,
    );
    if (ordered.waitsForApproval)
      terminal.say(`The file needs the approval of a second person: npx simbi payout approve ${ordered.ref} --as …`);
    else sayWhenSent(terminal, ctx, refs.length);
  });
}

async function readText(path: string): Promise<string> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size === null) throw new CommandError(`${path} cannot be read.`, EXIT.notFound);
  if (size > MAX_PAYOUT_FILE_BYTES) throw tooLarge(path);
  return readFile(path, 'utf8');
}

function tooLarge(path: string): CommandError {
  const most = MAX_PAYOUT_FILE_BYTES / 1024 / 1024;
  return new CommandError(`${path} is larger than ${most} MiB. Split it into smaller files.`, EXIT.usage);
}

async function checkFile(
  terminal: Terminal,
  ctx: PaymentsContext,
  holder: Holder,
  path: string,
  text: string,
): Promise<ReadFile> {
  const bar = createProgressBar(terminal, 'Checking');
  const file = await readPayoutFile(ctx, holder.id, text, { progress: (done, all) => bar.show(done, all, 'rows') });
  bar.end();
  if (file.ok) return file;
  switch (file.reason) {
    case 'too_large':
      throw tooLarge(path);
    case 'unreadable':
      throw new CommandError(
        `${path} has more than ${MAX_PAYOUT_FILE_ROWS} rows, or a quote in it is not closed.`,
        EXIT.usage,
      );
    case 'encoding':
      throw new CommandError(`${path} is not in UTF-8. Save it as "CSV UTF-8".`, EXIT.usage);
    case 'empty':
      throw new CommandError(`${path} has no payouts.`, EXIT.usage);
    case 'columns':
      throw new CommandError(
        `The first line must name the columns ${REQUIRED_COLUMNS.join(', ')} and may name ${OPTIONAL_COLUMNS.join(', ')}.` +
          (file.missing.length > 0 ? ` Missing: ${file.missing.join(', ')}.` : '') +
          (file.unknown.length > 0 ? ` Unknown: ${file.unknown.join(', ')}.` : '') +
          (file.repeated.length > 0 ? ` Named more than once: ${file.repeated.join(', ')}.` : ''),
        EXIT.usage,
      );
  }
}

function sayRepeats(terminal: Terminal, rows: readonly PayoutFileRow[], similar: readonly SimilarPayout[]): void {
  if (similar.length === 0) return;
  terminal.say(`${similar.length} rows are possible duplicates (--confirm-repeats pays them anyway):`);
  for (const { index, order, earlier, sameAs } of similar.slice(0, MAX_SHOWN)) {
    const before = earlier
      ? `paid by ${earlier.ref} of ${earlier.createdAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
      : `same as line ${rows[sameAs ?? 0]?.line}`;
    const money = `${formatAmount(order.amount)} ${order.method.currency}`;
    terminal.say(`  line ${rows[index]?.line}: ${money} to ${order.msisdn}, ${before}`);
  }
}

function sumOf(totals: ReadonlyMap<string, { amount: bigint; fee: bigint }>): string {
  const parts = [...totals].map(
    ([currency, sum]) => `${formatAmount(sum.amount)} ${currency} and fees of ${formatAmount(sum.fee)}`,
  );
  return parts.length > 0 ? parts.join(', ') : 'nothing';
}

/** Writes the rows to fix to a file, and names the first of them. */
async function writeToFix(
  terminal: Terminal,
  path: string,
  { columns, rows }: ReadFile,
): Promise<{ file: string; rows: number }> {
  const wrong: CheckedRow[] = rows.filter(({ reading }) => !reading.ok);
  for (const row of wrong.slice(0, MAX_SHOWN)) terminal.say(`line ${row.line}: ${problemOf(row)}`);
  if (wrong.length > MAX_SHOWN) terminal.say(`… and ${wrong.length - MAX_SHOWN} more`);
  await writeFile(path, writeCsv(rowsToFix(columns, wrong)), { mode: 0o600 });
  return { file: path, rows: wrong.length };
}
