// Commands of shell scripts, run in the process of the test: a program in the script's path hands over its arguments and
// its environment, and prints what comes back. A process of its own would load the whole gateway for every command.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { runCommand } from '../src/cli.ts';
import type { Terminal } from '../src/commands/terminal.ts';
import type { Environment } from '../src/platform/config.ts';

type Order = { args: string[]; environment: Environment };
/** What is sent back, line by line. */
type Line = { out: string } | { say: string } | { code: number };

/** Plain JavaScript that needs nothing: it starts in a twentieth of the time. */
const CLIENT = `
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
const [socket, ...args] = process.argv.slice(2);
const server = connect(socket);
process.exitCode = 70;
createInterface({ input: server }).on('line', (text) => {
  const line = JSON.parse(text);
  if ('out' in line) process.stdout.write(line.out + '\\n');
  else if ('say' in line) process.stderr.write(line.say + '\\n');
  else process.exitCode = line.code;
});
server.end(JSON.stringify({ args, environment: process.env }));
`;

/**
 * Makes the folder `bin` with an `npx` in it whose only program is simbi. Relative paths are those of this process, so it must
 * be in the folder in which the scripts run.
 */
export async function serveCommands(folder: string): Promise<{ bin: string; close(): void }> {
  const bin = join(folder, 'bin');
  const [client, socket, npx] = [join(bin, 'client.mjs'), join(bin, 'socket'), join(bin, 'npx')];
  mkdirSync(bin);
  writeFileSync(client, CLIENT);
  const program = `exec "${process.execPath}" "${client}" "${socket}" "$@"`;
  writeFileSync(npx, `#!/bin/sh\n[ "$1" = simbi ] && shift || exit 64\n${program}\n`);
  chmodSync(npx, 0o755);
  const server = createServer({ allowHalfOpen: true }, (connection) => void answer(connection));
  await new Promise<void>((listening) => server.listen(socket, listening));
  return { bin, close: () => server.close() };
}

async function answer(connection: Socket): Promise<void> {
  const send = (line: Line) => void connection.write(`${JSON.stringify(line)}\n`);
  const { args, environment } = JSON.parse(await text(connection)) as Order;
  const terminal: Terminal = {
    environment,
    interactive: false,
    out: (out) => send({ out }),
    say: (say) => send({ say }),
    bold: (bold) => bold,
    readInput: async () => null,
  };
  // Commands leave their exit code to the process, which goes on here.
  process.exitCode = 0;
  const code = await runCommand(terminal, args);
  process.exitCode = 0;
  connection.end(`${JSON.stringify({ code } satisfies Line)}\n`);
}
