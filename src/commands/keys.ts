// simbi keys: the keys that seal secrets. Rotate makes a new version while the service runs; the stored values follow, and then
// the old version can be retired. With --master the keys themselves stay, and what protects them is replaced.

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createIdentity } from '../backup/encryption.ts';
import { COMMAND_LINE, recordAudit } from '../holders/audit.ts';
import { systemClock } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import {
  deletePreviousKeyFile,
  findPreviousMasterKey,
  listKeyWrappers,
  replaceKeyFile,
} from '../platform/master-key.ts';
import { countOlderValues, resealPass } from '../platform/reseal.ts';
import {
  prepareRewrap,
  prepareVersion,
  readVaultKeys,
  retireVersion,
  storeRewrapped,
  storeVersion,
  type VaultKeyRow,
} from '../platform/vault-keys.ts';
import { SEALED_COLUMNS } from '../services.ts';
import { addCommand, CommandError, confirm, EXIT, print, type Terminal, table, withContext } from './terminal.ts';

/** Longer than anything sealed or signed is on its way: forms of payment pages live for twelve hours. */
const RETIRE_AFTER_SECONDS = 86_400;
/** With --now: until every process has the new version. */
const RETIRE_NOW_SECONDS = 10;

type Options = { json?: boolean; yes?: boolean };

export function keysCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'list the versions, and how many stored values still need an old one', [
    'npx simbi keys list',
  ]).action((options: Options) => list(terminal, options));

  addCommand(group, 'rotate', 'make a new version of the key, or move to a new master key, while the service runs', [
    'npx simbi keys rotate',
    'MASTER_KEY=<new> MASTER_KEY_PREVIOUS=<old> npx simbi keys rotate --master',
  ])
    .option('--master', 'encrypt the keys with the new master key or key service instead')
    .action((options: Options & { master?: boolean }) => (options.master ? rewrap : rotate)(terminal, options));

  addCommand(group, 'reseal', 'seal stored values again with the newest key; the service also does it by itself', [
    'npx simbi keys reseal',
  ]).action((options: Options) => reseal(terminal, options));

  addCommand(group, 'retire <version>', 'destroy an old version that no stored value needs any more', [
    'npx simbi keys retire 1 --yes',
    'npx simbi keys retire 1 --now --yes',
  ])
    .option('--now', 'at once: forms that people have open, and unfinished sign-ins, must be started again')
    .option('--yes', 'do not ask for confirmation')
    .action((version: string, options: Options & { now?: boolean }) => retire(terminal, version, options));

  addCommand(
    group,
    'backup-key <file>',
    'make a key for encrypted backups: the secret into a file, the recipient printed',
    ['npx simbi keys backup-key /safe/place/backup.key'],
  ).action((path: string, options: Options) => createBackupKey(terminal, path, options));
}

async function list(terminal: Terminal, options: Options): Promise<void> {
  const { rows, older } = await withContext(terminal, async (ctx) => ({
    rows: await readVaultKeys(ctx.db),
    older: await countOlderValues(ctx, SEALED_COLUMNS),
  }));
  const lines = rows.map((row) => [
    String(row.version),
    stateOf(row, rows),
    row.wrapped === null ? '' : row.wrapper,
    row.created_at.toISOString(),
    row.retired_at?.toISOString() ?? '',
  ]);
  const data = rows.map((row) => ({
    version: row.version,
    state: stateOf(row, rows),
    wrapper: row.wrapper,
    created_at: row.created_at,
    retired_at: row.retired_at,
  }));
  const sentence =
    older === 0
      ? 'Every stored value is sealed with the newest version.'
      : `${older} stored values need an older version.`;
  print(
    terminal,
    options,
    { versions: data, older_values: older },
    `${table(['version', 'state', 'protected by', 'created', 'retired'], lines)}\n${sentence}`,
  );
}

function stateOf(row: VaultKeyRow, rows: VaultKeyRow[]): 'seals' | 'opens' | 'retired' {
  if (row.retired_at) return 'retired';
  return row.version === rows[0]?.version ? 'seals' : 'opens';
}

async function rotate(terminal: Terminal, options: Options): Promise<void> {
  const version = await withContext(terminal, async (ctx) => {
    const key = await prepareVersion(ctx.db, listKeyWrappers(ctx.config));
    await ctx.db.transaction(async (tx) => {
      if (!(await storeVersion(tx, key)))
        throw new CommandError('Another rotation was done a moment ago. Nothing was changed.', EXIT.conflict);
      const subject = `version ${key.version}`;
      await recordAudit(tx, { holderId: null, actor: COMMAND_LINE, action: 'keys.rotated', subject }, ctx.clock.now());
    });
    return key.version;
  });
  print(
    terminal,
    options,
    { version },
    `Version ${version} is made. Every process uses it within a second and seals stored values again by itself.`,
  );
}

async function rewrap(terminal: Terminal, options: Options): Promise<void> {
  const result = await withContext(terminal, async (ctx) => {
    const { config } = ctx;
    const isFile = !config.masterKey && !config.masterKeyPrevious && !config.keyProvider && !config.keyProviderPrevious;
    // Left over from a run that broke off. If the keys were stored before that, nothing but the old file is left to do.
    const isRepeated = isFile && findPreviousMasterKey(config) !== null;
    if (isFile) replaceKeyFile(config);
    const wrappers = listKeyWrappers(config);
    const rewrapped = await prepareRewrap(ctx.db, wrappers);
    const name = wrappers[0]?.name ?? '';
    if (rewrapped.length === 0) {
      if (isRepeated) deletePreviousKeyFile(config);
      return { versions: 0, name, isDone: isRepeated };
    }
    await ctx.db.transaction(async (tx) => {
      if (!(await storeRewrapped(tx, rewrapped)))
        throw new CommandError(
          'A version was made meanwhile. Nothing was changed; run this command again.',
          EXIT.conflict,
        );
      const entry = { holderId: null, actor: COMMAND_LINE, action: 'keys.master_rotated', subject: name } as const;
      await recordAudit(tx, entry, ctx.clock.now());
    });
    if (isFile) deletePreviousKeyFile(config);
    return { versions: rewrapped.length, name, isDone: true };
  });
  if (!result.isDone)
    throw new CommandError(
      'The keys are already protected by this master key. To replace it: set MASTER_KEY to a new key and MASTER_KEY_PREVIOUS ' +
        'to the present one for every process, restart them, and run this command again.',
      EXIT.conflict,
    );
  print(
    terminal,
    options,
    { versions: result.versions, wrapper: result.name },
    result.versions === 0
      ? `The run before had stored the keys. They are protected by ${result.name}.`
      : `${result.versions} keys are now protected by ${result.name}. MASTER_KEY_PREVIOUS is no longer needed.`,
  );
}

async function reseal(terminal: Terminal, options: Options): Promise<void> {
  const result = await withContext(terminal, async (ctx) => {
    let changed = 0;
    for (let pass = await resealPass(ctx, SEALED_COLUMNS); pass > 0; pass = await resealPass(ctx, SEALED_COLUMNS))
      changed += pass;
    return { resealed: changed, older_values: await countOlderValues(ctx, SEALED_COLUMNS) };
  });
  const left = result.older_values === 0 ? 'None is left.' : `${result.older_values} do not open; the log names them.`;
  print(terminal, options, result, `${result.resealed} rows were sealed again with the newest version. ${left}`);
  if (result.older_values > 0) process.exitCode = EXIT.error;
}

async function retire(terminal: Terminal, text: string, options: Options & { now?: boolean }): Promise<void> {
  if (!/^\d{1,9}$/.test(text))
    throw new CommandError(`"${text}" is not a version. List them: npx simbi keys list`, EXIT.usage);
  const version = Number(text);
  await confirm(terminal, options, `Version ${version} cannot be brought back, except from a backup.`);
  await withContext(terminal, (ctx) =>
    retireUnused(ctx, version, options.now ? RETIRE_NOW_SECONDS : RETIRE_AFTER_SECONDS),
  );
  print(terminal, options, { version, retired: true }, `Version ${version} is retired.`);
}

async function retireUnused(ctx: Context, version: number, seconds: number): Promise<void> {
  if (!(await readVaultKeys(ctx.db)).some((key) => key.version === version))
    throw new CommandError(`There is no version ${version}. List them: npx simbi keys list`, EXIT.notFound);
  const older = await countOlderValues(ctx, SEALED_COLUMNS);
  if (older > 0)
    throw new CommandError(
      `${older} stored values are sealed with an older version. Run first: npx simbi keys reseal`,
      EXIT.conflict,
    );
  await ctx.db.transaction(async (tx) => {
    if (!(await retireVersion(tx, version, seconds)))
      throw new CommandError(
        `Version ${version} was not retired: it is the newest, retired already, or its successor is younger than ` +
          `${seconds === RETIRE_NOW_SECONDS ? 'ten seconds' : 'a day. With --now it need not be'}.`,
        EXIT.conflict,
      );
    const entry = {
      holderId: null,
      actor: COMMAND_LINE,
      action: 'keys.retired',
      subject: `version ${version}`,
    } as const;
    await recordAudit(tx, entry, ctx.clock.now());
  });
}

async function createBackupKey(terminal: Terminal, given: string, options: Options): Promise<void> {
  const path = resolve(given);
  const { identity, recipient } = await createIdentity();
  const text = `# created: ${systemClock.now().toISOString()}\n# public key: ${recipient}\n${identity}\n`;
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw exists ? new CommandError(`${path} already exists. A key is never overwritten.`, EXIT.conflict) : error;
  }
  print(terminal, options, { file: path, recipient }, recipient);
  terminal.say(
    `Set BACKUP_RECIPIENTS to this line. Keep ${path} away from this machine and copy it: without it no backup can be restored.`,
  );
}
