// simbi payout import: orders a CSV file of payouts. Every row is checked first; valid rows are ordered together, the
// others are written to a second file with the reason in each row.

import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { Holder } from '../holders/holders.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PayoutOrder } from '../payments/payout-requests.ts';
import { parseCsv, writeCsv } from '../platform/csv.ts';
import { formatAmount } from '../platform/money.ts';
import { sha256 } from '../platform/secrets.ts';
import {
  HOLDER_OPTION,
  NO_ENGINE,
  requireActor,
  requireHolder,
  sayWhenSent,
  withPayments,
} from './payments-context.ts';
import { createProgressBar } from './progress.ts';
import { addCommand, CommandError, confirm, EXIT, print, type Terminal } from './terminal.ts';

const MAX_FILE_BYTES = 16 * 1024 * 1024;
/**
 * A file is ordered in one transaction that keeps the wallet locked. With 20,000 rows that took nine seconds, and other
 * postings of the holder give up after four.
 */
const MAX_ROWS = 5_000;
const REQUIRED = ['amount', 'currency', 'mobile'];
const OPTIONAL = ['method', 'payee', 'invoice_no', 'detail', 'callback_url'];
const PROBLEM_COLUMN = 'problem';

type ImportOptions = {
  json?: boolean;
  holder?: string;
  as?: string;
  dryRun?: boolean;
  yes?: boolean;
  again?: boolean;
  toFix?: string;
};
type Row = { cells: string[]; order: PayoutOrder | null; problem: string };

export function payoutImportCommand(group: Command, terminal: Terminal): void {
  addCommand(group, 'import <file>', 'order the payouts of a CSV file', [
    'npx simbi payout import salaries.csv --dry-run',
    'npx simbi payout import salaries.csv --as ada@example.org',
    'npx simbi payout import salaries.csv --to-fix wrong.csv --yes --json',
  ])
    .option('--dry-run', 'check every row, order nothing')
    .option('--to-fix <file>', 'file for the rows with problems; default: <file>.to-fix.csv')
    .option('--as <email>', 'e-mail of the user who orders them')
    .option('--again', 'order a file that was already imported')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .addHelpText(
      'after',
      `\nThe first line names the columns: ${REQUIRED.join(', ')} (required), ${OPTIONAL.join(', ')} (optional).` +
        '\nAmounts are 1500, 1500.50, 1500,50 or 1 500. 1,500 and 1.500 are refused: they have two meanings.' +
        '\nExit code 1 if rows have to be fixed.',
    )
    .action((path: string, options: ImportOptions) => importPayouts(terminal, path, options));
}

function importPayouts(terminal: Terminal, path: string, options: ImportOptions): Promise<void> {
  return withPayments(terminal, async (ctx) => {
    const { bytes, heading, lines } = await readTable(path);
    const [{ findBatchTime, orderPayouts }, { refOf }] = await Promise.all([
      import('../payments/payouts.ts'),
      import('../payments/transactions.ts'),
    ]);
    const holder = await requireHolder(terminal, ctx, options.holder);
    const actor = await requireActor(ctx, holder, options.as);
    const rows = await checkRows(terminal, ctx, holder, heading, lines);
    const good = rows.filter((row) => row.order !== null);
    const total = sumOf(good);
    // The name of the file and a hash of its content.
    const batch = `${basename(path).slice(0, 60)} ${sha256(bytes).toString('hex').slice(0, 16)}`;
    const before = await findBatchTime(ctx.db, holder.id, batch);
    if (before && !options.again && !options.dryRun)
      throw new CommandError(
        `This file was already imported on ${before.toISOString()}. Use --again to pay every row a second time.`,
        EXIT.conflict,
      );
    const refs: string[] = [];
    if (!options.dryRun && good.length > 0) {
      const left = rows.length - good.length;
      const rest = left > 0 ? ` ${left} rows with problems are left out.` : '';
      await confirm(
        terminal,
        options,
        `Order ${good.length} payouts: ${total}.${rest} A payout cannot be cancelled after it was sent.`,
      );
      const orders = good.flatMap((row) => (row.order ? [row.order] : []));
      const results = await orderPayouts(ctx, NO_ENGINE, actor, holder.id, orders, { batchName: batch });
      for (const [index, result] of results.entries()) {
        const row = good[index];
        if (result.ok) refs.push(refOf(result.transaction));
        else if (row) row.problem = 'amount: The wallet balance is too low.';
      }
    }
    const toFix = await writeToFix(options.toFix ?? `${path}.to-fix.csv`, heading, rows);
    const data = {
      rows: rows.length,
      ordered: refs.length,
      dry_run: options.dryRun === true,
      total,
      to_fix: toFix,
      refs,
    };
    const done = options.dryRun
      ? `${good.length} of ${rows.length} rows can be ordered`
      : `${refs.length} of ${rows.length} rows were ordered`;
    print(
      terminal,
      options,
      data,
      [`${done}: ${total}.`, ...(toFix ? [`${toFix.rows} rows to fix: ${toFix.file}`] : [])].join('\n'),
    );
    if (refs.length > 0 && !holder.payouts_need_approval) sayWhenSent(terminal, ctx, refs.length);
    if (refs.length > 0 && holder.payouts_need_approval)
      terminal.say('They need the approval of a second person: npx simbi payout approve …');
    if (toFix) process.exitCode = EXIT.error;
  });
}

async function readTable(path: string): Promise<{ bytes: Buffer; heading: string[]; lines: string[][] }> {
  const size = await stat(path).then(
    (found) => found.size,
    () => null,
  );
  if (size === null) throw new CommandError(`${path} cannot be read.`, EXIT.notFound);
  if (size > MAX_FILE_BYTES)
    throw new CommandError(`${path} is larger than 16 MiB. Split it into smaller files.`, EXIT.usage);
  const bytes = await readFile(path);
  const table = parseCsv(bytes.toString('utf8'), MAX_ROWS + 1);
  if (table === null)
    throw new CommandError(`${path} has more than ${MAX_ROWS} rows, or a quote in it is not closed.`, EXIT.usage);
  const [head = [], ...lines] = table;
  const heading = head.map((name) => name.toLowerCase());
  const missing = REQUIRED.filter((name) => !heading.includes(name));
  const unknown = heading.filter((name) => ![...REQUIRED, ...OPTIONAL, PROBLEM_COLUMN].includes(name));
  if (missing.length > 0 || unknown.length > 0)
    throw new CommandError(
      `The first line must name the columns ${REQUIRED.join(', ')} and may name ${OPTIONAL.join(', ')}.` +
        (missing.length > 0 ? ` Missing: ${missing.join(', ')}.` : '') +
        (unknown.length > 0 ? ` Unknown: ${unknown.join(', ')}.` : ''),
      EXIT.usage,
    );
  return { bytes, heading, lines };
}

async function checkRows(
  terminal: Terminal,
  ctx: PaymentsContext,
  holder: Holder,
  heading: string[],
  lines: string[][],
): Promise<Row[]> {
  const { readPayout } = await import('../payments/payout-requests.ts');
  const bar = createProgressBar(terminal, 'Checking');
  const rows: Row[] = [];
  for (const cells of lines) {
    const cell = (name: string) => cells[heading.indexOf(name)] || undefined;
    const reading = await readPayout(ctx, holder.id, {
      amount: cell('amount') ?? '',
      currency: (cell('currency') ?? '').toUpperCase(),
      mobile: cell('mobile') ?? '',
      method: cell('method'),
      payee: cell('payee'),
      invoiceNo: cell('invoice_no'),
      detail: cell('detail'),
      callbackUrl: cell('callback_url'),
    });
    const problems = reading.ok
      ? []
      : Object.entries(reading.errors).map(([name, said]) => `${name}: ${said.join(' ')}`);
    rows.push({ cells, order: reading.ok ? reading.order : null, problem: problems.join('; ') });
    bar.show(rows.length, lines.length, 'rows');
  }
  bar.end();
  return rows;
}

function sumOf(rows: Row[]): string {
  const sums = new Map<string, { amount: bigint; fee: bigint }>();
  for (const { order } of rows) {
    if (!order) continue;
    const sum = sums.get(order.method.currency) ?? { amount: 0n, fee: 0n };
    sums.set(order.method.currency, { amount: sum.amount + order.amount, fee: sum.fee + order.fee });
  }
  const parts = [...sums].map(
    ([currency, sum]) => `${formatAmount(sum.amount)} ${currency} and fees of ${formatAmount(sum.fee)}`,
  );
  return parts.length > 0 ? parts.join(', ') : 'nothing';
}

async function writeToFix(
  file: string,
  heading: string[],
  rows: Row[],
): Promise<{ file: string; rows: number } | null> {
  const wrong = rows.filter((row) => row.problem !== '');
  if (wrong.length === 0) return null;
  const columns = heading.filter((name) => name !== PROBLEM_COLUMN);
  const lines = wrong.map((row) => [...columns.map((name) => row.cells[heading.indexOf(name)] ?? ''), row.problem]);
  await writeFile(file, writeCsv([[...columns, PROBLEM_COLUMN], ...lines]), { mode: 0o600 });
  return { file, rows: wrong.length };
}
