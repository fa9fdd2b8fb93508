// simbi statement: operators' statements of our accounts with them.

import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { fetchStatement, listDailyFetches, setDailyFetch } from '../books/fetch-statement.ts';
import { requireFormatName } from '../books/formats.ts';
import { importStatement, previewStatement, type StatementImport } from '../books/import-statement.ts';
import type { LineFacts } from '../books/line-keys.ts';
import { FORMAT_NAMES } from '../books/readers/format.ts';
import { requireMapping } from '../books/readers/mapped.ts';
import type { Mapping } from '../books/readers/mapping.ts';
import { findMapping, listMappings, storeMapping } from '../books/saved-mappings.ts';
import { findFile, listFiles, readProblems, type StatementFile } from '../books/statement-files.ts';
import { readLinesOfFile } from '../books/statement-lines.ts';
import { originalOf } from '../books/statement-original.ts';
import { listWithdrawals, type StatementWithdrawal, withdrawStatement } from '../books/withdraw-statement.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { formatAmount } from '../platform/money.ts';
import { withPayments } from './payments-context.ts';
import { createProgressBar } from './progress.ts';
import {
  addCommand,
  addNeededOption,
  CommandError,
  EXIT,
  parseId,
  parseLimit,
  print,
  type Terminal,
  table,
} from './terminal.ts';

type Options = { json?: boolean };
type ImportOptions = Options & {
  connection: string;
  format?: string;
  mapping?: string;
  currency?: string;
  zone?: string;
  account?: string;
  dateOrder?: string;
  dryRun?: boolean;
};
type PageOptions = Options & { limit?: string; after?: string };

const MAX_ROWS = 1_000;
const PREVIEW_ROWS = 10;

export function statementCommands(group: Command, terminal: Terminal): void {
  importCommand(group, terminal);
  fetchCommands(group, terminal);
  readCommands(group, terminal);
  withdrawCommand(group, terminal);
  mappingCommands(group, terminal);
}

function importCommand(group: Command, terminal: Terminal): void {
  const command = addCommand(group, 'import <file>', 'import a statement: CSV, XLSX or JSON', [
    'npx simbi statement import ORG_600998_Utility.csv --connection daraja',
    'npx simbi statement import momo.xlsx --connection mtn-uganda --dry-run',
    'npx simbi statement import bank.csv --connection paystack --mapping my-bank --json',
  ]);
  addNeededOption(command, '--connection <name>', 'whose statement it is; npx simbi rail list shows the names')
    .option('--format <name>', `${FORMAT_NAMES.join(', ')}; default: found from the file`)
    .option('--mapping <name>', 'how to read the columns: a saved name, or a JSON file')
    .option('--currency <code>', 'of lines that name none, where the connection has several')
    .option('--zone <name>', 'time zone of the file, such as Africa/Nairobi; default: that of the operator')
    .option('--account <number>', 'our own number, where a file names two parties and not which is ours')
    .option('--date-order <order>', 'dmy or mdy, where dates such as 05/06/2026 can be read both ways')
    .option('--dry-run', 'show how the file is read, store nothing')
    .action((path: string, options: ImportOptions) => runImport(terminal, path, options));
}

function fetchCommands(group: Command, terminal: Terminal): void {
  const fetching = addCommand(group, 'fetch <connection>', 'fetch the statement of a day from the operator', [
    'npx simbi statement fetch kenya --day 2026-11-14',
  ]);
  addNeededOption(fetching, '--day <day>', 'a day such as 2026-11-14, in the calendar of the connection').action(
    async (connection: string, options: Options & { day: string }) => {
      const result = await withPayments(terminal, (ctx) => fetchStatement(ctx, COMMAND_LINE, connection, options.day));
      if (result.outcome === 'nothing')
        return print(terminal, options, { outcome: 'nothing' }, 'The operator lists nothing of that day.');
      const { outcome, file } = result;
      const sentence = `Statement ${file.id} (${file.format}): ${countsOf(file)}.`;
      print(terminal, options, { outcome, ...dataOf(file) }, sentence);
    },
  );
  addCommand(group, 'daily [connection]', 'list the connections whose statement is fetched every day; --on, --off', [
    'npx simbi statement daily',
    'npx simbi statement daily kenya --on',
  ])
    .option('--on', 'fetch each day after its end')
    .option('--off', 'fetch no more')
    .action((connection: string | undefined, options: DailyOptions) => runDaily(terminal, connection, options));
}

type DailyOptions = Options & { on?: boolean; off?: boolean };

async function runDaily(terminal: Terminal, connection: string | undefined, options: DailyOptions): Promise<void> {
  const isChange = options.on === true || options.off === true;
  if (isChange && connection === undefined) throw new CommandError('Name the connection.', EXIT.usage);
  if (options.on && options.off) throw new CommandError('Give --on or --off.', EXIT.usage);
  const fetches = await withPayments(terminal, async (ctx) => {
    if (isChange && connection !== undefined) await setDailyFetch(ctx, COMMAND_LINE, connection, options.on === true);
    return listDailyFetches(ctx.db);
  });
  const shown = fetches.filter((each) => connection === undefined || each.connection === connection);
  const rows = shown.map(({ connection: name, nextDay, problem }) => [name, nextDay, problem ?? '']);
  const data = shown.map((each) => ({
    connection: each.connection,
    next_day: each.nextDay,
    tried_at: each.triedAt,
    problem: each.problem,
  }));
  const text =
    rows.length === 0 ? 'No statement is fetched every day.' : table(['connection', 'next day', 'problem'], rows);
  print(terminal, options, { fetches: data }, text);
}

async function runImport(terminal: Terminal, path: string, options: ImportOptions): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) throw new CommandError(`${path} cannot be read.`, EXIT.notFound);
  await withPayments(terminal, async (ctx) => {
    const given: StatementImport = {
      connection: options.connection,
      path,
      name: basename(path),
      source: 'command',
      format: options.format === undefined ? undefined : requireFormatName(options.format),
      mapping: options.mapping === undefined ? undefined : await loadMapping(ctx, options.mapping),
      currency: options.currency,
      zone: options.zone,
      account: options.account,
      dateOrder: readDateOrder(options.dateOrder),
    };
    if (options.dryRun) return showPreview(terminal, ctx, given, options);
    const bar = createProgressBar(terminal, 'Reading');
    const progress = (lines: number, about: number | null) => bar.show(lines, Math.max(lines, about ?? 0), 'lines');
    const result = await importStatement(ctx, COMMAND_LINE, given, { progress }).finally(() => bar.end());
    const { file } = result;
    const sentence =
      result.outcome === 'known'
        ? `Nothing was added: this file was imported ${file.importedAt.toISOString()} by ${file.importedBy} as statement ${file.id}.`
        : `Statement ${file.id} (${file.format}): ${countsOf(file)}.`;
    print(terminal, options, { outcome: result.outcome, ...dataOf(file) }, sentence);
    if (file.linesBad > 0) terminal.say(`Next: npx simbi statement problems ${file.id}`);
  });
}

function readDateOrder(text: string | undefined): 'dmy' | 'mdy' | undefined {
  if (text === undefined || text === 'dmy' || text === 'mdy') return text;
  throw new CommandError('--date-order must be dmy or mdy.', EXIT.usage);
}

async function loadMapping(ctx: PaymentsContext, given: string): Promise<Mapping> {
  const saved = await findMapping(ctx.db, given);
  if (saved) return saved.mapping;
  return readMappingFile(given, `There is no mapping "${given}" and no file of that name.`);
}

async function readMappingFile(path: string, missing: string): Promise<Mapping> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) throw new CommandError(missing, EXIT.notFound);
  try {
    return requireMapping(JSON.parse(text) as unknown);
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${path} is not JSON: ${error.message}`, EXIT.usage);
    throw error;
  }
}

async function showPreview(
  terminal: Terminal,
  ctx: PaymentsContext,
  given: StatementImport,
  options: ImportOptions,
): Promise<void> {
  const preview = await previewStatement(ctx, given, PREVIEW_ROWS);
  const { format, zone, currency, lines, bad, firstLines, firstProblems } = preview;
  const text = [
    `Format ${format}, times in ${zone}, ${lines} lines, ${bad} bad. Nothing was stored.`,
    lineTable(firstLines),
    ...firstProblems.map(({ lineNumber, reason }) => `line ${lineNumber}: ${reason}`),
  ].join('\n');
  const data = { dry_run: true, format, zone, currency, lines, bad };
  print(
    terminal,
    options,
    { ...data, first_lines: firstLines.map(lineData), first_problems: firstProblems.map(problemData) },
    text,
  );
}

function readCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'list imported statements, newest first', ['npx simbi statement list --connection daraja'])
    .option('--connection <name>', 'only those of this connection')
    .option('--limit <n>', 'how many', '50')
    .action(async (options: PageOptions & { connection?: string }) => {
      const limit = parseLimit(options.limit ?? '50', MAX_ROWS);
      const wanted = { limit, ...(options.connection === undefined ? {} : { connection: options.connection }) };
      const files = await withPayments(terminal, ({ db }) => listFiles(db, wanted));
      const rows = files.map((file) => [
        String(file.id),
        file.connection,
        file.name,
        file.format,
        file.status,
        ...[file.lines, file.linesNew, file.linesKnown, file.linesBad].map(String),
      ]);
      const headings = ['id', 'connection', 'file', 'format', 'status', 'lines', 'new', 'known', 'bad'];
      print(
        terminal,
        options,
        { statements: files.map(dataOf) },
        files.length === 0 ? 'No statements.' : table(headings, rows),
      );
    });

  pageCommand(group, 'show <id>', 'show a statement and the lines that it brought').action(
    async (id: string, options: PageOptions) => {
      const { file, lines, withdrawals } = await withFile(terminal, id, async ({ db }, found) => ({
        file: found,
        lines: await readLinesOfFile(db, found.id, pageOf(options)),
        withdrawals: await listWithdrawals(db, found.id),
      }));
      const text = [factsOf(file), ...withdrawals.map(withdrawalText), '', lineTable(lines)].join('\n');
      const data = { ...dataOf(file), withdrawals: withdrawals.map(withdrawalData), first_lines: lines.map(lineData) };
      print(terminal, options, data, text);
    },
  );

  pageCommand(group, 'problems <id>', 'list the lines that could not be read, and why').action(
    async (id: string, options: PageOptions) => {
      const problems = await withFile(terminal, id, ({ db }, file) => readProblems(db, file.id, pageOf(options)));
      const lines = problems.map(
        ({ lineNumber, reason, raw }) => `line ${lineNumber}: ${reason}\n  ${raw.slice(0, 300)}`,
      );
      print(terminal, options, { problems: problems.map(problemData) }, lines.join('\n') || 'Every line was read.');
    },
  );

  addCommand(group, 'original <id>', 'write the file back, byte for byte', [
    'npx simbi statement original 12 --to ORG_600998.csv',
    'npx simbi statement original 12 > ORG_600998.csv',
  ])
    .option('--to <file>', 'where to write it; default: standard output')
    .action((id: string, options: Options & { to?: string }) =>
      withFile(terminal, id, async ({ db }, file) => {
        const target =
          options.to === undefined ? process.stdout : createWriteStream(options.to, { flags: 'wx', mode: 0o600 });
        await pipeline(Readable.from(originalOf(db, file)), target, { end: options.to !== undefined });
        if (options.to !== undefined)
          print(
            terminal,
            options,
            { file: options.to, bytes: file.bytes, sha256: file.sha256.toString('hex') },
            options.to,
          );
      }),
    );
}

function withdrawCommand(group: Command, terminal: Terminal): void {
  addCommand(
    group,
    'withdraw <id> <reason>',
    'take back a statement that was imported wrongly; its lines and breaks go',
    ['npx simbi statement withdraw 12 "The file of another connection."'],
  ).action(async (id: string, reason: string, options: Options) => {
    const { outcome, withdrawal } = await withFile(terminal, id, (ctx, file) =>
      withdrawStatement(ctx, COMMAND_LINE, file.id, reason),
    );
    const { lines, withdrawnBy, withdrawnAt } = withdrawal;
    const data = { outcome, id: parseId(id), lines, reason: withdrawal.reason, withdrawn_by: withdrawnBy };
    const sentence =
      outcome === 'known'
        ? `Statement ${id} was withdrawn ${withdrawnAt.toISOString()} by ${withdrawnBy}. Its days were compared again.`
        : `Statement ${id} is withdrawn with its ${lines} lines. It can be imported again.`;
    print(terminal, options, { ...data, withdrawn_at: withdrawnAt }, sentence);
  });
}

function pageCommand(group: Command, usage: string, summary: string): Command {
  const name = usage.split(' ')[0] ?? '';
  return addCommand(group, usage, summary, [`npx simbi statement ${name} 12`, `npx simbi statement ${name} 12 --json`])
    .option('--limit <n>', 'how many lines', '20')
    .option('--after <line>', 'those after this line of the file', '0');
}

function pageOf(options: PageOptions): { after: number; limit: number } {
  const after = /^\d{1,9}$/.test(options.after ?? '') ? Number(options.after) : Number.NaN;
  if (Number.isNaN(after)) throw new CommandError('--after must be the number of a line.', EXIT.usage);
  return { after, limit: parseLimit(options.limit ?? '20', MAX_ROWS) };
}

function withFile<T>(
  terminal: Terminal,
  id: string,
  work: (ctx: PaymentsContext, file: StatementFile) => Promise<T>,
): Promise<T> {
  return withPayments(terminal, async (ctx) => {
    const file = await findFile(ctx.db, parseId(id));
    if (!file) throw new CommandError(`There is no statement ${id}.`, EXIT.notFound);
    return work(ctx, file);
  });
}

function mappingCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'map <name> <file>', 'save how to read the columns of a CSV file, from a JSON file', [
    'npx simbi statement map my-bank my-bank.json',
  ]).action(async (name: string, path: string, options: Options) => {
    const mapping = await readMappingFile(path, `${path} cannot be read.`);
    await withPayments(terminal, (ctx) => storeMapping(ctx, COMMAND_LINE, name, mapping));
    print(terminal, options, { name, mapping }, `The mapping "${name}" is saved.`);
  });

  addCommand(group, 'mappings', 'list saved mappings', ['npx simbi statement mappings --json']).action(
    async (options: Options) => {
      const saved = await withPayments(terminal, ({ db }) => listMappings(db));
      const rows = saved.map(({ name, createdBy, createdAt }) => [name, createdBy, createdAt.toISOString()]);
      const text = saved.length === 0 ? 'No mappings.' : table(['name', 'saved by', 'at'], rows);
      print(terminal, options, { mappings: saved.map(({ name, mapping }) => ({ name, mapping })) }, text);
    },
  );
}

const countsOf = ({ lines, linesNew, linesKnown, linesBad }: StatementFile) =>
  `${lines} lines: ${linesNew} new, ${linesKnown} known already, ${linesBad} bad`;

function factsOf(file: StatementFile): string {
  const balance = (amount: bigint | null) => (amount === null ? 'not in the file' : formatAmount(amount));
  return table(
    ['statement', String(file.id)],
    [
      ['connection', file.connection],
      ['file', file.name],
      ['format', file.format],
      ['status', file.problem === null ? file.status : `${file.status}: ${file.problem}`],
      ['lines', countsOf(file)],
      ['opening balance', balance(file.openingBalance)],
      ['closing balance', balance(file.closingBalance)],
      ['bytes', String(file.bytes)],
      ['sha256', file.sha256.toString('hex')],
      ['imported', `${file.importedAt.toISOString()} by ${file.importedBy}`],
    ],
  );
}

function lineTable(lines: readonly LineFacts[]): string {
  const rows = lines.map((line) => [
    line.occurredAt.toISOString().slice(0, 19).replace('T', ' '),
    line.kind,
    line.direction,
    line.state,
    `${formatAmount(line.gross)} ${line.currency}`,
    line.fee === null ? 'unknown' : formatAmount(line.fee),
    line.receipt ?? '',
    line.reference ?? '',
    line.msisdn ?? '',
  ]);
  return table(['time (UTC)', 'kind', 'way', 'state', 'amount', 'fee', 'receipt', 'reference', 'number'], rows);
}

function dataOf(file: StatementFile) {
  const amount = (value: bigint | null) => (value === null ? null : formatAmount(value));
  return {
    id: file.id,
    connection: file.connection,
    name: file.name,
    source: file.source,
    format: file.format,
    zone: file.zone,
    status: file.status,
    problem: file.problem,
    lines: file.lines,
    lines_new: file.linesNew,
    lines_known: file.linesKnown,
    lines_bad: file.linesBad,
    opening_balance: amount(file.openingBalance),
    closing_balance: amount(file.closingBalance),
    bytes: file.bytes,
    sha256: file.sha256.toString('hex'),
    imported_by: file.importedBy,
    imported_at: file.importedAt,
  };
}

function withdrawalData({ lines, reason, withdrawnBy, withdrawnAt, importedBy, importedAt }: StatementWithdrawal) {
  const imported = { imported_by: importedBy, imported_at: importedAt };
  return { lines, reason, withdrawn_by: withdrawnBy, withdrawn_at: withdrawnAt, ...imported };
}

const withdrawalText = ({ lines, reason, withdrawnBy, withdrawnAt }: StatementWithdrawal) =>
  `Withdrawn ${withdrawnAt.toISOString()} by ${withdrawnBy} with ${lines} lines: ${reason}`;

function lineData(line: LineFacts) {
  return {
    occurred_at: line.occurredAt,
    kind: line.kind,
    direction: line.direction,
    state: line.state,
    gross: formatAmount(line.gross),
    fee: line.fee === null ? null : formatAmount(line.fee),
    currency: line.currency,
    receipt: line.receipt,
    reference: line.reference,
    msisdn: line.msisdn,
    balance: line.balance === null ? null : formatAmount(line.balance),
    description: line.description,
  };
}

const problemData = ({ lineNumber, reason, raw }: { lineNumber: number; reason: string; raw: string }) => ({
  line: lineNumber,
  reason,
  raw,
});
