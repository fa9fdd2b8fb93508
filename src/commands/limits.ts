// simbi limits: who is held back by a limit now, or was in the last hour.

import type { Command } from 'commander';
import { readHeldBack } from '../console/held-back-list.ts';
import { print, type Terminal, table, withContext, withExamples } from './terminal.ts';

export function limitsCommands(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi limits', 'npx simbi limits --json']).action(async (options: { json?: boolean }) => {
    const entries = await withContext(terminal, readHeldBack);
    const data = entries.map(({ kind, guess, subject, count, since, until }) => ({
      kind,
      ...(guess && { guess }),
      subject,
      count,
      since,
      until,
    }));
    const rows = data.map(({ kind, guess, subject, count, since, until }) => [
      guess ? `${kind}: ${guess}` : kind,
      subject,
      String(count),
      since.toISOString(),
      until.toISOString(),
    ]);
    const lines = table(['Limit', 'Who', 'Count', 'Since', 'Until'], rows);
    print(terminal, options, { held_back: data }, rows.length === 0 ? 'Nobody is held back.' : lines);
  });
}
