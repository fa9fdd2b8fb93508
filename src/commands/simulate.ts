// simbi simulate: runs the simulator of an operator on this machine, in a process of its own. The gateway shares no code with
// it, and reaches it only over HTTP, as it reaches the operator.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Command, InvalidArgumentError } from 'commander';
import { CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const PROGRAM = fileURLToPath(new URL('../../simulators/run.ts', import.meta.url));

type SimulateOptions = { json?: boolean; port?: number; manual?: boolean };
/** The first line of the simulator. */
type Started =
  | { name: string; url: string; manual: boolean; credentials: Record<string, string> }
  | { error: string; names?: string[]; port?: number };

export function simulateCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi simulate daraja',
    'npx simbi simulate pawapay --manual',
    'npx simbi simulate mtn-momo --port 4900 --json',
  ])
    .option('--port <number>', 'listen on another port; 0 picks a free one', readPort)
    .option('--manual', 'payers wait for you: answer their prompts on the test phone')
    .addHelpText(
      'after',
      '\nWithout --manual payers approve by themselves after two seconds, except numbers that end in 001 to 011 (see docs/sandbox.md).\n' +
        'It forgets everything when it ends. Stop it with Ctrl-C.',
    )
    .action((rail: string, options: SimulateOptions) => simulate(terminal, rail, options));
}

async function simulate(terminal: Terminal, rail: string, options: SimulateOptions): Promise<void> {
  const args = [
    rail,
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.manual ? ['--manual'] : []),
  ];
  // It ends when its standard input does, so it never outlives this process.
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const started = await readFirstLine(child);
  if (started === null || 'error' in started) {
    await ended;
    throw whyNot(rail, started);
  }
  print(terminal, options, { ...started, connect: connectCommand(started) }, describe(started));
  const stop = () => void child.kill('SIGTERM');
  process.once('SIGINT', stop).once('SIGTERM', stop);
  await ended;
}

async function readFirstLine(child: ChildProcessByStdio<Writable, Readable, null>): Promise<Started | null> {
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as Started;
  return null;
}

function whyNot(rail: string, started: Extract<Started, { error: string }> | null): CommandError {
  if (started?.error === 'unknown')
    return new CommandError(`There is no simulator "${rail}". There are: ${started.names?.join(', ')}.`, EXIT.usage);
  if (started?.error === 'EADDRINUSE')
    return new CommandError(
      `Port ${started.port} is in use. The simulator may be running already; otherwise choose another with --port.`,
      EXIT.conflict,
    );
  return new CommandError(`The simulator did not start: ${started?.error ?? 'no reason was given'}.`, EXIT.error);
}

const connectCommand = ({ name, url }: { name: string; url: string }) =>
  `npx simbi rail add ${name} --simulator ${url} --route`;

function describe(started: Extract<Started, { url: string }>): string {
  const { name, url, manual, credentials } = started;
  const width = Math.max(...Object.keys(credentials).map((setting) => setting.length));
  return [
    `The simulator of ${name} listens on ${url}. Stop it with Ctrl-C.`,
    '',
    'Connect the gateway to it:',
    `  ${connectCommand(started)}`,
    '',
    'Credentials (a connection to a simulator has them by default):',
    ...Object.entries(credentials).map(([setting, value]) => `  ${setting.padEnd(width)}  ${firstLineOf(value)}`),
    '',
    manual
      ? 'Payers wait for you: answer their prompts on the test phone, /sandbox/phone of the gateway.'
      : 'Payers approve by themselves. With --manual they wait for you on the test phone.',
  ].join('\n');
}

/** A key has many lines; nobody needs to read them here. */
const firstLineOf = (value: string) => (value.includes('\n') ? `${value.split('\n')[0]} …` : value);

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('Give a port from 0 to 65535.');
  return port;
}
