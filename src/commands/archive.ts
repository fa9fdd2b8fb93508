// simbi archive: writes months of payments to files, verifies the files, and removes the evidence of old months from the database.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ArchiveError } from '../archive/month-folder.ts';
import { removeArchived } from '../archive/remove.ts';
import { verifyArchive } from '../archive/verify.ts';
import { writeArchive } from '../archive/write.ts';
import { modeOfDatabase } from '../database-mode.ts';
import { migrateDatabase, openCommandDatabase } from '../open-context.ts';
import { systemClock } from '../platform/clock.ts';
import { type Config, readConfig } from '../platform/config.ts';
import { createDatabaseTime } from '../platform/database-time.ts';
import { connectDatabase, type Database, violatedConstraint } from '../platform/db.ts';
import { monthNamed, monthOf } from '../platform/months.ts';
import { createProgressBar } from './progress.ts';
import { addCommand, addNeededOption, CommandError, confirm, EXIT, print, type Terminal, table } from './terminal.ts';

type Options = { json?: boolean; before?: string; yes?: boolean };
/** `at`: the database's time. With a clock that is ahead, a month that goes on would be taken for complete. */
type Opened = { config: Config; databaseUrl: string; owner: Database; at: Date };

const WRITE_HELP = `
Each month (UTC) becomes a folder with one CSV file (gzip) for each table, and a manifest with the rows and the SHA-256 of each file.
Months that the folder has already are left alone, so it can run every month, and again after it broke off. What was written is read
back and compared with the database. The files contain phone numbers and answers of operators: keep them where only you can read them.
`;

const REMOVE_HELP = `
Removes evidence (what operators reported) of months that the archive has, that ended 180 days ago, and whose files are what was written.
Transactions, the ledger, cases and the audit log stay. Evidence of payments that are open, have or had a case, or changed in the last
180 days stays too. Events, callback attempts and requests are deleted by age without this command.
`;

export function archiveCommands(group: Command, terminal: Terminal): void {
  const version = group.parent?.version() ?? '';
  addCommand(group, 'write <folder>', 'write months of payments to files; default: every month that has ended', [
    'npx simbi archive write /archive',
    'npx simbi archive write /archive --before 2024-01 --json',
  ])
    .option('--before <month>', 'only months before this one')
    .addHelpText('after', WRITE_HELP)
    .action((folder: string, options: Options) => write(terminal, version, resolve(folder), options));

  addCommand(group, 'verify <folder>', 'read every file and name each that is not what was written', [
    'npx simbi archive verify /archive',
  ]).action((folder: string, options: Options) => verify(terminal, resolve(folder), options));

  const remove = addCommand(group, 'remove <folder>', 'remove archived evidence of old months from the database', [
    'npx simbi archive remove /archive --before 2024-01',
  ]);
  addNeededOption(remove, '--before <month>', 'only months before this one')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', REMOVE_HELP)
    .action((folder: string, options: Options) => removeMonths(terminal, resolve(folder), options));
}

function readBefore(before: string): Date {
  const month = monthNamed(before);
  if (!month) throw new CommandError('--before must be a month, for instance 2024-01.', EXIT.usage);
  return month.from;
}

/** Opens the database with the rights of its owner: the service may not remove history. */
async function withOwner<T>(terminal: Terminal, work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = readConfig(terminal.environment);
  const say = (sentence: string) => terminal.say(`  ${sentence}`);
  const database = await openCommandDatabase(config, say);
  try {
    await migrateDatabase(database, say);
    const owner = connectDatabase({ url: database.ownerUrl, as: 'owner', poolSize: 2 });
    try {
      const at = await createDatabaseTime(owner, systemClock).now();
      return await work({ config, databaseUrl: database.ownerUrl, owner, at });
    } catch (error) {
      throw readable(error);
    } finally {
      await owner.close();
    }
  } finally {
    await database.close();
  }
}

/** What the disk or the database refused, as a sentence. */
function readable(error: unknown): unknown {
  if (error instanceof ArchiveError) return new CommandError(error.message, EXIT.error);
  if (violatedConstraint(error) === 'evidence_kept')
    return new CommandError(
      'Evidence is kept for 180 days after the end of its month. Choose an earlier --before.',
      EXIT.usage,
    );
  return error;
}

async function write(terminal: Terminal, version: string, folder: string, options: Options): Promise<void> {
  const before = options.before === undefined ? null : readBefore(options.before);
  const bar = createProgressBar(terminal, 'Archiving');
  const months = await withOwner(terminal, async ({ config, databaseUrl, owner, at }) =>
    writeArchive({
      databaseUrl,
      owner,
      folder,
      before: before ?? monthOf(at).from,
      at,
      version,
      mode: await modeOfDatabase(databaseUrl, config.mode),
      onProgress: ({ month, table: name, rows }) => bar.show(rows, rows, `rows  ${month} ${name}`),
    }).finally(() => bar.end()),
  );
  const rowsOf = (rows: Record<string, number>) => Object.values(rows).reduce((sum, count) => sum + count, 0);
  const lines = months.map((each) => [
    each.month,
    String(rowsOf(each.rows)),
    `${Math.ceil(each.bytes / 1024)} KiB`,
    each.manifest_sha256,
  ]);
  const text =
    lines.length > 0 ? table(['MONTH', 'ROWS', 'SIZE', 'SHA-256 OF THE MANIFEST'], lines) : 'Nothing to archive.';
  print(terminal, options, { folder, months }, text);
  if (months.length > 0) terminal.say('Every file was read back and agrees with the database. Nothing was removed.');
}

async function verify(terminal: Terminal, folder: string, options: Options): Promise<void> {
  const result = await verifyArchive(folder).catch((error: unknown) => {
    throw readable(error);
  });
  const ok = result.problems.length === 0;
  const lines = [
    ...result.months.map((each) => `${each.month}  ${each.rows} rows  ${each.manifest_sha256}`),
    ...result.problems.map((problem) => `DIFFERS  ${problem}`),
  ];
  print(terminal, options, { ok, folder, ...result }, lines.join('\n'));
  terminal.say(ok ? 'Archive verified: every file is what was written.' : 'The archive is not what was written.');
  if (!ok) process.exitCode = EXIT.error;
}

async function removeMonths(terminal: Terminal, folder: string, options: Options): Promise<void> {
  const before = readBefore(options.before ?? '');
  await confirm(terminal, options, 'Evidence that the archive has is removed from the database for good.');
  const months = await withOwner(terminal, ({ databaseUrl, owner, at }) =>
    removeArchived({
      databaseUrl,
      owner,
      folder,
      before,
      at,
      onMonth: (month) => terminal.say(`  Comparing ${month} with the database`),
    }),
  );
  const lines = months.map((each) => [each.month, String(each.removed), String(each.kept)]);
  const text = lines.length > 0 ? table(['MONTH', 'REMOVED', 'KEPT'], lines) : 'Nothing to remove.';
  print(terminal, options, { folder, months }, text);
}
