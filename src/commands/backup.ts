// simbi backup and restore: the whole gateway in one file, and back into an empty database.

import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type BackupHeader, type BackupProgress, type WrittenBackup, writeBackup } from '../backup/backup.ts';
import type { BackupEncryption, BackupKeys } from '../backup/encryption.ts';
import { type CheckedBackup, checkBackup, readHeader, requireKey, restoreBackup } from '../backup/restore.ts';
import { modeOfDatabase, refuseOtherMode, requireMode } from '../database-mode.ts';
import { verifyLedger } from '../ledger/verify.ts';
import { createContext, openCommandDatabase } from '../open-context.ts';
import { systemClock } from '../platform/clock.ts';
import { type Config, dataPath, masterKeyBytes, readConfig } from '../platform/config.ts';
import { createLogger } from '../platform/log.ts';
import { findMasterKey, findPreviousMasterKey } from '../platform/master-key.ts';
import { admitServiceLogin, pendingMigrations } from '../platform/migrate.ts';
import { type FinishedRestore, finishRestore } from './finish-restore.ts';
import { createProgressBar } from './progress.ts';
import { CommandError, confirm, EXIT, print, type Terminal, withContext, withExamples } from './terminal.ts';

const KEY_WARNING =
  'The file contains the master key: anyone who has it can read every secret and sign as every holder. Store it like a key.';
const KEY_MISSING =
  'The master key is not in the file. Store MASTER_KEY (or DATA_DIR/master.key) separately: without it the secrets in the file are lost.';

const UNENCRYPTED_WARNING =
  'The file is not encrypted: it holds phone numbers, e-mail addresses and password hashes. Store it where nobody else can read it.';

const CREDENTIALS_WARNING =
  'Everybody must sign in again, and programs must get new API tokens. A secret that was rotated after the backup is the old ' +
  'one again, and removed members and integrations are back: which ones, the backup cannot know. Check them.';

/** Backups have the mark of the mode since this migration. */
const MARKED_SCHEMA = 26;

/** Settings of another database, which `--data-dir` does without. */
const EMBEDDED = {
  DATABASE_URL: '',
  DATABASE_URL_FILE: '',
  MIGRATION_DATABASE_URL: '',
  MIGRATION_DATABASE_URL_FILE: '',
  DATABASE_LISTEN_URL: '',
  DATABASE_LISTEN_URL_FILE: '',
};

type BackupOptions = {
  json?: boolean;
  includeMasterKey?: boolean;
  recipient?: string[];
  unencrypted?: boolean;
  yes?: boolean;
  force?: boolean;
};
type RestoreOptions = {
  json?: boolean;
  dataDir?: string;
  identityFile?: string;
  allowUnsigned?: boolean;
  dryRun?: boolean;
};

export function backupCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi backup simbi-2026-03-02.backup',
    'npx simbi backup /backups/now.backup --recipient age1… --force --json',
    'npx simbi backup move.backup --include-master-key --yes',
  ])
    .option('--recipient <key...>', 'encrypt to these public keys (age1…) instead of BACKUP_RECIPIENTS')
    .option('--unencrypted', 'write a file that everybody can read who has it')
    .option('--include-master-key', 'include the master key in the file')
    .option('--force', 'overwrite an existing file')
    .option('--yes', 'do not ask for confirmation')
    .action((path: string, options: BackupOptions) => backup(terminal, command.parent?.version() ?? '', path, options));
}

export function restoreCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi restore simbi-2026-03-02.backup --data-dir ./restored --identity-file backup.key',
    'DATABASE_URL=postgres://… npx simbi restore simbi-2026-03-02.backup',
    'npx simbi restore simbi-2026-03-02.backup --dry-run',
  ])
    .option('--data-dir <folder>', 'a new folder with an embedded database; default: DATA_DIR or DATABASE_URL')
    .option('--identity-file <file>', 'the secret key of an encrypted backup; default: BACKUP_IDENTITY_FILE')
    .option('--allow-unsigned', 'take a file that was not signed with the master key, as older versions wrote them')
    .option('--dry-run', 'check the file and show what is in it; restore nothing')
    .action((path: string, options: RestoreOptions) => restore(terminal, path, options));
}

export function afterRestoreCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi after-restore --yes'])
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      '\n`simbi restore` does this by itself. Run it once, before the service starts, after a restore from a base backup,\n' +
        'a snapshot or a dump: operators are asked about open payments first, and old sessions and tokens end.\n',
    )
    .action((options: { json?: boolean; yes?: boolean }) => afterRestore(terminal, options));
}

/** For a database that came back by other means than `simbi restore`. */
async function afterRestore(terminal: Terminal, options: { json?: boolean; yes?: boolean }): Promise<void> {
  await confirm(terminal, options, 'Everybody must sign in again, and open payments are asked about first.');
  const { askedFirst, ended, postponed } = await withContext(terminal, async (ctx) => {
    const at = await ctx.databaseTime.now();
    return ctx.db.transaction((tx) => finishRestore(tx, at, null));
  });
  const sentence = `${askedFirst} payments are open. Their operators are asked before anything is done.`;
  print(terminal, options, { asked_again: askedFirst, ended }, sentence);
  if (postponed > 0) terminal.say(postponedSentence(postponed));
  terminal.say(CREDENTIALS_WARNING);
}

const postponedSentence = (count: number) =>
  `${count} settlements by schedule wait for a day. Compare first what was settled since the backup.`;

async function backup(terminal: Terminal, version: string, given: string, options: BackupOptions): Promise<void> {
  const path = resolve(given);
  if (existsSync(path) && !options.force)
    throw new CommandError(`${path} already exists. Choose another name, or overwrite it with --force.`, EXIT.conflict);
  const config = readConfig(terminal.environment);
  const encryption = chooseEncryption(config, options);
  if (options.includeMasterKey) await confirm(terminal, options, KEY_WARNING);
  const masterKey = findMasterKey(config);
  if (options.includeMasterKey && !masterKey)
    throw new CommandError('There is no master key on this machine: KEY_PROVIDER has it.', EXIT.usage);
  const bar = createProgressBar(terminal, 'Backing up');
  const database = await openCommandDatabase(config, (sentence) => terminal.say(`  ${sentence}`));
  let made: WrittenBackup;
  try {
    made = await writeBackup({
      databaseUrl: database.ownerUrl,
      path,
      version,
      mode: await modeOfDatabase(database.ownerUrl, config.mode),
      madeAt: systemClock.now(),
      masterKey,
      encryption,
      includeMasterKey: options.includeMasterKey === true,
      onProgress: showRows(bar),
    });
  } finally {
    bar.end();
    await database.close();
  }
  const size = statSync(path).size;
  const total = sum(made.rows);
  const data = {
    file: path,
    bytes: size,
    rows: made.rows,
    sha256: made.sha256,
    made_at: made.header.made_at,
    schema: made.header.schema.at(-1)?.version ?? 0,
    master_key: options.includeMasterKey === true,
    encrypted: encryption !== null,
  };
  print(
    terminal,
    options,
    data,
    `${path}\n${total} rows in ${Object.keys(made.rows).length} tables, ${(size / 1024).toFixed(0)} KiB, as of ${made.header.made_at}`,
  );
  if (!encryption) terminal.say(UNENCRYPTED_WARNING);
  terminal.say(options.includeMasterKey ? KEY_WARNING : KEY_MISSING);
}

/** Public keys of the command, else those of the settings, else the passphrase. In live mode nothing else happens unasked. */
function chooseEncryption(config: Config, options: BackupOptions): BackupEncryption | null {
  const recipients = options.recipient ?? config.backupRecipients;
  if (options.unencrypted) {
    if (options.recipient) throw new CommandError('--unencrypted and --recipient exclude each other.', EXIT.usage);
    return null;
  }
  if (recipients.length > 0) return { recipients };
  if (config.backupPassphrase) return { passphrase: config.backupPassphrase };
  if (config.mode === 'live')
    throw new CommandError(
      'A backup holds phone numbers and password hashes, so in live mode it is encrypted. Make a key with npx simbi keys backup-key ' +
        '<file> and set BACKUP_RECIPIENTS, or add --unencrypted.',
      EXIT.usage,
    );
  return null;
}

const keysOf = (config: Config, options: RestoreOptions): BackupKeys => ({
  identityFile: options.identityFile ?? (config.backupIdentityFile || null),
  passphrase: config.backupPassphrase || null,
});

async function restore(terminal: Terminal, given: string, options: RestoreOptions): Promise<void> {
  const path = resolve(given);
  const environment =
    options.dataDir === undefined
      ? terminal.environment
      : { ...terminal.environment, ...EMBEDDED, DATA_DIR: options.dataDir };
  const config = readConfig(environment);
  const bar = createProgressBar(terminal, options.dryRun ? 'Reading' : 'Restoring');
  if (options.dryRun) {
    const checked = await checkBackup(path, showRows(bar), keysOf(config, options));
    bar.end();
    print(terminal, options, { ...describe(checked), restored: false }, linesOf(checked));
    terminal.say('The file is complete. Nothing was restored.');
    return;
  }
  const keys = keysOf(config, options);
  const header = await readHeader(path, keys);
  // The header of a backup from before the mark only says what MODE was when it was made; its rows are asked below.
  if ((header.schema.at(-1)?.version ?? 0) >= MARKED_SCHEMA) refuseOtherMode(asMode(header.mode), config.mode);
  const masterKey = findMasterKey(config) ?? keyIn(header);
  requireKey(header, masterKey, findPreviousMasterKey(config));
  const say = (sentence: string) =>
    terminal.say(`  ${sentence.replace(/^Applying migration.*/, 'Applying migrations')}`);
  const database = await openCommandDatabase(config, say, 'mayCreate');
  try {
    refuseOtherMode(await modeOfDatabase(database.ownerUrl, config.mode), config.mode);
    // Before the file is read, which may take hours.
    await admitServiceLogin(database.ownerUrl, database.url);
    const finished: FinishedRestore[] = [];
    const restored = await restoreBackup({
      databaseUrl: database.ownerUrl,
      path,
      masterKey,
      previousMasterKey: findPreviousMasterKey(config),
      keys,
      allowUnsigned: options.allowUnsigned === true,
      onProgress: showRows(bar),
      onStep: say,
      async finish(tx, { made_at }) {
        await requireMode(tx, config.mode, systemClock.now());
        // The file was read to its end: what is refused before this leaves no key behind.
        writeKey(terminal, config, header.master_key);
        finished.push(await finishRestore(tx, systemClock.now(), new Date(made_at)));
      },
    });
    bar.end();
    const verification = await verify(config, database.url, terminal);
    const { askedFirst = 0, ended = null, postponed = 0 } = finished[0] ?? {};
    const data = { ...describe(restored), restored: true, ledger_ok: verification.ok, asked_again: askedFirst, ended };
    print(terminal, options, data, linesOf(restored));
    for (const { sentence } of verification.differences) terminal.say(`DIFFERS  ${sentence}`);
    if (askedFirst > 0)
      say(
        `${askedFirst} payments were open when the backup was made. Their operators are asked before anything is done.`,
      );
    if (postponed > 0) say(postponedSentence(postponed));
    say(CREDENTIALS_WARNING);
    terminal.say(
      verification.ok
        ? 'Ledger verified: all balances match.'
        : 'Ledger check failed after the restore. Do not start Simbi on this database.',
    );
    if (!verification.ok) process.exitCode = EXIT.error;
  } finally {
    bar.end();
    await database.close();
  }
}

const asMode = (text: string) => (text === 'live' ? 'live' : 'sandbox');

const keyIn = ({ master_key: key }: BackupHeader) => (key === undefined ? null : masterKeyBytes(key));

/** Writes the key of the backup to DATA_DIR, unless there is one already. */
function writeKey(terminal: Terminal, config: Config, key: string | undefined): void {
  if (key === undefined || findMasterKey(config)) return;
  mkdirSync(dataPath(config), { recursive: true, mode: 0o700 });
  writeFileSync(dataPath(config, 'master.key'), `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
  terminal.say(`  The master key of the backup was written to ${dataPath(config, 'master.key')}.`);
}

async function verify(config: Config, url: string, terminal: Terminal) {
  const bar = createProgressBar(terminal, 'Verifying the ledger');
  const ctx = await createContext(config, url, createLogger('silent'));
  try {
    const pending = await pendingMigrations(ctx.db);
    if (pending.length > 0)
      throw new CommandError(`Migrations are missing after the restore: ${pending.join(', ')}.`, EXIT.error);
    return await verifyLedger(ctx, { onProgress: (transfers) => bar.show(transfers, transfers, 'transfers') });
  } finally {
    bar.end();
    await ctx.db.close();
  }
}

function showRows(bar: ReturnType<typeof createProgressBar>): BackupProgress {
  return ({ table, rows, expectedRows }) => bar.show(rows, expectedRows, `rows  ${table}`);
}

const sum = (rows: Record<string, number>) => Object.values(rows).reduce((total, count) => total + count, 0);

function describe({ header, rows }: CheckedBackup) {
  const { version, made_at, mode, postgres, schema } = header;
  return {
    version,
    made_at,
    mode,
    postgres,
    schema: schema.at(-1)?.version ?? 0,
    master_key: header.master_key !== undefined,
    rows,
  };
}

function linesOf({ header, rows }: CheckedBackup): string {
  const origin = `version ${header.version}, ${header.mode} mode`;
  return `${sum(rows)} rows in ${Object.keys(rows).length} tables, as of ${header.made_at} (${origin})`;
}
