// The command line, and how a command ends: its exit code and its error message.

import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Command, CommanderError } from 'commander';
import { type CommandEntry, SECTIONS } from './commands/command-table.ts';
import { exitCodeFor, fieldSentences, systemSentence } from './commands/exit-codes.ts';
import { createTerminal, EXIT, type Terminal, toJson } from './commands/terminal.ts';
import { trackCommits, withoutFalsehood } from './platform/commit-tracking.ts';
import { Problem } from './platform/errors.ts';

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

/** The commands. Those that `args` does not name have only their line of the help; without `args` all are complete. */
export async function createProgram(terminal: Terminal, args?: readonly string[]): Promise<Command> {
  const program = new Command('simbi')
    .description('A payments gateway that you run yourself.')
    .version(readVersion(), '-V, --version')
    .commandsGroup('Help:')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('before', EXAMPLES)
    .addHelpText('after', EXIT_CODES)
    .configureOutput({
      // The terminal ends a text with a new line; a blank line after the examples stays.
      writeOut: (text) => terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => terminal.say(text.replace(/\n$/, '')),
    })
    .configureHelp({ subcommandTerm: termOf })
    .exitOverride()
    // Options belong to the command they follow: `token` and `token revoke` both have --json.
    .enablePositionalOptions();
  const loaded: Promise<void>[] = [];
  for (const { heading, commands } of SECTIONS) {
    for (const entry of commands) {
      const command = program.command(entry.usage).description(entry.summary).helpGroup(heading);
      if (!args || args.includes(command.name())) loaded.push(complete(entry, command, terminal));
    }
  }
  await Promise.all(loaded);
  pointToHelp(program, 'npx simbi');
  return program;
}

async function complete(entry: CommandEntry, command: Command, terminal: Terminal): Promise<void> {
  (await entry.load())(command, terminal);
}

/** In a list of commands: the name and the arguments. All of them have options. */
function termOf(command: Command): string {
  const names = command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`));
  return [command.name(), ...names].join(' ');
}

/** Each command names its own help after an error of usage. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`Usage: ${path} ${command.usage()}\nHelp: ${path} --help`);
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs one command and returns its exit code. */
export async function runCommand(terminal: Terminal, args: string[]): Promise<number> {
  const program = await createProgram(terminal, args);
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
  const message = [
    systemSentence(error) ?? (error instanceof Error ? error.message : String(error)),
    ...fieldSentences(error),
    ...causeOf(error),
  ].join('\n');
  if (json) terminal.say(toJson({ success: false, message, exit_code: code ?? EXIT.error }));
  else terminal.say(known ? message : `Internal error: ${error instanceof Error ? error.stack : message}`);
  return code ?? EXIT.error;
}

/** Why there is no connection, in PostgreSQL's words: a wrong address, a wrong password, a pooler that refuses a parameter. */
function causeOf(error: unknown): string[] {
  return error instanceof Problem && error.cause instanceof Error ? [`Cause: ${error.cause.message}`] : [];
}

/**
 * Who reads the output may have seen enough, as `head` does: the command does its work all the same. Output that finds no room makes a
 * command fail at its end; neither ends a gateway. What standard error does not take is not needed.
 */
function watchOutput(): void {
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || process.exitCode === EXIT.error) return;
    process.exitCode = EXIT.error;
    process.stderr.write(`The output cannot be written. ${systemSentence(error) ?? error.message}\n`);
  });
}

function readSettingsFile(): NodeJS.Dict<string> | Error {
  try {
    return existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

// Run as a program, not when a test imports this file.
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  watchOutput();
  const file = readSettingsFile();
  if (file instanceof Error) {
    process.stderr.write(`.env cannot be read. ${systemSentence(file) ?? file.message}\n`);
    process.exitCode = EXIT.usage;
  } else process.exitCode = await runCommand(createTerminal({ ...file, ...process.env }), process.argv.slice(2));
}
