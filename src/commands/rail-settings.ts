// The settings that people give to `simbi rail`: as text, from a file, or from standard input. They are never printed.

import { readFileSync } from 'node:fs';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

export type SettingOptions = { set?: string[]; setFile?: string[] };

export async function readGivenSettings(
  terminal: Terminal,
  { set = [], setFile = [] }: SettingOptions,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const text of set) {
    const [name, value] = splitPair(text, '--set');
    values[requireOnce(values, name)] = value;
  }
  for (const text of setFile) {
    const [name, path] = splitPair(text, '--set-file');
    values[requireOnce(values, name)] = path === '-' ? await readInput(terminal, name) : readFile(name, path);
  }
  return values;
}

/** The values of a list with commas; undefined when it was not given. */
export function readList(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map((item) => item.trim())
    .filter(Boolean);
}

function splitPair(text: string, option: string): [name: string, value: string] {
  const at = text.indexOf('=');
  // The text itself may be a secret, so it is not repeated.
  if (at <= 0)
    throw new CommandError(`${option} needs the form name=${option === '--set' ? 'value' : 'path'}.`, EXIT.usage);
  return [text.slice(0, at), text.slice(at + 1)];
}

function requireOnce(values: Record<string, string>, name: string): string {
  if (name in values) throw new CommandError(`The setting "${name}" is given twice.`, EXIT.usage);
  return name;
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new CommandError(`The file for "${name}" cannot be read: ${path}`, EXIT.notFound);
  }
}

async function readInput(terminal: Terminal, name: string): Promise<string> {
  const input = await terminal.readInput();
  if (!input) throw new CommandError(`Nothing was piped in for "${name}".`, EXIT.usage);
  return input.toString('utf8');
}
