// What every command shares: the terminal (data on standard output, messages on standard error), the exit codes, and
// how it opens the gateway.

import { type Command, InvalidArgumentError } from 'commander';
import { type Environment, readConfig } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { isEmail } from '../platform/email.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';

const MAX_OVERLAP_SECONDS = 30 * 86_400;
const MAX_INPUT_BYTES = 4 * 1024 * 1024;
const MAX_NAME_CHARACTERS = 120;

/** Documented in the help. Scripts depend on these numbers. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  conflict: 5,
  unavailable: 6,
  paymentFailed: 7,
} as const;

/** Why a command failed: a sentence for people and an exit code for scripts. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export type Terminal = {
  environment: Environment;
  /** Somebody can answer questions. */
  interactive: boolean;
  out(text: string): void;
  say(text: string): void;
  bold(text: string): string;
  /** What is piped in; null when nothing is. */
  readInput(): Promise<Buffer | null>;
};

/**
 * What moves the cursor, deletes what was printed, or turns a line around. Names, notes and reports are written by merchants and
 * strangers: none of them may change what a person reads before they approve a payout. Tabs, line ends and our own bold stay.
 */
const DISTURBING =
  /\u001b(?!\[(?:1|22)m)|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A file gets a text as it is; a terminal would obey it. */
function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(`${stream.isTTY ? text.replace(DISTURBING, '\ufffd') : text}\n`);
}

export function createTerminal(environment: Environment): Terminal {
  const coloured = process.stdout.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  return {
    environment,
    interactive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    out: (text) => write(process.stdout, text),
    say: (text) => write(process.stderr, text),
    bold: (text) => (coloured ? `\u001b[1m${text}\u001b[22m` : text),
    readInput: () => (process.stdin.isTTY ? Promise.resolve(null) : readAll(process.stdin)),
  };
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_INPUT_BYTES) throw new CommandError('The input is larger than 4 MiB.', EXIT.usage);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Gives a command --json, and a help that starts with examples. */
export function withExamples(command: Command, examples: string[]): Command {
  return command
    .option('--json', 'print JSON for programs')
    .addHelpText('before', `Examples:\n${examples.map((example) => `  $ ${example}`).join('\n')}\n`);
}

/** Adds a command to a group, such as `simbi holder create`. */
export function addCommand(group: Command, usage: string, summary: string, examples: string[]): Command {
  return withExamples(group.command(usage).description(summary), examples);
}

/** A group within a group, such as `simbi rail route`. */
export function addGroup(parent: Command, name: string, summary: string): Command {
  return parent.command(name).description(summary);
}

/**
 * An option that must be given. It is checked after the arguments, so that somebody who types only the name of the command is
 * asked for what comes first; the usage line shows everything in its order.
 */
export function addNeededOption(command: Command, flags: string, about: string): Command {
  const option = command.createOption(flags, about);
  const names = command.registeredArguments.map((one) => `<${one.name()}>`);
  return command
    .addOption(option)
    .usage([...names, flags, '[options]'].join(' '))
    .hook('preAction', () => {
      if (command.getOptionValue(option.attributeName()) === undefined)
        command.error(`error: missing option '${flags}'`);
    });
}

/** Prints the result: JSON with --json, otherwise lines. */
export function print(terminal: Terminal, options: { json?: boolean }, data: unknown, lines: string): void {
  terminal.out(options.json ? toJson(data) : lines);
}

export function toJson(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value), 2);
}

/** Rows under their headings, in columns. A cell is one line: a name with a line end would make a row of its own. */
export function table(headings: string[], cells: string[][]): string {
  const rows = cells.map((row) => row.map((cell) => cell.replace(/[\r\n\u2028\u2029]+/g, ' ')));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Opens the gateway as the server does, runs one operation, and closes it. `asItIs`: for what reads a database and judges it. */
export async function withContext<T>(
  terminal: Terminal,
  work: (ctx: Context) => Promise<T>,
  asItIs?: 'asItIs',
): Promise<T> {
  const config = readConfig(terminal.environment);
  // Loaded only here: a command that calls a running gateway starts in a third of the time.
  const [{ openInstance }, { createLogger }, { pino }] = await Promise.all([
    import('../open-context.ts'),
    import('../platform/log.ts'),
    import('pino'),
  ]);
  const log = createLogger(config.logLevel === 'silent' ? 'silent' : 'warn', pino.destination({ dest: 2, sync: true }));
  const instance = await openInstance(config, log, (sentence) => terminal.say(`  ${sentence}`), asItIs);
  try {
    return await work(instance.ctx);
  } finally {
    await instance.close();
  }
}

/** Asks before something that cannot be undone. Without a terminal to ask at, --yes is required. */
export async function confirm(terminal: Terminal, options: { yes?: boolean }, question: string): Promise<void> {
  if (options.yes) return;
  if (!terminal.interactive) throw new CommandError(`${question} Add --yes to confirm.`, EXIT.usage);
  const prompts = await import('@clack/prompts');
  if ((await prompts.confirm({ message: question, initialValue: false, output: process.stderr })) !== true)
    throw new CommandError('Cancelled. Nothing was changed.', EXIT.error);
}

/** The moment of --since. */
export function readTime(text: string): Date {
  const time = new Date(text);
  // Without a zone the same text is another moment on another machine.
  if (Number.isNaN(time.getTime()) || !/(Z|[+-]\d{2}:?\d{2})$/.test(text))
    throw new InvalidArgumentError('Give a time with its zone, for instance 2026-03-02T00:00:00Z.');
  return time;
}

/** A name or title as people give it. The tables have the same limit. */
export function readName(text: string, what: 'name' | 'title'): string {
  const name = text.trim();
  if (name === '' || Array.from(name).length > MAX_NAME_CHARACTERS)
    throw new CommandError(`A ${what} has 1 to ${MAX_NAME_CHARACTERS} characters.`, EXIT.usage);
  return name;
}

/** The id of an argument. */
export function parseId(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text))
    throw new CommandError(`"${text}" is not an id. An id is a whole number.`, EXIT.usage);
  return BigInt(text);
}

/** The seconds of --overlap. */
export function readOverlap(text: string): number {
  const overlap = /^\d{1,8}$/.test(text) ? Number(text) : Number.NaN;
  if (!(overlap <= MAX_OVERLAP_SECONDS))
    throw new CommandError(`--overlap must be a number of seconds, at most ${MAX_OVERLAP_SECONDS}.`, EXIT.usage);
  return overlap;
}

/** The number of --limit, or of another option. */
export function parseLimit(text: string, max: number, option = '--limit'): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > max) throw new CommandError(`${option} must be a number from 1 to ${max}.`, EXIT.usage);
  return limit;
}

/** The amount of an argument or option, as people write it. */
export function requireAmount(text: string, currency: string): bigint {
  const typed = readTypedAmount(text, 'en', { currency });
  if (!typed.ok) throw new CommandError(typed.sentence, EXIT.usage);
  return typed.amount;
}

export function requireEmail(text: string): void {
  if (!isEmail(text)) throw new CommandError(`"${text}" is not an e-mail address.`, EXIT.usage);
}
