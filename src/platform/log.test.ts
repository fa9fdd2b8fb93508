// The log: rotation of its file.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLogger, openLogFile } from './log.ts';

test('security S21: the file is rotated by size while the process runs, and a limited number of files is kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-log-'));
  try {
    const path = join(folder, 'simbi.log');
    const file = openLogFile(path, 10_000);
    const log = createLogger('info', file);
    for (let number = 0; number < 2_000; number++) {
      log.info({ number }, 'x'.repeat(100));
      // The next file is opened by the system in the background.
      if (number % 10 === 0) await setImmediate();
    }
    file.flush();
    const names = readdirSync(folder).sort();
    assert.deepEqual(names, ['simbi.log', 'simbi.log.1', 'simbi.log.2', 'simbi.log.3', 'simbi.log.4']);
    for (const name of names) {
      assert.ok(statSync(join(folder, name)).size < 100_000, name);
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    }
    const lines = ['.1', ''].flatMap((end) =>
      readFileSync(path + end, 'utf8')
        .trim()
        .split('\n'),
    );
    const numbers = lines.map((line) => (JSON.parse(line) as { number: number }).number);
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => (numbers[0] ?? 0) + index),
      'no line is lost between two files',
    );
    assert.equal(numbers.at(-1), 1_999);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
