// The log: rotation of its file.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { createLogger, openLogFile } from './log.ts';

const LINES = 2_000;

/** The numbers of the lines of the last two files. */
function readNumbers(path: string): number[] {
  const text = ['.1', ''].map((end) => (existsSync(path + end) ? readFileSync(path + end, 'utf8') : '')).join('');
  const lines = text.split('\n').filter((line) => line.endsWith('}'));
  return lines.map((line) => (JSON.parse(line) as { number: number }).number);
}

test('security S21: the file is rotated by size while the process runs, and a limited number of files is kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-log-'));
  try {
    const path = join(folder, 'simbi.log');
    const file = openLogFile(path, 10_000);
    const log = createLogger('info', file);
    for (let number = 0; number < LINES; number++) {
      log.info({ number }, 'x'.repeat(100));
      // The next file is opened by the system in the background.
      if (number % 10 === 0) await setImmediate();
    }
    // The last lines are written in the background.
    while (readNumbers(path).at(-1) !== LINES - 1) await pause(10);
    const names = readdirSync(folder).sort();
    assert.deepEqual(names, ['simbi.log', 'simbi.log.1', 'simbi.log.2', 'simbi.log.3', 'simbi.log.4']);
    for (const name of names) {
      assert.ok(statSync(join(folder, name)).size < 100_000, name);
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    }
    const numbers = readNumbers(path);
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => (numbers[0] ?? 0) + index),
      'no line is lost between two files',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
