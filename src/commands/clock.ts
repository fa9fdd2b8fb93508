// simbi clock: the time of the gateway, and in a sandbox a way to let some of it pass at once.

import type { Command } from 'commander';
import { findGateway, request } from './remote.ts';
import { addCommand, CommandError, EXIT, print, type Terminal, withExamples } from './terminal.ts';

const UNIT_SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

export function clockCommand(command: Command, terminal: Terminal): void {
  const clock = withExamples(command, ['npx simbi clock', 'npx simbi clock --json'])
    .enablePositionalOptions()
    .addHelpText('after', '\nSandbox only.')
    .action(async (options: { json?: boolean }) => {
      const { body } = await request(await findSandbox(terminal), '/sandbox/clock');
      print(terminal, options, body, String(body.now));
    });
  addCommand(clock, 'forward <time>', 'let time pass for payments, prompts and callbacks that wait', [
    'npx simbi clock forward 10m',
    'npx simbi clock forward 90s --json',
  ])
    .addHelpText(
      'after',
      '\nA time is a number and s, m, h or d. The clock itself stays right; what waits has waited longer.',
    )
    .action(async (time: string, options: { json?: boolean }) => {
      const seconds = readDuration(time);
      const { body } = await request(await findSandbox(terminal), '/sandbox/clock/forward', {
        method: 'POST',
        headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ seconds: String(seconds) }).toString(),
      });
      const { payments, callbacks } = body;
      print(terminal, options, { seconds, payments, callbacks, now: body.now }, String(body.message));
    });
}

async function findSandbox(terminal: Terminal): Promise<string> {
  const url = await findGateway(terminal);
  const { isSandbox } = await request(url, '/healthz');
  if (!isSandbox) throw new CommandError('This gateway is live. Its time cannot be moved.', EXIT.usage);
  return url;
}

function readDuration(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(number) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS];
  if (seconds >= 1) return seconds;
  throw new CommandError(`"${text}" is not a time. Write 90s, 10m, 2h or 1d.`, EXIT.usage);
}
