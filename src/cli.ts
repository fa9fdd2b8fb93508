// The command table, and how a command ends: its exit code and its error message.

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Command, CommanderError } from 'commander';
import { BackupError } from './backup/backup-file.ts';
import { adminCommands } from './commands/admin.ts';
import { auditCommands } from './commands/audit.ts';
import { backupCommands } from './commands/backup.ts';
import { balanceCommand, topUpCommand } from './commands/balance.ts';
import { callbackCommands } from './commands/callbacks.ts';
import { collectCommand } from './commands/collect.ts';
import { doctorCommand } from './commands/doctor.ts';
import { holderCommands } from './commands/holder.ts';
import { integrationCommands } from './commands/integration.ts';
import { keysCommands } from './commands/keys.ts';
import { ledgerCommands } from './commands/ledger.ts';
import { limitsCommands } from './commands/limits.ts';
import { linkCommands } from './commands/link.ts';
import { loginLinkCommand } from './commands/login-link.ts';
import { migrateCommand } from './commands/migrate.ts';
import { payoutCommands } from './commands/payout.ts';
import { phoneCommand } from './commands/phone.ts';
import { railCommands } from './commands/rail.ts';
import { refundCommands } from './commands/refund.ts';
import { exitCodeOf } from './commands/remote.ts';
import { serveCommands } from './commands/serve.ts';
import { signCommand } from './commands/sign.ts';
import { statusCommand } from './commands/status.ts';
import { CommandError, createTerminal, EXIT, type Terminal, toJson } from './commands/terminal.ts';
import { tokenCommand } from './commands/token.ts';
import { transactionCommand } from './commands/transaction.ts';
import { ModeError } from './database-mode.ts';
import { DataDirInUseError } from './embedded-postgres/data-dir-lock.ts';
import { EmbeddedPostgresError } from './embedded-postgres/installation.ts';
import { StartError } from './open-context.ts';
import { trackCommits, withoutFalsehood } from './platform/commit-tracking.ts';
import { ConfigError } from './platform/config.ts';
import { Problem } from './platform/errors.ts';
import { KeyWrapperError } from './platform/key-wrapper.ts';
import { MigrationError } from './platform/migrate.ts';

const COMMANDS = [
  serveCommands,
  statusCommand,
  doctorCommand,
  collectCommand,
  transactionCommand,
  phoneCommand,
  balanceCommand,
  topUpCommand,
  linkCommands,
  payoutCommands,
  refundCommands,
  callbackCommands,
  railCommands,
  ledgerCommands,
  auditCommands,
  backupCommands,
  keysCommands,
  migrateCommand,
  holderCommands,
  integrationCommands,
  adminCommands,
  limitsCommands,
  loginLinkCommand,
  tokenCommand,
  signCommand,
];

const EXAMPLES = `Examples:
  $ npx simbi up                                      start everything in sandbox mode
  $ npx simbi collect 2500 UGX --phone 0772123456     ask a customer for money
  $ npx simbi phone 256772123456 --pin 1234           approve it on the test phone
  $ npx simbi sign --explain --params '{"id":"TX_1"}'   show how a request is signed
  $ npx simbi doctor                                  check the installation and show fixes
`;

const EXIT_CODES = `
Exit codes:
  0 success   1 error   2 wrong usage or configuration   3 not authenticated   4 not found
  5 conflict (already running, already exists)   6 network or service unavailable   7 payment failed

Settings are environment variables or lines of the file .env. See .env.example for all of them.`;

export function createProgram(terminal: Terminal): Command {
  const program = new Command('simbi')
    .description('A payments gateway that you run yourself.')
    .version(readVersion(), '-V, --version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('before', EXAMPLES)
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('Help: npx simbi --help')
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.say(text.trimEnd()),
    })
    .exitOverride()
    // Options belong to the command they follow: `token` and `token revoke` both have --json.
    .enablePositionalOptions();
  for (const add of COMMANDS) add(program, terminal);
  inheritExit(program);
  return program;
}

/** Without this, commander would end the process itself for errors in subcommands. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride();
    inheritExit(child);
  }
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs one command and returns its exit code. */
export async function runCommand(terminal: Terminal, args: string[]): Promise<number> {
  const program = createProgram(terminal);
  if (args.length === 0) {
    program.outputHelp({ error: true });
    return EXIT.usage;
  }
  const commits = { count: 0 };
  try {
    await trackCommits(commits, () => program.parseAsync(args, { from: 'user' }));
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    return explain(terminal, withoutFalsehood(error, commits), args.includes('--json'));
  }
}

/** Prints the error and returns the exit code. An error of an unknown kind is a bug, so its stack is printed. */
function explain(terminal: Terminal, error: unknown, json: boolean): number {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const code = exitCodeFor(error);
  const known = code !== null;
  const message = [error instanceof Error ? error.message : String(error), ...fieldSentences(error)].join('\n');
  if (json) terminal.say(toJson({ success: false, message, exit_code: code ?? EXIT.error }));
  else terminal.say(known ? message : `Internal error: ${error instanceof Error ? error.stack : message}`);
  return code ?? EXIT.error;
}

/** What is wrong with each field, where the error says so. */
function fieldSentences(error: unknown): string[] {
  if (!(error instanceof Problem)) return [];
  return Object.entries(error.details.errors ?? {}).map(([field, sentences]) => `  ${field}: ${sentences.join(' ')}`);
}

function exitCodeFor(error: unknown): number | null {
  if (error instanceof ConfigError || error instanceof ModeError) return EXIT.usage;
  if (error instanceof CommandError || error instanceof StartError) return error.exitCode;
  if (error instanceof KeyWrapperError) return error.isAway ? EXIT.unavailable : EXIT.usage;
  if (error instanceof DataDirInUseError) return EXIT.conflict;
  if (error instanceof EmbeddedPostgresError || error instanceof MigrationError || error instanceof BackupError)
    return EXIT.error;
  if (error instanceof Problem) return exitCodeOf(error.status);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // The database of DATABASE_URL is not reachable or refuses the login (class 28, unknown database 3D000).
  if (/^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ECONNRESET|28...|3D000)$/.test(code)) return EXIT.unavailable;
  return null;
}

// Run as a program, not when a test imports this file.
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
  process.exitCode = await runCommand(createTerminal({ ...file, ...process.env }), process.argv.slice(2));
}
