// The vault of a gateway in tests: settings with its master keys, and the commands of keys beside the service.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { runCommand } from '../src/cli.ts';
import type { Settings } from './processes.ts';

/** `url`: of the database. */
export function vaultTools(folder: string, url: () => string) {
  const settingsWith = (masters: Settings): Settings => ({
    DATABASE_URL: url(),
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_SECOND: '0',
    RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    ...masters,
  });

  /** Runs a command in this process, as a person would type it beside the service. */
  async function runIn(masters: Settings, args: string[]): Promise<{ code: number; out: string; messages: string }> {
    let [out, messages] = ['', ''];
    const code = await runCommand(
      {
        environment: settingsWith(masters),
        interactive: false,
        out: (text) => {
          out += text;
        },
        say: (text) => {
          messages += `${text}\n`;
        },
        bold: (text) => text,
        readInput: () => Promise.resolve(null),
      },
      [...args, '--json'],
    );
    return { code, out, messages };
  }

  async function command<T>(masters: Settings, ...args: string[]): Promise<T> {
    const { code, out, messages } = await runIn(masters, args);
    assert.equal(code, 0, messages);
    return JSON.parse(out) as T;
  }

  async function refused(expected: number, masters: Settings, pattern: RegExp, ...args: string[]): Promise<void> {
    const { code, messages } = await runIn(masters, args);
    assert.equal(code, expected, messages);
    assert.match(messages, pattern);
  }

  return { settingsWith, command, refused };
}
