// simbi migrate: applies the migrations of this version to the database, lists them, or checks that they can be applied while the
// version before is running.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { startEmbeddedPostgres } from '../embedded-postgres/server.ts';
import { migrateDatabase, openCommandDatabase, type Progress } from '../open-context.ts';
import { readConfig } from '../platform/config.ts';
import { connectDatabase } from '../platform/db.ts';
import { pendingMigrations } from '../platform/migrate.ts';
import {
  checkMigrations,
  type MigratedDatabase,
  type MigrationFinding,
  readMigrated,
} from '../platform/migration-check.ts';
import { type Migration, readMigrations, readPrivileges } from '../platform/migration-files.ts';
import { EXIT, print, type Terminal, withExamples } from './terminal.ts';

const MEBIBYTE = 1024 * 1024;

type Options = { json?: boolean; dryRun?: boolean; check?: boolean; since?: number };

export function migrateCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi migrate', 'npx simbi migrate --dry-run', 'npx simbi migrate --check'])
    .option('--dry-run', 'only list the missing migrations')
    .option('--check', 'only say whether the version before can go on while they are applied')
    .option('--since <number>', 'with --check: all migrations after this one, without a database', readNumber)
    .action(async (options: Options) => {
      const say = (sentence: string) => terminal.say(`  ${sentence}`);
      if (options.check && options.since !== undefined)
        return report(terminal, options, ...(await checkSince(options.since, say)), null);
      const config = readConfig(terminal.environment);
      const database = await openCommandDatabase(config, say);
      try {
        if (options.check) {
          const migrated = await readMigrated(database.ownerUrl);
          const files = await listPending(database.ownerUrl);
          return report(
            terminal,
            options,
            files,
            await tryOut((each) => files.includes(each.file), migrated, say),
            migrated,
          );
        }
        const files = options.dryRun ? await listPending(database.ownerUrl) : await migrateDatabase(database, say);
        const data = options.dryRun ? { pending: files } : { applied: files };
        print(terminal, options, data, files.length > 0 ? files.join('\n') : 'The database is up to date.');
      } finally {
        await database.close();
      }
    });
}

function readNumber(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('Give the number of a migration, such as 0063.');
  return Number(text);
}

async function listPending(url: string): Promise<string[]> {
  const db = connectDatabase({ url, as: 'owner', poolSize: 2 });
  try {
    return await pendingMigrations(db);
  } finally {
    await db.close();
  }
}

async function checkSince(since: number, say: Progress): Promise<[string[], MigrationFinding[]]> {
  const isLater = ({ version }: Migration) => version > since;
  const files = (await readMigrations()).filter(isLater).map(({ file }) => file);
  return [files, await tryOut(isLater, null, say)];
}

/** On a PostgreSQL of its own, which is started for it: nobody waits for a lock of the check. */
async function tryOut(
  isPending: (migration: Migration) => boolean,
  migrated: MigratedDatabase | null,
  say: Progress,
): Promise<MigrationFinding[]> {
  const migrations = await readMigrations();
  const pending = migrations.filter(isPending);
  const before = migrations.filter((migration) => !isPending(migration)).at(-1)?.version ?? 0;
  if (pending.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'simbi-check-'));
  try {
    const scratch = await startEmbeddedPostgres({
      dataDir: join(folder, 'postgres'),
      settings: { fsync: 'off' },
      onProgress: say,
    });
    try {
      return await checkMigrations(scratch.url, {
        migrations,
        pending,
        privileges: await readPrivileges(),
        running: migrated?.running ?? before,
        hasRows: (table) => migrated === null || migrated.bytes.has(table),
        rights: migrated?.rights ?? null,
      });
    } finally {
      await scratch.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function report(
  terminal: Terminal,
  options: Options,
  files: string[],
  findings: MigrationFinding[],
  migrated: MigratedDatabase | null,
): void {
  if (findings.length > 0) process.exitCode = EXIT.error;
  const passed =
    files.length === 0
      ? 'There is no migration to check.'
      : `${files.join('\n')}\nThe version before can go on running.`;
  const refused = [
    ...findings.map((finding) => paragraphOf(finding, migrated)),
    `The version before cannot go on running: ${findings.length} ${findings.length === 1 ? 'reason' : 'reasons'}.`,
  ].join('\n\n');
  print(terminal, options, { checked: files, refused: findings }, findings.length > 0 ? refused : passed);
}

function paragraphOf(finding: MigrationFinding, migrated: MigratedDatabase | null): string {
  const { file, line, statement, table, lock, why, instead } = finding;
  const bytes = table === null ? undefined : migrated?.bytes.get(table);
  const size = bytes === undefined ? '' : ` (${(bytes / MEBIBYTE).toFixed(1)} MiB)`;
  return [
    `${file}:${line}  ${statement}`,
    ...(table === null ? [] : [`  table    ${table}${size}`]),
    ...(lock === null ? [] : [`  lock     ${lock}`]),
    `  why      ${why}`,
    `  instead  ${instead}`,
  ].join('\n');
}
